//! Segments that become one.
//!
//! A single segment that is kept as it is costs no write: only when a batch is met that is not kept so, what comes before it is
//! copied, byte by byte, and the rest is written behind that.

use log_partition::{Cleaner, Kept, PartitionId, Segment, SegmentId};
use log_wire::Batch;
use storage_disk::Disk;

use super::CompactionError;
use super::input::Input;
use super::output::Output;

/// What a step has come to.
pub(super) enum GroupStep {
    More,
    /// These segments are replaced by that one; by nothing if nothing is kept. None are if all is kept as it is.
    Done(Vec<SegmentId>, Option<Segment>),
}

/// See the module.
pub(super) struct Group<F> {
    id: PartitionId,
    segments: Vec<Segment>,
    /// How many of them were read to their ends.
    done: usize,
    input: Option<Input<F>>,
    output: Option<Output<F>>,
    mode: Mode,
    /// What stands in the place of the first batch that is not kept as it is.
    held: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Everything until now is kept as it is.
    Same,
    /// What was kept as it is is copied: so many bytes of so many are.
    Copy { done: u64, until: u64 },
    /// What is kept is written.
    Write,
}

impl<F> Group<F> {
    pub(super) fn new(id: PartitionId, segments: Vec<Segment>) -> Self {
        let first = segments.first().map_or_else(SegmentId::default, Segment::id);
        let name = SegmentId { base: first.base, generation: first.generation.saturating_add(1) };
        let mode = if segments.len() == 1 { Mode::Same } else { Mode::Write };
        let output = Some(Output::new(id, name, &segments));
        Self { id, segments, done: 0, input: None, output, mode, held: Vec::new() }
    }

    /// The file that was made, if one was.
    pub(super) fn made(&self) -> Option<SegmentId> {
        self.output.as_ref().and_then(Output::made)
    }

    pub(super) fn step<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        step_bytes: usize,
        cleaner: &mut Cleaner,
    ) -> Result<GroupStep, CompactionError> {
        if let Mode::Copy { done, until } = self.mode {
            self.copy(disk, step_bytes, done, until)?;
            return Ok(GroupStep::More);
        }
        let mut input = match self.input.take() {
            Some(input) => input,
            None => match self.segments.get(self.done) {
                Some(segment) => Input::open(disk, self.id, segment)?,
                None => return self.finish(disk),
            },
        };
        let mut left = step_bytes;
        while left > 0 && !matches!(self.mode, Mode::Copy { .. }) {
            let position = input.position();
            let Some(batch) = input.next(disk, step_bytes)? else {
                self.done += 1;
                return Ok(GroupStep::More);
            };
            left = left.saturating_sub(batch.bytes().len());
            self.keep(disk, position, &batch, cleaner.clean(&batch))?;
        }
        self.input = Some(input);
        Ok(GroupStep::More)
    }

    /// Writes what is kept of the batch that stands at this place of its segment, or notes that the batch is kept as it is.
    fn keep<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        position: u64,
        batch: &Batch<'_>,
        kept: Kept,
    ) -> Result<(), CompactionError> {
        let Some(output) = &mut self.output else { return Ok(()) };
        if self.mode == Mode::Same && kept != Kept::Whole {
            self.mode = Mode::Copy { done: 0, until: position };
        }
        match kept {
            Kept::Nothing => {}
            Kept::Whole => {
                output.note(batch);
                if self.mode == Mode::Write {
                    output.write(disk, batch.bytes())?;
                }
            }
            Kept::Instead(bytes) => {
                if let Ok((instead, _)) = Batch::read(&bytes) {
                    output.note(&instead);
                }
                match self.mode {
                    Mode::Write => output.write(disk, &bytes)?,
                    Mode::Same | Mode::Copy { .. } => self.held = bytes,
                }
            }
        }
        Ok(())
    }

    /// Copies what was kept as it is, a piece of it.
    fn copy<D: Disk<File = F>>(
        &mut self,
        disk: &mut D,
        step_bytes: usize,
        done: u64,
        until: u64,
    ) -> Result<(), CompactionError> {
        let (Some(input), Some(output)) = (&self.input, &mut self.output) else { return Ok(()) };
        let length = usize::try_from(until - done).unwrap_or(usize::MAX).min(step_bytes);
        let mut piece = Vec::new();
        input.copy(disk, done, length, &mut piece)?;
        output.write(disk, &piece)?;
        let done = done + length as u64;
        self.mode = Mode::Copy { done, until };
        if done == until {
            output.write(disk, &std::mem::take(&mut self.held))?;
            self.mode = Mode::Write;
        }
        Ok(())
    }

    fn finish<D: Disk<File = F>>(&mut self, disk: &mut D) -> Result<GroupStep, CompactionError> {
        if self.mode == Mode::Same {
            return Ok(GroupStep::Done(Vec::new(), None));
        }
        let Some(output) = &mut self.output else { return Ok(GroupStep::Done(Vec::new(), None)) };
        let added = output.finish(disk)?;
        Ok(GroupStep::Done(self.segments.iter().map(Segment::id).collect(), added))
    }
}
