//! Numbers of the protocol.

use core::fmt;

/// A replica: the number of the broker or node that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaId(pub u32);

/// An epoch of one partition: each has one leader and one set of voters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u32);

impl Epoch {
    /// Before every other: it has no leader.
    pub const NONE: Self = Self(0);
}

/// The number of an entry of one log. Entries are numbered without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How far a log has come: the order in which logs are compared when a leader is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The newest epoch that began in the log; it may have no entry yet.
    pub epoch: Epoch,
    /// The number behind the last entry.
    pub end: Seq,
}

/// A question of a leader whether it still leads. Later ones have higher numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Round(pub u64);

/// The number of something that is to be made durable. A disk does them in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersistId(pub u64);

impl PersistId {
    /// The next one.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}
