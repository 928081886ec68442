//! The segments of a partition, the oldest first, with the index of the one that is appended to.
//!
//! Which files make up a partition is told by this list, which is kept with the tables: files that are not in it count for
//! nothing. So a start reads no segment, and one change of the list replaces several segments at once.

use std::collections::VecDeque;

use base::WallTime;
use log_wire::{Batch, Reader, Writer};

use crate::active_index::{ActiveIndex, IndexFrame};
use crate::sealed::{Damage, check};
use crate::segment::{SEGMENT_BYTES, Segment};
use crate::{Boundary, Offset, Place, SegmentId};

/// The log has changed since a pass of compaction began: a step of it does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    /// Never empty; the last is appended to.
    list: VecDeque<Segment>,
    index: ActiveIndex,
    /// Parts of indices that were not given away yet.
    frames: Vec<IndexFrame>,
}

impl Segments {
    /// Of an empty log.
    pub(crate) fn new(start: Offset) -> Self {
        let list = VecDeque::from([Segment::new(SegmentId::appended(start))]);
        Self { list, index: ActiveIndex::default(), frames: Vec::new() }
    }

    /// A batch follows, appended at that time.
    pub(crate) fn push(&mut self, batch: &Batch<'_>, now: WallTime) {
        let Some(last) = self.list.back_mut() else { return };
        if !last.is_empty() {
            let at = Boundary { offset: last.end(), position: last.bytes() };
            self.frames.extend(self.index.push(last.id(), at, last.highest_ms()));
        }
        last.push(batch, now);
    }

    /// Batches from that offset on stand in a segment of their own. Nothing changes if the last one is empty and begins there.
    pub(crate) fn roll(&mut self, base: Offset) {
        if self.list.back().is_some_and(Segment::is_empty) {
            self.list.pop_back();
        } else if let Some(last) = self.list.back() {
            self.frames.extend(std::mem::take(&mut self.index).seal(last.id()));
        }
        self.index = ActiveIndex::default();
        self.list.push_back(Segment::new(SegmentId::appended(base)));
    }

    /// None of these is appended to any more.
    pub(crate) fn roll_behind(&mut self, sealed: &[SegmentId]) {
        if let Some(last) = self.last().filter(|last| sealed.contains(&last.id())) {
            self.roll(last.end());
        }
    }

    /// The last batch, before which the last segment was this one, is taken back. The log ends at `end` then. Segments may have been
    /// begun since, with that batch or without one.
    pub(crate) fn take_back(&mut self, before: &Segment, end: Offset) {
        let was_last = self.last().is_some_and(|last| last.id() == before.id());
        while self.list.pop_back_if(|last| last.base() > before.base()).is_some() {}
        match self.list.back_mut() {
            Some(last) if last.id() == before.id() => *last = before.clone(),
            _ => {
                // It was empty, or is compacted or gone by now: all of it was committed.
                let base = if before.is_empty() { before.base() } else { end };
                self.list.push_back(Segment::new(SegmentId::appended(base)));
            }
        }
        if was_last {
            self.index.cut(before.bytes());
        } else {
            let is_empty = self.last().is_none_or(Segment::is_empty);
            self.index = if is_empty { ActiveIndex::default() } else { ActiveIndex::lost() };
        }
        let last = self.last().map(Segment::id);
        self.frames.retain(|frame| Some(frame.segment) < last);
    }

    /// Whether the file beside the last segment, if there is one, tells nothing false.
    pub(crate) const fn has_index_file(&self) -> bool {
        self.index.has_file()
    }

    /// The log begins at `start` from now on: segments that end there or before are gone.
    pub(crate) fn truncate_start(&mut self, start: Offset) {
        while self.list.len() > 1 && self.list.front().is_some_and(|first| first.end() <= start) {
            self.list.pop_front();
        }
        if self.list.front().is_some_and(|only| !only.is_empty() && only.end() <= start) {
            self.begin_at(start);
        }
        let first = self.first_base();
        self.frames.retain(|frame| frame.segment.base >= first);
    }

    /// A start finds that segments before that one are gone. What was [truncated](Self::truncate_start) may have had batches that
    /// are not there any more.
    pub(crate) fn found_first(&mut self, first: Offset) {
        while self.list.len() > 1 && self.list.front().is_some_and(|segment| segment.base() < first) {
            self.list.pop_front();
        }
        if self.first_base() < first {
            self.begin_at(first);
        }
        self.frames.retain(|frame| frame.segment.base >= first);
    }

    /// All of it is gone: the next batch begins a segment.
    fn begin_at(&mut self, base: Offset) {
        (self.list, self.index) = (VecDeque::new(), ActiveIndex::default());
        self.list.push_back(Segment::new(SegmentId::appended(base)));
    }

    /// A compacted segment, or nothing, takes the place of these, which lie side by side and are not appended to.
    pub(crate) fn replace(&mut self, removed: &[SegmentId], added: Option<Segment>) -> Result<(), Stale> {
        let Some(first) = removed.first() else { return if added.is_none() { Ok(()) } else { Err(Stale) } };
        let at = self.list.iter().position(|segment| segment.id() == *first).ok_or(Stale)?;
        let own = self.list.iter().skip(at).map(Segment::id);
        let is_sealed = at + removed.len() < self.list.len();
        if !is_sealed || !own.take(removed.len()).eq(removed.iter().copied()) {
            return Err(Stale);
        }
        let behind = self.list.get(at + removed.len()).map_or(Offset::MAX, Segment::base);
        let fits = |added: &Segment| added.base() == first.base && added.end() <= behind && !added.is_empty();
        if !added.as_ref().is_none_or(fits) {
            return Err(Stale);
        }
        self.list.drain(at..at + removed.len());
        if let Some(added) = added {
            self.list.insert(at, added);
        }
        self.frames.retain(|frame| !removed.contains(&frame.segment));
        Ok(())
    }

    /// Takes the parts of indices that are to be written.
    pub(crate) fn take_frames(&mut self) -> Vec<IndexFrame> {
        std::mem::take(&mut self.frames)
    }

    /// All of them, the oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.list.iter()
    }

    /// The one that is appended to.
    pub(crate) fn last(&self) -> Option<&Segment> {
        self.list.back()
    }

    /// The offset at which the first begins.
    pub(crate) fn first_base(&self) -> Offset {
        self.list.front().map_or(Offset::ZERO, Segment::base)
    }

    /// Where the next batch stands.
    pub(crate) fn end_place(&self) -> Place {
        self.list.back().map_or_else(Place::default, Segment::end_place)
    }

    /// Where the last batch ends.
    pub(crate) fn end(&self) -> Offset {
        self.list.back().map_or(Offset::ZERO, Segment::end)
    }

    /// Where the last batch that was not removed ends; nothing if there is none.
    pub(crate) fn batches_end(&self) -> Option<Offset> {
        self.list.iter().rev().find(|segment| !segment.is_empty()).map(Segment::end)
    }

    /// Bytes of all.
    pub(crate) fn bytes(&self) -> u64 {
        self.list.iter().map(Segment::bytes).sum()
    }

    /// The one that holds this offset; if it is in a hole that compaction made, the one behind the hole.
    pub(crate) fn of(&self, offset: Offset) -> Option<&Segment> {
        let at = self.list.partition_point(|segment| segment.end() <= offset);
        self.list.get(at)
    }

    /// The last place known in a segment that is not behind `offset`, with the highest timestamp before it.
    pub(crate) fn before(&self, segment: &Segment, offset: Offset) -> (Boundary, i64) {
        let known = self.index_of(segment).and_then(|index| index.before(segment.base(), offset));
        known.unwrap_or_else(|| (beginning(segment), i64::MIN))
    }

    /// The last place known in a segment with at most that position and offset.
    pub(crate) fn within(&self, segment: &Segment, most: Boundary) -> Boundary {
        let known = self.index_of(segment).and_then(|index| index.within(segment.base(), most));
        known.unwrap_or_else(|| beginning(segment))
    }

    /// The last place known in a segment before which every timestamp is below that one, with the highest timestamp before it.
    pub(crate) fn before_time(&self, segment: &Segment, timestamp_ms: i64) -> (Boundary, i64) {
        let known = self.index_of(segment).and_then(|index| index.before_time(segment.base(), timestamp_ms));
        known.unwrap_or_else(|| (beginning(segment), i64::MIN))
    }

    /// Only that of the last segment is known here.
    fn index_of(&self, segment: &Segment) -> Option<&ActiveIndex> {
        self.last().is_some_and(|last| last.id() == segment.id()).then_some(&self.index)
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.count(self.list.len());
        self.list.iter().for_each(|segment| segment.write(writer));
        self.index.write(writer);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let mut list: VecDeque<Segment> = VecDeque::new();
        for _ in 0..reader.count(SEGMENT_BYTES)? {
            let segment = Segment::read(reader)?;
            let follows = list.back().is_none_or(|last| last.end() <= segment.base() && !last.is_empty());
            check(follows, "segments that overlap")?;
            list.push_back(segment);
        }
        check(list.back().is_some_and(|last| last.id().generation == 0), "no segment to append to")?;
        Ok(Self { list, index: ActiveIndex::read(reader)?, frames: Vec::new() })
    }
}

fn beginning(segment: &Segment) -> Boundary {
    Boundary { offset: segment.base(), position: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assigned, plain};

    const NOW: WallTime = WallTime::of_ms(5);

    /// Segments that begin at these offsets, of ten batches with two records each.
    fn segments(bases: &[i64]) -> Segments {
        let mut segments = Segments::new(Offset(bases[0]));
        for base in bases {
            segments.roll(Offset(*base));
            for at in 0..10 {
                segments.push(&assigned(&plain(base + at * 2, 1_000 + base, 2, 4_000)), NOW);
            }
        }
        segments
    }

    fn bases(segments: &Segments) -> Vec<i64> {
        segments.iter().map(|segment| segment.base().0).collect()
    }

    #[test]
    fn offset_is_in_its_segment_or_behind_the_hole_in_the_next() {
        let segments = segments(&[0, 20, 50]);
        let of = |offset| segments.of(Offset(offset)).map(|segment| segment.base().0);
        assert_eq!((of(0), of(19), of(20), of(39)), (Some(0), Some(0), Some(20), Some(20)));
        assert_eq!((of(40), of(49), of(50), of(69), of(70)), (Some(50), Some(50), Some(50), Some(50), None));
    }

    #[test]
    fn segment_is_sealed_with_its_index_when_the_next_begins() {
        let mut segments = segments(&[0, 20]);
        let frames = segments.take_frames();
        assert_eq!(frames.len(), 1);
        assert_eq!((frames[0].segment.base, frames[0].is_last), (Offset(0), true));
        segments.roll(Offset(60));
        segments.roll(Offset(60));
        assert_eq!(bases(&segments), [0, 20, 60], "an empty one is not kept");
    }

    #[test]
    fn segments_before_the_start_are_gone_and_one_to_append_to_is_left() {
        let mut segments = segments(&[0, 20, 40]);
        segments.truncate_start(Offset(20));
        assert_eq!(bases(&segments), [20, 40]);
        assert!(segments.take_frames().iter().all(|frame| frame.segment.base == Offset(20)));
        segments.truncate_start(Offset(41));
        assert_eq!(bases(&segments), [40]);
        segments.truncate_start(Offset(60));
        assert_eq!((bases(&segments), segments.bytes()), (vec![60], 0));
    }

    #[test]
    fn batches_are_taken_back_over_the_beginning_of_a_segment() {
        let mut segments = segments(&[0]);
        let mut befores = Vec::new();
        for (base, rolls) in [(20, false), (22, true), (24, false)] {
            befores.push((segments.last().expect("one").clone(), Offset(base), segments.list.clone()));
            if rolls {
                segments.roll(Offset(base));
            }
            segments.push(&assigned(&plain(base, 9_000, 2, 4_000)), NOW);
        }
        while let Some((before, end, list)) = befores.pop() {
            segments.take_back(&before, end);
            assert_eq!(segments.list, list);
            assert_eq!(segments.end_place(), before.end_place());
        }
        assert!(!segments.has_index_file(), "what was known of the segment was given away");
    }

    #[test]
    fn batch_is_taken_back_over_a_segment_that_was_begun_without_one() {
        for rolls in [false, true] {
            let mut segments = segments(&[0]);
            let (before, list) = (segments.last().expect("one").clone(), segments.list.clone());
            if rolls {
                segments.roll(Offset(20));
            }
            segments.push(&assigned(&plain(20, 9_000, 2, 4_000)), NOW);
            // The segment was idle, and is sealed for compaction.
            segments.roll(Offset(22));
            segments.take_back(&before, Offset(20));
            assert_eq!(segments.list, list);
        }
    }

    #[test]
    fn batch_is_taken_back_behind_a_segment_that_compaction_has_replaced() {
        let mut segments = segments(&[0]);
        let sealed = segments.last().expect("one").clone();
        segments.roll(Offset(20));
        segments.push(&assigned(&plain(20, 9_000, 2, 4_000)), NOW);
        let compacted =
            Segment::compacted(SegmentId { base: Offset(0), generation: 1 }, std::slice::from_ref(&sealed));
        let mut added = compacted;
        added.push(&assigned(&plain(4, 9_000, 2, 40)), NOW);
        segments.replace(&[sealed.id()], Some(added)).expect("it is sealed");
        segments.take_back(&sealed, Offset(20));
        assert_eq!(bases(&segments), [0, 20]);
        assert_eq!(segments.end_place(), Place { segment: Offset(20), position: 0 });
    }

    #[test]
    fn segments_of_a_state_come_back_and_overlapping_ones_are_refused() {
        let mut segments = segments(&[0, 20]);
        segments.take_frames();
        let mut bytes = Vec::new();
        segments.write(&mut Writer::new(&mut bytes, false));
        let read = Segments::read(&mut Reader::new(&bytes, false)).expect("they were written");
        assert_eq!(read.list, segments.list);
        assert!((0..bytes.len()).all(|cut| Segments::read(&mut Reader::new(&bytes[..cut], false)).is_err()));
        let mut wrong = segments.clone();
        wrong.list.swap(0, 1);
        let mut bytes = Vec::new();
        wrong.write(&mut Writer::new(&mut bytes, false));
        assert!(Segments::read(&mut Reader::new(&bytes, false)).is_err());
    }
}
