//! One replica with its disk, and what its owner does for it.

use std::collections::VecDeque;

use replication_appointed::{
    Append, Epoch, EpochStart, Fence, PersistId, Received, Replica, ReplicaId, Seq, Stored,
};
use replication_controller::{Known, Record, Version};

use super::packet::ControllerId;
use crate::disk::{Disk, Entry, Operation};
use crate::violation::Violation;

/// A change of replicas that a leader was asked for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) version: Version,
    pub(super) record: Record,
    /// The replica counts on both sets.
    pub(super) is_counted: bool,
    /// It was sent to the configuration then, and the outcome is not known.
    pub(super) sent: Option<u64>,
    /// When it is given up, if it is not asked for again.
    pub(super) until: u64,
}

/// A replica in a process.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) replica: Replica,
    /// The entries in memory, from the start of the log.
    pub(super) entries: Vec<Entry>,
    pub(super) queue: VecDeque<Operation>,
    /// Promises that controllers wait for.
    pub(super) fences: Vec<(ControllerId, Epoch)>,
    pub(super) known: Option<Known>,
    pub(super) asked: Option<Asked>,
    /// Who is to have everything, and until when nothing is appended.
    pub(super) pause: Option<(ReplicaId, u64)>,
    /// The epoch that it was said not to lead.
    pub(super) said: Epoch,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) disk: Disk,
    pub(super) run: Option<Run>,
}

impl Copy {
    /// A new copy: it begins with the promise of the configuration that names it.
    pub(super) fn new(promised: Epoch) -> Self {
        let mut copy = Self { disk: Disk::promising(promised), run: None };
        copy.start();
        copy
    }

    pub(super) fn start(&mut self) {
        self.run = Some(Run {
            replica: Replica::restore(self.disk.read()),
            entries: self.disk.entries.clone(),
            queue: VecDeque::new(),
            fences: Vec::new(),
            known: None,
            asked: None,
            pause: None,
            said: Epoch::NONE,
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

impl Run {
    pub(super) fn entry(&self, at: Seq) -> Option<Entry> {
        let start = self.replica.log().start();
        self.entries.get(at.0.checked_sub(start.0)? as usize).copied()
    }

    pub(super) fn config_epoch(&self) -> Epoch {
        self.known.as_ref().map_or(Epoch::NONE, |known| known.record.config.epoch)
    }

    /// Leads if that is what the configuration says; whether it begins to.
    pub(super) fn try_lead(&mut self, own: ReplicaId) -> bool {
        let Some(known) = &self.known else { return false };
        if self.replica.lead(own, known.record.config.clone()).is_err() {
            return false;
        }
        (self.asked, self.pause) = (None, None);
        let known = EpochStart { epoch: self.replica.promised(), start: self.replica.log().end() };
        self.queue.extend([Operation::Promise(known.epoch), Operation::Begin(known), Operation::Tell]);
        true
    }

    /// The epoch that it has promised already, if that is higher.
    pub(super) fn fence(&mut self, from: ControllerId, epoch: Epoch) -> Option<Epoch> {
        match self.replica.fence(epoch) {
            Fence::Refused(refused) => Some(refused.promised),
            Fence::Persist(_) => {
                self.queue.extend([Operation::Promise(epoch), Operation::Tell]);
                self.fences.push((from, epoch));
                self.stop_if_idle();
                None
            }
        }
    }

    /// A leader that leads no more has nothing to change.
    pub(super) fn stop_if_idle(&mut self) {
        if !self.replica.is_leading() {
            (self.asked, self.pause) = (None, None);
        }
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
        self.stop_if_idle();
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
