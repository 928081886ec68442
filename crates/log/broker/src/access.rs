//! Access: rules, quotas and users of SCRAM, as the council holds them, and what clients have used of their quotas.
//!
//! All of it is kept in nodes that [`log_metadata::access`] describes. This module knows no request.

use base::{MonoTime, Now};
use log_access::Authorizer;
use log_access::quota::{QuotaClient, QuotaKey, QuotaLimits, QuotaMeters};
use log_metadata::access::{AccessContent, AccessPlace};
use log_wire::ErrorCode;

use crate::authentication::Authentication;
use crate::client::Client;
use crate::config::BrokerConfig;

/// What is known of access. See the module.
#[derive(Debug)]
pub(crate) struct Access {
    /// Who may do what; nothing if everybody may do everything.
    pub(crate) authorizer: Option<Authorizer>,
    /// How often rules have changed.
    pub(crate) rules_version: u64,
    pub(crate) authentication: Authentication,
    pub(crate) quotas: QuotaLimits,
    meters: QuotaMeters,
    /// How long the client of the request that is handled is to wait, milliseconds.
    throttle_ms: u64,
}

impl Access {
    pub(crate) fn new(config: &BrokerConfig) -> Self {
        Self {
            authorizer: config.authorizer.clone().map(Authorizer::new),
            rules_version: 0,
            authentication: Authentication::new(config.attempts, &config.secrets),
            quotas: QuotaLimits::default(),
            meters: QuotaMeters::new(config.quota_windows),
            throttle_ms: 0,
        }
    }

    /// The council has committed this. Gives whether it could be read: otherwise nobody gets a right by it that it might take
    /// away.
    pub(crate) fn changed(&mut self, place: &AccessPlace, data: Option<&[u8]>) -> bool {
        let read = AccessContent::read(place, data);
        let is_read = read.is_some();
        match (place, read.unwrap_or_else(|| AccessContent::closed(place))) {
            (AccessPlace::User(user), AccessContent::User(credentials)) => {
                self.authentication.users.set(user, credentials);
            }
            (AccessPlace::Quotas(entity), AccessContent::Quotas(values)) => {
                self.quotas.set(entity.clone(), values);
            }
            (AccessPlace::Rules(pattern), AccessContent::Rules(rules)) => {
                if let Some(authorizer) = &mut self.authorizer {
                    authorizer.acls.set(pattern.clone(), rules);
                    self.rules_version += 1;
                }
            }
            _ => {}
        }
        is_read
    }
}

/// Quotas: what clients use, and how long they wait for it.
impl Access {
    /// A client uses so much of a quota. Gives how long it must wait, milliseconds.
    pub(crate) fn charge(
        &mut self,
        key: QuotaKey,
        (client, client_id): (&Client, &str),
        amount: f64,
        now: MonoTime,
    ) -> u64 {
        if !self.quotas.has(key) {
            return 0;
        }
        let client = QuotaClient { user: client.principal.name(), client_id };
        self.meters.used(&self.quotas, key, client, amount, now)
    }

    /// A request of this client took a thread so long, nanoseconds: the client waits if it has taken too much of late, but at
    /// most as long as one window is.
    pub(crate) fn worked(&mut self, client: (&Client, &str), ns: u64, now: MonoTime) {
        let percent_seconds = ns as f64 / 1e7;
        let wait_ms = self.charge(QuotaKey::RequestPercentage, client, percent_seconds, now);
        self.throttle(wait_ms.min(self.meters.request_wait_ms_max()));
    }

    /// A client changes so many partitions. It waits for that, or is refused if it is told so: `is_strict`.
    ///
    /// # Errors
    /// It has changed too many of late.
    pub(crate) fn mutate(
        &mut self,
        (client, client_id): (&Client, &str),
        partitions: usize,
        is_strict: bool,
        now: Now,
    ) -> Result<(), ErrorCode> {
        let client = QuotaClient { user: client.principal.name(), client_id };
        let partitions = u32::try_from(partitions).unwrap_or(u32::MAX);
        let waits = self.meters.mutate(&self.quotas, client, partitions, is_strict, now.mono());
        let (Ok(wait_ms) | Err(wait_ms)) = waits;
        self.throttle(wait_ms);
        waits.map(|_| ()).map_err(|_| ErrorCode::ThrottlingQuotaExceeded)
    }

    /// How many bytes a client may fetch at once, if it has a quota.
    pub(crate) fn fetch_bytes_max(&self, client: &Client, client_id: &str) -> Option<usize> {
        let key = QuotaKey::ConsumerByteRate;
        let (rate, _) = self.quotas.of_client(key, client.principal.name(), client_id)?;
        Some((rate * self.meters.rate_span_ms() as f64 / 1_000.0) as usize)
    }

    /// The client of the request that is handled is to wait.
    pub(crate) fn throttle(&mut self, wait_ms: u64) {
        self.throttle_ms = self.throttle_ms.max(wait_ms);
    }

    /// The same, as responses say it.
    pub(crate) fn throttle_time_ms(&self) -> i32 {
        i32::try_from(self.throttle_ms).unwrap_or(i32::MAX)
    }

    /// How long the client of the request that was handled is to wait, milliseconds.
    pub(crate) const fn take_throttle_ms(&mut self) -> u64 {
        std::mem::replace(&mut self.throttle_ms, 0)
    }
}
