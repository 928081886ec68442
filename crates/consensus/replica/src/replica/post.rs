//! What the engine has to say to other members, and when each is told.

use core::cmp::Reverse;

use consensus_raft::{Append, Envelope, MemberId, Message};

use super::Replica;
use crate::peer_message::PeerMessage;
use crate::state_machine::StateMachine;

/// How long a member that asked for something is taken to wait for its answer.
const AWAITS_ANSWER_MS: u64 = 1_000;
/// Turns that wait for the disk of a leader on which commits can count.
const PERSISTING_MAX: usize = 2;

impl<M: StateMachine> Replica<M> {
    /// Hands the engine's messages on.
    pub(super) fn post(&mut self) {
        let envelopes = core::mem::take(self.group.raft.outbox());
        if envelopes.iter().any(|envelope| envelope.message.append().is_some()) {
            self.deferred_appends.comes(self.group.view.now.mono());
        }
        for Envelope { to, message } in envelopes {
            if message.is_bulky() {
                self.post_log(to, message);
            } else {
                self.group.out.send(to, PeerMessage::Engine(message));
            }
        }
    }

    /// Sends what brings that member's log forward, now, later or, if it says nothing that it need know, never.
    fn post_log(&mut self, to: MemberId, message: Message) {
        let now = self.group.view.now;
        let awaits = self.awaits_commit(to);
        if !awaits && self.group.raft.only_tells_commit(to, &message) {
            return;
        }
        if let Some(Append { bytes, .. }) = message.append()
            && !awaits
            && self.deferred_appends.may_wait(bytes)
            && self.is_spare(to)
        {
            if self.deferred_appends.put_off(to, message, now.mono()) {
                self.send_deferred(to);
            }
            return;
        }
        self.send_deferred(to);
        match message.snapshot() {
            Some(offer) => self.snapshots.sent.offer(to, offer.index, message, now, &mut self.group.out),
            None => self.group.out.send(to, PeerMessage::Engine(message)),
        }
    }

    /// Sends entries that have waited long enough.
    pub(super) fn send_due(&mut self) {
        while let Some(peer) = self.deferred_appends.due(self.group.view.now.mono()) {
            self.send_deferred(peer);
        }
    }

    fn send_deferred(&mut self, peer: MemberId) {
        for message in self.deferred_appends.take(peer) {
            self.group.out.send(peer, PeerMessage::Engine(message));
        }
    }

    /// Whether a commit can do without that member: enough others that follow closely come before it, those first that have
    /// the longest logs. Not while members are changed or the lead is handed over, nor while this leader's own disk is
    /// behind.
    fn is_spare(&self, peer: MemberId) -> bool {
        let (raft, members) = (&self.group.raft, self.group.view.members());
        if !raft.is_settled() || raft.persisting() > PERSISTING_MAX {
            return false;
        }
        let rank = |id: MemberId| (raft.matched(id), self.machine.serves_clients(id), Reverse(id));
        let own = rank(peer);
        let counts = |id: &&MemberId| {
            self.group.view.peers.is_connected(**id) && raft.follows_closely(**id) && rank(**id) > own
        };
        // With this member's own vote.
        1 + members.voters.iter().filter(counts).count() >= members.majority()
    }

    /// Whether anybody at that member may wait for what is committed now. If not, the next entries or the next heartbeat tell
    /// it, and a lone write does not wake that member twice.
    fn awaits_commit(&self, peer: MemberId) -> bool {
        let view = &self.group.view;
        self.machine.serves_clients(peer)
            || view.now.mono() <= view.peers.asked_at(peer).plus_ms(AWAITS_ANSWER_MS)
    }
}
