//! Records that are deleted stay deleted, and whoever reads them is told.

use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{
    DeleteRecordsRequest, DeleteRecordsResponse, FetchRequest, ProduceRequest, TopicName,
};
use log_broker::{DiskCommand, DiskEvent};
use log_metadata::{KeeperEvent, TopicNode};
use log_partition::Offset;
use log_wire::Producer;

use super::council::World;
use crate::bench::{decoded, no_topic, text, topic};
use crate::produce;

const TIMEOUT_MS: i32 = 5_000;

/// With a topic `t` of two partitions that have three records each.
fn world() -> World {
    let mut world = World::new();
    make(&mut world, "t", 1, 2, "delete");
    let records = produce::batch(Producer::NONE);
    for partition in [0, 1, 0, 1, 0, 1] {
        let request: ProduceRequest = produce::request(partition, &records);
        assert_eq!(world.call(9, &request).responses[0].partition_responses[0].error_code, 0);
    }
    world
}

fn make(world: &mut World, name: &str, id: u8, partitions: usize, policy: &str) {
    let KeeperEvent::Node { path, data } = topic(name, id, partitions, 0) else { panic!("a topic") };
    let mut node = TopicNode::read(&data.expect("data")).expect("a topic");
    node.settings.insert("cleanup.policy".into(), policy.into());
    world.write(&path, Some(&node.bytes()));
    world.settle();
}

fn deletion(topics: &[(&str, &[(i32, i64)])]) -> DeleteRecordsRequest {
    let topics = topics.iter().map(|(name, partitions)| {
        let partitions = partitions.iter().map(|(index, offset)| {
            DeleteRecordsPartition::default().with_partition_index(*index).with_offset(*offset)
        });
        DeleteRecordsTopic::default().with_name(TopicName(text(name))).with_partitions(partitions.collect())
    });
    DeleteRecordsRequest::default().with_topics(topics.collect()).with_timeout_ms(TIMEOUT_MS)
}

/// Partition, error and low watermark of each result.
fn told(answer: &DeleteRecordsResponse) -> Vec<(i32, i16, i64)> {
    let results = answer.topics.iter().flat_map(|topic| &topic.partitions);
    results.map(|result| (result.partition_index, result.error_code, result.low_watermark)).collect()
}

#[test]
fn deletion_is_answered_once_it_is_durable_and_not_before() {
    let mut world = world();
    assert!(world.ask(2, &deletion(&[("t", &[(0, 2), (1, -1)])])).is_none());
    let commands = world.bench.take();
    let starts: Vec<i64> = commands
        .iter()
        .map(|command| match command {
            DiskCommand::Start(_, Offset(start), _) => *start,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(starts, [2, 3]);
    world.bench.broker.disk_event(DiskEvent::Durable(world.bench.disk.given - 1), world.bench.now);
    assert!(world.answer::<DeleteRecordsRequest>().is_none(), "one of two is durable");
    world.bench.flush();
    let answer = world.answer::<DeleteRecordsRequest>().expect("an answer");
    assert_eq!(told(&answer), [(0, 0, 2), (1, 0, 3)]);
}

#[test]
fn deletion_of_what_is_gone_is_answered_at_once_unless_that_is_not_durable() {
    let mut world = world();
    assert!(world.ask(2, &deletion(&[("t", &[(0, 2)])])).is_none());
    assert!(world.ask(2, &deletion(&[("t", &[(0, 1)])])).is_none(), "it may come back in a crash");
    world.bench.flush();
    let answers = world.bench.answers::<DeleteRecordsRequest>();
    assert_eq!(
        answers.iter().map(|(_, answer)| told(answer)).collect::<Vec<_>>(),
        [[(0, 0, 2)], [(0, 0, 2)]]
    );
    let again = world.ask(2, &deletion(&[("t", &[(0, 1)])])).expect("an answer at once");
    assert_eq!(told(&again), [(0, 0, 2)]);
    assert!(world.bench.take().is_empty());
}

#[test]
fn what_cannot_be_deleted_is_refused_with_the_codes_of_kafka() {
    let mut world = world();
    make(&mut world, "compacted", 2, 1, "compact");
    make(&mut world, "kept", 3, 1, "");
    make(&mut world, "__consumer_offsets", 4, 1, "compact");
    let request = deletion(&[
        ("__consumer_offsets", &[(0, 0), (9, 0)]),
        ("compacted", &[(0, -1), (7, -1)]),
        ("kept", &[(0, -1)]),
        ("nowhere", &[(0, 0)]),
        ("t", &[(0, 4), (1, -2), (2, 0)]),
        ("t", &[(1, 99)]),
    ]);
    let answer = world.ask(2, &request).expect("an answer at once");
    assert_eq!(
        told(&answer),
        [
            (0, 17, -1),
            (9, 3, -1),
            (0, 44, -1),
            (7, 3, -1),
            (0, 0, 0),
            (0, 3, -1),
            (0, 1, -1),
            (1, 1, -1),
            (2, 3, -1)
        ]
    );
}

#[test]
fn deletion_whose_time_is_over_says_so_and_one_of_a_topic_that_is_gone_fails() {
    let mut world = world();
    assert!(world.ask(2, &deletion(&[("t", &[(0, 1)])])).is_none());
    world.bench.now.advance_ms(5_000);
    world.bench.broker.tick(world.bench.now);
    assert_eq!(told(&world.answer::<DeleteRecordsRequest>().expect("an answer")), [(0, 7, -1)]);
    assert!(world.ask(2, &deletion(&[("t", &[(0, 2), (1, 1)])])).is_none());
    world.bench.council(no_topic("t"));
    assert_eq!(told(&world.answer::<DeleteRecordsRequest>().expect("an answer")), [(0, 6, -1), (1, 6, -1)]);
    world.bench.flush();
    assert!(world.answer::<DeleteRecordsRequest>().is_none());
}

fn fetch(offset: i64) -> FetchRequest {
    let partition = FetchPartition::default().with_fetch_offset(offset).with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(TopicName(text("t"))).with_partitions(vec![partition]);
    FetchRequest::default()
        .with_min_bytes(1 << 20)
        .with_max_bytes(1 << 20)
        .with_max_wait_ms(10_000)
        .with_topics(vec![topic])
}

#[test]
fn fetch_that_waits_below_the_new_start_is_told_once_the_records_are_deleted() {
    let mut world = world();
    assert!(world.ask(12, &fetch(1)).is_none(), "it waits for more bytes");
    assert!(world.ask(2, &deletion(&[("t", &[(0, 2)])])).is_none());
    assert!(world.bench.answers::<FetchRequest>().is_empty(), "they may come back in a crash");
    world.bench.flush();
    let answered = world.bench.take_answered();
    let numbers: Vec<u64> = answered.keys().copied().collect();
    let body = answered[&numbers[0]].clone().expect("it has an answer");
    let answer = decoded::<FetchRequest>(body, 12);
    assert_eq!((numbers.len(), answer.responses[0].partitions[0].error_code), (2, 1));
}

#[test]
fn deletion_of_everything_leaves_no_segment() {
    let mut world = world();
    assert!(world.ask(2, &deletion(&[("t", &[(0, 3)])])).is_none());
    let commands = world.bench.take();
    let [DiskCommand::Start(_, start, first)] = commands.as_slice() else { panic!("{commands:?}") };
    // Nothing of the only segment is needed any more: the next batch begins one.
    assert_eq!((*start, *first), (Offset(3), Offset(3)));
}
