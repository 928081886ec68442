//! What the partition knows of each idempotent producer: its epoch and its last five batches. From that it judges whether a
//! batch is the next one, a duplicate, or neither.
//!
//! The table is a function of the log (L20): batches and markers change it, in the order of the log. Whether a transaction is
//! open, and where it began, is known in `transactions`.
//!
//! Bounded by [`ProducerLimits::producers_max`]. When the table is full, the batch of an unknown producer is refused with
//! `THROTTLING_QUOTA_EXCEEDED`, which clients retry. No known producer is evicted for it: without its entry, a retry of a batch
//! that is in the log would be appended twice (L16).
//!
//! Source: KIP-98, KIP-890, KIP-1228, and the behaviour of Kafka 4.3.

use std::collections::{BTreeMap, VecDeque, btree_map};

use base::WallTime;
use log_wire::{ErrorCode, Reader, Writer};

use crate::sealed::{Damage, check};
use crate::{CoordinatorEpoch, Offset, ProducerEpoch, ProducerId, Sequence};

/// How many batches of a producer are remembered: as many as it may have in flight.
const BATCHES_KEPT: usize = 5;
/// The least bytes of an entry and of a batch in a snapshot.
const ENTRY_BYTES_MIN: usize = 26;
const BATCH_BYTES: usize = 32;

/// The limits of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerLimits {
    /// How many producers are known at a time.
    pub producers_max: usize,
    /// For how long a silent producer is known: `producer.id.expiration.ms`.
    pub expiration_ms: i64,
}

impl Default for ProducerLimits {
    fn default() -> Self {
        Self { producers_max: 65_536, expiration_ms: 86_400_000 }
    }
}

/// The part of a batch's header that concerns its producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerBatch {
    /// Its producer.
    pub id: ProducerId,
    /// The epoch under which it was sent.
    pub epoch: ProducerEpoch,
    /// The sequence number of its first record.
    pub first: Sequence,
    /// The sequence number of its last record.
    pub last: Sequence,
}

/// A batch that is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownBatch {
    first: Sequence,
    last: Sequence,
    /// The offset of its first record.
    pub base_offset: Offset,
    /// The offset of its last record.
    pub last_offset: Offset,
    /// Its highest timestamp, milliseconds.
    pub timestamp_ms: i64,
}

/// What the table shows of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProducer {
    /// Its id.
    pub id: ProducerId,
    /// Its newest epoch.
    pub epoch: ProducerEpoch,
    /// The last sequence number of that epoch, if it has written under it.
    pub last_sequence: Option<Sequence>,
    /// When its last batch or marker was appended.
    pub last_heard: WallTime,
    /// Of its newest marker, if there is one.
    pub coordinator_epoch: Option<CoordinatorEpoch>,
}

/// What a batch is to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be appended.
    New,
    /// It is in the log, there.
    Duplicate(KnownBatch),
}

/// What a marker is to the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerVerdict {
    /// It may be appended.
    New,
    /// It is a retry of a marker that is in the log.
    Repeated,
}

/// Which rule holds for the epoch of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionVersion {
    /// Version 0 or 1: the marker has the epoch of its transaction's records, or a higher one.
    Classic,
    /// Version 2 (KIP-890): each transaction has an epoch of its own, and its marker a higher one (KIP-1228).
    EpochPerTransaction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    epoch: ProducerEpoch,
    /// Of the newest marker, if there is one.
    coordinator_epoch: Option<CoordinatorEpoch>,
    /// When its last batch or marker was appended here.
    last_heard: WallTime,
    /// Those of the present epoch, the oldest first.
    batches: VecDeque<KnownBatch>,
}

impl Entry {
    const fn new(epoch: ProducerEpoch) -> Self {
        Self { epoch, coordinator_epoch: None, last_heard: WallTime::of_ms(0), batches: VecDeque::new() }
    }

    /// Begins the epoch if it is another. The sequence numbers of the old one mean nothing in it. Gives what was before.
    fn enter(&mut self, epoch: ProducerEpoch) -> Before {
        let batches = if self.epoch == epoch {
            BatchesBefore::Same
        } else {
            BatchesBefore::Others(std::mem::take(&mut self.batches))
        };
        let Self { coordinator_epoch, last_heard, .. } = *self;
        Before { epoch: std::mem::replace(&mut self.epoch, epoch), coordinator_epoch, last_heard, batches }
    }

    /// Adds a batch. Gives the one that is forgotten for it.
    fn add(&mut self, known: KnownBatch) -> Option<KnownBatch> {
        let forgotten = if self.batches.len() == BATCHES_KEPT { self.batches.pop_front() } else { None };
        self.batches.push_back(known);
        forgotten
    }

    fn restore(&mut self, before: Before) {
        (self.epoch, self.last_heard) = (before.epoch, before.last_heard);
        self.coordinator_epoch = before.coordinator_epoch;
        match before.batches {
            BatchesBefore::Same => {}
            BatchesBefore::OneLess(first) => {
                self.batches.pop_back();
                first.into_iter().for_each(|first| self.batches.push_front(first));
            }
            BatchesBefore::Others(batches) => self.batches = batches,
        }
    }

    fn expects(&self, epoch: ProducerEpoch) -> Sequence {
        let last = self.batches.back().filter(|_| epoch == self.epoch);
        last.map_or(Sequence(0), |batch| batch.last.next())
    }
}

/// What a batch or a marker has changed of a producer: enough to take it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProducerUndo {
    id: ProducerId,
    /// As it was before; nothing if the producer was unknown.
    before: Option<Before>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Before {
    epoch: ProducerEpoch,
    coordinator_epoch: Option<CoordinatorEpoch>,
    last_heard: WallTime,
    batches: BatchesBefore,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum BatchesBefore {
    /// The same.
    Same,
    /// One less, and this one at the beginning.
    OneLess(Option<KnownBatch>),
    /// Those of an older epoch.
    Others(VecDeque<KnownBatch>),
}

/// The producer table of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Producers {
    entries: BTreeMap<ProducerId, Entry>,
}

/// Which batch says what a producer sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastBatch {
    /// The one that ends with that offset.
    Data(Offset),
    /// The end of a transaction under that epoch.
    Marker(ProducerEpoch),
}

impl Producers {
    /// Takes over a batch that was appended.
    pub fn append(&mut self, batch: &ProducerBatch, known: KnownBatch, now: WallTime) {
        self.take(batch, known, now);
    }

    /// The same, with what takes it back.
    pub(crate) fn take(&mut self, batch: &ProducerBatch, known: KnownBatch, now: WallTime) -> ProducerUndo {
        let (entry, mut before) = self.enter(batch.id, batch.epoch, now);
        let forgotten = entry.add(known);
        if let Some(before) = before.as_mut().filter(|before| before.batches == BatchesBefore::Same) {
            before.batches = BatchesBefore::OneLess(forgotten);
        }
        ProducerUndo { id: batch.id, before }
    }

    /// Takes over a marker that was appended.
    pub fn append_marker(
        &mut self,
        id: ProducerId,
        epoch: ProducerEpoch,
        coordinator_epoch: CoordinatorEpoch,
        now: WallTime,
    ) {
        self.take_marker(id, epoch, Some(coordinator_epoch), now);
    }

    /// The same, with what takes it back. A marker that compaction has emptied says no epoch of its coordinator.
    pub(crate) fn take_marker(
        &mut self,
        id: ProducerId,
        epoch: ProducerEpoch,
        coordinator_epoch: Option<CoordinatorEpoch>,
        now: WallTime,
    ) -> ProducerUndo {
        let (entry, before) = self.enter(id, epoch, now);
        entry.coordinator_epoch = coordinator_epoch.or(entry.coordinator_epoch);
        ProducerUndo { id, before }
    }

    /// Takes back what was taken over last.
    pub(crate) fn take_back(&mut self, undo: ProducerUndo) {
        match (undo.before, self.entries.get_mut(&undo.id)) {
            (Some(before), Some(entry)) => entry.restore(before),
            (None, _) => drop(self.entries.remove(&undo.id)),
            // It was silent for so long that it is forgotten.
            (Some(_), None) => {}
        }
    }

    /// The producer writes under that epoch. Gives what it was before, if it was known.
    fn enter(&mut self, id: ProducerId, epoch: ProducerEpoch, now: WallTime) -> (&mut Entry, Option<Before>) {
        let (entry, before) = match self.entries.entry(id) {
            btree_map::Entry::Vacant(vacant) => (vacant.insert(Entry::new(epoch)), None),
            btree_map::Entry::Occupied(known) => {
                let entry = known.into_mut();
                let before = entry.enter(epoch);
                (entry, Some(before))
            }
        };
        entry.last_heard = entry.last_heard.max(now);
        (entry, before)
    }

    /// Forgets producers that were silent for `producer.id.expiration.ms`. A producer with an open transaction stays: its
    /// marker is still to come, and the epoch that the marker must have is known here only.
    pub fn expire(
        &mut self,
        now: WallTime,
        limits: &ProducerLimits,
        has_open: impl Fn(ProducerId) -> bool,
    ) -> usize {
        let before = self.entries.len();
        self.entries.retain(|id, entry| now.since(entry.last_heard) < limits.expiration_ms || has_open(*id));
        before - self.entries.len()
    }

    /// Judges a batch of a client.
    ///
    /// # Errors
    /// - `INVALID_PRODUCER_EPOCH`: a newer epoch of this producer is known.
    /// - `OUT_OF_ORDER_SEQUENCE_NUMBER`: it is neither the next batch nor one of the last five.
    /// - `THROTTLING_QUOTA_EXCEEDED`: the producer is unknown and the table is full.
    pub fn judge(&self, batch: &ProducerBatch, limits: &ProducerLimits) -> Result<Verdict, ErrorCode> {
        let Some(entry) = self.entries.get(&batch.id) else {
            // Its state may be gone by expiration, so any sequence number may be the next one.
            return self.room(limits).map(|()| Verdict::New);
        };
        if batch.epoch < entry.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if let Some(known) = entry.duplicate(batch) {
            return Ok(Verdict::Duplicate(*known));
        }
        if batch.first == entry.expects(batch.epoch) {
            Ok(Verdict::New)
        } else {
            Err(ErrorCode::OutOfOrderSequenceNumber)
        }
    }

    /// Judges a marker of a coordinator. `has_open` says whether the producer has an open transaction here.
    ///
    /// # Errors
    /// - `INVALID_PRODUCER_EPOCH`: the marker is of an earlier transaction than the one it would end.
    /// - `TRANSACTION_COORDINATOR_FENCED`: a newer coordinator has written a marker for this producer.
    /// - `THROTTLING_QUOTA_EXCEEDED`: the producer is unknown and the table is full.
    pub fn judge_marker(
        &self,
        marker: &Marker,
        has_open: bool,
        limits: &ProducerLimits,
    ) -> Result<MarkerVerdict, ErrorCode> {
        let Some(entry) = self.entries.get(&marker.producer_id) else {
            return self.room(limits).map(|()| MarkerVerdict::New);
        };
        let own_epoch = marker.version == TransactionVersion::EpochPerTransaction;
        if marker.epoch < entry.epoch || (own_epoch && has_open && marker.epoch == entry.epoch) {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if entry.coordinator_epoch.is_some_and(|newest| marker.coordinator_epoch < newest) {
            return Err(ErrorCode::TransactionCoordinatorFenced);
        }
        // Only the marker itself brings a producer to this epoch, or batches of the transaction behind it, which are open
        // or were ended by a marker of a higher epoch.
        let repeated = own_epoch && marker.epoch == entry.epoch && !has_open;
        Ok(if repeated { MarkerVerdict::Repeated } else { MarkerVerdict::New })
    }

    /// Of each producer, the batch that says what it sends next, if that may stand before `bound`.
    pub(crate) fn last_batches(&self, bound: Offset) -> BTreeMap<ProducerId, LastBatch> {
        let last = self.entries.iter().map(|(id, entry)| match entry.batches.back() {
            Some(batch) => (*id, LastBatch::Data(batch.last_offset)),
            None => (*id, LastBatch::Marker(entry.epoch)),
        });
        last.filter(|(_, last)| !matches!(last, LastBatch::Data(offset) if *offset >= bound)).collect()
    }

    /// How many producers are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no producer is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The newest epoch of a producer, if it is known.
    #[must_use]
    pub fn epoch(&self, id: ProducerId) -> Option<ProducerEpoch> {
        self.entries.get(&id).map(|entry| entry.epoch)
    }

    /// All producers that are known.
    pub fn known(&self) -> impl Iterator<Item = KnownProducer> {
        self.entries.iter().map(|(id, entry)| KnownProducer {
            id: *id,
            epoch: entry.epoch,
            last_sequence: entry.batches.back().map(|batch| batch.last),
            last_heard: entry.last_heard,
            coordinator_epoch: entry.coordinator_epoch,
        })
    }

    fn room(&self, limits: &ProducerLimits) -> Result<(), ErrorCode> {
        let room = self.entries.len() < limits.producers_max;
        if room { Ok(()) } else { Err(ErrorCode::ThrottlingQuotaExceeded) }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.count(self.entries.len());
        for (id, entry) in &self.entries {
            writer.i64(id.0).i16(entry.epoch.0).i32(entry.coordinator_epoch.map_or(-1, |epoch| epoch.0));
            writer.i64(entry.last_heard.ms()).count(entry.batches.len());
            for batch in &entry.batches {
                writer.i32(batch.first.0).i32(batch.last.0).i64(batch.base_offset.0);
                writer.i64(batch.last_offset.0).i64(batch.timestamp_ms);
            }
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let mut entries = BTreeMap::new();
        for _ in 0..reader.count(ENTRY_BYTES_MIN)? {
            let id = ProducerId(reader.i64()?);
            let entry = Entry::read(reader)?;
            check(entries.insert(id, entry).is_none(), "a producer occurs twice")?;
        }
        Ok(Self { entries })
    }
}

impl Entry {
    fn duplicate(&self, batch: &ProducerBatch) -> Option<&KnownBatch> {
        let same = |known: &&KnownBatch| known.first == batch.first && known.last == batch.last;
        self.batches.iter().filter(|_| batch.epoch == self.epoch).find(same)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let epoch = ProducerEpoch(reader.i16()?);
        let coordinator_epoch = Some(reader.i32()?).filter(|epoch| *epoch >= 0).map(CoordinatorEpoch);
        let last_heard = WallTime::of_ms(reader.i64()?);
        let count = reader.count(BATCH_BYTES)?;
        check(count <= BATCHES_KEPT, "a producer has more than five batches")?;
        let mut batches = VecDeque::new();
        for _ in 0..count {
            let (first, last) = (Sequence(reader.i32()?), Sequence(reader.i32()?));
            let (base_offset, last_offset) = (Offset(reader.i64()?), Offset(reader.i64()?));
            check(first.0 >= 0 && last.0 >= 0 && base_offset <= last_offset, "a batch contradicts itself")?;
            batches.push_back(KnownBatch {
                first,
                last,
                base_offset,
                last_offset,
                timestamp_ms: reader.i64()?,
            });
        }
        Ok(Self { epoch, coordinator_epoch, last_heard, batches })
    }
}

impl ProducerBatch {
    /// The batch as it is known once it is in the log.
    #[must_use]
    pub const fn known(&self, base_offset: Offset, last_offset: Offset, timestamp_ms: i64) -> KnownBatch {
        KnownBatch { first: self.first, last: self.last, base_offset, last_offset, timestamp_ms }
    }
}

/// The end of a transaction, as a coordinator asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Whose transaction ends.
    pub producer_id: ProducerId,
    /// The epoch of the marker.
    pub epoch: ProducerEpoch,
    /// The epoch of the coordinator.
    pub coordinator_epoch: CoordinatorEpoch,
    /// Whether the transaction is committed; otherwise it is aborted.
    pub commit: bool,
    /// Which rule holds for its epoch.
    pub version: TransactionVersion,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ProducerLimits = ProducerLimits { producers_max: 3, expiration_ms: 1_000 };
    const ID: ProducerId = ProducerId(7);

    fn batch(epoch: i16, first: i32, count: i32) -> ProducerBatch {
        let first = Sequence(first);
        ProducerBatch { id: ID, epoch: ProducerEpoch(epoch), first, last: first.plus(count - 1) }
    }

    /// A table to which these batches (epoch, first sequence, count) were appended from offset 100 on.
    fn table(batches: &[(i16, i32, i32)]) -> Producers {
        let mut producers = Producers::default();
        let mut offset = Offset(100);
        for (epoch, first, count) in batches {
            let batch = batch(*epoch, *first, *count);
            let last = offset.plus(i64::from(*count) - 1);
            producers.append(&batch, batch.known(offset, last, 5), WallTime::of_ms(offset.0));
            offset = last.next();
        }
        producers
    }

    fn judge(producers: &Producers, epoch: i16, first: i32, count: i32) -> Result<Option<i64>, ErrorCode> {
        producers.judge(&batch(epoch, first, count), &LIMITS).map(|verdict| match verdict {
            Verdict::New => None,
            Verdict::Duplicate(known) => Some(known.base_offset.0),
        })
    }

    fn marker(epoch: i16, coordinator: i32, version: TransactionVersion) -> Marker {
        let (epoch, coordinator_epoch) = (ProducerEpoch(epoch), CoordinatorEpoch(coordinator));
        Marker { producer_id: ID, epoch, coordinator_epoch, commit: true, version }
    }

    const OUT_OF_ORDER: Result<Option<i64>, ErrorCode> = Err(ErrorCode::OutOfOrderSequenceNumber);

    #[test]
    fn duplicate_of_one_of_the_last_five_batches_answers_its_offset() {
        let producers = table(&[(0, 0, 2), (0, 2, 1), (0, 3, 1), (0, 4, 1), (0, 5, 1), (0, 6, 3)]);
        assert_eq!(judge(&producers, 0, 2, 1), Ok(Some(102)));
        assert_eq!(judge(&producers, 0, 6, 3), Ok(Some(106)));
        assert_eq!(judge(&producers, 0, 0, 2), OUT_OF_ORDER, "older than the last five");
        assert_eq!(judge(&producers, 0, 6, 2), OUT_OF_ORDER, "a part of a batch");
        assert_eq!(judge(&producers, 0, 2, 2), OUT_OF_ORDER, "two batches as one");
    }

    #[test]
    fn next_batch_follows_without_gap_or_overlap() {
        let producers = table(&[(0, 40, 10)]);
        assert_eq!(judge(&producers, 0, 50, 1), Ok(None));
        assert_eq!(judge(&producers, 0, 51, 1), OUT_OF_ORDER);
        assert_eq!(judge(&producers, 0, 49, 2), OUT_OF_ORDER);
    }

    #[test]
    fn sequence_wraps_between_batches_and_inside_one() {
        let producers = table(&[(0, i32::MAX - 1, 2)]);
        assert_eq!(judge(&producers, 0, 0, 1), Ok(None));
        let producers = table(&[(0, i32::MAX, 3)]);
        assert_eq!(judge(&producers, 0, 2, 1), Ok(None));
        assert_eq!(judge(&producers, 0, i32::MAX, 3), Ok(Some(100)), "a duplicate across the wrap");
    }

    #[test]
    fn epoch_fences_lower_ones_and_begins_at_sequence_zero() {
        let producers = table(&[(3, 0, 1)]);
        assert_eq!(judge(&producers, 2, 1, 1), Err(ErrorCode::InvalidProducerEpoch));
        assert_eq!(judge(&producers, 4, 1, 1), OUT_OF_ORDER);
        assert_eq!(judge(&producers, 4, 0, 1), Ok(None), "no duplicate of another epoch's batch");
        assert_eq!(judge(&producers, 3, 0, 1), Ok(Some(100)));
    }

    #[test]
    fn epoch_known_from_a_marker_alone_begins_at_sequence_zero() {
        let mut producers = table(&[(3, 0, 9)]);
        producers.append_marker(ID, ProducerEpoch(4), CoordinatorEpoch(0), WallTime::of_ms(0));
        assert_eq!(judge(&producers, 4, 9, 1), OUT_OF_ORDER);
        assert_eq!(judge(&producers, 4, 0, 9), Ok(None));
        assert_eq!(judge(&producers, 3, 0, 9), Err(ErrorCode::InvalidProducerEpoch));
    }

    #[test]
    fn unknown_producer_may_begin_anywhere_until_the_table_is_full() {
        let mut producers = Producers::default();
        assert_eq!(judge(&producers, 5, 77, 1), Ok(None));
        for id in 0..3 {
            let batch = ProducerBatch { id: ProducerId(id), ..batch(0, 0, 1) };
            producers.append(&batch, batch.known(Offset(id), Offset(id), 0), WallTime::of_ms(0));
        }
        assert_eq!(judge(&producers, 5, 77, 1), Err(ErrorCode::ThrottlingQuotaExceeded));
        let known = ProducerBatch { id: ProducerId(2), ..batch(0, 1, 1) };
        assert_eq!(producers.judge(&known, &LIMITS), Ok(Verdict::New), "known ones go on");
    }

    #[test]
    fn silent_producer_expires_but_not_with_an_open_transaction() {
        let mut producers = table(&[(0, 0, 1)]);
        assert_eq!(producers.expire(WallTime::of_ms(1_099), &LIMITS, |_| false), 0);
        assert_eq!(producers.expire(WallTime::of_ms(1_100), &LIMITS, |id| id == ID), 0);
        assert_eq!(producers.expire(WallTime::of_ms(1_100), &LIMITS, |_| false), 1);
        assert!(producers.is_empty());
    }

    #[test]
    fn marker_of_an_older_coordinator_is_fenced() {
        let mut producers = table(&[(3, 0, 1)]);
        producers.append_marker(ID, ProducerEpoch(3), CoordinatorEpoch(5), WallTime::of_ms(0));
        let judged = |coordinator| {
            producers.judge_marker(&marker(3, coordinator, TransactionVersion::Classic), true, &LIMITS)
        };
        assert_eq!(judged(4), Err(ErrorCode::TransactionCoordinatorFenced));
        assert_eq!((judged(5), judged(6)), (Ok(MarkerVerdict::New), Ok(MarkerVerdict::New)));
    }

    #[test]
    fn marker_of_version_2_has_a_higher_epoch_than_its_records() {
        let producers = table(&[(3, 0, 1)]);
        let judged = |epoch, version| producers.judge_marker(&marker(epoch, 0, version), true, &LIMITS);
        let fenced = Err(ErrorCode::InvalidProducerEpoch);
        assert_eq!(judged(3, TransactionVersion::EpochPerTransaction), fenced);
        assert_eq!(judged(4, TransactionVersion::EpochPerTransaction), Ok(MarkerVerdict::New));
        assert_eq!(judged(3, TransactionVersion::Classic), Ok(MarkerVerdict::New));
        assert_eq!(judged(2, TransactionVersion::Classic), fenced);
    }

    #[test]
    fn marker_of_version_2_that_is_repeated_is_known() {
        let mut producers = table(&[(3, 0, 1)]);
        producers.append_marker(ID, ProducerEpoch(4), CoordinatorEpoch(1), WallTime::of_ms(0));
        let again = marker(4, 1, TransactionVersion::EpochPerTransaction);
        assert_eq!(producers.judge_marker(&again, false, &LIMITS), Ok(MarkerVerdict::Repeated));
    }
}
