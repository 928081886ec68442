//! Batches for tests.

use log_wire::{Attributes, Batch, BatchBuilder, Compression, Producer, RecordsHead};

use replication_appointed::ReplicaId;

use crate::tables::control_record;
use crate::{CoordinatorEpoch, LeaderEpoch, Offset, Partition, PartitionConfig};

const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;

/// An empty partition that leads.
pub(crate) fn leading(config: PartitionConfig) -> Partition {
    let mut partition = Partition::new(config, Offset(0));
    lead(&mut partition, LeaderEpoch(0));
    partition
}

/// It leads, and the beginning of its epoch is durable.
pub(crate) fn lead(partition: &mut Partition, epoch: LeaderEpoch) {
    let began = partition.lead_alone(ReplicaId(1), epoch).expect("it may lead");
    partition.persisted(began.persist);
}

pub(crate) fn assigned(bytes: &[u8]) -> Batch<'_> {
    Batch::read(bytes).expect("a batch").0
}

fn built(
    offset: i64,
    attributes: i16,
    producer: Producer,
    time_ms: i64,
    count: i32,
    value: &[u8],
) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(attributes), producer);
    for _ in 0..count {
        builder.push(time_ms, None, Some(value), &[]);
    }
    let mut bytes = builder.finish();
    Batch::assign(&mut bytes, offset, 0);
    bytes
}

/// A batch of a producer without an id.
pub(crate) fn plain(offset: i64, time_ms: i64, count: i32, value_bytes: usize) -> Vec<u8> {
    built(offset, 0, Producer::NONE, time_ms, count, &vec![b'v'; value_bytes])
}

pub(crate) fn transactional(offset: i64, id: i64, epoch: i16, base_sequence: i32, count: i32) -> Vec<u8> {
    built(offset, TRANSACTIONAL, Producer { id, epoch, base_sequence }, 5, count, b"value")
}

pub(crate) fn marker(offset: i64, id: i64, epoch: i16, commit: bool) -> Vec<u8> {
    let producer = Producer { id, epoch, base_sequence: -1 };
    let mut builder = BatchBuilder::new(Attributes(TRANSACTIONAL | CONTROL), producer);
    let (key, value) = control_record(commit, CoordinatorEpoch(1));
    builder.push(5, Some(&key), Some(&value), &[]);
    let mut bytes = builder.finish();
    Batch::assign(&mut bytes, offset, 0);
    bytes
}

/// The same batch, compressed.
pub(crate) fn compressed(bytes: &[u8], compression: Compression) -> Vec<u8> {
    let batch = assigned(bytes);
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
