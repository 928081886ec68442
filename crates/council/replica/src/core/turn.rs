//! Raft's turns: what waits is handed on, and what raft says is carried to those whom it concerns.

use base::Now;
use consensus_raft::{Ready, Role};
use council_tree::{Command, Operation};
use storage_raft_log::{Batch, log_bytes_max};

use super::Core;
use crate::peer::PeerMessage;
use crate::proposals::batch::BatchWriter;
use crate::{CoreEffect, convert};

impl Core {
    /// Hands on what waits and takes raft's turns; the effects then hold what to make durable, the outgoing
    /// messages what to send.
    pub fn advance(&mut self, now: Now) {
        self.view.now = now;
        self.notice_leader();
        let (view, out) = (&self.view, &mut self.out);
        // A leader that was deposed learns its new role only with its next ready cycle. What it took for a proposal until
        // then would stand between its clients' commands and the next leader.
        let leads = self.leadership.known().leader == Some(view.own());
        if self.raft.role() == Role::Leader && leads {
            self.proposer.propose_waiting(self.leadership.leads(), &mut self.raft, view, out);
        } else {
            self.proposer.forward_waiting(self.leadership.known().leader, view, out);
        }
        if let Some(question) = self.read_index.question(now.mono_ms()) {
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
        let Some(known) = self.leadership.notice(&self.raft) else { return };
        // Its role is told only with its next turn.
        self.lease.leader_changed();
        self.proposer.leader_changed(known.leader == Some(self.view.own()), self.view.now);
        self.read_index.again();
        if known.leader.is_some() {
            self.fast_election.forget();
            self.lease.ask(&self.raft, &self.view, &mut self.out);
        }
    }

    fn turn(&mut self, ready: Ready) {
        if let Some(offer) = ready.snapshot {
            self.snapshots.received.take_over(offer, &mut self.out);
            self.applier.drop_committed();
        }
        if let Some(persist) = ready.persist {
            self.persist(persist);
        }
        self.applier.commit(ready.committed);
        for (question, index) in ready.barriers {
            self.read_index.answered(question, index);
        }
        match ready.role {
            Some(Role::Leader) => {
                self.leadership.win();
                self.raise_epoch();
            }
            Some(_) => {
                self.leadership.end();
                self.view.membership.config_settled();
                self.sessions.stop_round();
            }
            None => {}
        }
    }

    fn persist(&mut self, persist: consensus_raft::Persist) {
        let number = persist.number;
        let batch = Batch {
            hard_state: persist.hard_state.map(convert::hard_state),
            membership: None,
            entries: persist.entries.into_iter().map(convert::entry).collect(),
        };
        let content_bytes = batch.entries.iter().map(|entry| entry.data.len()).sum();
        let commands = self.proposer.handed_over(number, log_bytes_max(batch.entries.len(), content_bytes));
        self.disk_watch.asked(number, self.view.now.mono_ms());
        let reserved = !self.proposer.is_writable();
        self.out.ask_journal(CoreEffect::Persist { number, batch, reserved, commands });
    }

    /// The term's first transaction: no zxid of this epoch was ever given out by another.
    fn raise_epoch(&mut self) {
        let mut command = Vec::new();
        Command::internal(Operation::RaiseEpoch).encode(&mut command);
        let mut first = BatchWriter::new(self.view.config.entry_bytes_max);
        first.push(&command, 0);
        let contents = first.take(self.view.now.wall_ms).into_iter().map(|sealed| sealed.content);
        let proposed = self.raft.propose(contents.collect());
        assert!(
            proposed.is_ok(),
            "a new leader has nothing under way that could stand against its first proposal"
        );
    }

    /// Somebody lags behind the log that is kept, and no snapshot is offered that would do: a new one is taken.
    fn offer_what_is_wanted(&mut self) {
        if !self.raft.wants_snapshot() {
            return;
        }
        self.log_retention.await_snapshot(self.view.now);
        if !self.snapshots.own.is_busy() {
            self.snapshots.own.ask(self.applier.index());
        }
    }

    /// Hands raft's messages on.
    fn post(&mut self) {
        for envelope in std::mem::take(self.raft.outbox()) {
            let peer = envelope.to;
            match envelope.message.snapshot() {
                Some(offer) => {
                    let (index, now) = (offer.index, self.view.now);
                    self.snapshots.sent.offer(peer, index, envelope.message, now, &mut self.out);
                }
                None => self.out.send(peer, PeerMessage::Engine(envelope.message)),
            }
        }
    }
}
