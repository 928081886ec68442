//! What is counted before the frontend gets a connection: tokens of the rate limit, TLS handshakes.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use node_metrics::Histogram;

/// Counted by the listener and by all reactors.
#[derive(Default)]
pub struct NetworkMetrics {
    /// Tokens that were missing in the bucket when a connection was let in; 0 where there is no bucket.
    pub token_deficit: Histogram,
    plain_remote: AtomicU64,
    plain_local: AtomicU64,
    handshakes: AtomicU64,
    handshakes_failed: AtomicU64,
}

impl NetworkMetrics {
    /// A connection without encryption is open.
    pub fn plain(&self, peer: IpAddr) {
        let count = if peer.is_loopback() { &self.plain_local } else { &self.plain_remote };
        count.fetch_add(1, Relaxed);
    }

    /// A handshake begins. It has failed unless [`Handshake::done`] is called.
    pub fn handshake(self: &Arc<Self>) -> Handshake {
        self.handshakes.fetch_add(1, Relaxed);
        Handshake { metrics: Arc::clone(self), done: false }
    }

    /// There were too many under way for another one.
    pub(crate) fn handshake_refused(&self) {
        self.handshakes_failed.fetch_add(1, Relaxed);
    }

    /// Connections without encryption, from this machine's loopback and from elsewhere.
    pub fn plain_connections(&self) -> (u64, u64) {
        (self.plain_local.load(Relaxed), self.plain_remote.load(Relaxed))
    }

    /// Handshakes under way.
    pub fn handshakes(&self) -> u64 {
        self.handshakes.load(Relaxed)
    }

    /// Handshakes that came to nothing.
    pub fn handshakes_failed(&self) -> u64 {
        self.handshakes_failed.load(Relaxed)
    }
}

/// A handshake under way.
pub struct Handshake {
    metrics: Arc<NetworkMetrics>,
    done: bool,
}

impl Handshake {
    /// It succeeded.
    pub fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.metrics.handshakes.fetch_sub(1, Relaxed);
        if !self.done {
            self.metrics.handshakes_failed.fetch_add(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handshake_that_is_dropped_has_failed() {
        let metrics = Arc::new(NetworkMetrics::default());
        let (one, other) = (metrics.handshake(), metrics.handshake());
        assert_eq!(metrics.handshakes(), 2);
        one.done();
        drop(other);
        assert_eq!((metrics.handshakes(), metrics.handshakes_failed()), (0, 1));
    }

    #[test]
    fn the_loopback_is_told_from_elsewhere() {
        let metrics = NetworkMetrics::default();
        metrics.plain(IpAddr::from([127, 0, 0, 3]));
        metrics.plain(IpAddr::from([192, 0, 2, 1]));
        metrics.plain(IpAddr::from([192, 0, 2, 1]));
        assert_eq!(metrics.plain_connections(), (1, 2));
    }
}
