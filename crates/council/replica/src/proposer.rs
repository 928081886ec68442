//! Commands of this member's clients, of itself, and, while it leads, of other members, on their way into the log.
//!
//! They go to the member that leads, again to the one that leads next, until they are applied here. What there is no room
//! for on the disk is refused in its place.

use base::{MonoTime, Now};
use consensus_raft::{LogIndex, MemberId};
use consensus_replica::batch::BatchReader;
use consensus_replica::{Room, is_readable};
use council_tree::{Command, Operation};
use council_wire::{OpCode, SessionId};

use crate::ensemble_config::EnsembleConfig;
use crate::forward_dedup::ForwardDedup;
use crate::group::Group;
use crate::message::CouncilMessage;
use crate::proposals::{Proposals, Whose, weight_of};
use crate::reconfig_judge::ReconfigJudge;
use crate::refused_writes::{RefusedWrites, Run};
use crate::sessions::Connections;
use crate::{CoreConfig, REFUSE_MANY_LEVEL};

/// Turns that may wait for the disk at a time: one being flushed, one behind it if it is [`WORTH_A_FLUSH`]. What arrives
/// meanwhile goes together into the next, so that one flush serves all that waits.
const PERSISTING_MAX: usize = 2;

/// Commands that wait behind a flush with a turn of their own; fewer gather until it is over.
const WORTH_A_FLUSH: usize = 128;

/// Bytes of other members' commands that wait to be proposed. What comes beyond is dropped, and given again.
const RELAYED_BYTES_MAX: usize = 256 << 20;

/// What was proposed since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProposalCounts {
    pub(crate) entries: u64,
    pub(crate) commands: u64,
    pub(crate) command_bytes: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Proposer {
    /// Commands that wait, and those that are under way.
    proposals: Proposals,
    /// Commands that were refused for want of room and are still to come into that.
    refused_writes: RefusedWrites,
    /// Whether the log may say that many are refused at once.
    refuses_many: bool,
    /// Which commands of other members are in the log already.
    dedup: ForwardDedup,
    /// When something pending was last settled or given, for those that seem lost.
    progressed: MonoTime,
    resubmit_ms: u64,
    /// Whether the disk has room for writes.
    writable: bool,
    room: Room,
    counts: ProposalCounts,
    /// Of the commands proposed, those that the journal has been given.
    commands_handed_over: u64,
    encoded: Vec<u8>,
}

impl Proposer {
    /// `level` is the feature level of the log.
    pub(crate) fn new(config: &CoreConfig, level: u32, now: Now) -> Self {
        Self {
            proposals: Proposals::new(config.replica.entry_bytes_max, config.under_way_max),
            refused_writes: RefusedWrites::default(),
            refuses_many: level >= REFUSE_MANY_LEVEL,
            dedup: ForwardDedup::default(),
            progressed: now.mono(),
            resubmit_ms: config.resubmit_ms,
            writable: true,
            room: Room::default(),
            counts: ProposalCounts::default(),
            commands_handed_over: 0,
            encoded: Vec::new(),
        }
    }

    /// A command of a client of this member.
    pub(crate) fn command(&mut self, command: &[u8], weight: u64) {
        if !self.writable && self.refuse_for_space(command) {
            return;
        }
        self.wait(command, weight);
    }

    /// A command that was held behind a read of its session.
    pub(crate) fn released(&mut self, command: &[u8]) {
        self.command(command, weight_of(command));
    }

    /// A command of this member's own.
    pub(crate) fn propose(&mut self, operation: Operation<'_>) {
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        Command::internal(operation).encode(&mut encoded);
        self.wait(&encoded, weight_of(&encoded));
        self.encoded = encoded;
    }

    /// A command is to be handed on, behind what was refused of the same session before.
    fn wait(&mut self, command: &[u8], weight: u64) {
        if !self.refused_writes.is_empty()
            && let Ok(decoded) = Command::decode(command)
            && let Some(session) = session_of(&decoded)
            && let Some(run) = self.refused_writes.take(session)
        {
            self.hand_on(&run);
        }
        self.proposals.put(command, weight, Whose::Own);
    }

    /// With no room on the disk a write keeps its place in its session's sequence, but as a refusal of a few bytes, or
    /// none for each of many.
    fn refuse_for_space(&mut self, command: &[u8]) -> bool {
        let Ok(command) = Command::decode(command) else { return false };
        if matches!(command.operation, Operation::CloseSession { .. }) {
            return false;
        }
        let Some(origin) = command.origin else { return false };
        if let Some(ended) = self.refused_writes.add(origin, command.policy) {
            self.hand_on(&ended);
        }
        if !self.refuses_many {
            self.hand_on_refused();
        }
        true
    }

    /// What was refused is handed on with what else waits.
    fn hand_on_refused(&mut self) {
        while let Some(run) = self.refused_writes.pop() {
            self.hand_on(&run);
        }
    }

    fn hand_on(&mut self, run: &Run) {
        self.encoded.clear();
        run.command().encode(&mut self.encoded);
        self.proposals.put(&self.encoded, weight_of(&self.encoded), Whose::Own);
    }

    /// What waits to be proposed finds no room any more.
    fn refuse_waiting(&mut self) {
        for command in self.proposals.take_waiting() {
            if is_request(&command) {
                self.command(&command, weight_of(&command));
            } else {
                self.wait(&command, weight_of(&command));
            }
        }
    }

    /// The journal says whether the disk has room for writes. Says whether that is news.
    pub(crate) fn space(&mut self, writable: bool) -> bool {
        self.room.answered();
        if writable == self.writable {
            return false;
        }
        self.writable = writable;
        if !writable {
            self.refuse_waiting();
        }
        true
    }

    /// The journal has taken everything up to that number and has room for so many bytes more.
    pub(crate) fn room(&mut self, after: u64, bytes: u64) {
        self.room.told(after, bytes);
    }

    /// The log is of that feature level now.
    pub(crate) const fn level_applied(&mut self, level: u32) {
        self.refuses_many = level >= REFUSE_MANY_LEVEL;
    }

    /// Another leads, or leads in another term: it may not have been given what is under way.
    pub(crate) fn leader_changed(&mut self, leads: bool, now: Now) {
        self.dedup.clear();
        self.give_again(now);
        self.proposals.led_anew(leads);
    }

    /// Everything that is under way is to be given to the leader once more.
    pub(crate) const fn give_again(&mut self, now: Now) {
        self.proposals.give_again();
        self.progressed = now.mono();
    }

    /// Whether what is under way seems to be lost. While nothing is, no time counts: otherwise the first command after a
    /// quiet time would be given twice.
    pub(crate) fn is_stuck(&mut self, now: Now) -> bool {
        if !self.proposals.has_pending() {
            self.progressed = now.mono();
        }
        now.mono() >= self.progressed.plus_ms(self.resubmit_ms)
    }

    /// This leader puts what waits into the log, as much as has room in the journal. False if it was
    /// refused.
    pub(crate) fn propose_waiting(&mut self, ensemble: &EnsembleConfig, group: &mut Group) -> bool {
        let (now, persisting) = (group.now(), group.persisting());
        if persisting >= PERSISTING_MAX {
            return true;
        }
        while let Some(content) = self.proposals.next_to_give() {
            self.relay(group.view().own(), &content, ensemble, group);
        }
        self.hand_on_refused();
        self.proposals.take_turns(now.mono());
        if self.proposals.ready() < if persisting == 0 { 1 } else { WORTH_A_FLUSH } {
            return true;
        }
        let room = if self.writable { self.room.left() } else { u64::MAX };
        let proposal = self.proposals.propose(now.wall, room);
        self.counts.commands += proposal.commands;
        self.counts.command_bytes += proposal.bytes;
        if proposal.commands == 0 {
            if self.room.asks() {
                group.make_room(self.proposals.first_log_bytes().unwrap_or(0));
            }
            return true;
        }
        if !group.view().is_alone() {
            self.proposals.keep(&proposal.own);
        }
        let contents: Vec<_> = proposal.relayed.into_iter().chain(proposal.own).collect();
        self.counts.entries += contents.len() as u64;
        if !group.propose(contents) {
            // A refusal (leadership is being handed over, say) loses nothing: the members give what is not applied again.
            self.dedup.clear();
            return false;
        }
        self.proposals.proposed(group.last_index(), proposal.weight);
        true
    }

    /// What waits is given to the leader, if there is one and it is another.
    pub(crate) fn forward_waiting(&mut self, leader: Option<MemberId>, group: &mut Group) {
        self.hand_on_refused();
        self.proposals.take_turns(group.now().mono());
        self.proposals.keep_to_forward();
        let Some(leader) = leader.filter(|leader| *leader != group.view().own()) else { return };
        while let Some(content) = self.proposals.next_to_give() {
            group.send(leader, CouncilMessage::Forward(content));
        }
    }

    /// Takes in commands of a member's clients, to be proposed with others. What only a leader may command is left
    /// out: it belonged to a term that is over, or is an `Expire` of a session that its member found used up, which ends
    /// by its silence. Beyond a bound all of a message is dropped: its member gives it again.
    pub(crate) fn relay(
        &mut self,
        from: MemberId,
        content: &[u8],
        ensemble: &EnsembleConfig,
        group: &mut Group,
    ) {
        if !is_readable(content, |command| Command::decode(command).is_ok()) {
            return group.refuse_message(from, "commands that this build cannot read");
        }
        if self.proposals.relayed_bytes() + content.len() > RELAYED_BYTES_MAX {
            return;
        }
        let Ok(mut reader) = BatchReader::new(content) else { return };
        while let Ok(Some(command)) = reader.next_command() {
            let Ok(decoded) = Command::decode(command) else { return };
            if !is_of_a_client(&decoded) {
                if decoded.origin.is_some() {
                    group.refuse_message(from, "a leader's command in the name of a client");
                }
                continue;
            }
            if !self.dedup.admit_command(&decoded) {
                continue;
            }
            let is_reconfig = matches!(decoded.operation, Operation::Client { opcode: OpCode::Reconfig, .. });
            let judged = is_reconfig.then(|| ReconfigJudge { ensemble, group: &*group }.judge(decoded));
            let command = judged.as_deref().unwrap_or(command);
            if from == group.view().own() {
                // It was under way before all that waits.
                self.proposals.put_again(command);
            } else {
                self.proposals.put(command, weight_of(command), Whose::Relayed);
            }
        }
    }

    /// The journal is given records of so many bytes under that number. Gives how many commands they hold.
    pub(crate) fn handed_over(&mut self, number: u64, log_bytes: u64) -> u64 {
        self.room.hand_over(number, log_bytes);
        let commands = self.counts.commands - self.commands_handed_over;
        self.commands_handed_over = self.counts.commands;
        commands
    }

    /// Entries up to this one are applied.
    pub(crate) fn entry_applied(&mut self, index: LogIndex) {
        self.proposals.applied(index);
    }

    /// A client's command was applied.
    pub(crate) fn command_applied(&mut self, origin: council_tree::Origin) {
        self.dedup.applied(origin);
    }

    /// A session has ended.
    pub(crate) fn session_ended(&mut self, session: SessionId) {
        self.dedup.forget(session);
        self.proposals.came_late(session, None);
    }

    /// A command came too late for its session: its present connection is of this generation, or it has ended. A member that
    /// lags gives what it has of that again and again.
    pub(crate) fn came_late(&mut self, session: SessionId, present: Option<u32>) {
        self.dedup.came_late(session, present);
        self.proposals.came_late(session, present);
    }

    /// Lets go of commands that are applied.
    pub(crate) fn settle(&mut self, connections: &Connections, now: Now) {
        if self.proposals.settle(|command| connections.is_settled(command)) {
            self.progressed = now.mono();
        }
    }

    /// When a heavy command that rests may be proposed though nothing else happens.
    pub(crate) fn deadline(&self, now: Now) -> Option<MonoTime> {
        self.proposals.deadline(now.mono())
    }

    pub(crate) const fn is_writable(&self) -> bool {
        self.writable
    }

    /// Bytes of clients' commands that are kept until they are applied.
    pub(crate) const fn pending_bytes(&self) -> usize {
        self.proposals.pending_bytes()
    }

    /// Commands that wait to be proposed.
    pub(crate) fn waiting(&self) -> usize {
        self.proposals.waiting()
    }

    pub(crate) const fn counts(&self) -> ProposalCounts {
        self.counts
    }
}

/// Whether a client's request is in the command, which can be refused.
fn is_request(command: &[u8]) -> bool {
    let decoded = Command::decode(command);
    decoded.is_ok_and(|command| {
        matches!(command.operation, Operation::Client { .. }) && command.origin.is_some()
    })
}

/// The session whose connections a command is about.
const fn session_of(command: &Command<'_>) -> Option<SessionId> {
    match (command.origin, command.operation) {
        (Some(origin), _) => Some(origin.session),
        (
            None,
            Operation::Attach { session, .. }
            | Operation::CloseSession { session }
            | Operation::Expire { session, .. },
        ) => Some(session),
        _ => None,
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
