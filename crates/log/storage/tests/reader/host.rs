//! A partition with its store, which are asked for everything at once.

use base::WallTime;
use bytes::Bytes;
use log_partition::{
    Isolation, LeaderEpoch, NewBatch, NewEpoch, Offset, Partition, PartitionConfig, PartitionId, ReplicaId,
    Segment, SegmentId, SegmentRead, Source, State, StoredBatch, StoredEvent,
};
use log_storage::{Append, Restored, RestoredEvent, Store, StoreConfig};
use log_wire::{Attributes, Batch, BatchBuilder, Compression, Producer, RecordsHead};
use storage_disk::sim::SimDisk;
use storage_wal::{LogId, Progress, WalConfig};

pub(crate) const ID: PartitionId = PartitionId { topic: [3; 16], index: 0 };

/// See the module.
pub(crate) struct Host {
    pub(crate) disk: SimDisk,
    pub(crate) partition: Partition,
    store: Store<SimDisk>,
    log: LogId,
    /// Every batch, by its first offset.
    pub(crate) batches: Vec<(i64, Bytes)>,
}

fn store_config() -> StoreConfig {
    let wal = WalConfig {
        segment_bytes: 1 << 20,
        first_segment_bytes: 1 << 20,
        reserved_bytes: 4 << 10,
        prepare_step_bytes: 256 << 10,
        write_buffer_bytes: 1 << 20,
        recycled_segments_max: 1,
    };
    StoreConfig { wal, ..StoreConfig::default() }
}

pub(crate) fn config(segment_bytes: u64) -> PartitionConfig {
    PartitionConfig { segment_bytes, ..PartitionConfig::default() }
}

pub(crate) fn batch(time_ms: i64, records: i64, value_bytes: usize) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    for at in 0..records {
        builder.push(time_ms + at, None, Some(&vec![b'v'; value_bytes]), &[]);
    }
    builder.finish()
}

/// The same batch, compressed.
pub(crate) fn compressed(bytes: &[u8], compression: Compression) -> Vec<u8> {
    let batch = Batch::read(bytes).expect("a batch").0;
    let mut records = Vec::new();
    log_compression::compress(compression, None, batch.records(), &mut records);
    let head = RecordsHead {
        attributes: batch.attributes().with_compression(compression),
        base_timestamp: batch.base_timestamp(),
        max_timestamp: batch.max_timestamp(),
        count: batch.count(),
    };
    batch.with_records(head, &records)
}

fn append_of(log: LogId, new: NewBatch, now: WallTime) -> Append {
    let NewBatch { at, end, bytes: batch, begun, commit, index, .. } = new;
    Append { log, at, end, now, begun, batch, commit, index }
}

impl Host {
    pub(crate) fn new(segment_bytes: u64) -> Self {
        let disk = SimDisk::new(1);
        let opened = Store::open(disk.clone(), store_config(), [1; 16], "ours");
        let (mut store, _) = opened.expect("it is empty");
        let log = store.create(ID, Offset(0)).expect("there is room");
        let mut partition = Partition::new(config(segment_bytes), Offset(0));
        let began = partition.lead_alone(ReplicaId(1), LeaderEpoch(1)).expect("it may lead");
        partition.persisted(began.persist);
        let mut host = Self { disk, partition, store, log, batches: Vec::new() };
        host.put_epoch(began);
        host.put_state();
        host
    }

    fn put_epoch(&mut self, began: NewEpoch) {
        self.store.put_epoch(self.log, began.promised, began.begins).expect("there is room");
    }

    fn put_state(&mut self) {
        self.store.put_state(self.log, &self.partition.state()).expect("there is room");
    }

    /// Appends a batch, durably; it is in memory yet.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let now = WallTime::of_ms(1_000);
        let appended = self.partition.append(&Batch::read(bytes).expect("a batch").0, now);
        let new = appended.expect("it may be appended").new.expect("it is new");
        self.batches
            .push((new.end.0 - i64::from(Batch::read(bytes).expect("one").0.count()), new.bytes.clone()));
        let persist = new.persist;
        self.store.append(&[append_of(self.log, new, now)]).expect("there is room");
        self.store.flush().expect("the disk is well");
        self.partition.persisted(persist);
        for log in self.store.take_states_asked() {
            self.store.put_state(log, &self.partition.state()).expect("there is room");
        }
        self.store.prepare().expect("the disk is well");
        self.store.sync_step().expect("the disk is well");
    }

    /// So many other partitions begin, with that batch each, durably; it is in memory yet.
    pub(crate) fn begin_others(&mut self, count: i32, bytes: &[u8]) {
        let now = WallTime::of_ms(1_000);
        for index in 1..=count {
            let log = self.store.create(PartitionId { index, ..ID }, Offset(0)).expect("there is room");
            let mut partition = Partition::new(config(1 << 20), Offset(0));
            let began = partition.lead_alone(ReplicaId(1), LeaderEpoch(1)).expect("it may lead");
            self.store.put_epoch(log, began.promised, began.begins).expect("there is room");
            self.store.put_state(log, &partition.state()).expect("there is room");
            partition.persisted(began.persist);
            let appended = partition.append(&Batch::read(bytes).expect("a batch").0, now);
            let new = appended.expect("it may be appended").new.expect("it is new");
            self.store.append(&[append_of(log, new, now)]).expect("there is room");
        }
        self.store.flush().expect("the disk is well");
    }

    /// A step of writing: whether there is more to do, and how many runs of batches were written.
    pub(crate) fn write_step(&mut self) -> (Progress, usize) {
        let progress = self.store.write_behind(false).expect("the disk is well");
        (progress, self.store.take_written().len())
    }

    /// A step of writing all that is in memory.
    pub(crate) fn begin_to_write(&mut self) -> (Progress, usize) {
        let progress = self.store.write_behind(true).expect("the disk is well");
        (progress, self.store.take_written().len())
    }

    /// Everything that was appended is in its segment.
    pub(crate) fn write(&mut self) {
        self.store.flush().expect("the disk is well");
        while self.store.write_behind(true).expect("the disk is well") == Progress::More {}
        for written in self.store.take_written() {
            self.partition.written(written.end, written.cuts);
        }
    }

    /// The process dies, and another one begins.
    pub(crate) fn restart(self) -> Self {
        let Self { disk, partition, store, log, batches } = self;
        let config = config(segment_bytes(&partition));
        drop(store);
        let opened = Store::open(disk.clone(), store_config(), [2; 16], "ours");
        let (mut store, restored) = opened.expect("the disk is well");
        let mut partition = restore(config, &restored[0]);
        assert_eq!(store.adopt(log, partition.segments().map(Segment::id)), None);
        store.remove_leftovers().expect("the disk is well");
        let epoch = LeaderEpoch(partition.epoch().0 + 1);
        let began = partition.lead_alone(ReplicaId(1), epoch).expect("it may lead");
        partition.persisted(began.persist);
        let mut host = Self { disk, partition, store, log, batches };
        host.put_epoch(began);
        host.put_state();
        host.write();
        host
    }

    /// The copy is given away, and comes back empty.
    pub(crate) fn come_back(&mut self) {
        self.store.drop_log(self.log).expect("there is room");
        self.store.flush().expect("the disk is well");
        while self.store.remove_step().expect("the disk is well") == Progress::More {}
        self.log = self.store.create(ID, Offset(0)).expect("there is room");
        self.partition = Partition::new(config(8 << 20), Offset(0));
        self.partition.set_copy(self.log.0);
        let began = self.partition.lead_alone(ReplicaId(1), LeaderEpoch(2)).expect("it may lead");
        self.partition.persisted(began.persist);
        self.batches.clear();
        self.put_epoch(began);
        self.put_state();
    }

    /// The log begins later.
    pub(crate) fn delete_before(&mut self, before: i64) {
        let (_, new) = self.partition.delete_records(Offset(before)).expect("it is in range");
        let new = new.expect("it changes");
        self.partition.persisted(new.persist);
        self.store.set_start(self.log, new.start, new.first_segment).expect("there is room");
        self.store.flush().expect("the disk is well");
        while self.store.remove_step().expect("the disk is well") == Progress::More {}
    }

    /// What was asked for before the log began later comes after that, as on a full disk: a state, and compacted segments.
    pub(crate) fn come_late(&mut self, state: &State, replaced: SegmentId) {
        self.store.put_state(self.log, state).expect("there is room");
        self.store.replace(self.log, b"no change", &[replaced], None).expect("there is room");
        self.store.flush().expect("the disk is well");
    }

    /// What of the log is read from a segment.
    pub(crate) fn segment_read(&self, from: i64, bytes_max: usize) -> SegmentRead {
        let read = self.partition.read(Offset(from), Isolation::ReadUncommitted, bytes_max);
        match read.expect("it is in range").source {
            Source::Segment(read) => read,
            other => panic!("offset {from} is not in a segment: {other:?}"),
        }
    }
}

fn segment_bytes(partition: &Partition) -> u64 {
    partition.segments().map(Segment::bytes).max().unwrap_or(0).next_power_of_two()
}

fn restore(config: PartitionConfig, restored: &Restored) -> Partition {
    let events = restored.events.iter().map(|event| match event {
        RestoredEvent::Batch(batch) => StoredEvent::Batch(StoredBatch {
            at: batch.at,
            now: batch.now,
            is_behind_state: batch.is_behind_state,
            is_written: batch.is_written,
            begun: &batch.begun,
            bytes: &batch.batch,
        }),
        RestoredEvent::Start(start, first_segment) => StoredEvent::Start(*start, *first_segment),
        RestoredEvent::Replaced(change) => StoredEvent::Replaced(change),
        RestoredEvent::Epoch(promised, begins) => StoredEvent::Epoch(*promised, *begins),
    });
    let restored = Partition::restore(config, restored.created, restored.state.as_deref(), events);
    restored.expect("it fits together")
}
