//! How much a client may take: bytes and time. Each limit has a name, and what meets it is refused or closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Method;

/// The limits of a server's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpLimits {
    /// Bytes of a request's line and header fields: beyond, 431. At least 8,192.
    pub head_bytes_max: usize,
    /// Bytes of a request's body: beyond, [`crate::Refusal::BodyTooLong`].
    pub body_bytes_max: usize,
    /// Where bodies may be longer than that.
    pub large_bodies: Option<LargeBodies>,
    /// Bytes of the bodies that all threads hold while they are read: beyond, [`crate::Refusal::BodiesTooLong`].
    pub bodies_bytes_max: usize,
    /// Bytes of the responses that wait, on all threads, until those before them are written and their clients read: beyond,
    /// the connection of the response is closed.
    pub responses_bytes_max: usize,
    /// How long a connection may be silent between requests, and before the first one, until it is closed, milliseconds.
    pub idle_ms_max: u64,
    /// How long a request's head may take from its first byte on, milliseconds.
    pub head_ms_max: u64,
    /// How long a request's body may take, milliseconds.
    pub body_ms_max: u64,
    /// How long a client may take none of the bytes that wait for it, milliseconds. Then its connection is closed.
    pub stall_ms_max: u64,
    /// How long a client's host may acknowledge none of the bytes that were sent to it, milliseconds. Then its connection is
    /// closed: a host that vanished says nothing else.
    pub unacknowledged_ms_max: u64,
    /// Bytes that a streamed body may have waiting for its client: beyond, the stream ends.
    pub stream_bytes_max: usize,
}

/// A route whose requests may have longer bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargeBodies {
    /// What their paths begin with. Their method is POST.
    pub path: &'static str,
    /// Bytes of a body.
    pub bytes_max: usize,
}

impl HttpLimits {
    /// Bytes of a body that a request with this head may have.
    pub(crate) fn body_bytes_max_of(&self, method: &Method, path: &str) -> usize {
        match self.large_bodies {
            Some(large) if *method == Method::POST && path.starts_with(large.path) => large.bytes_max,
            _ => self.body_bytes_max,
        }
    }

    /// What a server allows that is not told otherwise.
    pub const DEFAULT: Self = Self {
        head_bytes_max: 16 << 10,
        body_bytes_max: 4 << 20,
        large_bodies: None,
        bodies_bytes_max: 256 << 20,
        responses_bytes_max: 256 << 20,
        idle_ms_max: 120_000,
        head_ms_max: 10_000,
        body_ms_max: 30_000,
        stall_ms_max: 30_000,
        unacknowledged_ms_max: 10_000,
        stream_bytes_max: 256 << 10,
    };

    pub(crate) const fn unacknowledged_max(&self) -> Duration {
        Duration::from_millis(self.unacknowledged_ms_max)
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Bytes that requests or responses take, counted over all threads.
#[derive(Debug)]
pub(crate) struct Budget {
    taken: AtomicUsize,
    most: usize,
}

/// A part of the budget: given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { taken: AtomicUsize::new(0), most })
    }

    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), bytes: 0 }
    }
}

impl Share {
    /// How many bytes all shares together may have.
    pub(crate) fn most(&self) -> usize {
        self.budget.most
    }

    /// Takes so many bytes more; false if there are not so many.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let before = self.budget.taken.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) > self.budget.most {
            self.budget.taken.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_given_back_and_never_exceeded() {
        let budget = Budget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.grow(6) && !other.grow(5) && other.grow(4));
        drop(one);
        assert!(other.grow(6) && !other.grow(1));
        drop(other);
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }
}
