//! Reads of partitions for share fetches: a member takes by batches, so they are read before it is said what it gets.

use std::collections::VecDeque;

use base::Now;
use log_config::QueueTopicConfig;
use log_coordinators::{Text, Ticket};
use log_partition::{Isolation, Offset, PartitionId, Source, TimeLookup};
use log_share::{AcquireTerms, Acquired, Fate, LogBatch, ShareKey, SharePartition};
use log_wire::{Batch, ErrorCode, TopicName};

use super::letter::PLAIN_BYTES_MAX;
use super::pending::{Outcome, Pending, Place, Wanted};
use super::{Share, fates};
use crate::coordinators::CoordinatorLoad;
use crate::node::Node;
use crate::partitions::Hosted;
use crate::segment_reader::SegmentFault;
use crate::waits::Waiter;

/// What a member takes at once from one partition, bytes, whatever it asks for.
const READ_BYTES_MAX: usize = 8 << 20;

/// What is read for.
#[derive(Debug)]
enum ReadFor {
    /// A fetch, with what is read.
    Fetch(Waiter, Span),
    /// The start of a share partition.
    Start,
    /// Dead letters.
    Dead(Ticket),
}

/// What a read covers: up to an offset at most.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: i64,
    bound: i64,
    isolation: Isolation,
}

#[derive(Debug)]
struct Read {
    load: CoordinatorLoad,
    key: ShareKey,
    purpose: ReadFor,
}

/// Reads that the driver is to do, in order.
#[derive(Debug, Default)]
pub(super) struct Reads {
    waiting: VecDeque<Read>,
    last: u64,
}

impl Reads {
    /// What is to be read next. It stays the next one until it is done.
    pub(super) fn next(&self) -> Option<CoordinatorLoad> {
        self.waiting.front().map(|read| read.load.clone())
    }

    /// The start of a share partition is looked for by its time.
    pub(super) fn look_for_time(&mut self, key: &ShareKey, id: PartitionId, lookup: TimeLookup) {
        self.last += 1;
        let load = CoordinatorLoad::look_for_time(self.last, id, lookup);
        self.waiting.push_back(Read { load, key: key.clone(), purpose: ReadFor::Start });
    }

    /// Dead letters copy what is read.
    pub(super) fn push_dead(&mut self, key: &ShareKey, id: PartitionId, source: Source, ticket: Ticket) {
        self.push(key, id, source, ReadFor::Dead(ticket));
    }

    fn push(&mut self, key: &ShareKey, id: PartitionId, source: Source, purpose: ReadFor) {
        self.last += 1;
        let load = CoordinatorLoad::of_share(self.last, id, source);
        self.waiting.push_back(Read { load, key: key.clone(), purpose });
    }

    /// Nobody wants what is read for a fetch of this share partition.
    pub(super) fn abandon(&mut self, key: &ShareKey) {
        self.waiting.retain(|read| read.key != *key || !matches!(read.purpose, ReadFor::Fetch(..)));
    }

    fn take(&mut self, load: &CoordinatorLoad) -> Option<Read> {
        let at = self.waiting.iter().position(|read| read.load.of == load.of)?;
        self.waiting.remove(at)
    }
}

impl Share {
    /// Reads from a partition for a request. Says whether that is done already.
    pub(super) fn read(&mut self, node: &mut Node, waiter: Waiter, place: Place, now: Now) -> bool {
        let Some(pending) = self.pending.get_mut(waiter) else { return false };
        let key = ShareKey { group: Text::clone(&pending.session.0), topic: place.0, partition: place.1 };
        if !self.leads(node, &key, (waiter, place)) {
            return false;
        }
        let Some(pending) = self.pending.get_mut(waiter) else { return false };
        let Some(wanted) = pending.wanted else { return false };
        let bytes_left = wanted.bytes_max.saturating_sub(pending.bytes).min(READ_BYTES_MAX);
        let Some(served) = self.served.get_mut(&key) else { return false };
        let Some(from) = served.machine.as_ref().and_then(SharePartition::next_offset) else {
            return false;
        };
        let Some(hosted) = node.partitions.get(served.slot) else { return false };
        let isolation = served.isolation();
        let Ok(read) = hosted.partition.read(Offset(from), isolation, bytes_left) else {
            pending.outcomes.entry(place).or_default().error = ErrorCode::OffsetOutOfRange;
            return true;
        };
        let span = Span { from, bound: hosted.partition.readable_end(isolation).0, isolation };
        pending.reading = Some(place);
        served.is_read = true;
        match read.source {
            Source::Segment(_) => {
                self.reads.push(&key, served.id, read.source, ReadFor::Fetch(waiter, span));
                false
            }
            Source::Nothing => {
                self.take_records(node, &key, (waiter, span), &Ok(Vec::new()), now);
                true
            }
            Source::Memory(batches) => {
                self.take_records(node, &key, (waiter, span), &Ok(batches.concat()), now);
                true
            }
        }
    }

    /// The driver has read something.
    pub(crate) fn was_read(
        &mut self,
        node: &mut Node,
        load: &CoordinatorLoad,
        bytes: Result<Vec<u8>, SegmentFault>,
        now: Now,
    ) {
        let Some(read) = self.reads.take(load) else { return };
        match read.purpose {
            ReadFor::Fetch(waiter, span) => {
                self.take_records(node, &read.key, (waiter, span), &bytes, now);
                self.ready.push_back((waiter, None));
            }
            ReadFor::Dead(ticket) => {
                // Of what cannot be read, letters tell where it stands.
                let source = bytes.as_deref().ok();
                self.write_letters(node, &read.key, (ticket, source), now);
            }
            ReadFor::Start => self.start_found(node, &read.key, &bytes),
        }
        self.settle(node, now);
    }

    /// A member takes of what was read.
    fn take_records(
        &mut self,
        node: &mut Node,
        key: &ShareKey,
        (waiter, span): (Waiter, Span),
        read: &Result<Vec<u8>, SegmentFault>,
        now: Now,
    ) {
        let place = (key.topic, key.partition);
        let Some(served) = self.served.get_mut(key) else {
            if let Some(pending) = self.pending.get_mut(waiter) {
                pending.reading = None;
            }
            return;
        };
        served.is_read = false;
        let Some(pending) = self.pending.get_mut(waiter) else { return self.wake(key) };
        pending.reading = None;
        let (Some(wanted), Some(machine)) = (pending.wanted, served.machine.as_mut()) else { return };
        let hosted = node.partitions.get_mut(served.slot).filter(|hosted| hosted.id == served.id);
        let (Some(hosted), Ok(bytes)) = (hosted, read) else {
            let error = read.as_ref().err().map_or(ErrorCode::NotLeaderOrFollower, |fault| fault.error());
            pending.outcomes.entry(place).or_default().error = error;
            return self.wake(key);
        };
        let settings =
            node.catalog.find(TopicName::Id(key.topic)).map(|topic| QueueTopicConfig::of(&topic.settings));
        let terms = (settings.unwrap_or_default(), wanted.records_max);
        let Some(read) = batches_of(bytes, hosted, span, terms, now) else {
            pending.outcomes.entry(place).or_default().error = ErrorCode::CorruptMessage;
            return self.wake(key);
        };
        let (outcome, records) = acquire(machine, (pending, &wanted), span, &read, now);
        hosted.traffic.bytes_out += outcome.records.len() as u64;
        hosted.traffic.requests += 1;
        pending.bytes += outcome.records.len();
        pending.records += records;
        let acknowledged = pending.outcomes.get(&place).map_or(ErrorCode::None, |of| of.acknowledged);
        pending.outcomes.insert(place, Outcome { acknowledged, ..outcome });
        if records > 0 {
            self.sessions.served(&pending.session, place);
        }
        // Some may have expired.
        self.write_changes(node, key);
        self.wake(key);
    }

    /// Where the first record stands that is not too old.
    fn start_found(&mut self, node: &mut Node, key: &ShareKey, read: &Result<Vec<u8>, SegmentFault>) {
        let Some(served) = self.served.get(key) else { return };
        let end = node.partitions.get(served.slot).map(|hosted| hosted.partition.high_watermark().0);
        let found =
            read.as_ref().ok().map(|bytes| bytes.first_chunk().map(|bytes| i64::from_be_bytes(*bytes)));
        match (found, end) {
            (Some(found), Some(end)) => self.begin_at(node, key, found.unwrap_or(end)),
            _ => self.forget(key, ErrorCode::KafkaStorageError),
        }
    }
}

/// A member takes of these batches. Gives what it gets, and how many records these are.
fn acquire(
    machine: &mut SharePartition,
    (pending, wanted): (&Pending, &Wanted),
    span: Span,
    read: &BatchesRead<'_>,
    now: Now,
) -> (Outcome, usize) {
    // What the log has behind the last batch that was read is not known, unless nothing was read.
    let until = read.batches.last().map_or(span.bound, |(_, last, _)| last + 1);
    let terms = AcquireTerms {
        records_max: wanted.records_max - pending.records,
        is_strict: wanted.is_strict,
        batch_size: wanted.batch_size,
    };
    let acquired = machine.acquire(&pending.session.1, (span.from, until), &read.fates, terms, now);
    let mut outcome = Outcome::default();
    for (first, last, bytes) in &read.batches {
        if acquired.iter().any(|of| of.first <= *last && *first <= of.last) {
            outcome.records.extend_from_slice(bytes);
        }
    }
    let records = acquired.iter().map(length).sum();
    outcome.acquired = acquired;
    (outcome, records)
}

fn length(of: &Acquired) -> usize {
    usize::try_from(of.last - of.first + 1).unwrap_or(0)
}

/// Batches that were read: first and last offset, and bytes; and what becomes of their records.
#[derive(Debug, Default)]
struct BatchesRead<'b> {
    batches: Vec<(i64, i64, &'b [u8])>,
    fates: Vec<LogBatch>,
}

/// The batches in bytes, as far as their records may be delivered at once; nothing if they are damaged.
fn batches_of<'b>(
    bytes: &'b [u8],
    hosted: &Hosted,
    span: Span,
    (config, records_max): (QueueTopicConfig, usize),
    now: Now,
) -> Option<BatchesRead<'b>> {
    let (mut rest, mut read) = (bytes, BatchesRead::default());
    let (mut plain_left, mut to_deliver) = (PLAIN_BYTES_MAX, 0);
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).ok()?;
        let (first, last) = (batch.base_offset(), batch.last_offset());
        let is_aborted = span.isolation == Isolation::ReadCommitted
            && batch.attributes().is_transactional()
            && is_aborted(hosted, &batch);
        if first >= span.bound {
            break;
        }
        if batch.attributes().is_control() || is_aborted {
            read.fates.push(LogBatch { first, last, fate: Fate::Skipped });
        } else if config.reads_records() {
            if plain_left == 0 || to_deliver >= records_max {
                break;
            }
            let known = read.fates.len();
            let used = fates::of_batch(&batch, config, (PLAIN_BYTES_MAX, now), &mut read.fates);
            plain_left = plain_left.saturating_sub(used);
            to_deliver += delivered(read.fates.get(known..).unwrap_or_default());
        } else {
            read.fates.push(LogBatch { first, last, fate: Fate::Delivered });
        }
        read.batches.push((first, last, batch.bytes()));
        rest = behind;
    }
    Some(read)
}

fn delivered(fates: &[LogBatch]) -> usize {
    let delivered = fates.iter().filter(|batch| batch.fate == Fate::Delivered);
    delivered.map(|batch| usize::try_from(batch.last - batch.first + 1).unwrap_or(0)).sum()
}

/// Whether a batch is of a transaction that was aborted.
fn is_aborted(hosted: &Hosted, batch: &Batch<'_>) -> bool {
    let (first, end) = (Offset(batch.base_offset()), Offset(batch.last_offset()).next());
    let mut aborted = hosted.partition.tables().transactions.aborted(first, end);
    aborted.any(|of| of.producer_id.0 == batch.producer_id() && of.first <= first && first < of.marker)
}
