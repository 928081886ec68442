//! How long a pair may be silent, young and quiet.

/// How often a member that has nothing to say shows that it lives, milliseconds.
pub const PING_MS: u64 = 500;
/// After how long without a sign of life a pair is given up, milliseconds.
pub const SILENCE_MS: u64 = 5_000;
/// After how long without a sign of life a pair is replaced on a mere claim, milliseconds.
pub const QUIET_MS: u64 = 3 * PING_MS;
/// For how long the other pair of two members that dialled at once may come, milliseconds. A member whose host died comes
/// back later than that.
pub const YOUTH_MS: u64 = 1_000;

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
