//! Taking in snapshots, giving them out, and dropping what they make superfluous.

use crate::batch::SnapshotMeta;
use crate::config::KeepPolicy;
use crate::error::{AppendError, ReadError, SnapshotError};
use crate::journal::Journal;
use crate::snapshot::{
    SNAPSHOT_DIRECTORY, SNAPSHOT_TEMPORARY, SnapshotReader, SnapshotWriter, snapshot_path,
};
use crate::state::{LAST_INDEX_MAX, LOG, Reset};
use alloc::string::ToString;
use alloc::vec::Vec;
use base::LogIndex;
use storage_disk::{Disk, DiskError};
use storage_wal::{Class, Fault, OpenError, record_bytes_max};

impl<D: Disk> Journal<D> {
    /// Begins to write a snapshot: one of this member's own tree, or one that comes from a peer. One that was begun
    /// before is abandoned.
    pub fn snapshot_begin(&mut self) -> Result<(), SnapshotError> {
        self.snapshot_abandon()?;
        let created = SnapshotWriter::create(self.wal.disk());
        self.snapshot = Some(self.snapshot_outcome(created)?);
        Ok(())
    }

    /// Appends content to the snapshot. How it is cut into chunks is kept.
    pub fn snapshot_chunk(&mut self, content: &[u8]) -> Result<(), SnapshotError> {
        self.wal.check()?;
        let mut writer = self.snapshot.take().ok_or(SnapshotError::NotBegun)?;
        let written = writer.chunk(self.wal.disk(), content);
        self.snapshot_outcome(written)?;
        self.stats.snapshot_bytes_written += content.len() as u64;
        writer.write_back(self.wal.disk(), u64::from(self.config.snapshot_writeback_bytes));
        self.snapshot = Some(writer);
        Ok(())
    }

    /// Completes the snapshot and makes it durable under its name.
    ///
    /// If the log does not hold the entry that the snapshot ends with, the snapshot comes from a peer and replaces
    /// the log: the log is empty afterwards and goes on behind the snapshot, and `meta.membership` is the membership.
    pub fn snapshot_finish(&mut self, meta: SnapshotMeta) -> Result<(), SnapshotError> {
        self.wal.check()?;
        let writer = self.snapshot.take().ok_or(SnapshotError::NotBegun)?;
        let newest = self.catalog.newest().map_or(LogIndex::ZERO, |newest| newest.index);
        if meta.index <= newest || meta.index > LAST_INDEX_MAX {
            self.remove_temporary()?;
            return Err(SnapshotError::Stale { index: meta.index, newest });
        }
        let closed = writer.close(self.wal.disk(), &meta);
        self.snapshot_outcome(closed)?;
        let replaces = !self.state.follows(&meta);
        if replaces {
            // Whether the record that empties the log finds a place must be known before the snapshot has its name.
            let bytes = record_bytes_max(Reset::of(&meta).bytes_max());
            match self.wal.group(bytes, Class::Reserved, &self.state).map(drop) {
                Ok(()) => (),
                Err(storage_wal::AppendError::Fault(fault)) => return Err(fault.into()),
                Err(_) => {
                    self.remove_temporary()?;
                    return Err(SnapshotError::Full);
                }
            }
        }
        let path = snapshot_path(meta.index);
        let renamed = self.wal.disk().rename(SNAPSHOT_TEMPORARY, &path);
        self.wal.note(renamed, "rename", || path)?;
        let synced = self.wal.disk().sync_directory(SNAPSHOT_DIRECTORY);
        self.wal.note(synced, "flush", || SNAPSHOT_DIRECTORY.to_string())?;
        self.catalog.put(meta.clone());
        if replaces {
            self.empty_log(&meta)?;
        }
        Ok(())
    }

    /// Gives up the snapshot that was begun, if one was.
    pub fn snapshot_abandon(&mut self) -> Result<(), SnapshotError> {
        self.wal.check()?;
        match self.snapshot.take() {
            Some(_) => Ok(self.remove_temporary()?),
            None => Ok(()),
        }
    }

    /// Opens the newest snapshot for reading; nothing if there is none.
    pub fn open_snapshot(&mut self) -> Result<Option<SnapshotReader<D::File>>, ReadError> {
        let Some(index) = self.catalog.newest().map(|meta| meta.index) else { return Ok(None) };
        SnapshotReader::open(self.wal.disk(), index).map(Some).map_err(|error| read_error(error, index))
    }

    /// The next chunk of a snapshot, as it was given to [`snapshot_chunk`](Journal::snapshot_chunk) (very long ones
    /// come in several); nothing at the end.
    pub fn read_snapshot(
        &mut self,
        reader: &mut SnapshotReader<D::File>,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let index = reader.meta().index;
        reader.next(self.wal.disk()).map_err(|error| read_error(error, index))
    }

    /// Drops snapshots and segments that are not needed under this policy. Files of dropped segments are used again
    /// for the next ones. Never drops the newest good snapshot, nor an entry behind it.
    pub fn compact(&mut self, keep: KeepPolicy) -> Result<(), Fault> {
        self.wal.check()?;
        for index in self.catalog.purge(keep.snapshots, self.state.reset_index) {
            let path = snapshot_path(index);
            let removed = self.wal.disk().remove(&path);
            self.wal.note(removed, "remove", || path)?;
        }
        let newest = self.catalog.newest().map_or(LogIndex::ZERO, |meta| meta.index);
        let floor = self.catalog.oldest_index().min(newest.minus(keep.entries));
        self.wal.retain_from(LOG, self.state.needed_from(floor));
        self.wal.recycle()?;
        self.state.drop_before(self.wal.first_sequence());
        Ok(())
    }

    /// The log is replaced by a snapshot that is durable already.
    pub(crate) fn empty_log(&mut self, meta: &SnapshotMeta) -> Result<(), Fault> {
        let reset = Reset::of(meta);
        let bytes_max = reset.bytes_max();
        let emptied = self.wal.group(record_bytes_max(bytes_max), Class::Reserved, &self.state);
        let position = match emptied {
            Ok(mut group) => group.append(LOG, bytes_max, &self.state, |out| reset.encode(out))?,
            Err(error) => {
                let path = snapshot_path(meta.index);
                let fault = match AppendError::from(error) {
                    AppendError::Fault(fault) => fault,
                    _ => Fault::new(&path, "make room behind", DiskError::Full),
                };
                return self.wal.poison_by(Err(fault));
            }
        };
        self.state.reset(&reset, position);
        let flushed = self.wal.flush();
        self.wal.poison_by(flushed)
    }

    /// A full disk ends the snapshot and nothing else; any other failure poisons the journal.
    fn snapshot_outcome<T>(&mut self, outcome: Result<T, Fault>) -> Result<T, SnapshotError> {
        match outcome {
            Err(fault) if fault.error.is_shortage() => {
                self.remove_temporary()?;
                Err(SnapshotError::Full)
            }
            other => Ok(self.wal.poison_by(other)?),
        }
    }

    fn remove_temporary(&mut self) -> Result<(), Fault> {
        match self.wal.disk().remove(SNAPSHOT_TEMPORARY) {
            Err(DiskError::NotFound) => Ok(()),
            other => self.wal.note(other, "remove", || SNAPSHOT_TEMPORARY.to_string()),
        }
    }
}

fn read_error(error: OpenError, index: LogIndex) -> ReadError {
    match error {
        OpenError::Corrupt(corruption) => ReadError::Corrupt(corruption),
        OpenError::Disk(fault) => ReadError::Fault(fault),
        other => {
            let error = DiskError::Other(other.to_string());
            ReadError::Fault(Fault { file: snapshot_path(index), operation: "read", error })
        }
    }
}
