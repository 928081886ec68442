//! Produce requests that wait for the coordinator of their transaction.

use kafka_protocol::messages::{EndTxnRequest, ProduceRequest};
use log_broker::{BrokerConfig, Response};

use super::client::{Client, Protocol, find_coordinator, outcome, read};
use super::{
    CONCURRENT, NOT_ENOUGH_REPLICAS, OLD_EPOCH, OUT_OF_ORDER, UNKNOWN_TOPIC, requests, serving, serving_with,
};
use crate::bench::{Bench, no_topic, topic};

fn producer(bench: &mut Bench) -> Client {
    Client::new(bench, "a", Protocol::EpochPerTransaction)
}

/// Sends a record, which waits.
fn begin(bench: &mut Bench, client: &mut Client, partition: i32, value: &str) -> u64 {
    let (version, request) = client.record(partition, value);
    bench.begin::<ProduceRequest>(version, &request).expect_err("it waits")
}

fn ended(bench: &mut Bench, number: u64) -> Option<(i16, i64)> {
    bench.end::<ProduceRequest>(number, 12).as_ref().map(outcome)
}

#[test]
fn next_request_of_a_connection_waits_behind_one_whose_transaction_is_asked_for() {
    let mut bench = serving();
    let mut client = producer(&mut bench);
    let first = begin(&mut bench, &mut client, 0, "one");
    assert!(bench.blocks(first), "a later batch does not overtake it (L12)");
    assert_eq!(bench.take().len(), 1, "the partition is added, and nothing is appended");
    bench.flush();
    assert_eq!(ended(&mut bench, first), None, "it is appended now");
    let second = begin(&mut bench, &mut client, 0, "two");
    assert!(!bench.blocks(second), "the transaction is open in the partition");
    bench.flush();
    assert_eq!((ended(&mut bench, first), ended(&mut bench, second)), (Some((0, 0)), Some((0, 1))));
}

#[test]
fn record_of_the_next_transaction_waits_for_the_markers_of_the_last() {
    let mut bench = serving();
    let mut client = producer(&mut bench);
    client.produce(&mut bench, 0, "one");
    client.commit(&mut bench);
    let next = begin(&mut bench, &mut client, 0, "two");
    bench.settle();
    assert_eq!(ended(&mut bench, next), Some((0, 2)), "behind the marker");
    client.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["one", "two"]);
}

#[test]
fn record_whose_transaction_cannot_begin_in_time_is_to_be_sent_again() {
    for (version, expected) in [(12, CONCURRENT), (11, NOT_ENOUGH_REPLICAS), (9, NOT_ENOUGH_REPLICAS)] {
        let mut bench = serving();
        let mut client = producer(&mut bench);
        client.produce(&mut bench, 0, "one");
        let end = requests::end("a", client.producer, true);
        let waits = bench.begin::<EndTxnRequest>(5, &end).expect_err("it is not durable");
        bench.take();
        bench.room(0);
        bench.flush();
        let answer = bench.end::<EndTxnRequest>(waits, 5).expect("it is decided");
        let next = (answer.producer_id.0, answer.producer_epoch);
        let request = requests::produce(Some("a"), &[(0, requests::batch(next, 0, &["two"]))]);
        let answer = bench.begin::<ProduceRequest>(version, &request);
        let number = match answer {
            Ok(answer) => panic!("an answer at once: {answer:?}"),
            Err(number) => number,
        };
        if version == 12 {
            bench.pass(99);
            assert_eq!(bench.end::<ProduceRequest>(number, version).as_ref().map(outcome), None);
            bench.pass(1);
        }
        let refused = bench.end::<ProduceRequest>(number, version).expect("it has waited long enough");
        assert_eq!(outcome(&refused), (expected, -1));
        assert!(bench.take().is_empty());
    }
}

#[test]
fn record_behind_one_that_is_to_be_sent_again_does_not_overtake_it() {
    let mut bench = serving();
    let mut client = Client::new(&mut bench, "a", Protocol::Classic);
    assert_eq!(client.add(&mut bench, &[0]), 0);
    bench.crash(0);
    bench.flush();
    let (version, first) = client.record(0, "one");
    let number =
        bench.begin::<ProduceRequest>(version, &first).map_or_else(|number| number, |_| panic!("it waits"));
    let refused = bench.end::<ProduceRequest>(number, version).expect("the coordinator reads its partition");
    assert_eq!(outcome(&refused), (NOT_ENOUGH_REPLICAS, -1));
    bench.load();
    let (_, second) = client.record(0, "two");
    assert_eq!(
        outcome(&bench.call(version, &second)).0,
        OUT_OF_ORDER,
        "its partition knows no producer yet (L12)"
    );
    assert_eq!(outcome(&bench.call(version, &first)).0, 0);
    assert_eq!(outcome(&bench.call(version, &second)).0, 0);
    client.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["one", "two"]);
}

#[test]
fn record_without_an_answer_waits_too_and_an_error_closes_its_connection() {
    let mut bench = serving();
    let mut client = producer(&mut bench);
    let (version, request) = client.record(0, "one");
    assert_eq!(bench.send(1, version, &request.with_acks(0)), None);
    assert!(bench.blocks(1), "the next one does not overtake it");
    bench.take();
    assert!(bench.broker.take_done().is_empty());
    bench.flush();
    assert!(matches!(bench.broker.take_done().as_slice(), [(_, Response::Nothing)]));
    let (version, request) = client.record(0, "two");
    assert_eq!(bench.send(2, version, &request.with_acks(0)), Some(None), "it is appended at once");
    let old = requests::batch((client.producer.0, client.producer.1 + 1), 0, &["wrong"]);
    let wrong = requests::produce(Some("a"), &[(1, old)]).with_acks(0);
    assert_eq!(bench.send(3, 12, &wrong), None);
    bench.flush();
    let done = bench.broker.take_done();
    assert!(matches!(done.as_slice(), [(_, Response::Close)]), "{done:?}");
    client.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["one", "two"]);
}

#[test]
fn waiting_record_of_a_connection_that_is_gone_is_not_appended() {
    let mut bench = serving();
    let mut client = producer(&mut bench);
    begin(&mut bench, &mut client, 0, "lost");
    bench.disconnect();
    bench.settle();
    assert_eq!(read(&mut bench, 0, false), Vec::<String>::new());
    client.sequences.clear();
    assert_eq!(client.produce(&mut bench, 0, "again"), 0);
    client.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["again"]);
}

#[test]
fn waiting_record_of_a_topic_that_is_made_again_does_not_reach_its_namesake() {
    let mut bench = serving();
    let mut client = producer(&mut bench);
    let first = begin(&mut bench, &mut client, 0, "lost");
    bench.council(no_topic(requests::TOPIC));
    let other = bench.begin::<ProduceRequest>(12, &client.record(0, "lost").1).expect("there is no topic");
    assert_eq!(outcome(&other), (UNKNOWN_TOPIC, -1));
    bench.council(topic(requests::TOPIC, 2, 2, 0));
    bench.settle();
    assert_eq!(ended(&mut bench, first), Some((super::WRONG_STATE, -1)), "it was added to the one before");
    assert_eq!(read(&mut bench, 0, false), Vec::<String>::new());
}

#[test]
fn partition_whose_transaction_ended_meanwhile_takes_nothing_of_a_waiting_request() {
    let mut bench = serving();
    let mut client = producer(&mut bench);
    client.produce(&mut bench, 0, "one");
    // It has batches for a partition of the transaction, and for another that waits to be added.
    let batches = [
        (0, requests::batch(client.producer, 1, &["late"])),
        (1, requests::batch(client.producer, 0, &["late"])),
    ];
    let both = requests::produce(Some("a"), &batches);
    let waits = bench.begin::<ProduceRequest>(12, &both).expect_err("it waits");
    bench.conn = 1;
    let end = requests::end("a", client.producer, false);
    let ends = bench.begin::<EndTxnRequest>(5, &end).expect_err("it is not durable");
    bench.settle();
    assert_eq!(bench.end::<EndTxnRequest>(ends, 5).expect("it is decided").error_code, 0);
    let answer = bench.end::<ProduceRequest>(waits, 12).expect("it is answered");
    let codes: Vec<_> =
        answer.responses[0].partition_responses.iter().map(|partition| partition.error_code).collect();
    assert_eq!(codes, [0, 0], "both were before the decision, so they are part of what was aborted");
    for partition in [0, 1] {
        assert_eq!(read(&mut bench, partition, true), Vec::<String>::new());
        let answer = bench.call(requests::FETCH, &requests::fetch(partition, 0, true));
        let of = &answer.responses[0].partitions[0];
        assert_eq!(of.last_stable_offset, of.high_watermark, "nothing hangs (L44)");
    }
}

#[test]
fn waiting_records_count_as_work_of_the_disk() {
    let mut bench = serving_with(BrokerConfig { unflushed_bytes_max: 2_000, ..BrokerConfig::default() });
    let mut client = producer(&mut bench);
    client.produce(&mut bench, 0, "one");
    client.commit(&mut bench);
    let value = "x".repeat(3_000);
    let next = begin(&mut bench, &mut client, 0, &value);
    assert!(bench.broker.is_congested());
    bench.settle();
    assert_eq!(ended(&mut bench, next), Some((0, 2)));
    assert!(!bench.broker.is_congested());
}

#[test]
fn record_is_to_be_sent_again_if_its_coordinator_does_not_answer() {
    let mut bench = serving();
    let mut client = producer(&mut bench);
    let first = begin(&mut bench, &mut client, 0, "one");
    bench.take();
    bench.pass(29_999);
    assert_eq!(ended(&mut bench, first), None);
    bench.pass(1);
    assert_eq!(ended(&mut bench, first), Some((NOT_ENOUGH_REPLICAS, -1)));
    bench.settle();
    assert_eq!(read(&mut bench, 0, false), Vec::<String>::new(), "its answer comes too late");
}

#[test]
fn record_of_a_fenced_producer_that_waits_is_refused_or_belongs_to_what_is_aborted() {
    let mut bench = serving();
    let mut zombie = producer(&mut bench);
    let waits = begin(&mut bench, &mut zombie, 0, "late");
    bench.conn = 1;
    let mut heir = producer(&mut bench);
    let late = ended(&mut bench, waits).expect("it is answered");
    assert!(matches!(late, (0, 0) | (OLD_EPOCH, -1)), "{late:?}");
    assert_eq!(zombie.send(&mut bench, 1, "later"), (OLD_EPOCH, -1), "(L42)");
    heir.produce(&mut bench, 0, "kept");
    heir.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["kept"]);
}

#[test]
fn coordinator_that_is_not_there_makes_clients_send_again() {
    let mut bench = Bench::serving(&[topic(requests::TOPIC, 1, 1, 0)]);
    let request = requests::produce(Some("a"), &[(0, requests::batch((7, 0), 0, &["x"]))]);
    for version in [9, 11, 12] {
        assert_eq!(outcome(&bench.call(version, &request)), (NOT_ENOUGH_REPLICAS, -1));
    }
    let found = bench.call(4, &find_coordinator(1, "a"));
    assert_eq!(found.coordinators[0].error_code, super::NOT_AVAILABLE, "its topic is being made");
    bench.settle();
    assert_eq!(bench.call(4, &find_coordinator(1, "a")).coordinators[0].error_code, 0);
}
