//! The engine's turns: what waits is handed on, and what the engine says is carried to those whom it concerns.

use base::Now;
use consensus_raft::{Ready, Role};
use storage_raft_log::{Batch, log_bytes_max};

use super::Replica;
use crate::batch::BatchWriter;
use crate::convert;
use crate::journal::JournalRequest;
use crate::state_machine::{Persisting, StateMachine};

impl<M: StateMachine> Replica<M> {
    /// Hands on what waits and takes the engine's turns; the requests then hold what to make durable, the outgoing
    /// messages what to send.
    pub fn advance(&mut self, now: Now) {
        self.group.view.now = now;
        self.notice_leader();
        let known = self.group.leadership.known().leader;
        // A leader that was deposed learns its new role only with its next ready cycle. What it took for a proposal until
        // then would stand between its clients' commands and the next leader.
        if self.group.is_leader() && known == Some(self.group.view.own()) {
            self.machine.propose_waiting(&mut self.group);
        } else {
            self.machine.forward_waiting(known, &mut self.group);
        }
        if let Some(question) = self.group.read_index.question(now.mono()) {
            self.group.raft.read_barrier(question);
        }
        while let Some(ready) = self.group.raft.ready() {
            self.turn(ready);
        }
        self.offer_what_is_wanted();
        self.post();
    }

    /// The present leader may not have been given what is under way.
    fn notice_leader(&mut self) {
        let Some(known) = self.group.leadership.notice(&self.group.raft) else { return };
        // Its role is told only with its next turn.
        self.group.lease.leader_changed();
        self.machine.leader_changed(known.leader == Some(self.group.view.own()), self.group.view.now);
        self.group.read_index.again();
        if known.leader.is_some() {
            self.fast_election.forget();
            self.group.lease.ask(&self.group.raft, &self.group.view, &mut self.group.out);
        }
    }

    fn turn(&mut self, ready: Ready) {
        if let Some(offer) = ready.snapshot {
            self.snapshots.received.take_over(offer, &mut self.group.out);
            self.group.applier.drop_committed();
        }
        if let Some(persist) = ready.persist {
            self.persist(persist);
        }
        self.group.applier.commit(ready.committed);
        for (question, index) in ready.barriers {
            self.group.read_index.answered(question, index);
        }
        match ready.role {
            Some(Role::Leader) => {
                self.group.leadership.win();
                self.propose_first();
            }
            Some(_) => {
                self.group.leadership.end();
                self.deferred_appends.forget_all();
                self.machine.lead_ended();
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
        let Persisting { commands, reserved } =
            self.machine.persisting(number, log_bytes_max(batch.entries.len(), content_bytes));
        self.disk_watch.asked(number, self.group.view.now.mono());
        self.group.out.ask_journal(JournalRequest::Persist { number, batch, reserved, commands });
    }

    /// The term's first command: nothing that a machine numbers by terms was ever numbered so by another.
    fn propose_first(&mut self) {
        let mut command = Vec::new();
        self.machine.first_command(&mut command);
        let mut first = BatchWriter::new(self.group.view.config.entry_bytes_max);
        first.push(&command, 0);
        let contents = first.take(self.group.view.now.wall).into_iter().map(|sealed| sealed.content);
        let proposed = self.group.raft.propose(contents.collect());
        assert!(
            proposed.is_ok(),
            "a new leader has nothing under way that could stand against its first proposal"
        );
    }

    /// A member lags behind the log that is kept, and no snapshot is offered that would do: a new one is taken.
    fn offer_what_is_wanted(&mut self) {
        if !self.group.raft.wants_snapshot() {
            return;
        }
        self.log_retention.await_snapshot(self.group.view.now);
        if !self.snapshots.own.is_busy() {
            self.snapshots.own.ask(self.group.applier.index());
        }
    }
}
