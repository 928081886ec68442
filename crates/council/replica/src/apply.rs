//! Applying what is committed: to the tree, to the sessions, to the shards' streams.
//!
//! All of it happens while the driver lends the tree for writing; what a shard must know of a transaction is in its
//! stream before anyone can read the tree that the transaction made.

use std::sync::Arc;

use consensus_raft::{Entry, EntryKind, Malformed, Role};
use council_frontend::{ConnectRefusal, FromCore};
use council_tree::{Change, Command, DropReason, Operation, Origin, Outcome, SnapshotProgress, Stamp, Tree};
use council_wire::{SessionId, Zxid};

use crate::attachment::FIRST_GENERATION;
use crate::commands::Commands;
use crate::core::{Core, Fault};
use crate::proposals::weight_to_apply;
use crate::reconfig::sets_config_acl;
use crate::{CoreEffect, Now, SessionEnd};

/// Bytes of replies to reads behind writes that are made before others are let in again. What is not made then is made
/// in the next turn, before any other command is applied: so each read shows the tree right behind its write.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// Bytes of ordinary commands that are applied in the time of one step of the tree's work.
const BYTES_PER_STEP: usize = 4;

/// Sessions that have ended and are kept to be told of; of more only the number is.
const ENDINGS_MAX: usize = 64;

impl Core {
    /// Applies committed commands up to a bound, and takes a step of a snapshot that is under way. Call it while
    /// [`Core::has_work`], and unlock the tree between calls. Gives a tree that was replaced as a whole, to be dropped
    /// when nobody waits.
    ///
    /// # Errors
    /// [`Fault`] when the log holds what this build cannot read: this member must stop.
    pub fn apply(&mut self, tree: &mut Tree, now: Now) -> Result<Option<Tree>, Fault> {
        self.now = now;
        let replaced = self.replace(tree);
        self.reply_bytes_left = REPLY_BYTES_MAX;
        self.answer_unread(tree);
        self.apply_some(tree, now)?;
        self.check_level(tree)?;
        self.settle();
        self.start_serving();
        self.free_waiters(tree);
        self.status.last_zxid = tree.last_zxid();
        if self.snapshotter.is_due() && self.may_snapshot() {
            self.snapshotter.begin(self.snapshot_meta(tree.last_zxid().0, now), now.mono_ms);
            tree.snapshot_begin();
            self.effects.push(CoreEffect::SnapshotBegin);
        }
        if self.snapshotter.wants_chunk(tree.snapshot_side_bytes()) {
            self.scan(tree);
        }
        Ok(replaced)
    }

    fn apply_some(&mut self, tree: &mut Tree, now: Now) -> Result<(), Fault> {
        let mut budget = self.config.apply_bytes_max;
        self.puts_off = false;
        while let Some(entry) = self.committed.pop_front() {
            let is_held_up = self.snapshotter.holds_writes(tree.snapshot_side_bytes());
            if is_held_up || budget == 0 || !self.unread.is_empty() {
                self.committed.push_front(entry);
                return Ok(());
            }
            self.applying_term = entry.term;
            if entry.kind == EntryKind::Membership {
                let unreadable = |Malformed(what)| Fault(format!("log entry {} holds {what}", entry.index));
                let next = self.raft.apply_change(&entry).map_err(unreadable)?;
                self.change_membership(next);
                self.applied_one(&entry);
                if self.is_alone() && self.raft.role() == Role::Follower {
                    // Whoever is alone need not wait for a timeout; it could not before, with this change to be applied.
                    self.raft.campaign();
                }
                self.forget_beginning(entry.index);
                continue;
            }
            let mut commands = Commands::of(&entry, self.entry_offset)?;
            let (stamp, mut count) = (commands.stamp(), 0);
            let mut offset = commands.offset();
            while budget > 0 && self.unread.is_empty() {
                if budget < self.config.apply_bytes_max && commands.next_weight(tree) > budget as u64 {
                    self.puts_off = true;
                    break;
                }
                commands.reach_ahead(tree);
                let Some(command) = commands.next()? else { break };
                self.apply_one(tree, stamp, &command, now);
                let steps = usize::try_from(tree.take_work()).unwrap_or(usize::MAX);
                let work = steps.saturating_mul(BYTES_PER_STEP);
                let weight = weight_to_apply(&command.operation, commands.offset() - offset);
                budget = budget.saturating_sub(weight).saturating_sub(work);
                offset = commands.offset();
                count += 1;
            }
            if self.status.serving {
                self.status.propagated(stamp.time_ms, now.wall_ms, count);
            }
            if offset < entry.data.len() {
                if count > 0 {
                    self.entry_offset = offset;
                }
                self.snapshotter.grown(0, count);
                self.committed.push_front(entry);
                return Ok(());
            }
            self.entry_offset = 0;
            self.snapshotter.grown(entry.data.len() as u64, count);
            self.applied_one(&entry);
        }
        Ok(())
    }

    fn applied_one(&mut self, entry: &Entry) {
        (self.applied_index, self.applied_term) = (entry.index, entry.term);
        self.raft.applied(entry.index);
        self.proposals.applied(entry.index);
        self.compact();
    }

    fn apply_one(&mut self, tree: &mut Tree, stamp: Stamp, command: &Command<'_>, now: Now) {
        self.changes.clear();
        let before = tree.last_zxid();
        let outcome = tree.apply(stamp, command, &mut self.changes);
        self.status.refused(command, &outcome);
        if tree.last_zxid() != before {
            self.digests.applied(tree.last_zxid(), || tree.digest());
        }
        if !self.changes.is_empty() {
            self.status.written(self.changes.as_slice());
            let changes: Arc<[Change]> = self.changes.drain().collect();
            self.tell_all(&changes);
        }
        match outcome {
            Outcome::Reconfigured { .. } | Outcome::ConfigSet => self.read_roster(tree),
            Outcome::AclSet { .. } if sets_config_acl(&command.operation) => self.read_config_acl(tree),
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
            self.status.dropped += 1;
            match reason {
                // Its first coming was answered.
                DropReason::Duplicate => return,
                // What should have come before it was lost on the way to the leader.
                DropReason::Gap => {
                    if self.attachments.held(session).is_some_and(|held| held.generation == generation) {
                        self.give_again();
                    }
                    return;
                }
                DropReason::UnknownSession | DropReason::OldGeneration => {}
            }
        } else {
            self.relays.applied(Origin { sequence: last, ..origin });
        }
        if let Some(held) = self.attachments.held(session)
            && held.generation == generation
        {
            let (conn, zxid) = (held.conn, tree.last_zxid());
            let stream = &mut self.streams[usize::from(held.shard)];
            // Of those that are refused as one, some may have been answered.
            for sequence in sequence.max(held.applied.saturating_add(1))..last {
                stream.push(FromCore::Outcome { conn, sequence, zxid, outcome: outcome.clone() });
            }
            held.applied = last;
            stream.push(FromCore::Outcome { conn, sequence: last, zxid, outcome });
            self.answer_reads(session, tree);
        }
        if closed {
            self.end_session(session, false, tree.last_zxid());
        }
    }

    /// What the ensemble itself commanded.
    fn conclude(&mut self, tree: &Tree, operation: &Operation<'_>, outcome: &Outcome, now: Now) {
        match *operation {
            Operation::CreateSession { session, timeout_ms, password } => {
                if *outcome == Outcome::SessionCreated {
                    self.begin_session(tree, session, timeout_ms, password, now);
                } else if let Some(arrival) = self.attachments.leave(session, FIRST_GENERATION) {
                    self.refuse(arrival.shard, arrival.conn, ConnectRefusal::Closing);
                }
            }
            Operation::Attach { session, generation, timeout_ms } => {
                if *outcome == Outcome::SessionAttached {
                    self.tell_shards(|| FromCore::Moved { session, generation });
                    let password = tree.session(session).map_or([0; 16], |known| known.password);
                    self.begin_session(tree, session, timeout_ms, password, now);
                } else if let Some(arrival) = self.attachments.leave(session, generation) {
                    let gone = tree.session(session).is_none();
                    self.status.attach_races += u64::from(!gone);
                    let reason = if gone { ConnectRefusal::Expired } else { ConnectRefusal::Closing };
                    self.refuse(arrival.shard, arrival.conn, reason);
                }
            }
            Operation::Expire { session, .. } => {
                if *outcome == Outcome::SessionExpired {
                    self.status.expired += 1;
                    self.end_session(session, true, tree.last_zxid());
                } else if let Some(known) = tree.session(session) {
                    // It moved between the verdict and its execution: it lives on, with its full timeout.
                    self.expiry.track(session, known.generation, timeout(known.timeout_ms), now.mono_ms);
                }
            }
            Operation::RaiseEpoch => self.begin_reign(tree, now),
            Operation::SetConfig { .. } => self.telling_since_ms = None,
            _ => {}
        }
    }

    fn begin_session(
        &mut self,
        tree: &Tree,
        session: SessionId,
        timeout_ms: i32,
        password: [u8; 16],
        now: Now,
    ) {
        let generation = tree.session(session).map_or(FIRST_GENERATION, |known| known.generation);
        self.expiry.track(session, generation, timeout(timeout_ms), now.mono_ms);
        if let Some((shard, conn)) = self.attachments.settle(session, generation, now.mono_ms) {
            let read_only = false;
            self.tell(
                shard,
                FromCore::Connected { conn, session, generation, timeout_ms, password, read_only },
            );
        }
    }

    fn end_session(&mut self, session: SessionId, expired: bool, zxid: Zxid) {
        // What is applied before it serves happened in an earlier life, or elsewhere.
        if self.status.serving {
            let timeout_ms = self.expiry.timeout_ms(session).unwrap_or(0);
            match self.endings.len() < ENDINGS_MAX {
                true => self.endings.push(SessionEnd { session, timeout_ms, expired }),
                false => self.endings_untold += 1,
            }
        }
        self.expiry.forget(session);
        self.relays.forget(session);
        self.attachments.end(session);
        self.tell_shards(|| FromCore::SessionClosed { session, zxid });
    }

    /// This leader's first transaction is applied. Each session gets its full timeout from now.
    fn begin_reign(&mut self, tree: &Tree, now: Now) {
        if self.raft.role() != Role::Leader || self.applying_term != self.raft.term() {
            return;
        }
        if self.status.leading {
            // Only an epoch was used up: its sessions have not been given more time by that.
            return;
        }
        self.reign_ms = now.mono_ms;
        self.level_proposed = 0;
        self.tell_roster(tree);
        // Before anything that clients say.
        self.raise_level(tree);
        self.status.leading = true;
        self.expiry.track_all(tree, now.mono_ms);
    }

    /// Takes the next piece of the snapshot out of the tree.
    fn scan(&mut self, tree: &mut Tree) {
        let hurry = self.snapshotter.hurries(tree.snapshot_side_bytes());
        let piece_bytes = self.config.snapshot_piece_bytes;
        let mut bytes = Vec::with_capacity(piece_bytes + piece_bytes / 4);
        let progress = tree.snapshot_chunk(&mut bytes, piece_bytes);
        if !bytes.is_empty() {
            self.snapshotter.sent(bytes.len());
            self.effects.push(CoreEffect::SnapshotChunk { bytes, hurry });
        }
        if let SnapshotProgress::Done { digest } = progress
            && let Some(meta) = self.snapshotter.finish(digest)
        {
            self.effects.push(CoreEffect::SnapshotFinish { meta, replaces: false });
        }
    }
}

/// A session's timeout as the expiry counts it.
fn timeout(timeout_ms: i32) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0)
}
