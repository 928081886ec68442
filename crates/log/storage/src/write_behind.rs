//! Writing batches to the segments of their partitions, behind the write-ahead log.
//!
//! Whether they are flushed in the write-ahead log makes no difference: behind the flushed part of a segment anything may stand,
//! and is written again after a crash. A disk without room is waited for: the batches stay in memory and in the write-ahead
//! log, and nothing more is taken until they are in their segments. Nothing depends on indices, so that their failures are
//! passed over.

use log_partition::{IndexFrame, PartitionId, SegmentId};
use storage_disk::{Disk, DiskError};
use storage_wal::{Fault, LogId, Progress};

use crate::files::open;
use crate::segment_name::{index_path, segment_path};
use crate::store::{Store, Written};

/// Partitions that one step writes, at most, however little each has: what is appended meanwhile waits for it.
const PARTITIONS_MAX: usize = 32;
/// Segments that one step begins, at most. To create a file may take a millisecond, where thousands were removed a moment ago.
const SEGMENTS_BEGUN_MAX: usize = 4;

impl<D: Disk> Store<D> {
    /// A step of writing batches of partitions to their segments: of those that have many, or, if all of them together have
    /// too many or `all` is asked for, of all that have any now. There is more to do if partitions are left for the next step.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn write_behind(&mut self, all: bool) -> Result<Progress, Fault> {
        if all || self.memory_bytes > self.config.memory_bytes_max {
            let waits = self.logs.0.iter().filter(|(_, log)| !log.pending.is_empty());
            self.due = waits.map(|(log, _)| *log).collect();
        }
        self.is_short = false;
        let end = self.memory_bytes.saturating_sub(self.config.write_behind_step_bytes);
        let (mut written, mut begun) = (0, 0);
        while let Some(log) = self.due.pop_first() {
            begun += self.write_one(log)?;
            written += 1;
            if self.is_short {
                return Ok(Progress::Idle);
            }
            let is_enough = self.memory_bytes <= end.min(self.config.memory_bytes_max);
            let is_long = written >= PARTITIONS_MAX || begun >= SEGMENTS_BEGUN_MAX;
            if (is_enough || is_long) && !self.due.is_empty() {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Idle)
    }

    /// Writes all batches of a partition that wait, those of one segment at once, until the disk is full. Gives how many segments
    /// it has begun.
    pub(crate) fn write_one(&mut self, id: LogId) -> Result<usize, Fault> {
        let Some(log) = self.logs.0.get_mut(&id) else { return Ok(0) };
        let (partition, mut begun) = (log.id, 0);
        while let Some((run, batches)) = log.next_run() {
            let (create, segment) = (run.at.position == 0, SegmentId::appended(run.at.segment));
            if create {
                self.removals.keep(partition, segment);
            }
            let disk = self.wal.disk();
            let result = match self.files.get(disk, partition, segment, create) {
                Ok(file) => disk.write_parts_at(file, run.at.position, &batches),
                Err(error) => Err(error),
            };
            if result.as_ref().is_err_and(DiskError::is_shortage) {
                self.is_short = true;
                self.due.insert(id);
                break;
            }
            self.wal.note(result, "write", || segment_path(partition, segment))?;
            self.names_unflushed |= create;
            begun += usize::from(create);
            self.memory_bytes -= log.run_written(&run);
            self.written.push(Written { log: id, end: run.end, cuts: log.cuts });
        }
        self.write_indices(id);
        Ok(begun)
    }

    /// Writes what is to be written of the indices of a partition.
    fn write_indices(&mut self, id: LogId) {
        let Some(log) = self.logs.0.get_mut(&id).filter(|_| self.wal.is_flushed()) else { return };
        for frame in std::mem::take(&mut log.frames) {
            if write_index(self.wal.disk(), log.id, &frame).is_ok() && frame.is_last {
                log.unflushed_indices.push(frame.segment);
            }
        }
    }

    /// Flushes an index that is complete, so that it need not be made again after a crash.
    pub(crate) fn sync_index(&mut self, id: PartitionId, segment: SegmentId) {
        let disk = self.wal.disk();
        if let Ok(file) = disk.open(&index_path(id, segment)) {
            let _ = disk.sync_data(&file);
        }
    }
}

fn write_index<D: Disk>(disk: &mut D, id: PartitionId, frame: &IndexFrame) -> Result<(), DiskError> {
    let file = open(disk, &index_path(id, frame.segment), frame.position == 0)?;
    disk.write_at(&file, frame.position, &frame.bytes)
}
