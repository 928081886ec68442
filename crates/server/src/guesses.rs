//! Bounds how fast passwords can be guessed: each address has a few attempts, which come back slowly. Knows nothing
//! of passwords.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Attempts that an address has at once.
const ATTEMPTS_MAX: u32 = 10;
/// How long it takes until an attempt that was used comes back.
const REFILL: Duration = Duration::from_secs(6);
/// Addresses that are told apart. When all places are taken, further addresses share one.
const ADDRESSES_MAX: usize = 1024;

/// The attempts of all addresses.
#[derive(Debug, Default)]
pub(crate) struct Guesses {
    used: Mutex<HashMap<IpAddr, Used>>,
}

/// Attempts used, as of a moment.
#[derive(Clone, Copy, Debug)]
struct Used {
    attempts: u32,
    since: Instant,
}

impl Used {
    /// What is still used up `now`.
    fn at(self, now: Instant) -> Self {
        let back = now.saturating_duration_since(self.since).as_secs() / REFILL.as_secs();
        let attempts = u64::from(self.attempts).saturating_sub(back);
        if attempts == 0 {
            return Self { attempts: 0, since: now };
        }
        let step = u32::try_from(back).unwrap_or(u32::MAX);
        Self { attempts: attempts as u32, since: self.since + REFILL.saturating_mul(step) }
    }
}

impl Guesses {
    /// Takes an attempt of this address before a password is looked at.
    ///
    /// # Errors
    /// None is left: how long until the next one.
    pub(crate) fn take(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut used = self.used.lock();
        let network = network(address);
        // The shared place is there from the first overflow on: only the network's own place says whether it has one.
        if used.len() >= ADDRESSES_MAX && !used.contains_key(&network) {
            used.retain(|_, one| one.at(now).attempts > 0);
        }
        let place = place(&used, network);
        let one = used.entry(place).or_insert(Used { attempts: 0, since: now });
        *one = one.at(now);
        if one.attempts >= ATTEMPTS_MAX {
            return Err(REFILL.saturating_sub(now.saturating_duration_since(one.since)));
        }
        one.attempts += 1;
        Ok(())
    }

    /// The password was right: the attempt does not count.
    pub(crate) fn give_back(&self, address: IpAddr) {
        let mut used = self.used.lock();
        let place = place(&used, network(address));
        if let Some(one) = used.get_mut(&place) {
            one.attempts = one.attempts.saturating_sub(1);
        }
    }
}

/// Where the attempts of a network are counted.
fn place(used: &HashMap<IpAddr, Used>, network: IpAddr) -> IpAddr {
    match used.len() < ADDRESSES_MAX || used.contains_key(&network) {
        true => network,
        false => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
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

    fn host(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number))
    }

    #[test]
    fn attempts_run_out_and_come_back_one_by_one() {
        let (guesses, start) = (Guesses::default(), Instant::now());
        for _ in 0..ATTEMPTS_MAX {
            assert_eq!(guesses.take(host(1), start), Ok(()));
        }
        assert_eq!(guesses.take(host(1), start + Duration::from_secs(2)), Err(Duration::from_secs(4)));
        assert_eq!(guesses.take(host(2), start), Ok(()), "another address has its own");
        assert_eq!(guesses.take(host(1), start + REFILL), Ok(()));
        assert!(guesses.take(host(1), start + REFILL).is_err());
        let later = start + REFILL * 100;
        assert_eq!((0..20).filter(|_| guesses.take(host(1), later).is_ok()).count(), ATTEMPTS_MAX as usize);
    }

    #[test]
    fn right_password_costs_no_attempt() {
        let (guesses, start) = (Guesses::default(), Instant::now());
        for _ in 0..1000 {
            assert_eq!(guesses.take(host(1), start), Ok(()));
            guesses.give_back(host(1));
        }
    }

    #[test]
    fn addresses_are_bounded_and_those_beyond_share_one_place() {
        let (guesses, start) = (Guesses::default(), Instant::now());
        let allowed = (0..5_000).filter(|number| guesses.take(host(*number), start).is_ok()).count();
        assert_eq!(allowed, ADDRESSES_MAX + ATTEMPTS_MAX as usize);
        assert!(guesses.used.lock().len() <= ADDRESSES_MAX + 1);
        assert_eq!(guesses.take(host(9_999), start + REFILL * 20), Ok(()), "places come free again");
        assert_eq!(guesses.used.lock().len(), 1, "addresses whose attempts came back hold no place");
        let evening = start + REFILL * 20;
        let allowed = (20_000..20_100)
            .flat_map(|number| [host(number); 20])
            .filter(|host| guesses.take(*host, evening).is_ok());
        assert_eq!(allowed.count(), 100 * ATTEMPTS_MAX as usize, "each address has its own attempts again");
        let v6 = |low: u128| IpAddr::V6(Ipv6Addr::from_bits(0x2001_0db8 << 96 | low));
        let later = start + REFILL * 40;
        let allowed = (0..100).filter(|low| guesses.take(v6(*low), later).is_ok()).count();
        assert_eq!(allowed, ATTEMPTS_MAX as usize, "a /64 is one host");
    }
}
