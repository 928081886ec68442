//! Bounds how fast passwords can be guessed: each address has a few attempts, which come back slowly. Knows nothing
//! of passwords and reads no clock.

use base::MonoTime;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// Addresses with a place of their own. When all places are taken, further addresses share one.
const ADDRESSES_MAX: usize = 1024;

/// How many attempts there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Attempts that an address has at once.
    pub attempts_max: u32,
    /// How long it takes until an attempt that was used comes back, milliseconds.
    pub refill_ms: u64,
}

impl Default for AttemptLimits {
    fn default() -> Self {
        Self { attempts_max: 10, refill_ms: 6_000 }
    }
}

impl AttemptLimits {
    /// The part of one of so many that count apart: together they allow about as many attempts as one would.
    #[must_use]
    pub fn shared_by(self, parts: u16) -> Self {
        let parts = parts.max(1);
        Self {
            attempts_max: self.attempts_max.div_ceil(u32::from(parts)),
            refill_ms: self.refill_ms.saturating_mul(u64::from(parts)),
        }
    }
}

/// Counts the attempts of all addresses.
#[derive(Debug, Default)]
pub struct AttemptLimiter {
    limits: AttemptLimits,
    used: BTreeMap<IpAddr, Used>,
}

/// Attempts used, as of a moment.
#[derive(Clone, Copy, Debug)]
struct Used {
    attempts: u32,
    since: MonoTime,
}

impl Used {
    /// What is still used up `now`.
    fn at(self, now: MonoTime, refill_ms: u64) -> Self {
        let back = now.since(self.since) / refill_ms.max(1);
        let attempts = u64::from(self.attempts).saturating_sub(back);
        if attempts == 0 {
            return Self { attempts: 0, since: now };
        }
        Self { attempts: attempts as u32, since: self.since.plus_ms(back * refill_ms) }
    }
}

impl AttemptLimiter {
    /// No attempt was used yet.
    #[must_use]
    pub const fn new(limits: AttemptLimits) -> Self {
        Self { limits, used: BTreeMap::new() }
    }

    /// Takes an attempt of this address before a password is looked at.
    ///
    /// # Errors
    /// None is left: how many milliseconds until the next one.
    pub fn take(&mut self, address: IpAddr, now: MonoTime) -> Result<(), u64> {
        let AttemptLimits { attempts_max, refill_ms } = self.limits;
        let network = network(address);
        // The shared place is there from the first overflow on: only the network's own place says whether it has one.
        if self.used.len() >= ADDRESSES_MAX && !self.used.contains_key(&network) {
            self.used.retain(|_, one| one.at(now, refill_ms).attempts > 0);
        }
        let place = self.place(network);
        let one = self.used.entry(place).or_insert(Used { attempts: 0, since: now });
        *one = one.at(now, refill_ms);
        if one.attempts >= attempts_max {
            return Err(refill_ms.saturating_sub(now.since(one.since)));
        }
        one.attempts += 1;
        Ok(())
    }

    /// The password was right: the attempt does not count.
    pub fn give_back(&mut self, address: IpAddr) {
        let place = self.place(network(address));
        if let Some(one) = self.used.get_mut(&place) {
            one.attempts = one.attempts.saturating_sub(1);
        }
    }

    /// Where the attempts of a network are counted.
    fn place(&self, network: IpAddr) -> IpAddr {
        match self.used.len() < ADDRESSES_MAX || self.used.contains_key(&network) {
            true => network,
            false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }
}

/// A host has a whole /64 of IPv6 addresses to come from.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let bits = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const LIMITS: AttemptLimits = AttemptLimits { attempts_max: 10, refill_ms: 6_000 };

    fn host(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number))
    }

    #[test]
    fn attempts_run_out_and_come_back_one_by_one() {
        let mut limiter = AttemptLimiter::new(LIMITS);
        for _ in 0..LIMITS.attempts_max {
            assert_eq!(limiter.take(host(1), MonoTime::of_ms(5)), Ok(()));
        }
        assert_eq!(limiter.take(host(1), MonoTime::of_ms(2_005)), Err(4_000));
        assert_eq!(limiter.take(host(2), MonoTime::of_ms(5)), Ok(()), "another address has its own");
        assert_eq!(limiter.take(host(1), MonoTime::of_ms(6_005)), Ok(()));
        assert!(limiter.take(host(1), MonoTime::of_ms(6_005)).is_err());
        assert_eq!((0..20).filter(|_| limiter.take(host(1), MonoTime::of_ms(600_000)).is_ok()).count(), 10);
    }

    #[test]
    fn right_password_costs_no_attempt() {
        let mut limiter = AttemptLimiter::new(LIMITS);
        for _ in 0..1000 {
            assert_eq!(limiter.take(host(1), MonoTime::of_ms(0)), Ok(()));
            limiter.give_back(host(1));
        }
    }

    #[test]
    fn addresses_are_bounded_and_those_beyond_share_one_place() {
        let mut limiter = AttemptLimiter::new(LIMITS);
        let allowed =
            (0..5_000).filter(|number| limiter.take(host(*number), MonoTime::of_ms(0)).is_ok()).count();
        assert_eq!(allowed, ADDRESSES_MAX + 10);
        assert!(limiter.used.len() <= ADDRESSES_MAX + 1);
        assert_eq!(limiter.take(host(9_999), MonoTime::of_ms(120_000)), Ok(()), "places come free again");
        assert_eq!(limiter.used.len(), 1, "addresses whose attempts came back hold no place");
        let allowed = (20_000..20_100).flat_map(|number| [host(number); 20]);
        let allowed = allowed.filter(|host| limiter.take(*host, MonoTime::of_ms(120_000)).is_ok()).count();
        assert_eq!(allowed, 100 * 10, "each address has its own attempts again");
        let v6 = |low: u128| IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | low));
        let allowed = (0..100).filter(|low| limiter.take(v6(*low), MonoTime::of_ms(240_000)).is_ok()).count();
        assert_eq!(allowed, 10, "a /64 is one host");
    }

    #[test]
    fn parts_allow_together_about_what_one_would() {
        assert_eq!(LIMITS.shared_by(1), LIMITS);
        assert_eq!(LIMITS.shared_by(4), AttemptLimits { attempts_max: 3, refill_ms: 24_000 });
        assert_eq!(LIMITS.shared_by(100).attempts_max, 1);
    }
}
