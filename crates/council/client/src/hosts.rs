//! The servers of a connect string, tried one after the other, with a growing pause between rounds.

use std::collections::VecDeque;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use crate::attempt::ConnectFailure;

/// The pause after all servers were tried once, doubled each time ...
pub(crate) const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// ... up to this.
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// A server to dial.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) address: SocketAddr,
}

/// What comes next.
pub(crate) enum Next {
    Dial(Target),
    /// The name of this server has no address now.
    Unresolved(String, u16, ConnectFailure),
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
}

impl Hosts {
    pub(crate) fn new(names: Vec<(String, u16)>) -> Self {
        // Clients that start together should not all begin with the same server.
        let start = std::process::id() as usize % names.len().max(1);
        Self { names, next: start, targets: VecDeque::new(), tried: 0, backoff: BACKOFF_MIN }
    }

    /// The next address of this round. Names are resolved anew in each round.
    pub(crate) fn next(&mut self) -> Next {
        if let Some(target) = self.targets.pop_front() {
            return Next::Dial(target);
        }
        if self.tried == self.names.len() {
            return Next::RoundOver;
        }
        self.tried += 1;
        let Some((host, port)) = self.names.get(self.next).cloned() else { return Next::RoundOver };
        self.next = (self.next + 1) % self.names.len();
        let unresolved = |why: String| Next::Unresolved(host.clone(), port, ConnectFailure::UnknownHost(why));
        match (host.as_str(), port).to_socket_addrs() {
            Ok(addresses) => {
                let target = |address| Target { host: host.clone(), port, address };
                self.targets = addresses.map(target).collect();
                match self.targets.pop_front() {
                    Some(target) => Next::Dial(target),
                    None => unresolved(String::from("it has no address")),
                }
            }
            Err(error) => unresolved(error.to_string()),
        }
    }

    /// No server could be reached; how long to wait before the next round.
    pub(crate) fn new_round(&mut self) -> Duration {
        self.tried = 0;
        self.pause()
    }

    /// How long to wait after one more failure.
    pub(crate) fn pause(&mut self) -> Duration {
        let wait = self.backoff;
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
        wait
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
