//! What the log says of clients that get no session for want of an identity, in words that say what to do. A client tries
//! again and again, so each kind is told once in a while, with how many there were.

use node_threads::RateLimit;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use council_frontend::CloseReason;

/// How often one kind of trouble is told.
const TOLD: Duration = Duration::from_secs(10);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    authentications: RateLimit,
    /// Of the super user's password.
    wrong: RateLimit,
    unheard: RateLimit,
}

impl Troubles {
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
