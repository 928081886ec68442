//! Attempts to reach a server, and why they fail. Knows no socket: the driver tells it what happened.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};

/// What a TLS server's alert begins with: a client that speaks plain text is told it.
pub(crate) const TLS_ALERT: [u8; 2] = [21, 3];

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
    /// This client speaks plain text, and the port expects TLS.
    #[error("the port expects TLS")]
    ExpectsTls,
    /// This client speaks TLS, and the port does not.
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
    /// Whether the failure stays until something is changed: a server is started, a name or a certificate is mended.
    /// Only a server that is slow or closes connections is expected to serve by itself. A server that restarts refuses
    /// connections for a moment, too; that counts as lasting, so that a wrong port is told at once.
    #[must_use]
    pub const fn is_lasting(&self) -> bool {
        !matches!(self, Self::TimedOut | Self::Closed)
    }

    pub(crate) fn of_io(error: &io::Error) -> Self {
        if let Some(failure) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return failure.clone();
        }
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
            return Self::of_tls(tls);
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                Self::Closed
            }
            _ => Self::Unreachable(error.to_string()),
        }
    }

    fn of_tls(error: &TlsError) -> Self {
        match error {
            TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => Self::NotTls,
            TlsError::InvalidCertificate(problem) => match problem {
                // A bad signature: the trust store holds another authority of the same name.
                CertificateError::UnknownIssuer | CertificateError::BadSignature => Self::UnknownAuthority,
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                    Self::NameMismatch
                }
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => Self::ServerCertificateExpired,
                other => Self::Tls(format!("its certificate is not valid: {other}")),
            },
            TlsError::AlertReceived(alert) => Self::of_alert(*alert),
            other => Self::Tls(other.to_string()),
        }
    }

    fn of_alert(alert: AlertDescription) -> Self {
        match alert {
            AlertDescription::CertificateRequired => Self::ClientCertificateRequired,
            AlertDescription::UnknownCA => Self::ClientCertificateRefused("unknown authority"),
            AlertDescription::CertificateExpired => Self::ClientCertificateRefused("it has expired"),
            AlertDescription::CertificateRevoked => Self::ClientCertificateRefused("it was revoked"),
            AlertDescription::BadCertificate | AlertDescription::CertificateUnknown => {
                Self::ClientCertificateRefused("it is not valid there")
            }
            AlertDescription::UnsupportedCertificate => {
                Self::ClientCertificateRefused("it is not for clients, or of a kind that is not supported")
            }
            AlertDescription::DecryptError => {
                Self::ClientCertificateRefused("another authority of the same name has signed it")
            }
            AlertDescription::ProtocolVersion => {
                Self::Tls(String::from("client and server have no version of TLS in common"))
            }
            AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
                Self::Tls(String::from("client and server have no cipher suite in common"))
            }
            other => Self::Tls(format!("the server sent the alert {other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_tls(error: TlsError) -> ConnectFailure {
        ConnectFailure::of_io(&io::Error::new(io::ErrorKind::InvalidData, error))
    }

    #[test]
    fn tls_errors_are_told_in_words_of_an_operator() {
        let certificate = |problem| of_tls(TlsError::InvalidCertificate(problem));
        assert_eq!(certificate(CertificateError::UnknownIssuer), ConnectFailure::UnknownAuthority);
        assert_eq!(certificate(CertificateError::NotValidForName), ConnectFailure::NameMismatch);
        assert_eq!(certificate(CertificateError::Expired), ConnectFailure::ServerCertificateExpired);
        let alert = |alert| of_tls(TlsError::AlertReceived(alert));
        assert_eq!(alert(AlertDescription::CertificateRequired), ConnectFailure::ClientCertificateRequired);
        assert!(matches!(alert(AlertDescription::UnknownCA), ConnectFailure::ClientCertificateRefused(_)));
        let not_tls = TlsError::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(of_tls(not_tls), ConnectFailure::NotTls);
    }

    #[test]
    fn only_what_may_pass_by_itself_is_waited_for() {
        assert!(ConnectFailure::Refused.is_lasting());
        assert!(ConnectFailure::UnknownHost(String::new()).is_lasting());
        assert!(!ConnectFailure::Closed.is_lasting());
        assert!(!ConnectFailure::TimedOut.is_lasting());
    }
}
