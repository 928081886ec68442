//! The two clocks of this host, read once for a round of work and handed down.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A clock that never goes back, counted from one start for all threads, and the wall's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

/// One look at both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) mono_us: u64,
    pub(crate) wall_ms: i64,
}

impl Clock {
    /// Time begins now.
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Both clocks.
    pub(crate) fn now(&self) -> Moment {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { mono_us: self.mono_us(), wall_ms: i64::try_from(wall.as_millis()).unwrap_or(i64::MAX) }
    }

    /// Microseconds since the start.
    pub(crate) fn mono_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Moment {
    /// Milliseconds since the start.
    pub(crate) const fn mono_ms(self) -> u64 {
        self.mono_us / 1000
    }

    /// In the shape that shards take.
    pub(crate) const fn for_front(self) -> council_frontend::Now {
        council_frontend::Now { mono_us: self.mono_us, wall_ms: self.wall_ms.unsigned_abs() }
    }

    /// In the shape that the core takes.
    pub(crate) const fn for_core(self) -> council_replica::Now {
        council_replica::Now { mono_ms: self.mono_ms(), wall_ms: self.wall_ms }
    }
}
