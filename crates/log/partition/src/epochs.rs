//! The history of leader epochs: where in the log each epoch begins. With it a follower or a consumer finds out where its log
//! and the leader's diverge (KIP-101, KIP-279, KIP-320).
//!
//! An epoch is entered when its leader is appointed, before its first record (KAFKA-7415): otherwise a follower that asks for
//! the end of the epoch before would be told an offset that the new leader may still overwrite.
//!
//! The history is bounded by the log: an entry whose records are all gone is dropped, and an epoch without records is replaced
//! by the next one (KAFKA-10706).

use log_wire::{Divergence, ErrorCode, Reader, Writer};

use crate::sealed::{Damage, check};
use crate::{LeaderEpoch, Offset};

const ENTRY_BYTES: usize = 12;

/// Where an epoch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The offset of its first record.
    pub start: Offset,
}

/// The answer to OffsetForLeaderEpoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest epoch that is not above the one asked for.
    pub epoch: LeaderEpoch,
    /// The offset behind its last record.
    pub end: Offset,
}

/// The history of leader epochs: both numbers of its entries rise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderEpochs {
    entries: Vec<EpochStart>,
}

impl LeaderEpochs {
    /// The epoch begins at that offset. Answers whether the history changed. An epoch that is not above the newest one changes
    /// nothing.
    pub fn assign(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        if self.newest().is_some_and(|newest| newest >= epoch) {
            return false;
        }
        self.entries.retain(|entry| entry.start < start);
        self.entries.push(EpochStart { epoch, start });
        true
    }

    /// The log ends at `end` from now on: epochs that began there or later are forgotten.
    pub fn truncate_end(&mut self, end: Offset) {
        self.entries.retain(|entry| entry.start < end);
    }

    /// The log begins at `start` from now on. The epoch that holds that offset begins there.
    pub fn truncate_start(&mut self, start: Offset) {
        let before = self.entries.partition_point(|entry| entry.start <= start);
        self.entries.drain(..before.saturating_sub(1));
        if let Some(first) = self.entries.first_mut() {
            first.start = first.start.max(start);
        }
    }

    /// The newest epoch.
    #[must_use]
    pub fn newest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// The epoch of the record at that offset.
    #[must_use]
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let behind = self.entries.partition_point(|entry| entry.start <= offset);
        self.entries.get(behind.checked_sub(1)?).map(|entry| entry.epoch)
    }

    /// The largest epoch that is not above `epoch`, and where it ends in a log that ends at `log_end`. Nothing for an epoch
    /// that is above all, or -1, which is none. An epoch below all ends where the oldest begins, and is answered under its own number.
    #[must_use]
    pub fn end_of(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<EpochEnd> {
        let behind = self.entries.partition_point(|entry| entry.epoch <= epoch);
        let own = behind.checked_sub(1).and_then(|at| self.entries.get(at));
        let next = self.entries.get(behind);
        match (own, next) {
            _ if epoch == LeaderEpoch(-1) => None,
            (Some(own), Some(next)) => Some(EpochEnd { epoch: own.epoch, end: next.start }),
            (Some(own), None) if own.epoch == epoch => Some(EpochEnd { epoch, end: log_end }),
            (None, Some(next)) => Some(EpochEnd { epoch, end: next.start }),
            (_, None) => None,
        }
    }

    /// Where the log of a reader that fetched up to `offset`, the last record under `last_fetched`, leaves this one. Nothing if
    /// it does not.
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE`: the reader names an epoch that this log has never seen.
    pub fn divergence(
        &self,
        last_fetched: LeaderEpoch,
        offset: Offset,
        log_end: Offset,
    ) -> Result<Option<Divergence>, ErrorCode> {
        let found = self.end_of(last_fetched, log_end).ok_or(ErrorCode::OffsetOutOfRange)?;
        let diverges = found.epoch < last_fetched || found.end < offset;
        Ok(diverges.then_some(Divergence { epoch: found.epoch.0, end_offset: found.end.0 }))
    }

    /// All entries, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EpochStart] {
        &self.entries
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.count(self.entries.len());
        for entry in &self.entries {
            writer.i32(entry.epoch.0).i64(entry.start.0);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let mut entries: Vec<EpochStart> = Vec::new();
        for _ in 0..reader.count(ENTRY_BYTES)? {
            let (epoch, start) = (LeaderEpoch(reader.i32()?), Offset(reader.i64()?));
            let rises = entries.last().is_none_or(|last| last.epoch < epoch && last.start < start);
            check(rises && epoch.0 >= 0 && start.0 >= 0, "leader epochs that do not rise")?;
            entries.push(EpochStart { epoch, start });
        }
        Ok(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(entries: &[(i32, i64)]) -> LeaderEpochs {
        let mut epochs = LeaderEpochs::default();
        for (epoch, start) in entries {
            assert!(epochs.assign(LeaderEpoch(*epoch), Offset(*start)));
        }
        epochs
    }

    fn end_of(epochs: &LeaderEpochs, epoch: i32) -> Option<(i32, i64)> {
        epochs.end_of(LeaderEpoch(epoch), Offset(50)).map(|found| (found.epoch.0, found.end.0))
    }

    fn pairs(epochs: &LeaderEpochs) -> Vec<(i32, i64)> {
        epochs.entries().iter().map(|entry| (entry.epoch.0, entry.start.0)).collect()
    }

    #[test]
    fn end_of_an_epoch_is_where_the_next_begins() {
        let epochs = history(&[(2, 10), (5, 20), (7, 40)]);
        assert_eq!(end_of(&epochs, 2), Some((2, 20)));
        assert_eq!(end_of(&epochs, 6), Some((5, 40)), "the largest that is not above it");
        assert_eq!(end_of(&epochs, 7), Some((7, 50)), "the newest ends with the log");
        assert_eq!(end_of(&epochs, 1), Some((1, 10)), "before all");
        assert_eq!(end_of(&epochs, -2), Some((-2, 10)), "any number but -1 is one");
        assert_eq!((end_of(&epochs, 8), end_of(&epochs, -1)), (None, None));
    }

    #[test]
    fn epoch_without_records_is_replaced_by_the_next() {
        let epochs = history(&[(1, 0), (2, 10), (3, 10)]);
        assert_eq!(pairs(&epochs), [(1, 0), (3, 10)]);
    }

    #[test]
    fn older_epoch_changes_nothing() {
        let mut epochs = history(&[(4, 0)]);
        assert!(!epochs.assign(LeaderEpoch(4), Offset(9)) && !epochs.assign(LeaderEpoch(3), Offset(9)));
        assert_eq!(pairs(&epochs), [(4, 0)]);
    }

    #[test]
    fn history_is_cut_at_both_ends_with_the_log() {
        let mut epochs = history(&[(1, 0), (2, 10), (3, 20)]);
        epochs.truncate_end(Offset(20));
        assert_eq!(pairs(&epochs), [(1, 0), (2, 10)]);
        epochs.truncate_start(Offset(5));
        assert_eq!(pairs(&epochs), [(1, 5), (2, 10)]);
        epochs.truncate_start(Offset(10));
        assert_eq!(pairs(&epochs), [(2, 10)]);
        assert_eq!((epochs.epoch_at(Offset(9)), epochs.epoch_at(Offset(11))), (None, Some(LeaderEpoch(2))));
    }

    #[test]
    fn reader_that_went_another_way_is_told_where() {
        let epochs = history(&[(1, 0), (3, 10)]);
        let told = |epoch, offset| {
            let found = epochs.divergence(LeaderEpoch(epoch), Offset(offset), Offset(50));
            found.map(|at| at.map(|at| (at.epoch, at.end_offset)))
        };
        assert_eq!(told(1, 10), Ok(None));
        assert_eq!(told(1, 11), Ok(Some((1, 10))), "it has records of epoch 1 that are not here");
        assert_eq!(told(2, 8), Ok(Some((1, 10))), "it has an epoch that is not here");
        assert_eq!(told(3, 50), Ok(None));
        assert_eq!(told(4, 12), Err(ErrorCode::OffsetOutOfRange));
    }
}
