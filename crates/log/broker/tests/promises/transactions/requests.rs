//! Requests of transactional clients, and what they read back.

use bytes::Bytes;
use kafka_protocol::messages::add_partitions_to_txn_request::{
    AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction,
};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, FetchRequest, FetchResponse, GroupId,
    InitProducerIdRequest, OffsetFetchRequest, OffsetFetchResponse, ProduceRequest, ProducerId, TopicName,
    TransactionalId, TxnOffsetCommitRequest,
};
use log_wire::{Attributes, Batch, BatchBuilder, Producer, Records};

use crate::bench::text;

/// The topic of these tests, and the group whose offsets they commit.
pub(crate) const TOPIC: &str = "t";
pub(crate) const GROUP: &str = "g";

const TRANSACTIONAL: i16 = 1 << 4;

/// A producer id with its epoch.
pub(crate) type Id = (i64, i16);

pub(crate) fn transactional(id: &str) -> TransactionalId {
    TransactionalId(text(id))
}

pub(crate) fn init(id: &str, timeout_ms: i32, producer: Option<Id>) -> InitProducerIdRequest {
    let (producer, epoch) = producer.unwrap_or((-1, -1));
    InitProducerIdRequest::default()
        .with_transactional_id(Some(transactional(id)))
        .with_transaction_timeout_ms(timeout_ms)
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
}

fn named(partitions: &[i32]) -> Vec<AddPartitionsToTxnTopic> {
    let topic = AddPartitionsToTxnTopic::default().with_name(TopicName(text(TOPIC)));
    vec![topic.with_partitions(partitions.to_vec())]
}

/// As a client adds partitions.
pub(crate) fn add(id: &str, (producer, epoch): Id, partitions: &[i32]) -> AddPartitionsToTxnRequest {
    AddPartitionsToTxnRequest::default()
        .with_v3_and_below_transactional_id(transactional(id))
        .with_v3_and_below_producer_id(ProducerId(producer))
        .with_v3_and_below_producer_epoch(epoch)
        .with_v3_and_below_topics(named(partitions))
}

/// As a broker adds them, or asks whether they were added.
pub(crate) fn add_of_broker(
    id: &str,
    (producer, epoch): Id,
    partitions: &[i32],
    verify_only: bool,
) -> AddPartitionsToTxnTransaction {
    AddPartitionsToTxnTransaction::default()
        .with_transactional_id(transactional(id))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_verify_only(verify_only)
        .with_topics(named(partitions))
}

pub(crate) fn add_offsets(id: &str, (producer, epoch): Id) -> AddOffsetsToTxnRequest {
    AddOffsetsToTxnRequest::default()
        .with_transactional_id(transactional(id))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_group_id(GroupId(text(GROUP)))
}

pub(crate) fn end(id: &str, (producer, epoch): Id, committed: bool) -> EndTxnRequest {
    EndTxnRequest::default()
        .with_transactional_id(transactional(id))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_committed(committed)
}

pub(crate) fn batch((id, epoch): Id, base_sequence: i32, values: &[&str]) -> Vec<u8> {
    batch_of(TRANSACTIONAL, (id, epoch), base_sequence, values)
}

pub(crate) fn plain_batch((id, epoch): Id, base_sequence: i32, values: &[&str]) -> Vec<u8> {
    batch_of(0, (id, epoch), base_sequence, values)
}

fn batch_of(attributes: i16, (id, epoch): Id, base_sequence: i32, values: &[&str]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(attributes), Producer { id, epoch, base_sequence });
    for value in values {
        builder.push(1_000, None, Some(value.as_bytes()), &[]);
    }
    builder.finish()
}

pub(crate) fn produce(id: Option<&str>, batches: &[(i32, Vec<u8>)]) -> ProduceRequest {
    let data = batches.iter().map(|(partition, batch)| {
        PartitionProduceData::default()
            .with_index(*partition)
            .with_records(Some(Bytes::copy_from_slice(batch)))
    });
    let topic =
        TopicProduceData::default().with_name(TopicName(text(TOPIC))).with_partition_data(data.collect());
    ProduceRequest::default()
        .with_transactional_id(id.map(transactional))
        .with_acks(-1)
        .with_timeout_ms(60_000)
        .with_topic_data(vec![topic])
}

pub(crate) fn offsets(id: &str, (producer, epoch): Id, committed: &[(i32, i64)]) -> TxnOffsetCommitRequest {
    let partitions = committed.iter().map(|(partition, offset)| {
        TxnOffsetCommitRequestPartition::default()
            .with_partition_index(*partition)
            .with_committed_offset(*offset)
            .with_committed_metadata(Some(text("")))
    });
    let topic = TxnOffsetCommitRequestTopic::default()
        .with_name(TopicName(text(TOPIC)))
        .with_partitions(partitions.collect());
    TxnOffsetCommitRequest::default()
        .with_transactional_id(transactional(id))
        .with_group_id(GroupId(text(GROUP)))
        .with_producer_id(ProducerId(producer))
        .with_producer_epoch(epoch)
        .with_topics(vec![topic])
}

/// The version of OffsetFetch in these tests.
pub(crate) const OFFSET_FETCH: i16 = 8;

pub(crate) fn fetch_offset(partition: i32) -> OffsetFetchRequest {
    let topic = OffsetFetchRequestTopics::default()
        .with_name(TopicName(text(TOPIC)))
        .with_partition_indexes(vec![partition]);
    let group =
        OffsetFetchRequestGroup::default().with_group_id(GroupId(text(GROUP))).with_topics(Some(vec![topic]));
    OffsetFetchRequest::default().with_groups(vec![group]).with_require_stable(true)
}

/// The error of the group, and that and the offset of its only partition.
pub(crate) fn offset_of(answer: &OffsetFetchResponse) -> (i16, i16, i64) {
    let group = &answer.groups[0];
    let found = group.topics.first().map(|topic| &topic.partitions[0]);
    (
        group.error_code,
        found.map_or(0, |found| found.error_code),
        found.map_or(-1, |found| found.committed_offset),
    )
}

/// The version of Fetch in these tests.
pub(crate) const FETCH: i16 = 12;

pub(crate) fn fetch(partition: i32, from: i64, committed: bool) -> FetchRequest {
    let wanted = FetchPartition::default()
        .with_partition(partition)
        .with_fetch_offset(from)
        .with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(TopicName(text(TOPIC))).with_partitions(vec![wanted]);
    FetchRequest::default()
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_session_epoch(-1)
        .with_isolation_level(i8::from(committed))
        .with_topics(vec![topic])
}

/// A record as a consumer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) offset: i64,
    pub(crate) value: String,
}

/// What a consumer makes of an answer to Fetch: records, without those of aborted transactions that the answer lists, and the
/// offset behind all of them.
pub(crate) fn seen(answer: &FetchResponse, from: i64) -> (Vec<Seen>, i64) {
    let partition = &answer.responses[0].partitions[0];
    let (mut records, mut next) = (Vec::new(), from);
    let mut aborted: Vec<(i64, i64)> = aborted(partition);
    let mut dropping = Vec::new();
    let bytes = partition.records.clone().unwrap_or_default();
    let mut rest: &[u8] = &bytes;
    while !rest.is_empty() {
        let (batch, behind) = Batch::read(rest).expect("batches are whole");
        batch.verify().expect("a batch verifies");
        while aborted.first().is_some_and(|(first, _)| *first <= batch.last_offset()) {
            dropping.push(aborted.remove(0).1);
        }
        if batch.attributes().is_control() {
            if is_abort(&batch) {
                dropping.retain(|id| *id != batch.producer_id());
            }
        } else if !dropping.contains(&batch.producer_id()) || !batch.attributes().is_transactional() {
            records.extend(of_batch(&batch).filter(|record| record.offset >= from));
        }
        (rest, next) = (behind, batch.last_offset() + 1);
    }
    (records, next)
}

/// First offsets and producers of aborted transactions, in the order of the first.
pub(crate) fn aborted(partition: &PartitionData) -> Vec<(i64, i64)> {
    let listed = partition.aborted_transactions.iter().flatten();
    let mut aborted: Vec<_> = listed.map(|aborted| (aborted.first_offset, aborted.producer_id.0)).collect();
    aborted.sort_unstable();
    aborted
}

pub(crate) fn is_abort(batch: &Batch<'_>) -> bool {
    let record = Records::new(batch.records(), batch.count()).next().expect("a marker has a record");
    record.expect("it is whole").key.expect("it has a key")[3] == 0
}

fn of_batch<'b>(batch: &Batch<'b>) -> impl Iterator<Item = Seen> + use<'b> {
    let base = batch.base_offset();
    (base..).zip(Records::new(batch.records(), batch.count())).map(|(offset, record)| {
        let value = record.expect("it is whole").value.expect("it has a value");
        Seen { offset, value: String::from_utf8(value.to_vec()).expect("it is a text") }
    })
}
