//! What a replica tells its driver of itself, at any time and without changing anything.

use base::MonoTime;
use consensus_raft::{Entry, LogIndex, MemberId, Membership, Progress, Term};

use super::Replica;
use crate::founding::Cluster;
use crate::membership::{Denials, Tenure};
use crate::refusals::Refusal;
use crate::snapshot::LastSnapshot;
use crate::state_machine::StateMachine;

impl<M: StateMachine> Replica<M> {
    /// Whether this member serves clients: it has applied all that was acknowledged before the present term, and was
    /// not removed.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.group.is_serving()
    }

    /// Whether this member was removed in this incarnation, and parts from its clients or has done so.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        self.group.view.membership.is_leaving()
    }

    /// Members that lately said that this one was replaced.
    #[must_use]
    pub fn denials(&self) -> Denials {
        self.group.view.membership.denials(self.group.view.now)
    }

    /// Until when clients may be answered; a driver looks at its clock before it takes what clients send.
    #[must_use]
    pub fn lease_until(&self) -> MonoTime {
        self.group.lease.until(&self.group.view)
    }

    /// Takes what was refused of other members' messages since the last time, by sender and reason.
    pub fn take_refusals(&mut self) -> Vec<Refusal> {
        self.group.out.take_refusals()
    }

    /// How many messages of other members were refused since the start.
    #[must_use]
    pub const fn refused_messages(&self) -> u64 {
        self.group.out.refused_messages()
    }

    /// This member's id.
    #[must_use]
    pub const fn id(&self) -> MemberId {
        self.group.view.config.member
    }

    /// Who leads, as far as is known here.
    #[must_use]
    pub fn leader(&self) -> Option<MemberId> {
        self.group.raft.leader()
    }

    /// The engine's term.
    #[must_use]
    pub fn term(&self) -> Term {
        self.group.raft.term()
    }

    /// The index of the last entry applied.
    #[must_use]
    pub const fn applied_index(&self) -> LogIndex {
        self.group.applier.index()
    }

    /// Whether that entry is the last of which anything is applied: the next has not been begun.
    #[must_use]
    pub const fn is_between_entries(&self) -> bool {
        self.group.applier.is_between_entries()
    }

    /// Who votes and who learns.
    #[must_use]
    pub const fn membership(&self) -> &Membership {
        self.group.view.members()
    }

    /// How far the other members have come; known to a leader alone.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        self.group.raft.progress()
    }

    /// What is committed and not wholly applied here, in order: for readers of the log.
    pub fn committed(&self) -> impl Iterator<Item = &Entry> {
        self.group.applier.committed()
    }

    /// The term in which this member leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<Term> {
        let leads = self.group.is_leader() && self.leader() == Some(self.id());
        leads.then(|| self.group.raft.term())
    }

    /// Whether this member's seat is still its own. If not, this replica is of no more use.
    #[must_use]
    pub const fn tenure(&self) -> Tenure {
        self.group.view.membership.tenure()
    }

    /// The group that this member belongs to.
    #[must_use]
    pub const fn cluster(&self) -> Cluster {
        self.group.view.config.cluster
    }

    /// For how long this member's disk has held up what the others' have done, milliseconds.
    #[must_use]
    pub const fn disk_stalled_ms(&self) -> u64 {
        self.disk_watch.stalled_ms()
    }

    /// Up to which index a leader counts on this member's log while it is shorter; 0 for nothing. Its disk has lost what
    /// it had acknowledged, or that leader is wrong: this member gives no vote meanwhile.
    #[must_use]
    pub fn lacks(&self) -> LogIndex {
        self.group.raft.lacks().unwrap_or_default()
    }

    /// The other members.
    #[must_use]
    pub fn peers(&self) -> Vec<MemberId> {
        self.group.view.others()
    }

    /// Whether the next command was put off because it takes a whole turn: who was told something is to have read it first.
    #[must_use]
    pub const fn puts_off(&self) -> bool {
        self.group.applier.puts_off()
    }

    /// How often this member has taken the lead.
    #[must_use]
    pub const fn leads_won(&self) -> u64 {
        self.group.leadership.won()
    }

    /// How often this member has handed the lead to another.
    #[must_use]
    pub const fn leads_transferred(&self) -> u64 {
        self.group.leadership.transfers()
    }

    /// How often its state was replaced by another member's.
    #[must_use]
    pub const fn states_replaced(&self) -> u64 {
        self.snapshots.received.states_replaced()
    }

    /// Whether a snapshot is being scanned.
    #[must_use]
    pub const fn is_scanning(&self) -> bool {
        self.snapshots.own.is_scanning()
    }

    /// The last entry in the newest snapshot on this member's disk, its own or another member's; 0 if there is none.
    #[must_use]
    pub const fn durable_snapshot(&self) -> LogIndex {
        self.snapshots.durable()
    }

    /// The last snapshot that became durable in this life.
    #[must_use]
    pub const fn last_snapshot(&self) -> Option<LastSnapshot> {
        self.snapshots.own.last()
    }

    /// The state's digest right behind every 128th of the latest transactions, oldest first, with their numbers.
    pub fn digests(&self) -> impl Iterator<Item = (i64, u64)> {
        self.divergence.digests()
    }
}
