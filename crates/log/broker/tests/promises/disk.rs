//! A disk in memory that keeps what became durable, and after a crash perhaps a beginning of the rest.

use std::collections::BTreeMap;

use base::WallTime;
use bytes::Bytes;
use log_broker::{DiskCommand, StoredPartition};
use log_partition::{
    Begun, LeaderEpoch, Offset, Partition, PartitionConfig, PartitionId, Place, StoredBatch, StoredEvent,
};
use log_storage::Append;
use log_wire::Batch;
use storage_wal::LogId;

/// A log: its newest state, its batches, and where it begins.
struct Log {
    id: PartitionId,
    created: Offset,
    state: Option<Vec<u8>>,
    batches: Vec<Kept>,
    /// Behind the state.
    epochs: Vec<(LeaderEpoch, Option<Offset>)>,
    /// Where it begins, and the first segment that is left.
    start: Option<(Offset, Offset)>,
}

/// A batch. None is ever written to a segment.
struct Kept {
    at: Place,
    now: WallTime,
    is_behind_state: bool,
    begun: Begun,
    bytes: Bytes,
}

impl Log {
    fn restore(&self, log: LogId) -> StoredPartition {
        let batches = self.batches.iter().map(|batch| {
            StoredEvent::Batch(StoredBatch {
                at: batch.at,
                now: batch.now,
                is_behind_state: batch.is_behind_state,
                is_written: false,
                begun: &batch.begun,
                bytes: &batch.bytes,
            })
        });
        // An epoch that begins is found at its place.
        let epochs = self.epochs.iter().map(|(promised, begins)| StoredEvent::Epoch(*promised, *begins));
        let mut events: Vec<_> = epochs.collect();
        for batch in batches {
            let base = |batch: &StoredBatch<'_>| Batch::read(batch.bytes).expect("a batch").0.base_offset();
            let StoredEvent::Batch(stored) = batch else { continue };
            let begun = |event: &StoredEvent<'_>| matches!(event, StoredEvent::Epoch(_, Some(begins)) if begins.0 > base(&stored));
            let at = events.iter().position(begun).unwrap_or(events.len());
            events.insert(at, batch);
        }
        let events =
            events.into_iter().chain(self.start.map(|(start, first)| StoredEvent::Start(start, first)));
        let config = PartitionConfig::default();
        let partition = Partition::restore(config, self.created, self.state.as_deref(), events);
        let partition = Some(partition.expect("it fits together"));
        StoredPartition { log, id: self.id, partition, damage: None }
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Disk {
    logs: BTreeMap<LogId, Log>,
    /// Commands since the start that are not in `logs` yet, in order.
    pending: Vec<(DiskCommand, Option<LogId>)>,
    /// How many commands were given since the start.
    pub(crate) given: u64,
    last_log: u64,
}

impl Disk {
    /// With partitions that were there before.
    pub(crate) fn holding(stored: &[StoredPartition]) -> Self {
        let logs = stored.iter().map(|stored| {
            let state = stored.partition.as_ref().map(|partition| partition.state().bytes);
            let (created, batches, epochs) = (Offset(0), Vec::new(), Vec::new());
            (stored.log, Log { id: stored.id, created, state, batches, epochs, start: None })
        });
        Self { logs: logs.collect(), last_log: 7, ..Self::default() }
    }

    /// The log of the partition of that number, if there is one topic.
    pub(crate) fn log_of(&self, index: i32) -> LogId {
        let mut logs = self.logs.iter().filter(|(_, log)| log.id.index == index);
        *logs.next().expect("it is there").0
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
        self.logs.iter().map(|(log, of)| of.restore(*log)).collect()
    }
}

fn carry_out(logs: &mut BTreeMap<LogId, Log>, command: DiskCommand, created: Option<LogId>) {
    match command {
        DiskCommand::Create(id, created_at) => {
            let log = created.expect("a log was created");
            let (state, batches, epochs) = (None, Vec::new(), Vec::new());
            logs.insert(log, Log { id, created: created_at, state, batches, epochs, start: None });
        }
        DiskCommand::Append(Append { log, at, now, begun, batch: bytes, .. }) => {
            let stored = logs.get_mut(&log).expect("the log is there");
            stored.batches.push(Kept { at, now, is_behind_state: true, begun, bytes });
        }
        DiskCommand::State(log, state) => {
            let stored = logs.get_mut(&log).expect("the log is there");
            let is_behind =
                |batch: &Kept| Batch::read(&batch.bytes).expect("a batch").0.base_offset() >= state.end.0;
            stored.batches.iter_mut().for_each(|batch| batch.is_behind_state = is_behind(batch));
            stored.epochs.clear();
            stored.state = Some(state.bytes);
        }
        DiskCommand::Epoch(log, promised, begins) => {
            logs.get_mut(&log).expect("the log is there").epochs.push((promised, begins));
        }
        DiskCommand::Start(log, start, first) => {
            logs.get_mut(&log).expect("the log is there").start = Some((start, first));
        }
        DiskCommand::Drop(log) => drop(logs.remove(&log)),
        DiskCommand::Cut(log, cut) => {
            let end_of = |batch: &Kept| Batch::read(&batch.bytes).expect("a batch").0.last_offset() + 1;
            logs.get_mut(&log).expect("the log is there").batches.retain(|batch| end_of(batch) <= cut.end.0);
        }
        DiskCommand::Reset(log, created, promised) => {
            let stored = logs.get_mut(&log).expect("the log is there");
            let (state, batches, epochs) = (None, Vec::new(), vec![(promised, None)]);
            *stored = Log { id: stored.id, created, state, batches, epochs, start: None };
        }
        DiskCommand::Replace { .. } => panic!("nothing is compacted here"),
    }
}
