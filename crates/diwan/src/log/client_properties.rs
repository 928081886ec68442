//! Kafka's properties of a client, as far as they concern TLS and authentication: `security.protocol`, `sasl.*`, `ssl.*`. All
//! others are ignored.

use std::collections::BTreeMap;
use std::path::Path;

use base::Secret;
use log_client::{Login, Security};
use log_config::Store;
use net_auth::jaas;
use net_auth::sasl::SaslUser;
use net_auth::sasl::scram::ScramHash;
use net_tls::client::{self, ClientTls};
use net_tls::{KeyStore, TlsProtocol};

use crate::broker::security::key_store;
use crate::config::{Checked, Problem};

const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
const SCRAM_MODULE: &str = "org.apache.kafka.common.security.scram.ScramLoginModule";
/// The section that `sasl.jaas.config` would be in a file of its own.
const SECTION: &str = "KafkaClient";

/// See the module.
#[derive(Debug)]
struct Properties(BTreeMap<String, String>);

/// Reads a file, and the files that it names.
///
/// # Errors
/// One of them is of no use, or asks for what is not there.
pub(super) fn read(file: &Path) -> Checked<Security> {
    let bytes = std::fs::read(file)
        .map_err(|error| Problem::new(format!("cannot read `{}`: {error}", file.display())))?;
    let found = council_connect::properties::parse(&bytes).map_err(|line| {
        Problem::new(format!("`{}`, line {line}: `\\u` without four digits", file.display()))
    })?;
    let pairs = found.into_iter().map(|property| (property.key, property.value.trim().to_owned()));
    Properties(pairs.collect())
        .security()
        .map_err(|problem| Problem { what: format!("`{}`: {}", file.display(), problem.what), ..problem })
}

impl Properties {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn security(&self) -> Checked<Security> {
        let protocol = self.get("security.protocol").unwrap_or("PLAINTEXT");
        let (encrypts, logs_in) = match protocol.to_ascii_uppercase().as_str() {
            "PLAINTEXT" => (false, false),
            "SSL" => (true, false),
            "SASL_PLAINTEXT" => (false, true),
            "SASL_SSL" => (true, true),
            _ => {
                return Err(Problem::new(format!("there is no `security.protocol={protocol}`"))
                    .hint("there are PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL"));
            }
        };
        let sasl = if logs_in { Some(self.login()?) } else { None };
        let tls = if encrypts { Some(self.tls()?) } else { None };
        let tls = tls.map(|tls| client::configure(&tls)).transpose();
        Ok(Security { tls: tls.map_err(|error| Problem::new(error.to_string()))?, sasl })
    }

    fn login(&self) -> Checked<Login> {
        let mechanism = self.get("sasl.mechanism").unwrap_or("GSSAPI");
        match mechanism {
            "PLAIN" => self.user(PLAIN_MODULE).map(Login::Plain),
            "SCRAM-SHA-256" => self.user(SCRAM_MODULE).map(|user| Login::Scram(ScramHash::Sha256, user)),
            "SCRAM-SHA-512" => self.user(SCRAM_MODULE).map(|user| Login::Scram(ScramHash::Sha512, user)),
            "OAUTHBEARER" => self.token().map(Login::Bearer),
            _ => Err(Problem::new(format!("`sasl.mechanism` is `{mechanism}`, which is not here"))
                .hint("set it to PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER")),
        }
    }

    fn user(&self, module: &str) -> Checked<SaslUser> {
        let form = format!("sasl.jaas.config={module} required username=\"NAME\" password=\"PASSWORD\";");
        let hint = format!("write it as `{form}`");
        let Some(text) = self.get("sasl.jaas.config") else {
            return Err(Problem::new("`sasl.jaas.config` is missing").hint(hint));
        };
        match jaas::user(&format!("{SECTION} {{ {text} }};"), SECTION, module) {
            Ok(Some(user)) => Ok(user),
            Ok(None) => Err(Problem::new("`sasl.jaas.config` is empty").hint(hint)),
            Err(error) => Err(Problem::new(format!("`sasl.jaas.config`: {error}")).hint(hint)),
        }
    }

    /// Reads the token from a file: another program has to put it there.
    fn token(&self) -> Checked<Secret> {
        let key = "sasl.oauthbearer.token.endpoint.url";
        let url = self.get(key).unwrap_or_default();
        let Some(path) = url.strip_prefix("file://") else {
            return Err(Problem::new(format!("`{key}` is `{url}`: no server is asked for tokens"))
                .hint("keep the token in a file, and name it as `file:///PATH`"));
        };
        let text = std::fs::read_to_string(path)
            .map_err(|error| Problem::new(format!("cannot read the token in `{path}`: {error}")))?;
        Ok(Secret(text.trim().to_owned()))
    }

    fn tls(&self) -> Checked<ClientTls> {
        for inline in ["ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.truststore.certificates"] {
            if self.get(inline).is_some() {
                return Err(Problem::new(format!("`{inline}`: keys and certificates are taken from files"))
                    .hint("write them to a file, and name it with `ssl.keystore.location` or `ssl.truststore.location`"));
            }
        }
        let trust_store = self.store("truststore")?.ok_or_else(|| {
            Problem::new("TLS without a trust store: no broker could be trusted")
                .hint("set `ssl.truststore.location` to the authority that signed the brokers' certificates, and `ssl.truststore.type` (PEM, PKCS12, JKS)")
        })?;
        let names = |key: &str| self.get(key).map(|names| names.split(',').map(str::trim));
        let protocol = |name: &str| {
            TlsProtocol::named(name).ok_or_else(|| {
                Problem::new(format!("`ssl.enabled.protocols` names `{name}`"))
                    .hint("`TLSv1.2` and `TLSv1.3` are known")
            })
        };
        Ok(ClientTls {
            trust_store,
            key_store: self.store("keystore")?,
            // An empty word turns it off, as in Kafka's clients.
            verify_hostname: self
                .0
                .get("ssl.endpoint.identification.algorithm")
                .is_none_or(|word| !word.is_empty()),
            protocols: names("ssl.enabled.protocols")
                .map(|names| names.map(protocol).collect::<Checked<_>>())
                .transpose()?,
            cipher_suites: names("ssl.cipher.suites").map(|names| names.map(String::from).collect()),
        })
    }

    /// `truststore` or `keystore`.
    fn store(&self, name: &str) -> Checked<Option<KeyStore>> {
        let of = |key: &str| self.get(&format!("ssl.{name}.{key}")).map(String::from);
        let store = Store {
            location: of("location"),
            kind: of("type").unwrap_or_else(|| String::from("JKS")),
            password: of("password").map(Secret),
        };
        let own_key = self.get("ssl.key.password").filter(|_| name == "keystore");
        let own_key = own_key.map(|password| Secret(password.to_owned()));
        key_store(&store, own_key.as_ref()).map_err(|what| {
            Problem::new(format!("`ssl.{name}`: {what}"))
                .hint(format!("set `ssl.{name}.type`: JKS, PKCS12 or PEM"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Properties {
        let found = council_connect::properties::parse(text.as_bytes()).expect("properties");
        Properties(found.into_iter().map(|property| (property.key, property.value)).collect())
    }

    #[test]
    fn client_without_security_properties_neither_encrypts_nor_authenticates() {
        let security = of("bootstrap.servers=h:9092\nacks=all").security().expect("plain");
        assert!(security.tls.is_none() && security.sasl.is_none());
    }

    #[test]
    fn user_is_read_from_the_text_that_kafka_wants() {
        let plain =
            format!("sasl.jaas.config={PLAIN_MODULE} required username=\"a b\" \\\n password=\"x;y\";");
        let user = of(&plain).user(PLAIN_MODULE).expect("a user");
        assert_eq!((user.name.as_str(), user.password.0.as_str()), ("a b", "x;y"));
        let all = format!("security.protocol=sasl_plaintext\nsasl.mechanism=PLAIN\n{plain}");
        let security = of(&all).security().expect("a user");
        assert!(format!("{security:?}").contains("PLAIN") && !format!("{security:?}").contains("x;y"));
    }

    #[test]
    fn each_problem_says_what_to_write() {
        for (text, what, hint) in [
            ("security.protocol=TLS", "security.protocol=TLS", "SASL_SSL"),
            ("security.protocol=SASL_PLAINTEXT", "GSSAPI", "SCRAM-SHA-256"),
            (
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN",
                "`sasl.jaas.config` is missing",
                "PlainLoginModule required",
            ),
            (
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=a.B required username=\"x\";",
                "`a.B` is not supported",
                "PlainLoginModule required",
            ),
            (
                "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nssl.truststore.location=x",
                "no server is asked",
                "file:///PATH",
            ),
            ("security.protocol=SSL", "without a trust store", "ssl.truststore.location"),
            (
                "security.protocol=SSL\nssl.truststore.certificates=x",
                "taken from files",
                "ssl.truststore.location",
            ),
            ("security.protocol=SSL\nssl.truststore.location=x\nssl.truststore.type=BKS", "`BKS`", "PKCS12"),
            (
                "security.protocol=SSL\nssl.truststore.location=x\nssl.enabled.protocols=SSLv3",
                "`SSLv3`",
                "TLSv1.3",
            ),
        ] {
            let problem = of(text).security().expect_err(text);
            assert!(problem.what.contains(what), "{text}: {problem}");
            assert!(problem.hint.as_ref().is_some_and(|said| said.contains(hint)), "{text}: {problem}");
        }
    }
}
