//! What a broker promises to consumers: waits, limits and sessions of Fetch.

use base::{MonoTime, Now};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::{FetchRequest, FetchResponse, ProduceRequest, TopicName};
use log_broker::{BrokerConfig, DiskEvent};
use log_partition::Offset;
use log_wire::Producer;
use uuid::Uuid;

use crate::bench::{Bench, no_topic, text, topic};
use crate::produce::{batch, request as produce_request};

const BY_NAME: i16 = 12;
const BY_ID: i16 = 13;
const PARTITIONS: usize = 4;

fn serving() -> Bench {
    Bench::serving(&[topic("t", 1, PARTITIONS, 0)])
}

fn produce(bench: &mut Bench, partition: i32) {
    bench.ask(1, 9, &produce_request(partition, &batch(Producer::NONE)));
    bench.take();
}

fn produce_durably(bench: &mut Bench, partition: i32) {
    produce(bench, partition);
    bench.flush();
}

pub(crate) fn fetch(partitions: &[(i32, i64)]) -> FetchRequest {
    let wanted = partitions.iter().map(|(index, offset)| {
        FetchPartition::default()
            .with_partition(*index)
            .with_fetch_offset(*offset)
            .with_partition_max_bytes(1 << 20)
    });
    let topic = FetchTopic::default()
        .with_topic(TopicName(text("t")))
        .with_topic_id(Uuid::from_bytes([1; 16]))
        .with_partitions(wanted.collect());
    let topics = if partitions.is_empty() { Vec::new() } else { vec![topic] };
    FetchRequest::default().with_min_bytes(1).with_max_bytes(1 << 20).with_topics(topics)
}

/// Partition, error, high watermark and number of bytes of each partition that is told.
fn told(answer: &FetchResponse) -> Vec<(i32, i16, i64, usize)> {
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    partitions
        .map(|partition| {
            let bytes = partition.records.as_ref().map_or(0, |records| records.len());
            (partition.partition_index, partition.error_code, partition.high_watermark, bytes)
        })
        .collect()
}

fn one() -> usize {
    batch(Producer::NONE).len()
}

fn answers(bench: &mut Bench) -> Vec<(u64, FetchResponse)> {
    bench.answers::<FetchRequest>()
}

#[test]
fn fetch_waits_for_what_is_durable_and_for_its_time_at_the_longest() {
    let mut bench = serving();
    let waits = fetch(&[(0, 0)]).with_max_wait_ms(100).with_session_epoch(-1);
    assert!(bench.ask(99, BY_NAME, &waits).is_none());
    produce(&mut bench, 0);
    assert!(answers(&mut bench).is_empty(), "what is not durable is not there");
    bench.flush();
    let done: Vec<u64> = bench.broker.take_done().iter().map(|(waiter, _)| waiter.request).collect();
    assert_eq!(done, [1, 99]);
    let mut bench = serving();
    assert!(bench.ask(99, BY_NAME, &waits).is_none());
    assert_eq!(bench.broker.next_deadline(), Some(MonoTime::of_ms(1_100)));
    bench.broker.tick(Now::of_ms(1_100, 1_100));
    assert_eq!(told(&answers(&mut bench)[0].1), [(0, 0, 0, 0)]);
    let wrong = fetch(&[(0, 5)]).with_max_wait_ms(100).with_session_epoch(-1);
    assert_eq!(told(&bench.ask(2, BY_NAME, &wrong).expect("an error does not wait")), [(0, 1, -1, 0)]);
}

#[test]
fn fetch_waits_until_all_its_bytes_are_there_whatever_partitions_they_are_of() {
    let mut bench = serving();
    let bytes = i32::try_from(3 * one()).expect("it is small");
    let waits =
        fetch(&[(0, 0), (1, 0), (2, 0)]).with_max_wait_ms(100).with_min_bytes(bytes).with_session_epoch(-1);
    assert!(bench.ask(99, BY_NAME, &waits).is_none());
    for partition in [0, 2] {
        produce_durably(&mut bench, partition);
        assert!(bench.broker.take_done().iter().all(|(waiter, _)| waiter.request == 1));
    }
    produce_durably(&mut bench, 2);
    let done: Vec<u64> = bench.broker.take_done().iter().map(|(waiter, _)| waiter.request).collect();
    assert_eq!(done, [1, 99]);
}

#[test]
fn fetch_ends_when_enough_is_there_though_a_part_is_in_a_file_and_a_part_in_memory() {
    let mut bench = serving();
    produce_durably(&mut bench, 0);
    let log = bench.disk.log_of(0);
    bench.broker.disk_event(DiskEvent::Written(log, Offset(1), 0), bench.now);
    bench.broker.take_done();
    let bytes = i32::try_from(2 * one()).expect("it is small");
    let waits = fetch(&[(0, 0)]).with_max_wait_ms(100).with_min_bytes(bytes).with_session_epoch(-1);
    assert!(bench.ask(99, BY_NAME, &waits).is_none());
    produce_durably(&mut bench, 0);
    let done: Vec<u64> = bench.broker.take_done().iter().map(|(waiter, _)| waiter.request).collect();
    assert_eq!(done, [1, 99]);
    assert!(bench.ask(98, BY_NAME, &waits).is_some(), "it is there from the beginning");
}

#[test]
fn first_batch_is_given_whatever_its_size_and_others_only_if_they_fit() {
    let mut bench = serving();
    [0, 1].iter().for_each(|partition| produce_durably(&mut bench, *partition));
    let narrow = fetch(&[(0, 0), (1, 0)]).with_max_bytes(1).with_session_epoch(-1);
    let answer = bench.ask(2, BY_NAME, &narrow).expect("there is something");
    assert_eq!(told(&answer), [(0, 0, 1, one()), (1, 0, 1, 0)]);
    let mut by_partition = fetch(&[(0, 0), (1, 0)]).with_session_epoch(-1);
    by_partition.topics[0].partitions.iter_mut().for_each(|partition| partition.partition_max_bytes = 0);
    let answer = bench.ask(3, BY_NAME, &by_partition).expect("there is something");
    assert_eq!(told(&answer), [(0, 0, 1, one()), (1, 0, 1, 0)]);
}

#[test]
fn session_tells_only_what_is_new() {
    let mut bench = serving();
    produce_durably(&mut bench, 1);
    let begin = fetch(&[(0, 0), (1, 0), (2, 0)]).with_session_epoch(0);
    let first = bench.ask(2, BY_ID, &begin).expect("there is something");
    assert!(first.session_id > 0);
    assert_eq!(told(&first), [(0, 0, 0, 0), (1, 0, 1, one()), (2, 0, 0, 0)]);
    let next = |epoch, partitions: &[(i32, i64)]| {
        fetch(partitions).with_session_id(first.session_id).with_session_epoch(epoch)
    };
    let second = bench.ask(3, BY_ID, &next(1, &[(1, 1)])).expect("it does not wait");
    assert_eq!(told(&second), []);
    [2, 0].iter().for_each(|partition| produce_durably(&mut bench, *partition));
    let third = bench.ask(4, BY_ID, &next(2, &[])).expect("there is something");
    assert_eq!(told(&third), [(2, 0, 1, one()), (0, 0, 1, one())]);
    let again = bench.ask(5, BY_ID, &next(3, &[(0, 1)])).expect("there is something");
    assert_eq!(told(&again), [(2, 0, 1, one())], "what a client did not take is given again");
    assert_eq!((third.session_id, third.error_code), (first.session_id, 0));
}

#[test]
fn session_waits_and_is_woken_by_any_of_its_partitions() {
    let mut bench = serving();
    let begin = fetch(&[(0, 0), (1, 0)]).with_session_epoch(0);
    let id = bench.ask(2, BY_ID, &begin).expect("it does not wait").session_id;
    let wait = fetch(&[]).with_session_id(id).with_session_epoch(1).with_max_wait_ms(100);
    assert!(bench.ask(3, BY_ID, &wait).is_none());
    produce_durably(&mut bench, 1);
    bench.broker.take_done();
    let wait = fetch(&[(1, 1)]).with_session_id(id).with_session_epoch(2).with_max_wait_ms(100);
    assert!(bench.ask(4, BY_ID, &wait).is_none(), "all of it was given");
    bench.council(no_topic("t"));
    assert_eq!(told(&answers_of(&mut bench, 4)), [(0, 100, -1, 0)], "UNKNOWN_TOPIC_ID");
    let next = fetch(&[]).with_session_id(id).with_session_epoch(3).with_max_wait_ms(100);
    let mut rest = told(&bench.ask(5, BY_ID, &next).expect("an error does not wait"));
    rest.sort_unstable();
    assert_eq!(rest, [(0, 100, -1, 0), (1, 100, -1, 0)]);
}

fn answers_of(bench: &mut Bench, number: u64) -> FetchResponse {
    let answers = answers(bench).into_iter().find(|(of, _)| *of == number);
    answers.expect("it is answered").1
}

#[test]
fn partition_that_is_forgotten_is_not_told_any_more() {
    let mut bench = serving();
    let begin = fetch(&[(0, 0), (1, 0)]).with_session_epoch(0);
    let id = bench.ask(2, BY_ID, &begin).expect("it does not wait").session_id;
    let gone = ForgottenTopic::default().with_topic_id(Uuid::from_bytes([1; 16])).with_partitions(vec![0]);
    let forget = fetch(&[]).with_session_id(id).with_session_epoch(1).with_forgotten_topics_data(vec![gone]);
    bench.ask(3, BY_ID, &forget).expect("it does not wait");
    [0, 1].iter().for_each(|partition| produce_durably(&mut bench, *partition));
    let next = fetch(&[]).with_session_id(id).with_session_epoch(2);
    assert_eq!(told(&bench.ask(4, BY_ID, &next).expect("there is something")), [(1, 0, 1, one())]);
}

#[test]
fn wrong_session_or_epoch_is_refused_and_an_ended_session_is_unknown() {
    let mut bench = serving();
    let begin = fetch(&[(0, 0)]).with_session_epoch(0);
    let id = bench.ask(2, BY_ID, &begin).expect("it does not wait").session_id;
    let mut refused = |session: i32, epoch, version| {
        let next = fetch(&[]).with_session_id(session).with_session_epoch(epoch);
        let answer = bench.ask(3, version, &next).expect("it does not wait");
        (answer.error_code, answer.session_id)
    };
    assert_eq!(refused(id ^ 1, 1, BY_ID), (70, 0));
    assert_eq!(refused(id, 2, BY_ID), (71, 0));
    assert_eq!(refused(id, 1, BY_NAME), (106, 0));
    assert_eq!(refused(id, 1, BY_ID), (0, id));
    assert_eq!(refused(id, -1, BY_ID), (0, 0), "the session ends");
    assert_eq!(refused(id, 2, BY_ID), (70, 0));
}

#[test]
fn client_gets_no_session_where_there_is_no_room() {
    let config = BrokerConfig { fetch_sessions_max: 1, ..BrokerConfig::default() };
    let mut bench = Bench::with(config, Vec::new());
    let begin = fetch(&[(0, 0)]).with_session_epoch(0);
    let ids: Vec<i32> =
        (1..3).map(|number| bench.ask(number, BY_ID, &begin).expect("an error").session_id).collect();
    assert!(ids[0] > 0 && ids[1] == 0, "{ids:?}");
    bench.now = Now::of_ms(200_000, 200_000);
    assert!(bench.ask(3, BY_ID, &begin).expect("an error").session_id > 0, "the old one is replaced");
}

#[test]
fn waiting_fetch_of_a_connection_that_is_gone_is_forgotten() {
    let mut bench = serving();
    let waits = fetch(&[(0, 0)]).with_max_wait_ms(100).with_session_epoch(-1);
    assert!(bench.ask(99, BY_NAME, &waits).is_none());
    bench.broker.disconnected(0, net_event_loop::ConnId { slot: 0, generation: 1 });
    produce_durably(&mut bench, 0);
    bench.broker.tick(Now::of_ms(5_000, 5_000));
    let done: Vec<u64> = bench.broker.take_done().iter().map(|(waiter, _)| waiter.request).collect();
    assert_eq!(done, [1]);
    let _ = bench.answers::<ProduceRequest>();
}
