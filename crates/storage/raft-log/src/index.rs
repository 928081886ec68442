//! Where entries lie and which terms they have: a sparse index of the log, kept in memory.
//!
//! A mark is set every [`MARK_EVERY_BYTES`] of log, at the start of each segment, and wherever a suffix is
//! overwritten. So between two marks no entry is written twice, and an entry found there counts only if its index
//! lies below the next mark's.

use alloc::collections::VecDeque;
use base::{LogIndex, Term};
use storage_wal::Position;

/// How much log lies between two marks at most.
const MARK_EVERY_BYTES: u64 = 64 << 10;

/// The first entry of a record and where that record starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) index: LogIndex,
    pub(crate) position: Position,
}

/// The entries held: `first_index..=last_index`, without holes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SparseIndex {
    pub(crate) first_index: LogIndex,
    pub(crate) last_index: LogIndex,
    /// Where each term begins, ascending. Before the first entry it may hold the term of the one before that.
    terms: VecDeque<(LogIndex, Term)>,
    marks: VecDeque<Mark>,
}

impl SparseIndex {
    /// An empty log that continues behind `index`.
    pub(crate) fn after(index: LogIndex, term: Term) -> Self {
        SparseIndex {
            first_index: index.next(),
            last_index: index,
            terms: [(index, term)].into(),
            marks: VecDeque::new(),
        }
    }

    /// The term of an entry held, or of the one before the first if that is known.
    pub(crate) fn term(&self, index: LogIndex) -> Option<Term> {
        if index > self.last_index {
            return None;
        }
        let run = self.terms.partition_point(|(from, _)| *from <= index).checked_sub(1)?;
        self.terms.get(run).map(|(_, term)| *term)
    }

    /// Takes note of a record that holds the entries from `first` on, whose terms are given.
    ///
    /// The caller has checked that `first` is not beyond the next index.
    pub(crate) fn note(
        &mut self,
        first: LogIndex,
        terms: impl IntoIterator<Item = Term>,
        position: Position,
    ) {
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
        for (index, term) in first.onward().zip(terms) {
            if self.terms.back().is_none_or(|(_, last)| *last != term) {
                self.terms.push_back((index, term));
            }
            self.last_index = index;
        }
    }

    /// Forgets the entries from `from` on.
    fn truncate(&mut self, from: LogIndex) {
        while self.marks.back().is_some_and(|mark| mark.index >= from) {
            self.marks.pop_back();
        }
        while self.terms.back().is_some_and(|(index, _)| *index >= from) {
            self.terms.pop_back();
        }
        self.last_index = from.previous();
        self.first_index = self.first_index.min(from);
    }

    /// Forgets the entries that only segments before `sequence` hold.
    pub(crate) fn drop_before(&mut self, sequence: u64) {
        while self.marks.front().is_some_and(|mark| mark.position.sequence < sequence) {
            self.marks.pop_front();
        }
        let first = self.marks.front().map_or(self.last_index.next(), |mark| mark.index);
        self.first_index = self.first_index.max(first);
        while self.terms.get(1).is_some_and(|(index, _)| *index < self.first_index) {
            self.terms.pop_front();
        }
    }

    /// The last mark at or before `index`, with the one that follows it.
    pub(crate) fn marks_around(&self, index: LogIndex) -> Option<(Mark, Option<Mark>)> {
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
        let mut index = SparseIndex::after(LogIndex::ZERO, Term::ZERO);
        index.note(LogIndex(1), [1, 1, 2].map(Term), at(1, 64));
        index.note(LogIndex(4), [2].map(Term), at(1, 128));
        index.note(LogIndex(3), [5].map(Term), at(1, 192));
        assert_eq!((index.first_index, index.last_index), (LogIndex(1), LogIndex(3)));
        assert_eq!(
            [1, 2, 3, 4].map(|i| index.term(LogIndex(i))),
            [Some(Term(1)), Some(Term(1)), Some(Term(5)), None]
        );
        assert_eq!(index.marks_around(LogIndex(2)).unwrap().1.unwrap().position, at(1, 192));
        assert_eq!(index.marks_around(LogIndex(3)).unwrap().0.position, at(1, 192));
    }

    #[test]
    fn dropping_segments_raises_the_first_index() {
        let mut index = SparseIndex::after(LogIndex(10), Term(3));
        index.note(LogIndex(11), [3, 3].map(Term), at(1, 64));
        index.note(LogIndex(13), [4].map(Term), at(2, 64));
        assert_eq!(index.term(LogIndex(10)), Some(Term(3)));
        index.drop_before(2);
        assert_eq!((index.first_index, index.term(LogIndex(13))), (LogIndex(13), Some(Term(4))));
        index.drop_before(3);
        assert_eq!((index.first_index, index.last_index), (LogIndex(14), LogIndex(13)));
    }

    #[test]
    fn overwriting_behind_the_base_lowers_the_first_index() {
        let mut index = SparseIndex::after(LogIndex(10), Term(3));
        index.note(LogIndex(8), [4, 4].map(Term), at(2, 64));
        assert_eq!((index.first_index, index.last_index), (LogIndex(8), LogIndex(9)));
        assert_eq!((index.term(LogIndex(7)), index.term(LogIndex(8))), (None, Some(Term(4))));
    }
}
