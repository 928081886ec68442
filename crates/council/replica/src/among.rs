//! Among members: what their messages mean to the core, and what a broken connection does.

use consensus_raft::{Membership, Message, Refused, Role};

use crate::Now;
use crate::commands::is_readable;
use crate::core::{Core, Fault};
use crate::founding::NUMBERS;
use crate::peer::PeerMessage;
use crate::round::Asker;
use crate::succession::Reign;

impl Core {
    /// A message of another member. The driver knows who sent it.
    ///
    /// # Errors
    /// [`Fault`] when a majority says that this member's tree is not theirs: it must stop. No message of one member
    /// does that.
    pub fn peer(&mut self, from: u64, message: PeerMessage, now: Now) -> Result<(), Fault> {
        self.now = now;
        if self.membership.contains(from) {
            self.hear(from);
        }
        self.tell_replaced(from, &message);
        if !self.admits(from, &message) {
            return Ok(());
        }
        match message {
            PeerMessage::Engine(message) => self.engine(from, message),
            PeerMessage::Forward(content) => self.relay(from, &content),
            PeerMessage::TouchAsk { round } => self.touch_asked(from, round),
            PeerMessage::Touched { round, ages } => self.peer_touched(from, round, &ages),
            PeerMessage::LeaseAsk { term, at_ms } => self.lease_asked(from, term, at_ms),
            PeerMessage::LeaseGrant { term, at_ms } => self.lease_granted(from, term, at_ms),
            PeerMessage::LeaderLost { term, leader, last_index } => {
                // Of later terms this member will hear from those who lead in them.
                if term <= self.raft.term() {
                    self.succession.report(Reign { term, leader }, from, last_index);
                    self.end_reign(Reign { term, leader });
                }
            }
            PeerMessage::Offer(message) => self.offered(from, message),
            PeerMessage::Want { index, piece } => self.wanted(from, index, piece),
            PeerMessage::Pieces { index, first, pieces, end } => {
                self.take_pieces(from, index, first, &pieces, end);
            }
            PeerMessage::Taken { index, whole } => self.taken(from, index, whole),
            PeerMessage::Founding(said) => self.founding(from, &said),
            PeerMessage::Digest { zxid, digest } => {
                self.digest_said(from, zxid, digest);
                self.compare_digests()?;
            }
        }
        Ok(())
    }

    /// A message of the engine's, for the engine once it is this member's turn to take it in.
    fn engine(&mut self, from: u64, message: Message) {
        if message.from().0 != from {
            return self.refuse_message(from, "a message under another member's name");
        }
        if !message.contents().all(|content| is_readable(content)) {
            return self.refuse_message(from, "log entries that this build cannot read");
        }
        if let Some(message) = self.hold_back(message) {
            self.step(message);
        }
        if self.raft.leader().is_some_and(|leader| leader.0 == from) {
            self.succession.forget();
        }
    }

    /// Gives the engine a message that has passed the gate.
    pub(crate) fn step(&mut self, message: Message) {
        let from = message.from().0;
        if let Err(Refused(reason)) = self.raft.step(message) {
            self.refuse_message(from, reason);
        }
    }

    /// The members are these now. One that was removed is asked nothing any more, and gets no lease.
    pub(crate) fn change_membership(&mut self, next: Membership) {
        let before = core::mem::replace(&mut self.membership, next);
        for peer in before.others(self.config.member) {
            if !self.membership.contains(peer) {
                let until_ms = self.serves_until_ms(peer);
                let parted = self.parted_peers.entry(peer % NUMBERS).or_default();
                *parted = until_ms.max(*parted);
                self.evicted.note(peer);
                self.comparison.forget(peer);
            }
        }
        // Who votes now may have answered before it did: the round would wait for a majority that never comes.
        self.round.take_if(|round| round.asker == Asker::Us);
    }

    fn hear(&mut self, peer: u64) {
        let now_ms = self.now.mono_ms;
        match self.heard_peers.iter_mut().find(|(other, _)| *other == peer) {
            Some((_, heard_ms)) => *heard_ms = now_ms,
            None => self.heard_peers.push((peer, now_ms)),
        }
    }

    /// Messages to another member were dropped on the way.
    pub fn lost(&mut self, peer: u64, now: Now) {
        self.now = now;
        self.raft.unreachable(consensus_raft::MemberId(peer));
    }

    /// The connection to another member stands, or broke. What was sent on one that broke may be lost.
    pub fn link(&mut self, peer: u64, up: bool, now: Now) {
        self.now = now;
        let leads = self.raft.leader().is_some_and(|leader| leader.0 == peer);
        if up {
            self.linked_peers.insert(peer);
            if leads {
                self.give_again();
            }
            return;
        }
        self.linked_peers.remove(&peer);
        let heard_ms = self.now.mono_ms.min(self.heard_ms(peer) + self.config.lease_ms);
        let parted = self.parted_peers.entry(peer % NUMBERS).or_default();
        *parted = heard_ms.max(*parted);
        self.raft.unreachable(consensus_raft::MemberId(peer));
        self.stop_sending(peer);
        self.stop_receiving(peer);
        if !leads {
            return;
        }
        let reign = Reign { term: self.raft.term(), leader: peer };
        let last_index = self.raft.last_index();
        let lost = PeerMessage::LeaderLost { term: reign.term, leader: peer, last_index };
        let others = self.membership.others(self.config.member);
        self.outgoing
            .extend(others.into_iter().filter(|other| *other != peer).map(|other| (other, lost.clone())));
        self.succession.report(reign, self.config.member, last_index);
        self.end_reign(reign);
    }

    /// When a majority has lost the leader, nobody waits for a timeout.
    fn end_reign(&mut self, reign: Reign) {
        let present = (self.raft.term(), self.raft.leader().map_or(0, |leader| leader.0));
        if present != (reign.term, reign.leader) || self.raft.role() == Role::Leader {
            return;
        }
        let majority = self.membership.majority();
        if self.succession.is_over(reign, self.config.member, majority, self.now.mono_ms) {
            self.raft.forget_leader();
        }
    }

    /// Hands the engine's messages on.
    pub(crate) fn post(&mut self) {
        for envelope in std::mem::take(self.raft.outbox()) {
            let peer = envelope.to.0;
            match envelope.message.snapshot() {
                Some(offer) => self.send_offer(peer, offer.index, envelope.message),
                None => self.outgoing.push((peer, PeerMessage::Engine(envelope.message))),
            }
        }
    }
}
