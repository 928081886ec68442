//! A disk that is full in the middle of a transaction. What is refused has no effect, and what was decided is done once there is
//! room.

use kafka_protocol::messages::{AddPartitionsToTxnRequest, EndTxnRequest};

use super::client::{BOTH, Client, Protocol, committed_offset, outcome, read};
use super::{NOT_AVAILABLE, NOT_ENOUGH_REPLICAS, UNSTABLE, requests, serving};
use crate::bench::ROOM;

const STORAGE_ERROR: i16 = 56;

#[test]
fn full_disk_adds_no_partition() {
    let mut bench = serving();
    let mut classic = Client::new(&mut bench, "a", Protocol::Classic);
    let mut other = Client::new(&mut bench, "b", Protocol::EpochPerTransaction);
    bench.room(0);
    assert_eq!(classic.add(&mut bench, &[0]), NOT_AVAILABLE);
    let (version, record) = other.record(0, "kept");
    assert_eq!(outcome(&bench.call(version, &record)), (NOT_ENOUGH_REPLICAS, -1), "which clients retry");
    assert!(bench.take().is_empty(), "nothing is appended");
    bench.room(ROOM);
    assert_eq!(outcome(&bench.call(version, &record)), (0, 0));
    other.commit(&mut bench);
    classic.produce(&mut bench, 0, "two");
    classic.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["kept", "two"]);
}

#[test]
fn full_disk_refuses_a_record_whose_partition_was_added() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "one");
        let (version, record) = producer.record(0, "two");
        bench.room(0);
        assert_eq!(outcome(&bench.call(version, &record)), (STORAGE_ERROR, -1));
        bench.room(ROOM);
        assert_eq!(outcome(&bench.call(version, &record)), (0, 1));
        producer.commit(&mut bench);
        bench.settle();
        assert_eq!(read(&mut bench, 0, true), ["one", "two"]);
    }
}

#[test]
fn full_disk_decides_nothing() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "one");
        producer.commit_offset(&mut bench, 0, 5);
        bench.room(0);
        assert_eq!(producer.end(&mut bench, true), NOT_AVAILABLE);
        assert!(bench.take().is_empty(), "nothing is appended");
        bench.room(ROOM);
        assert_eq!(committed_offset(&mut bench, 0), Err(UNSTABLE));
        assert_eq!(read(&mut bench, 0, true), Vec::<String>::new());
        producer.abort(&mut bench);
        bench.settle();
        assert_eq!((read(&mut bench, 0, true), committed_offset(&mut bench, 0)), (vec![], Ok(-1)));
    }
}

#[test]
fn markers_for_which_there_was_no_room_are_written_later() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "one");
        producer.produce(&mut bench, 1, "two");
        producer.commit_offset(&mut bench, 0, 5);
        let end = requests::end("a", producer.producer, true);
        let waits = bench.begin::<EndTxnRequest>(protocol.end(), &end).expect_err("it is not durable");
        bench.take();
        bench.room(0);
        bench.flush();
        assert_eq!(bench.end::<EndTxnRequest>(waits, protocol.end()).expect("it is decided").error_code, 0);
        for _ in 0..3 {
            bench.pass(600);
            bench.settle();
        }
        assert_eq!(read(&mut bench, 0, true), Vec::<String>::new());
        bench.room(ROOM);
        bench.pass(600);
        bench.settle();
        assert_eq!(
            (read(&mut bench, 0, true), read(&mut bench, 1, true)),
            (vec!["one".into()], vec!["two".into()])
        );
        assert_eq!(committed_offset(&mut bench, 0), Ok(5));
    }
}

#[test]
fn refused_addition_leaves_what_was_there() {
    let mut bench = serving();
    let producer = Client::new(&mut bench, "a", Protocol::Classic);
    assert_eq!(producer.add(&mut bench, &[0]), 0);
    bench.room(0);
    assert_eq!(producer.add(&mut bench, &[1]), NOT_AVAILABLE);
    bench.room(ROOM);
    let verify = vec![requests::add_of_broker("a", producer.producer, &[0, 1], true)];
    let answer = bench.call(5, &AddPartitionsToTxnRequest::default().with_transactions(verify));
    let results = &answer.results_by_transaction[0].topic_results[0].results_by_partition;
    let codes: Vec<i16> = results.iter().map(|result| result.partition_error_code).collect();
    assert_eq!(codes, [0, super::ABORTABLE]);
}
