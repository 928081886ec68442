//! A partition against a model that keeps what clients were told and nothing else.

use std::collections::BTreeMap;

use base::{Random, WallTime};
use bytes::Bytes;
use log_wire::{Batch, ErrorCode};

use crate::test_support::{assigned, lead, plain, transactional};
use crate::trail::Trail;
use crate::{
    CoordinatorEpoch, Isolation, Located, Marker, NewBatch, Offset, Partition, PartitionConfig, Place,
    ProducerEpoch, ProducerId, SegmentBytes, SegmentId, SegmentIndex, SegmentRead, Source, StoredBatch,
    StoredEvent, TransactionVersion,
};

const NOW: WallTime = WallTime::of_ms(1_000_000);

/// Small segments without an index, or large ones.
fn config(large: bool) -> PartitionConfig {
    let (segment_bytes, batch_bytes_max) = if large { (300_000, 30_000) } else { (4_000, 2_000) };
    PartitionConfig { segment_bytes, batch_bytes_max, ..PartitionConfig::default() }
}

/// A segment that is read a few bytes at a time.
struct Content<'a>(&'a [u8]);

impl SegmentBytes for Content<'_> {
    type Error = ();

    fn bytes(&mut self, position: u64, length: usize) -> Result<&[u8], ()> {
        let rest = self.0.get(position as usize..).unwrap_or_default();
        Ok(&rest[..rest.len().min(length)])
    }
}

/// A segment that is not to be read before a place.
struct OnlyFrom<'a>(u64, Content<'a>);

impl SegmentBytes for OnlyFrom<'_> {
    type Error = ();

    fn bytes(&mut self, position: u64, length: usize) -> Result<&[u8], ()> {
        assert!(position >= self.0, "{position} was read before");
        self.1.bytes(position, length)
    }
}

/// What stands on the disk, and what clients were told.
struct World {
    partition: Partition,
    random: Random,
    large: bool,
    segments: BTreeMap<Offset, Vec<u8>>,
    /// The files of their indices, and what a reader knows of each.
    index_files: BTreeMap<SegmentId, Vec<u8>>,
    indices: BTreeMap<SegmentId, SegmentIndex>,
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
        let large = seed.is_multiple_of(3);
        let mut partition = Partition::new(config(large), Offset(0));
        lead(&mut partition, crate::LeaderEpoch(3));
        Self {
            partition,
            random: Random::new(seed),
            large,
            segments: BTreeMap::new(),
            index_files: BTreeMap::new(),
            indices: BTreeMap::new(),
            pending: Vec::new(),
            log: BTreeMap::new(),
            durable: Offset(0),
            open: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    fn took(&mut self, base: Offset, new: Option<NewBatch>) {
        let Some(new) = new else { return };
        for frame in new.index {
            let file = self.index_files.entry(frame.segment).or_default();
            assert!(frame.position <= file.len() as u64, "an index has no hole");
            file.truncate(frame.position as usize);
            file.extend_from_slice(&frame.bytes);
        }
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
            _ => plain(
                0,
                NOW.ms(),
                1 + self.random.below(3) as i32,
                self.random.below(if self.large { 9_000 } else { 400 }) as usize,
            ),
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
        self.partition.persisted(self.partition.last_persist());
        self.ended.clear();
    }

    fn write(&mut self) {
        let durable = self.durable;
        let count = self.pending.iter().take_while(|(_, end, _)| *end <= durable).count();
        for (at, end, bytes) in self.pending.drain(..count) {
            let segment = self.segments.entry(at.segment).or_default();
            assert_eq!(segment.len() as u64, at.position, "a batch stands behind the one before it");
            segment.extend_from_slice(&bytes);
            let most = config(self.large).segment_bytes;
            assert!(segment.len() as u64 <= most, "a segment is as long as it may be");
            let cuts = self.partition.cuts;
            self.partition.written(end, cuts);
        }
    }

    fn delete(&mut self) {
        let below = self.random.below(self.durable.0 as u64 + 1) as i64;
        if let Ok((_, Some(new))) = self.partition.delete_records(Offset(below)) {
            assert_eq!(new.start, Offset(below));
            self.segments.retain(|base, _| *base >= new.first_segment);
            self.pending.retain(|(at, ..)| at.segment >= new.first_segment);
            self.index_files.retain(|segment, _| segment.base >= new.first_segment);
        }
    }

    /// A reader gets whole batches from the one that holds its offset on, up to what it may see, and never nothing while
    /// there is something.
    fn check_read(&mut self) {
        let end = self.partition.end().0;
        let from = self.random.below(end as u64 + 2) as i64;
        let committed = self.random.below(2) == 0;
        let isolation = if committed { Isolation::ReadCommitted } else { Isolation::ReadUncommitted };
        let limit = self.random.below(if self.large { 60_000 } else { 1_500 }) as usize;
        let read = self.partition.read(Offset(from), isolation, limit);
        if from < self.partition.shown_start().0 || from > end {
            return assert_eq!(read, Err(ErrorCode::OffsetOutOfRange));
        }
        let read = read.expect("it is in range");
        let undecided = self.open.values().chain(&self.ended);
        let open = undecided.min().copied().unwrap_or(i64::MAX);
        let bound = if committed { self.durable.0.min(open) } else { self.durable.0 };
        assert_eq!(read.high_watermark, self.durable);
        let bytes = self.bytes_of(&read.source);
        let start = self.partition.start().0;
        assert_eq!(bytes.is_empty(), !(start..bound).contains(&from), "from {from}, {start} to {bound}");
        let (mut rest, mut next, mut first) = (&bytes[..], from, true);
        while !rest.is_empty() {
            let (batch, behind) = Batch::read(rest).expect("whole batches");
            assert!(
                batch.base_offset() <= next && next <= batch.last_offset() && batch.last_offset() < bound
            );
            assert_eq!(Some(batch.bytes()), self.log.get(&next).map(|bytes| &bytes[..]), "offset {next}");
            assert!(batch.verify().is_ok() && batch.leader_epoch() >= 3);
            (rest, next, first) = (behind, batch.last_offset() + 1, false);
        }
        let first_bytes = self.log.get(&from).map_or(0, Bytes::len);
        assert!(first || bytes.len() <= limit.max(first_bytes), "the limit of {limit} holds");
    }

    fn bytes_of(&mut self, source: &Source) -> Vec<u8> {
        match source {
            Source::Nothing => Vec::new(),
            Source::Memory(batches) => batches.concat(),
            Source::Segment(read) => {
                let located = self.locate(read);
                let range = located.map(|found| found.begin.position as usize..found.end.position as usize);
                if let (Some(known), Some(found)) = (read.range(), &range) {
                    assert!(known.start as usize == found.start && known.end as usize <= found.end);
                }
                range.map_or_else(Vec::new, |range| self.segments[&read.segment.base][range].to_vec())
            }
        }
    }

    /// A reader forgets what it knows, or reads the file of the index again, or relies on what it has met.
    fn locate(&mut self, read: &SegmentRead) -> Option<Located> {
        let index = self.indices.entry(read.segment).or_insert_with(|| SegmentIndex::new(read.segment));
        match self.random.below(10) {
            0 => *index = SegmentIndex::new(read.segment),
            1..=3 => {
                let file = self.index_files.get(&read.segment).map_or(&[][..], Vec::as_slice);
                assert_eq!(index.extend(file), file.len());
            }
            _ => {}
        }
        let content = &self.segments.get(&read.segment.base).map_or(&[][..], Vec::as_slice);
        let counts = &content[..read.limit.position as usize];
        read.locate(None, index, &mut Content(counts)).expect("nothing is damaged")
    }

    /// Who reads on where a read ended needs no index and no look at what is before.
    fn check_read_on(&mut self) {
        let mut from = self.random.below(self.durable.0 as u64 + 1) as i64;
        from = from.max(self.partition.start().0);
        for _ in 0..20 {
            let read =
                self.partition.read(Offset(from), Isolation::ReadUncommitted, 30_000).expect("in range");
            let Source::Segment(read) = read.source else { return };
            let Some(located) = self.locate(&read) else { return };
            let on = SegmentRead { from: located.end.offset, ..read };
            if located.end.offset >= read.bound.min(read.limit.offset) {
                return;
            }
            let mut content = OnlyFrom(located.end.position, Content(&self.segments[&read.segment.base]));
            let next = on.locate(Some(located.hint()), &mut SegmentIndex::new(read.segment), &mut content);
            let next = next.expect("nothing is damaged").expect("there is more");
            assert_eq!((next.begin, self.log.contains_key(&next.begin.offset.0)), (located.end, true));
            from = next.begin.offset.0;
        }
    }

    /// The process ends, and all that was durable comes back.
    fn restart(&mut self) {
        self.commit();
        let state = self.partition.state().bytes;
        let stored = self.pending.iter().map(|(at, _, bytes)| {
            StoredEvent::Batch(StoredBatch {
                at: *at,
                now: NOW,
                is_behind_state: false,
                is_written: false,
                begun: &[],
                bytes,
            })
        });
        let restored = Partition::restore(config(self.large), Offset(0), Some(&state), stored);
        self.comes_back_as(restored.expect("it fits together"));
    }

    /// The same with what was appended behind an older state.
    fn restart_from(&mut self, state: &[u8], batches: &[(Place, Bytes)]) {
        self.commit();
        let end = self.pending.first().map_or(Offset::MAX, |(_, end, bytes)| {
            Offset(end.0 - i64::from(assigned(bytes).last_offset_delta()) - 1)
        });
        let stored = batches.iter().map(|(at, bytes)| {
            let is_written = assigned(bytes).base_offset() < end.0;
            StoredEvent::Batch(StoredBatch {
                at: *at,
                now: NOW,
                is_behind_state: true,
                is_written,
                begun: &[],
                bytes,
            })
        });
        let stored =
            stored.chain([StoredEvent::Start(self.partition.start(), self.partition.segments.first_base())]);
        let restored = Partition::restore(config(self.large), Offset(0), Some(state), stored);
        self.comes_back_as(restored.expect("it fits together"));
    }

    /// It is the same as before, and leads under the next epoch.
    fn comes_back_as(&mut self, mut restored: Partition) {
        let whole = |partition: &Partition| {
            let mut whole = partition.clone();
            whole.trail = Trail::default();
            whole.state()
        };
        assert_eq!(whole(&restored), whole(&self.partition));
        assert_eq!(restored.bytes(), self.partition.bytes());
        // What it keeps before it leads is one to begin with, too.
        let state = restored.state();
        let again = Partition::restore(config(self.large), Offset(0), Some(&state.bytes), std::iter::empty());
        assert_eq!(again.map(|again| again.end()), Ok(state.end));
        lead(&mut restored, crate::LeaderEpoch(self.partition.epoch().0 + 1));
        assert_eq!(restored.high_watermark(), restored.end());
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
                27 => world.check_read_on(),
                _ => world.check_read(),
            }
        }
    }
}

#[test]
fn partition_comes_back_from_an_old_state_and_what_was_appended_behind_it() {
    for seed in 0..60 {
        let mut world = World::new(seed);
        for _ in 0..150 {
            world.append();
        }
        world.commit();
        let (state, end) = (world.partition.state().bytes, world.partition.end());
        world.write();
        let mut behind = Vec::new();
        for _ in 0..150 {
            world.append();
        }
        for (at, _, bytes) in &world.pending {
            assert!(assigned(bytes).base_offset() >= end.0);
            behind.push((*at, bytes.clone()));
        }
        if world.random.below(2) == 0 {
            world.commit();
            world.write();
            world.delete();
        }
        world.restart_from(&state, &behind);
        for _ in 0..50 {
            world.append();
            world.check_read();
        }
    }
}

#[test]
fn state_that_is_damaged_or_of_another_build_is_refused() {
    let state = Partition::new(config(false), Offset(4)).state().bytes;
    let restored =
        |state: &[u8]| Partition::restore(config(false), Offset(0), Some(state), std::iter::empty());
    assert_eq!(restored(&state).map(|restored| restored.start()), Ok(Offset(4)));
    assert!((0..state.len()).all(|cut| restored(&state[..cut]).is_err()));
    let older = crate::sealed::seal(1, |_| ());
    assert!(matches!(restored(&older), Err(crate::Damage::Format(1))));
}
