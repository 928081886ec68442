//! Where clients come in: the listeners of a broker, and how clients speak at each.

use std::sync::Arc;

use net_auth::sasl::oauthbearer::TokenValidator;
use net_auth::sasl::plain;
use net_auth::sasl::scram::ScramHash;

/// How clients speak at a listener: `security.protocol` of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecurityProtocol {
    /// In the clear, without authentication.
    #[default]
    Plaintext,
    /// Over TLS; a client is who its certificate says.
    Ssl,
    /// In the clear, with SASL.
    SaslPlaintext,
    /// Over TLS, with SASL.
    SaslSsl,
}

impl SecurityProtocol {
    /// Whether connections are encrypted.
    #[must_use]
    pub const fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether clients authenticate by SASL.
    #[must_use]
    pub const fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }
}

/// A mechanism of SASL that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaslMechanism {
    /// A name and a password.
    Plain,
    /// SCRAM with that hash.
    Scram(ScramHash),
    /// A token of somebody who is trusted.
    OauthBearer,
}

impl SaslMechanism {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Plain, Self::Scram(ScramHash::Sha256), Self::Scram(ScramHash::Sha512), Self::OauthBearer];

    /// As `sasl.enabled.mechanisms` names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Scram(hash) => hash.mechanism(),
            Self::OauthBearer => "OAUTHBEARER",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }
}

/// How clients authenticate at a listener.
#[derive(Clone, Debug)]
pub struct SaslConfig {
    /// `sasl.enabled.mechanisms`.
    pub mechanisms: Vec<SaslMechanism>,
    /// The users of PLAIN. Those of SCRAM are the same at all listeners, and kept in the council.
    pub plain: plain::Server,
    /// Who knows which tokens are good; without it, OAUTHBEARER is refused.
    pub tokens: Option<Arc<dyn TokenValidator>>,
    /// `sasl.server.max.receive.size`: bytes of a request of a client that has not proved who it is.
    pub receive_bytes_max: usize,
    /// `connections.max.reauth.ms`; nothing if clients stay authenticated.
    pub reauthentication_ms: Option<u64>,
}

impl Default for SaslConfig {
    fn default() -> Self {
        Self {
            mechanisms: Vec::new(),
            plain: plain::Server::default(),
            tokens: None,
            receive_bytes_max: 524_288,
            reauthentication_ms: None,
        }
    }
}

/// A listener, as far as clients that speak there see it.
#[derive(Clone, Debug)]
pub struct BrokerListener {
    /// Its name, in upper case.
    pub name: String,
    /// How clients speak there.
    pub protocol: SecurityProtocol,
    /// `advertised.listeners`: where clients that speak there find this broker.
    pub advertised_host: String,
    /// The same: its port.
    pub advertised_port: u16,
    /// How clients authenticate there, if `protocol` has SASL.
    pub sasl: SaslConfig,
}

impl Default for BrokerListener {
    fn default() -> Self {
        Self {
            name: String::from("PLAINTEXT"),
            protocol: SecurityProtocol::Plaintext,
            advertised_host: String::from("127.0.0.1"),
            advertised_port: 9092,
            sasl: SaslConfig::default(),
        }
    }
}
