//! Among members: what their messages mean to the core, and what a broken connection does.

use council::{Membership, Role};

use crate::Now;
use crate::core::{Core, Fault};
use crate::founding::{BLANK, NUMBERS};
use crate::peer::PeerMessage;
use crate::round::Asker;
use crate::succession::Reign;

impl Core {
    /// A message of another member. The driver knows who sent it.
    ///
    /// # Errors
    /// [`Fault`] when the message shows that this member's disk has lost what it had promised to keep.
    pub fn peer(&mut self, from: u64, message: PeerMessage, now: Now) -> Result<(), Fault> {
        self.now = now;
        match (&message, from & BLANK != 0) {
            (PeerMessage::Founding(said), _) => self.founding(from % NUMBERS, said),
            // Whoever has no seat has nothing else to say.
            (_, true) => return Ok(()),
            _ => {}
        }
        if self.membership.contains(from) {
            self.hear(from);
        }
        if !self.knows_seat(from) {
            return Ok(());
        }
        match message {
            PeerMessage::Engine(message) => {
                if message.from().0 == from
                    && let Some(message) = self.hold_back(message)
                {
                    self.council.step(message).map_err(|broken| Fault(broken.0))?;
                }
                if self.council.leader().is_some_and(|leader| leader.0 == from) {
                    self.succession.forget();
                }
            }
            PeerMessage::Forward(content) => {
                if self.council.role() == Role::Leader {
                    self.relay(&content);
                }
            }
            PeerMessage::TouchAsk { round } => self.touch_asked(from, round),
            PeerMessage::Touched { round, ages } => self.peer_touched(from, round, &ages),
            PeerMessage::LeaseAsk { term, at_ms } => self.lease_asked(from, term, at_ms),
            PeerMessage::LeaseGrant { term, at_ms } => self.lease_granted(from, term, at_ms),
            PeerMessage::LeaderLost { term, leader, last_index } => {
                self.succession.report(Reign { term, leader }, from, last_index);
                self.end_reign(Reign { term, leader });
            }
            PeerMessage::Offer(message) => self.offered(from, message)?,
            PeerMessage::Want { index, piece } => self.wanted(from, index, piece),
            PeerMessage::Pieces { index, first, pieces, end } => {
                self.take_pieces(from, index, first, &pieces, end);
            }
            PeerMessage::Taken { index, whole } => self.taken(from, index, whole),
            PeerMessage::Founding(_) => {}
            PeerMessage::Digest { zxid, digest } => {
                self.digest_said(from, zxid, digest);
                self.compare_digests()?;
            }
        }
        Ok(())
    }

    /// The members are these now. One that was removed is asked nothing any more, and gets no lease.
    pub(crate) fn change_membership(&mut self, next: Membership) {
        let before = core::mem::replace(&mut self.membership, next);
        for peer in before.others(self.config.member) {
            if !self.membership.contains(peer) {
                let until_ms = self.serves_until_ms(peer);
                let parted = self.parted_peers.entry(peer % NUMBERS).or_default();
                *parted = until_ms.max(*parted);
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
        self.council.unreachable(council::MemberId(peer));
    }

    /// The connection to another member stands, or broke. What was sent on one that broke may be lost.
    pub fn link(&mut self, peer: u64, up: bool, now: Now) {
        self.now = now;
        let leads = self.council.leader().is_some_and(|leader| leader.0 == peer);
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
        self.council.unreachable(council::MemberId(peer));
        self.stop_sending(peer);
        self.stop_receiving(peer);
        if !leads {
            return;
        }
        let reign = Reign { term: self.council.term(), leader: peer };
        let last_index = self.council.last_index();
        let lost = PeerMessage::LeaderLost { term: reign.term, leader: peer, last_index };
        let others = self.membership.others(self.config.member);
        self.outgoing
            .extend(others.into_iter().filter(|other| *other != peer).map(|other| (other, lost.clone())));
        self.succession.report(reign, self.config.member, last_index);
        self.end_reign(reign);
    }

    /// When a majority has lost the leader, nobody waits for a timeout.
    fn end_reign(&mut self, reign: Reign) {
        let present = (self.council.term(), self.council.leader().map_or(0, |leader| leader.0));
        if present != (reign.term, reign.leader) || self.council.role() == Role::Leader {
            return;
        }
        let majority = self.membership.majority();
        if self.succession.is_over(reign, self.config.member, majority, self.now.mono_ms) {
            self.council.forget_leader();
        }
    }

    /// Hands the engine's messages on.
    pub(crate) fn post(&mut self) {
        for envelope in std::mem::take(self.council.outbox()) {
            let peer = envelope.to.0;
            match envelope.message.snapshot() {
                Some(offer) => self.send_offer(peer, offer.index, envelope.message),
                None => self.outgoing.push((peer, PeerMessage::Engine(envelope.message))),
            }
        }
    }
}
