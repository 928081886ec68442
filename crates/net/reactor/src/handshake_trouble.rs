//! What the log says of clients whose TLS handshake fails, with what to do. A client tries again and again, so the line
//! comes once in a while, with the number of failures.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use node_threads::RateLimit;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// How often it is logged.
const TOLD: Duration = Duration::from_secs(10);

/// The names that a protocol's configuration has for the settings in these lines.
#[derive(Clone, Copy, Debug)]
pub struct TlsHints {
    /// The port for clients without encryption.
    pub plain_port: &'static str,
    /// Whether clients must show a certificate.
    pub client_auth: &'static str,
    /// The authorities that clients' certificates must come from.
    pub trust_store: &'static str,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct HandshakeTrouble {
    hints: TlsHints,
    limit: RateLimit,
}

impl HandshakeTrouble {
    pub(crate) fn new(hints: TlsHints) -> Self {
        Self { hints, limit: RateLimit::default() }
    }

    /// A connection broke, perhaps while it was opening.
    pub(crate) fn broke(&self, peer: SocketAddr, is_opening: bool, error: &io::Error) {
        let tls = error.get_ref().and_then(|source| source.downcast_ref::<Error>());
        let Some(tls) = tls.filter(|_| is_opening) else {
            tracing::debug!(%peer, %error, "a connection broke");
            return;
        };
        if self.limit.allow(Instant::now(), TOLD) {
            let untold = self.limit.refused();
            tracing::warn!(%peer, untold, "a client's TLS handshake failed: {}", in_plain_words(tls, self.hints));
        } else {
            tracing::debug!(%peer, error = %tls, "a client's TLS handshake failed");
        }
    }
}

/// What went wrong in a handshake, as an operator would say it.
fn in_plain_words(error: &Error, hints: TlsHints) -> String {
    let words = match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            return format!("it does not speak TLS; hint: plain clients connect to `{}`", hints.plain_port);
        }
        Error::PeerIncompatible(_) => "it offers no TLS version or cipher suite that is allowed here",
        Error::NoCertificatesPresented => {
            return format!("it shows no certificate; hint: give it one, or set `{}`", hints.client_auth);
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Error::InvalidCertificate(CertificateError::Revoked) => "its certificate is revoked",
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            return format!("its certificate is of an authority that is not in `{}`", hints.trust_store);
        }
        Error::AlertReceived(AlertDescription::CertificateExpired) => {
            "it says that this server's certificate has expired; hint: renew it and send `SIGHUP`"
        }
        Error::AlertReceived(AlertDescription::UnknownCA | AlertDescription::BadCertificate) => {
            "it does not trust this server's certificate; hint: the client's trust store needs its authority"
        }
        other => return other.to_string(),
    };
    String::from(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_failures_say_what_to_do() {
        let hints = TlsHints { plain_port: "clientPort", client_auth: "auth", trust_store: "trust" };
        let of = |error: Error| in_plain_words(&error, hints);
        let plain = of(Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert!(plain.contains("clientPort"), "{plain}");
        let expired = of(Error::AlertReceived(AlertDescription::CertificateExpired));
        assert!(expired.contains("SIGHUP"), "{expired}");
        assert!(!of(Error::DecryptError).is_empty());
    }
}
