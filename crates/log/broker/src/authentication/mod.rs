//! Authentication: SASL exchanges of connections, and the users that they are checked with.
//!
//! A connection of a listener with SASL first asks for the versions, if it likes, and for a mechanism; then come tokens, in
//! requests of their own or bare. Everything else ends it. What is wrong is told after a while, the same for every reason that
//! concerns users, and then the connection ends.

mod answers;
mod exchange;
mod session;
mod users;

use base::Now;
use log_wire::ApiKey;
use net_auth::{AttemptLimiter, AttemptLimits, Nonces};

use crate::config::BrokerSecrets;

pub(crate) use answers::{Told, dispatch};
pub(crate) use session::{Expired, Outcome, Session};
pub(crate) use users::{ScramUsers, USERS_MAX};

/// What is served here when a client has authenticated, or need not: it is told so.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::SaslHandshake, ApiKey::SaslAuthenticate];

/// What all exchanges of a broker share. See the module.
#[derive(Debug)]
pub(crate) struct Authentication {
    pub(crate) users: ScramUsers,
    /// The secret of the cluster is known: it makes the salts of users that there are not.
    pub(crate) is_secret_known: bool,
    attempts: AttemptLimiter,
    nonces: Nonces,
}

impl Authentication {
    pub(crate) const fn new(limits: AttemptLimits, secrets: &BrokerSecrets) -> Self {
        Self {
            users: ScramUsers::new(secrets.cluster),
            is_secret_known: false,
            attempts: AttemptLimiter::new(limits),
            nonces: Nonces::new(secrets.start, 0),
        }
    }

    /// Takes an attempt of an address before a proof is looked at. Gives whether it has one.
    fn take_attempt(&mut self, ip: std::net::IpAddr, now: Now) -> bool {
        self.attempts.take(ip, now.mono()).is_ok()
    }
}
