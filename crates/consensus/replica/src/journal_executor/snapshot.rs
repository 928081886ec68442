//! Steps of snapshots: written chunk by chunk, saved or abandoned, and read for other members.

use consensus_raft::{LogIndex, MemberId};
use storage_raft_log::{Disk, Fault, SnapshotError, SnapshotMeta};

use super::{JournalExecutor, JournalNotice, JournalOutput};
use crate::journal::JournalEvent;

impl<D: Disk> JournalExecutor<D> {
    pub(super) fn snapshot_begin(&mut self, now_us: u64) -> Result<(), Fault> {
        self.snapshot_began_us = now_us;
        let begun = self.journal.snapshot_begin();
        self.snapshot_step(begun)?;
        Ok(())
    }

    /// Whether it was written.
    pub(super) fn snapshot_chunk(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let written = self.journal.snapshot_chunk(bytes);
        self.snapshot_step(written)
    }

    /// Whether the snapshot was saved; then what it makes superfluous is dropped.
    pub(super) fn snapshot_finish(&mut self, meta: SnapshotMeta) -> Result<bool, Fault> {
        let (index, position, began_us) = (meta.index, meta.position, self.snapshot_began_us);
        let finished = self.journal.snapshot_finish(meta);
        let saved = self.snapshot_step(finished)?;
        if saved {
            self.journal.compact(self.keep)?;
            self.emit(JournalEvent::SnapshotSaved { index });
            self.notify(JournalNotice::SnapshotSaved { index, position, began_us });
        }
        Ok(saved)
    }

    pub(super) fn snapshot_read(&mut self, peer: MemberId, index: LogIndex, first: u64) {
        let read = self.chunks.read(&mut self.journal, index, first).unwrap_or_else(|error| {
            self.outputs.push(JournalOutput::Notice(JournalNotice::SnapshotUnreadable { error }));
            None
        });
        self.emit(JournalEvent::SnapshotRead { peer, index, first, read });
    }

    /// Whether the step was done. If not, the snapshot is abandoned and the core told.
    fn snapshot_step(&mut self, step: Result<(), SnapshotError>) -> Result<bool, Fault> {
        let problem = match step {
            Ok(()) => return Ok(true),
            Err(SnapshotError::Fault(fault)) => return Err(fault),
            // What comes of a snapshot that was abandoned: the core was told.
            Err(SnapshotError::NotBegun) => return Ok(false),
            Err(problem) => problem,
        };
        match self.journal.snapshot_abandon() {
            Ok(()) | Err(SnapshotError::NotBegun | SnapshotError::Full | SnapshotError::Stale { .. }) => {}
            Err(SnapshotError::Fault(fault)) => return Err(fault),
        }
        let reason = problem.to_string();
        self.notify(JournalNotice::SnapshotFailed { problem });
        self.emit(JournalEvent::SnapshotFailed(reason));
        Ok(false)
    }
}
