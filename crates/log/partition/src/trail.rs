//! What each batch that is not committed has changed: enough to take it back, when another leader has chosen another way.
//!
//! A batch is taken back together with all behind it, the last first. What is committed never is.

use std::collections::VecDeque;

use crate::Offset;
use crate::segment::Segment;
use crate::segments::Segments;
use crate::tables::{Tables, TablesUndo};

/// So many places are kept while all is committed: those of a busy partition are used again at once.
const KEPT: usize = 16;

/// What a batch has changed.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its first offset, and the one behind its last.
    pub(crate) base: Offset,
    pub(crate) end: Offset,
    /// Its length.
    pub(crate) bytes: u64,
    pub(crate) tables: TablesUndo,
    /// The last segment before it.
    pub(crate) before: Segment,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail(VecDeque<Step>);

impl Trail {
    pub(crate) fn push(&mut self, step: Step) {
        self.0.push_back(step);
    }

    /// Everything before that offset is committed.
    pub(crate) fn committed(&mut self, end: Offset) {
        while self.0.pop_front_if(|step| step.end <= end).is_some() {}
        if self.0.is_empty() && self.0.capacity() > KEPT {
            self.0 = VecDeque::new();
        }
    }

    /// Gives back the memory that is kept for the next batches: thousands of partitions are idle at a time.
    pub(crate) fn rest(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Takes back all batches from that offset on. Gives where the log ends then; nothing if none was there.
    pub(crate) fn take_back(
        &mut self,
        from: Offset,
        tables: &mut Tables,
        segments: &mut Segments,
    ) -> Option<Offset> {
        let mut end = None;
        while let Some(step) = self.0.pop_back_if(|step| step.end > from) {
            tables.take_back(step.tables);
            segments.take_back(&step.before, step.base);
            end = Some(step.base);
        }
        end
    }

    /// Tables and segments as they were before all of it: of what is committed alone.
    pub(crate) fn all_taken_back(&self, tables: &Tables, segments: &Segments) -> (Tables, Segments) {
        let (mut tables, mut segments) = (tables.clone(), segments.clone());
        self.clone().take_back(Offset(-1), &mut tables, &mut segments);
        (tables, segments)
    }

    /// That offset; the end of the batch, if it lies within one.
    pub(crate) fn end_around(&self, offset: Offset) -> Offset {
        let at = self.0.partition_point(|step| step.end <= offset);
        self.0.get(at).filter(|step| step.base < offset).map_or(offset, |step| step.end)
    }

    /// Bytes of all its batches.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|step| step.bytes).sum()
    }

    /// Where its first batch begins.
    pub(crate) fn first(&self) -> Option<Offset> {
        self.0.front().map(|step| step.base)
    }
}
