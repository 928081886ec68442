//! Carries out compaction: reads segments, gives their batches to a [`Cleaner`], and writes what is kept to new segments.
//!
//! It works in steps of about [`CompactorConfig::step_bytes`] of input, on a disk of its own over the directory of the store:
//! in production on a thread of its own. Decompressing and compressing takes more time than reading, and a step on the thread
//! of the disk would hold up every append and every flush; what both threads share is the device only. It never touches a file
//! that anybody reads: it makes new ones under names of their own, flushed with their names, and asks for them to be put in the
//! place of the old ones ([`CompactorStep::Ready`]). The owner of the partition, who knows what happened to it meanwhile,
//! takes that or refuses it; only the write-ahead log makes it so ([`Store::replace`](crate::Store::replace)).
//!
//! What is begun and not taken is removed, here or by the next start. A full disk ends a pass: what is there stays as it is.

mod group;
mod input;
mod output;

use std::collections::VecDeque;

use log_partition::{Cleaner, CompactionJob, Mapped, Offset, PartitionId, PassEnd, Replacement, Segment};
use storage_disk::{Disk, DiskError};

use crate::segment_name::{index_path, segment_path};
use group::{Group, GroupStep};
use input::Input;

/// How compaction works.
#[derive(Clone, Copy, Debug)]
pub struct CompactorConfig {
    /// About how many bytes a step reads.
    pub step_bytes: usize,
}

impl Default for CompactorConfig {
    fn default() -> Self {
        Self { step_bytes: 1 << 20 }
    }
}

/// What a step has come to.
#[derive(Debug)]
pub enum CompactorStep {
    /// There is nothing to do.
    Idle,
    /// There is more to do.
    More,
    /// New segments are made. Nothing more is done until that is [taken](Compactor::taken) or
    /// [refused](Compactor::refused).
    Ready(Box<Replacement>),
    /// The pass is over, and everything of it was taken.
    Done,
    /// The pass has ended early. What was taken of it stays.
    Failed(CompactionError),
}

/// Why a pass has ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// A segment was removed meanwhile.
    #[error("a segment is gone")]
    Gone,
    /// The disk has no room for what is kept.
    #[error("no space left for compacted segments")]
    Full,
    /// What stands in a segment is not what was appended. This host is at fault.
    #[error("`{file}` is damaged at byte {position}")]
    Damaged {
        /// The file, within the data directory.
        file: String,
        /// Where in it.
        position: u64,
    },
    /// The disk refused a call.
    #[error(transparent)]
    Disk(DiskError),
}

impl From<DiskError> for CompactionError {
    fn from(error: DiskError) -> Self {
        match error {
            DiskError::NotFound => Self::Gone,
            error if error.is_shortage() => Self::Full,
            error => Self::Disk(error),
        }
    }
}

/// See the module.
pub struct Compactor<D: Disk> {
    disk: D,
    config: CompactorConfig,
    pass: Option<Pass<D::File>>,
}

struct Pass<F> {
    id: PartitionId,
    job: CompactionJob,
    cleaner: Cleaner,
    phase: Phase<F>,
}

enum Phase<F> {
    /// Keys are noted: the segments that are left, and the one that is read.
    Map(VecDeque<Segment>, Option<Input<F>>),
    /// Segments are cleaned: the groups that are left, and the one that is at work.
    Clean(VecDeque<Vec<Segment>>, Option<Box<Group<F>>>),
    /// A replacement waits for its answer.
    Wait(VecDeque<Vec<Segment>>, Box<Replacement>),
}

impl<D: Disk> Compactor<D> {
    /// One that has nothing to do, with a disk of its own over the directory of the store.
    #[must_use]
    pub const fn new(disk: D, config: CompactorConfig) -> Self {
        Self { disk, config, pass: None }
    }

    /// Begins a pass over a partition. One that is not over is given up.
    pub fn start(&mut self, id: PartitionId, job: CompactionJob) {
        self.give_up();
        let (cleaner, dirty_from) = (Cleaner::new(&job), job.dirty_from);
        let dirty = job.segments.iter().filter(|segment| segment.end() > dirty_from).cloned().collect();
        self.pass = Some(Pass { id, job, cleaner, phase: Phase::Map(dirty, None) });
    }

    /// One step.
    pub fn step(&mut self) -> CompactorStep {
        let Some(mut pass) = self.pass.take() else { return CompactorStep::Idle };
        let stepped = match pass.phase {
            Phase::Map(segments, input) => {
                let stepped = map(&mut self.disk, &self.config, &mut pass.cleaner, pass.id, segments, input);
                stepped.map(|phase| phase.unwrap_or_else(|| begin_to_clean(&pass.job, &pass.cleaner)))
            }
            Phase::Clean(groups, group) => {
                clean(&mut self.disk, &self.config, (&mut pass.cleaner, &pass.job), pass.id, groups, group)
            }
            waiting @ Phase::Wait(..) => Ok(waiting),
        };
        match stepped {
            Ok(Phase::Clean(groups, None)) if groups.is_empty() => CompactorStep::Done,
            Ok(phase) => {
                let ready = match &phase {
                    Phase::Wait(_, replacement) => Some(replacement.clone()),
                    _ => None,
                };
                self.pass = Some(Pass { phase, ..pass });
                ready.map_or(CompactorStep::More, CompactorStep::Ready)
            }
            Err(error) => CompactorStep::Failed(error),
        }
    }

    /// The replacement was taken: it counts once it is durable.
    pub fn taken(&mut self) {
        if let Some(pass) = &mut self.pass
            && let Phase::Wait(groups, _) = &mut pass.phase
        {
            pass.phase = Phase::Clean(std::mem::take(groups), None);
        }
    }

    /// The replacement was refused, or nobody wants the pass any more: what it has made is removed.
    pub fn refused(&mut self) {
        self.give_up();
    }

    fn give_up(&mut self) {
        let Some(pass) = self.pass.take() else { return };
        let made = match pass.phase {
            Phase::Wait(_, replacement) => replacement.added.map(|added| added.id()),
            Phase::Clean(_, Some(group)) => group.made(),
            _ => None,
        };
        if let Some(segment) = made {
            // What cannot be removed is removed by the next start.
            let _ = self.disk.remove(&segment_path(pass.id, segment));
            let _ = self.disk.remove(&index_path(pass.id, segment));
        }
    }
}

/// Notes keys. Nothing if all are noted, or no more find room.
fn map<D: Disk>(
    disk: &mut D,
    config: &CompactorConfig,
    cleaner: &mut Cleaner,
    id: PartitionId,
    mut segments: VecDeque<Segment>,
    input: Option<Input<D::File>>,
) -> Result<Option<Phase<D::File>>, CompactionError> {
    let mut input = match input {
        Some(input) => input,
        None => match segments.pop_front() {
            Some(segment) => Input::open(disk, id, &segment)?,
            None => return Ok(None),
        },
    };
    let mut left = config.step_bytes;
    while left > 0 {
        let Some(batch) = input.next(disk, config.step_bytes)? else {
            return Ok(Some(Phase::Map(segments, None)));
        };
        left = left.saturating_sub(batch.bytes().len());
        if cleaner.map(&batch) == Mapped::Full {
            return Ok(None);
        }
    }
    Ok(Some(Phase::Map(segments, Some(input))))
}

fn begin_to_clean<F>(job: &CompactionJob, cleaner: &Cleaner) -> Phase<F> {
    // Without records to note, all that is left is what has waited for its delete horizon.
    let end = cleaner.mapped_to().max(job.dirty_from);
    Phase::Clean(job.groups(end).into(), None)
}

fn clean<D: Disk>(
    disk: &mut D,
    config: &CompactorConfig,
    (cleaner, job): (&mut Cleaner, &CompactionJob),
    id: PartitionId,
    mut groups: VecDeque<Vec<Segment>>,
    group: Option<Box<Group<D::File>>>,
) -> Result<Phase<D::File>, CompactionError> {
    let mut group = match group {
        Some(group) => group,
        None => match groups.pop_front() {
            Some(segments) => Box::new(Group::new(id, segments)),
            None => return Ok(Phase::Clean(groups, None)),
        },
    };
    let stepped = group.step(disk, config.step_bytes, cleaner);
    match stepped {
        Ok(GroupStep::More) => Ok(Phase::Clean(groups, Some(group))),
        Ok(GroupStep::Done(removed, added)) => {
            let (cleaned_to, horizon_ms) = (cleaner.mapped_to().max(job.dirty_from), cleaner.horizon_ms());
            let held_from = cleaner.held_from();
            let pass = groups.is_empty().then_some(PassEnd { cleaned_to, horizon_ms, held_from });
            let removed_aborts: Vec<Offset> = cleaner.take_removed_aborts();
            if removed.is_empty() && pass.is_none() {
                return Ok(Phase::Clean(groups, None));
            }
            let thinned_to = cleaner.thinned_to();
            let replacement = Replacement { removed, added, removed_aborts, thinned_to, pass };
            Ok(Phase::Wait(groups, Box::new(replacement)))
        }
        Err(error) => {
            if let Some(segment) = group.made() {
                let _ = disk.remove(&segment_path(id, segment));
                let _ = disk.remove(&index_path(id, segment));
            }
            Err(error)
        }
    }
}
