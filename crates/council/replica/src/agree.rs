//! Agreement as the member drives it: its commands go to whoever leads, again to whoever leads next, until they are
//! applied here; raft's turns are taken.

use consensus_raft::{Ready, Role};
use council_tree::{Command, Operation, Tree};
use council_wire::OpCode;
use storage_raft_log::{Batch, log_bytes_max};

use crate::commands::is_readable;
use crate::core::Core;
use crate::peer::PeerMessage;
use crate::proposals::batch::{BatchReader, BatchWriter};
use crate::proposals::{Whose, weight_of};
use crate::{CoreEffect, Now, convert};

/// Turns that may wait for the disk at a time: one being flushed, one behind it if it is [`WORTH_A_FLUSH`]. What arrives
/// meanwhile goes together into the next, so that one flush serves all that waits.
const PERSISTING_MAX: usize = 2;

/// Commands that wait behind a flush with a turn of their own; fewer gather until it is over.
const WORTH_A_FLUSH: usize = 128;

/// Bytes of other members' commands that wait to be proposed. What comes beyond is dropped, and given again.
const RELAYED_BYTES_MAX: usize = 256 << 20;

impl Core {
    /// Hands on what waits and takes raft's turns; the effects then hold what to make durable, the outgoing
    /// messages what to send.
    pub fn advance(&mut self, now: Now) {
        self.now = now;
        self.notice_leader();
        if self.raft.role() == Role::Leader {
            self.propose_waiting(now.wall_ms);
        } else {
            self.forward_waiting();
        }
        if let Some(question) = self.barriers.question(now.mono_ms) {
            self.raft.read_barrier(question);
        }
        while let Some(ready) = self.raft.ready() {
            self.turn(ready);
        }
        self.offer_what_is_wanted();
        self.post();
    }

    /// Whoever leads now may not have been given what is under way.
    fn notice_leader(&mut self) {
        let standing = (self.raft.term(), self.raft.leader().map_or(0, |leader| leader.0));
        if standing == self.standing {
            return;
        }
        self.standing = standing;
        self.relays.clear();
        self.give_again();
        // Its role is told only with its next turn.
        self.proposals.led_anew(standing.1 == self.config.member);
        if standing.1 != 0 {
            self.succession.forget();
            self.ask_for_lease();
        }
    }

    /// Everything that is under way is to be given to the leader once more.
    pub(crate) fn give_again(&mut self) {
        self.proposals.give_again();
        self.barriers.again();
        self.progressed_ms = self.now.mono_ms;
    }

    fn propose_waiting(&mut self, wall_ms: i64) {
        let persisting = self.raft.persisting();
        if persisting >= PERSISTING_MAX {
            return;
        }
        while let Some(content) = self.proposals.next_to_give() {
            self.relay(self.config.member, &content);
        }
        self.hand_on_refused();
        self.proposals.take_turns(self.now.mono_ms);
        if self.proposals.ready() < if persisting == 0 { 1 } else { WORTH_A_FLUSH } {
            return;
        }
        let room = if self.writable { self.room.left() } else { u64::MAX };
        let proposal = self.proposals.propose(wall_ms, room);
        self.status.commands += proposal.commands;
        self.status.command_bytes += proposal.bytes;
        if proposal.commands == 0 {
            if self.room.asks() {
                let bytes = self.proposals.first_log_bytes().unwrap_or(0);
                self.effects.push(CoreEffect::MakeRoom { bytes });
            }
            return;
        }
        if !self.is_alone() {
            self.proposals.keep(&proposal.own);
        }
        let contents: Vec<_> = proposal.relayed.into_iter().chain(proposal.own).collect();
        self.status.entries += contents.len() as u64;
        if self.raft.propose(contents).is_err() {
            // A refusal (the lead is being handed over, say) loses nothing: the members give what is not applied again.
            self.relays.clear();
            return;
        }
        self.proposals.proposed(self.raft.last_index(), proposal.weight);
    }

    fn forward_waiting(&mut self) {
        self.hand_on_refused();
        self.proposals.take_turns(self.now.mono_ms);
        self.proposals.keep_to_forward();
        let leader = self.standing.1;
        if leader == 0 || leader == self.config.member {
            return;
        }
        while let Some(content) = self.proposals.next_to_give() {
            self.outgoing.push((leader, PeerMessage::Forward(content)));
        }
    }

    /// Takes in commands of a member's clients, to be proposed with others. What only a leader may command is left
    /// out: it belonged to a term that is over, or is an `Expire` of a session that its member found used up, which ends
    /// by its silence. Beyond a bound all of a message is dropped: its member gives it again.
    pub(crate) fn relay(&mut self, from: u64, content: &[u8]) {
        if !is_readable(content) {
            return self.refuse_message(from, "commands that this build cannot read");
        }
        if self.proposals.relayed_bytes() + content.len() > RELAYED_BYTES_MAX {
            return;
        }
        let Ok(mut reader) = BatchReader::new(content) else { return };
        while let Ok(Some(command)) = reader.next() {
            let Ok(decoded) = Command::decode(command) else { return };
            if !is_of_a_client(&decoded) {
                if decoded.origin.is_some() {
                    self.refuse_message(from, "a leader's command in the name of a client");
                }
                continue;
            }
            if !self.relays.admit_command(&decoded) {
                continue;
            }
            let is_reconfig = matches!(decoded.operation, Operation::Client { opcode: OpCode::Reconfig, .. });
            let judged = is_reconfig.then(|| self.judge_reconfig(decoded));
            let command = judged.as_deref().unwrap_or(command);
            if from == self.config.member {
                // It was under way before all that waits.
                self.proposals.put_again(command);
            } else {
                self.proposals.put(command, weight_of(command), Whose::Relayed);
            }
        }
    }

    fn turn(&mut self, ready: Ready) {
        if let Some(offer) = ready.snapshot {
            self.take_over(offer);
        }
        if let Some(persist) = ready.persist {
            let batch = Batch {
                hard_state: persist.hard_state.map(convert::hard_state),
                membership: None,
                entries: persist.entries.into_iter().map(convert::entry).collect(),
            };
            let content_bytes = batch.entries.iter().map(|entry| entry.data.len()).sum();
            self.room.hand_over(persist.number, log_bytes_max(batch.entries.len(), content_bytes));
            self.disk_watch.asked(persist.number, self.now.mono_ms);
            self.effects.push(CoreEffect::Persist {
                number: persist.number,
                batch,
                reserved: !self.writable,
                commands: self.status.commands - self.commands_handed_over,
            });
            self.commands_handed_over = self.status.commands;
        }
        self.committed.extend(ready.committed);
        for (question, index) in ready.barriers {
            self.barriers.answered(question, index);
        }
        match ready.role {
            Some(Role::Leader) => {
                self.status.reigns += 1;
                self.raise_epoch();
            }
            Some(_) => {
                self.status.leading = false;
                self.telling_since_ms = None;
                self.round = None;
            }
            None => {}
        }
    }

    /// The reign's first transaction: no zxid of this epoch was ever given out by another.
    fn raise_epoch(&mut self) {
        let mut command = Vec::new();
        Command::internal(Operation::RaiseEpoch).encode(&mut command);
        let mut first = BatchWriter::new(self.config.entry_bytes_max);
        first.push(&command, 0);
        let contents = first.take(self.now.wall_ms).into_iter().map(|sealed| sealed.content);
        let proposed = self.raft.propose(contents.collect());
        assert!(
            proposed.is_ok(),
            "a new leader has nothing under way that could stand against its first proposal"
        );
    }

    /// Long before the count of an epoch is used up, the next one begins.
    pub(crate) fn renew_epoch(&mut self, tree: &Tree) {
        let epoch = tree.last_zxid().epoch();
        if tree.last_zxid().count() >= self.config.epoch_transactions_max && self.renewed_epoch != epoch {
            self.renewed_epoch = epoch;
            self.propose(Operation::RaiseEpoch);
        }
    }

    /// Lets go of commands that are applied, and gives those again that seem to be lost.
    pub(crate) fn settle(&mut self) {
        let attachments = &self.attachments;
        if self.proposals.settle(|command| attachments.is_settled(command)) {
            self.progressed_ms = self.now.mono_ms;
        }
    }

    pub(crate) fn give_again_if_stuck(&mut self) {
        if self.proposals.has_pending() && self.now.mono_ms >= self.progressed_ms + self.config.resubmit_ms {
            self.give_again();
        }
    }
}

/// Whether a member's client is behind the command, and not a leader of its own accord.
const fn is_of_a_client(command: &Command<'_>) -> bool {
    match command.operation {
        Operation::Client { .. }
        | Operation::CloseSession { .. }
        | Operation::Refuse(_)
        | Operation::RefuseMany { .. } => command.origin.is_some(),
        Operation::CreateSession { .. } | Operation::Attach { .. } => true,
        _ => false,
    }
}
