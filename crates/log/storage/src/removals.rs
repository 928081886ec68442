//! Segments that are not needed any more: their files go, a few at a time, once what says so is durable.
//!
//! A topic of thousands of partitions is deleted at once. What says that a segment is gone is one record of the write-ahead log
//! for each partition; they share a flush with all that is appended, and nobody waits for the files.

use std::collections::{BTreeSet, VecDeque};

use log_partition::{PartitionId, SegmentId};

/// See the module.
#[derive(Default)]
pub(crate) struct Removals {
    /// What says that they are gone is not flushed.
    waiting: Vec<(PartitionId, SegmentId)>,
    ready: VecDeque<(PartitionId, SegmentId)>,
}

impl Removals {
    /// Segments of a partition are gone by what was appended last.
    pub(crate) fn add(&mut self, id: PartitionId, segments: BTreeSet<SegmentId>) {
        self.waiting.extend(segments.into_iter().map(|segment| (id, segment)));
    }

    /// Everything that was appended is durable.
    pub(crate) fn flushed(&mut self) {
        self.ready.extend(self.waiting.drain(..));
    }

    /// A segment of a partition is made anew, under the name of one that is gone.
    pub(crate) fn keep(&mut self, id: PartitionId, segment: SegmentId) {
        self.waiting.retain(|gone| *gone != (id, segment));
        self.ready.retain(|gone| *gone != (id, segment));
    }

    /// The next segment that is durably gone.
    pub(crate) fn next(&mut self) -> Option<(PartitionId, SegmentId)> {
        self.ready.pop_front()
    }
}
