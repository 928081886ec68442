//! The snapshots that are held, and what lies in their directory at the start.

use crate::batch::SnapshotMeta;
use crate::snapshot::{
    SNAPSHOT_DIRECTORY, SNAPSHOT_TEMPORARY, SnapshotReader, snapshot_index, snapshot_path,
};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use base::LogIndex;
use storage_disk::Disk;
use storage_wal::{Corruption, Fault, OpenError};

/// What is known of the snapshot files in the directory. Never without the newest good one.
#[derive(Default)]
pub(crate) struct SnapshotCatalog {
    /// Good snapshots, by ascending index.
    good: Vec<SnapshotMeta>,
    /// Files passed over at the start because they are damaged. They stay until a newer good one exists, because an
    /// operator may want to examine them.
    damaged: Vec<LogIndex>,
}

impl SnapshotCatalog {
    pub(crate) fn new(mut good: Vec<SnapshotMeta>, damaged: Vec<LogIndex>) -> Self {
        good.sort_by_key(|meta| meta.index);
        SnapshotCatalog { good, damaged }
    }

    pub(crate) fn newest(&self) -> Option<&SnapshotMeta> {
        self.good.last()
    }

    pub(crate) fn oldest_index(&self) -> LogIndex {
        self.good.first().map_or(LogIndex::ZERO, |meta| meta.index)
    }

    pub(crate) fn len(&self) -> usize {
        self.good.len()
    }

    /// Takes in a snapshot newer than all others.
    pub(crate) fn put(&mut self, meta: SnapshotMeta) {
        self.damaged.retain(|index| *index != meta.index);
        self.good.push(meta);
    }

    /// Takes out what is neither among the `keep` newest nor at or above `useful_from`, and damaged files that a
    /// newer good one has replaced. Returns their indexes.
    pub(crate) fn purge(&mut self, keep: usize, useful_from: LogIndex) -> Vec<LogIndex> {
        let newest = self.newest().map_or(LogIndex::ZERO, |meta| meta.index);
        let surplus = self.good.len().saturating_sub(keep.max(1));
        let useless = self.good.iter().filter(|meta| meta.index < useful_from.min(newest)).count();
        let mut purged: Vec<LogIndex> =
            self.good.drain(..surplus.max(useless)).map(|meta| meta.index).collect();
        purged.extend(self.damaged.extract_if(.., |index| *index < newest));
        purged
    }
}

/// The snapshots of a directory, read before anything is changed.
#[derive(Default)]
pub(crate) struct SnapshotScan {
    /// The newest that verifies, and older ones whose footer does; newest first.
    pub(crate) good: Vec<SnapshotMeta>,
    /// Newer ones that do not verify, with their indexes.
    pub(crate) damaged: Vec<(LogIndex, Corruption)>,
    /// Older ones that do not verify, and an unfinished one.
    pub(crate) leftovers: Vec<String>,
}

impl SnapshotScan {
    pub(crate) fn read<D: Disk>(disk: &mut D) -> Result<SnapshotScan, OpenError> {
        let names =
            disk.list(SNAPSHOT_DIRECTORY).map_err(|error| Fault::new(SNAPSHOT_DIRECTORY, "list", error))?;
        let mut scan = SnapshotScan::default();
        if names.iter().any(|name| SNAPSHOT_TEMPORARY.strip_prefix("snapshot/") == Some(name)) {
            scan.leftovers.push(SNAPSHOT_TEMPORARY.to_string());
        }
        let mut indexes: Vec<LogIndex> = names.iter().filter_map(|name| snapshot_index(name)).collect();
        indexes.sort_unstable_by(|a, b| b.cmp(a));
        for index in indexes {
            scan.take(disk, index)?;
        }
        Ok(scan)
    }

    fn take<D: Disk>(&mut self, disk: &mut D, index: LogIndex) -> Result<(), OpenError> {
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

    pub(crate) fn newest_index(&self) -> LogIndex {
        self.good.first().map_or(LogIndex::ZERO, |meta| meta.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn meta(index: u64) -> SnapshotMeta {
        SnapshotMeta { index: LogIndex(index), ..SnapshotMeta::default() }
    }

    #[test]
    fn the_newest_good_one_is_never_purged() {
        let mut catalog = SnapshotCatalog::new(vec![meta(30), meta(10), meta(20)], vec![LogIndex(40)]);
        assert_eq!(catalog.purge(2, LogIndex::ZERO), vec![LogIndex(10)]);
        assert_eq!(catalog.purge(0, LogIndex(100)), vec![LogIndex(20)]);
        assert_eq!(catalog.newest().map(|meta| meta.index), Some(LogIndex(30)));
        catalog.put(meta(50));
        assert_eq!(catalog.purge(9, LogIndex::ZERO), vec![LogIndex(40)]);
        assert_eq!((catalog.oldest_index(), catalog.len()), (LogIndex(30), 2));
    }
}
