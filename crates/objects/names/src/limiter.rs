//! How much a network may ask: a bucket of tokens for each, so that a flood from one place, or under its addresses,
//! neither fills the core's thread nor is passed on to a victim.
//!
//! Over its limit, most queries of a network are not answered at all, and each [`SLIP`]th is told to come over TCP, where an
//! address cannot be forged: so a real client behind a network that somebody abuses still gets its answers.

use core::net::IpAddr;
use std::collections::BTreeMap;

use base::MonoTime;

/// So many networks are told apart. Further ones share one bucket until some have been silent.
const NETWORKS_MAX: usize = 4_096;
/// One of so many queries over the limit is told to come over TCP.
const SLIP: u32 = 4;
/// How often silent networks are looked for, milliseconds.
const FORGET_MS: u64 = 1_000;

/// How much a network may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many queries a second.
    pub per_second: u32,
    /// So many at once.
    pub burst: u32,
}

/// What becomes of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is answered.
    Serve,
    /// Its client is told to come over TCP.
    Truncate,
    /// It is not answered.
    Drop,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Limiter {
    rate: Rate,
    networks: BTreeMap<Network, Bucket>,
    others: Bucket,
    forgotten: MonoTime,
    dropped: u64,
}

/// The first 24 bits of an address of version 4, 56 of one of version 6: what one customer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Network {
    V4(u32),
    V6(u64),
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Thousandths of queries.
    tokens: u64,
    filled: MonoTime,
    over: u32,
}

impl Network {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits() >> 8),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 72) as u64),
        }
    }
}

impl Limiter {
    /// Networks that have asked nothing yet.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let others = Bucket::new(rate, MonoTime::ZERO);
        Self { rate, networks: BTreeMap::new(), others, forgotten: MonoTime::ZERO, dropped: 0 }
    }

    /// Whether a query from there is answered.
    pub fn judge(&mut self, source: IpAddr, now: MonoTime) -> Verdict {
        let network = Network::of(source);
        if self.networks.len() >= NETWORKS_MAX && !self.networks.contains_key(&network) {
            self.forget(now);
        }
        let rate = self.rate;
        let is_known = self.networks.contains_key(&network) || self.networks.len() < NETWORKS_MAX;
        let bucket = match is_known {
            true => self.networks.entry(network).or_insert_with(|| Bucket::new(rate, now)),
            false => &mut self.others,
        };
        let verdict = bucket.take(rate, now);
        self.dropped += u64::from(verdict != Verdict::Serve);
        verdict
    }

    /// How many queries were not answered, or only told to come over TCP.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Networks whose buckets are full have been silent.
    fn forget(&mut self, now: MonoTime) {
        if now.since(self.forgotten) >= FORGET_MS {
            self.forgotten = now;
            let rate = self.rate;
            self.networks.retain(|_, bucket| !bucket.fill(rate, now));
        }
    }
}

impl Bucket {
    const fn new(rate: Rate, now: MonoTime) -> Self {
        Self { tokens: rate.burst as u64 * 1_000, filled: now, over: 0 }
    }

    /// Whether it is full.
    fn fill(&mut self, rate: Rate, now: MonoTime) -> bool {
        let full = u64::from(rate.burst) * 1_000;
        let more = now.since(self.filled).saturating_mul(u64::from(rate.per_second));
        self.tokens = self.tokens.saturating_add(more).min(full);
        self.filled = self.filled.max(now);
        self.tokens == full
    }

    fn take(&mut self, rate: Rate, now: MonoTime) -> Verdict {
        self.fill(rate, now);
        match self.tokens.checked_sub(1_000) {
            Some(left) => {
                self.tokens = left;
                Verdict::Serve
            }
            None => {
                self.over = self.over.wrapping_add(1);
                if self.over.is_multiple_of(SLIP) { Verdict::Truncate } else { Verdict::Drop }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { per_second: 10, burst: 20 };

    fn served(limiter: &mut Limiter, address: &str, queries: u32, ms: u64) -> usize {
        let address: IpAddr = address.parse().expect("an address");
        let now = MonoTime::of_ms(ms);
        (0..queries).filter(|_| limiter.judge(address, now) == Verdict::Serve).count()
    }

    #[test]
    fn network_gets_its_burst_and_then_its_rate() {
        let mut limiter = Limiter::new(RATE);
        assert_eq!(served(&mut limiter, "10.0.0.1", 50, 1_000), 20);
        assert_eq!(served(&mut limiter, "10.0.0.1", 50, 1_500), 5);
        assert_eq!(served(&mut limiter, "10.0.0.1", 50, 60_000), 20);
        assert_eq!(limiter.dropped(), 30 + 45 + 30);
    }

    #[test]
    fn network_is_24_or_56_bits_and_others_have_their_own() {
        let mut limiter = Limiter::new(RATE);
        assert_eq!(served(&mut limiter, "10.0.0.1", 20, 0), 20);
        assert_eq!(served(&mut limiter, "10.0.0.255", 20, 0), 0);
        assert_eq!(served(&mut limiter, "::ffff:10.0.0.7", 20, 0), 0);
        assert_eq!(served(&mut limiter, "10.0.1.1", 20, 0), 20);
        assert_eq!(served(&mut limiter, "2001:db8:0:1::1", 20, 0), 20);
        assert_eq!(served(&mut limiter, "2001:db8:0:ff::1", 20, 0), 0);
        assert_eq!(served(&mut limiter, "2001:db8:0:100::1", 20, 0), 20);
    }

    #[test]
    fn one_of_four_over_the_limit_is_told_to_come_over_tcp() {
        let mut limiter = Limiter::new(Rate { per_second: 0, burst: 0 });
        let verdicts: Vec<_> =
            (0..8).map(|_| limiter.judge(IpAddr::from([10, 0, 0, 1]), MonoTime::ZERO)).collect();
        assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Truncate).count(), 2);
        assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Drop).count(), 6);
    }

    #[test]
    fn table_is_bounded_and_silent_networks_leave_it() {
        let mut limiter = Limiter::new(RATE);
        let address = |n: u32| IpAddr::from((n << 8).to_be_bytes());
        for n in 0..20_000 {
            limiter.judge(address(n), MonoTime::of_ms(5_000));
        }
        assert_eq!(limiter.networks.len(), NETWORKS_MAX);
        // Those that came too late shared one bucket.
        assert_eq!(limiter.judge(address(30_000), MonoTime::of_ms(5_000)), Verdict::Drop);
        assert_eq!(limiter.judge(address(0), MonoTime::of_ms(5_000)), Verdict::Serve);
        assert_eq!(limiter.judge(address(30_000), MonoTime::of_ms(60_000)), Verdict::Serve);
        assert_eq!(limiter.networks.len(), 1);
    }
}
