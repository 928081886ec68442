//! One replica with its disk, and what its owner does for it.

use std::collections::VecDeque;

use replication_appointed::{
    Append, Appended, Config, Epoch, EpochStart, Fence, LeadError, PersistId, Received, Refused, Replica,
    ReplicaId, Seq, Stored, Voters,
};
use replication_node::{Input, LogCopy};

use crate::disk::{Disk, Entry, Operation};
use crate::violation::Violation;

/// A replica in a process.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) replica: Replica,
    /// The entries in memory, from the start of the log.
    pub(super) entries: Vec<Entry>,
    pub(super) queue: VecDeque<Operation>,
    /// Voters that are asked for.
    pub(super) next_voters: Option<Voters>,
    /// It has begun to lead, and that was not checked.
    pub(super) has_begun: bool,
    /// How often voters that were asked for were given up, and not counted.
    pub(super) given_up: usize,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) disk: Disk,
    pub(super) run: Option<Run>,
}

impl Copy {
    /// A new copy with that promise, not ready yet.
    pub(super) fn new(promised: Epoch) -> Self {
        Self { disk: Disk::promising(promised), run: None }
    }

    pub(super) fn start(&mut self) {
        self.run = Some(Run {
            replica: Replica::restore(self.disk.read()),
            entries: self.disk.entries.clone(),
            queue: VecDeque::new(),
            next_voters: None,
            has_begun: false,
            given_up: 0,
        });
    }

    /// The process dies after the disk has done so much more.
    pub(super) fn crash(&mut self, done: usize) {
        if let Some(run) = self.run.take() {
            run.queue.iter().take(done).for_each(|operation| self.disk.apply(operation));
        }
    }

    /// The disk does one thing.
    pub(super) fn step_disk(&mut self) {
        let Some(run) = &mut self.run else { return };
        let Some(operation) = run.queue.pop_front() else { return };
        self.disk.apply(&operation);
        if operation == Operation::Tell {
            let waiting = run.queue.iter().filter(|later| **later == Operation::Tell).count() as u64;
            run.replica.persisted(PersistId(run.replica.last_persist().0 - waiting));
        }
    }
}

impl LogCopy for Run {
    fn replica(&self) -> &Replica {
        &self.replica
    }

    fn fence(&mut self, epoch: Epoch) -> Result<(), Refused> {
        match self.replica.fence(epoch) {
            Fence::Refused(refused) => Err(refused),
            Fence::Persist(_) => {
                self.queue.extend([Operation::Promise(epoch), Operation::Tell]);
                Ok(())
            }
        }
    }

    fn lead(&mut self, own: ReplicaId, config: &Config) -> Result<(), LeadError> {
        self.replica.lead(own, config.clone())?;
        (self.next_voters, self.has_begun) = (None, true);
        let known = EpochStart { epoch: config.epoch, start: self.replica.log().end() };
        self.queue.extend([Operation::Promise(known.epoch), Operation::Begin(known), Operation::Tell]);
        Ok(())
    }

    fn apply(&mut self, input: Input) {
        match &input {
            Input::AskForVoters(voters) => self.next_voters = Some(voters.clone()),
            Input::GiveUpVoters => self.given_up += usize::from(self.next_voters.take().is_some()),
            _ => {}
        }
        input.apply_to(&mut self.replica);
    }

    fn take_answer(&mut self) -> Option<(ReplicaId, Appended)> {
        self.replica.take_answer()
    }
}

impl Run {
    pub(super) fn entry(&self, at: Seq) -> Option<Entry> {
        let start = self.replica.log().start();
        self.entries.get(at.0.checked_sub(start.0)? as usize).copied()
    }

    pub(super) fn append(&mut self, value: u8) {
        self.entries.push(Entry { epoch: self.replica.promised(), value });
        self.queue.extend(self.entries.last().map(|entry| Operation::Store(*entry)));
        self.queue.push_back(Operation::Tell);
        self.replica.appended(Seq(self.replica.log().end().0 + 1));
    }

    /// What is to be sent to this replica, with all entries.
    pub(super) fn next_append(&mut self, to: ReplicaId) -> Option<(Append, Vec<Entry>)> {
        let append = self.replica.next_append(to)?;
        let entries = append.after.end..self.replica.log().end();
        let append = self.replica.with_entries(append, entries);
        self.replica.sent(to, &append);
        let start = self.replica.log().start().0;
        let places = (append.after.end.0 - start) as usize..(append.to.0 - start) as usize;
        Some((append, self.entries[places].to_vec()))
    }

    pub(super) fn receive(
        &mut self,
        from: ReplicaId,
        append: &Append,
        sent: &[Entry],
    ) -> Result<Option<replication_appointed::Answer>, Violation> {
        let received = self.replica.receive_append(from, append).map_err(|bad| Violation::Refused(bad.0))?;
        match received {
            Received::Nothing => Ok(None),
            Received::Answer(answer) => Ok(Some(answer)),
            Received::Store(stored) => {
                self.store(&stored, append, sent);
                Ok(None)
            }
        }
    }

    fn store(&mut self, stored: &Stored, append: &Append, sent: &[Entry]) {
        self.queue.push_back(Operation::Promise(self.replica.promised()));
        if let Some(base) = stored.reset {
            self.entries.clear();
            self.queue.push_back(Operation::Reset(base));
        }
        let start = self.replica.log().start().0;
        if let Some(cut) = stored.cut {
            self.entries.truncate((cut.0 - start) as usize);
            self.queue.push_back(Operation::Cut(cut));
        }
        for at in stored.entries.start.0..stored.entries.end.0 {
            let entry = sent[(at - append.after.end.0) as usize];
            self.entries.push(entry);
            self.queue.push_back(Operation::Store(entry));
        }
        let log = self.replica.log();
        let begun = log.history().starts().last().copied().filter(|known| known.start == log.end());
        self.queue.extend(begun.map(Operation::Begin));
        self.queue.push_back(Operation::Tell);
    }
}
