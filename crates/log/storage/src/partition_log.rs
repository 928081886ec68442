//! One partition as the store knows it: what of it is where.

use std::collections::VecDeque;

use bytes::Bytes;
use log_partition::{Offset, PartitionId, Place};

use crate::checkpoint::{Checkpoint, Flushed};

/// A batch that is not in its segment yet.
pub(crate) struct Pending {
    pub(crate) at: Place,
    pub(crate) end: Offset,
    pub(crate) batch: Bytes,
}

/// See the module.
pub(crate) struct PartitionLog {
    pub(crate) id: PartitionId,
    /// The end of what was appended to the write-ahead log.
    pub(crate) end: Offset,
    /// In order; those before are in the segments.
    pub(crate) pending: VecDeque<Pending>,
    pub(crate) pending_bytes: usize,
    /// How far the segments are written.
    pub(crate) written: Flushed,
    /// How far they are flushed.
    pub(crate) flushed: Flushed,
    /// Segments that were written since they were flushed, but for the one of `written`.
    pub(crate) unflushed_segments: Vec<Offset>,
    /// The segment of the write-ahead log with the last state.
    pub(crate) state_in: u64,
    /// Whether the owner was asked for a state.
    pub(crate) state_asked: bool,
    /// For segments of the write-ahead log that hold batches of this partition: the number, and the end of the log when
    /// the first of them was appended. Both rise.
    pub(crate) first_ends: VecDeque<(u64, Offset)>,
}

impl PartitionLog {
    pub(crate) const fn new(id: PartitionId, start: Offset, state_in: u64) -> Self {
        let place = Place { segment: start, position: 0 };
        let flushed = Flushed { end: start, place };
        Self {
            id,
            end: start,
            pending: VecDeque::new(),
            pending_bytes: 0,
            written: flushed,
            flushed,
            unflushed_segments: Vec::new(),
            state_in,
            state_asked: false,
            first_ends: VecDeque::new(),
        }
    }

    pub(crate) const fn checkpoint(&self) -> Checkpoint {
        Checkpoint { id: self.id, end: self.end, flushed: self.flushed, state_in: self.state_in }
    }

    /// A batch was appended to that segment of the write-ahead log.
    pub(crate) fn appended(&mut self, sequence: u64, end: Offset) {
        if self.first_ends.back().is_none_or(|(last, _)| *last < sequence) {
            self.first_ends.push_back((sequence, self.end));
        }
        self.end = end;
    }

    /// The oldest segment of the write-ahead log, of which `current` is the newest, that is needed to begin with: all batches
    /// that are not in the flushed part lie in it or behind it, and so does the last state.
    pub(crate) fn needed_from(&mut self, current: u64) -> u64 {
        let flushed = self.flushed.end;
        while self.first_ends.get(1).is_some_and(|(_, end)| *end <= flushed) {
            self.first_ends.pop_front();
        }
        if self.end <= flushed {
            self.first_ends.clear();
        }
        let batches = self.first_ends.front().map_or(current, |(sequence, _)| *sequence);
        batches.min(self.state_in)
    }

    /// Keeps a batch in memory until it is in its segment. Gives its size.
    pub(crate) fn keep(&mut self, at: Place, end: Offset, batch: Bytes) -> usize {
        let bytes = batch.len();
        self.pending_bytes += bytes;
        self.pending.push_back(Pending { at, end, batch });
        bytes
    }

    /// Takes the first batches that wait and stand one behind the other: where they stand, and the offset behind them.
    pub(crate) fn take_pending(&mut self, bytes: &mut Vec<u8>) -> Option<(Place, Offset)> {
        let first = self.pending.front()?;
        let (at, mut end) = (first.at, first.end);
        bytes.clear();
        while let Some(next) = self.pending.pop_front_if(|next| next.at == at.plus(bytes.len() as u64)) {
            bytes.extend_from_slice(&next.batch);
            end = next.end;
        }
        Some((at, end))
    }

    /// Segments before that offset are gone: nothing of them is written any more. Gives how many bytes that was.
    pub(crate) fn drop_before(&mut self, first_segment: Offset) -> usize {
        let before = self.pending_bytes;
        while let Some(gone) = self.pending.pop_front_if(|pending| pending.at.segment < first_segment) {
            self.pending_bytes -= gone.batch.len();
        }
        self.unflushed_segments.retain(|segment| *segment >= first_segment);
        let place = Place { segment: first_segment, position: 0 };
        for reached in [&mut self.written, &mut self.flushed] {
            if reached.place.segment < first_segment {
                *reached = Flushed { end: first_segment, place };
            }
        }
        before - self.pending_bytes
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.flushed.end < self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(flushed: i64) -> PartitionLog {
        let mut log = PartitionLog::new(PartitionId { topic: [1; 16], index: 0 }, Offset(0), 9);
        for (sequence, end) in [(3, 10), (3, 20), (4, 30), (6, 40)] {
            log.appended(sequence, Offset(end));
        }
        log.flushed.end = Offset(flushed);
        log
    }

    #[test]
    fn write_ahead_log_is_needed_from_the_first_batch_that_is_not_flushed() {
        assert_eq!(log(0).needed_from(7), 3);
        assert_eq!(log(19).needed_from(7), 3);
        assert_eq!(log(20).needed_from(7), 4, "segment 4 begins with offset 20");
        assert_eq!(log(39).needed_from(7), 6);
        assert_eq!(log(40).needed_from(7), 7, "all is flushed");
    }

    #[test]
    fn write_ahead_log_is_needed_from_the_last_state() {
        let mut log = log(40);
        log.state_in = 5;
        assert_eq!(log.needed_from(7), 5);
    }
}
