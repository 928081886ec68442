//! What is committed goes to the machine, which applies it to the state.
//!
//! All of it happens while the driver lends the state for writing; what a reader must know of a transaction the machine
//! has said before anyone can read the state that the transaction made.

use base::Now;
use consensus_raft::{Entry, EntryKind, Malformed, Membership, Role};
use storage_raft_log::SnapshotMeta;

use super::Replica;
use crate::entry_commands::EntryCommands;
use crate::feature_level::check_level;
use crate::journal::{JournalRequest, SMALL_BYTES};
use crate::read_index::Waiter;
use crate::snapshot::Received;
use crate::state_machine::StateMachine;
use crate::{Fault, convert};

impl<M: StateMachine> Replica<M> {
    /// Applies committed commands up to a bound, and takes a step of a snapshot that is under way. Call it while
    /// [`Replica::has_work`], and unlock the state between calls. Gives a state that was replaced as a whole, to be
    /// dropped while no reader waits.
    ///
    /// # Errors
    /// [`Fault`] when the log holds what this build cannot read, the state has rotted, or is another than a majority's: this member
    /// must stop.
    pub fn apply(&mut self, state: &mut M::State, now: Now) -> Result<Option<M::State>, Fault> {
        self.group.view.now = now;
        if let Some(fault) = self.withdrawal.due(M::PARTING_MS, &self.group.view) {
            return Err(fault.clone());
        }
        if self.withdrawal.is_begun() {
            return Ok(None);
        }
        let replaced = self.replace(state);
        self.machine.begin_turn(state, &mut self.group);
        self.apply_some(state)?;
        check_level(M::feature_level(state), self.group.view.config.feature_level)?;
        self.machine.end_turn(state, now);
        self.start_serving();
        self.free_waiters(state);
        if self.snapshots.is_due(self.group.applier.is_between_entries()) {
            self.snapshots.own.begin(self.snapshot_meta(M::position(state), now), now.mono());
            M::snapshot_begin(state);
            self.group.out.ask_journal(JournalRequest::SnapshotBegin);
        }
        if self.snapshots.own.wants_chunk(M::snapshot_side_bytes(state)) {
            self.snapshots.own.scan::<M>(state, &mut self.group.out)?;
        }
        Ok(replaced)
    }

    /// Whether there is something to apply or to scan, for which the driver must lend the state. `side_bytes`: see
    /// [`crate::ReplicatedState::snapshot_side_bytes`].
    #[must_use]
    pub fn has_work(&self, side_bytes: usize) -> bool {
        let applier = &self.group.applier;
        if self.withdrawal.is_begun() {
            return self.withdrawal.due(M::PARTING_MS, &self.group.view).is_some();
        }
        (applier.has_committed() && !self.machine.must_wait() && !self.snapshots.hold_entries(side_bytes))
            || self.machine.holds_up()
            || self.snapshots.own.wants_chunk(side_bytes)
            || self.snapshots.is_due(applier.is_between_entries())
            || self.group.read_index.is_due(applier.index())
            || self.snapshots.received.is_due()
    }

    /// Whether what is committed is so little that the journal may wait while it is applied.
    #[must_use]
    pub fn has_little_to_apply(&self) -> bool {
        self.group.applier.has_little_committed(SMALL_BYTES)
    }

    fn apply_some(&mut self, state: &mut M::State) -> Result<(), Fault> {
        self.group.applier.begin_turn();
        loop {
            let is_held_up = self.machine.holds_up()
                || self.machine.must_wait()
                || self.snapshots.hold_entries(M::snapshot_side_bytes(state));
            let Some(entry) = self.group.applier.next_entry(is_held_up) else { return Ok(()) };
            match entry.kind {
                EntryKind::Membership => self.apply_change(&entry)?,
                EntryKind::Normal if self.apply_commands(state, entry)? => {}
                EntryKind::Normal => return Ok(()),
            }
        }
    }

    /// A change of members. One that was removed is asked nothing any more, and gets no lease.
    fn apply_change(&mut self, entry: &Entry) -> Result<(), Fault> {
        let index = entry.index;
        let malformed = |Malformed(what)| Fault::MalformedEntry { index, what: String::from(what) };
        let next = self.group.raft.apply_change(entry).map_err(malformed)?;
        self.change_members(next);
        self.entry_applied(entry);
        if self.group.view.is_alone() && self.group.raft.role() == Role::Follower {
            // A member that is alone need not wait for a timeout; it could not before, with this change to be applied.
            self.group.raft.campaign();
        }
        let now = self.group.view.now;
        self.log_retention.change_applied(index, &self.snapshots, &mut self.group.raft, now);
        Ok(())
    }

    fn change_members(&mut self, next: Membership) {
        for peer in self.group.view.membership.change(next) {
            let until = self.group.serves_until(peer);
            self.group.view.peers.depart(peer, until);
            self.divergence.forget(peer);
        }
        self.machine.members_changed();
    }

    /// The commands of an entry, as far as this turn goes. Says whether that is all of it.
    fn apply_commands(&mut self, state: &mut M::State, entry: Entry) -> Result<bool, Fault> {
        let index = entry.index;
        let mut commands = EntryCommands::of(&entry, self.group.applier.entry_offset())?;
        let (stamp, mut count) = (commands.stamp(), 0);
        let mut offset = commands.offset();
        while !self.machine.holds_up()
            && !self.machine.must_wait()
            && self.group.applier.takes_command(|| commands.next_cost::<M>(state))
        {
            commands.prefetch::<M>(state);
            let Some(command) = commands.next_command()? else { break };
            let before = M::position(state);
            let malformed = |Malformed(what)| Fault::MalformedEntry { index, what: String::from(what) };
            let cost = self.machine.apply(state, stamp, command, &mut self.group).map_err(malformed)?;
            if M::position(state) != before {
                self.divergence.applied(M::position(state), || M::digest(state));
            }
            self.group.applier.spend(cost);
            offset = commands.offset();
            count += 1;
        }
        self.machine.commands_applied(stamp, count, &self.group);
        if offset < entry.data.len() {
            self.snapshots.own.grown(0, count);
            self.group.applier.put_back(entry, (count > 0).then_some(offset));
            return Ok(false);
        }
        self.snapshots.own.grown(entry.data.len() as u64, count);
        self.entry_applied(&entry);
        Ok(true)
    }

    fn entry_applied(&mut self, entry: &Entry) {
        self.group.applier.finished(entry);
        self.group.raft.applied(entry.index);
        self.machine.entry_applied(entry.index);
        self.log_retention.applied(entry.index, &self.snapshots, &mut self.group.raft, &self.group.view);
    }

    /// Lets those go on whose read index everything applied has reached.
    fn free_waiters(&mut self, state: &M::State) {
        for waiter in self.group.read_index.applied(self.group.applier.index()) {
            match waiter {
                Waiter::Serve => self.caught_up(),
                Waiter::Machine(waiter) => self.machine.go_on(waiter, state, &mut self.group),
            }
        }
    }

    fn caught_up(&mut self) {
        let may_serve = self.may_serve();
        if self.group.lease.caught_up(may_serve, &self.group.view) {
            self.machine.serving(true);
        } else {
            self.start_serving();
        }
    }

    /// Puts the state that came in the place of the old one, which the caller is given to drop at leisure.
    fn replace(&mut self, state: &mut M::State) -> Option<M::State> {
        let Received { state: new, offer } = self.snapshots.received.take_due()?;
        let old = M::replace(state, new);
        self.group.applier.replaced(offer.index, offer.term);
        self.group.view.membership.replace(offer.membership);
        self.group.raft.applied(offer.index);
        self.group.lease.state_replaced();
        self.machine.state_replaced(state, &mut self.group);
        Some(old)
    }

    /// What a snapshot of everything applied so far is called.
    fn snapshot_meta(&self, position: i64, now: Now) -> SnapshotMeta {
        SnapshotMeta {
            index: self.group.applier.index(),
            term: self.group.applier.term(),
            membership: convert::membership(self.group.view.members()),
            position,
            digest: 0,
            created: now.wall,
        }
    }
}
