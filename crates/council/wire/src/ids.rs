//! Identifiers as the wire carries them: 64-bit numbers with a meaning each.

use core::fmt;

/// A transaction id: the epoch in the high 32 bits, a count in the low 32.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Zxid(pub i64);

impl Zxid {
    /// The id made of an epoch and a count.
    #[must_use]
    pub const fn new(epoch: u32, count: u32) -> Self {
        Self(((epoch as i64) << 32) | count as i64)
    }

    /// The epoch of the leader that made the transaction.
    #[must_use]
    pub const fn epoch(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The number of the transaction within its epoch.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Debug for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Zxid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A session's id, never 0 and never `i64::MIN` (which marks a container's owner).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub i64);

impl SessionId {
    /// What a client that has no session yet sends.
    pub const NONE: Self = Self(0);
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
