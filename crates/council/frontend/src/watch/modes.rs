//! The kinds of watches that one connection may hold on one path, any mix of them at once.

use crate::message::WatchKind;

use council_wire::WatcherType;

/// A set of watch kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Modes(u8);

impl Modes {
    pub(crate) const NONE: Self = Self(0);
    /// One-shot, from getData and exists.
    pub(crate) const DATA: Self = Self(1);
    /// One-shot, from getChildren.
    pub(crate) const CHILD: Self = Self(2);
    /// Stays, and stands in for both of the above.
    pub(crate) const PERSISTENT: Self = Self(4);
    /// Stays, and covers what happens to the data and existence of all descendants.
    pub(crate) const RECURSIVE: Self = Self(8);
    /// All of them.
    pub(crate) const ANY: Self = Self(15);
    /// Those that ZooKeeper keeps in its table of data watches.
    pub(crate) const DATA_TABLE: Self = Self(1 | 4 | 8);
    /// Those that ZooKeeper keeps in its table of child watches.
    pub(crate) const CHILD_TABLE: Self = Self(2 | 4);

    /// Four bits.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ANY.0)
    }

    pub(crate) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What checkWatches and removeWatches mean by a type. Types 1 and 2 pass over persistent watches.
    pub(crate) const fn of_type(watcher: WatcherType) -> Self {
        match watcher {
            WatcherType::Children => Self::CHILD,
            WatcherType::Data => Self::DATA,
            WatcherType::Any => Self::ANY,
            WatcherType::Persistent => Self::PERSISTENT,
            WatcherType::PersistentRecursive => Self::RECURSIVE,
        }
    }
}

impl From<WatchKind> for Modes {
    fn from(kind: WatchKind) -> Self {
        match kind {
            WatchKind::Data => Self::DATA,
            WatchKind::Child => Self::CHILD,
        }
    }
}
