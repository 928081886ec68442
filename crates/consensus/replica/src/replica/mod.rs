//! One member of a group: components that each keep their own state, and what carries an event from one to the next.
//!
//! A component is given what it works on: what this member knows of the group ([`crate::View`]), the engine, and the
//! output, through which alone it speaks. No component sees another's fields, and none sees the replica.

mod accessors;
mod apply;
mod journal_events;
mod peer_messages;
mod post;
#[cfg(test)]
mod tests;
mod tick;
mod turn;

use base::{MonoTime, Now};
use consensus_raft::{LogIndex, MemberId, Message};

use crate::ReplicaConfig;
use crate::append_throttle::AppendThrottle;
use crate::deferred_appends::DeferredAppends;
use crate::disk_watch::DiskWatch;
use crate::divergence::Divergence;
use crate::group::Group;
use crate::journal::JournalRequest;
use crate::leadership::FastElection;
use crate::log_retention::LogRetention;
use crate::membership::WantedMembers;
use crate::peer_message::PeerMessage;
use crate::snapshot::Snapshots;
use crate::start::Seat;
use crate::state_machine::{GroupOf, StateMachine};
use crate::withdrawal::Withdrawal;

/// See the module.
pub struct Replica<M: StateMachine> {
    group: GroupOf<M>,
    machine: M,
    fast_election: FastElection,
    snapshots: Snapshots<M>,
    log_retention: LogRetention,
    append_throttle: AppendThrottle<Message>,
    deferred_appends: DeferredAppends,
    divergence: Divergence,
    withdrawal: Withdrawal,
    disk_watch: DiskWatch,
    /// When the engine was told last that time had passed.
    ticked: MonoTime,
}

impl<M: StateMachine> Replica<M> {
    /// Takes the member's seat. `state` is the one that came with it; the rest of the log is applied as it commits.
    /// `wanted` are the members that are to be; nothing where they are not changed.
    #[must_use]
    pub fn new(
        config: ReplicaConfig,
        seat: &Seat,
        state: &M::State,
        machine: M,
        wanted: Option<WantedMembers>,
        raft_seed: u64,
        now: Now,
    ) -> Self {
        let covered = seat.snapshot.as_ref().map_or(LogIndex::ZERO, |snapshot| snapshot.index);
        let mut snapshots = Snapshots::new(&config, covered, state);
        snapshots.own.grown(seat.log_bytes, seat.commands);
        Self {
            group: Group::new(config, seat, wanted, raft_seed, now),
            machine,
            fast_election: FastElection::default(),
            snapshots,
            log_retention: LogRetention::default(),
            append_throttle: AppendThrottle::default(),
            deferred_appends: DeferredAppends::default(),
            divergence: Divergence::default(),
            withdrawal: Withdrawal::default(),
            disk_watch: DiskWatch::default(),
            ticked: now.mono(),
        }
    }

    /// The machine, and what it is lent: for a driver that has something to tell it.
    pub const fn machine(&mut self) -> (&mut M, &mut GroupOf<M>) {
        (&mut self.machine, &mut self.group)
    }

    /// The machine, to look at.
    pub const fn look(&self) -> &M {
        &self.machine
    }

    /// The group, to look at.
    pub const fn group(&self) -> &GroupOf<M> {
        &self.group
    }

    /// Takes what the journal is to do, in order.
    pub fn take_requests(&mut self) -> Vec<JournalRequest> {
        self.group.out.take_requests()
    }

    /// Takes what is to be sent to other members, in order for each.
    pub fn take_outgoing(&mut self) -> Vec<(MemberId, PeerMessage<M::Message>)> {
        self.group.out.take_outgoing()
    }

    /// Begins a snapshot at the next chance, unless all that is applied is in one already.
    pub fn request_snapshot(&mut self) {
        self.snapshots.own.ask(self.group.applier.index());
    }

    /// Begins a snapshot at the next chance that holds everything of which anybody can have been told, unless there is one. Gives
    /// the last entry that it must cover: that of which some commands are applied is taken in as a whole.
    pub fn request_whole_snapshot(&mut self) -> LogIndex {
        let applier = &self.group.applier;
        let index = if applier.is_between_entries() { applier.index() } else { applier.index().next() };
        self.snapshots.own.ask(index);
        index
    }

    /// This member is about to stop: another should lead.
    pub fn step_aside(&mut self) {
        let Group { leadership, raft, view, .. } = &mut self.group;
        leadership.transfer(raft, view, |_| true);
    }

    /// The present leader is given again what is under way: it may be lost.
    fn give_again(&mut self) {
        self.machine.give_again(self.group.view.now);
        self.group.read_index.again();
    }

    /// Serves clients if this member may and has caught up; otherwise sees to it that it catches up.
    fn start_serving(&mut self) {
        if self.group.lease.serves() {
            return;
        }
        let may_serve = self.may_serve();
        let Group { lease, leadership, raft, view, read_index, .. } = &mut self.group;
        if lease.start(may_serve, leadership, raft, view, read_index) {
            self.machine.serving(true);
        }
    }

    fn stop_serving(&mut self) {
        if self.group.lease.stop() {
            self.machine.serving(false);
        }
    }

    fn may_serve(&self) -> bool {
        let view = &self.group.view;
        !self.disk_watch.is_stalled(self.lacks_applied(), view)
            && view.now.mono() <= self.group.lease.until(view)
    }

    /// Whether more is committed than is applied here.
    fn lacks_applied(&self) -> bool {
        self.group.raft.committed() > self.group.applier.index()
    }
}
