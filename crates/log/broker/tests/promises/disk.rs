//! A disk in memory that keeps what became durable, and after a crash perhaps a beginning of the rest.

use std::collections::BTreeMap;

use log_broker::{DiskCommand, StoredPartition};
use log_partition::PartitionId;
use log_storage::{Append, RestoredBatch};
use storage_wal::LogId;

/// See the module.
#[derive(Default)]
pub(crate) struct Disk {
    logs: BTreeMap<LogId, StoredPartition>,
    /// Commands since the start that are not in `logs` yet, in order.
    pending: Vec<(DiskCommand, Option<LogId>)>,
    /// How many commands were given since the start.
    pub(crate) given: u64,
    last_log: u64,
}

impl Disk {
    /// With partitions that were there before.
    pub(crate) fn holding(stored: Vec<StoredPartition>) -> Self {
        let logs = stored.into_iter().map(|stored| (stored.log, stored)).collect();
        Self { logs, last_log: 7, ..Self::default() }
    }

    /// Takes a command. Gives the log that it creates.
    pub(crate) fn give(&mut self, command: &DiskCommand) -> Option<(PartitionId, LogId)> {
        self.given += 1;
        let mut created = None;
        if let DiskCommand::Create(id, _) = command {
            self.last_log += 1;
            created = Some((*id, LogId(self.last_log)));
        }
        self.pending.push((command.clone(), created.map(|(_, log)| log)));
        created
    }

    /// The first `count` commands since the start are durable.
    pub(crate) fn keep(&mut self, count: u64) {
        let kept = (self.pending.len() as u64 + count).saturating_sub(self.given);
        for (command, created) in self.pending.drain(..kept as usize) {
            carry_out(&mut self.logs, command, created);
        }
    }

    /// How many commands since the start are durable.
    pub(crate) fn durable(&self) -> u64 {
        self.given - self.pending.len() as u64
    }

    /// A crash: of what is not durable only the first `more` commands are kept. Gives what a start finds.
    pub(crate) fn crash(&mut self, more: u64) -> Vec<StoredPartition> {
        self.keep((self.durable() + more).min(self.given));
        self.pending.clear();
        self.given = 0;
        self.logs.values().cloned().collect()
    }
}

fn carry_out(logs: &mut BTreeMap<LogId, StoredPartition>, command: DiskCommand, created: Option<LogId>) {
    match command {
        DiskCommand::Create(id, _) => {
            let log = created.expect("a log was created");
            let (segments, batches) = (Vec::new(), Vec::new());
            logs.insert(log, StoredPartition { log, id, start: None, state: None, segments, batches });
        }
        DiskCommand::Append(Append { log, at, end, now, batch }) => {
            let stored = logs.get_mut(&log).expect("the log is there");
            let (is_behind_state, is_written) = (true, false);
            stored.batches.push(RestoredBatch { at, end, now, is_behind_state, is_written, batch });
        }
        DiskCommand::State(log, state) => {
            let stored = logs.get_mut(&log).expect("the log is there");
            stored.batches.iter_mut().for_each(|batch| batch.is_behind_state = false);
            stored.state = Some(state);
        }
        DiskCommand::Start(log, start, _) => {
            logs.get_mut(&log).expect("the log is there").start = Some(start);
        }
        DiskCommand::Drop(log) => drop(logs.remove(&log)),
    }
}
