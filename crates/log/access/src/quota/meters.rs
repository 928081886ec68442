//! What each client has used of its quotas of late, and how long it must wait.
//!
//! Clients choose their own ids, so there may be any number of them: meters are bounded, and clients beyond share one.

use std::collections::BTreeMap;

use base::MonoTime;

use super::entity::QuotaKey;
use super::limits::{QuotaLimits, SharedBy};
use crate::rate::{SampledRate, Windows};
use crate::token_bucket::TokenBucket;

/// How many clients are told apart at the most, for each kind of quota.
const METERS_MAX: usize = 20_000;
/// How often idle meters are looked for when there are too many, milliseconds.
const SWEEP_MS: u64 = 1_000;

/// How quotas are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaWindows {
    /// Of bytes and time: `quota.window.num`, `quota.window.size.seconds`.
    pub rates: Windows,
    /// Of changes of topics: `controller.quota.window.num`, `controller.quota.window.size.seconds`.
    pub mutations: Windows,
}

/// Who a client is to quotas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaClient<'c> {
    /// The name of its user.
    pub user: &'c str,
    /// What it calls itself.
    pub client_id: &'c str,
}

/// See the module.
#[derive(Debug, Default)]
pub struct QuotaMeters {
    windows: QuotaWindows,
    rates: [Meters<SampledRate>; 3],
    mutations: Meters<TokenBucket>,
}

#[derive(Debug)]
struct Meters<T> {
    by_client: BTreeMap<String, T>,
    /// The key that is looked for: kept, so that it need not be made anew.
    key: String,
    /// When meters that are idle may be forgotten next.
    sweep_due: MonoTime,
}

impl<T> Default for Meters<T> {
    fn default() -> Self {
        Self { by_client: BTreeMap::new(), key: String::new(), sweep_due: MonoTime::ZERO }
    }
}

impl<T> Meters<T> {
    /// The meter of all that share a quota with the client.
    fn of(
        &mut self,
        client: QuotaClient<'_>,
        by: SharedBy,
        new: impl FnOnce() -> T,
        mut is_idle: impl FnMut(&mut T) -> bool,
        now: MonoTime,
    ) -> &mut T {
        let (user, client_id) = match by {
            SharedBy::User => (client.user, ""),
            SharedBy::UserClient => (client.user, client.client_id),
            SharedBy::Client => ("", client.client_id),
        };
        self.key.clear();
        // Lengths tell one pair of names from another.
        self.key.push_str(&user.len().to_string());
        [":", user, ":", client_id].iter().for_each(|part| self.key.push_str(part));
        if !self.by_client.contains_key(self.key.as_str()) {
            // Not for each new client: they cause it.
            if self.by_client.len() >= METERS_MAX && now >= self.sweep_due {
                self.sweep_due = now.plus_ms(SWEEP_MS);
                self.by_client.retain(|_, meter| !is_idle(meter));
            }
            if self.by_client.len() >= METERS_MAX {
                self.key.clear();
            }
        }
        if !self.by_client.contains_key(self.key.as_str()) {
            self.by_client.insert(self.key.clone(), new());
        }
        self.by_client.get_mut(self.key.as_str()).expect("it was inserted")
    }
}

impl QuotaMeters {
    /// Nothing was used yet.
    #[must_use]
    pub fn new(windows: QuotaWindows) -> Self {
        Self { windows, ..Self::default() }
    }

    /// A client uses so much. Gives how long it must wait until it is within its quota, milliseconds. A negative amount takes
    /// back what was used.
    pub fn used(
        &mut self,
        limits: &QuotaLimits,
        key: QuotaKey,
        client: QuotaClient<'_>,
        amount: f64,
        now: MonoTime,
    ) -> u64 {
        let Some((bound, by)) = limits.of_client(key, client.user, client.client_id) else { return 0 };
        let windows = self.windows.rates;
        let meters = match key {
            QuotaKey::ProducerByteRate => &mut self.rates[0],
            QuotaKey::ConsumerByteRate => &mut self.rates[1],
            QuotaKey::RequestPercentage => &mut self.rates[2],
            QuotaKey::ControllerMutationRate | QuotaKey::ConnectionCreationRate => return 0,
        };
        let rate = meters.of(client, by, SampledRate::default, |rate| rate.is_idle(windows, now), now);
        rate.record(amount, windows, now);
        rate.excess_ms(bound, windows, now)
    }

    /// A client changes so many partitions. One that owes nothing may change more than it has left.
    ///
    /// # Errors
    /// It owes for earlier ones, and is refused if `is_strict`: how long it must wait, milliseconds.
    pub fn mutate(
        &mut self,
        limits: &QuotaLimits,
        client: QuotaClient<'_>,
        partitions: u32,
        is_strict: bool,
        now: MonoTime,
    ) -> Result<u64, u64> {
        let key = QuotaKey::ControllerMutationRate;
        let Some((rate, by)) = limits.of_client(key, client.user, client.client_id) else { return Ok(0) };
        let windows = self.windows.mutations;
        let new = || TokenBucket::full(rate, windows, now);
        let bucket = self.mutations.of(client, by, new, |bucket| bucket.is_idle(rate, windows, now), now);
        let owed_ms = bucket.owed_ms(rate, windows, now);
        if is_strict && owed_ms > 0 {
            return Err(owed_ms);
        }
        bucket.take(f64::from(partitions), rate, windows, now);
        Ok(if is_strict { 0 } else { bucket.owed_ms(rate, windows, now) })
    }

    /// What is used in so long a time, milliseconds, may be used at once by a client that has used nothing of late.
    #[must_use]
    pub const fn rate_span_ms(&self) -> u64 {
        let Windows { count, size_ms } = self.windows.rates;
        (count.saturating_sub(1) as u64).saturating_mul(size_ms)
    }

    /// How long a client must wait at the most for its use of time, milliseconds: one window.
    #[must_use]
    pub const fn request_wait_ms_max(&self) -> u64 {
        self.windows.rates.size_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota::{EntityName, QuotaEntity};

    fn limits(entity: QuotaEntity, key: QuotaKey, value: f64) -> QuotaLimits {
        let mut limits = QuotaLimits::default();
        limits.set(entity, [(key, value)].into());
        limits
    }

    const KEY: QuotaKey = QuotaKey::ProducerByteRate;

    fn client<'c>(user: &'c str, client_id: &'c str) -> QuotaClient<'c> {
        QuotaClient { user, client_id }
    }

    #[test]
    fn clients_share_what_their_quota_is_for() {
        let now = MonoTime::of_ms(1);
        let mut meters = QuotaMeters::default();
        let of_user = limits(QuotaEntity::User(EntityName::Default), KEY, 1_000.0);
        assert_eq!(meters.used(&of_user, KEY, client("u", "a"), 10_000.0, now), 0);
        assert!(meters.used(&of_user, KEY, client("u", "b"), 10_000.0, now) > 0);
        assert_eq!(meters.used(&of_user, KEY, client("v", "a"), 10_000.0, now), 0);
        let of_pair = QuotaEntity::UserClient(EntityName::Default, EntityName::Default);
        let of_pair = limits(of_pair, KEY, 1_000.0);
        assert_eq!(meters.used(&of_pair, KEY, client("w", "a"), 10_000.0, now), 0);
        assert_eq!(meters.used(&of_pair, KEY, client("w", "b"), 10_000.0, now), 0);
        // Names that run into each other are still two.
        assert_eq!(meters.used(&of_pair, KEY, client("x", "yz"), 10_000.0, now), 0);
        assert_eq!(meters.used(&of_pair, KEY, client("xy", "z"), 10_000.0, now), 0);
    }

    #[test]
    fn clients_without_a_quota_have_no_meter_and_those_beyond_the_bound_share_one() {
        let mut meters = QuotaMeters::default();
        assert_eq!(meters.used(&QuotaLimits::default(), KEY, client("u", "c"), 1e9, MonoTime::ZERO), 0);
        assert!(meters.rates.iter().all(|meters| meters.by_client.is_empty()));
        let limits = limits(QuotaEntity::Client(EntityName::Default), KEY, 1.0);
        for number in 0..METERS_MAX + 100 {
            let id = number.to_string();
            meters.used(&limits, KEY, client("u", &id), 1.0, MonoTime::of_ms(5));
        }
        assert_eq!(meters.rates[0].by_client.len(), METERS_MAX + 1);
        assert!(meters.used(&limits, KEY, client("u", "one more"), 0.0, MonoTime::of_ms(6)) > 0);
        assert_eq!(meters.used(&limits, KEY, client("u", "later"), 1.0, MonoTime::of_ms(20_000)), 0);
        assert_eq!(meters.rates[0].by_client.len(), 1, "those that are idle leave their places");
    }

    #[test]
    fn change_of_topics_is_refused_once_the_client_owes() {
        let mut meters = QuotaMeters::default();
        let limits = limits(QuotaEntity::User(EntityName::Default), QuotaKey::ControllerMutationRate, 1.0);
        let mut mutate = |partitions, strict, ms| {
            meters.mutate(&limits, client("u", "c"), partitions, strict, MonoTime::of_ms(ms))
        };
        assert_eq!(mutate(20, true, 0), Ok(0));
        assert_eq!(mutate(1, true, 0), Err(9_000));
        assert_eq!(mutate(1, true, 8_999), Err(1));
        assert_eq!(mutate(1, false, 8_999), Ok(1_001));
        assert_eq!(mutate(1, true, 10_000), Ok(0));
    }
}
