//! What lies in the two directories, read and sorted out before anything is changed.

use crate::batch::SnapshotMeta;
use crate::disk::{Disk, DiskError};
use crate::error::{Corruption, Fault, OpenError};
use crate::replay;
use crate::segment::{GROWING_PATH, LOG_DIRECTORY, Remains, Segment, Start, segment_path, segment_sequence};
use crate::snapshot::{
    SNAPSHOT_DIRECTORY, SNAPSHOT_TEMPORARY, SnapshotReader, snapshot_index, snapshot_path,
};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub(crate) fn fault(path: &str, operation: &'static str, error: DiskError) -> Fault {
    Fault { file: path.to_string(), operation, error }
}

fn list<D: Disk>(disk: &mut D, directory: &str) -> Result<Vec<String>, Fault> {
    disk.list(directory).map_err(|error| fault(directory, "list", error))
}

/// A segment whose first record verifies.
pub(crate) struct Begun<File> {
    pub(crate) segment: Segment<File>,
    pub(crate) start: Start,
}

/// A segment that was made ready and holds no first record.
pub(crate) struct Unused<File> {
    pub(crate) file: File,
    pub(crate) sequence: u64,
    pub(crate) capacity: u64,
    /// What a torn first flush left in it.
    pub(crate) remains: Remains,
}

/// The files of the log.
pub(crate) struct Chain<File> {
    /// Segments that follow each other without a gap, up to the last that holds records.
    pub(crate) begun: Vec<Begun<File>>,
    /// The segment after those.
    pub(crate) next: Option<Unused<File>>,
    /// Files that nothing needs: below a gap, beyond the next segment, unfinished.
    pub(crate) leftovers: Vec<String>,
}

impl<File> Chain<File> {
    pub(crate) fn read<D: Disk<File = File>>(
        disk: &mut D,
        incarnation: &[u8; 16],
    ) -> Result<Self, OpenError> {
        let names = list(disk, LOG_DIRECTORY)?;
        let mut chain = Chain { begun: Vec::new(), next: None, leftovers: Vec::new() };
        if names.iter().any(|name| GROWING_PATH.strip_prefix("log/") == Some(name)) {
            chain.leftovers.push(GROWING_PATH.to_string());
        }
        let mut sequences: Vec<u64> = names.iter().filter_map(|name| segment_sequence(name)).collect();
        sequences.sort_unstable_by(|a, b| b.cmp(a));
        let mut gap = false;
        for sequence in sequences {
            gap |= chain.begun.last().is_some_and(|above| above.segment.sequence != sequence + 1);
            if gap {
                chain.leftovers.push(segment_path(sequence));
            } else {
                chain.take(disk, incarnation, sequence)?;
            }
        }
        chain.begun.reverse();
        for at in 1..chain.begun.len() {
            chain.begun[at - 1].segment.end = chain.begun[at].start.previous_end;
        }
        chain.check_next()?;
        Ok(chain)
    }

    /// Takes in the segment below those that were taken in already.
    fn take<D: Disk<File = File>>(
        &mut self,
        disk: &mut D,
        incarnation: &[u8; 16],
        sequence: u64,
    ) -> Result<(), OpenError> {
        let path = segment_path(sequence);
        let file = disk.open(&path).map_err(|error| fault(&path, "open", error))?;
        let length = disk.len(&file).map_err(|error| fault(&path, "measure", error))?;
        let place = (sequence, length);
        if let Some(start) = replay::read_start(disk, incarnation, &file, place)? {
            let (capacity, base_index) = (start.capacity, start.last_index);
            let segment = Segment { file, sequence, capacity, end: 0, base_index };
            self.begun.push(Begun { segment, start });
            return Ok(());
        }
        if !self.begun.is_empty() {
            return Err(replay::damaged(
                sequence,
                0,
                "its beginning does not verify, a later segment's does",
            ));
        }
        let remains = replay::read_unused(disk, incarnation, &file, place)?;
        let above = self.next.replace(Unused { file, sequence, capacity: length, remains });
        self.leftovers.extend(above.map(|unused| segment_path(unused.sequence)));
        Ok(())
    }

    /// A segment is made ready only when the one before it is in use.
    fn check_next(&self) -> Result<(), OpenError> {
        let expected = self.begun.last().map_or(1, |last| last.segment.sequence + 1);
        if self.next.as_ref().is_some_and(|unused| unused.sequence != expected) {
            return Err(replay::damaged(
                expected,
                0,
                "this segment is missing, although the one after it is there",
            ));
        }
        Ok(())
    }

    /// From which segment on the log must be replayed to have every entry behind `index`.
    pub(crate) fn replay_from(&self, index: u64) -> Option<usize> {
        self.begun.iter().rposition(|begun| begun.start.last_index <= index)
    }
}

/// The snapshots of a directory.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// The newest that verifies, and older ones whose footer does; newest first.
    pub(crate) good: Vec<SnapshotMeta>,
    /// Newer ones that do not verify, with their indexes.
    pub(crate) damaged: Vec<(u64, Corruption)>,
    /// Older ones that do not verify, and an unfinished one.
    pub(crate) leftovers: Vec<String>,
}

impl Snapshots {
    pub(crate) fn read<D: Disk>(disk: &mut D) -> Result<Snapshots, OpenError> {
        let names = list(disk, SNAPSHOT_DIRECTORY)?;
        let mut snapshots = Snapshots::default();
        if names.iter().any(|name| SNAPSHOT_TEMPORARY.strip_prefix("snapshot/") == Some(name)) {
            snapshots.leftovers.push(SNAPSHOT_TEMPORARY.to_string());
        }
        let mut indexes: Vec<u64> = names.iter().filter_map(|name| snapshot_index(name)).collect();
        indexes.sort_unstable_by(|a, b| b.cmp(a));
        for index in indexes {
            snapshots.take(disk, index)?;
        }
        Ok(snapshots)
    }

    fn take<D: Disk>(&mut self, disk: &mut D, index: u64) -> Result<(), OpenError> {
        let newest = self.good.is_empty();
        let meta = if newest {
            SnapshotReader::verify(disk, index)
        } else {
            SnapshotReader::open(disk, index).map(|reader| reader.meta().clone())
        };
        match meta {
            Ok(meta) => self.good.push(meta),
            Err(OpenError::Corrupt(damage)) if newest => self.damaged.push((index, damage)),
            Err(OpenError::Corrupt(_)) => self.leftovers.push(snapshot_path(index)),
            Err(other) => return Err(other),
        }
        Ok(())
    }

    pub(crate) fn newest_index(&self) -> u64 {
        self.good.first().map_or(0, |meta| meta.index)
    }
}
