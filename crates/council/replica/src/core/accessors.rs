//! What a core tells its driver of itself, at any time and without changing anything.

use base::MonoTime;
use consensus_raft::{Entry, LogIndex, Membership, Term};
use consensus_replica::founding::Cluster;
use consensus_replica::{Denials, MemberId, Refusal, Tenure};
use council_tree::Roster;
use council_wire::{SessionId, Zxid};

use super::Core;
use crate::{CoreStatus, SessionEnd};

impl Core {
    /// Whether this member serves clients: it has applied all that was acknowledged before the present term, and was
    /// not removed.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.replica.is_serving()
    }

    /// Whether this member was removed in this incarnation, and parts from its clients or has done so.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        self.replica.is_leaving()
    }

    /// The members that are to be, as far as this member knows.
    #[must_use]
    pub const fn roster(&self) -> Option<&Roster> {
        self.replica.look().ensemble.roster()
    }

    /// Counts how often they have changed, so that a driver need not compare them.
    #[must_use]
    pub const fn roster_changes(&self) -> u64 {
        self.replica.look().ensemble.roster_changes()
    }

    /// Members that lately said that this one was replaced.
    #[must_use]
    pub fn denials(&self) -> Denials {
        self.replica.denials()
    }

    /// Until when clients may be answered; a driver looks at its clock before it takes what clients send.
    #[must_use]
    pub fn lease_until(&self) -> MonoTime {
        self.replica.lease_until()
    }

    /// Takes the sessions that have ended while clients were served, and how many more there were than are told of.
    pub fn take_endings(&mut self) -> (Vec<SessionEnd>, u64) {
        self.replica.machine().0.out.take_session_ends()
    }

    /// Whether there are any.
    #[must_use]
    pub const fn has_endings(&self) -> bool {
        self.replica.look().out.has_session_ends()
    }

    /// Takes what was refused of other members' messages since the last time, by sender and reason.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.replica.take_refusals()
    }

    /// This member's id.
    #[must_use]
    pub const fn id(&self) -> MemberId {
        self.replica.id()
    }

    /// Who leads, as far as is known here.
    #[must_use]
    pub fn leader(&self) -> Option<MemberId> {
        self.replica.leader()
    }

    /// The engine's term.
    #[must_use]
    pub fn term(&self) -> Term {
        self.replica.term()
    }

    /// The index of the last entry applied.
    #[must_use]
    pub const fn applied_index(&self) -> LogIndex {
        self.replica.applied_index()
    }

    /// Who votes and who learns.
    #[must_use]
    pub const fn membership(&self) -> &Membership {
        self.replica.membership()
    }

    /// What is committed and not wholly applied here, in order: for readers of the log.
    pub fn committed(&self) -> impl Iterator<Item = &Entry> {
        self.replica.committed()
    }

    /// The term in which this member leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<Term> {
        self.replica.leads_in()
    }

    /// How often here a lead was won, the tree was replaced, a session was taken up too late and one condemned.
    #[must_use]
    pub const fn counts(&self) -> [u64; 4] {
        let sessions = self.replica.look().sessions.counts();
        let replica = &self.replica;
        [replica.leads_won(), replica.states_replaced(), sessions.attach_races, sessions.condemned]
    }

    /// Whether this member's seat is still its own. If not, this core is of no more use.
    #[must_use]
    pub const fn tenure(&self) -> Tenure {
        self.replica.tenure()
    }

    /// The ensemble that this member belongs to.
    #[must_use]
    pub const fn cluster(&self) -> Cluster {
        self.replica.cluster()
    }

    /// For how long this member's disk has held up what the others' have done, milliseconds.
    #[must_use]
    pub const fn disk_stalled_ms(&self) -> u64 {
        self.replica.disk_stalled_ms()
    }

    /// See [`CoreStatus::lacks_index`].
    #[must_use]
    pub fn lacks(&self) -> LogIndex {
        self.replica.lacks()
    }

    /// The other members.
    #[must_use]
    pub fn peers(&self) -> Vec<MemberId> {
        self.replica.peers()
    }

    /// Whether the next command was put off because it takes a whole turn: who was told something is to have read it first.
    #[must_use]
    pub const fn puts_off(&self) -> bool {
        self.replica.puts_off()
    }

    /// A picture of this core.
    #[must_use]
    pub fn status(&self) -> CoreStatus {
        let (replica, machine) = (&self.replica, self.replica.look());
        let (proposed, sessions) = (machine.proposer.counts(), machine.sessions.counts());
        let mut status = CoreStatus {
            last_zxid: machine.last_zxid,
            term: replica.term(),
            serving: replica.group().serves(),
            leading: replica.group().leads(),
            leader: replica.leader(),
            membership: replica.membership().clone(),
            lease_until: replica.lease_until(),
            progress: replica.progress(),
            pending_bytes: machine.proposer.pending_bytes(),
            sessions: machine.sessions.count(),
            attached: machine.sessions.held_here(),
            applied_index: replica.applied_index(),
            between_entries: replica.is_between_entries(),
            waiting: machine.proposer.waiting(),
            entries: proposed.entries,
            commands: proposed.commands,
            command_bytes: proposed.command_bytes,
            condemned: sessions.condemned,
            expired: sessions.expired,
            attach_races: sessions.attach_races,
            forgiven_ms: sessions.forgiven_ms,
            tenure: replica.tenure(),
            refused_messages: replica.refused_messages(),
            lacks_index: replica.lacks(),
            leads_won: replica.leads_won(),
            trees_replaced: replica.states_replaced(),
            disk_stalled_ms: replica.disk_stalled_ms(),
            leads_transferred: replica.leads_transferred(),
            snapshotting: replica.is_scanning(),
            last_snapshot: replica.last_snapshot(),
            writable: machine.proposer.is_writable(),
            ..CoreStatus::default()
        };
        machine.metrics.report(&mut status);
        status
    }

    /// The tree's digest right behind every 128th of the latest transactions, oldest first.
    pub fn digests(&self) -> impl Iterator<Item = (Zxid, u64)> {
        self.replica.digests().map(|(position, digest)| (Zxid(position), digest))
    }

    /// When each session would expire.
    #[must_use]
    pub fn session_deadlines(&self) -> Vec<(MonoTime, SessionId)> {
        self.replica.look().sessions.deadlines()
    }
}
