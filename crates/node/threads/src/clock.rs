//! The two clocks of this host, read once for a round of work and handed down.

use base::{MonoTime, Now, WallTime};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that never goes back, counted from one start for all threads, and the wall's.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// Time begins now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Both clocks.
    pub fn now(&self) -> Now {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall = WallTime::of_ms(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX));
        Now { mono_us: self.mono_us(), wall }
    }

    /// The monotonic clock alone.
    pub fn mono(&self) -> MonoTime {
        MonoTime::of_ms(self.mono_us() / 1000)
    }

    /// Microseconds since the start.
    pub fn mono_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
