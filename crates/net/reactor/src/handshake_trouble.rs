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
    /// What is to be done about a client that speaks plain text where TLS is wanted.
    pub plain_at_tls: &'static str,
    /// What is to be done about one that speaks TLS where plain text is wanted.
    pub tls_at_plain: &'static str,
    /// Whether clients must show a certificate.
    pub client_auth: &'static str,
    /// The authorities that clients' certificates must come from.
    pub trust_store: &'static str,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct HandshakeTrouble {
    hints: TlsHints,
    /// Of the lines about each kind of trouble: many clients with one of them must not hide another.
    failed: RateLimit,
    plain: RateLimit,
    encrypted: RateLimit,
    crowd: RateLimit,
}

impl HandshakeTrouble {
    pub(crate) fn new(hints: TlsHints) -> Self {
        let [failed, plain, encrypted, crowd] = std::array::from_fn(|_| RateLimit::default());
        Self { hints, failed, plain, encrypted, crowd }
    }

    /// A connection broke, perhaps while it was opening.
    pub(crate) fn broke(&self, peer: SocketAddr, is_opening: bool, error: &io::Error) {
        let tls = error.get_ref().and_then(|source| source.downcast_ref::<Error>());
        let Some(tls) = tls.filter(|_| is_opening) else {
            tracing::debug!(%peer, %error, "a connection broke");
            return;
        };
        tell(
            &self.failed,
            peer,
            &format!("a client's TLS handshake failed: {}", in_plain_words(tls, self.hints)),
        );
    }

    /// A client speaks plain text where TLS is wanted.
    pub(crate) fn is_plain(&self, peer: SocketAddr) {
        let hint = self.hints.plain_at_tls;
        tell(&self.plain, peer, &format!("a client is refused: it does not speak TLS; hint: {hint}"));
    }

    /// A client speaks TLS where plain text is wanted. The protocol refuses it, for what it says is none of its messages.
    pub(crate) fn is_tls(&self, peer: SocketAddr) {
        let hint = self.hints.tls_at_plain;
        tell(
            &self.encrypted,
            peer,
            &format!("a client is refused: it speaks TLS at a port without; hint: {hint}"),
        );
    }

    /// A client's certificate is sound, and the name in it is not.
    pub(crate) fn has_unreadable_name(&self, peer: SocketAddr) {
        tell(&self.failed, peer, "a client is refused: the name in its certificate cannot be read");
    }

    /// So many handshakes are under way that this client has to come again.
    pub(crate) fn too_many(&self, peer: SocketAddr, most: u64) {
        tell(&self.crowd, peer, &format!("a client is refused: {most} TLS handshakes are under way"));
    }
}

fn tell(limit: &RateLimit, peer: SocketAddr, what: &str) {
    if limit.allow(Instant::now(), TOLD) {
        let untold = limit.refused();
        tracing::warn!(%peer, untold, "{what}");
    } else {
        tracing::debug!(%peer, "{what}");
    }
}

/// What went wrong in a handshake, as an operator would say it.
fn in_plain_words(error: &Error, hints: TlsHints) -> String {
    let words = match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            return format!("it does not speak TLS; hint: {}", hints.plain_at_tls);
        }
        Error::PeerIncompatible(_) => "it offers no TLS version or cipher suite that is allowed here",
        Error::NoCertificatesPresented => {
            return format!("it shows no certificate; hint: give it one, or set `{}`", hints.client_auth);
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Error::InvalidCertificate(CertificateError::Revoked) => "its certificate is revoked",
        // An authority of the same name and with another key is another authority.
        Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            return format!("its certificate is of an authority that is not in `{}`", hints.trust_store);
        }
        Error::AlertReceived(AlertDescription::CertificateExpired) => {
            "it says that this server's certificate has expired; hint: renew it and send `SIGHUP`"
        }
        Error::AlertReceived(
            AlertDescription::UnknownCA | AlertDescription::BadCertificate | AlertDescription::DecryptError,
        ) => {
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
        let hints = TlsHints {
            plain_at_tls: "plain clients connect to `clientPort`",
            tls_at_plain: "encrypted ones to `secureClientPort`",
            client_auth: "auth",
            trust_store: "trust",
        };
        let of = |error: Error| in_plain_words(&error, hints);
        let plain = of(Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert!(plain.contains("clientPort"), "{plain}");
        let expired = of(Error::AlertReceived(AlertDescription::CertificateExpired));
        assert!(expired.contains("SIGHUP"), "{expired}");
        assert!(!of(Error::DecryptError).is_empty());
    }
}
