//! Where clients come in: the listeners of a broker, and how clients speak at each.

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

/// A listener, as far as clients that speak there see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerListener {
    /// Its name, in upper case.
    pub name: String,
    /// How clients speak there.
    pub protocol: SecurityProtocol,
    /// `advertised.listeners`: where clients that speak there find this broker.
    pub advertised_host: String,
    /// The same: its port.
    pub advertised_port: u16,
}

impl Default for BrokerListener {
    fn default() -> Self {
        Self {
            name: String::from("PLAINTEXT"),
            protocol: SecurityProtocol::Plaintext,
            advertised_host: String::from("127.0.0.1"),
            advertised_port: 9092,
        }
    }
}
