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
        let written = self.written_end(segment);
        if written.position == 0 || written.offset <= from {
            // There is a hole before the first batch in memory, and the offset is in it: no file has anything from there on.
            return self.memory_source(from, bound, bytes_max);
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

    /// Where what is in the file of a segment ends. A segment of which nothing is may have no file.
    pub(crate) fn written_end(&self, segment: &Segment) -> Boundary {
        match self.tail.front() {
            Some(first) if first.at.segment == segment.base() => {
                Boundary { offset: first.after, position: first.at.position }
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

#[cfg(test)]
mod tests {
    use base::WallTime;

    use super::*;
    use crate::test_support::{lead, plain};
    use crate::{Partition, PartitionConfig, Place, StoredBatch, StoredEvent};

    /// A batch of two records, and whether it is in its segment.
    type Kept = (i64, bool);

    /// A partition that leads, whose log was copied from a compacted one: these batches stand in one segment, with holes before them.
    fn copied(state: Option<&[u8]>, kept: &[Kept]) -> Partition {
        let batches: Vec<Bytes> =
            kept.iter().map(|(base, _)| Bytes::from(plain(*base, 500, 2, 40))).collect();
        let mut position = 0;
        let events = batches.iter().zip(kept).map(|(bytes, (_, is_written))| {
            let at = Place { segment: Offset(0), position };
            position += bytes.len() as u64;
            let (now, is_written, is_behind_state) = (WallTime::of_ms(1), *is_written, state.is_none());
            StoredEvent::Batch(StoredBatch { at, now, is_behind_state, is_written, begun: &[], bytes })
        });
        let events: Vec<_> = events.filter(|event| state.is_none() || is_young(event)).collect();
        let restored = Partition::restore(PartitionConfig::default(), Offset(0), state, events.into_iter());
        let mut partition = restored.expect("it fits together");
        if let Some((last, _)) = kept.iter().rfind(|(_, is_written)| *is_written) {
            partition.restored_written(Offset(last + 2));
        }
        let epoch = LeaderEpoch(partition.epoch().0 + 1);
        lead(&mut partition, epoch);
        partition
    }

    const fn is_young(event: &StoredEvent<'_>) -> bool {
        matches!(event, StoredEvent::Batch(StoredBatch { is_written: false, .. }))
    }

    /// The first batch that is read from memory from there on; nothing if a segment is read.
    fn from_memory(partition: &Partition, from: i64) -> Option<i64> {
        let read = partition.read(Offset(from), Isolation::ReadUncommitted, 1 << 20).expect("it is in range");
        let Source::Memory(batches) = read.source else { return None };
        Some(log_wire::Batch::read(&batches[0]).expect("a batch").0.base_offset())
    }

    #[test]
    fn reader_in_a_hole_before_what_no_file_has_is_given_that_from_memory() {
        let kept = [(10, true), (47, false), (60, false)];
        let of_batches = copied(None, &kept);
        let state = of_batches.state();
        for mut partition in [of_batches, copied(Some(&state.bytes), &kept)] {
            assert_eq!([0, 10, 11].map(|from| from_memory(&partition, from)), [None; 3]);
            assert_eq!([12, 46, 48].map(|from| from_memory(&partition, from)), [Some(47); 3]);
            // The first of them is in its segment now, and the hole behind it is the last one.
            partition.written(Offset(49), partition.cuts());
            assert_eq!([12, 46, 48].map(|from| from_memory(&partition, from)), [None; 3]);
            assert_eq!([49, 59, 61].map(|from| from_memory(&partition, from)), [Some(60); 3]);
        }
    }

    #[test]
    fn segment_of_which_nothing_is_in_a_file_is_not_looked_for() {
        let partition = copied(None, &[(47, false)]);
        assert_eq!([0, 46, 47].map(|from| from_memory(&partition, from)), [Some(47); 3]);
        let lookup = partition.look_for_time(0, Isolation::ReadUncommitted);
        assert_eq!((lookup.segments.len(), lookup.memory.len()), (0, 1));
    }
}
