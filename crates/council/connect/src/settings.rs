//! The properties of a ZooKeeper client: `zookeeper.client.secure`, `zookeeper.ssl.*`, SASL's. They come from
//! `CLIENT_JVMFLAGS`, as ZooKeeper's scripts take them, from the file of `-client-configuration`, and from `-D`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::Secret;
use net_auth::sasl::SaslUser;
use net_tls::{KeyStore, KeyStoreKind, TlsProtocol};

use crate::jaas::client_user;
use crate::{Checked, Problem, properties, secret};

/// Environment variable with Java's flags for ZooKeeper's client programs.
const JAVA_FLAGS: &str = "CLIENT_JVMFLAGS";

/// Properties that have no meaning here, or mean what is done anyway.
const WITHOUT_EFFECT: &[&str] = &[
    "clientCnxnSocket",
    "sasl.client.username",
    "sasl.client.canonicalize.hostname",
    "server.principal",
    "server.realm",
    "ssl.context.supplier.class",
    "ssl.handshakeDetectionTimeoutMillis",
    "ssl.clientHostnameVerification",
    "ssl.tcnative",
    "ssl.sslProvider",
    "request.timeout",
    "jute.maxbuffer",
    "disableAutoWatchReset",
    "fips-mode",
];

/// Properties that ask for a protection that is not here.
const MISSING_PROTECTION: &[&str] = &["ssl.crl", "ssl.ocsp"];

/// Properties by their names without `zookeeper.`; later ones win.
#[derive(Debug, Default)]
pub(crate) struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Takes `-Dkey=value` words of the environment.
    pub(crate) fn environment(&mut self) {
        let flags = std::env::var(JAVA_FLAGS).unwrap_or_default();
        self.java_flags(&flags);
    }

    /// Only what concerns a ZooKeeper client: the flags may hold anything for Java.
    fn java_flags(&mut self, flags: &str) {
        for word in flags.split_whitespace().filter_map(|word| word.strip_prefix("-D")) {
            if let Some((key, value)) = word.split_once('=')
                && (key.starts_with("zookeeper.") || key == "java.security.auth.login.config")
            {
                self.set(key, value);
            }
        }
    }

    /// Takes a properties file.
    pub(crate) fn file(&mut self, path: &Path) -> Checked<()> {
        let bytes = std::fs::read(path)
            .map_err(|error| Problem::new(format!("cannot read `{}`: {error}", path.display())))?;
        let found = properties::parse(&bytes).map_err(|line| {
            Problem::new(format!("`{}`, line {line}: `\\u` without four digits", path.display()))
        })?;
        for property in found {
            self.set(&property.key, property.value.trim());
        }
        Ok(())
    }

    /// Takes `KEY=VALUE` of the command line.
    pub(crate) fn property(&mut self, text: &str) -> Checked<()> {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            Problem::new(format!("`-D {text}` has no `=`"))
                .hint("write it like `-D zookeeper.client.secure=true`")
        })?;
        self.set(key.trim(), value.trim());
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) {
        let key = key.strip_prefix("zookeeper.").unwrap_or(key);
        self.0.insert(String::from(key), String::from(value));
    }

    fn take(&mut self, key: &str) -> Option<String> {
        self.0.remove(key).filter(|value| !value.is_empty())
    }

    /// Only `true` and `false` will do: no protection may depend on how another word is understood.
    fn flag(&mut self, key: &str, default: bool) -> Checked<bool> {
        match self.take(key) {
            None => Ok(default),
            Some(value) if value.eq_ignore_ascii_case("true") => Ok(true),
            Some(value) if value.eq_ignore_ascii_case("false") => Ok(false),
            Some(value) => {
                Err(Problem::new(format!("`zookeeper.{key}={value}` is neither `true` nor `false`"))
                    .hint(format!("the default is `{default}`")))
            }
        }
    }

    /// Whether connections are to be encrypted.
    pub(crate) fn secure(&mut self) -> Checked<bool> {
        self.flag("client.secure", false)
    }

    /// `keyStore` or `trustStore`.
    pub(crate) fn store(&mut self, name: &str) -> Checked<Option<KeyStore>> {
        let password = self.take(&format!("ssl.{name}.password")).map(Secret);
        let from_file = self.take(&format!("ssl.{name}.passwordPath"));
        let kind = self.take(&format!("ssl.{name}.type"));
        let Some(location) = self.take(&format!("ssl.{name}.location")) else { return Ok(None) };
        let password = match (password, from_file) {
            (Some(password), _) => password,
            (None, Some(file)) => secret::from_file(Path::new(&file))?,
            (None, None) => Secret::default(),
        };
        // The bytes of the file decide; the type is a word for people.
        let kind = match kind.as_deref().map(str::to_ascii_uppercase).as_deref() {
            Some("JKS") => KeyStoreKind::Jks,
            Some("PKCS12") => KeyStoreKind::Pkcs12,
            _ => KeyStoreKind::Pem,
        };
        Ok(Some(KeyStore { path: PathBuf::from(location), password, kind }))
    }

    /// Whether the server's certificate must name the server.
    pub(crate) fn verifies_hostname(&mut self) -> Checked<bool> {
        self.flag("ssl.hostnameVerification", true)
    }

    /// The versions of TLS, if not all.
    pub(crate) fn protocols(&mut self) -> Checked<Option<Vec<TlsProtocol>>> {
        let protocol = self.take("ssl.protocol").filter(|name| name != "TLS");
        let Some(names) = self.take("ssl.enabledProtocols").or(protocol) else { return Ok(None) };
        let version = |name: &str| {
            TlsProtocol::named(name.trim()).ok_or_else(|| {
                Problem::new(format!("`ssl.enabledProtocols` names `{}`", name.trim()))
                    .hint("`TLSv1.2` and `TLSv1.3` are known")
            })
        };
        names.split(',').map(version).collect::<Checked<_>>().map(Some)
    }

    /// The cipher suites by Java's names, if not all.
    pub(crate) fn cipher_suites(&mut self) -> Option<Vec<String>> {
        let names = self.take("ssl.ciphersuites")?;
        Some(names.split(',').map(|name| String::from(name.trim())).collect())
    }

    /// The user of SASL that the JAAS file names.
    pub(crate) fn sasl(&mut self) -> Checked<Option<SaslUser>> {
        let wanted = self.flag("sasl.client", true)?;
        let section = self.take("sasl.clientconfig").unwrap_or_else(|| String::from("Client"));
        let Some(file) = self.take("java.security.auth.login.config").filter(|_| wanted) else {
            return Ok(None);
        };
        client_user(Path::new(&file), &section)
    }

    /// A property that is not used: refused if it asks for protection, otherwise unknown.
    pub(crate) fn rest(self) -> Checked<()> {
        for (key, value) in &self.0 {
            if MISSING_PROTECTION.contains(&key.as_str()) && !value.eq_ignore_ascii_case("false") {
                return Err(Problem::new(format!("`zookeeper.{key}` is not supported"))
                    .hint("it asks for a protection that this client does not give; leave it out if you can do without"));
            }
            if !WITHOUT_EFFECT.contains(&key.as_str()) && !MISSING_PROTECTION.contains(&key.as_str()) {
                eprintln!("warning: unknown property `zookeeper.{key}` is ignored");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[&str]) -> Settings {
        let mut settings = Settings::default();
        for pair in pairs {
            settings.property(pair).expect("a property");
        }
        settings
    }

    #[test]
    fn java_flags_give_what_concerns_zookeeper() {
        let mut settings = Settings::default();
        settings.java_flags(
            "-Xmx1g -Dzookeeper.client.secure=true -Dfoo=1 -Dzookeeper.ssl.keyStore.location=/k.pem",
        );
        assert_eq!(settings.secure(), Ok(true));
        let store = settings.store("keyStore").expect("a store").expect("a store");
        assert_eq!((store.path, store.kind), (PathBuf::from("/k.pem"), KeyStoreKind::Pem));
        assert_eq!(settings.rest(), Ok(()), "`foo` is Java's own");
    }

    #[test]
    fn later_property_wins() {
        let mut settings = settings(&["zookeeper.client.secure=true", "client.secure=false"]);
        assert_eq!(settings.secure(), Ok(false));
    }

    #[test]
    fn flag_that_is_neither_true_nor_false_is_refused() {
        for word in ["yes", "1", "on", "ture", "no"] {
            let flag = |name: &str| settings(&[&format!("zookeeper.{name}={word}")]);
            assert!(flag("client.secure").secure().is_err(), "{word}");
            assert!(flag("ssl.hostnameVerification").verifies_hostname().is_err(), "{word}");
            assert!(flag("sasl.client").sasl().is_err(), "{word}");
        }
        for (word, value) in [("true", true), ("TRUE", true), ("False", false)] {
            let mut settings = settings(&[&format!("ssl.hostnameVerification={word}")]);
            assert_eq!(settings.verifies_hostname(), Ok(value));
        }
        assert_eq!(settings(&["ssl.hostnameVerification="]).verifies_hostname(), Ok(true), "the default");
    }

    #[test]
    fn protection_that_is_not_here_is_refused() {
        assert!(settings(&["zookeeper.ssl.ocsp=true"]).rest().is_err());
        assert!(settings(&["zookeeper.ssl.ocsp=false"]).rest().is_ok());
        assert!(settings(&["ssl.enabledProtocols=SSLv3"]).protocols().is_err());
    }
}
