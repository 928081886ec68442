//! How long a call may wait, and how its caller ends it.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a call may wait for its turn.
#[derive(Clone, Debug)]
pub struct Wait {
    pub(crate) limit: Option<Duration>,
    pub(crate) cancel: Cancel,
}

impl Wait {
    /// As long as the session lives, at most an hour.
    #[must_use]
    pub fn forever() -> Self {
        Self { limit: None, cancel: Cancel::default() }
    }

    /// Not at all: it only tries.
    #[must_use]
    pub fn not() -> Self {
        Self::at_most(Duration::ZERO)
    }

    /// So long.
    #[must_use]
    pub fn at_most(limit: Duration) -> Self {
        Self { limit: Some(limit), cancel: Cancel::default() }
    }

    /// Also ends once that is cancelled.
    #[must_use]
    pub fn until(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    pub(crate) fn is_try(&self) -> bool {
        self.limit == Some(Duration::ZERO)
    }
}

impl From<Duration> for Wait {
    fn from(limit: Duration) -> Self {
        Self::at_most(limit)
    }
}

/// Ends calls from another thread: they give [`Error::Cancelled`](crate::Error::Cancelled), the server is told, and what they got
/// meanwhile is given back.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_cancelled: bool,
    next: u64,
    /// Connections on which answers are awaited.
    awaited: Vec<(u64, TcpStream)>,
}

impl Cancel {
    /// One that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all calls that were given it, for good.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.is_cancelled = true;
        for (_, stream) in state.awaited.drain(..) {
            // Its reader finds it closed. One that is closed already needs nothing.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.0.changed.notify_all();
    }

    /// Whether it is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state().is_cancelled
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rests, or until it is cancelled.
    pub(crate) fn rest(&self, pause: Duration) {
        let waited = self.0.changed.wait_timeout_while(self.state(), pause, |state| !state.is_cancelled);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Has the connection closed if it is cancelled before the guard is dropped.
    pub(crate) fn guard(&self, stream: &TcpStream) -> std::io::Result<Guard<'_>> {
        let stream = stream.try_clone()?;
        let mut state = self.state();
        if state.is_cancelled {
            stream.shutdown(Shutdown::Both)?;
        }
        state.next += 1;
        let number = state.next;
        state.awaited.push((number, stream));
        Ok(Guard { cancel: self, number })
    }
}

/// While it is there, cancelling closes a connection.
pub(crate) struct Guard<'a> {
    cancel: &'a Cancel,
    number: u64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.cancel.state().awaited.retain(|(number, _)| *number != self.number);
    }
}
