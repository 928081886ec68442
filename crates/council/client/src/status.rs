//! Where a session stands, for all threads that hold its handle.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use council_client_core::{Attempt, SessionState, Ticket};

/// What is known of the session, for all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    shared: Arc<(Mutex<Known>, Condvar)>,
}

#[derive(Debug, Default)]
struct Known {
    state: SessionState,
    ticket: Ticket,
    timeout_ms: i32,
    server: Option<SocketAddr>,
    /// What failed since the last whole round over all servers, and in that round.
    attempts: Vec<Attempt>,
    last_round: Vec<Attempt>,
}

/// Why no server is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// How the session stands: connecting, unless a server ended it.
    pub state: SessionState,
    /// The last failed attempt at each server, as far as one was made.
    pub attempts: Vec<Attempt>,
}

impl Status {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, state: SessionState) {
        self.lock().state = state;
        self.shared.1.notify_all();
    }

    pub(crate) fn connected(&self, state: SessionState, ticket: &Ticket, timeout_ms: i32) {
        let mut known = self.lock();
        known.state = state;
        known.ticket = ticket.clone();
        known.timeout_ms = timeout_ms;
        known.attempts.clear();
        known.last_round.clear();
        drop(known);
        self.shared.1.notify_all();
    }

    pub(crate) fn server(&self, server: Option<SocketAddr>) {
        self.lock().server = server;
    }

    /// An attempt to reach a server failed.
    pub(crate) fn failed(&self, attempt: Attempt) {
        let mut known = self.lock();
        known.attempts.retain(|other| (&other.host, other.port) != (&attempt.host, attempt.port));
        known.attempts.push(attempt);
    }

    /// Every server was tried once more, without success.
    pub(crate) fn round_over(&self) {
        let mut known = self.lock();
        known.last_round = std::mem::take(&mut known.attempts);
        drop(known);
        self.shared.1.notify_all();
    }

    pub(crate) fn state(&self) -> SessionState {
        self.lock().state
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.lock().ticket.clone()
    }

    pub(crate) fn timeout_ms(&self) -> i32 {
        self.lock().timeout_ms
    }

    pub(crate) fn connected_server(&self) -> Option<SocketAddr> {
        self.lock().server
    }

    /// Waits until a server is connected, the session is over, or the time is. `hopeless` looks at each round in which
    /// no server could be reached, and ends the wait if it says so.
    pub(crate) fn wait(
        &self,
        time: Duration,
        hopeless: impl Fn(&[Attempt]) -> bool,
    ) -> Result<(), Unreachable> {
        let deadline = Instant::now() + time;
        let mut known = self.lock();
        loop {
            if known.state.is_connected() {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if known.state.is_over() || left.is_zero() || hopeless(&known.last_round) {
                return Err(known.unreachable());
            }
            known = self.shared.1.wait_timeout(known, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Known {
    fn unreachable(&self) -> Unreachable {
        let newer = |attempt: &&Attempt| {
            !self.attempts.iter().any(|other| (&other.host, other.port) == (&attempt.host, attempt.port))
        };
        let attempts = self.last_round.iter().filter(newer).chain(&self.attempts).cloned().collect();
        Unreachable { state: self.state, attempts }
    }
}
