//! Reading: from which place, and which of the bytes there a reader may have.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;
use log_wire::ErrorCode;

use crate::partition::Partition;
use crate::segment::Segment;
use crate::{Boundary, LeaderEpoch, Offset, SegmentId};

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
    /// In a segment.
    Segment(SegmentRead),
}

/// Batches to be read from a segment. It names the nearest places that are known without a look into the segment; whoever
/// reads may know nearer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRead {
    /// The segment.
    pub segment: SegmentId,
    /// Whether a batch may begin behind the end of the one before it.
    pub may_have_holes: bool,
    /// The first offset that is wanted.
    pub from: Offset,
    /// The offset that must not be reached.
    pub bound: Offset,
    /// How many bytes are wanted. The first batch is given whatever its length.
    pub bytes_max: usize,
    /// Where to begin at the earliest. It is exact if its offset is the one that is wanted.
    pub begin: Boundary,
    /// The highest timestamp before that place, milliseconds.
    pub highest_before_ms: i64,
    /// The last place known that is behind `begin` and at which a read may end; `begin` if none is known.
    pub end: Boundary,
    /// Where what counts of the segment ends.
    pub limit: Boundary,
    /// What lies before this position was written before this process began, and may have been damaged since.
    pub unverified: u64,
    /// How often the end of the log was cut off: what is known of the segment from before that counts no more.
    pub cuts: u32,
    /// Which of the copies of the partition it is that the broker has had. One that was given away and came back has files of the
    /// same names, and not the same files.
    pub copy: u64,
}

/// What a read gives. All of it is of one instant (L11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Where the log begins for clients.
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
            Isolation::ReadUncommitted => self.high_watermark(),
            Isolation::ReadCommitted => self.last_stable(),
        }
    }

    /// Reads whole batches from the one that holds `from` on: at most `bytes_max`, but always the first one. Nothing of records that
    /// are being deleted: once they are, they are out of range.
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE`: the offset is before the start or behind the end.
    pub fn read(&self, from: Offset, isolation: Isolation, bytes_max: usize) -> Result<Read, ErrorCode> {
        if from < self.shown_start() || from > self.end() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        let bound = self.readable_end(isolation);
        let is_there = (self.start()..bound).contains(&from);
        let source = if is_there { self.source(from, bound, bytes_max) } else { Source::Nothing };
        let (start, high_watermark) = (self.shown_start(), self.high_watermark());
        Ok(Read { start, high_watermark, last_stable: self.last_stable(), source })
    }

    /// How many bytes a reader finds behind what a read gives: a read ends with the segment, or with what is in files. It is not
    /// counted further than `bytes_max`.
    #[must_use]
    pub fn bytes_behind(&self, source: &Source, isolation: Isolation, bytes_max: usize) -> usize {
        let bound = self.readable_end(isolation);
        let (mut bytes, mut end) = (0_usize, end_of(source));
        while let Some(from) = end.filter(|from| *from < bound && bytes < bytes_max) {
            let next = self.source(from, bound, bytes_max - bytes);
            bytes = bytes.saturating_add(match &next {
                Source::Nothing => 0,
                Source::Memory(batches) => batches.iter().map(Bytes::len).sum(),
                Source::Segment(read) => read.bytes(),
            });
            end = end_of(&next).filter(|end| *end > from);
        }
        bytes
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

    pub(crate) fn source(&self, from: Offset, bound: Offset, bytes_max: usize) -> Source {
        if self.tail.front().is_some_and(|first| first.base <= from) {
            return self.memory_source(from, bound, bytes_max);
        }
        let Some(segment) = self.segments.of(from) else { return Source::Nothing };
        if segment.base() >= bound {
            // Compaction left nothing between the offset and the bound.
            return Source::Nothing;
        }
        let begin = self.segments.before(segment, from);
        Source::Segment(self.segment_read(segment, begin, (from, bound), bytes_max))
    }

    /// A read of a segment from that place on.
    pub(crate) fn segment_read(
        &self,
        segment: &Segment,
        (begin, highest_before_ms): (Boundary, i64),
        (from, bound): (Offset, Offset),
        bytes_max: usize,
    ) -> SegmentRead {
        let limit = self.written_end(segment);
        let bound = bound.min(self.tail.front().map_or(Offset::MAX, |first| first.base));
        let most = Boundary { offset: bound, position: begin.position.saturating_add(bytes_max as u64) };
        let within = |place: Boundary| place.position <= most.position && place.offset <= most.offset;
        let end = if within(limit) { limit } else { self.segments.within(segment, most) };
        let end = if end.position > begin.position { end } else { begin };
        let unverified = match segment.base().cmp(&self.restored_end.segment) {
            Ordering::Less => u64::MAX,
            Ordering::Equal => self.restored_end.position,
            Ordering::Greater => 0,
        };
        let (may_have_holes, segment, cuts) = (segment.may_have_holes(), segment.id(), self.cuts);
        SegmentRead {
            segment,
            may_have_holes,
            from,
            bound,
            bytes_max,
            begin,
            highest_before_ms,
            end,
            limit,
            unverified,
            cuts,
            copy: self.copy,
        }
    }

    /// Where what is in the file of a segment ends.
    fn written_end(&self, segment: &Segment) -> Boundary {
        match self.tail.front() {
            Some(first) if first.at.segment == segment.base() => {
                Boundary { offset: first.base, position: first.at.position }
            }
            _ => Boundary { offset: segment.end(), position: segment.bytes() },
        }
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

/// Where a read of a segment ends that stops for the segment's end alone.
const fn end_of(source: &Source) -> Option<Offset> {
    match source {
        Source::Segment(read) => Some(read.limit.offset),
        Source::Nothing | Source::Memory(_) => None,
    }
}

impl SegmentRead {
    /// Where the batches lie, if that is known: they are read without a look at what stands before or behind.
    #[must_use]
    pub fn range(&self) -> Option<Range<u64>> {
        let is_exact = self.begin.offset == self.from && self.end.position > self.begin.position;
        is_exact.then_some(self.begin.position..self.end.position)
    }

    /// About how many bytes it will give: exactly, if that is known.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let most = self.limit.position.saturating_sub(self.begin.position);
        let bytes = self.range().map_or(most, |range| range.end - range.start);
        usize::try_from(bytes).unwrap_or(usize::MAX).min(self.bytes_max).max(1)
    }
}
