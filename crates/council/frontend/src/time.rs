//! The two clocks that a caller reads once for a batch of calls, and hands in.

/// What time it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Microseconds since some start, never going back: for deadlines and latencies.
    pub mono_us: u64,
    /// Milliseconds since 1970: for what people read.
    pub wall_ms: u64,
}

impl Now {
    /// Milliseconds of the clock that never goes back.
    #[must_use]
    pub const fn mono_ms(self) -> u64 {
        self.mono_us / 1000
    }
}
