//! Where in the log each leader epoch begins, as readers ask for it. With it a consumer finds out where the log that it has read
//! and this one diverge (KIP-320).
//!
//! The epochs themselves belong to the [shape](LogShape) of the replica's log.

use log_wire::{Divergence, ErrorCode, Reader, Writer};
use replication_appointed::{Epoch, EpochHistory, LogShape, Position, Seq};

use crate::sealed::{Damage, check};
use crate::{LeaderEpoch, Offset};

const ENTRY_BYTES: usize = 12;

/// The answer to OffsetForLeaderEpoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest epoch that is not above the one asked for.
    pub epoch: LeaderEpoch,
    /// The offset behind its last record.
    pub end: Offset,
}

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct LeaderEpochs<'l>(pub(crate) &'l LogShape);

impl LeaderEpochs<'_> {
    /// The epoch of the record at that offset.
    #[must_use]
    pub fn epoch_at(self, offset: Offset) -> Option<LeaderEpoch> {
        self.0.history().epoch_of(offset.seq()).map(LeaderEpoch::of)
    }

    /// The largest epoch that is not above `epoch`, and where it ends. Nothing for an epoch that is above all, or -1, which is
    /// none. An epoch below all ends where the oldest begins, and is answered under its own number.
    #[must_use]
    pub fn end_of(self, epoch: LeaderEpoch) -> Option<EpochEnd> {
        let entries = self.0.history().starts();
        let behind = entries.partition_point(|entry| LeaderEpoch::of(entry.epoch) <= epoch);
        let own = behind.checked_sub(1).and_then(|at| entries.get(at)).map(|own| LeaderEpoch::of(own.epoch));
        let next = entries.get(behind).map(|next| Offset::of(next.start));
        match (own, next) {
            _ if epoch == LeaderEpoch(-1) => None,
            (Some(own), Some(end)) => Some(EpochEnd { epoch: own, end }),
            (Some(own), None) if own == epoch => Some(EpochEnd { epoch, end: Offset::of(self.0.end()) }),
            (None, Some(end)) => Some(EpochEnd { epoch, end }),
            (_, None) => None,
        }
    }

    /// Where the log of a reader that fetched up to `offset`, the last record under `last_fetched`, leaves this one. Nothing if
    /// it does not.
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE`: the reader names an epoch that this log has never seen.
    pub fn divergence(
        self,
        last_fetched: LeaderEpoch,
        offset: Offset,
    ) -> Result<Option<Divergence>, ErrorCode> {
        let found = self.end_of(last_fetched).ok_or(ErrorCode::OffsetOutOfRange)?;
        let diverges = found.epoch < last_fetched || found.end < offset;
        Ok(diverges.then_some(Divergence { epoch: found.epoch.0, end_offset: found.end.0 }))
    }
}

/// Writes the shape of a log into the state of its partition.
pub(crate) fn write_shape(shape: &LogShape, writer: &mut Writer<'_>) {
    let (base, entries) = (shape.base(), shape.history().starts());
    writer.i32(LeaderEpoch::of(base.epoch).0).i64(Offset::of(base.end).0).i64(Offset::of(shape.end()).0);
    writer.count(entries.len());
    for entry in entries {
        writer.i32(LeaderEpoch::of(entry.epoch).0).i64(Offset::of(entry.start).0);
    }
}

/// Reads it back.
pub(crate) fn read_shape(reader: &mut Reader<'_>) -> Result<LogShape, Damage> {
    let (epoch, start, end) = (LeaderEpoch(reader.i32()?), Offset(reader.i64()?), Offset(reader.i64()?));
    check(epoch >= LeaderEpoch(-1), "a leader epoch that is none")?;
    check(Offset::ZERO <= start && start <= end, "a log that ends before it begins")?;
    let base = Position { epoch: epoch.epoch(), end: start.seq() };
    let mut history = EpochHistory::default();
    let mut last: Option<(Epoch, Seq)> = None;
    for _ in 0..reader.count(ENTRY_BYTES)? {
        let (epoch, begins) = (LeaderEpoch(reader.i32()?), Offset(reader.i64()?));
        check(
            epoch >= LeaderEpoch(0) && (start..=end).contains(&begins),
            "a leader epoch that begins elsewhere",
        )?;
        let next = (epoch.epoch(), begins.seq());
        check(last.is_none_or(|last| last.0 < next.0 && last.1 < next.1), "leader epochs that do not rise")?;
        history.begin(next.0, next.1);
        last = Some(next);
    }
    Ok(LogShape::new(base, history, end.seq()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(entries: &[(i32, i64)]) -> LogShape {
        let mut history = EpochHistory::default();
        for (epoch, start) in entries {
            assert!(history.begin(LeaderEpoch(*epoch).epoch(), Offset(*start).seq()));
        }
        LogShape::new(Position { epoch: Epoch::NONE, end: Offset(0).seq() }, history, Offset(50).seq())
    }

    fn end_of(log: &LogShape, epoch: i32) -> Option<(i32, i64)> {
        LeaderEpochs(log).end_of(LeaderEpoch(epoch)).map(|found| (found.epoch.0, found.end.0))
    }

    #[test]
    fn end_of_an_epoch_is_where_the_next_begins() {
        let log = log(&[(2, 10), (5, 20), (7, 40)]);
        assert_eq!(end_of(&log, 2), Some((2, 20)));
        assert_eq!(end_of(&log, 6), Some((5, 40)), "the largest that is not above it");
        assert_eq!(end_of(&log, 7), Some((7, 50)), "the newest ends with the log");
        assert_eq!(end_of(&log, 1), Some((1, 10)), "before all");
        assert_eq!(end_of(&log, -2), Some((-2, 10)), "any number but -1 is one");
        assert_eq!((end_of(&log, 8), end_of(&log, -1)), (None, None));
    }

    #[test]
    fn first_epoch_is_an_epoch_like_any_other() {
        let log = log(&[(0, 0)]);
        assert_eq!((end_of(&log, 0), end_of(&log, 1)), (Some((0, 50)), None));
        assert_eq!(LeaderEpochs(&log).epoch_at(Offset(7)), Some(LeaderEpoch(0)));
    }

    #[test]
    fn reader_that_went_another_way_is_told_where() {
        let log = log(&[(1, 0), (3, 10)]);
        let told = |epoch, offset| {
            let found = LeaderEpochs(&log).divergence(LeaderEpoch(epoch), Offset(offset));
            found.map(|at| at.map(|at| (at.epoch, at.end_offset)))
        };
        assert_eq!(told(1, 10), Ok(None));
        assert_eq!(told(1, 11), Ok(Some((1, 10))), "it has records of epoch 1 that are not here");
        assert_eq!(told(2, 8), Ok(Some((1, 10))), "it has an epoch that is not here");
        assert_eq!(told(3, 50), Ok(None));
        assert_eq!(told(4, 12), Err(ErrorCode::OffsetOutOfRange));
    }

    #[test]
    fn shape_is_read_back_and_bytes_that_end_early_are_refused() {
        let mut shape = log(&[(0, 0), (3, 10), (4, 50)]);
        shape.cut_start(Offset(12).seq());
        let mut bytes = Vec::new();
        write_shape(&shape, &mut Writer::new(&mut bytes, false));
        assert_eq!(read_shape(&mut Reader::new(&bytes, false)), Ok(shape));
        assert!((0..bytes.len()).all(|cut| read_shape(&mut Reader::new(&bytes[..cut], false)).is_err()));
    }
}
