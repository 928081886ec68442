//! The two numbers of a replicated log that must not be taken for each other: a term, and the index of an entry.

/// A term of a raft group: it has one leader at the most. 0 before the first election.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(pub u64);

impl Term {
    /// That of a log without entries.
    pub const ZERO: Self = Self(0);

    /// The term behind this one.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// By how much this term is above `earlier`; 0 if it is not.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The index of an entry of a replicated log: counted from 1, without holes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub u64);

impl LogIndex {
    /// What comes before the first entry.
    pub const ZERO: Self = Self(0);
    /// That of the first entry.
    pub const FIRST: Self = Self(1);
    /// Beyond every entry.
    pub const MAX: Self = Self(u64::MAX);

    /// The index of the next entry.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The index of the entry before; that of the first has [`LogIndex::ZERO`] before it, and so has that itself.
    #[inline]
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The index so many entries later.
    #[inline]
    #[must_use]
    pub const fn plus(self, entries: u64) -> Self {
        Self(self.0 + entries)
    }

    /// The index so many entries earlier; [`LogIndex::ZERO`] if there are not so many.
    #[inline]
    #[must_use]
    pub const fn minus(self, entries: u64) -> Self {
        Self(self.0.saturating_sub(entries))
    }

    /// How many entries lie behind `earlier`, up to this one; 0 if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This index and all behind it, in order.
    pub fn onward(self) -> impl Iterator<Item = Self> {
        (self.0..).map(Self)
    }
}

crate::shown::shown_as_number!(Term, LogIndex);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_to_a_later_entry_is_nothing() {
        let index = LogIndex(7);
        assert_eq!((index.since(LogIndex(4)), index.since(LogIndex(8))), (3, 0));
        assert_eq!((index.next(), index.plus(3), index.previous()), (LogIndex(8), LogIndex(10), LogIndex(6)));
        assert_eq!(LogIndex::ZERO.previous(), LogIndex::ZERO);
        assert_eq!(LogIndex(3).onward().take(2).collect::<Vec<_>>(), [LogIndex(3), LogIndex(4)]);
    }

    #[test]
    fn numbers_are_shown_bare() {
        assert_eq!(format!("{} {:?} {:04}", Term(3), Some(LogIndex(5)), LogIndex(6)), "3 Some(5) 0006");
    }
}
