//! How often an expensive action may be done, or a line be logged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Allows one in each interval, and counts those that it refuses. An attempt that fails leaves the interval unused.
#[derive(Debug, Default)]
pub struct RateLimit {
    state: Mutex<State>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// When the last one that succeeded began.
    last: Option<Instant>,
    running: bool,
}

/// Why it may not be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Another one is under way.
    Running,
    /// The last one is too recent: so long until the next.
    For(Duration),
}

/// The right to do it once. Unless it is kept, the interval is as unused as before.
#[derive(Debug)]
pub struct Pass<'a> {
    limit: &'a RateLimit,
    began: Instant,
    kept: bool,
}

impl Pass<'_> {
    /// It succeeded: the next may come an interval after this one began.
    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut state = self.limit.state.lock();
        state.running = false;
        if self.kept {
            state.last = Some(self.began);
        }
    }
}

impl RateLimit {
    /// Begins it.
    ///
    /// # Errors
    /// It may not be now.
    pub fn begin(&self, now: Instant, interval: Duration) -> Result<Pass<'_>, Wait> {
        let mut state = self.state.lock();
        let passed = state.last.map(|last| now.saturating_duration_since(last));
        let wait = match passed {
            _ if state.running => Wait::Running,
            Some(passed) if passed < interval => Wait::For(interval.saturating_sub(passed)),
            _ => {
                state.running = true;
                return Ok(Pass { limit: self, began: now, kept: false });
            }
        };
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(wait)
    }

    /// Whether something that cannot fail may be done now; it counts as done.
    pub fn allow(&self, now: Instant, interval: Duration) -> bool {
        self.begin(now, interval).map(Pass::keep).is_ok()
    }

    /// How often it might not.
    pub fn refused(&self) -> u64 {
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
        limit.begin(start, interval).expect("the first").keep();
        let early = limit.begin(start + Duration::from_secs(9), interval);
        assert_eq!(early.expect_err("too soon"), Wait::For(Duration::from_secs(1)));
        assert!(limit.begin(start + interval, interval).is_ok());
        assert_eq!(limit.refused(), 1);
    }

    #[test]
    fn failed_attempt_leaves_the_interval_unused() {
        let limit = RateLimit::default();
        let (start, interval) = (Instant::now(), Duration::from_secs(10));
        let pass = limit.begin(start, interval).expect("the first");
        assert_eq!(limit.begin(start, interval).expect_err("one at a time"), Wait::Running);
        drop(pass);
        limit.begin(start, interval).expect("the first one failed").keep();
        assert!(limit.begin(start, interval).is_err());
    }
}
