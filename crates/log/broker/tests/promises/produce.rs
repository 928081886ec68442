//! What a broker promises to producers.

use base::Now;
use bytes::Bytes;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
use kafka_protocol::messages::{
    ProduceRequest, ProduceResponse, ProducerId, TopicName, WriteTxnMarkersRequest,
};
use log_broker::{BrokerConfig, DiskCommand, DiskEvent};
use log_partition::Offset;
use log_wire::{Attributes, BatchBuilder, Producer};
use storage_wal::LogId;
use uuid::Uuid;

use crate::bench::{Bench, no_topic, text, topic, topic_with};

const TIMEOUT_MS: i32 = 500;
/// The version of Produce in these tests.
const VERSION: i16 = 9;

pub(crate) fn batch(producer: Producer) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Attributes(0), producer);
    builder.push(1_000, None, Some(b"value"), &[]);
    builder.finish()
}

pub(crate) fn request(partition: i32, records: &[u8]) -> ProduceRequest {
    let data = PartitionProduceData::default()
        .with_index(partition)
        .with_records(Some(Bytes::copy_from_slice(records)));
    let topic = TopicProduceData::default().with_name(TopicName(text("t"))).with_partition_data(vec![data]);
    ProduceRequest::default().with_acks(1).with_timeout_ms(TIMEOUT_MS).with_topic_data(vec![topic])
}

/// The error and the base offset of an answer to one batch.
fn outcome(answer: &ProduceResponse) -> (i16, i64) {
    let partition = &answer.responses[0].partition_responses[0];
    (partition.error_code, partition.base_offset)
}

fn serving() -> Bench {
    Bench::serving(&[topic("t", 1, 1, 0)])
}

fn produce(bench: &mut Bench, number: u64, records: &[u8]) -> Option<(i16, i64)> {
    bench.ask(number, VERSION, &request(0, records)).as_ref().map(outcome)
}

fn answers(bench: &mut Bench) -> Vec<(u64, (i16, i64))> {
    let answers = bench.answers::<ProduceRequest>().into_iter();
    answers.map(|(number, answer)| (number, outcome(&answer))).collect()
}

#[test]
fn batch_is_acknowledged_once_it_is_durable_and_not_before() {
    let mut bench = serving();
    assert_eq!(produce(&mut bench, 1, &batch(Producer::NONE)), None);
    assert_eq!(produce(&mut bench, 2, &batch(Producer::NONE)), None);
    let commands = bench.take();
    assert!(matches!(commands.as_slice(), [DiskCommand::Append(_), DiskCommand::Append(_)]), "{commands:?}");
    assert!(answers(&mut bench).is_empty());
    bench.durable(bench.disk.given - 1);
    assert_eq!(answers(&mut bench), [(1, (0, 0))]);
    bench.flush();
    assert_eq!(answers(&mut bench), [(2, (0, 1))]);
}

#[test]
fn partition_is_served_once_the_beginning_of_its_epoch_is_durable() {
    let mut bench = Bench::new(Vec::new());
    bench.council(topic("t", 1, 1, 0));
    bench.take();
    assert_eq!(produce(&mut bench, 1, &batch(Producer::NONE)), Some((6, -1)), "NOT_LEADER_OR_FOLLOWER");
    bench.flush();
    assert_eq!(produce(&mut bench, 2, &batch(Producer::NONE)), None);
}

#[test]
fn retry_of_a_batch_on_its_way_waits_for_it_and_gets_its_offset() {
    let mut bench = serving();
    let producer = Producer { id: 5, epoch: 0, base_sequence: 0 };
    assert_eq!(produce(&mut bench, 1, &batch(producer)), None);
    assert_eq!(produce(&mut bench, 2, &batch(producer)), None);
    assert_eq!(bench.take().len(), 1, "it is appended once");
    bench.flush();
    assert_eq!(answers(&mut bench), [(1, (0, 0)), (2, (0, 0))]);
}

#[test]
fn batch_whose_time_is_over_is_told_with_its_offset() {
    let mut bench = serving();
    assert_eq!(produce(&mut bench, 1, &batch(Producer::NONE)), None);
    bench.broker.tick(Now::of_ms(1_000 + TIMEOUT_MS as u64, 2_000));
    assert_eq!(answers(&mut bench), [(1, (7, 0))]);
    bench.flush();
    assert!(answers(&mut bench).is_empty(), "it is answered once");
}

#[test]
fn full_disk_refuses_batches_and_appends_nothing() {
    let mut bench = serving();
    bench.broker.disk_event(DiskEvent::Room(10), bench.now);
    assert_eq!(produce(&mut bench, 1, &batch(Producer::NONE)), Some((56, -1)), "KAFKA_STORAGE_ERROR");
    assert!(bench.take().is_empty());
    bench.broker.disk_event(DiskEvent::Room(1 << 20), bench.now);
    assert_eq!(produce(&mut bench, 2, &batch(Producer::NONE)), None, "there is room again");
}

#[test]
fn damaged_batch_is_refused() {
    let mut bench = serving();
    for at in 16..batch(Producer::NONE).len() {
        let mut damaged = batch(Producer::NONE);
        damaged[at] ^= 1;
        let refused = produce(&mut bench, 1, &damaged).expect("an answer at once");
        assert!(matches!(refused, (2 | 87, -1)), "byte {at}: {refused:?}");
    }
    assert!(bench.take().is_empty());
}

#[test]
fn record_without_a_key_on_a_compacted_topic_is_named() {
    let mut bench = Bench::serving(&[topic_with(&[("cleanup.policy", "compact")], "t", 1, 1, 0)]);
    let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    for key in [Some(&b"k"[..]), None, Some(b""), None] {
        builder.push(1_000, key, Some(b"value"), &[]);
    }
    let refused = bench.ask(1, VERSION, &request(0, &builder.finish())).expect("an answer at once");
    let partition = &refused.responses[0].partition_responses[0];
    assert_eq!((partition.error_code, partition.base_offset, partition.log_start_offset), (87, -1, 0));
    let named: Vec<i32> = partition.record_errors.iter().map(|error| error.batch_index).collect();
    assert_eq!(named, [1, 3]);
    assert!(partition.record_errors.iter().all(|error| error.batch_index_error_message.is_some()));
    assert!(partition.error_message.is_some());
    assert!(bench.take().is_empty(), "nothing is appended");
}

#[test]
fn records_without_keys_are_taken_by_other_topics() {
    assert_eq!(produce(&mut serving(), 1, &batch(Producer::NONE)), None);
}

#[test]
fn old_records_go_at_the_interval_of_the_retention_check() {
    let config = BrokerConfig { retention_check_ms: 1_000, ..BrokerConfig::default() };
    let mut bench = Bench::with(config, Vec::new());
    bench.council(topic_with(&[("retention.ms", "1")], "t", 1, 1, 0));
    bench.flush();
    bench.broker.tick(Now::of_ms(10_000, 50_000));
    assert_eq!(produce(&mut bench, 1, &batch(Producer::NONE)), None);
    bench.flush();
    assert_eq!(answers(&mut bench), [(1, (0, 0))]);
    bench.broker.tick(Now::of_ms(10_999, 50_999));
    assert!(bench.take().is_empty(), "it is not time yet");
    bench.broker.tick(Now::of_ms(11_000, 51_000));
    let commands = bench.take();
    let is_start = |command: &DiskCommand| matches!(command, DiskCommand::Start(_, Offset(1), Offset(1)));
    assert!(commands.len() == 1 && commands.iter().all(is_start), "{commands:?}");
}

#[test]
fn topic_made_again_under_its_name_is_empty() {
    let mut bench = serving();
    produce(&mut bench, 1, &batch(Producer::NONE));
    bench.flush();
    bench.council(no_topic("t"));
    assert!(matches!(bench.take().as_slice(), [DiskCommand::Drop(LogId(8))]));
    bench.council(topic("t", 2, 1, 0));
    bench.flush();
    answers(&mut bench);
    assert_eq!(produce(&mut bench, 2, &batch(Producer::NONE)), None);
    bench.flush();
    assert_eq!(answers(&mut bench), [(2, (0, 0))]);
}

#[test]
fn batch_of_a_topic_that_is_deleted_meanwhile_fails() {
    let mut bench = serving();
    assert_eq!(produce(&mut bench, 1, &batch(Producer::NONE)), None);
    bench.council(no_topic("t"));
    assert_eq!(answers(&mut bench), [(1, (3, -1))], "UNKNOWN_TOPIC_OR_PARTITION");
}

#[test]
fn second_batch_of_a_new_producer_does_not_overtake_the_first_that_was_refused() {
    let mut bench = serving();
    let batch_of = |base_sequence| batch(Producer { id: 5, epoch: 0, base_sequence });
    bench.broker.disk_event(DiskEvent::Room(10), bench.now);
    assert_eq!(produce(&mut bench, 1, &batch_of(0)), Some((56, -1)));
    bench.broker.disk_event(DiskEvent::Room(1 << 20), bench.now);
    assert_eq!(produce(&mut bench, 2, &batch_of(1)), Some((45, -1)), "OUT_OF_ORDER_SEQUENCE_NUMBER");
    assert_eq!(produce(&mut bench, 3, &batch_of(0)), None);
    assert_eq!(produce(&mut bench, 4, &batch_of(1)), None);
    let other = batch(Producer { id: 6, epoch: 0, base_sequence: 7 });
    assert_eq!(produce(&mut bench, 5, &other), None, "what is not known to be missing is not waited for");
}

#[test]
fn second_batch_of_a_new_producer_does_not_overtake_the_first_that_came_before_its_topic_was_known() {
    const BY_NAME: i16 = 12;
    const BY_ID: i16 = 13;
    const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
    const UNKNOWN_TOPIC_ID: i16 = 100;
    for (version, unknown) in [(BY_NAME, UNKNOWN_TOPIC_OR_PARTITION), (BY_ID, UNKNOWN_TOPIC_ID)] {
        let mut bench = Bench::serving(&[topic("t", 1, 1, 0)]);
        let produce = |bench: &mut Bench, number, base_sequence| {
            let records = batch(Producer { id: 5, epoch: 0, base_sequence });
            let mut request = request(0, &records);
            if version == BY_ID {
                request.topic_data[0].topic_id = Uuid::from_bytes([2; 16]);
            } else {
                request.topic_data[0].name = TopicName(text("u"));
            }
            bench.ask(number, version, &request).as_ref().map(outcome)
        };
        assert_eq!(produce(&mut bench, 1, 0), Some((unknown, -1)));
        bench.council(topic("u", 2, 1, 0));
        bench.flush();
        assert_eq!(produce(&mut bench, 2, 1), Some((45, -1)), "OUT_OF_ORDER_SEQUENCE_NUMBER");
        assert_eq!(produce(&mut bench, 3, 0), None);
        assert_eq!(produce(&mut bench, 4, 1), None);
    }
}

#[test]
fn late_batch_of_an_epoch_that_is_over_is_told_that_although_the_first_of_the_epoch_was_refused() {
    let mut bench = serving();
    let batch_of = |base_sequence| batch(Producer { id: 5, epoch: 0, base_sequence });
    bench.broker.disk_event(DiskEvent::Room(10), bench.now);
    assert_eq!(produce(&mut bench, 1, &batch_of(0)), Some((56, -1)));
    bench.broker.disk_event(DiskEvent::Room(1 << 20), bench.now);
    let topic =
        WritableTxnMarkerTopic::default().with_name(TopicName(text("t"))).with_partition_indexes(vec![0]);
    let marker = WritableTxnMarker::default()
        .with_producer_id(ProducerId(5))
        .with_producer_epoch(1)
        .with_topics(vec![topic]);
    let markers = WriteTxnMarkersRequest::default().with_markers(vec![marker]);
    assert_eq!(bench.call(1, &markers).markers[0].topics[0].partitions[0].error_code, 0);
    assert_eq!(produce(&mut bench, 90, &batch_of(1)), Some((47, -1)), "INVALID_PRODUCER_EPOCH");
}

#[test]
fn batch_that_was_refused_long_ago_holds_up_no_later_one() {
    let mut bench = serving();
    let batch_of = |base_sequence| batch(Producer { id: 5, epoch: 0, base_sequence });
    bench.broker.disk_event(DiskEvent::Room(10), bench.now);
    assert_eq!(produce(&mut bench, 1, &batch_of(500)), Some((56, -1)));
    bench.broker.disk_event(DiskEvent::Room(1 << 20), bench.now);
    bench.pass(299_999);
    assert_eq!(produce(&mut bench, 2, &batch_of(700)), Some((45, -1)), "it may come again");
    // Another broker has taken it, and what was known of the producer has expired.
    bench.pass(1);
    assert_eq!(produce(&mut bench, 3, &batch_of(700)), None);
}
