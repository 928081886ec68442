//! What is committed goes to the tree, to the sessions, to the shards' streams.
//!
//! All of it happens while the driver lends the tree for writing; what a shard must know of a transaction is in its
//! stream before anyone can read the tree that the transaction made.

use base::Now;
use consensus_raft::{Entry, EntryKind, Malformed, Membership, Role};
use council_frontend::FromCore;
use council_tree::{Command, DropReason, Operation, Origin, Outcome, Stamp, Tree};
use council_wire::SessionId;
use storage_raft_log::SnapshotMeta;

use super::Core;
use crate::commands::Commands;
use crate::feature_level::check_level;
use crate::proposals::weight_to_apply;
use crate::reconfiguration::sets_config_acl;
use crate::snapshot::Received;
use crate::{CoreEffect, Fault, convert};

/// Bytes of ordinary commands that are applied in the time of one step of the tree's work.
const BYTES_PER_STEP: usize = 4;

impl Core {
    /// Applies committed commands up to a bound, and takes a step of a snapshot that is under way. Call it while
    /// [`Core::has_work`], and unlock the tree between calls. Gives a tree that was replaced as a whole, to be dropped
    /// when nobody waits.
    ///
    /// # Errors
    /// [`Fault`] when the log holds what this build cannot read: this member must stop.
    pub fn apply(&mut self, tree: &mut Tree, now: Now) -> Result<Option<Tree>, Fault> {
        self.view.now = now;
        let replaced = self.replace(tree);
        let (reads, connections) = (self.applier.reads(), self.sessions.connections());
        reads.begin_turn();
        reads.answer_waiting(tree, connections, &mut self.proposer, &mut self.out);
        self.apply_some(tree, now)?;
        self.proposer.level_applied(check_level(tree, self.view.config.feature_level)?);
        self.proposer.settle(self.sessions.connections(), now);
        self.start_serving();
        self.free_waiters(tree);
        self.last_zxid = tree.last_zxid();
        if self.snapshots.is_due(self.applier.is_between_entries()) {
            self.snapshots.own.begin(self.snapshot_meta(tree.last_zxid().0, now), now.mono_ms());
            tree.snapshot_begin();
            self.out.ask_journal(CoreEffect::SnapshotBegin);
        }
        if self.snapshots.own.wants_chunk(tree.snapshot_side_bytes()) {
            self.snapshots.own.scan(tree, &mut self.out);
        }
        Ok(replaced)
    }

    /// Whether there is something to apply or to scan, for which the driver must lend the tree.
    #[must_use]
    pub fn has_work(&self, side_bytes: usize) -> bool {
        (self.applier.has_committed() && !self.snapshots.own.holds_writes(side_bytes))
            || self.applier.has_waiting_reads()
            || self.snapshots.own.wants_chunk(side_bytes)
            || self.snapshots.is_due(self.applier.is_between_entries())
            || self.read_index.is_due(self.applier.index())
            || self.snapshots.received.is_due()
    }

    fn apply_some(&mut self, tree: &mut Tree, now: Now) -> Result<(), Fault> {
        self.applier.begin_turn();
        while let Some(entry) =
            self.applier.next_entry(self.snapshots.own.holds_writes(tree.snapshot_side_bytes()))
        {
            let goes_on = match entry.kind {
                EntryKind::Membership => self.apply_change(&entry).map(|()| true)?,
                EntryKind::Normal => self.apply_commands(tree, entry, now)?,
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// A change of members. One that was removed is asked nothing any more, and gets no lease.
    fn apply_change(&mut self, entry: &Entry) -> Result<(), Fault> {
        let index = entry.index;
        let malformed = |Malformed(what)| Fault::MalformedEntry { index, what: String::from(what) };
        let next = self.raft.apply_change(entry).map_err(malformed)?;
        self.change_members(next);
        self.entry_applied(entry);
        if self.view.is_alone() && self.raft.role() == Role::Follower {
            // A member that is alone need not wait for a timeout; it could not before, with this change to be applied.
            self.raft.campaign();
        }
        self.log_retention.change_applied(index, &self.snapshots, &mut self.raft, self.view.now);
        Ok(())
    }

    fn change_members(&mut self, next: Membership) {
        for peer in self.view.membership.change(next) {
            let until_ms = self.leadership.serves_until_ms(peer, &self.view);
            self.view.peers.depart(peer, until_ms);
            self.divergence.forget(peer);
        }
        self.sessions.members_changed();
    }

    /// The commands of an entry, as far as this turn goes. Says whether that is all of it.
    fn apply_commands(&mut self, tree: &mut Tree, entry: Entry, now: Now) -> Result<bool, Fault> {
        let mut commands = Commands::of(&entry, self.applier.entry_offset())?;
        let (stamp, mut count) = (commands.stamp(), 0);
        let mut offset = commands.offset();
        while self.applier.takes_command(|| commands.next_weight(tree)) {
            commands.reach_ahead(tree);
            let Some(command) = commands.next()? else { break };
            self.apply_one(tree, stamp, &command, now);
            let steps = usize::try_from(tree.take_work()).unwrap_or(usize::MAX);
            let weight = weight_to_apply(&command.operation, commands.offset() - offset);
            self.applier.spend(weight.saturating_add(steps.saturating_mul(BYTES_PER_STEP)));
            offset = commands.offset();
            count += 1;
        }
        if self.lease.serves() {
            self.applier.metrics().propagated(stamp.time_ms, now.wall_ms, count);
        }
        if offset < entry.data.len() {
            self.snapshots.own.grown(0, count);
            self.applier.put_back(entry, (count > 0).then_some(offset));
            return Ok(false);
        }
        self.snapshots.own.grown(entry.data.len() as u64, count);
        self.entry_applied(&entry);
        Ok(true)
    }

    fn entry_applied(&mut self, entry: &Entry) {
        self.applier.finished(entry);
        self.raft.applied(entry.index);
        self.proposer.entry_applied(entry.index);
        self.log_retention.applied(entry.index, &self.snapshots, &mut self.raft, &self.view);
    }

    fn apply_one(&mut self, tree: &mut Tree, stamp: Stamp, command: &Command<'_>, now: Now) {
        let changes = self.applier.changes();
        changes.clear();
        let before = tree.last_zxid();
        let outcome = tree.apply(stamp, command, changes);
        self.applier.metrics().refused(command, &outcome);
        if tree.last_zxid() != before {
            self.divergence.applied(tree.last_zxid(), || tree.digest());
        }
        if let Some(changes) = self.applier.take_changes() {
            self.out.tell_changes(&changes);
        }
        match outcome {
            Outcome::Reconfigured { .. } | Outcome::ConfigSet => self.read_roster(tree),
            Outcome::AclSet { .. } if sets_config_acl(&command.operation) => {
                self.view.membership.read_config_acl(tree);
            }
            _ => {}
        }
        match command.origin {
            Some(origin) => {
                let last = command.last_sequence().unwrap_or(origin.sequence);
                self.answer(tree, origin, last, outcome);
            }
            None => self.conclude(tree, &command.operation, &outcome, now),
        }
    }

    /// The outcome of a client's command, or of all up to `last`, then the reads that waited for it.
    fn answer(&mut self, tree: &Tree, origin: Origin, last: u64, outcome: Outcome) {
        let Origin { session, generation, sequence } = origin;
        let closed = outcome == Outcome::SessionClosed;
        if let Outcome::Dropped(reason) = outcome {
            self.applier.metrics().dropped();
            match reason {
                // Its first coming was answered.
                DropReason::Duplicate => return,
                // What should have come before it was lost on the way to the leader.
                DropReason::Gap => {
                    let held = self.sessions.connections().held(session);
                    if held.is_some_and(|held| held.generation() == generation) {
                        self.give_again();
                    }
                    return;
                }
                DropReason::UnknownSession | DropReason::OldGeneration => {}
            }
        } else {
            self.proposer.command_applied(Origin { sequence: last, ..origin });
        }
        if let Some(held) = self.sessions.connections().held(session)
            && held.generation() == generation
        {
            let (conn, zxid) = (held.conn(), tree.last_zxid());
            let stream = self.out.stream(held.shard());
            // Of those that are refused as one, some may have been answered.
            for sequence in sequence.max(held.applied().saturating_add(1))..last {
                stream.push(FromCore::Outcome { conn, sequence, zxid, outcome: outcome.clone() });
            }
            held.apply(last);
            stream.push(FromCore::Outcome { conn, sequence: last, zxid, outcome });
            self.answer_reads(session, tree);
        }
        if closed {
            self.end_session(session, false, tree);
        }
    }

    /// What the ensemble itself commanded.
    fn conclude(&mut self, tree: &Tree, operation: &Operation<'_>, outcome: &Outcome, now: Now) {
        match *operation {
            Operation::CreateSession { session, timeout_ms, password } => {
                let created = (session, timeout_ms, password);
                self.sessions.created(tree, created, outcome, now, &mut self.out);
            }
            Operation::Attach { session, generation, timeout_ms } => {
                let attached = (session, generation, timeout_ms);
                self.sessions.attached(tree, attached, outcome, now, &mut self.out);
            }
            Operation::Expire { session, .. } => self.expired(tree, session, outcome, now),
            Operation::RaiseEpoch => self.begin_term(tree, now),
            Operation::SetConfig { .. } => self.view.membership.config_settled(),
            _ => {}
        }
    }

    fn expired(&mut self, tree: &Tree, session: SessionId, outcome: &Outcome, now: Now) {
        if self.sessions.expired(tree, session, outcome, now) {
            self.end_session(session, true, tree);
        }
    }

    fn end_session(&mut self, session: SessionId, expired: bool, tree: &Tree) {
        self.proposer.session_ended(session);
        self.sessions.end(session, expired, tree.last_zxid(), self.lease.serves(), &mut self.out);
    }

    /// This leader's first transaction is applied. Each session gets its full timeout from now.
    fn begin_term(&mut self, tree: &Tree, now: Now) {
        if self.raft.role() != Role::Leader || self.applier.entry_term() != self.raft.term() {
            return;
        }
        if self.leadership.leads() {
            // Only an epoch was used up: its sessions have not been given more time by that.
            return;
        }
        self.leadership.begin(now.mono_ms());
        self.feature_level.term_began();
        self.propose_config(tree);
        // Before anything that clients say.
        self.raise_level(tree);
        self.sessions.term_began(tree, now);
    }

    /// Puts the tree that came in the place of the old one, which the caller is given to drop at leisure. Clients have
    /// to come again: what they missed is not in any stream.
    fn replace(&mut self, tree: &mut Tree) -> Option<Tree> {
        let Received { tree: new, offer } = self.snapshots.received.take_due()?;
        let old = tree.replace(new);
        self.applier.replaced(offer.index, offer.term);
        self.view.membership.replace(offer.membership);
        self.raft.applied(offer.index);
        self.lease.tree_replaced();
        self.sessions.tree_replaced(tree, self.view.now);
        self.read_roster(tree);
        let zxid = tree.last_zxid();
        self.out.tell_shards(|| FromCore::TreeReplaced { zxid });
        Some(old)
    }

    /// What a snapshot of everything applied so far is called.
    fn snapshot_meta(&self, zxid: i64, now: Now) -> SnapshotMeta {
        SnapshotMeta {
            index: self.applier.index(),
            term: self.applier.term(),
            membership: convert::membership(self.view.members()),
            zxid,
            digest: 0,
            created_ms: now.wall_ms,
        }
    }
}
