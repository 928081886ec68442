//! What becomes of each batch in a pass.

use std::collections::{BTreeMap, BTreeSet};

use log_wire::{Batch, Compression, RecordsHead};

use super::kept_records::KeptRecords;
use super::{CompactionJob, OffsetMap};
use crate::plain_records::{Unreadable, each_record, plain_records};
use crate::producers::LastBatch;
use crate::tables::control_kind;
use crate::{Offset, ProducerId};

/// Whether a batch was noted whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// It was.
    Whole,
    /// There was no room for more keys: the pass ends before one of its records.
    Full,
}

/// What is kept of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it, byte by byte.
    Whole,
    /// Nothing.
    Nothing,
    /// This instead: a batch at the same offsets.
    Instead(Vec<u8>),
}

/// A pass over a log. Every batch of the part that was not compacted yet is [noted](Self::map), in order, and then every batch
/// of all segments is [cleaned](Self::clean), in order.
#[derive(Debug)]
pub struct Cleaner {
    now_ms: i64,
    delete_retention_ms: i64,
    keeps_from: Offset,
    dirty_from: Offset,
    /// Everything before was noted.
    mapped_to: Offset,
    map: OffsetMap,
    /// Aborted transactions by producer: the first offset of each, and the offset of its marker.
    aborted: BTreeMap<ProducerId, Vec<(Offset, Offset)>>,
    last_batches: BTreeMap<ProducerId, LastBatch>,
    /// Producers of which records of a transaction were met, and not its end yet.
    met: BTreeSet<ProducerId>,
    /// Whether a batch was met that cannot be read: it may hold the value of a key whose tombstone comes later.
    has_unreadable: bool,
    /// The latest delete horizon of what was kept, milliseconds.
    horizon_ms: Option<i64>,
    /// The first batch of which something stays although its horizon has passed.
    held_from: Option<Offset>,
    /// The offset behind the last thing that went because its horizon has passed.
    thinned_to: Offset,
    removed_aborts: Vec<Offset>,
    buffer: Vec<u8>,
}

impl Cleaner {
    /// Begins a pass.
    #[must_use]
    pub fn new(job: &CompactionJob) -> Self {
        let mut aborted = BTreeMap::<ProducerId, Vec<_>>::new();
        for transaction in &job.aborted {
            let of = aborted.entry(transaction.producer_id).or_default();
            of.push((transaction.first, transaction.marker));
        }
        let offsets = usize::try_from(job.bound().since(job.dirty_from)).unwrap_or(0);
        Self {
            now_ms: job.now.ms(),
            delete_retention_ms: job.delete_retention_ms,
            keeps_from: job.keeps_from,
            dirty_from: job.dirty_from,
            mapped_to: job.dirty_from,
            map: OffsetMap::new(offsets, job.map_bytes_max),
            aborted,
            last_batches: job.last_batches.clone(),
            met: BTreeSet::new(),
            has_unreadable: false,
            horizon_ms: None,
            held_from: None,
            thinned_to: Offset::ZERO,
            removed_aborts: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// Notes the keys of a batch.
    pub fn map(&mut self, batch: &Batch<'_>) -> Mapped {
        let end = Offset(batch.last_offset()).next();
        if end <= self.dirty_from {
            return Mapped::Whole;
        }
        let is_data = !batch.attributes().is_control() && !self.is_aborted(batch);
        let mut buffer = std::mem::take(&mut self.buffer);
        let full_at = if is_data { self.map_records(batch, &mut buffer) } else { None };
        self.buffer = buffer;
        self.mapped_to = full_at.unwrap_or(end);
        if full_at.is_some() { Mapped::Full } else { Mapped::Whole }
    }

    /// Gives the offset for whose key there was no room. A batch that cannot be read says nothing of any key.
    fn map_records(&mut self, batch: &Batch<'_>, buffer: &mut Vec<u8>) -> Option<Offset> {
        let plain = plain_records(batch, buffer).ok()?;
        // Before the first key is noted it must be sure that all of them will be.
        each_record(batch, plain, |_| Ok(())).ok()?;
        let (base, dirty_from) = (Offset(batch.base_offset()), self.dirty_from);
        let mut full_at = None;
        let noted = each_record(batch, plain, |record| {
            let offset = base.plus(i64::from(record.offset_delta));
            let Some(key) = record.key.filter(|_| offset >= dirty_from) else { return Ok(()) };
            if !self.map.put(key, offset) {
                full_at = Some(offset);
                return Err(Unreadable::Records("the map is full"));
            }
            Ok(())
        });
        noted.err().and(full_at)
    }

    /// Says what is kept of a batch.
    pub fn clean(&mut self, batch: &Batch<'_>) -> Kept {
        let is_control = batch.attributes().is_control();
        let is_over = if is_control { self.ends(batch) } else { self.belongs_to_aborted(batch) };
        if is_control { self.clean_control(batch, is_over) } else { self.clean_data(batch, is_over) }
    }

    /// Where the pass ends: everything before was noted.
    #[must_use]
    pub const fn mapped_to(&self) -> Offset {
        self.mapped_to
    }

    /// The latest delete horizon of what was kept, milliseconds; nothing if nothing waits for one.
    #[must_use]
    pub const fn horizon_ms(&self) -> Option<i64> {
        self.horizon_ms
    }

    /// Of which batch something stays although its time is over, because a replica lacks it.
    #[must_use]
    pub const fn held_from(&self) -> Option<Offset> {
        self.held_from
    }

    /// Up to where records without a value and ends of transactions are gone, which nothing newer replaces.
    #[must_use]
    pub const fn thinned_to(&self) -> Offset {
        self.thinned_to
    }

    /// Takes the offsets of markers of aborted transactions that were left out.
    pub fn take_removed_aborts(&mut self) -> Vec<Offset> {
        std::mem::take(&mut self.removed_aborts)
    }

    fn clean_control(&mut self, batch: &Batch<'_>, is_over: bool) -> Kept {
        if batch.count() == 0 {
            return self.without_records(batch);
        }
        if is_over && self.is_past(batch) {
            self.thinned_to = self.thinned_to.max(Offset(batch.last_offset()).next());
            if control_kind(batch).is_some_and(|kind| !kind.commits) {
                self.removed_aborts.push(Offset(batch.base_offset()));
            }
            return self.without_records(batch);
        }
        let all = KeptRecords::all(batch);
        match all.filter(|_| is_over && horizon_of(batch).is_none()) {
            Some(all) => self.rewrite(batch, batch.records(), &all, true),
            None => self.keep(batch),
        }
    }

    fn clean_data(&mut self, batch: &Batch<'_>, is_aborted: bool) -> Kept {
        if is_aborted || batch.count() == 0 {
            return self.without_records(batch);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let plain = plain_records(batch, &mut buffer).ok();
        let kept = plain.and_then(|plain| Some((plain, self.choose(batch, plain).ok()?)));
        let cleaned = match kept {
            Some((plain, kept)) => self.with_chosen(batch, plain, &kept),
            None => {
                self.has_unreadable = true;
                self.keep(batch)
            }
        };
        self.buffer = buffer;
        cleaned
    }

    /// Which records of a batch are kept.
    fn choose(&mut self, batch: &Batch<'_>, plain: &[u8]) -> Result<KeptRecords, Unreadable> {
        let keeps_tombstones = self.has_unreadable || !self.is_past(batch);
        let base = Offset(batch.base_offset());
        let (map, mapped_to, mut thinned_to) = (&self.map, self.mapped_to, self.thinned_to);
        let kept = KeptRecords::choose(batch, plain, |record| {
            let offset = base.plus(i64::from(record.offset_delta));
            let is_newest = |key: &[u8]| map.newest(key).is_none_or(|newest| offset >= newest);
            let is_newest = offset >= mapped_to || record.key.is_some_and(is_newest);
            let is_kept = offset >= mapped_to || record.value.is_some() || keeps_tombstones;
            if is_newest && !is_kept {
                thinned_to = thinned_to.max(offset.next());
            }
            is_newest && is_kept
        });
        self.thinned_to = thinned_to;
        kept
    }

    /// Whether the time of a batch is over, so that what has waited for it may go. If replicas lack it, it is held.
    fn is_past(&mut self, batch: &Batch<'_>) -> bool {
        let is_past = horizon_of(batch).is_some_and(|horizon| horizon <= self.now_ms);
        let is_held = is_past && Offset(batch.last_offset()) >= self.keeps_from;
        if is_held {
            self.held_from.get_or_insert(Offset(batch.last_offset()));
            self.horizon_ms = self.horizon_ms.max(horizon_of(batch));
        }
        is_past && !is_held
    }

    fn with_chosen(&mut self, batch: &Batch<'_>, plain: &[u8], kept: &KeptRecords) -> Kept {
        // Where not all keys are noted, older records of one may stay: whoever reads those must find its tombstone, too.
        let is_mapped = Offset(batch.last_offset()) < self.mapped_to;
        let sets_horizon = kept.has_tombstones && is_mapped && horizon_of(batch).is_none();
        match kept.count {
            0 => self.without_records(batch),
            count if count == batch.count() && !sets_horizon => self.keep(batch),
            _ => self.rewrite(batch, plain, kept, sets_horizon),
        }
    }

    fn rewrite(&mut self, batch: &Batch<'_>, plain: &[u8], kept: &KeptRecords, sets_horizon: bool) -> Kept {
        let horizon = self.now_ms.saturating_add(self.delete_retention_ms);
        let horizon = horizon_of(batch).or(sets_horizon.then_some(horizon));
        self.note_horizon(horizon);
        kept.write(batch, plain, horizon).map_or(Kept::Whole, Kept::Instead)
    }

    fn keep(&mut self, batch: &Batch<'_>) -> Kept {
        self.note_horizon(horizon_of(batch));
        Kept::Whole
    }

    /// What was to go by now is gone, or stays for another reason: nothing waits for a time that is over.
    fn note_horizon(&mut self, horizon: Option<i64>) {
        self.horizon_ms = self.horizon_ms.max(horizon.filter(|horizon| *horizon > self.now_ms));
    }

    /// No record of it is kept: the batch itself is if it says what comes next.
    fn without_records(&self, batch: &Batch<'_>) -> Kept {
        let end = Offset(batch.last_offset()).next();
        if end != self.mapped_to && !self.is_last_of_producer(batch) {
            return Kept::Nothing;
        }
        if batch.count() == 0 {
            return Kept::Whole;
        }
        let attributes = batch.attributes().with_compression(Compression::None).with_delete_horizon(false);
        let max_timestamp = batch.max_timestamp();
        let head = RecordsHead { attributes, base_timestamp: -1, max_timestamp, count: 0 };
        Kept::Instead(batch.with_records(head, &[]))
    }

    fn is_last_of_producer(&self, batch: &Batch<'_>) -> bool {
        match self.last_batches.get(&ProducerId(batch.producer_id())) {
            Some(LastBatch::Data(last)) => *last == Offset(batch.last_offset()),
            Some(LastBatch::Marker(epoch)) => {
                batch.attributes().is_control() && epoch.0 == batch.producer_epoch()
            }
            None => false,
        }
    }

    fn is_aborted(&self, batch: &Batch<'_>) -> bool {
        let offset = Offset(batch.base_offset());
        let of = self.aborted.get(&ProducerId(batch.producer_id()));
        batch.attributes().is_transactional()
            && of.is_some_and(|of| of.iter().any(|(first, marker)| *first <= offset && offset < *marker))
    }

    /// A batch of records was met. Whether its transaction was aborted.
    fn belongs_to_aborted(&mut self, batch: &Batch<'_>) -> bool {
        if batch.attributes().is_transactional() {
            self.met.insert(ProducerId(batch.producer_id()));
        }
        self.is_aborted(batch)
    }

    /// A control batch was met. Whether it ends a transaction of which nothing is left.
    fn ends(&mut self, batch: &Batch<'_>) -> bool {
        let is_end = batch.count() > 0 && control_kind(batch).is_some();
        is_end && !self.met.remove(&ProducerId(batch.producer_id()))
    }
}

fn horizon_of(batch: &Batch<'_>) -> Option<i64> {
    batch.attributes().has_delete_horizon().then(|| batch.base_timestamp())
}

#[cfg(test)]
mod tests {
    use base::WallTime;
    use log_wire::{Attributes, BatchBuilder, Producer};

    use super::*;
    use crate::SegmentId;
    use crate::segment::Segment;
    use crate::test_support::assigned;

    /// A batch of one record.
    fn batch(offset: i64, key: i64, value: Option<&[u8]>) -> Vec<u8> {
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        builder.push(5, Some(&key.to_be_bytes()), value, &[]);
        let mut bytes = builder.finish();
        Batch::assign(&mut bytes, offset, 0);
        bytes
    }

    fn job(segments: Vec<Segment>) -> CompactionJob {
        CompactionJob {
            segments,
            dirty_from: Offset::ZERO,
            now: WallTime::of_ms(9),
            delete_retention_ms: 0,
            segment_bytes: 1 << 20,
            map_bytes_max: 0,
            aborted: Vec::new(),
            keeps_from: Offset::MAX,
            last_batches: BTreeMap::new(),
        }
    }

    #[test]
    fn pass_does_not_wait_for_a_time_that_is_over() {
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        for (key, value) in [(b"1", Some(&b"value"[..])), (b"2", None)] {
            builder.push(5, Some(key), value, &[]);
        }
        let mut bytes = builder.finish();
        Batch::assign(&mut bytes, 0, 0);
        let mut segment = Segment::new(SegmentId::appended(Offset::ZERO));
        segment.push(&assigned(&bytes), WallTime::of_ms(5));
        let mut job = job(vec![segment]);
        job.delete_retention_ms = 10;
        let mut waits = Vec::new();
        for now_ms in [9, 18, 19, 20] {
            job.now = WallTime::of_ms(now_ms);
            let mut cleaner = Cleaner::new(&job);
            cleaner.map(&assigned(&bytes));
            if let Kept::Instead(instead) = cleaner.clean(&assigned(&bytes)) {
                bytes = instead;
            }
            waits.push((cleaner.horizon_ms(), assigned(&bytes).count()));
            job.dirty_from = cleaner.mapped_to();
        }
        assert_eq!(waits, [(Some(19), 2), (Some(19), 2), (None, 1), (None, 1)]);
    }

    #[test]
    fn time_of_a_tombstone_begins_when_its_key_is_noted() {
        let keys = 60;
        let value = |key| batch(key, key, Some(b"value"));
        let batches: Vec<Vec<u8>> = (0..keys).map(value).chain([batch(keys, 0, None)]).collect();
        let mut segment = Segment::new(SegmentId::appended(Offset::ZERO));
        batches.iter().for_each(|bytes| segment.push(&assigned(bytes), WallTime::of_ms(5)));
        // There is room for fewer keys in one pass, so the value of the first key stays in it.
        let mut job = job(vec![segment]);
        for is_noted in [false, true] {
            let mut cleaner = Cleaner::new(&job);
            let _ = batches.iter().find(|bytes| cleaner.map(&assigned(bytes)) == Mapped::Full);
            let kept: Vec<Kept> = batches.iter().map(|bytes| cleaner.clean(&assigned(bytes))).collect();
            assert_eq!(kept[0] == Kept::Nothing, is_noted);
            let is_begun =
                matches!(&kept[60], Kept::Instead(bytes) if horizon_of(&assigned(bytes)).is_some());
            assert_eq!(is_begun, is_noted);
            job.dirty_from = cleaner.mapped_to();
        }
    }
}
