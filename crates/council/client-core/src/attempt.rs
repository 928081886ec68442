//! Attempts to reach a server, and why they fail. Knows no socket: the driver says what happened.

use std::fmt;
use std::net::SocketAddr;

/// What a TLS server's alert begins with: a client without TLS gets it.
pub const TLS_ALERT: [u8; 2] = [21, 3];

/// The last attempt to reach one server of the connect string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The name of the server, as the connect string has it.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The address that was dialled; none if the name has no address.
    pub address: Option<SocketAddr>,
    /// Why no session came of it.
    pub failure: ConnectFailure,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) if address.ip().to_string() != self.host => {
                write!(f, "{}:{} ({}): {}", self.host, self.port, address.ip(), self.failure)
            }
            _ => write!(f, "{}:{}: {}", self.host, self.port, self.failure),
        }
    }
}

impl std::error::Error for Attempt {}

/// Why an attempt to reach a server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectFailure {
    /// The name of the server has no address.
    #[error("the name cannot be resolved: {0}")]
    UnknownHost(String),
    /// The host runs no server at this port.
    #[error("connection refused")]
    Refused,
    /// The host cannot be reached.
    #[error("cannot connect: {0}")]
    Unreachable(String),
    /// The server did not open a session in time.
    #[error("no answer in time")]
    TimedOut,
    /// The server took the connection and closed it without opening a session.
    #[error("the server closed the connection: it may have no leader, or too many connections")]
    Closed,
    /// This client does not use TLS, and the port expects it.
    #[error("the port expects TLS")]
    ExpectsTls,
    /// This client uses TLS, and the port does not.
    #[error("the port does not speak TLS")]
    NotTls,
    /// The server closed the connection before TLS was agreed upon.
    #[error(
        "the server closed the connection during the TLS handshake: the port may speak plain text, or there are too many connections"
    )]
    ClosedInHandshake,
    /// No authority that this client trusts has signed the server's certificate.
    #[error("its certificate is signed by an unknown authority")]
    UnknownAuthority,
    /// The server's certificate names other hosts.
    #[error("its certificate does not name this host")]
    NameMismatch,
    /// The server's certificate has expired, or is not valid yet.
    #[error("its certificate has expired or is not valid yet")]
    ServerCertificateExpired,
    /// The server wants a certificate of this client, and got none.
    #[error("it asks for a client certificate")]
    ClientCertificateRequired,
    /// The server does not accept the certificate of this client.
    #[error("it does not accept the client certificate: {0}")]
    ClientCertificateRefused(&'static str),
    /// Another failure of TLS.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The server sent bytes that are no answer of ZooKeeper's protocol.
    #[error("what answers does not speak ZooKeeper's protocol")]
    Malformed,
    /// The server took the connection and gave no session.
    #[error("it gave no session")]
    NoSession,
    /// The server does not know the SASL user or the password, or does not speak DIGEST-MD5.
    #[error("it does not accept the SASL user: check name and password")]
    SaslRefused,
    /// The server does not accept an identity of this scheme.
    #[error("it does not accept an identity of the scheme `{0}`")]
    IdentityRefused(String),
    /// The server does not serve clients that have not authenticated.
    #[error("it demands that clients authenticate")]
    Unauthenticated,
}

impl ConnectFailure {
    /// Whether the failure lasts until something is changed: a server is started, a name or a certificate is corrected.
    /// Only a server that is slow or closes connections is expected to serve by itself. A server that restarts refuses
    /// connections for a moment, too; that counts as lasting, so that a wrong port is reported at once.
    #[must_use]
    pub const fn is_lasting(&self) -> bool {
        !matches!(self, Self::TimedOut | Self::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_pass_by_itself_is_waited_for() {
        assert!(ConnectFailure::Refused.is_lasting());
        assert!(ConnectFailure::UnknownHost(String::new()).is_lasting());
        assert!(!ConnectFailure::Closed.is_lasting());
        assert!(!ConnectFailure::TimedOut.is_lasting());
    }
}
