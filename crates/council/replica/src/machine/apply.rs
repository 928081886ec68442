//! A command goes to the tree, to the sessions, to the shards' streams.
//!
//! All of it happens while the driver lends the tree for writing; what a shard must know of a transaction is in its
//! stream before anyone can read the tree that the transaction made.

use consensus_raft::Malformed;
use consensus_replica::Stamp;
use council_frontend::FromCore;
use council_tree::{Command, DropReason, Operation, Origin, Outcome, Tree};
use council_wire::SessionId;

use super::CouncilMachine;
use crate::group::Group;
use crate::proposals::weight_to_apply;
use crate::reconfig_judge::sets_config_acl;

/// Bytes of ordinary commands that are applied in the time of one step of the tree's work.
const BYTES_PER_STEP: usize = 4;
/// What each command has in its entry beside its own bytes.
const LENGTH_BYTES: usize = 4;

impl CouncilMachine {
    /// Applies a command. Gives what it cost, in about bytes.
    pub(super) fn apply_one(
        &mut self,
        tree: &mut Tree,
        stamp: Stamp,
        bytes: &[u8],
        group: &mut Group,
    ) -> Result<usize, Malformed> {
        let command = Command::decode(bytes).map_err(|_| Malformed("a command that cannot be read"))?;
        self.changes.clear();
        let outcome = tree.apply(council_tree::Stamp { time: stamp.wall }, &command, &mut self.changes);
        self.metrics.refused(&command, &outcome);
        if !self.changes.is_empty() {
            self.metrics.written(self.changes.as_slice());
            self.out.tell_changes(&self.changes.drain().collect());
        }
        match outcome {
            Outcome::Reconfigured { .. } | Outcome::ConfigSet => self.read_roster(tree, group),
            Outcome::AclSet { .. } if sets_config_acl(&command.operation) => {
                self.ensemble.read_acl(tree);
            }
            _ => {}
        }
        match command.origin {
            Some(origin) => {
                let last = command.last_sequence().unwrap_or(origin.sequence);
                self.answer(tree, origin, last, outcome, group);
            }
            None => self.conclude(tree, &command.operation, &outcome, group),
        }
        let steps = usize::try_from(tree.take_work()).unwrap_or(usize::MAX);
        let weight = weight_to_apply(&command.operation, LENGTH_BYTES + bytes.len());
        Ok(weight.saturating_add(steps.saturating_mul(BYTES_PER_STEP)))
    }

    /// The outcome of a client's command, or of all up to `last`, then the reads that waited for it.
    fn answer(&mut self, tree: &Tree, origin: Origin, last: u64, outcome: Outcome, group: &mut Group) {
        let Origin { session, generation, sequence } = origin;
        let closed = outcome == Outcome::SessionClosed;
        if let Outcome::Dropped(reason) = outcome {
            self.metrics.dropped();
            match reason {
                // Its first coming was answered.
                DropReason::Duplicate => return,
                // What should have come before it was lost on the way to the leader.
                DropReason::Gap => {
                    let held = self.sessions.connections().held(session);
                    if held.is_some_and(|held| held.generation() == generation) {
                        self.give_all_again(group);
                    }
                    return;
                }
                DropReason::UnknownSession | DropReason::OldGeneration => {
                    let present = tree.session(session).map(|known| known.generation);
                    self.proposer.came_late(session, present);
                }
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
            self.end_session(session, false, tree, group);
        }
    }

    /// What the ensemble itself commanded.
    fn conclude(&mut self, tree: &Tree, operation: &Operation<'_>, outcome: &Outcome, group: &mut Group) {
        let now = group.now();
        match *operation {
            Operation::CreateSession { session, timeout_ms, password } => {
                let created = (session, timeout_ms, password);
                self.sessions.created(tree, created, outcome, now, &mut self.out);
            }
            Operation::Attach { session, generation, timeout_ms } => {
                let attached = (session, generation, timeout_ms);
                self.sessions.attached(tree, attached, outcome, now, &mut self.out);
            }
            Operation::Expire { session, .. } => self.expired(tree, session, outcome, group),
            Operation::RaiseEpoch => self.begin_term(tree, group),
            Operation::SetConfig { .. } => self.ensemble.settled(),
            _ => {}
        }
    }

    fn expired(&mut self, tree: &Tree, session: SessionId, outcome: &Outcome, group: &Group) {
        if self.sessions.expired(tree, session, outcome, group.now()) {
            self.end_session(session, true, tree, group);
        }
    }

    fn end_session(&mut self, session: SessionId, expired: bool, tree: &Tree, group: &Group) {
        self.proposer.session_ended(session);
        self.sessions.end(session, expired, tree.last_zxid(), group.serves(), &mut self.out);
    }

    /// An epoch has begun. If it is the first of this leader, each session gets its full timeout from now; one that began
    /// because the count was nearly used up gives sessions no more time.
    fn begin_term(&mut self, tree: &Tree, group: &mut Group) {
        if !group.begin_term() {
            return;
        }
        self.propose_config(tree, group.now());
        // Before anything that clients say.
        self.raise_level(tree, group);
        self.sessions.term_began(tree, group.now());
    }
}
