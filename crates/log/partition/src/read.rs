//! Reading: from which place, and which of the bytes there a reader may have.

use bytes::Bytes;
use log_wire::{BATCH_HEADER_BYTES, Batch, ErrorCode};

use crate::partition::Partition;
use crate::{LeaderEpoch, Offset, Place};

/// How far a reader may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Whatever is committed by the replicas.
    ReadUncommitted,
    /// Whatever is decided by its producer, too.
    ReadCommitted,
}

/// Where the batches are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// There is nothing to read.
    Nothing,
    /// In memory.
    Memory(Vec<Bytes>),
    /// In a segment, at or behind this place.
    Segment(SegmentRead),
}

/// Batches to be read from a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRead {
    /// Where to begin. Batches before the first one that is wanted may stand there.
    pub at: Place,
    /// How many bytes of the segment count from there on.
    pub bytes: u64,
    /// The first offset that is wanted.
    pub from: Offset,
    /// The offset that must not be reached.
    pub bound: Offset,
    /// How many bytes are wanted.
    pub bytes_max: usize,
}

/// What a read gives. All of it is of one instant (L11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Where the log begins.
    pub start: Offset,
    /// The high watermark.
    pub high_watermark: Offset,
    /// The last stable offset.
    pub last_stable: Offset,
    /// The batches.
    pub source: Source,
}

impl Partition {
    /// How far a reader may read.
    #[must_use]
    pub fn readable_end(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::ReadUncommitted => self.high_watermark,
            Isolation::ReadCommitted => self.last_stable(),
        }
    }

    /// Reads whole batches from the one that holds `from` on: at most `bytes_max`, but always the first one.
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE`: the offset is before the start or behind the end.
    pub fn read(&self, from: Offset, isolation: Isolation, bytes_max: usize) -> Result<Read, ErrorCode> {
        if from < self.start() || from > self.end() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let bound = self.readable_end(isolation);
        let source = if from >= bound { Source::Nothing } else { self.source(from, bound, bytes_max) };
        let (start, high_watermark) = (self.start(), self.high_watermark);
        Ok(Read { start, high_watermark, last_stable: self.last_stable(), source })
    }

    /// Whether the leader epoch that a client knows is the present one; -1 for a client that knows none.
    ///
    /// # Errors
    /// `FENCED_LEADER_EPOCH`: it is an older one; `UNKNOWN_LEADER_EPOCH`: it is one that this replica does not know yet.
    pub fn check_epoch(&self, known: LeaderEpoch) -> Result<(), ErrorCode> {
        match known {
            LeaderEpoch(-1) => Ok(()),
            known if known < self.epoch() => Err(ErrorCode::FencedLeaderEpoch),
            known if known > self.epoch() => Err(ErrorCode::UnknownLeaderEpoch),
            _ => Ok(()),
        }
    }

    fn source(&self, from: Offset, bound: Offset, bytes_max: usize) -> Source {
        if self.tail.front().is_some_and(|first| first.base <= from) {
            return self.memory_source(from, bound, bytes_max);
        }
        let behind = self.segments.partition_point(|segment| segment.base() <= from);
        let Some(segment) = behind.checked_sub(1).and_then(|at| self.segments.get(at)) else {
            return Source::Nothing;
        };
        // An offset in a hole that compaction made behind the last record of a segment is read in the next one.
        let segment =
            if from < segment.end() { segment } else { self.segments.get(behind).unwrap_or(segment) };
        let at = segment.place_of(from);
        let in_memory = self.tail.front().map_or(Offset::MAX, |first| first.base);
        let bytes = segment.bytes().saturating_sub(at.position);
        Source::Segment(SegmentRead { at, bytes, from, bound: bound.min(in_memory), bytes_max })
    }

    fn memory_source(&self, from: Offset, bound: Offset, bytes_max: usize) -> Source {
        let begin = self.tail.partition_point(|batch| batch.end <= from);
        let mut bytes = 0;
        let wanted = self.tail.iter().skip(begin).take_while(|batch| {
            let is_first = bytes == 0;
            bytes += batch.bytes.len();
            batch.end <= bound && (is_first || bytes <= bytes_max)
        });
        let batches: Vec<Bytes> = wanted.map(|batch| batch.bytes.clone()).collect();
        if batches.is_empty() { Source::Nothing } else { Source::Memory(batches) }
    }
}

/// Which bytes of those that were read from a segment are the reader's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// These.
    Range {
        /// Where they begin.
        begin: usize,
        /// Where they end.
        end: usize,
    },
    /// More must be read: at least so many bytes from the same place.
    More(usize),
}

impl SegmentRead {
    /// How many bytes to read at first.
    #[must_use]
    pub fn first_bytes(&self) -> usize {
        const AHEAD: usize = 32 << 10;
        usize::try_from(self.bytes).unwrap_or(usize::MAX).min(self.bytes_max.saturating_add(AHEAD))
    }

    /// Finds the reader's batches in what was read.
    #[must_use]
    pub fn cut(&self, bytes: &[u8]) -> Cut {
        let (mut begin, mut end, mut found) = (0, 0, false);
        while let Some(rest) = bytes.get(end..).filter(|rest| !rest.is_empty()) {
            let Ok((batch, _)) = Batch::read(rest) else {
                // Cut off, or damaged: a reader that has something gets that first.
                let wanted = end + next_bytes(rest);
                let has_more = wanted > bytes.len() && wanted as u64 <= self.bytes;
                return if found || !has_more { Cut::Range { begin, end } } else { Cut::More(wanted) };
            };
            let next = end + batch.bytes().len();
            if Offset(batch.last_offset()) < self.from {
                (begin, end) = (next, next);
                continue;
            }
            let in_bounds = Offset(batch.last_offset()) < self.bound;
            if !in_bounds || (found && next - begin > self.bytes_max) {
                break;
            }
            (end, found) = (next, true);
        }
        if !found && end == bytes.len() && (end as u64) < self.bytes {
            return Cut::More(
                self.first_bytes().max(end + BATCH_HEADER_BYTES).max(end * 2).min(self.bytes as usize),
            );
        }
        Cut::Range { begin, end }
    }
}

/// How many bytes a batch has that begins so.
fn next_bytes(rest: &[u8]) -> usize {
    const LENGTH_END: usize = 12;
    let length = rest.get(8..LENGTH_END).and_then(|length| length.first_chunk());
    let length = length.map_or(0, |length| usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0));
    (length + LENGTH_END).max(BATCH_HEADER_BYTES)
}
