//! The shape of a log: where it starts and ends, and where each epoch begins in it.

use crate::{Epoch, Position, Seq};

/// Where an epoch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: Epoch,
    /// The number of its first entry, whether that is there already or not.
    pub start: Seq,
}

/// The epochs of a log: both numbers of its entries rise. An epoch is entered before its first entry, and one
/// without entries is replaced by the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EpochHistory {
    starts: Vec<EpochStart>,
}

impl EpochHistory {
    /// The epoch begins there. One that is not above the newest changes nothing.
    pub fn begin(&mut self, epoch: Epoch, start: Seq) -> bool {
        if self.newest() >= epoch {
            return false;
        }
        self.starts.retain(|known| known.start < start);
        self.starts.push(EpochStart { epoch, start });
        true
    }

    /// The newest epoch that began.
    #[must_use]
    pub fn newest(&self) -> Epoch {
        self.starts.last().map_or(Epoch::NONE, |known| known.epoch)
    }

    /// The epoch of this entry.
    #[must_use]
    pub fn epoch_of(&self, entry: Seq) -> Option<Epoch> {
        let behind = self.starts.partition_point(|known| known.start <= entry);
        self.starts.get(behind.checked_sub(1)?).map(|known| known.epoch)
    }

    /// The epochs that begin in `from..to`.
    pub fn within(&self, from: Seq, to: Seq) -> &[EpochStart] {
        let first = self.starts.partition_point(|known| known.start < from);
        let behind = self.starts.partition_point(|known| known.start < to);
        self.starts.get(first..behind).unwrap_or_default()
    }

    /// All of them, the oldest first.
    #[must_use]
    pub fn starts(&self) -> &[EpochStart] {
        &self.starts
    }

    /// The log ends there from now on. An epoch that begins exactly there stays: that the log followed its leader so far was
    /// answered to it, and a leader is chosen by that.
    fn cut_end(&mut self, end: Seq) {
        self.starts.retain(|known| known.start <= end);
    }

    /// The log starts there from now on.
    fn cut_start(&mut self, start: Seq) {
        let before = self.starts.partition_point(|known| known.start <= start);
        self.starts.drain(..before.saturating_sub(1));
        if let Some(first) = self.starts.first_mut() {
            first.start = first.start.max(start);
        }
    }
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LogShape {
    /// Where it starts, with the epoch of the entry before.
    base: Position,
    history: EpochHistory,
    end: Seq,
}

impl LogShape {
    /// An empty log that starts there: entries before, the last of them of that epoch, were there and are gone.
    #[must_use]
    pub fn empty(base: Position) -> Self {
        Self { base, history: EpochHistory::default(), end: base.end }
    }

    /// One that was there before.
    #[must_use]
    pub const fn new(base: Position, history: EpochHistory, end: Seq) -> Self {
        Self { base, history, end }
    }

    /// Where it starts: entries before that are gone, and were committed. With the epoch of the last of them.
    #[must_use]
    pub const fn base(&self) -> Position {
        self.base
    }

    /// The number of its first entry.
    #[must_use]
    pub const fn start(&self) -> Seq {
        self.base.end
    }

    /// The number behind the last entry.
    #[must_use]
    pub const fn end(&self) -> Seq {
        self.end
    }

    /// Its epochs.
    #[must_use]
    pub const fn history(&self) -> &EpochHistory {
        &self.history
    }

    /// How far it has come.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { epoch: self.history.newest().max(self.base.epoch), end: self.end }
    }

    /// How far it had come there: with the epoch of the entry before `end`.
    #[must_use]
    pub fn position_at(&self, end: Seq) -> Position {
        if end <= self.base.end {
            return Position { end, ..self.base };
        }
        Position { epoch: self.history.epoch_of(Seq(end.0 - 1)).unwrap_or(self.base.epoch), end }
    }

    /// Whether this log has the entry before that position, and so everything before it, or had it: what is gone was
    /// committed, and every leader has what is committed.
    #[must_use]
    pub fn has(&self, position: Position) -> bool {
        let Position { epoch, end } = position;
        let is_there = (self.base.end..=self.end).contains(&end);
        is_there && (end == self.base.end || self.position_at(end).epoch == epoch)
    }

    /// The last position that this log may have in common with one that has come to `other` (KIP-279).
    #[must_use]
    pub fn common_with(&self, other: Position) -> Position {
        let known = self.history.starts();
        let behind = known.partition_point(|known| known.epoch <= other.epoch);
        let ends = known.get(behind).map_or(self.end, |next| next.start);
        self.position_at(ends.min(other.end).max(self.base.end))
    }

    /// The epoch of this entry.
    #[must_use]
    pub fn epoch_of(&self, entry: Seq) -> Epoch {
        self.history.epoch_of(entry).unwrap_or(self.base.epoch)
    }

    /// The beginning of this log, up to there.
    #[must_use]
    pub fn up_to(&self, end: Seq) -> Self {
        let mut log = self.clone();
        log.cut_end(end.max(self.start()));
        log
    }

    /// Entries from `from` on are stored, the first of them of this epoch. An epoch that was to begin there, and of which
    /// there is no entry, is none if it is another one.
    pub(crate) fn continue_with(&mut self, epoch: Epoch, from: Seq) {
        if self.history.newest().max(self.base.epoch) != epoch {
            self.history.starts.retain(|known| known.start < from);
            self.history.begin(epoch, from);
        }
    }

    /// Entries of this epoch stand behind the end, up to the new one.
    pub(crate) fn append(&mut self, epoch: Epoch, end: Seq) {
        self.continue_with(epoch, self.end);
        self.extend(end);
    }

    /// The owner has appended: the log ends there.
    pub(crate) fn extend(&mut self, end: Seq) {
        self.end = self.end.max(end);
    }

    pub(crate) fn begin(&mut self, epoch: Epoch, start: Seq) -> bool {
        self.history.begin(epoch, start)
    }

    pub(crate) fn cut_end(&mut self, end: Seq) {
        self.end = self.end.min(end);
        self.history.cut_end(end);
    }

    /// Entries before `start` are gone from now on; they were committed.
    pub fn cut_start(&mut self, start: Seq) {
        let start = start.min(self.end);
        if start > self.base.end {
            self.base = self.position_at(start);
            self.history.cut_start(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(starts: &[(u32, u64)], start: u64, end: u64) -> LogShape {
        let mut history = EpochHistory::default();
        for (epoch, start) in starts {
            assert!(history.begin(Epoch(*epoch), Seq(*start)));
        }
        LogShape::new(at(0, start), history, Seq(end))
    }

    fn at(epoch: u32, end: u64) -> Position {
        Position { epoch: Epoch(epoch), end: Seq(end) }
    }

    #[test]
    fn logs_have_in_common_what_both_have_of_an_epoch() {
        let log = shape(&[(1, 0), (3, 10), (7, 20)], 0, 25);
        assert_eq!(log.common_with(at(7, 30)), at(7, 25));
        assert_eq!(log.common_with(at(7, 22)), at(7, 22));
        assert_eq!(
            log.common_with(at(5, 22)),
            at(3, 20),
            "of the epochs up to 5 this log has entries up to 20"
        );
        assert_eq!(log.common_with(at(2, 4)), at(1, 4));
        assert!(log.has(at(3, 20)) && log.has(at(1, 10)) && !log.has(at(1, 11)) && !log.has(at(7, 26)));
    }

    #[test]
    fn epoch_that_begins_where_the_log_is_cut_stays() {
        let mut log = shape(&[(1, 0), (2, 10), (3, 15)], 0, 20);
        log.cut_end(Seq(10));
        assert_eq!(log.position(), at(2, 10));
        log.begin(Epoch(4), Seq(10));
        assert_eq!(log.history().starts().len(), 2, "an epoch without entries is replaced");
    }

    #[test]
    fn log_that_starts_later_knows_the_epoch_that_it_starts_with() {
        let mut log = shape(&[(1, 0), (2, 10)], 0, 20);
        log.cut_start(Seq(12));
        assert_eq!((log.start(), log.position_at(Seq(12))), (Seq(12), at(2, 12)));
        assert!(!log.has(at(1, 10)) && log.has(at(2, 12)));
        log.cut_start(Seq(20));
        assert_eq!((log.base(), log.position()), (at(2, 20), at(2, 20)));
        let mut log = shape(&[(1, 0), (2, 10)], 0, 20);
        log.cut_start(Seq(10));
        assert_eq!((log.base(), log.history().starts().len()), (at(1, 10), 1));
    }
}
