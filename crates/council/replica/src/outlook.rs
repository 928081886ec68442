//! What a core tells its driver of itself, at any time and without changing anything.

use council_wire::{SessionId, Zxid};

use crate::core::Core;
use crate::founding::Cluster;
use crate::{CoreStatus, SessionEnd, Tenure};

impl Core {
    /// Whether this member serves clients: it has applied all that was acknowledged before the present term, and was
    /// not removed.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.status.serving && !self.is_leaving()
    }

    /// Takes the sessions that have ended while clients were served, and how many more there were than are told of.
    pub fn take_endings(&mut self) -> (Vec<SessionEnd>, u64) {
        (core::mem::take(&mut self.endings), core::mem::take(&mut self.endings_untold))
    }

    /// Whether there are any.
    #[must_use]
    pub const fn has_endings(&self) -> bool {
        !self.endings.is_empty()
    }

    /// This member's id.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.config.member
    }

    /// Who leads, as far as is known here.
    #[must_use]
    pub fn leader(&self) -> Option<u64> {
        self.raft.leader().map(|leader| leader.0)
    }

    /// The engine's term.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.raft.term()
    }

    /// The index of the last entry applied.
    #[must_use]
    pub const fn applied_index(&self) -> u64 {
        self.applied_index
    }

    /// Who votes and who learns.
    #[must_use]
    pub const fn membership(&self) -> &consensus_raft::Membership {
        &self.membership
    }

    /// What is committed and not wholly applied here, in order: for readers of the log.
    pub fn committed(&self) -> impl Iterator<Item = &consensus_raft::Entry> {
        self.committed.iter()
    }

    /// The term in which this member leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<u64> {
        let leads = self.raft.role() == consensus_raft::Role::Leader && self.leader() == Some(self.id());
        leads.then(|| self.raft.term())
    }

    /// How often here a lead was won, the tree was replaced, a session was taken up too late and one condemned.
    #[must_use]
    pub const fn counts(&self) -> [u64; 4] {
        let status = &self.status;
        [status.reigns, status.trees_replaced, status.attach_races, status.condemned]
    }

    /// Whether this member's seat is still its own. If not, this core is of no more use.
    #[must_use]
    pub const fn tenure(&self) -> Tenure {
        self.status.tenure
    }

    /// The ensemble that this member belongs to.
    #[must_use]
    pub const fn cluster(&self) -> Cluster {
        self.config.cluster
    }

    /// For how long this member's disk has held up what the others' have done, milliseconds.
    #[must_use]
    pub const fn disk_stalled_ms(&self) -> u64 {
        self.status.disk_stalled_ms
    }

    /// See [`CoreStatus::lacks_index`].
    #[must_use]
    pub fn lacks(&self) -> u64 {
        self.raft.lacks().unwrap_or(0)
    }

    /// The other members.
    #[must_use]
    pub fn peers(&self) -> Vec<u64> {
        self.membership.others(self.config.member)
    }

    /// Whether the next command was put off because it takes a whole turn: who was told something is to have read it first.
    #[must_use]
    pub const fn puts_off(&self) -> bool {
        self.puts_off
    }

    /// A picture of this core.
    #[must_use]
    pub fn status(&self) -> CoreStatus {
        CoreStatus {
            term: self.raft.term(),
            leader: self.raft.leader().map_or(0, |leader| leader.0),
            membership: self.membership.clone(),
            lease_until_ms: self.lease_until_ms(),
            progress: self.raft.progress(),
            pending_bytes: self.proposals.pending_bytes(),
            sessions: self.expiry.len(),
            attached: self.attachments.len(),
            applied_index: self.applied_index,
            between_entries: self.entry_offset == 0,
            waiting: self.proposals.waiting(),
            snapshotting: self.snapshotter.is_scanning(),
            last_snapshot: self.snapshotter.last(),
            lacks_index: self.lacks(),
            ..self.status.clone()
        }
    }

    /// The tree's digest right behind every 128th of the latest transactions, oldest first.
    pub fn digests(&self) -> impl Iterator<Item = (Zxid, u64)> {
        self.digests.iter()
    }

    /// When each session would expire, milliseconds on the monotonic clock.
    #[must_use]
    pub fn session_deadlines(&self) -> Vec<(u64, SessionId)> {
        self.expiry.deadlines()
    }
}
