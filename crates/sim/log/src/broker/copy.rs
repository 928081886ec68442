//! What a broker has of its partitions: for the rules between replicas, and in words for whoever reads how a run has failed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use log_partition::{Isolation, Offset, Partition, PartitionId, Source};
use log_storage::{ReaderConfig, SegmentReader};
use log_wire::{Batch, Records};
use sim_kit::disk::SimDisk;

use super::shard::Shared;

/// How far a copy of a partition is.
#[derive(Clone, Debug)]
pub(crate) struct CopyState {
    pub(crate) id: PartitionId,
    pub(crate) start: i64,
    pub(crate) end: i64,
    /// What is on the disk ends there.
    pub(crate) durable: i64,
    pub(crate) committed: i64,
    pub(crate) leads: Option<Lead>,
}

/// What a leader knows of its partition.
#[derive(Clone, Debug)]
pub(crate) struct Lead {
    pub(crate) epoch: u32,
    /// The numbers of the brokers that count, and on how many of them a record has to be.
    pub(crate) voters: Vec<i32>,
    pub(crate) durable_on: usize,
}

/// What stands at an offset: the epoch and the producer of its batch, its time, its key and its value.
pub(crate) type CopiedRecord = (i32, (i64, i16), i64, Option<Vec<u8>>, Option<Vec<u8>>);

/// How far the copies of all partitions are.
pub(super) fn copy_states(shared: &Shared) -> Vec<CopyState> {
    let broker = shared.broker.borrow();
    let state = |(id, partition): (PartitionId, &Partition)| CopyState {
        id,
        start: partition.start().0,
        end: partition.end().0,
        durable: Offset::of(partition.replica().durable().end).0,
        committed: partition.high_watermark().0,
        leads: partition.replica().leading_config().map(|config| Lead {
            epoch: config.epoch.0,
            voters: config.voters.replicas().iter().map(|id| id.0.cast_signed()).collect(),
            durable_on: config.voters.durable_on(),
        }),
    };
    broker.copies().map(state).collect()
}

/// The committed records of the copy of a partition, by their offsets; nothing if there is none.
pub(super) fn copied_records(shared: &Shared, id: PartitionId) -> Option<BTreeMap<i64, CopiedRecord>> {
    let mut records = BTreeMap::new();
    for_each_batch(shared, id, |batch| {
        let (epoch, producer) = (batch.leader_epoch(), (batch.producer_id(), batch.producer_epoch()));
        for record in Records::new(batch.records(), batch.count()).flatten() {
            let offset = batch.base_offset() + i64::from(record.offset_delta);
            let timestamp_ms = batch.base_timestamp() + record.timestamp_delta;
            let (key, value) = (record.key.map(<[u8]>::to_vec), record.value.map(<[u8]>::to_vec));
            records.insert(offset, (epoch, producer, timestamp_ms, key, value));
        }
    })?;
    Some(records)
}

/// The copy of a partition, in words; nothing if there is none.
pub(super) fn copy_in_words(shared: &Shared, id: PartitionId) -> Option<String> {
    let mut words = head(shared.broker.borrow().copy_of(id)?);
    for_each_batch(shared, id, |batch| batch_in_words(batch, &mut words));
    Some(words)
}

fn head(partition: &Partition) -> String {
    let (start, end) = (partition.start().0, partition.end().0);
    let (stable, committed) = (partition.last_stable().0, partition.high_watermark().0);
    let role = if partition.replica().is_leading() { "leads" } else { "follows" };
    let epoch = partition.epoch().0;
    format!("{role} in epoch {epoch}, {start}..{end}, committed to {committed}, stable to {stable}:")
}

/// Reads the committed batches of a copy, as far as they can be read; nothing if there is none.
fn for_each_batch(shared: &Shared, id: PartitionId, mut each: impl FnMut(&Batch<'_>)) -> Option<()> {
    let broker = shared.broker.borrow();
    let partition = broker.copy_of(id)?;
    let mut reader: SegmentReader<SimDisk> =
        SegmentReader::new(shared.disk.borrow().reader.clone(), ReaderConfig::default());
    let mut from = partition.start();
    while let Ok(read) = partition.read(from, Isolation::ReadUncommitted, 4 << 10) {
        let mut bytes = Vec::new();
        match read.source {
            Source::Nothing => break,
            Source::Memory(batches) => bytes = batches.concat(),
            Source::Segment(of) => {
                if reader.read(id, &of, &mut bytes).is_err() {
                    break;
                }
            }
        }
        let mut rest = bytes.as_slice();
        let before = from;
        while let Ok((batch, behind)) = Batch::read(rest) {
            each(&batch);
            (from, rest) = (Offset(batch.last_offset()).next(), behind);
        }
        if from == before {
            break;
        }
    }
    Some(())
}

fn batch_in_words(batch: &Batch<'_>, words: &mut String) {
    let (base, last) = (batch.base_offset(), batch.last_offset());
    let (producer, epoch) = (batch.producer_id(), batch.producer_epoch());
    let _ = write!(words, " [{base}-{last} of {}", batch.leader_epoch());
    if producer >= 0 {
        let _ = write!(words, " by {producer}/{epoch}#{}", batch.base_sequence());
    }
    for (is_so, what) in [
        (batch.attributes().is_transactional(), " transactional"),
        (batch.attributes().is_control(), " control"),
        (batch.attributes().has_delete_horizon(), " horizon"),
    ] {
        words.push_str(if is_so { what } else { "" });
    }
    for record in Records::new(batch.records(), batch.count()).flatten() {
        let key = String::from_utf8_lossy(record.key.unwrap_or_default()).into_owned();
        let key = key.replace(|letter: char| letter.is_control(), ".");
        let value = record.value.map(|value| value.len());
        let _ = write!(words, " {}:{key}={value:?}", base + i64::from(record.offset_delta));
    }
    words.push(']');
}
