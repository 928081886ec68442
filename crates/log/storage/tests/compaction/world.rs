//! A partition with its store and the compactor on one disk, at random.

use std::collections::BTreeMap;

use base::{Random, WallTime};
use log_compression::compress;
use log_partition::{
    Compaction, CoordinatorEpoch, Isolation, LeaderEpoch, Marker, NewBatch, Offset, Partition,
    PartitionConfig, PartitionId, ProducerEpoch, ProducerId, Replacement, ReplicaId, Segment, Source,
    StoredBatch, StoredEvent, TransactionVersion,
};
use log_storage::{
    Append, CompactionError, Compactor, CompactorConfig, CompactorStep, ReaderConfig, Restored,
    RestoredEvent, SegmentReader, Store, StoreConfig, index_path, segment_path,
};
use log_wire::{Attributes, Batch, BatchBuilder, Compression, Header, Producer, Records, RecordsHead};
use storage_disk::DiskError;
use storage_disk::sim::{Loss, SimDisk};
use storage_wal::{AppendError, Fault, LogId, WalConfig};

use crate::history::{Found, Frame, History, Written};

pub(crate) const ID: PartitionId = PartitionId { topic: [3; 16], index: 0 };
const TRANSACTIONAL: i16 = 1 << 4;

/// What this run is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) keys: u64,
    /// Bytes of the map of keys.
    pub(crate) map_bytes: usize,
    pub(crate) segment_bytes: u64,
    pub(crate) compaction: Compaction,
}

/// See the module.
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) random: Random,
    pub(crate) disk: SimDisk,
    pub(crate) history: History,
    pub(crate) now_ms: i64,
    /// By producer, its epoch and the sequence number that comes next.
    producers: BTreeMap<i64, (i16, i32)>,
    log: Option<LogId>,
    /// How many replacements were taken, and passes were ended.
    pub(crate) replaced: u64,
    pub(crate) passes: u64,
    pub(crate) refused: u64,
    pub(crate) full: u64,
}

/// A process on the disk.
pub(crate) struct Process {
    pub(crate) partition: Partition,
    store: Store<SimDisk>,
    compactor: Compactor<SimDisk>,
    log: LogId,
    /// Whether a pass is at work.
    pub(crate) works: bool,
    /// When that was planned.
    planned: WallTime,
}

/// The disk has failed.
#[derive(Debug)]
pub(crate) struct Crashed;

fn store_config() -> StoreConfig {
    let wal = WalConfig {
        segment_bytes: 16 << 10,
        first_segment_bytes: 8 << 10,
        reserved_bytes: 2 << 10,
        prepare_step_bytes: 4 << 10,
        write_buffer_bytes: 2 << 10,
        recycled_segments_max: 1,
    };
    StoreConfig { wal, write_behind_bytes: 600, memory_bytes_max: 4_000, ..StoreConfig::default() }
}

impl World {
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            setup,
            random: Random::new(setup.seed),
            disk: SimDisk::new(setup.seed),
            history: History::default(),
            now_ms: 1_000_000,
            producers: BTreeMap::new(),
            log: None,
            replaced: 0,
            passes: 0,
            refused: 0,
            full: 0,
        }
    }

    fn config(&self) -> PartitionConfig {
        PartitionConfig {
            segment_bytes: self.setup.segment_bytes,
            compaction: Some(self.setup.compaction),
            retention_ms: None,
            ..PartitionConfig::default()
        }
    }

    /// What was done; nothing if the disk is full.
    fn well<T>(&mut self, result: Result<T, AppendError>) -> Result<Option<T>, Crashed> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(AppendError::Full) => {
                self.full += 1;
                Ok(None)
            }
            Err(error) => {
                assert!(self.disk.crashed(), "failed on a good disk: {error:?}");
                Err(Crashed)
            }
        }
    }

    fn fine<T>(&mut self, result: Result<T, Fault>) -> Result<Option<T>, Crashed> {
        self.well(result.map_err(|fault| match fault.error {
            DiskError::Full => AppendError::Full,
            _ => AppendError::Fault(fault),
        }))
    }

    /// A process begins. What it finds must be what clients have written, up to where its log ends.
    pub(crate) fn start(&mut self) -> Result<Process, Crashed> {
        let opened = Store::open(self.disk.clone(), store_config(), [1; 16], "ours");
        let (mut store, restored) = opened.map_err(|error| {
            assert!(self.disk.crashed(), "failed on a good disk: {error:?}");
            Crashed
        })?;
        let (log, mut partition) = match restored.first() {
            Some(restored) => (restored.log, restore(self.config(), restored)),
            None => {
                assert!(self.log.is_none(), "the partition is lost");
                let created = store.create(ID, Offset(0)).map_err(|_| Crashed)?;
                (created, Partition::new(self.config(), Offset(0)))
            }
        };
        assert_eq!(store.adopt(log, partition.segments().map(Segment::id)), None, "a segment is missing");
        self.fine(store.remove_leftovers())?;
        self.history.cut(partition.end().0);
        self.producers = known_producers(&self.history);
        let epoch = LeaderEpoch(partition.epoch().0 + 1);
        let began = partition.lead_alone(ReplicaId(1), epoch).expect("it may lead");
        let compactor = Compactor::new(self.disk.clone(), CompactorConfig { step_bytes: 700 });
        let planned = WallTime::of_ms(0);
        let mut process = Process { partition, store, compactor, log, works: false, planned };
        while self.well(process.store.put_epoch(log, began.promised, began.begins))?.is_none() {
            self.give_room(&mut process)?;
        }
        self.put_state(&mut process)?;
        self.flush(&mut process)?;
        self.log = Some(log);
        self.check_files(&process);
        Ok(process)
    }

    fn put_state(&mut self, process: &mut Process) -> Result<(), Crashed> {
        let state = process.partition.state();
        while self.well(process.store.put_state(process.log, &state))?.is_none() {
            self.give_room(process)?;
        }
        Ok(())
    }

    pub(crate) fn give_room(&mut self, process: &mut Process) -> Result<(), Crashed> {
        self.disk.set_capacity(u64::MAX);
        self.fine(process.store.try_preallocate()).map(drop)
    }

    /// Only what the partition names is left of files.
    fn check_files(&self, process: &Process) {
        let named: Vec<String> = process
            .partition
            .segments()
            .flat_map(|segment| [segment_path(ID, segment.id()), index_path(ID, segment.id())])
            .collect();
        let paths = self.disk.paths();
        let leftovers: Vec<&String> =
            paths.iter().filter(|path| path.starts_with("data/") && !named.contains(path)).collect();
        assert!(leftovers.is_empty(), "{leftovers:?} of {named:?}");
    }

    fn batch(&mut self, producer: Producer, attributes: i16) -> (Vec<u8>, Vec<Written>) {
        let mut builder = BatchBuilder::new(Attributes(attributes), producer);
        let mut written = Vec::new();
        let transaction = (attributes & TRANSACTIONAL != 0).then_some(producer.id);
        for _ in 0..1 + self.random.below(5) {
            let key = format!("key-{}", self.random.below(self.setup.keys)).into_bytes();
            let value = self.random.chance(80).then(|| {
                let length = self.random.below(60) as usize;
                let mut value = vec![b'v'; length];
                value.extend_from_slice(&self.random.number().to_be_bytes());
                value
            });
            let timestamp_ms = self.now_ms - self.random.below(50) as i64;
            builder.push(
                timestamp_ms,
                Some(&key),
                value.as_deref(),
                &[Header { key: b"h", value: Some(&key) }],
            );
            written.push(Written { key, value, timestamp_ms, transaction });
        }
        let compression = [
            Compression::None,
            Compression::None,
            Compression::Gzip,
            Compression::Snappy,
            Compression::Lz4,
            Compression::Zstd,
        ];
        let compression = compression[self.random.below(6) as usize];
        (compressed(&builder.finish(), compression), written)
    }

    pub(crate) fn append(&mut self, process: &mut Process) -> Result<(), Crashed> {
        let id = self.random.below(6) as i64;
        let (bytes, written) = if id < 3 {
            self.batch(Producer::NONE, 0)
        } else {
            let (epoch, base_sequence) = *self.producers.entry(id).or_insert((0, 0));
            let attributes = if id > 3 { TRANSACTIONAL } else { 0 };
            self.batch(Producer { id, epoch, base_sequence }, attributes)
        };
        let count = written.len() as i64;
        let before = process.partition.clone();
        let appended = process.partition.append(&Batch::read(&bytes).expect("a batch").0, self.now());
        let new = appended.expect("it may be appended").new.expect("it is new");
        // A batch that a crash interrupts may be there afterwards.
        for (offset, record) in (before.end().0..).zip(written) {
            self.history.records.insert(offset, record);
        }
        let stored = self.store_batch(process, before, new)?;
        if let Some((_, sequence)) = self.producers.get_mut(&id).filter(|_| stored) {
            *sequence += count as i32;
        }
        Ok(())
    }

    pub(crate) fn end_transaction(&mut self, process: &mut Process) -> Result<(), Crashed> {
        let open: Vec<i64> = process.partition.tables().transactions.open().map(|(id, _)| id.0).collect();
        if open.is_empty() {
            return Ok(());
        }
        let id = open[self.random.below(open.len() as u64) as usize];
        let commit = self.random.chance(50);
        let (epoch, _) = self.producers[&id];
        let own = self.random.chance(50);
        let marker = Marker {
            producer_id: ProducerId(id),
            epoch: ProducerEpoch(if own { epoch + 1 } else { epoch }),
            coordinator_epoch: CoordinatorEpoch(0),
            commit,
            version: if own { TransactionVersion::EpochPerTransaction } else { TransactionVersion::Classic },
        };
        let before = process.partition.clone();
        let new = process.partition.append_marker(&marker, self.now()).expect("it is open");
        self.history.markers.insert(before.end().0, (id, commit));
        if self.store_batch(process, before, new.expect("it is new"))? && own {
            self.producers.insert(id, (epoch + 1, 0));
        }
        Ok(())
    }

    /// Whether there was room for it.
    fn store_batch(
        &mut self,
        process: &mut Process,
        before: Partition,
        new: NewBatch,
    ) -> Result<bool, Crashed> {
        let NewBatch { at, end, bytes: batch, begun, commit, index, .. } = new;
        let frame = Frame::of(&Batch::read(&batch).expect("a batch").0);
        let append = Append { log: process.log, at, end, now: self.now(), begun, batch, commit, index };
        self.history.frames.insert(frame.base, frame);
        if self.well(process.store.append(&[append]))?.is_none() {
            process.partition = before;
            self.history.cut(process.partition.end().0);
            return Ok(false);
        }
        Ok(true)
    }

    pub(crate) fn now(&self) -> WallTime {
        WallTime::of_ms(self.now_ms)
    }

    pub(crate) fn flush(&mut self, process: &mut Process) -> Result<(), Crashed> {
        if self.fine(process.store.flush())?.is_some() {
            process.partition.persisted(process.partition.last_persist());
        }
        Ok(())
    }

    pub(crate) fn write(&mut self, process: &mut Process, all: bool) -> Result<(), Crashed> {
        self.flush(process)?;
        self.fine(process.store.write_behind(all))?;
        self.fine(process.store.sync_step())?;
        self.fine(process.store.remove_step())?;
        for written in process.store.take_written() {
            process.partition.written(written.end, written.cuts);
        }
        if !process.store.take_states_asked().is_empty() {
            self.put_state(process)?;
        }
        self.fine(process.store.prepare()).map(drop)
    }

    pub(crate) fn delete(&mut self, process: &mut Process) -> Result<(), Crashed> {
        self.flush(process)?;
        let (start, end) = (process.partition.start().0, process.partition.high_watermark().0);
        let before = start + self.random.below((end - start).unsigned_abs() / 3 + 1) as i64;
        let kept = process.partition.clone();
        let Ok((_, Some(new))) = process.partition.delete_records(Offset(before)) else { return Ok(()) };
        if self.well(process.store.set_start(process.log, new.start, new.first_segment))?.is_none() {
            process.partition = kept;
        }
        Ok(())
    }

    /// A step of compaction, or the beginning of a pass.
    pub(crate) fn compact(&mut self, process: &mut Process) -> Result<(), Crashed> {
        if !process.works {
            let need = process.partition.compaction_need(self.now());
            let job = need.and_then(|_| process.partition.compaction_job(self.now(), self.setup.map_bytes));
            let Some(job) = job else { return Ok(()) };
            process.planned = self.now();
            process.compactor.start(ID, job);
            process.works = true;
        }
        match process.compactor.step() {
            CompactorStep::Idle => process.works = false,
            CompactorStep::More => {}
            CompactorStep::Ready(replacement) => self.replace(process, &replacement)?,
            CompactorStep::Done => (process.works, self.passes) = (false, self.passes + 1),
            CompactorStep::Failed(error) => {
                process.works = false;
                let expected = matches!(error, CompactionError::Gone | CompactionError::Full);
                assert!(expected || self.disk.crashed(), "failed on a good disk: {error:?}");
                if self.disk.crashed() {
                    return Err(Crashed);
                }
            }
        }
        Ok(())
    }

    /// Puts new segments in the place of old ones, or refuses them.
    fn replace(&mut self, process: &mut Process, replacement: &Replacement) -> Result<(), Crashed> {
        let before = process.partition.clone();
        if process.partition.replaced(replacement).is_err() {
            process.compactor.refused();
            (process.works, self.refused) = (false, self.refused + 1);
            return Ok(());
        }
        self.met(process, &before, replacement);
        let added = replacement.added.as_ref().map(Segment::id);
        let change = replacement.to_bytes();
        let replaced = process.store.replace(process.log, &change, &replacement.removed, added);
        if self.well(replaced)?.is_none() {
            process.partition = before;
            process.compactor.refused();
            process.works = false;
            return Ok(());
        }
        process.compactor.taken();
        self.replaced += 1;
        Ok(())
    }

    /// The records of these segments were met by a pass.
    fn met(&mut self, process: &Process, before: &Partition, replacement: &Replacement) {
        for segment in before.segments().filter(|segment| replacement.removed.contains(&segment.id())) {
            let range = segment.base().0..segment.end().0;
            let records = self.history.records.range(range.clone()).map(|(offset, _)| *offset);
            let ends = self.history.markers.range(range).map(|(offset, _)| *offset);
            for offset in records.chain(ends) {
                self.history.met_ms.entry(offset).or_insert(process.planned.ms());
            }
        }
    }

    /// Reads the whole log, and compares it with what was written.
    pub(crate) fn check(&mut self, process: &Process) -> Found {
        let mut reader = SegmentReader::new(self.disk.clone(), ReaderConfig::default());
        let (mut from, end) = (process.partition.start().0, process.partition.high_watermark().0);
        let mut found = Found::default();
        while from < end {
            let limit = 1 + self.random.below(3_000) as usize;
            let read = process.partition.read(Offset(from), Isolation::ReadUncommitted, limit);
            let bytes = match read.expect("it is in range").source {
                Source::Nothing => break,
                Source::Memory(batches) => batches.concat(),
                Source::Segment(segment) => {
                    let mut bytes = Vec::new();
                    reader.read(ID, &segment, &mut bytes).expect("nothing is damaged");
                    assert!(!bytes.is_empty(), "nothing at {from} of {end}");
                    bytes
                }
            };
            from = take(&bytes, &mut found, from);
        }
        found.end = end;
        let start = process.partition.start().0;
        self.check_found(process, &found, start);
        found
    }

    fn check_found(&self, process: &Process, found: &Found, start: i64) {
        let stable = process.partition.last_stable().0;
        let mut committed = self.history.clone();
        committed.cut(process.partition.high_watermark().0);
        committed.check(found, start, stable);
        let retention_ms = self.setup.compaction.delete_retention_ms;
        committed.check_tombstones(found, start, self.now_ms, retention_ms);
        committed.check_ends_stay(found, start, self.now_ms, retention_ms);
        self.check_aborted(process, found);
        self.check_last_batches(found, start);
        let last = &process.partition.tables().producers;
        for (id, (epoch, sequence)) in known_producers(&self.history) {
            assert_eq!(
                last.epoch(ProducerId(id)).map(|epoch| epoch.0),
                Some(epoch).filter(|_| sequence >= 0)
            );
        }
    }

    /// The last batch of each producer is there, though perhaps without records.
    fn check_last_batches(&self, found: &Found, start: i64) {
        for (id, (epoch, _)) in known_producers(&self.history) {
            let own = |frame: &&Frame| (frame.producer.0, frame.producer.1) == (id, epoch);
            let is_data = |frame: &&Frame| !self.history.markers.contains_key(&frame.base);
            let last = self.history.frames.values().rev().filter(own).find(is_data);
            let is_there =
                |last: &Frame| found.frames.contains(last) || last.last < start || last.base >= found.end;
            assert!(last.is_none_or(is_there), "{last:?} of producer {id} is gone");
        }
    }

    /// Aborted transactions of which records are left are listed, and none whose end is gone.
    fn check_aborted(&self, process: &Process, found: &Found) {
        let transactions = &process.partition.tables().transactions;
        let listed: Vec<_> = transactions.aborted(Offset(0), Offset::MAX).collect();
        for aborted in &listed {
            let is_there = found.markers.contains(&aborted.marker.0);
            let is_hidden = aborted.marker < process.partition.start();
            let is_read = aborted.marker < process.partition.high_watermark();
            assert!(is_there || is_hidden || !is_read, "{aborted:?} is listed and its marker is gone");
        }
        let (aborted, _) = self.history.uncommitted();
        for (offset, record) in found.records.iter().filter(|(offset, _)| aborted.contains(offset)) {
            let of = record.transaction.map(ProducerId);
            let is_listed = |aborted: &&log_partition::Aborted| {
                Some(aborted.producer_id) == of && aborted.first.0 <= *offset && *offset < aborted.marker.0
            };
            assert!(
                listed.iter().any(|one| is_listed(&one)),
                "the record at {offset} was aborted and looks good"
            );
        }
    }

    pub(crate) fn crash(&mut self, power: bool) {
        if power {
            self.disk.crash([Loss::All, Loss::Some, Loss::Nothing][self.random.below(3) as usize]);
        }
        self.disk.restart();
        self.disk.repair();
    }
}

/// Takes in batches. Gives the offset behind them.
fn take(bytes: &[u8], found: &mut Found, from: i64) -> i64 {
    let (mut rest, mut next) = (bytes, from);
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).expect("whole batches");
        assert!(batch.verify().is_ok() && batch.last_offset() >= next, "a batch that does not verify");
        found.frames.push(Frame::of(&batch));
        if batch.attributes().is_control() {
            if batch.count() > 0 {
                found.markers.insert(batch.base_offset());
            }
        } else {
            take_records(&batch, found);
        }
        (rest, next) = (behind, batch.last_offset() + 1);
    }
    next
}

fn take_records(batch: &Batch<'_>, found: &mut Found) {
    let mut plain = Vec::new();
    let compression = batch.attributes().compression().expect("it is known");
    log_compression::decompress(compression, batch.records(), 1 << 20, &mut plain).expect("it is whole");
    let mut highest = -1;
    for record in Records::new(&plain, batch.count()) {
        let record = record.expect("well formed");
        let timestamp_ms = batch.base_timestamp() + record.timestamp_delta;
        let key = record.key.expect("it has one").to_vec();
        let headers: Vec<_> = record.headers().map(|header| header.expect("well formed")).collect();
        assert_eq!(headers, [Header { key: b"h", value: Some(&key) }]);
        highest = timestamp_ms.max(highest);
        let transaction = batch.attributes().is_transactional().then(|| batch.producer_id());
        let value = record.value.map(<[u8]>::to_vec);
        let written = Written { key, value, timestamp_ms, transaction };
        found.records.insert(batch.base_offset() + i64::from(record.offset_delta), written);
    }
    assert!(batch.count() == 0 || batch.max_timestamp() == highest, "the highest timestamp is another");
}

/// By producer, its epoch and the next sequence number, after what was written.
fn known_producers(history: &History) -> BTreeMap<i64, (i16, i32)> {
    let mut producers = BTreeMap::new();
    for frame in history.frames.values().filter(|frame| frame.producer.0 >= 0) {
        let (id, epoch, first) = frame.producer;
        let next = if history.markers.contains_key(&frame.base) {
            let (known, next) = producers.get(&id).copied().unwrap_or((epoch, 0));
            if known == epoch { next } else { 0 }
        } else {
            first + (frame.last - frame.base) as i32 + 1
        };
        producers.insert(id, (epoch, next));
    }
    producers
}

fn compressed(bytes: &[u8], compression: Compression) -> Vec<u8> {
    let batch = Batch::read(bytes).expect("a batch").0;
    let mut records = Vec::new();
    compress(compression, None, batch.records(), &mut records);
    let head = RecordsHead {
        attributes: batch.attributes().with_compression(compression),
        base_timestamp: batch.base_timestamp(),
        max_timestamp: batch.max_timestamp(),
        count: batch.count(),
    };
    batch.with_records(head, &records)
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
