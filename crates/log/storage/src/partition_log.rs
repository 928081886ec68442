//! One partition as the store knows it: what of it is where.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use log_partition::{IndexFrame, Offset, PartitionId, Place, SegmentId};

use crate::checkpoint::{Checkpoint, Flushed};
use crate::record::LogStart;

/// Batches are written to their segment in runs of so many bytes, and one batch more.
const RUN_BYTES: usize = 1 << 20;
/// And of so many batches at most.
const RUN_BATCHES: usize = 512;

/// A batch that is not in its segment yet.
pub(crate) struct Pending {
    pub(crate) at: Place,
    pub(crate) end: Offset,
    pub(crate) batch: Bytes,
    /// Parts of indices that may be written with it.
    pub(crate) index: Vec<IndexFrame>,
}

/// Batches that are written to a segment at once.
pub(crate) struct Run {
    pub(crate) at: Place,
    pub(crate) end: Offset,
    /// How many they are.
    count: usize,
}

/// See the module.
pub(crate) struct PartitionLog {
    pub(crate) id: PartitionId,
    /// Where it begins at least, as far as was said here.
    pub(crate) start: LogStart,
    /// The end of what was appended to the write-ahead log.
    pub(crate) end: Offset,
    /// In order; those before are in the segments.
    pub(crate) pending: VecDeque<Pending>,
    pub(crate) pending_bytes: usize,
    /// How far the segments are written.
    pub(crate) written: Flushed,
    /// How far they are flushed.
    pub(crate) flushed: Flushed,
    /// Segments that were written since they were flushed.
    pub(crate) unflushed_segments: Vec<SegmentId>,
    /// Parts of indices of what is written. They wait for the next flush of the write-ahead log: an index must not tell of
    /// batches that a crash may take away.
    pub(crate) frames: Vec<IndexFrame>,
    /// Segments whose indices are complete and were not flushed.
    pub(crate) unflushed_indices: Vec<SegmentId>,
    /// All of its segments that have a file.
    pub(crate) files: BTreeSet<SegmentId>,
    /// The segment of the write-ahead log from which on it holds the last state and every batch that the state does not know.
    pub(crate) state_in: u64,
    /// Whether the owner was asked for a state.
    pub(crate) state_asked: bool,
    /// For segments of the write-ahead log that hold batches of this partition: the number, and the end of the log when
    /// the first of them was appended. Both rise.
    pub(crate) first_ends: VecDeque<(u64, Offset)>,
    /// For segments of the write-ahead log that hold batches which the last state does not know: the number, and the end of the
    /// last of them. Both rise.
    pub(crate) behind_state: VecDeque<(u64, Offset)>,
    /// How often batches were cut off since the start.
    pub(crate) cuts: u32,
}

impl PartitionLog {
    pub(crate) const fn new(id: PartitionId, start: Offset, state_in: u64) -> Self {
        let place = Place { segment: start, position: 0 };
        let flushed = Flushed { end: start, place };
        Self {
            id,
            start: LogStart::NONE,
            end: start,
            pending: VecDeque::new(),
            pending_bytes: 0,
            written: flushed,
            flushed,
            unflushed_segments: Vec::new(),
            frames: Vec::new(),
            unflushed_indices: Vec::new(),
            files: BTreeSet::new(),
            state_in,
            state_asked: false,
            first_ends: VecDeque::new(),
            behind_state: VecDeque::new(),
            cuts: 0,
        }
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { id: self.id, end: self.end, flushed: self.flushed, needed: self.needed() }
    }

    /// A batch was appended to that segment of the write-ahead log.
    pub(crate) fn appended(&mut self, sequence: u64, end: Offset) {
        if self.first_ends.back().is_none_or(|(last, _)| *last < sequence) {
            self.first_ends.push_back((sequence, self.end));
        }
        match self.behind_state.back_mut() {
            Some((last, last_end)) if *last == sequence => *last_end = end,
            _ => self.behind_state.push_back((sequence, end)),
        }
        self.end = end;
    }

    /// A state of the batches before `end` was appended to that segment of the write-ahead log.
    pub(crate) fn state_given(&mut self, sequence: u64, end: Offset) {
        while self.behind_state.pop_front_if(|(_, last)| *last <= end).is_some() {}
        if self.behind_state.is_empty() {
            // Thousands of partitions are idle at a time.
            self.behind_state = VecDeque::new();
        }
        self.state_in = self.behind_state.front().map_or(sequence, |(first, _)| sequence.min(*first));
        self.state_asked = false;
    }

    /// Batches from there on are cut off; the next one stands there. Gives how many bytes need not be written any more.
    pub(crate) fn cut(&mut self, at: Flushed) -> usize {
        let before = self.pending_bytes;
        while let Some(gone) = self.pending.pop_back_if(|pending| pending.end > at.end) {
            self.pending_bytes -= gone.batch.len();
        }
        for reached in [&mut self.written, &mut self.flushed] {
            if reached.end > at.end {
                *reached = at;
            }
        }
        while self.first_ends.pop_back_if(|(_, end)| *end > at.end).is_some() {}
        self.behind_state.iter_mut().for_each(|(_, end)| *end = at.end.min(*end));
        self.end = at.end;
        before - self.pending_bytes
    }

    /// Everything is gone, by a record in that segment of the write-ahead log; the log begins there. Gives how many bytes need not
    /// be written any more.
    pub(crate) fn reset(&mut self, sequence: u64, start: Offset) -> usize {
        let old = std::mem::replace(self, Self::new(self.id, start, sequence));
        (self.files, self.cuts) = (old.files, old.cuts);
        old.pending_bytes
    }

    /// Takes the segments behind that place, to be removed, and forgets what was to be written of their indices, and of the one
    /// of that place if it is not kept.
    pub(crate) fn take_files_behind(&mut self, at: Place, keeps_index: bool) -> BTreeSet<SegmentId> {
        let own = SegmentId::appended(at.segment);
        let is_kept = |segment: SegmentId| segment.base < at.segment || (keeps_index && segment == own);
        self.frames.retain(|frame| is_kept(frame.segment));
        self.unflushed_indices.retain(|segment| is_kept(*segment));
        self.unflushed_segments.retain(|segment| segment.base <= at.segment);
        self.files.split_off(&SegmentId { base: at.segment.next(), generation: 0 })
    }

    /// The oldest segment of the write-ahead log, of which `current` is the newest, that is needed to begin with.
    pub(crate) fn needed_from(&mut self, current: u64) -> u64 {
        let flushed = self.flushed.end;
        while self.first_ends.get(1).is_some_and(|(_, end)| *end <= flushed) {
            self.first_ends.pop_front();
        }
        if self.end <= flushed {
            self.first_ends.clear();
        }
        self.needed().min(current)
    }

    /// The oldest segment of the write-ahead log with a batch that is not in the flushed part, or with what of the last state
    /// and behind it is needed; [`u64::MAX`] if there is none.
    fn needed(&self) -> u64 {
        let batches = self.first_ends.iter().take_while(|(_, end)| *end <= self.flushed.end).last();
        let batches = batches.or_else(|| self.first_ends.front()).filter(|_| self.is_dirty());
        batches.map_or(u64::MAX, |(sequence, _)| *sequence).min(self.state_in)
    }

    /// Keeps a batch in memory until it is in its segment. Gives its size.
    pub(crate) fn keep(&mut self, pending: Pending) -> usize {
        let bytes = pending.batch.len();
        self.pending_bytes += bytes;
        self.pending.push_back(pending);
        bytes
    }

    /// The first batches that wait and stand one behind the other, as many as are written at once.
    pub(crate) fn next_run(&self) -> Option<(Run, Vec<&[u8]>)> {
        let first = self.pending.front()?;
        let mut run = Run { at: first.at, end: first.end, count: 0 };
        let (mut batches, mut bytes) = (Vec::new(), 0);
        for next in self.pending.iter().take_while(|next| next.at.segment == first.at.segment) {
            let is_full = bytes >= RUN_BYTES || batches.len() >= RUN_BATCHES;
            if next.at != run.at.plus(bytes as u64) || is_full {
                break;
            }
            batches.push(&*next.batch);
            bytes += next.batch.len();
            (run.end, run.count) = (next.end, run.count + 1);
        }
        Some((run, batches))
    }

    /// They are in their segment. Gives how many bytes they have.
    pub(crate) fn run_written(&mut self, run: &Run) -> usize {
        let written: Vec<Pending> = self.pending.drain(..run.count.min(self.pending.len())).collect();
        let bytes = written.iter().map(|pending| pending.batch.len()).sum();
        if self.pending.is_empty() {
            // Thousands of partitions are idle at a time.
            self.pending = VecDeque::new();
        }
        self.pending_bytes -= bytes;
        self.written = Flushed { end: run.end, place: run.at.plus(bytes as u64) };
        let segment = SegmentId::appended(run.at.segment);
        self.files.insert(segment);
        if self.unflushed_segments.last() != Some(&segment) {
            self.unflushed_segments.push(segment);
        }
        // The segment of an index may be gone by now.
        let indices = written.into_iter().flat_map(|pending| pending.index);
        self.frames.extend(indices.filter(|frame| self.files.contains(&frame.segment)));
        bytes
    }

    /// The log begins there, or later: nothing of earlier segments is written any more. Gives how many bytes that was.
    pub(crate) fn begins_at(&mut self, start: LogStart) -> usize {
        self.start.offset = self.start.offset.max(start.offset);
        self.start.first_segment = self.start.first_segment.max(start.first_segment);
        let first_segment = self.start.first_segment;
        let before = self.pending_bytes;
        while let Some(gone) = self.pending.pop_front_if(|pending| pending.at.segment < first_segment) {
            self.pending_bytes -= gone.batch.len();
        }
        self.unflushed_segments.retain(|segment| segment.base >= first_segment);
        self.frames.retain(|frame| frame.segment.base >= first_segment);
        self.unflushed_indices.retain(|segment| segment.base >= first_segment);
        let place = Place { segment: first_segment, position: 0 };
        for reached in [&mut self.written, &mut self.flushed] {
            if reached.place.segment < first_segment {
                *reached = Flushed { end: first_segment, place };
            }
        }
        before - self.pending_bytes
    }

    /// Everything up to there is in the flushed part of the segments. Gives how many bytes need not be written any more.
    pub(crate) fn is_flushed_to(&mut self, flushed: Flushed) -> usize {
        let before = self.pending_bytes;
        while let Some(written) = self.pending.pop_front_if(|pending| pending.end <= flushed.end) {
            self.pending_bytes -= written.batch.len();
        }
        for reached in [&mut self.written, &mut self.flushed] {
            if reached.end < flushed.end {
                *reached = flushed;
            }
        }
        before - self.pending_bytes
    }

    /// Takes its segments that begin before that offset, to be removed.
    pub(crate) fn take_files_before(&mut self, first_segment: Offset) -> BTreeSet<SegmentId> {
        let kept = self.files.split_off(&SegmentId::appended(first_segment));
        std::mem::replace(&mut self.files, kept)
    }

    /// A segment takes the place of others. Gives those of them that have files.
    pub(crate) fn take_replaced(
        &mut self,
        removed: &[SegmentId],
        added: Option<SegmentId>,
    ) -> BTreeSet<SegmentId> {
        self.frames.retain(|frame| !removed.contains(&frame.segment));
        self.unflushed_indices.retain(|segment| !removed.contains(segment));
        let gone = removed.iter().filter(|segment| self.files.remove(segment)).copied().collect();
        self.files.extend(added);
        gone
    }

    /// Whether batches lie in a segment of the write-ahead log before that one, and are not flushed in their own.
    pub(crate) fn holds_before(&self, sequence: u64) -> bool {
        self.is_dirty() && self.first_ends.front().is_some_and(|(first, _)| *first < sequence)
    }

    /// The oldest segment of the write-ahead log in which batches lie that are not flushed in their own.
    pub(crate) fn oldest_unflushed(&self) -> u64 {
        self.first_ends.front().map_or(u64::MAX, |(sequence, _)| *sequence)
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
