//! A partition against a model that keeps what clients were told and nothing else.

use std::collections::BTreeMap;

use base::{Random, WallTime};
use bytes::Bytes;
use log_wire::{Batch, ErrorCode};

use crate::test_support::{assigned, plain, transactional};
use crate::{
    CoordinatorEpoch, Cut, Isolation, Marker, Offset, Partition, PartitionConfig, Place, ProducerEpoch,
    ProducerId, Source, StoredBatch, Tables, TransactionVersion,
};

const NOW: WallTime = WallTime::of_ms(1_000_000);

fn config() -> PartitionConfig {
    PartitionConfig { segment_bytes: 4_000, batch_bytes_max: 2_000, ..PartitionConfig::default() }
}

/// What stands on the disk, and what clients were told.
struct World {
    partition: Partition,
    random: Random,
    segments: BTreeMap<Offset, Vec<u8>>,
    /// Batches that are not in their segments, with their places.
    pending: Vec<(Place, Offset, Bytes)>,
    /// By offset, the batch of each record.
    log: BTreeMap<i64, Bytes>,
    durable: Offset,
    /// First offsets of open transactions, by producer.
    open: BTreeMap<i64, i64>,
    /// First offsets of those that ended, and whose markers are not committed.
    ended: Vec<i64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut partition = Partition::new(config(), Offset(0));
        partition.lead(crate::LeaderEpoch(3));
        Self {
            partition,
            random: Random::new(seed),
            segments: BTreeMap::new(),
            pending: Vec::new(),
            log: BTreeMap::new(),
            durable: Offset(0),
            open: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    fn took(&mut self, base: Offset, new: Option<crate::NewBatch>) {
        let Some(new) = new else { return };
        for offset in base.0..new.end.0 {
            self.log.insert(offset, new.bytes.clone());
        }
        self.pending.push((new.at, new.end, new.bytes));
    }

    fn append(&mut self) {
        let bytes = match self.random.below(3) {
            0 => {
                let id = self.random.below(3) as i64;
                let sequence = self.random.below(2) as i32 * 7_000;
                let bytes = transactional(0, 10 + id, sequence as i16, 0, 1);
                let first = self.partition.end().0;
                if let Ok(appended) = self.partition.append(&assigned(&bytes), NOW) {
                    if appended.new.is_some() {
                        self.open.entry(10 + id).or_insert(first);
                    }
                    self.took(appended.base, appended.new);
                }
                return;
            }
            _ => plain(0, NOW.ms(), 1 + self.random.below(3) as i32, self.random.below(400) as usize),
        };
        let appended = self.partition.append(&assigned(&bytes), NOW).expect("it may be appended");
        self.took(appended.base, appended.new);
    }

    fn end_transaction(&mut self) {
        let Some((id, first)) = self.open.pop_first() else { return };
        let epoch = self.partition.tables().producers.epoch(ProducerId(id)).expect("it is known");
        let marker = Marker {
            producer_id: ProducerId(id),
            epoch: ProducerEpoch(epoch.0),
            coordinator_epoch: CoordinatorEpoch(0),
            commit: self.random.below(2) == 0,
            version: TransactionVersion::Classic,
        };
        let base = self.partition.end();
        self.ended.push(first);
        let new = self.partition.append_marker(&marker, NOW).expect("it is open");
        self.took(base, new);
    }

    fn commit(&mut self) {
        self.durable = self.partition.end();
        self.partition.committed(self.durable);
        self.ended.clear();
    }

    fn write(&mut self) {
        let durable = self.durable;
        let count = self.pending.iter().take_while(|(_, end, _)| *end <= durable).count();
        for (at, end, bytes) in self.pending.drain(..count) {
            let segment = self.segments.entry(at.segment).or_default();
            assert_eq!(segment.len() as u64, at.position, "a batch stands behind the one before it");
            segment.extend_from_slice(&bytes);
            assert!(segment.len() as u64 <= config().segment_bytes, "a segment is as long as it may be");
            self.partition.written(end);
        }
    }

    fn delete(&mut self) {
        let below = self.random.below(self.durable.0 as u64 + 1) as i64;
        if let Ok(Some(new)) = self.partition.delete_records(Offset(below)) {
            assert_eq!(new.start, Offset(below));
            self.segments.retain(|base, _| *base >= new.first_segment);
            self.pending.retain(|(at, ..)| at.segment >= new.first_segment);
        }
    }

    /// A reader gets whole batches from the one that holds its offset on, up to what it may see, and never nothing while
    /// there is something.
    fn check_read(&mut self) {
        let end = self.partition.end().0;
        let from = self.random.below(end as u64 + 2) as i64;
        let committed = self.random.below(2) == 0;
        let isolation = if committed { Isolation::ReadCommitted } else { Isolation::ReadUncommitted };
        let limit = self.random.below(1_500) as usize;
        let read = self.partition.read(Offset(from), isolation, limit);
        if from < self.partition.start().0 || from > end {
            return assert_eq!(read, Err(ErrorCode::OffsetOutOfRange));
        }
        let read = read.expect("it is in range");
        let undecided = self.open.values().chain(&self.ended);
        let open = undecided.min().copied().unwrap_or(i64::MAX);
        let bound = if committed { self.durable.0.min(open) } else { self.durable.0 };
        assert_eq!(read.high_watermark, self.durable);
        let bytes = self.bytes_of(&read.source);
        assert_eq!(
            bytes.is_empty(),
            from >= bound.max(self.partition.start().0),
            "from {from}, bound {bound}"
        );
        let (mut rest, mut next, mut first) = (&bytes[..], from, true);
        while !rest.is_empty() {
            let (batch, behind) = Batch::read(rest).expect("whole batches");
            assert!(
                batch.base_offset() <= next && next <= batch.last_offset() && batch.last_offset() < bound
            );
            assert_eq!(Some(batch.bytes()), self.log.get(&next).map(|bytes| &bytes[..]), "offset {next}");
            assert!(batch.verify().is_ok() && batch.leader_epoch() == 3);
            (rest, next, first) = (behind, batch.last_offset() + 1, false);
        }
        let first_bytes = self.log.get(&from).map_or(0, Bytes::len);
        assert!(first || bytes.len() <= limit.max(first_bytes), "the limit of {limit} holds");
    }

    fn bytes_of(&self, source: &Source) -> Vec<u8> {
        match source {
            Source::Nothing => Vec::new(),
            Source::Memory(batches) => batches.concat(),
            Source::Segment(read) => {
                let segment = &self.segments[&read.at.segment][read.at.position as usize..];
                let mut bytes = read.first_bytes().min(300);
                loop {
                    let have = &segment[..bytes.min(segment.len())];
                    match read.cut(have) {
                        Cut::Range { begin, end } => return have[begin..end].to_vec(),
                        Cut::More(wanted) => {
                            assert!(wanted > bytes, "it asks for more: {wanted} after {bytes}");
                            bytes = wanted;
                        }
                    }
                }
            }
        }
    }

    /// The process ends, and all that was durable comes back.
    fn restart(&mut self) {
        let tables = Tables::of_bytes(&self.partition.tables().to_bytes()).expect("they are whole");
        self.commit();
        let mut segments = Vec::new();
        for (base, bytes) in &self.segments {
            let mut segment = crate::Segment::new(*base);
            assert_eq!(segment.scan(bytes), Ok(bytes.len()));
            segments.push(segment);
        }
        let stored = self.pending.iter().map(|(at, _, bytes)| StoredBatch {
            at: *at,
            now: NOW,
            is_behind_tables: false,
            is_written: false,
            bytes,
        });
        let restored = Partition::restore(config(), tables, segments, stored).expect("it fits together");
        assert_eq!((restored.tables(), restored.end()), (self.partition.tables(), self.partition.end()));
        self.partition = restored;
    }
}

#[test]
fn readers_see_what_was_appended_and_only_what_they_may() {
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..400 {
            match world.random.below(40) {
                0..=12 => world.append(),
                13 | 14 => world.end_transaction(),
                15..=19 => world.commit(),
                20..=24 => world.write(),
                25 => world.delete(),
                26 => world.restart(),
                _ => world.check_read(),
            }
        }
    }
}
