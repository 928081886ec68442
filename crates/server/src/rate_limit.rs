//! How often something may be done that costs much, or that nobody wants to read a thousand times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Allows one in each interval, and counts those that it refuses.
#[derive(Debug, Default)]
pub(crate) struct RateLimit {
    last: Mutex<Option<Instant>>,
    refused: AtomicU64,
}

impl RateLimit {
    /// Whether it may be now.
    pub(crate) fn allow(&self, now: Instant, interval: Duration) -> bool {
        let mut last = self.last.lock();
        if last.is_some_and(|last| now.saturating_duration_since(last) < interval) {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        *last = Some(now);
        true
    }

    /// How often it might not.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_allowed_in_each_interval() {
        let limit = RateLimit::default();
        let (start, interval) = (Instant::now(), Duration::from_secs(10));
        assert!(limit.allow(start, interval));
        assert!(!limit.allow(start + Duration::from_secs(9), interval));
        assert!(limit.allow(start + interval, interval));
        assert_eq!(limit.refused(), 1);
    }
}
