//! Commands from their arrival until they are applied: whose turn is next, what is put into the log or given to the
//! leader together, and what must be given to the next leader.
//!
//! No more is under way at a time than [`crate::CoreConfig::under_way_max`], but for one command. What comes beyond waits
//! by session and takes turns ([`flows`]): a small write waits for what is under way, and not for all that others have
//! piled up.

mod flows;
mod pending;
mod rest;
mod under_way;
mod weight;

use base::{MonoTime, WallTime};
use bytes::Bytes;
use consensus_raft::LogIndex;
use consensus_replica::batch::{BatchReader, BatchWriter, Sealed};
use council_tree::Command;
use council_wire::SessionId;

use self::flows::{Flows, Waiting};
use self::pending::Pending;
use self::rest::Rest;
use self::under_way::UnderWay;
use self::weight::HEAVY;
pub(crate) use self::weight::{weight_in, weight_of, weight_to_apply};

/// Sessions that have piled commands up get this part of what may be under way. A small write of another session waits
/// for no more than that.
const BULKY_SHARE: u64 = 8;

/// Whose client a command comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// This member's, or it is the member itself that commands.
    Own,
    /// Another member's.
    Relayed,
}

/// Contents of entries to be proposed: other members' commands first.
#[derive(Debug, Default)]
pub(crate) struct Proposal {
    pub(crate) relayed: Vec<Bytes>,
    pub(crate) own: Vec<Bytes>,
    pub(crate) commands: u64,
    pub(crate) bytes: u64,
    pub(crate) weight: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Proposals {
    own: BatchWriter,
    relayed: BatchWriter,
    flows: Flows,
    pending: Pending,
    proposed: UnderWay,
    leads: bool,
    under_way_max: u64,
    rest: Rest,
}

impl Proposals {
    pub(crate) fn new(entry_bytes_max: usize, under_way_max: u64) -> Self {
        Self {
            own: BatchWriter::new(entry_bytes_max),
            relayed: BatchWriter::new(entry_bytes_max),
            flows: Flows::default(),
            pending: Pending::default(),
            proposed: UnderWay::default(),
            leads: false,
            under_way_max,
            rest: Rest::default(),
        }
    }

    /// Takes a command in, behind those of its session.
    pub(crate) fn put(&mut self, command: &[u8], weight: u64, whose: Whose) {
        let is_heavy = weight > HEAVY;
        if !is_heavy {
            self.rest.other_came();
        }
        let waits = is_heavy || !self.flows.is_empty() || !self.has_room();
        match session_of(command).filter(|_| waits) {
            Some(session) => {
                let waiting = Waiting { command: command.into(), weight, is_own: whose == Whose::Own };
                self.flows.push(session, waiting);
            }
            None => self.put_at_once(command, weight, whose),
        }
    }

    /// Takes in what was under way before, which nothing of its session may come before.
    pub(crate) fn put_again(&mut self, command: &[u8]) {
        self.relayed.push(command, weight_of(command));
    }

    fn put_at_once(&mut self, command: &[u8], weight: u64, whose: Whose) {
        match whose {
            Whose::Own => self.own.push(command, weight),
            Whose::Relayed => self.relayed.push(command, weight),
        }
    }

    fn has_room(&self) -> bool {
        self.under_way() < self.under_way_max
    }

    fn under_way(&self) -> u64 {
        let given = if self.leads { self.proposed.weight() } else { self.pending.weight() };
        given + self.own.weight() + self.relayed.weight()
    }

    /// Those whose turn it is join what is proposed or forwarded next. A heavy one goes alone: what is small would have
    /// to wait until it is on the disk.
    pub(crate) fn take_turns(&mut self, now: MonoTime) {
        self.rest.turn(now);
        while self.has_room() {
            if self.flows.has_heavy() && self.may_go_heavy(now) {
                if self.ready() == 0
                    && let Some(heavy) = self.flows.next_heavy()
                {
                    self.rest.begin(now);
                    self.put_turn(&heavy);
                }
                return;
            }
            let may_be_bulky = self.under_way() <= self.under_way_max / BULKY_SHARE;
            let Some(next) = self.flows.next(may_be_bulky) else { return };
            self.put_turn(&next);
        }
    }

    /// Who leads lets one heavy command after another into the log, with rests between them.
    fn may_go_heavy(&self, now: MonoTime) -> bool {
        !self.leads || (!self.proposed.has_heavy() && self.rest.is_over(now))
    }

    fn put_turn(&mut self, turn: &Waiting) {
        self.put_at_once(&turn.command, turn.weight, if turn.is_own { Whose::Own } else { Whose::Relayed });
    }

    /// Commands that may be proposed next.
    pub(crate) const fn ready(&self) -> usize {
        self.own.commands() + self.relayed.commands()
    }

    /// Commands that were not proposed, nor forwarded.
    pub(crate) fn waiting(&self) -> usize {
        self.own.commands() + self.flows.own_commands()
    }

    /// Bytes of other members' commands that wait to be proposed, and of own ones that wait behind them.
    pub(crate) const fn relayed_bytes(&self) -> usize {
        self.relayed.bytes() + self.flows.bytes()
    }

    /// What is to be proposed of it: as much as has room in the journal.
    pub(crate) fn propose(&mut self, wall: WallTime, room: u64) -> Proposal {
        let before = (self.ready(), self.own.bytes() + self.relayed.bytes());
        let weight = self.own.weight() + self.relayed.weight();
        let (relayed, own) = if self.own.log_bytes() + self.relayed.log_bytes() <= room {
            (self.relayed.take(wall), self.own.take(wall))
        } else {
            let (relayed, used) = self.relayed.take_within(wall, room);
            (relayed, self.own.take_within(wall, room - used).0)
        };
        let contents = |sealed: Vec<Sealed>| sealed.into_iter().map(|sealed| sealed.content).collect();
        Proposal {
            relayed: contents(relayed),
            own: contents(own),
            commands: (before.0 - self.ready()) as u64,
            bytes: (before.1 - self.own.bytes() - self.relayed.bytes()) as u64,
            weight: weight - self.own.weight() - self.relayed.weight(),
        }
    }

    /// The most bytes that the first entry to be proposed takes in the log.
    pub(crate) fn first_log_bytes(&self) -> Option<u64> {
        self.relayed.first_log_bytes().or_else(|| self.own.first_log_bytes())
    }

    /// All of a proposal is in the log, up to this entry.
    pub(crate) fn proposed(&mut self, last_index: LogIndex, weight: u64) {
        self.proposed.add(last_index, weight);
    }

    /// Entries up to this one are applied.
    pub(crate) fn applied(&mut self, index: LogIndex) {
        self.rest.applied(self.proposed.applied(index));
    }

    /// When a heavy command that rests may be proposed though nothing else happens.
    pub(crate) fn deadline(&self, now: MonoTime) -> Option<MonoTime> {
        let rests = self.leads && self.flows.has_heavy() && !self.rest.is_over(now);
        rests.then_some(self.rest.until())
    }

    /// Own commands are in the log, among other members: the next leader is to be given them.
    pub(crate) fn keep(&mut self, contents: &[Bytes]) {
        for content in contents {
            // What the log holds is counted there.
            self.pending.keep(content.clone(), 0);
            // Given with this very proposal.
            let _ = self.pending.next();
        }
    }

    /// Own commands are to be forwarded.
    pub(crate) fn keep_to_forward(&mut self) {
        for sealed in self.own.take(WallTime::default()) {
            self.pending.keep(sealed.content, sealed.weight);
        }
    }

    /// The next contents that the present leader is to be given.
    pub(crate) fn next_to_give(&mut self) -> Option<Bytes> {
        self.pending.next()
    }

    /// Everything that is under way is to be given to the leader once more.
    pub(crate) const fn give_again(&mut self) {
        self.pending.again();
    }

    /// Lets go of own commands that are settled. Says whether any were, or none are under way.
    pub(crate) fn settle(&mut self, is_settled: impl FnMut(&Command<'_>) -> bool) -> bool {
        self.pending.settle(is_settled) || self.pending.is_empty()
    }

    /// Whether own commands are under way that may have to be given again.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Bytes of them.
    pub(crate) const fn pending_bytes(&self) -> usize {
        self.pending.bytes()
    }

    /// Another leads, or leads in another term. Other members give their commands to the next leader themselves.
    pub(crate) fn led_anew(&mut self, leads: bool) {
        self.leads = leads;
        self.proposed.clear();
        if !leads {
            self.relayed.clear();
            self.flows.drop_relayed();
        }
    }

    /// A session's present connection is of this generation, or it has ended: what other members gave of it before and is
    /// not proposed would be refused.
    pub(crate) fn came_late(&mut self, session: SessionId, present: Option<u32>) {
        let is_late = |command: &[u8]| {
            let origin = Command::decode(command).ok().and_then(|command| command.origin);
            present.is_none_or(|present| origin.is_some_and(|origin| origin.generation < present))
        };
        self.flows.drop_relayed_of(session, is_late);
    }

    /// All own commands that were not proposed, nor forwarded, in the order of each session, with what they cost beyond
    /// their lengths left out: they are to be refused.
    pub(crate) fn take_waiting(&mut self) -> Vec<Box<[u8]>> {
        let mut all = Vec::new();
        for sealed in self.own.take(WallTime::default()) {
            let Ok(mut reader) = BatchReader::new(&sealed.content) else { continue };
            while let Ok(Some(command)) = reader.next_command() {
                all.push(command.into());
            }
        }
        all.extend(self.flows.take_own());
        all
    }
}

/// The session whose turn a command takes: that of the client who sent it. What the ensemble itself commands, a session's
/// beginning included, takes no turn.
fn session_of(command: &[u8]) -> Option<SessionId> {
    Command::decode(command).ok()?.origin.map(|origin| origin.session)
}

#[cfg(test)]
mod tests;
