//! What the journal answers.

use base::Now;
use storage_raft_log::Space;

use super::Replica;
use crate::Fault;
use crate::journal::JournalEvent;
use crate::state_machine::StateMachine;

impl<M: StateMachine> Replica<M> {
    /// An answer of the journal.
    ///
    /// # Errors
    /// [`Fault`] when the answer shows that this member must stop.
    pub fn journal(&mut self, event: JournalEvent, now: Now) -> Result<(), Fault> {
        self.group.view.now = now;
        let (raft, view, out) = (&mut self.group.raft, &self.group.view, &mut self.group.out);
        match event {
            JournalEvent::Persisted { number } => {
                self.disk_watch.answered(number);
                raft.persisted(number);
            }
            JournalEvent::Room { after, bytes } => self.machine.journal_room(after, bytes),
            JournalEvent::SnapshotChunkWritten { .. } => self.snapshots.chunk_written(view, out),
            JournalEvent::SnapshotSaved { index } => self.snapshots.saved(index, raft, view, out),
            JournalEvent::SnapshotFailed(reason) => return self.snapshots.failed(&reason, out),
            JournalEvent::SnapshotRead { peer, index, first, read } => {
                self.snapshots.sent.read((peer, index, first), read, raft, out);
            }
            JournalEvent::Space(space) => self.machine.disk_space(matches!(space, Space::Plenty)),
        }
        Ok(())
    }
}
