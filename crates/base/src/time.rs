//! The time, read once by a driver for a round of work, and handed down.

/// What time it is, by two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Microseconds since some start, on a clock that never goes back: for deadlines and latencies.
    pub mono_us: u64,
    /// Milliseconds since 1970: for what people read, and what a leader stamps entries with.
    pub wall_ms: i64,
}

impl Now {
    /// Both clocks in milliseconds.
    #[must_use]
    pub const fn of_ms(mono_ms: u64, wall_ms: i64) -> Self {
        Self { mono_us: mono_ms.saturating_mul(1000), wall_ms }
    }

    /// Lets time pass by the clock that never goes back.
    pub const fn advance_ms(&mut self, ms: u64) {
        self.mono_us = self.mono_us.saturating_add(ms.saturating_mul(1000));
    }

    /// Milliseconds of the clock that never goes back.
    #[inline]
    #[must_use]
    pub const fn mono_ms(self) -> u64 {
        self.mono_us / 1000
    }
}
