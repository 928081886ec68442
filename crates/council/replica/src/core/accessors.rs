//! What a core tells its driver of itself, at any time and without changing anything.

use consensus_raft::{LogIndex, Term};
use council_tree::Roster;
use council_wire::{SessionId, Zxid};

use super::Core;
use crate::founding::Cluster;
use crate::{CoreStatus, Denials, Refusal, SessionEnd, Tenure};

impl Core {
    /// Whether this member serves clients: it has applied all that was acknowledged before the present term, and was
    /// not removed.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.lease.serves() && !self.is_leaving()
    }

    /// Whether this member was removed in this incarnation, and parts from its clients or has done so.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        self.view.membership.is_leaving()
    }

    /// The members that are to be, as far as this member knows.
    #[must_use]
    pub const fn roster(&self) -> Option<&Roster> {
        self.view.membership.roster()
    }

    /// Counts how often they have changed, so that a driver need not compare them.
    #[must_use]
    pub const fn roster_changes(&self) -> u64 {
        self.view.membership.roster_changes()
    }

    /// Members that lately said that this one was replaced.
    #[must_use]
    pub fn denials(&self) -> Denials {
        self.view.membership.denials(self.view.now)
    }

    /// Until when clients may be answered; a driver looks at its clock before it takes what clients send.
    #[must_use]
    pub fn lease_until_ms(&self) -> u64 {
        self.lease.until_ms(&self.view)
    }

    /// Takes the sessions that have ended while clients were served, and how many more there were than are told of.
    pub fn take_endings(&mut self) -> (Vec<SessionEnd>, u64) {
        self.out.take_session_ends()
    }

    /// Whether there are any.
    #[must_use]
    pub const fn has_endings(&self) -> bool {
        self.out.has_session_ends()
    }

    /// Takes what was refused of other members' messages since the last time, by sender and reason.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.out.take_refusals()
    }

    /// This member's id.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.view.config.member
    }

    /// Who leads, as far as is known here.
    #[must_use]
    pub fn leader(&self) -> Option<u64> {
        self.raft.leader().map(|leader| leader.0)
    }

    /// The engine's term.
    #[must_use]
    pub fn term(&self) -> Term {
        self.raft.term()
    }

    /// The index of the last entry applied.
    #[must_use]
    pub const fn applied_index(&self) -> LogIndex {
        self.applier.index()
    }

    /// Who votes and who learns.
    #[must_use]
    pub const fn membership(&self) -> &consensus_raft::Membership {
        self.view.members()
    }

    /// What is committed and not wholly applied here, in order: for readers of the log.
    pub fn committed(&self) -> impl Iterator<Item = &consensus_raft::Entry> {
        self.applier.committed()
    }

    /// The term in which this member leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<Term> {
        let leads = self.raft.role() == consensus_raft::Role::Leader && self.leader() == Some(self.id());
        leads.then(|| self.raft.term())
    }

    /// How often here a lead was won, the tree was replaced, a session was taken up too late and one condemned.
    #[must_use]
    pub const fn counts(&self) -> [u64; 4] {
        let sessions = self.sessions.counts();
        let replaced = self.snapshots.received.trees_replaced();
        [self.leadership.won(), replaced, sessions.attach_races, sessions.condemned]
    }

    /// Whether this member's seat is still its own. If not, this core is of no more use.
    #[must_use]
    pub const fn tenure(&self) -> Tenure {
        self.view.membership.tenure()
    }

    /// The ensemble that this member belongs to.
    #[must_use]
    pub const fn cluster(&self) -> Cluster {
        self.view.config.cluster
    }

    /// For how long this member's disk has held up what the others' have done, milliseconds.
    #[must_use]
    pub const fn disk_stalled_ms(&self) -> u64 {
        self.disk_watch.stalled_ms()
    }

    /// See [`CoreStatus::lacks_index`].
    #[must_use]
    pub fn lacks(&self) -> LogIndex {
        self.raft.lacks().unwrap_or_default()
    }

    /// The other members.
    #[must_use]
    pub fn peers(&self) -> Vec<u64> {
        self.view.members().others(self.view.config.member)
    }

    /// Whether the next command was put off because it takes a whole turn: who was told something is to have read it first.
    #[must_use]
    pub const fn puts_off(&self) -> bool {
        self.applier.puts_off()
    }

    /// A picture of this core.
    #[must_use]
    pub fn status(&self) -> CoreStatus {
        let (proposed, sessions) = (self.proposer.counts(), self.sessions.counts());
        let mut status = CoreStatus {
            last_zxid: self.last_zxid,
            term: self.raft.term(),
            serving: self.lease.serves(),
            leading: self.leadership.leads(),
            leader: self.raft.leader().map_or(0, |leader| leader.0),
            membership: self.view.members().clone(),
            lease_until_ms: self.lease_until_ms(),
            progress: self.raft.progress(),
            pending_bytes: self.proposer.pending_bytes(),
            sessions: self.sessions.count(),
            attached: self.sessions.held_here(),
            waiting: self.proposer.waiting(),
            entries: proposed.entries,
            commands: proposed.commands,
            command_bytes: proposed.command_bytes,
            condemned: sessions.condemned,
            expired: sessions.expired,
            attach_races: sessions.attach_races,
            forgiven_ms: sessions.forgiven_ms,
            tenure: self.tenure(),
            refused_messages: self.out.refused_messages(),
            lacks_index: self.lacks(),
            reigns: self.leadership.won(),
            trees_replaced: self.snapshots.received.trees_replaced(),
            disk_stalled_ms: self.disk_stalled_ms(),
            handed_over: self.leadership.transfers(),
            snapshotting: self.snapshots.own.is_scanning(),
            last_snapshot: self.snapshots.own.last(),
            writable: self.proposer.is_writable(),
            ..CoreStatus::default()
        };
        self.applier.report(&mut status);
        status
    }

    /// The tree's digest right behind every 128th of the latest transactions, oldest first.
    pub fn digests(&self) -> impl Iterator<Item = (Zxid, u64)> {
        self.divergence.digests()
    }

    /// When each session would expire, milliseconds on the monotonic clock.
    #[must_use]
    pub fn session_deadlines(&self) -> Vec<(u64, SessionId)> {
        self.sessions.deadlines()
    }
}
