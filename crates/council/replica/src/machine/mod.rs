//! What the council's commands mean: the machine that the replica drives. Components that each keep their own state, and
//! what carries an event from one to the next.

mod apply;
mod shard_messages;
mod state;
#[cfg(test)]
mod tests;

use base::{MonoTime, Now};
use consensus_raft::{LogIndex, Malformed};
use consensus_replica::{MemberId, Persisting, Stamp, StateMachine};
use council_frontend::FromCore;
use council_tree::{Changes, Command, Operation, Tree};
use council_wire::Zxid;

use crate::CoreConfig;
use crate::apply::{ApplyMetrics, ReadQueue};
use crate::ensemble_config::EnsembleConfig;
use crate::group::{Group, Waiter};
use crate::message::CouncilMessage;
use crate::output::Output;
use crate::proposals::weight_in;
use crate::proposer::Proposer;
use crate::sessions::{Condemned, ContainerReaper, Sessions};

/// See the module.
pub(crate) struct CouncilMachine {
    pub(crate) out: Output,
    pub(crate) proposer: Proposer,
    pub(crate) sessions: Sessions,
    reaper: ContainerReaper,
    reads: ReadQueue,
    pub(crate) metrics: ApplyMetrics,
    pub(crate) ensemble: EnsembleConfig,
    /// What the present command changed.
    changes: Changes,
    /// The last transaction applied.
    pub(crate) last_zxid: Zxid,
    /// The epoch that was found to be nearly used up.
    renewed_epoch: u32,
    epoch_transactions_max: u32,
    never_used_ms: i64,
}

impl CouncilMachine {
    pub(crate) fn new(config: &CoreConfig, tree: &Tree, seed: [u8; 32], now: Now) -> Self {
        Self {
            out: Output::new(config.shards),
            proposer: Proposer::new(config, tree.feature_level(), now),
            sessions: Sessions::new(config, tree, seed, now),
            reaper: ContainerReaper::new(config, now),
            reads: ReadQueue::default(),
            metrics: ApplyMetrics::default(),
            ensemble: EnsembleConfig::new(config, tree),
            changes: Changes::new(),
            last_zxid: tree.last_zxid(),
            renewed_epoch: 0,
            epoch_transactions_max: config.epoch_transactions_max,
            never_used_ms: config.never_used_ms,
        }
    }

    /// The present leader is given again what is under way: it may be lost.
    fn give_all_again(&mut self, group: &mut Group) {
        self.proposer.give_again(group.now());
        group.ask_again();
    }

    /// `/zookeeper/config` may say something else now.
    fn read_roster(&mut self, tree: &Tree, group: &mut Group) {
        if self.ensemble.read(tree) {
            group.want_members(self.ensemble.wanted());
        }
    }

    /// The text of `/zookeeper/config`, if it is not what it is to be.
    fn propose_config(&mut self, tree: &Tree, now: Now) {
        if let Some(next) = self.ensemble.roster_to_propose(tree, now) {
            let text = next.text();
            self.proposer.propose(Operation::SetConfig { text: text.as_bytes(), version: next.version });
        }
    }

    /// The feature level of the log, if all members understand a higher one.
    fn raise_level(&mut self, tree: &Tree, group: &mut Group) {
        let is_new = tree.last_zxid().epoch() <= 1 && tree.last_zxid().count() == 0;
        if let Some(level) = group.level_to_raise(tree.feature_level(), is_new) {
            self.proposer.propose(Operation::FeatureLevel(level));
        }
    }

    /// The next epoch is to begin long before the count of this one is used up.
    fn renew_epoch(&mut self, tree: &Tree) {
        let (epoch, count) = (tree.last_zxid().epoch(), tree.last_zxid().count());
        if count >= self.epoch_transactions_max && self.renewed_epoch != epoch {
            self.renewed_epoch = epoch;
            self.proposer.propose(Operation::RaiseEpoch);
        }
    }

    /// These sessions have been silent for their whole timeout.
    fn expire(&mut self, condemned: Vec<Condemned>) {
        for Condemned { session, generation } in condemned {
            self.proposer.propose(Operation::Expire { session, generation });
        }
    }
}

impl StateMachine for CouncilMachine {
    type Message = CouncilMessage;
    type Waiter = Waiter;

    fn is_readable(command: &[u8]) -> bool {
        Command::decode(command).is_ok()
    }

    /// No zxid of this epoch was ever given out by another.
    fn first_command(&self, out: &mut Vec<u8>) {
        Command::internal(Operation::RaiseEpoch).encode(out);
    }

    fn propose_waiting(&mut self, group: &mut Group) {
        if !self.proposer.propose_waiting(&self.ensemble, group) {
            // The next epoch may have been among it; nobody gives that again.
            self.renewed_epoch = 0;
        }
    }

    fn forward_waiting(&mut self, leader: Option<MemberId>, group: &mut Group) {
        self.proposer.forward_waiting(leader, group);
    }

    fn persisting(&mut self, number: u64, log_bytes: u64) -> Persisting {
        let commands = self.proposer.handed_over(number, log_bytes);
        Persisting { commands, reserved: !self.proposer.is_writable() }
    }

    fn journal_room(&mut self, after: u64, bytes: u64) {
        self.proposer.room(after, bytes);
    }

    fn disk_space(&mut self, writable: bool) {
        if self.proposer.space(writable) {
            self.out.tell_shards(|| FromCore::Writable(writable));
        }
    }

    fn leader_changed(&mut self, leads: bool, now: Now) {
        self.proposer.leader_changed(leads, now);
    }

    fn give_again(&mut self, now: Now) {
        self.proposer.give_again(now);
    }

    fn is_stuck(&mut self, group: &Group) -> bool {
        let now = group.now();
        if !self.proposer.is_stuck(now) {
            return false;
        }
        // Nobody may wait any more for what is left, and nothing be applied that would show it.
        self.proposer.settle(self.sessions.connections(), now);
        self.proposer.is_stuck(now)
    }

    fn begin_turn(&mut self, tree: &Tree, _: &mut Group) {
        self.reads.begin_turn();
        let connections = self.sessions.connections();
        self.reads.answer_waiting(tree, connections, &mut self.proposer, &mut self.out);
    }

    /// Reads that come before any further command.
    fn holds_up(&self) -> bool {
        self.reads.has_waiting()
    }

    fn cost_to_apply(tree: &Tree, command: &[u8]) -> u64 {
        weight_in(command, tree)
    }

    fn prefetch<'a>(tree: &Tree, commands: impl Iterator<Item = &'a [u8]>) -> usize {
        if !tree.is_large() {
            return 0;
        }
        let readable = commands.map_while(|command| Command::decode(command).ok());
        tree.reach(readable.map(|command| command.operation));
        council_tree::REACH
    }

    fn apply(
        &mut self,
        tree: &mut Tree,
        stamp: Stamp,
        command: &[u8],
        group: &mut Group,
    ) -> Result<usize, Malformed> {
        self.apply_one(tree, stamp, command, group)
    }

    fn commands_applied(&mut self, stamp: Stamp, commands: u64, group: &Group) {
        if group.serves() {
            self.metrics.propagated(stamp.wall, group.now().wall, commands);
        }
    }

    fn entry_applied(&mut self, index: LogIndex) {
        self.proposer.entry_applied(index);
    }

    fn end_turn(&mut self, tree: &Tree, now: Now) {
        self.proposer.level_applied(tree.feature_level());
        self.proposer.settle(self.sessions.connections(), now);
        self.last_zxid = tree.last_zxid();
    }

    fn go_on(&mut self, waiter: Waiter, tree: &Tree, group: &mut Group) {
        self.free(waiter, tree, group);
    }

    /// Clients have to come again: what they missed is not in any stream.
    fn state_replaced(&mut self, tree: &Tree, group: &mut Group) {
        self.sessions.tree_replaced(tree, group.now());
        self.read_roster(tree, group);
        let zxid = tree.last_zxid();
        self.out.tell_shards(|| FromCore::TreeReplaced { zxid });
    }

    fn message(&mut self, from: MemberId, message: CouncilMessage, group: &mut Group) {
        match message {
            CouncilMessage::Forward(content) => {
                self.proposer.relay(from, &content, &self.ensemble, group);
            }
            CouncilMessage::TouchAsk { round } => self.sessions.asked(from, round, group, &mut self.out),
            CouncilMessage::Touched { round, ages } => {
                let condemned = self.sessions.peer_answered((from, round), &ages, group);
                self.expire(condemned);
            }
        }
    }

    fn serves_clients(&self, member: MemberId) -> bool {
        self.sessions.is_holder(member.number())
    }

    fn serving(&mut self, serves: bool) {
        self.out.tell_shards(|| FromCore::Serving(serves));
    }

    /// That time counts against no client.
    fn stood_still(&mut self, for_ms: u64, now: Now) {
        self.sessions.forgive(for_ms, now);
    }

    fn lead(&mut self, tree: &Tree, group: &mut Group) {
        if self.ensemble.proposes_again(group.now()) {
            self.propose_config(tree, group.now());
        }
        self.renew_epoch(tree);
        self.raise_level(tree, group);
        let condemned = self.sessions.tick(group, &mut self.out);
        self.expire(condemned);
        for path in self.reaper.tick(tree, self.never_used_ms, group.now()) {
            let never_used_ms = self.never_used_ms;
            self.proposer.propose(Operation::Reap { path: &path, never_used_ms });
        }
    }

    fn lead_ended(&mut self) {
        self.ensemble.settled();
        self.sessions.stop_round();
    }

    fn members_changed(&mut self) {
        self.sessions.members_changed();
    }

    fn deadlines(&self, now: Now) -> impl Iterator<Item = MonoTime> {
        let deadlines = [self.sessions.next_deadline(), self.reaper.next_look(), self.proposer.deadline(now)];
        deadlines.into_iter().flatten()
    }
}
