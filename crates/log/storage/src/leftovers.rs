//! The files that a start finds, told from those that it needs.
//!
//! Which segments make up a partition is told by its state alone. A file that no partition names is what is left of something
//! that a crash interrupted: of a partition that was dropped, of segments that were removed, or that were written and never
//! took the place of others. A segment that is named and has no file is damage.

use std::collections::{BTreeMap, BTreeSet};

use log_partition::{PartitionId, SegmentId};
use storage_disk::{Disk, DiskError};
use storage_wal::{Fault, LogId, Progress};

use crate::segment_name::{FileKind, SEGMENT_DIRECTORY, index_path, segment_path};
use crate::store::Store;

/// How many segments a step removes.
const STEP_SEGMENTS: usize = 64;

impl<D: Disk> Store<D> {
    /// After a start: these segments make up a partition, those among them that nothing was appended to included. Gives the
    /// first one that is missing: then the partition is damaged, and all its files are kept.
    pub fn adopt(&mut self, log: LogId, segments: impl Iterator<Item = SegmentId>) -> Option<SegmentId> {
        let (Some(of), Some(found)) = (self.logs.0.get_mut(&log), self.found.as_mut()) else { return None };
        let flushed = of.flushed.place;
        // What is not flushed is written again, from the beginning of its segment on.
        let must_exist = |segment: &SegmentId| {
            segment.base < flushed.segment || (segment.base == flushed.segment && flushed.position > 0)
        };
        let files = found.files.get(&of.id);
        let exists =
            |segment: &SegmentId| files.is_some_and(|files| files.contains(&(*segment, FileKind::Batches)));
        let own: BTreeSet<SegmentId> = segments.collect();
        let missing = own.iter().find(|segment| must_exist(segment) && !exists(segment)).copied();
        if missing.is_none() {
            found.adopted.insert(of.id);
            of.files = own.into_iter().filter(exists).collect();
        }
        missing
    }

    /// To be called once, when every partition that can be used was [adopted](Self::adopt): removes files that nothing needs.
    /// Those of partitions that were not adopted are kept.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn remove_leftovers(&mut self) -> Result<(), Fault> {
        let Some(found) = self.found.take() else { return Ok(()) };
        let mut removed = false;
        let own: BTreeMap<PartitionId, LogId> = self.logs.0.iter().map(|(log, of)| (of.id, *log)).collect();
        for (id, files) in &found.files {
            let log = own.get(id).and_then(|log| self.logs.0.get_mut(log));
            if let Some(of) = log {
                if !found.adopted.contains(id) {
                    of.files = files.iter().map(|(segment, _)| *segment).collect();
                    continue;
                }
                let kept = of.files.clone();
                for (segment, kind) in files.iter().filter(|(segment, _)| !kept.contains(segment)) {
                    removed |= self.remove_file(*id, *segment, *kind)?;
                }
            } else {
                for (segment, kind) in files {
                    removed |= self.remove_file(*id, *segment, *kind)?;
                }
            }
        }
        if removed {
            let synced = self.wal.disk().sync_directory(SEGMENT_DIRECTORY);
            self.wal.note(synced, "flush", || SEGMENT_DIRECTORY.into())?;
        }
        Ok(())
    }

    /// Removes the files of a few segments that are durably gone.
    ///
    /// # Errors
    /// A fault poisons the store.
    pub fn remove_step(&mut self) -> Result<Progress, Fault> {
        for _ in 0..STEP_SEGMENTS {
            let Some((id, segment)) = self.removals.next() else { return Ok(Progress::Idle) };
            for kind in [FileKind::Batches, FileKind::Index] {
                self.remove_file(id, segment, kind)?;
            }
        }
        Ok(Progress::More)
    }

    /// Whether it was there.
    pub(crate) fn remove_file(
        &mut self,
        id: PartitionId,
        segment: SegmentId,
        kind: FileKind,
    ) -> Result<bool, Fault> {
        let path = match kind {
            FileKind::Batches => segment_path(id, segment),
            FileKind::Index => index_path(id, segment),
        };
        match self.wal.disk().remove(&path) {
            Err(DiskError::NotFound) => Ok(false),
            removed => self.wal.note(removed, "remove", || path).map(|()| true),
        }
    }
}
