//! Commands on their way into the log: those of this member's callers, of the member itself, and, while it leads, of other
//! members and of its own accord.
//!
//! They go to the member that leads, and again to the one that leads next, until they are applied here. A turn's commands
//! are one entry, and what comes while the disk is busy goes together into the next.

mod pending;
mod relayed;
mod rest;

use base::{MonoTime, Now};
use consensus_raft::MemberId;
use consensus_replica::batch::{BatchReader, BatchWriter};
use consensus_replica::{Room, is_readable};
use objects_state::{Command, Origin, Problem, Slug, Source};

pub(crate) use self::pending::Pending;
use self::pending::Queue;
use self::relayed::Relayed;
use self::rest::{Held, Rest};
use crate::entry;
use crate::group::Group;
use crate::limits::{COMMAND_BYTES_MAX, COMMAND_BYTES_WAITING_MAX, COMMANDS_MAX, RELAYED_BYTES_MAX};
use crate::message::ObjectsMessage;
use crate::stamps::Stamps;
use crate::{CoreConfig, incarnation};

/// Turns that may wait for the disk at a time: one being flushed, one behind it if it is [`WORTH_A_FLUSH`].
const PERSISTING_MAX: usize = 2;
/// Commands that wait behind a flush with a turn of their own; fewer gather until it is over.
const WORTH_A_FLUSH: usize = 128;

/// What was proposed since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProposalCounts {
    pub(crate) entries: u64,
    pub(crate) commands: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Commands {
    queue: Queue,
    /// What this leader proposes next.
    batch: BatchWriter,
    forwarded: BatchWriter,
    relayed: Relayed,
    /// Calls of expensive objects, which wait before they get numbers.
    rest: Rest,
    room: Room,
    writable: bool,
    /// When something was last settled or given, for commands that seem lost.
    progressed: MonoTime,
    resubmit_ms: u64,
    counts: ProposalCounts,
    /// Of the commands proposed, those that the journal has been given.
    handed_over: u64,
}

impl Commands {
    /// `incarnation` numbers this process; `known` is the last command of this member that the state knows.
    pub(crate) fn new(config: &CoreConfig, incarnation: u64, known: Option<Source>, now: Now) -> Self {
        let beyond = known.map_or(0, |known| incarnation::beyond(known.incarnation, incarnation));
        let incarnation = beyond.max(incarnation);
        let entry_bytes_max = config.replica.entry_bytes_max;
        Self {
            queue: Queue::new(config.replica.member.number().0, incarnation),
            batch: BatchWriter::new(entry_bytes_max),
            forwarded: BatchWriter::new(entry_bytes_max),
            relayed: Relayed::default(),
            rest: Rest::default(),
            room: Room::default(),
            writable: true,
            progressed: now.mono(),
            resubmit_ms: config.resubmit_ms,
            counts: ProposalCounts::default(),
            handed_over: 0,
        }
    }

    /// Takes in a caller's command.
    ///
    /// # Errors
    /// There is no room for it, here or in the log: it has no effect.
    pub(crate) fn take(
        &mut self,
        command: &Command,
        origin: Origin,
        repeatable: bool,
        now: Now,
    ) -> Result<(), Problem> {
        if !self.writable {
            return Err(Problem::new(Slug::DiskFull, "the disk has no room for commands"));
        }
        if self.waiting() >= COMMANDS_MAX || self.waiting_bytes() >= COMMAND_BYTES_WAITING_MAX {
            let detail = "too many commands are under way at this member";
            return Err(Problem { retry_after_ms: Some(100), ..Problem::new(Slug::Rate, detail) });
        }
        let encoded = entry::of_member(self.queue.next_source(), command);
        if encoded.len() > COMMAND_BYTES_MAX {
            let detail = format!("a command has {COMMAND_BYTES_MAX} bytes at the most");
            return Err(Problem::new(Slug::TooLarge, detail));
        }
        match self.rest.wants(command) {
            Some(object) => {
                self.rest.hold(object, Held { encoded, origin, repeatable, since: now.mono() });
            }
            None => self.queue.push(encoded, Some(origin), repeatable, now.mono()),
        }
        Ok(())
    }

    /// Calls of expensive objects get their numbers, if their turn has come.
    fn end_rest(&mut self, now: Now) {
        while let Some(mut held) = self.rest.next(now.mono()) {
            entry::renumber(&mut held.encoded, self.queue.next_source());
            self.queue.push(held.encoded, Some(held.origin), held.repeatable, held.since);
        }
    }

    /// A command was applied that took so much, in about bytes. `is_own`: this member gave it.
    pub(crate) fn learn(&mut self, command: &Command, cost: usize, is_own: bool, now: Now) {
        self.rest.learn(command, cost, is_own, now.mono());
    }

    /// Takes out the calls of expensive objects that have waited since before that time: no leader was given them.
    pub(crate) fn take_resting(&mut self, before: MonoTime) -> Vec<Origin> {
        self.rest.take_old(before)
    }

    /// The caller of a request has gone: whether that was a call which no leader was given, and which is dropped.
    pub(crate) fn drop_resting(&mut self, origin: Origin) -> bool {
        self.rest.drop_of(origin)
    }

    /// When the next call of an expensive object may go.
    pub(crate) fn rest_ends(&self) -> Option<MonoTime> {
        self.rest.due()
    }

    /// Takes in a command of this member's own, which nobody waits for.
    pub(crate) fn take_own(&mut self, command: &Command, now: Now) {
        let encoded = entry::of_member(self.queue.next_source(), command);
        self.queue.push(encoded, None, true, now.mono());
    }

    /// A command that this leader gives of its own accord.
    pub(crate) fn lead(&mut self, command: &Command) {
        let mut encoded = Vec::new();
        entry::of_leader(command, &mut encoded);
        self.batch.push(&encoded, 0);
    }

    /// Takes in commands of another member. What is lost of them here their member gives again.
    pub(crate) fn relay(&mut self, from: MemberId, content: &[u8], group: &mut Group) {
        let is_of_sender = |command: &[u8]| {
            command.len() <= COMMAND_BYTES_MAX && entry::is_given_by(command, from.number().0)
        };
        if !is_readable(content, is_of_sender) {
            return group.refuse_message(from, "commands that are not the sender's, or cannot be read");
        }
        // A leader whose disk is full hands the lead over, and members give theirs to the next one.
        if !self.writable || self.batch.bytes() + content.len() > RELAYED_BYTES_MAX {
            return;
        }
        let Ok(mut reader) = BatchReader::new(content) else { return };
        while let Ok(Some(command)) = reader.next_command() {
            if let Ok((Some(source), _)) = entry::split(command)
                && self.relayed.admit(source)
            {
                self.batch.push(command, 0);
            }
        }
    }

    /// This leader puts what waits into the log, as much as has room in the journal. False if it was refused: then other
    /// members give theirs again.
    pub(crate) fn propose_waiting(&mut self, stamps: &mut Stamps, group: &mut Group) -> bool {
        self.end_rest(group.now());
        let persisting = group.persisting();
        let waiting = self.batch.commands() + self.queue.ungiven();
        if persisting >= PERSISTING_MAX || waiting < if persisting == 0 { 1 } else { WORTH_A_FLUSH } {
            return true;
        }
        while let Some((source, command)) = self.queue.next_to_give() {
            if self.relayed.admit(source) {
                self.batch.push(command, 0);
            }
        }
        if self.batch.commands() == 0 {
            return true;
        }
        let stamp = stamps.stamp(group.now());
        let room = if self.writable { self.room.left() } else { u64::MAX };
        let before = self.batch.commands();
        let sealed = if self.batch.log_bytes() <= room {
            self.batch.take(stamp)
        } else {
            self.batch.take_within(stamp, room).0
        };
        if sealed.is_empty() {
            if self.room.asks() {
                group.make_room(self.batch.first_log_bytes().unwrap_or(0));
            }
            return true;
        }
        stamps.noted(stamp, group.now());
        self.counts.entries += sealed.len() as u64;
        self.counts.commands += (before - self.batch.commands()) as u64;
        let is_taken = group.propose(sealed.into_iter().map(|sealed| sealed.content).collect());
        if !is_taken {
            self.relayed.clear();
        }
        is_taken
    }

    /// What waits is given to the leader, if there is one and it is another.
    pub(crate) fn forward_waiting(&mut self, leader: Option<MemberId>, group: &mut Group) {
        let Some(leader) = leader.filter(|leader| *leader != group.view().own()) else { return };
        self.end_rest(group.now());
        while let Some((_, command)) = self.queue.next_to_give() {
            self.forwarded.push(command, 0);
        }
        for sealed in self.forwarded.take(base::WallTime::default()) {
            group.send(leader, ObjectsMessage::Forward(sealed.content));
        }
    }

    /// Another leads, or leads in another term: it has been given nothing.
    pub(crate) fn leader_changed(&mut self, now: Now) {
        self.batch.clear();
        self.relayed.clear();
        self.give_again(now);
    }

    /// Everything that is under way is given to the leader once more.
    pub(crate) const fn give_again(&mut self, now: Now) {
        self.queue.give_again();
        self.progressed = now.mono();
    }

    /// Whether what is under way seems to be lost. While nothing is, no time counts.
    pub(crate) fn is_stuck(&mut self, now: Now) -> bool {
        if self.queue.is_empty() {
            self.progressed = now.mono();
        }
        now.mono() >= self.progressed.plus_ms(self.resubmit_ms)
    }

    /// A command of that source was applied. Gives it if it is this process's, and waited.
    pub(crate) fn applied(&mut self, source: Source, now: Now) -> Option<Pending> {
        if !self.queue.is_own(source) {
            return None;
        }
        self.progressed = now.mono();
        let applied = self.queue.applied(source.sequence);
        self.rest.ended(applied.as_ref().and_then(|pending| pending.origin));
        applied
    }

    /// See [`Queue::is_overtaken_by`].
    pub(crate) const fn is_overtaken_by(&self, source: Source) -> bool {
        self.queue.is_overtaken_by(source)
    }

    /// See [`Queue::state_knows`].
    pub(crate) fn state_knows(&mut self, last: Source) -> Vec<Pending> {
        let unknown = self.queue.state_knows(last);
        unknown.iter().for_each(|pending| self.rest.ended(pending.origin));
        unknown
    }

    /// See [`Queue::take_ungiven`].
    pub(crate) fn take_ungiven(&mut self, before: MonoTime) -> Vec<Pending> {
        let ungiven = self.queue.take_ungiven(before);
        ungiven.iter().for_each(|pending| self.rest.ended(pending.origin));
        ungiven
    }

    /// See [`Queue::take_unanswered`].
    pub(crate) fn take_unanswered(&mut self, before: MonoTime) -> Vec<Origin> {
        let unanswered = self.queue.take_unanswered(before);
        unanswered.iter().for_each(|origin| self.rest.ended(Some(*origin)));
        unanswered
    }

    /// The journal is given records of so many bytes under that number. Gives how many commands they hold.
    pub(crate) fn handed_over(&mut self, number: u64, log_bytes: u64) -> u64 {
        self.room.hand_over(number, log_bytes);
        let commands = self.counts.commands - self.handed_over;
        self.handed_over = self.counts.commands;
        commands
    }

    /// The journal has taken everything up to that number and has room for so many bytes more.
    pub(crate) fn room(&mut self, after: u64, bytes: u64) {
        self.room.told(after, bytes);
    }

    /// The journal says whether the disk has room.
    pub(crate) fn space(&mut self, writable: bool) {
        self.room.answered();
        self.writable = writable;
    }

    pub(crate) const fn is_writable(&self) -> bool {
        self.writable
    }

    /// The number of the oldest command that waits, and of the latest.
    pub(crate) fn sequences(&self) -> (u64, u64) {
        (self.queue.first_sequence(), self.queue.last_sequence())
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.len() + self.rest.len()
    }

    pub(crate) const fn waiting_bytes(&self) -> usize {
        self.queue.bytes() + self.rest.bytes()
    }

    pub(crate) const fn incarnation(&self) -> u64 {
        self.queue.incarnation()
    }

    pub(crate) const fn counts(&self) -> ProposalCounts {
        self.counts
    }
}
