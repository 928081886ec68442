//! Where entries lie and which terms they have: a sparse index of the log, kept in memory.
//!
//! A mark is set every [`MARK_EVERY_BYTES`] of log, at the start of each segment, and wherever a suffix is
//! overwritten. So between two marks no entry is written twice, and an entry found there counts only if its index
//! lies below the next mark's.

use alloc::collections::VecDeque;
use storage_wal::Position;

/// How much log lies between two marks at most.
const MARK_EVERY_BYTES: u64 = 64 << 10;

/// The first entry of a record and where that record starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) index: u64,
    pub(crate) position: Position,
}

/// The entries held: `first_index..=last_index`, without holes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogIndex {
    pub(crate) first_index: u64,
    pub(crate) last_index: u64,
    /// Where each term begins, ascending. Before the first entry it may hold the term of the one before that.
    terms: VecDeque<(u64, u64)>,
    marks: VecDeque<Mark>,
}

impl LogIndex {
    /// An empty log that continues behind `index`.
    pub(crate) fn after(index: u64, term: u64) -> Self {
        LogIndex {
            first_index: index + 1,
            last_index: index,
            terms: [(index, term)].into(),
            marks: VecDeque::new(),
        }
    }

    /// The term of an entry held, or of the one before the first if that is known.
    pub(crate) fn term(&self, index: u64) -> Option<u64> {
        if index > self.last_index {
            return None;
        }
        let run = self.terms.partition_point(|(from, _)| *from <= index).checked_sub(1)?;
        self.terms.get(run).map(|(_, term)| *term)
    }

    /// Takes note of a record that holds the entries from `first` on, whose terms are given.
    ///
    /// The caller has checked that `first` is not beyond the next index.
    pub(crate) fn note(&mut self, first: u64, terms: impl IntoIterator<Item = u64>, position: Position) {
        let overwrites = first <= self.last_index;
        if overwrites {
            self.truncate(first);
        }
        let far = self.marks.back().is_none_or(|mark| {
            mark.position.sequence != position.sequence
                || position.offset - mark.position.offset >= MARK_EVERY_BYTES
        });
        if overwrites || far {
            self.marks.push_back(Mark { index: first, position });
        }
        for (index, term) in (first..).zip(terms) {
            if self.terms.back().is_none_or(|(_, last)| *last != term) {
                self.terms.push_back((index, term));
            }
            self.last_index = index;
        }
    }

    /// Forgets the entries from `from` on.
    fn truncate(&mut self, from: u64) {
        while self.marks.back().is_some_and(|mark| mark.index >= from) {
            self.marks.pop_back();
        }
        while self.terms.back().is_some_and(|(index, _)| *index >= from) {
            self.terms.pop_back();
        }
        self.last_index = from - 1;
        self.first_index = self.first_index.min(from);
    }

    /// Forgets the entries that only segments before `sequence` hold.
    pub(crate) fn drop_before(&mut self, sequence: u64) {
        while self.marks.front().is_some_and(|mark| mark.position.sequence < sequence) {
            self.marks.pop_front();
        }
        let first = self.marks.front().map_or(self.last_index + 1, |mark| mark.index);
        self.first_index = self.first_index.max(first);
        while self.terms.get(1).is_some_and(|(index, _)| *index < self.first_index) {
            self.terms.pop_front();
        }
    }

    /// The last mark at or before `index`, with the one that follows it.
    pub(crate) fn marks_around(&self, index: u64) -> Option<(Mark, Option<Mark>)> {
        let at = self.marks.partition_point(|mark| mark.index <= index).checked_sub(1)?;
        Some((*self.marks.get(at)?, self.marks.get(at + 1).copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(sequence: u64, offset: u64) -> Position {
        Position { sequence, offset }
    }

    #[test]
    fn overwriting_a_suffix_moves_the_end_the_terms_and_the_marks() {
        let mut index = LogIndex::after(0, 0);
        index.note(1, [1, 1, 2], at(1, 64));
        index.note(4, [2], at(1, 128));
        index.note(3, [5], at(1, 192));
        assert_eq!((index.first_index, index.last_index), (1, 3));
        assert_eq!([1, 2, 3, 4].map(|i| index.term(i)), [Some(1), Some(1), Some(5), None]);
        assert_eq!(index.marks_around(2).unwrap().1.unwrap().position, at(1, 192));
        assert_eq!(index.marks_around(3).unwrap().0.position, at(1, 192));
    }

    #[test]
    fn dropping_segments_raises_the_first_index() {
        let mut index = LogIndex::after(10, 3);
        index.note(11, [3, 3], at(1, 64));
        index.note(13, [4], at(2, 64));
        assert_eq!(index.term(10), Some(3));
        index.drop_before(2);
        assert_eq!((index.first_index, index.term(13)), (13, Some(4)));
        index.drop_before(3);
        assert_eq!((index.first_index, index.last_index), (14, 13));
    }

    #[test]
    fn overwriting_behind_the_base_lowers_the_first_index() {
        let mut index = LogIndex::after(10, 3);
        index.note(8, [4, 4], at(2, 64));
        assert_eq!((index.first_index, index.last_index), (8, 9));
        assert_eq!((index.term(7), index.term(8)), (None, Some(4)));
    }
}
