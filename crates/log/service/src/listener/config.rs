//! How a listener is set up: `listeners`, `advertised.listeners` and what concerns one of them.

use std::net::SocketAddr;

use base::Secret;
use log_access::ListenerLimits;
use log_broker::{SaslConfig, SaslMechanism, SecurityProtocol};
use net_auth::sasl::plain;
use net_tls::TlsConfig;

use crate::oauth::{OauthConfig, Validator};

/// See the module.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Its name, in upper case.
    pub name: String,
    /// Where it listens. Port 0 is any that is free.
    pub address: SocketAddr,
    /// Where clients are told to connect; port 0 is the one that is listened at. Nothing for where it listens.
    pub advertised: Option<(String, u16)>,
    /// How clients speak there.
    pub protocol: SecurityProtocol,
    /// Keys and certificates, if `protocol` has TLS.
    pub tls: Option<ListenerTls>,
    /// How clients authenticate, if `protocol` has SASL.
    pub sasl: Option<ListenerSasl>,
    /// Limits of its own.
    pub limits: ListenerLimits,
}

/// TLS of a listener.
#[derive(Clone, Debug)]
pub struct ListenerTls {
    /// `ssl.*`.
    pub config: TlsConfig,
    /// `ssl.principal.mapping.rules`: `DEFAULT` if it is not set.
    pub principal_rules: String,
}

/// SASL of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSasl {
    /// `sasl.enabled.mechanisms`, each with its JAAS text: `listener.name.NAME.MECHANISM.sasl.jaas.config`. The one of PLAIN names
    /// its users; those of SCRAM are kept in the council.
    pub mechanisms: Vec<(String, Option<Secret>)>,
    /// How tokens of OAUTHBEARER are judged.
    pub oauth: OauthConfig,
    /// `sasl.server.max.receive.size`.
    pub receive_bytes_max: usize,
    /// `connections.max.reauth.ms`; nothing if clients stay authenticated.
    pub reauthentication_ms: Option<u64>,
}

/// The login module of Kafka whose JAAS text names users of PLAIN.
const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";

impl ListenerSasl {
    /// As the broker takes it.
    ///
    /// # Errors
    /// A mechanism is not served, or cannot work as it is set up, in words.
    pub(super) fn broker_config(&self) -> Result<SaslConfig, String> {
        let mut config = SaslConfig {
            receive_bytes_max: self.receive_bytes_max,
            reauthentication_ms: self.reauthentication_ms,
            ..SaslConfig::default()
        };
        for (name, jaas) in &self.mechanisms {
            let mechanism = SaslMechanism::of_name(name).ok_or_else(|| {
                let known = SaslMechanism::ALL.map(SaslMechanism::name).join(", ");
                format!("the mechanism `{name}` is not served\nhint: those served are {known}")
            })?;
            match mechanism {
                SaslMechanism::Plain => config.plain = plain_users(jaas.as_ref())?,
                SaslMechanism::OauthBearer => config.tokens = Some(Validator::new(self.oauth.clone())?),
                SaslMechanism::Scram(_) => {}
            }
            config.mechanisms.push(mechanism);
        }
        if config.mechanisms.is_empty() {
            return Err(String::from("no mechanism is enabled\nhint: set `sasl.enabled.mechanisms`"));
        }
        Ok(config)
    }
}

fn plain_users(jaas: Option<&Secret>) -> Result<plain::Server, String> {
    const HINT: &str =
        "hint: set `listener.name.NAME.plain.sasl.jaas.config`, with `user_NAME=\"PASSWORD\"` for each user";
    let jaas = jaas.ok_or_else(|| format!("PLAIN has no users\n{HINT}"))?;
    // A line of JAAS is what a section of a file has between its brackets.
    let section = format!("S {{ {} }};", jaas.0);
    let users = net_auth::jaas::users(&section, "S", PLAIN_MODULE);
    users.map(plain::Server::new).map_err(|error| format!("the users of PLAIN: {error}\n{HINT}"))
}

impl ListenerConfig {
    /// A listener without encryption and authentication.
    #[must_use]
    pub fn plaintext(address: SocketAddr) -> Self {
        Self {
            name: String::from("PLAINTEXT"),
            address,
            advertised: None,
            protocol: SecurityProtocol::Plaintext,
            tls: None,
            sasl: None,
            limits: ListenerLimits::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use net_auth::sasl::ServerStep;

    use super::*;

    fn sasl(mechanisms: &[(&str, Option<&str>)]) -> Result<SaslConfig, String> {
        let mechanisms = mechanisms.iter();
        let mechanisms =
            mechanisms.map(|(name, jaas)| ((*name).into(), jaas.map(|jaas| Secret(jaas.into()))));
        let sasl = ListenerSasl {
            mechanisms: mechanisms.collect(),
            oauth: OauthConfig::default(),
            receive_bytes_max: 1_000,
            reauthentication_ms: None,
        };
        sasl.broker_config()
    }

    #[test]
    fn users_of_plain_are_those_of_its_jaas_line() {
        let line = format!("{PLAIN_MODULE} required username=\"broker\" user_alice=\"a;b\" user_bob=\"x\";");
        let config = sasl(&[("SCRAM-SHA-512", None), ("PLAIN", Some(&line))]).expect("it is good");
        let names: Vec<_> = config.mechanisms.iter().map(|mechanism| mechanism.name()).collect();
        assert_eq!(names, ["SCRAM-SHA-512", "PLAIN"]);
        assert!(matches!(config.plain.step(b"\0alice\0a;b"), ServerStep::Complete { .. }));
        assert!(matches!(config.plain.step(b"\0broker\0"), ServerStep::Failed(_)));
    }

    #[test]
    fn what_cannot_work_is_refused_with_a_hint() {
        let other = Some("com.example.Module required user_a=\"x\";");
        for mechanisms in
            [&[][..], &[("GSSAPI", None)], &[("PLAIN", None)], &[("PLAIN", other)], &[("PLAIN", Some("x"))]]
        {
            let told = sasl(mechanisms).expect_err("refused");
            assert!(told.contains("hint: "), "{told}");
        }
    }
}
