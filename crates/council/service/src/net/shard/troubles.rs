//! What the log says of clients that get no connection: failed handshakes and failed authentication, in words that say
//! what to do. A client tries again and again, so each kind is told once in a while, with how many there were.

use node_threads::RateLimit;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use council_frontend::CloseReason;
use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

/// How often one kind of trouble is told.
const TOLD: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    handshakes: RateLimit,
    authentications: RateLimit,
    /// Of the super user's password.
    wrong: RateLimit,
    unheard: RateLimit,
}

impl Troubles {
    /// A connection broke, perhaps while it was opening.
    pub(super) fn broke(&self, peer: SocketAddr, is_opening: bool, error: &io::Error) {
        let tls = error.get_ref().and_then(|source| source.downcast_ref::<Error>());
        let Some(tls) = tls.filter(|_| is_opening) else {
            tracing::debug!(%peer, %error, "a connection broke");
            return;
        };
        if self.handshakes.allow(Instant::now(), TOLD) {
            let untold = self.handshakes.refused();
            tracing::warn!(%peer, untold, "a client's TLS handshake failed: {}", in_plain_words(tls));
        } else {
            tracing::debug!(%peer, error = %tls, "a client's TLS handshake failed");
        }
    }

    /// A connection is closed from this side.
    pub(super) fn closing(&self, peer: SocketAddr, reason: CloseReason) {
        tracing::debug!(%peer, reason = reason.name(), "closing a connection");
    }

    /// A client could not be authenticated and will be disconnected. `scheme` is what it said, if it showed anything.
    pub(super) fn not_authenticated(&self, peer: SocketAddr, scheme: Option<&str>) {
        if !self.authentications.allow(Instant::now(), TOLD) {
            tracing::debug!(%peer, scheme, "a client could not be authenticated");
            return;
        }
        let untold = self.authentications.refused();
        match scheme {
            Some(scheme) => tracing::warn!(
                %peer,
                scheme,
                untold,
                "a client could not be authenticated: wrong credentials, or a scheme that this server does not offer"
            ),
            None => tracing::warn!(
                %peer,
                untold,
                "a client asked for something before it was authenticated; hint: see `enforce.auth.schemes` and \
                 `sessionRequireClientSASLAuth`"
            ),
        }
    }

    /// A client showed a password of the super user that was wrong, or that was not looked at.
    pub(super) fn not_super(&self, client: IpAddr, wait_ms: Option<u64>) {
        let limit = if wait_ms.is_some() { &self.unheard } else { &self.wrong };
        let is_told = limit.allow(Instant::now(), TOLD);
        let untold = limit.refused();
        match wait_ms {
            _ if !is_told => {
                tracing::debug!(%client, wait_ms, "a client did not get the super user's rights")
            }
            None => tracing::warn!(
                %client,
                untold,
                "a client showed a wrong password of the super user: it goes on without the super user's rights"
            ),
            Some(wait_ms) => tracing::warn!(
                %client,
                wait_ms,
                untold,
                "too many wrong passwords of the super user came from this address: for a while none is looked at, and \
                 clients there do not get the super user's rights; hint: who guesses there?"
            ),
        }
    }
}

/// What went wrong in a handshake, as an operator would say it.
fn in_plain_words(error: &Error) -> String {
    let words = match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it does not speak TLS; hint: plain clients connect to `clientPort`"
        }
        Error::PeerIncompatible(_) => "it offers no TLS version or cipher suite that is allowed here",
        Error::NoCertificatesPresented => {
            "it shows no certificate; hint: give it one, or set `ssl.clientAuth`"
        }
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        Error::InvalidCertificate(CertificateError::Revoked) => "its certificate is revoked",
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is of an authority that is not in `ssl.trustStore.location`"
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
        let of = |error: Error| in_plain_words(&error);
        let plain = of(Error::InvalidMessage(InvalidMessage::InvalidContentType));
        assert!(plain.contains("clientPort"), "{plain}");
        let expired = of(Error::AlertReceived(AlertDescription::CertificateExpired));
        assert!(expired.contains("SIGHUP"), "{expired}");
        assert!(!of(Error::DecryptError).is_empty());
    }
}
