//! The servers of a connect string, tried one after the other, with a growing pause between rounds. It resolves no name:
//! the driver does, and hands the addresses in.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use base::Random;

/// The longest pause after all servers were tried once, doubled each time ...
const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// ... up to this.
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// Addresses of one name that are tried; a name may have any number.
const ADDRESSES_PER_NAME_MAX: usize = 64;

/// A server to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name, as the connect string has it.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// One of its addresses.
    pub address: SocketAddr,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Connect(Target),
    /// This name and port must be resolved first.
    Resolve(String, u16),
    /// Every server of this round was tried.
    RoundOver,
}

/// See the module.
pub(crate) struct Hosts {
    names: Vec<(String, u16)>,
    next: usize,
    targets: VecDeque<Target>,
    tried: usize,
    backoff: Duration,
    random: Random,
}

impl Hosts {
    /// Clients that start together should not all begin with the same server: `first` differs among them.
    pub(crate) fn new(names: Vec<(String, u16)>, first: usize, random: Random) -> Self {
        let next = first % names.len().max(1);
        Self { names, next, targets: VecDeque::new(), tried: 0, backoff: BACKOFF_MIN, random }
    }

    /// The next address of this round. Names are resolved again in each round: an address may have moved.
    pub(crate) fn next(&mut self) -> Next {
        if let Some(target) = self.targets.pop_front() {
            return Next::Connect(target);
        }
        if self.tried == self.names.len() {
            return Next::RoundOver;
        }
        self.tried += 1;
        let Some((host, port)) = self.names.get(self.next).cloned() else { return Next::RoundOver };
        self.next = (self.next + 1) % self.names.len();
        Next::Resolve(host, port)
    }

    /// A name has these addresses now.
    pub(crate) fn resolved(&mut self, host: &str, port: u16, addresses: Vec<SocketAddr>) {
        let target = |address| Target { host: String::from(host), port, address };
        self.targets = addresses.into_iter().take(ADDRESSES_PER_NAME_MAX).map(target).collect();
    }

    /// No server could be reached; how long to wait before the next round.
    pub(crate) fn new_round(&mut self) -> Duration {
        self.tried = 0;
        self.pause()
    }

    /// How long to wait after one more failure: between half of the pause and all of it, so that clients that lost a
    /// server together do not come back together.
    pub(crate) fn pause(&mut self) -> Duration {
        let half = self.backoff / 2;
        let more_us = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
        half + Duration::from_micros(self.random.below(more_us + 1))
    }

    /// A connection lasted: the next failure is the first one again.
    pub(crate) const fn lasted(&mut self) {
        self.backoff = BACKOFF_MIN;
    }

    /// A server was reached.
    pub(crate) fn found(&mut self) {
        self.tried = 0;
        self.targets.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(count: u16, first: usize) -> Hosts {
        let names = (0..count).map(|index| (format!("h{index}"), index)).collect();
        Hosts::new(names, first, Random::new(1))
    }

    #[test]
    fn round_tries_each_address_of_each_name_once() {
        let mut hosts = hosts(2, 3);
        let address = |last| SocketAddr::from(([127, 0, 0, last], 7));
        assert_eq!(hosts.next(), Next::Resolve("h1".into(), 1));
        hosts.resolved("h1", 1, vec![address(1), address(2)]);
        for last in [1, 2] {
            let target = Target { host: "h1".into(), port: 1, address: address(last) };
            assert_eq!(hosts.next(), Next::Connect(target));
        }
        assert_eq!(hosts.next(), Next::Resolve("h0".into(), 0));
        assert_eq!(hosts.next(), Next::RoundOver);
        hosts.new_round();
        assert_eq!(hosts.next(), Next::Resolve("h1".into(), 1));
    }

    #[test]
    fn pause_grows_to_its_limit_and_begins_anew() {
        let mut hosts = hosts(1, 0);
        for _ in 0..20 {
            let backoff = hosts.backoff;
            let pause = hosts.pause();
            assert!(pause >= backoff / 2 && pause <= backoff, "{pause:?} of {backoff:?}");
        }
        assert_eq!(hosts.backoff, BACKOFF_MAX);
        hosts.lasted();
        assert!(hosts.pause() <= BACKOFF_MIN);
    }
}
