//! How long a pair may be silent, young and quiet.

use crate::pair::{PING_MS, QUIET_MS, SILENCE_MS, YOUTH_MS};

/// The times of a table's pairs, in milliseconds. Both sides of a pair have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// As [`PING_MS`].
    pub ping_ms: u64,
    /// As [`SILENCE_MS`].
    pub silence_ms: u64,
    /// As [`QUIET_MS`].
    pub quiet_ms: u64,
    /// As [`YOUTH_MS`].
    pub youth_ms: u64,
}

impl Timing {
    /// Between members that elect their leader.
    pub const DEFAULT: Self =
        Self { ping_ms: PING_MS, silence_ms: SILENCE_MS, quiet_ms: QUIET_MS, youth_ms: YOUTH_MS };
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}
