//! What other members say, and what a connection to one that breaks does.

use base::Now;
use consensus_raft::{Append, LogIndex, MemberId, Message, Refused, Role};

use super::Replica;
use crate::Fault;
use crate::entry_commands::is_readable;
use crate::founding::FoundingMessage;
use crate::group::Group;
use crate::leadership::LeaderTerm;
use crate::membership::Tenure;
use crate::peer_gate::admits;
use crate::peer_message::PeerMessage;
use crate::reconfiguration::{admit, seated};
use crate::state_machine::StateMachine;

impl<M: StateMachine> Replica<M> {
    /// A message of another member. The driver knows who sent it.
    ///
    /// # Errors
    /// [`Fault`] when a majority says that this member's state is not theirs: it must stop. No message of one member
    /// does that.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each message")]
    pub fn peer(&mut self, from: MemberId, message: PeerMessage<M::Message>, now: Now) -> Result<(), Fault> {
        self.group.view.now = now;
        if self.tenure() != Tenure::Sound {
            // Its driver is about to end it, and its seat may be given up: it votes in nothing more.
            return Ok(());
        }
        if self.group.view.members().contains(from) {
            self.group.view.peers.hear(from, now.mono());
            if message.asks() {
                self.group.view.peers.ask(from, now.mono());
            }
        }
        self.tell_replaced(from, &message);
        let Group { raft, view, out, leadership, lease, .. } = &mut self.group;
        if !admits(from, &message, raft, view, out) {
            return Ok(());
        }
        match message {
            PeerMessage::Engine(message) => self.raft_message(from, message),
            PeerMessage::Machine(message) => self.machine.message(from, message, &mut self.group),
            PeerMessage::LeaseAsk { term, at } => {
                lease.asked(from, (term, at), leadership, raft, view, out);
            }
            PeerMessage::LeaseGrant { term, at } => {
                if lease.granted(from, (term, at), leadership, raft, view) {
                    view.membership.confirm();
                    self.start_serving();
                }
            }
            PeerMessage::LeaderLost { term, leader, last_index } => {
                // Of later terms this member will hear from those who lead in them.
                if term <= raft.term() {
                    self.leader_lost(LeaderTerm { term, leader: leader.known() }, from, last_index);
                }
            }
            PeerMessage::Offer(message) => {
                let is_busy = self.snapshots.own.is_busy();
                self.snapshots.received.offered(from, message, is_busy, raft, view, out);
            }
            PeerMessage::Want { index, chunk } => self.snapshots.sent.wanted(from, index, chunk, now, out),
            PeerMessage::Chunks { index, first, chunks, end } => {
                self.snapshots.received.take_chunks((from, index, first), &chunks, end, raft, view, out);
            }
            PeerMessage::Taken { index, whole } => {
                if self.snapshots.taken(from, index, whole, raft) {
                    self.log_retention.snapshot_taken(from, index);
                }
            }
            PeerMessage::Founding(said) => self.founding(from, &said),
            PeerMessage::Digest { position, digest } => {
                self.divergence.hear(from, position, digest);
                self.compare()?;
            }
        }
        Ok(())
    }

    /// Compares this member's state with those of others.
    fn compare(&mut self) -> Result<(), Fault> {
        match self.divergence.compare(self.group.view.members()) {
            Ok(true) => self.machine.disagrees(&mut self.group),
            Ok(false) => {}
            Err(fault) if M::PARTING_MS == 0 => return Err(fault),
            Err(fault) => self.withdraw(fault),
        }
        Ok(())
    }

    /// This member's state is another than a majority's: nothing is served or applied here from now on.
    fn withdraw(&mut self, fault: Fault) {
        if self.withdrawal.begin(fault, &self.group.view) {
            self.group.lease.end();
            self.stop_serving();
            self.step_aside();
        }
        self.machine.disagrees(&mut self.group);
    }

    /// A message of the engine, for the engine once it is this member's turn to take it in.
    fn raft_message(&mut self, from: MemberId, message: Message) {
        if message.from() != from {
            return self.group.out.refuse_message(from, "a message under another member's name");
        }
        if !message.contents().all(|content| is_readable(content, M::is_readable)) {
            return self.group.out.refuse_message(from, "log entries that this build cannot read");
        }
        let at_once = match message.append() {
            Some(Append { commit, bytes }) => {
                let behind = commit.since(self.group.raft.last_index());
                let lag_entries = self.group.view.config.lag_entries;
                let at_once = self.append_throttle.hold_back(message, bytes, behind, lag_entries);
                self.step_throttled();
                at_once
            }
            None => Some(message),
        };
        if let Some(message) = at_once {
            self.step(message);
        }
        if self.group.raft.leader().is_some_and(|leader| leader == from) {
            self.fast_election.forget();
        }
    }

    /// Gives the engine what it may take in now of the entries that were held back.
    pub(super) fn step_throttled(&mut self) {
        for message in self.append_throttle.step(self.group.view.now.mono()) {
            self.step(message);
        }
    }

    /// Gives the engine a message that has passed the gate.
    fn step(&mut self, message: Message) {
        let from = message.from();
        if let Err(Refused(reason)) = self.group.raft.step(message) {
            self.group.out.refuse_message(from, reason);
        }
    }

    /// A member whose id is gone is told, if its number is to be a member at all: by the leader whatever it says, by
    /// those who have applied all that the leader has when it asks for a lease.
    fn tell_replaced(&mut self, id: MemberId, message: &PeerMessage<M::Message>) {
        let asks = matches!(message, PeerMessage::LeaseAsk { .. });
        let knows = self.group.leadership.leads() || (self.group.lease.serves() && asks);
        let is_answer = matches!(message, PeerMessage::Founding(_));
        if knows && !is_answer && self.group.view.membership.has_replaced(id) {
            let replaced = FoundingMessage::Replaced { id, index: self.group.applier.index() };
            self.group.out.send(id, PeerMessage::Founding(replaced));
        }
    }

    /// A member says something of who is a member.
    fn founding(&mut self, from: MemberId, message: &FoundingMessage) {
        let incarnation = match *message {
            FoundingMessage::Blank { incarnation, .. } => incarnation,
            FoundingMessage::Replaced { id, index } => {
                let is_ahead = index > self.group.applier.index();
                let now = self.group.view.now;
                if self.group.view.membership.deny(from, id, is_ahead, now) {
                    self.stop_serving();
                }
                return;
            }
            _ => return,
        };
        let number = from.number();
        let cluster = self.group.view.config.cluster;
        let Group { leadership, raft, view, .. } = &mut self.group;
        let answer = match admit(number, incarnation, leadership, raft, view) {
            Some(id) => FoundingMessage::Admitted { cluster, id, incarnation },
            None => seated(raft, view),
        };
        self.group.out.send(MemberId::blank(number), PeerMessage::Founding(answer));
    }

    /// Messages to another member were dropped on the way.
    pub fn lost(&mut self, peer: MemberId, now: Now) {
        self.group.view.now = now;
        self.group.raft.unreachable(peer);
    }

    /// The connection to another member stands, or broke. What was sent on one that broke may be lost.
    pub fn link(&mut self, peer: MemberId, up: bool, now: Now) {
        self.group.view.now = now;
        let leads = self.group.raft.leader().is_some_and(|leader| leader == peer);
        if up {
            self.group.view.peers.connect(peer, now.mono());
            if leads {
                self.give_again();
            }
            return;
        }
        self.group.view.peers.disconnect(peer);
        self.deferred_appends.forget(peer);
        self.group.raft.unreachable(peer);
        self.snapshots.disconnected(peer, &mut self.group.raft);
        if !leads {
            return;
        }
        let lost = LeaderTerm { term: self.group.raft.term(), leader: Some(peer) };
        let last_index = self.group.raft.last_index();
        let message = PeerMessage::LeaderLost { term: lost.term, leader: peer, last_index };
        let others = self.group.view.others().into_iter().filter(|other| *other != peer);
        self.group.out.send_each(others, &message);
        self.leader_lost(lost, self.group.view.own(), last_index);
    }

    /// A member has lost its leader. When a majority has, nobody waits for a timeout.
    fn leader_lost(&mut self, lost: LeaderTerm, member: MemberId, last_index: LogIndex) {
        self.fast_election.report(lost, member, last_index);
        if LeaderTerm::of(&self.group.raft) != lost || self.group.raft.role() == Role::Leader {
            return;
        }
        let (own, majority) = (self.group.view.own(), self.group.view.members().majority());
        if self.fast_election.is_over(lost, own, majority, self.group.view.now.mono()) {
            self.group.raft.forget_leader();
        }
    }

    /// Another member's build understands this level.
    pub fn understands(&mut self, peer: MemberId, level: u32) {
        self.group.view.peers.understands(peer, level);
    }
}
