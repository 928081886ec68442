//! Why a connection failed, in the words of an operator: from the errors of sockets and of TLS.

use std::io;

use council_client_core::ConnectFailure;
use rustls::{AlertDescription, CertificateError, Error as TlsError, InvalidMessage};

/// The reason behind an error of a socket or of TLS.
pub(crate) fn of_io(error: &io::Error) -> ConnectFailure {
    if let Some(failure) = error.get_ref().and_then(|inner| inner.downcast_ref::<ConnectFailure>()) {
        return failure.clone();
    }
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
        return of_tls(tls);
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ConnectFailure::Refused,
        io::ErrorKind::TimedOut => ConnectFailure::TimedOut,
        io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
            ConnectFailure::Closed
        }
        _ => ConnectFailure::Unreachable(error.to_string()),
    }
}

fn of_tls(error: &TlsError) -> ConnectFailure {
    match error {
        TlsError::InvalidMessage(InvalidMessage::InvalidContentType) => ConnectFailure::NotTls,
        TlsError::InvalidCertificate(problem) => match problem {
            // A bad signature: the trust store holds another authority of the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                ConnectFailure::UnknownAuthority
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ConnectFailure::NameMismatch
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => ConnectFailure::ServerCertificateExpired,
            other => ConnectFailure::Tls(format!("its certificate is not valid: {other}")),
        },
        TlsError::AlertReceived(alert) => of_alert(*alert),
        other => ConnectFailure::Tls(other.to_string()),
    }
}

fn of_alert(alert: AlertDescription) -> ConnectFailure {
    match alert {
        AlertDescription::CertificateRequired => ConnectFailure::ClientCertificateRequired,
        AlertDescription::UnknownCA => ConnectFailure::ClientCertificateRefused("unknown authority"),
        AlertDescription::CertificateExpired => ConnectFailure::ClientCertificateRefused("it has expired"),
        AlertDescription::CertificateRevoked => ConnectFailure::ClientCertificateRefused("it was revoked"),
        AlertDescription::BadCertificate | AlertDescription::CertificateUnknown => {
            ConnectFailure::ClientCertificateRefused("it is not valid there")
        }
        AlertDescription::UnsupportedCertificate => ConnectFailure::ClientCertificateRefused(
            "it is not for clients, or of a kind that is not supported",
        ),
        AlertDescription::DecryptError => {
            ConnectFailure::ClientCertificateRefused("another authority of the same name has signed it")
        }
        AlertDescription::ProtocolVersion => {
            ConnectFailure::Tls(String::from("client and server have no version of TLS in common"))
        }
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            ConnectFailure::Tls(String::from("client and server have no cipher suite in common"))
        }
        other => ConnectFailure::Tls(format!("the server sent the alert {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through_io(error: TlsError) -> ConnectFailure {
        of_io(&io::Error::new(io::ErrorKind::InvalidData, error))
    }

    #[test]
    fn tls_errors_are_told_in_words_of_an_operator() {
        let certificate = |problem| through_io(TlsError::InvalidCertificate(problem));
        assert_eq!(certificate(CertificateError::UnknownIssuer), ConnectFailure::UnknownAuthority);
        assert_eq!(certificate(CertificateError::NotValidForName), ConnectFailure::NameMismatch);
        assert_eq!(certificate(CertificateError::Expired), ConnectFailure::ServerCertificateExpired);
        let alert = |alert| through_io(TlsError::AlertReceived(alert));
        assert_eq!(alert(AlertDescription::CertificateRequired), ConnectFailure::ClientCertificateRequired);
        assert!(matches!(alert(AlertDescription::UnknownCA), ConnectFailure::ClientCertificateRefused(_)));
        let not_tls = TlsError::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(through_io(not_tls), ConnectFailure::NotTls);
    }
}
