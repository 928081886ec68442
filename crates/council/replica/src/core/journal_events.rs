//! What the journal answers.

use base::Now;
use consensus_raft::MemberId;
use council_frontend::FromCore;
use storage_raft_log::Space;

use super::Core;
use crate::{Fault, JournalEvent};

impl Core {
    /// An answer of the journal.
    ///
    /// # Errors
    /// [`Fault`] when the answer shows that this member must stop.
    pub fn journal(&mut self, event: JournalEvent, now: Now) -> Result<(), Fault> {
        self.view.now = now;
        let (raft, view, out) = (&mut self.raft, &self.view, &mut self.out);
        match event {
            JournalEvent::Persisted { number } => {
                self.disk_watch.answered(number);
                raft.persisted(number);
            }
            JournalEvent::Room { after, bytes } => self.proposer.room(after, bytes),
            JournalEvent::SnapshotChunkWritten { .. } => self.snapshots.chunk_written(view, out),
            JournalEvent::SnapshotSaved { index } => self.snapshots.saved(index, raft, view, out),
            JournalEvent::SnapshotFailed(reason) => return self.snapshots.failed(&reason, out),
            JournalEvent::SnapshotRead { peer, index, first, read } => {
                self.snapshots.sent.read((MemberId(peer), index, first), read, raft, out);
            }
            JournalEvent::Space(space) => {
                let writable = matches!(space, Space::Plenty);
                if self.proposer.space(writable) {
                    out.tell_shards(|| FromCore::Writable(writable));
                }
            }
        }
        Ok(())
    }
}
