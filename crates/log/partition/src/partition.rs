//! One replica of a partition: what may be appended, what is committed, and what may be read.
//!
//! What is committed is what its [`Replica`] says. It is told when what it appended is durable, and when it is in its segment.
//! It touches no disk: a batch that it takes comes back as a [`NewBatch`] with the place where it is to stand, and a read as the
//! place where to read.
//!
//! # Invariants
//! - Every offset from the start to the end is that of exactly one record, or of a hole that compaction made.
//! - `start <= last stable offset <= high watermark <= end`. Nothing at or above the high watermark is ever read.
//! - The tables are those of the log up to its end (L20): what is refused changes nothing, and what is cut off is taken back.

use std::collections::VecDeque;

use base::{Random, WallTime};
use bytes::Bytes;
use log_wire::{Attributes, Batch, BatchBuilder, ErrorCode, Producer, TimestampType, stamp_append_time};
use replication_appointed::{PersistId, Replica};

use crate::active_index::IndexFrame;
use crate::config::{Durability, PartitionConfig};
use crate::pass_end::PassEnd;
use crate::prepared::{BatchRefused, Prepared};
use crate::producers::{KnownBatch, Marker, MarkerVerdict, ProducerBatch, Verdict};
use crate::sealed::Damage;
use crate::segment::Segment;
use crate::segments::Segments;
use crate::tables::{Tables, control_record};
use crate::trail::{Step, Trail};
use crate::{LeaderEpoch, LeaderEpochs, Offset, Place, ProducerEpoch, ProducerId, SegmentId, Sequence};

const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// When a batch counts as committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// Once it is flushed.
    Flushed,
    /// Once it is handed to the operating system, which has to have it on the disk after so many milliseconds.
    Written {
        /// So many.
        flush_ms: u64,
    },
}

/// Epochs and where they begin: most often none.
pub type Begun = Vec<(LeaderEpoch, Offset)>;

/// A batch that was appended, for the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewBatch {
    /// Where it stands.
    pub at: Place,
    /// The offset behind its last record.
    pub end: Offset,
    /// The batch, with its offset and leader epoch.
    pub bytes: Bytes,
    /// Epochs that begin behind the batch before and not behind this one, where both do not meet.
    pub begun: Begun,
    /// When it counts as committed.
    pub commit: Commit,
    /// Once it is durable, [`Partition::persisted`] is told this.
    pub persist: PersistId,
    /// Parts of indices of segments, which may be written once everything before the batch is.
    pub index: Vec<IndexFrame>,
}

/// What became of a client's batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of its first record.
    pub base: Offset,
    /// The offset behind its last record: it is committed when the high watermark has come so far.
    pub end: Offset,
    /// When it was appended, if the topic stamps that; else -1. Milliseconds.
    pub append_time_ms: i64,
    /// What is to be written; nothing for one that was in the log already.
    pub new: Option<NewBatch>,
}

/// A batch in memory.
#[derive(Clone, Debug)]
pub(crate) struct TailBatch {
    /// Where the one before it ends, in its segment: in a copy of a compacted log there may be a hole between them.
    pub(crate) after: Offset,
    pub(crate) base: Offset,
    pub(crate) end: Offset,
    pub(crate) at: Place,
    pub(crate) bytes: Bytes,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Partition {
    pub(crate) config: PartitionConfig,
    pub(crate) replica: Replica,
    pub(crate) tables: Tables,
    pub(crate) segments: Segments,
    /// How batches that are not committed are taken back.
    pub(crate) trail: Trail,
    /// How often batches were cut off: what readers know of a segment counts no more then.
    pub(crate) cuts: u32,
    /// Which of the copies it is that the broker has had.
    pub(crate) copy: u64,
    /// Batches that were not told to be in their segments.
    pub(crate) tail: VecDeque<TailBatch>,
    /// Where the log ended when this process began: what was written before may have been damaged since.
    pub(crate) restored_end: Place,
    /// What the last pass of compaction has come to.
    pub(crate) last_pass: PassEnd,
    /// What is drawn for its segments is drawn from this.
    seed: u64,
    /// Records since the last batch that waits for a flush.
    unflushed_records: u64,
}

impl Partition {
    /// An empty one, which begins at that offset.
    #[must_use]
    pub fn new(config: PartitionConfig, start: Offset) -> Self {
        Self {
            config,
            replica: Replica::new(start.seq()),
            tables: Tables::default(),
            segments: Segments::new(start),
            trail: Trail::default(),
            cuts: 0,
            copy: 0,
            tail: VecDeque::new(),
            restored_end: Place { segment: start, position: 0 },
            last_pass: PassEnd::NONE,
            seed: 0,
            unflushed_records: 0,
        }
    }

    /// What is drawn for it is drawn from this number: how early its segments end (`segment.jitter.ms`).
    pub const fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    /// Tells this copy of the partition from those that the broker had before, and from those to come.
    pub const fn set_copy(&mut self, copy: u64) {
        self.copy = copy;
    }

    /// Other settings hold from now on.
    pub const fn set_config(&mut self, config: PartitionConfig) {
        self.config = config;
    }

    /// Appends a batch of a client, which [verifies](Batch::verify) and [may come from
    /// one](Batch::check_from_client). Whether its transaction is known to its coordinator is the caller's to judge.
    ///
    /// # Errors
    /// The error of the protocol; nothing was appended.
    pub fn append(&mut self, batch: &Batch<'_>, now: WallTime) -> Result<Appended, ErrorCode> {
        let prepared = self.prepare(batch, now).map_err(|refused| refused.error)?;
        self.append_prepared(prepared, now)
    }

    /// Judges the records of a batch, and makes it ready to be appended.
    ///
    /// # Errors
    /// The error of the protocol, with the records at fault.
    pub fn prepare<'b>(&self, batch: &Batch<'b>, now: WallTime) -> Result<Prepared<'b>, BatchRefused> {
        self.check_size(batch.bytes().len())?;
        Prepared::new(batch, &self.config, now)
    }

    /// Appends a batch that was prepared before, with the settings of the partition as they were then.
    ///
    /// # Errors
    /// The error of the protocol; nothing was appended.
    pub fn append_prepared(&mut self, prepared: Prepared<'_>, now: WallTime) -> Result<Appended, ErrorCode> {
        let Prepared { sent: batch, instead } = prepared;
        self.check_size(batch.bytes().len())?;
        if let Some(known) = self.judge(&batch)? {
            let (base, end) = (known.base_offset, known.last_offset.next());
            return Ok(Appended { base, end, append_time_ms: known.timestamp_ms, new: None });
        }
        let mut bytes = instead.unwrap_or_else(|| batch.bytes().to_vec());
        self.check_size(bytes.len())?;
        let stamps = self.config.timestamp_type == TimestampType::LogAppendTime;
        if stamps {
            stamp_append_time(&mut bytes, now.ms());
        }
        let base = self.end();
        let records = u64::try_from(batch.count()).unwrap_or(0);
        let commit = self.commit_of(records);
        let new = NewBatch { commit, ..self.put(bytes, now)? };
        let append_time_ms = if stamps { now.ms() } else { -1 };
        Ok(Appended { base, end: new.end, append_time_ms, new: Some(new) })
    }

    /// Appends records of a coordinator, as one batch.
    ///
    /// # Errors
    /// `RECORD_LIST_TOO_LARGE`: it is longer than a segment; nothing was appended.
    pub fn append_own(&mut self, batch: Vec<u8>, now: WallTime) -> Result<NewBatch, ErrorCode> {
        if batch.len() as u64 > self.config.segment_bytes {
            return Err(ErrorCode::RecordListTooLarge);
        }
        self.put(batch, now)
    }

    /// Ends a transaction. Nothing is to be written if the marker is in the log already.
    ///
    /// # Errors
    /// The error of the protocol; nothing was appended.
    pub fn append_marker(&mut self, marker: &Marker, now: WallTime) -> Result<Option<NewBatch>, ErrorCode> {
        let is_open = self.tables.transactions.is_open(marker.producer_id);
        let verdict = self.tables.producers.judge_marker(marker, is_open, &self.config.producers)?;
        if verdict == MarkerVerdict::Repeated {
            return Ok(None);
        }
        let producer = Producer { id: marker.producer_id.0, epoch: marker.epoch.0, base_sequence: -1 };
        let mut builder = BatchBuilder::new(Attributes(TRANSACTIONAL | CONTROL), producer);
        let (key, value) = control_record(marker.commit, marker.coordinator_epoch);
        builder.push(now.ms(), Some(&key), Some(&value), &[]);
        self.put(builder.finish(), now).map(Some)
    }

    /// Everything that was to be made durable is, up to that number.
    pub fn persisted(&mut self, id: PersistId) {
        self.replica.persisted(id);
        self.after_commit();
    }

    /// More may be committed than before.
    pub(crate) fn after_commit(&mut self) {
        let high_watermark = self.high_watermark();
        self.tables.transactions.committed(high_watermark);
        self.trail.committed(high_watermark);
    }

    /// The last number of something that was to be made durable.
    #[must_use]
    pub const fn last_persist(&self) -> PersistId {
        self.replica.last_persist()
    }

    /// Every batch before that offset is in its segment: its memory is free. Not so if the end was cut off more often than the disk
    /// knew: other batches have these offsets by now.
    pub fn written(&mut self, end: Offset, cuts: u32) {
        if cuts != self.cuts {
            return;
        }
        while self.tail.pop_front_if(|batch| batch.end <= end).is_some() {}
        if self.tail.is_empty() {
            // Thousands of partitions are idle at a time.
            self.tail = VecDeque::new();
            self.trail.rest();
            self.replica.rest();
        }
    }

    /// The batches that were in their segments when it was restored end there.
    pub fn restored_written(&mut self, end: Offset) {
        if let Some(first) = self.tail.front_mut() {
            first.after = end.min(first.base);
        }
    }

    /// Forgets producers that were silent for too long.
    pub fn expire_producers(&mut self, now: WallTime) {
        let Tables { producers, transactions, .. } = &mut self.tables;
        producers.expire(now, &self.config.producers, |id| transactions.is_open(id));
    }

    /// How often its end was cut off.
    #[must_use]
    pub const fn cuts(&self) -> u32 {
        self.cuts
    }

    /// Its settings.
    #[must_use]
    pub const fn config(&self) -> &PartitionConfig {
        &self.config
    }

    /// The epoch under which this replica leads, or the newest that it knows.
    #[must_use]
    pub const fn epoch(&self) -> LeaderEpoch {
        LeaderEpoch::of(self.replica.promised())
    }

    /// Where each leader epoch begins.
    #[must_use]
    pub const fn epochs(&self) -> LeaderEpochs<'_> {
        LeaderEpochs(self.replica.log())
    }

    /// Where the log begins.
    #[must_use]
    pub const fn start(&self) -> Offset {
        Offset::of(self.replica.log().start())
    }

    /// Where it ends.
    #[must_use]
    pub const fn end(&self) -> Offset {
        Offset::of(self.replica.log().end())
    }

    /// Everything below is committed.
    #[must_use]
    pub const fn high_watermark(&self) -> Offset {
        Offset::of(self.replica.committed())
    }

    /// Everything below is decided, and its decision is committed.
    #[must_use]
    pub fn last_stable(&self) -> Offset {
        self.tables.transactions.last_stable(self.high_watermark()).max(self.start())
    }

    /// Whether this producer has a transaction open here, under this epoch.
    #[must_use]
    pub fn has_open_transaction(&self, id: ProducerId, epoch: ProducerEpoch) -> bool {
        self.tables.transactions.is_open(id) && self.tables.producers.epoch(id) == Some(epoch)
    }

    /// What it knows of its log besides the records.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Its segments, the oldest first; the last is appended to.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.segments.iter()
    }

    /// Bytes of all segments.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.segments.bytes()
    }

    fn check_size(&self, bytes: usize) -> Result<(), ErrorCode> {
        if bytes > self.config.batch_bytes_max {
            Err(ErrorCode::MessageTooLarge)
        } else if bytes as u64 > self.config.segment_bytes {
            Err(ErrorCode::RecordListTooLarge)
        } else {
            Ok(())
        }
    }

    /// The batch in the log of which this one is a retry.
    fn judge(&self, batch: &Batch<'_>) -> Result<Option<KnownBatch>, ErrorCode> {
        if batch.producer_id() < 0 {
            return Ok(None);
        }
        let first = Sequence(batch.base_sequence());
        let last = first.plus(batch.last_offset_delta());
        let (id, epoch) = (ProducerId(batch.producer_id()), ProducerEpoch(batch.producer_epoch()));
        let verdict =
            self.tables.producers.judge(&ProducerBatch { id, epoch, first, last }, &self.config.producers)?;
        match verdict {
            Verdict::Duplicate(known) => Ok(Some(known)),
            Verdict::New
                if self.tables.transactions.is_open(id) && !batch.attributes().is_transactional() =>
            {
                Err(ErrorCode::InvalidTxnState)
            }
            Verdict::New => Ok(None),
        }
    }

    /// Appends a batch at the end, to be flushed: what a coordinator relies on must not be lost, nor anything before it.
    fn put(&mut self, mut bytes: Vec<u8>, now: WallTime) -> Result<NewBatch, ErrorCode> {
        if !self.replica.is_leading() {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        Batch::assign(&mut bytes, self.end().0, self.epoch().0);
        let bytes = Bytes::from(bytes);
        let batch = Batch::read(&bytes).map_err(|_| ErrorCode::CorruptMessage)?.0;
        let begun = self.begun_before(&batch);
        let (at, index) = self.take(&batch, bytes.clone(), now).map_err(|_| ErrorCode::InvalidRecord)?;
        let end = Offset(batch.last_offset()).next();
        let persist = self.replica.appended(end.seq());
        Ok(NewBatch { at, end, bytes, begun, commit: Commit::Flushed, persist, index })
    }

    /// A batch stands at the end from now on, in everything but the replica's log. Gives its place.
    pub(crate) fn take(
        &mut self,
        batch: &Batch<'_>,
        bytes: Bytes,
        now: WallTime,
    ) -> Result<(Place, Vec<IndexFrame>), Damage> {
        self.note_step(batch, now)?;
        self.roll_before(batch, now);
        let (at, after) = (self.segments.end_place(), self.segments.end());
        self.segments.push(batch, now);
        self.keep(batch, (at, after), bytes);
        Ok((at, self.segments.take_frames()))
    }

    /// The tables take over a batch, and how it is taken back is noted. It is not in the segments yet.
    pub(crate) fn note_step(&mut self, batch: &Batch<'_>, now: WallTime) -> Result<(), Damage> {
        let (base, end) = (Offset(batch.base_offset()), Offset(batch.last_offset()).next());
        let before = self.segments.last().cloned();
        let before = before.unwrap_or_else(|| Segment::new(SegmentId::appended(base)));
        let (bytes, tables) = (batch.bytes().len() as u64, self.tables.append(batch, now)?);
        self.trail.push(Step { base, end, bytes, tables, before });
        Ok(())
    }

    pub(crate) fn commit_of(&mut self, records: u64) -> Commit {
        self.unflushed_records = self.unflushed_records.saturating_add(records);
        let is_enough = self.unflushed_records >= self.config.flush_messages;
        match self.config.durability {
            Durability::Replicated if !is_enough => Commit::Written { flush_ms: self.config.flush_ms },
            _ => {
                self.unflushed_records = 0;
                Commit::Flushed
            }
        }
    }

    /// A batch that stands there, behind one that ends at `after`, is in memory until it is told to be in its segment.
    pub(crate) fn keep(&mut self, batch: &Batch<'_>, (at, after): (Place, Offset), bytes: Bytes) {
        let (base, end) = (Offset(batch.base_offset()), Offset(batch.last_offset()).next());
        self.tail.push_back(TailBatch { after, base, end, at, bytes });
    }

    fn segment_age_max_ms(&self, segment: &Segment) -> i64 {
        let draw = Random::new(self.seed ^ segment.base().0.cast_unsigned()).number();
        self.config.segment_age_max_ms(draw)
    }

    /// Begins a segment if the batch, which is taken into account already, has no place in the last one.
    fn roll_before(&mut self, batch: &Batch<'_>, now: WallTime) {
        let Some(last) = self.segments.last().filter(|last| !last.is_empty()) else { return };
        let base = Offset(batch.base_offset());
        let full = last.bytes() + batch.bytes().len() as u64 > self.config.segment_bytes;
        let far = Offset(batch.last_offset()).since(last.base()) > i64::from(i32::MAX);
        let time = if batch.max_timestamp() >= 0 { batch.max_timestamp() } else { now.ms() };
        let old = time.saturating_sub(last.first_ms()) > self.segment_age_max_ms(last);
        if full || far || old {
            self.segments.roll(base);
        }
    }
}
