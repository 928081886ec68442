//! Taking in snapshots, giving them out, and dropping what they make superfluous.

use crate::batch::SnapshotMeta;
use crate::config::KeepPolicy;
use crate::disk::{Disk, DiskError};
use crate::error::{AppendError, Fault, OpenError, ReadError, SnapshotError};
use crate::journal::{Class, Journal};
use crate::record::{RecordKind, record_end};
use crate::replay::Reset;
use crate::reserve::Spare;
use crate::segment::{Closed, segment_path};
use crate::snapshot::{
    SNAPSHOT_DIRECTORY, SNAPSHOT_TEMPORARY, SnapshotReader, SnapshotWriter, snapshot_path,
};
use alloc::string::ToString;
use alloc::vec::Vec;

/// More than the record that empties the log takes, but for its membership.
const RESET_BYTES_MAX: u64 = 32;

impl<D: Disk> Journal<D> {
    /// Begins to write a snapshot: one of this member's own tree, or one that comes from a peer. One that was begun
    /// before is abandoned.
    pub fn snapshot_begin(&mut self) -> Result<(), SnapshotError> {
        self.snapshot_abandon()?;
        let created = SnapshotWriter::create(&mut self.disk);
        self.snapshot = Some(self.snapshot_outcome(created)?);
        Ok(())
    }

    /// Appends content to the snapshot. How it is cut into chunks is kept.
    pub fn snapshot_chunk(&mut self, content: &[u8]) -> Result<(), SnapshotError> {
        self.check()?;
        let mut writer = self.snapshot.take().ok_or(SnapshotError::NotBegun)?;
        let written = writer.chunk(&mut self.disk, content);
        self.snapshot_outcome(written)?;
        self.stats.snapshot_bytes_written += content.len() as u64;
        writer.write_back(&mut self.disk, u64::from(self.config.snapshot_writeback_bytes));
        self.snapshot = Some(writer);
        Ok(())
    }

    /// Completes the snapshot and makes it durable under its name.
    ///
    /// If the log does not hold the entry that the snapshot ends with, the snapshot comes from a peer and replaces
    /// the log: the log is empty afterwards and goes on behind the snapshot, and `meta.membership` is the membership.
    pub fn snapshot_finish(&mut self, meta: SnapshotMeta) -> Result<(), SnapshotError> {
        self.check()?;
        let writer = self.snapshot.take().ok_or(SnapshotError::NotBegun)?;
        let newest = self.shelf.newest().map_or(0, |newest| newest.index);
        if meta.index <= newest || meta.index >= u64::MAX - 1 {
            self.remove_temporary()?;
            return Err(SnapshotError::Stale { index: meta.index, newest });
        }
        let closed = writer.close(&mut self.disk, &meta);
        self.snapshot_outcome(closed)?;
        let replaces = !self.state.follows(&meta);
        if replaces {
            match self.make_room(reset_bytes_max(&meta), Class::Reserve) {
                Ok(()) => (),
                Err(AppendError::Fault(fault)) => return Err(fault.into()),
                Err(_) => {
                    self.remove_temporary()?;
                    return Err(SnapshotError::Full);
                }
            }
        }
        let path = snapshot_path(meta.index);
        let renamed = self.disk.rename(SNAPSHOT_TEMPORARY, &path);
        self.note(renamed, "rename", || path)?;
        let synced = self.disk.sync_directory(SNAPSHOT_DIRECTORY);
        self.note(synced, "flush", || SNAPSHOT_DIRECTORY.to_string())?;
        self.shelf.put(meta.clone());
        if replaces {
            self.empty_log(&meta)?;
        }
        Ok(())
    }

    /// Gives up the snapshot that was begun, if one was.
    pub fn snapshot_abandon(&mut self) -> Result<(), SnapshotError> {
        self.check()?;
        match self.snapshot.take() {
            Some(_) => Ok(self.remove_temporary()?),
            None => Ok(()),
        }
    }

    /// Opens the newest snapshot for reading; nothing if there is none.
    pub fn open_snapshot(&mut self) -> Result<Option<SnapshotReader<D::File>>, ReadError> {
        let Some(index) = self.shelf.newest().map(|meta| meta.index) else { return Ok(None) };
        SnapshotReader::open(&mut self.disk, index).map(Some).map_err(|error| read_error(error, index))
    }

    /// The next chunk of a snapshot, as it was given to [`snapshot_chunk`](Journal::snapshot_chunk) (very long ones
    /// come in several); nothing at the end.
    pub fn read_snapshot(
        &mut self,
        reader: &mut SnapshotReader<D::File>,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let index = reader.meta().index;
        reader.next(&mut self.disk).map_err(|error| read_error(error, index))
    }

    /// Drops snapshots and segments that are not needed under this policy. Files of dropped segments are used again
    /// for the next ones. Never drops the newest good snapshot, nor an entry behind it.
    pub fn compact(&mut self, keep: KeepPolicy) -> Result<(), Fault> {
        self.check()?;
        for index in self.shelf.purge(keep.snapshots, self.state.reset_index) {
            let path = snapshot_path(index);
            let removed = self.disk.remove(&path);
            self.note(removed, "remove", || path)?;
        }
        let newest = self.shelf.newest().map_or(0, |meta| meta.index);
        self.drop_segments(self.shelf.oldest_index().min(newest.saturating_sub(keep.entries)))?;
        if self.reserve.is_full() && !self.reserve.spares.is_empty() {
            self.try_reserve()?;
        }
        Ok(())
    }

    /// Drops segments whose entries all lie at or below `floor`.
    ///
    /// Only the first record of the segment behind it makes a segment superfluous, so that record must be flushed.
    fn drop_segments(&mut self, floor: u64) -> Result<(), Fault> {
        if self.tail.flushed == 0 {
            match self.flush() {
                Err(fault) if fault.error == DiskError::Full => return Ok(()),
                other => other?,
            }
        }
        loop {
            let current = (self.current.base_index, self.current.sequence);
            let following = self.closed.get(1).map(|next| (next.base_index, next.sequence));
            let (base_index, first_kept) = following.unwrap_or(current);
            if base_index > floor {
                break;
            }
            let Some(Closed { sequence, capacity, .. }) = self.closed.pop_front() else { break };
            self.state.index.drop_before(first_kept);
            self.spare_or_remove(sequence, capacity)?;
        }
        Ok(())
    }

    fn spare_or_remove(&mut self, sequence: u64, capacity: u64) -> Result<(), Fault> {
        let path = segment_path(sequence);
        let wanted = self.config.spare_segments_max.saturating_sub(usize::from(self.reserve.is_ready()));
        let fits = capacity == u64::from(self.config.segment_bytes);
        if fits && self.reserve.spares.len() < wanted {
            self.reserve.spares.push(Spare { path, capacity });
            return Ok(());
        }
        let removed = self.disk.remove(&path);
        self.note(removed, "remove", || path)
    }

    /// The log is replaced by a snapshot that is durable already.
    pub(crate) fn replace_log(&mut self, meta: &SnapshotMeta) -> Result<(), AppendError> {
        self.make_room(reset_bytes_max(meta), Class::Reserve)?;
        Ok(self.empty_log(meta)?)
    }

    /// The caller has made room for the record.
    fn empty_log(&mut self, meta: &SnapshotMeta) -> Result<(), Fault> {
        if self.current.end + reset_bytes_max(meta) > self.current.limit() {
            self.roll()?;
        }
        let reset = Reset { index: meta.index, term: meta.term, membership: meta.membership.clone() };
        self.state.reset(&reset);
        self.put(RecordKind::Reset, |out| reset.encode(out));
        let flushed = self.flush();
        self.poison_by(flushed)
    }

    /// A full disk ends the snapshot and nothing else; any other failure poisons the journal.
    fn snapshot_outcome<T>(&mut self, outcome: Result<T, Fault>) -> Result<T, SnapshotError> {
        match outcome {
            Err(fault) if fault.error.is_shortage() => {
                self.remove_temporary()?;
                Err(SnapshotError::Full)
            }
            other => Ok(self.poison_by(other)?),
        }
    }

    fn remove_temporary(&mut self) -> Result<(), Fault> {
        match self.disk.remove(SNAPSHOT_TEMPORARY) {
            Err(DiskError::NotFound) => Ok(()),
            other => self.note(other, "remove", || SNAPSHOT_TEMPORARY.to_string()),
        }
    }
}

fn reset_bytes_max(meta: &SnapshotMeta) -> u64 {
    let membership = crate::codec::membership_bytes_max(&meta.membership) as u64;
    record_end(0, RESET_BYTES_MAX + membership)
}

fn read_error(error: OpenError, index: u64) -> ReadError {
    match error {
        OpenError::Corrupt(corruption) => ReadError::Corrupt(corruption),
        OpenError::Disk(fault) => ReadError::Fault(fault),
        other => {
            let error = DiskError::Other(other.to_string());
            ReadError::Fault(Fault { file: snapshot_path(index), operation: "read", error })
        }
    }
}
