//! What other members say, and what a connection to one that breaks does.

use base::Now;
use consensus_raft::{Append, LogIndex, MemberId, Message, Refused, Role};
use council_wire::Zxid;

use super::Core;
use crate::Fault;
use crate::commands::is_readable;
use crate::founding::FoundingMessage;
use crate::leadership::LeaderTerm;
use crate::peer::PeerMessage;
use crate::peer_gate::admits;
use crate::reconfiguration::{ReconfigJudge, admit, seated};

impl Core {
    /// A message of another member. The driver knows who sent it.
    ///
    /// # Errors
    /// [`Fault`] when a majority says that this member's tree is not theirs: it must stop. No message of one member
    /// does that.
    pub fn peer(&mut self, from: MemberId, message: PeerMessage, now: Now) -> Result<(), Fault> {
        self.view.now = now;
        if self.view.members().contains(from.0) {
            self.view.peers.hear(from, now.mono_ms());
        }
        self.tell_replaced(from, &message);
        let (raft, view, out) = (&mut self.raft, &self.view, &mut self.out);
        if !admits(from, &message, raft, view, out) {
            return Ok(());
        }
        match message {
            PeerMessage::Engine(message) => self.raft_message(from, message),
            PeerMessage::Forward(content) => {
                let judge = ReconfigJudge { view, raft, leads: self.leadership.leads() };
                self.proposer.relay(from, &content, judge, out);
            }
            PeerMessage::TouchAsk { round } => self.sessions.asked(from, round, view, out),
            PeerMessage::Touched { round, ages } => {
                let leadership = &self.leadership;
                let condemned = self.sessions.peer_answered((from, round), &ages, leadership, view, out);
                self.expire(condemned);
            }
            PeerMessage::LeaseAsk { term, at_ms } => {
                self.lease.asked(from, (term, at_ms), &self.leadership, raft, view, out);
            }
            PeerMessage::LeaseGrant { term, at_ms } => {
                if self.lease.granted(from, (term, at_ms), &self.leadership, raft, view) {
                    self.view.membership.confirm();
                    self.start_serving();
                }
            }
            PeerMessage::LeaderLost { term, leader, last_index } => {
                // Of later terms this member will hear from those who lead in them.
                if term <= self.raft.term() {
                    let leader = (leader != 0).then_some(MemberId(leader));
                    self.leader_lost(LeaderTerm { term, leader }, from, last_index);
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
            PeerMessage::Digest { zxid, digest } => {
                self.divergence.hear(from, Zxid(zxid), digest);
                self.divergence.compare(view.members())?;
            }
        }
        Ok(())
    }

    /// A message of raft's, for raft once it is this member's turn to take it in.
    fn raft_message(&mut self, from: MemberId, message: Message) {
        if message.from() != from {
            return self.out.refuse_message(from, "a message under another member's name");
        }
        if !message.contents().all(|content| is_readable(content)) {
            return self.out.refuse_message(from, "log entries that this build cannot read");
        }
        let at_once = match message.append() {
            Some(Append { commit, bytes }) => {
                let behind = commit.since(self.raft.last_index());
                let lag_entries = self.view.config.lag_entries;
                let at_once = self.append_throttle.hold_back(message, bytes, behind, lag_entries);
                self.step_throttled();
                at_once
            }
            None => Some(message),
        };
        if let Some(message) = at_once {
            self.step(message);
        }
        if self.raft.leader().is_some_and(|leader| leader == from) {
            self.fast_election.forget();
        }
    }

    /// Gives raft what it may take in now of the entries that were held back.
    pub(super) fn step_throttled(&mut self) {
        for message in self.append_throttle.step(self.view.now.mono_ms()) {
            self.step(message);
        }
    }

    /// Gives raft a message that has passed the gate.
    fn step(&mut self, message: Message) {
        let from = message.from();
        if let Err(Refused(reason)) = self.raft.step(message) {
            self.out.refuse_message(from, reason);
        }
    }

    /// A member whose id is gone is told, if its number is to be a member at all: by the leader whatever it says, by
    /// those who have applied all that the leader has when it asks for a lease.
    fn tell_replaced(&mut self, id: MemberId, message: &PeerMessage) {
        let asks = matches!(message, PeerMessage::LeaseAsk { .. });
        let knows = self.leadership.leads() || (self.lease.serves() && asks);
        let is_answer = matches!(message, PeerMessage::Founding(_));
        if knows && !is_answer && self.view.membership.has_replaced(id) {
            let replaced = FoundingMessage::Replaced { id: id.0, index: self.applier.index() };
            self.out.send(id, PeerMessage::Founding(replaced));
        }
    }

    /// A member says something of who is a member.
    fn founding(&mut self, from: MemberId, message: &FoundingMessage) {
        let incarnation = match *message {
            FoundingMessage::Blank { incarnation, .. } => incarnation,
            FoundingMessage::Replaced { id, index } => {
                let is_ahead = index > self.applier.index();
                if self.view.membership.deny(from, MemberId(id), is_ahead, self.view.now) {
                    self.lease.stop(&mut self.out);
                }
                return;
            }
            _ => return,
        };
        let number = from.number();
        let cluster = self.view.config.cluster;
        let answer = match admit(number, incarnation, &self.leadership, &mut self.raft, &self.view) {
            Some(id) => FoundingMessage::Admitted { cluster, id: id.0, incarnation },
            None => seated(&self.raft, &self.view),
        };
        self.out.send(MemberId::blank(number), PeerMessage::Founding(answer));
    }

    /// Messages to another member were dropped on the way.
    pub fn lost(&mut self, peer: MemberId, now: Now) {
        self.view.now = now;
        self.raft.unreachable(peer);
    }

    /// The connection to another member stands, or broke. What was sent on one that broke may be lost.
    pub fn link(&mut self, peer: MemberId, up: bool, now: Now) {
        self.view.now = now;
        let leads = self.raft.leader().is_some_and(|leader| leader == peer);
        if up {
            self.view.peers.connect(peer);
            if leads {
                self.give_again();
            }
            return;
        }
        self.view.peers.disconnect(peer);
        let heard_ms = now.mono_ms().min(self.view.heard_ms(peer) + self.view.config.lease_ms);
        self.view.peers.depart(peer, heard_ms);
        self.raft.unreachable(peer);
        self.snapshots.disconnected(peer, &mut self.raft);
        if !leads {
            return;
        }
        let lost = LeaderTerm { term: self.raft.term(), leader: Some(peer) };
        let last_index = self.raft.last_index();
        let message = PeerMessage::LeaderLost { term: lost.term, leader: peer.0, last_index };
        self.out.send_each(self.view.others().into_iter().filter(|other| *other != peer), &message);
        self.leader_lost(lost, self.view.own(), last_index);
    }

    /// A member has lost its leader. When a majority has, nobody waits for a timeout.
    fn leader_lost(&mut self, lost: LeaderTerm, member: MemberId, last_index: LogIndex) {
        self.fast_election.report(lost, member, last_index);
        if LeaderTerm::of(&self.raft) != lost || self.raft.role() == Role::Leader {
            return;
        }
        let (own, majority) = (self.view.own(), self.view.members().majority());
        if self.fast_election.is_over(lost, own, majority, self.view.now.mono_ms()) {
            self.raft.forget_leader();
        }
    }

    /// Another member's build understands this level.
    pub fn understands(&mut self, peer: MemberId, level: u32) {
        self.view.peers.understands(peer, level);
    }
}
