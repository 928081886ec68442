//! What a broker promises to transactional producers and to those who read from them. Numbers in brackets are rules of the
//! specification.

mod administration;
mod client;
mod connection;
mod crashes;
mod model;
mod requests;
mod room;
mod waiting;

use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ListOffsetsRequest, OffsetFetchRequest,
    ProduceRequest, TxnOffsetCommitRequest,
};
use log_broker::{BrokerConfig, InternalTopic};

use crate::bench::{Bench, no_topic, topic};
use client::{BOTH, Client, Protocol, TIMEOUT_MS, committed_offset, find_coordinator, outcome, read};
use requests::{GROUP, TOPIC};

/// The errors that these tests meet.
const UNKNOWN_TOPIC: i16 = 3;
const LOADING: i16 = 14;
const NOT_AVAILABLE: i16 = 15;
const NOT_ENOUGH_REPLICAS: i16 = 19;
const OUT_OF_ORDER: i16 = 45;
const OLD_EPOCH: i16 = 47;
const WRONG_STATE: i16 = 48;
const OTHER_PRODUCER: i16 = 49;
const CONCURRENT: i16 = 51;
const NOT_ALLOWED: i16 = 53;
const NOT_ATTEMPTED: i16 = 55;
const NO_PRODUCER: i16 = 59;
const UNSTABLE: i16 = 88;
const FENCED: i16 = 90;
const ABORTABLE: i16 = 120;

/// A broker with a topic of two partitions. The internal topics have few partitions, so that coordinators have neighbours.
fn serving() -> Bench {
    serving_with(BrokerConfig::default())
}

fn serving_with(config: BrokerConfig) -> Bench {
    let config = BrokerConfig {
        offsets_topic: InternalTopic { partitions: 2, ..InternalTopic::default() },
        transactions_topic: InternalTopic { partitions: 2, ..InternalTopic::default() },
        ..config
    };
    let mut bench = Bench::serving_with(config, &[topic(TOPIC, 1, 2, 0)]);
    for (kind, key) in [(0, GROUP), (1, "a")] {
        bench.call(4, &find_coordinator(kind, key));
        bench.settle();
    }
    bench
}

#[test]
fn transaction_is_seen_whole_once_it_is_committed_and_not_before() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "one");
        producer.produce(&mut bench, 1, "two");
        assert_eq!((read(&mut bench, 0, false), read(&mut bench, 0, true)), (vec!["one".into()], vec![]));
        let end = requests::end("a", producer.producer, true);
        let waits = bench.begin::<EndTxnRequest>(protocol.end(), &end).expect_err("it is not durable");
        bench.take();
        assert!(
            bench.end::<EndTxnRequest>(waits, protocol.end()).is_none(),
            "the decision is durable first (L40)"
        );
        bench.flush();
        let ended = bench.end::<EndTxnRequest>(waits, protocol.end()).expect("it is decided");
        assert_eq!(ended.error_code, 0);
        assert_eq!(read(&mut bench, 0, true), Vec::<String>::new(), "the marker is not committed (L38)");
        bench.settle();
        assert_eq!(
            (read(&mut bench, 0, true), read(&mut bench, 1, true)),
            (vec!["one".into()], vec!["two".into()])
        );
    }
}

#[test]
fn records_of_an_aborted_transaction_are_listed_and_not_seen() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        let mut other = Client::new(&mut bench, "b", protocol);
        producer.produce(&mut bench, 0, "lost");
        other.produce(&mut bench, 0, "kept");
        producer.abort(&mut bench);
        bench.settle();
        assert_eq!(read(&mut bench, 0, true), Vec::<String>::new(), "one is open before it");
        other.commit(&mut bench);
        bench.settle();
        assert_eq!(read(&mut bench, 0, true), ["kept"]);
        assert_eq!(read(&mut bench, 0, false), ["lost", "kept"]);
        producer.produce(&mut bench, 0, "again");
        producer.commit(&mut bench);
        bench.settle();
        assert_eq!(read(&mut bench, 0, true), ["kept", "again"]);
    }
}

#[test]
fn answer_lists_only_aborted_transactions_of_the_records_that_it_gives() {
    let mut bench = serving();
    let mut producer = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    for _ in 0..3 {
        producer.produce(&mut bench, 0, "lost");
        producer.abort(&mut bench);
        bench.settle();
    }
    let mut narrow = requests::fetch(0, 0, true);
    narrow.topics[0].partitions[0].partition_max_bytes = 1;
    let answer = bench.call(requests::FETCH, &narrow);
    let partition = &answer.responses[0].partitions[0];
    assert_eq!(requests::aborted(partition), [(0, producer.producer.0)]);
    assert_eq!(partition.last_stable_offset, 6);
}

#[test]
fn offsets_by_list_end_at_the_last_decided_record() {
    use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
    let mut bench = serving();
    let mut producer = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    producer.produce(&mut bench, 0, "one");
    producer.commit(&mut bench);
    producer.produce(&mut bench, 0, "two");
    let mut latest = |level| {
        let wanted = ListOffsetsPartition::default().with_current_leader_epoch(-1).with_timestamp(-1);
        let name = kafka_protocol::messages::TopicName(crate::bench::text(TOPIC));
        let topic = ListOffsetsTopic::default().with_name(name).with_partitions(vec![wanted]);
        let request = ListOffsetsRequest::default().with_isolation_level(level).with_topics(vec![topic]);
        bench.call(7, &request).topics[0].partitions[0].offset
    };
    assert_eq!((latest(0), latest(1)), (3, 2));
}

#[test]
fn zombie_is_fenced_whatever_it_does() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut zombie = Client::new(&mut bench, "a", protocol);
        zombie.produce(&mut bench, 0, "lost");
        let mut heir = Client::new(&mut bench, "a", protocol);
        assert_eq!(zombie.send(&mut bench, 0, "late"), (OLD_EPOCH, -1));
        assert_eq!(zombie.send(&mut bench, 1, "late"), (OLD_EPOCH, -1));
        assert_eq!(zombie.add(&mut bench, &[0]), FENCED);
        assert_eq!(zombie.send_offset(&mut bench, 0, 5), OLD_EPOCH);
        for commit in [true, false] {
            assert_eq!(zombie.end(&mut bench, commit), FENCED);
        }
        let own = requests::init("a", TIMEOUT_MS, Some(zombie.producer));
        let mut code = |version| bench.call::<InitProducerIdRequest>(version, &own).error_code;
        assert_eq!((code(5), code(4), code(3)), (FENCED, FENCED, OLD_EPOCH));
        let end = requests::end("a", zombie.producer, true);
        assert_eq!(bench.call::<EndTxnRequest>(1, &end).error_code, OLD_EPOCH, "old clients know this one");
        heir.produce(&mut bench, 0, "kept");
        heir.commit(&mut bench);
        bench.settle();
        assert_eq!((read(&mut bench, 0, true), read(&mut bench, 1, false)), (vec!["kept".into()], vec![]));
    }
}

#[test]
fn record_that_comes_after_the_end_of_its_transaction_enters_nothing() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "kept");
        let (version, to_known) = producer.record(0, "late");
        let (_, to_other) = producer.record(1, "late");
        producer.commit(&mut bench);
        bench.settle();
        let expected = match protocol {
            Protocol::Classic => ABORTABLE,
            Protocol::EpochPerTransaction => OLD_EPOCH,
        };
        for late in [to_known, to_other] {
            assert_eq!(outcome(&bench.call(version, &late)), (expected, -1), "(L43)");
        }
        assert_eq!((read(&mut bench, 0, true), read(&mut bench, 1, true)), (vec!["kept".into()], vec![]));
    }
}

#[test]
fn record_for_a_partition_that_was_not_added_is_refused_in_words_that_its_client_knows() {
    let mut bench = serving();
    let mut producer = Client::new(&mut bench, "a", Protocol::Classic);
    assert_eq!(producer.add(&mut bench, &[0]), 0);
    let (_, request) = producer.record(1, "lost");
    for (version, expected) in [(9, WRONG_STATE), (10, WRONG_STATE), (11, ABORTABLE)] {
        assert_eq!(outcome(&bench.call(version, &request)), (expected, -1));
    }
    let (_, good) = producer.record(0, "kept");
    assert_eq!(outcome(&bench.call(9, &good)), (0, 0));
}

#[test]
fn transactional_batch_needs_a_transactional_id_and_a_request_one_producer() {
    let mut bench = serving();
    let producer = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    let (id, epoch) = producer.producer;
    let codes = |answer: kafka_protocol::messages::ProduceResponse| -> Vec<i16> {
        answer.responses[0].partition_responses.iter().map(|partition| partition.error_code).collect()
    };
    let own = requests::batch((id, epoch), 0, &["x"]);
    let plain = requests::plain_batch((-1, -1), -1, &["y"]);
    let unnamed = requests::produce(None, &[(0, own.clone()), (1, plain)]);
    assert_eq!(codes(bench.call(12, &unnamed)), [NOT_ALLOWED, NOT_ALLOWED], "nothing of it is done");
    for other in [(id + 1, 0), (id, epoch + 1)] {
        let mixed = requests::produce(Some("a"), &[(0, own.clone()), (1, requests::batch(other, 0, &["z"]))]);
        assert_eq!(codes(bench.call(12, &mixed)), [OTHER_PRODUCER, OTHER_PRODUCER]);
    }
    let other_id = requests::produce(Some("b"), &[(0, own.clone())]);
    assert_eq!(codes(bench.call(12, &other_id)), [OTHER_PRODUCER]);
    assert_eq!((read(&mut bench, 0, false), read(&mut bench, 1, false)), (vec![], vec![]));
    assert_eq!(codes(bench.call(12, &requests::produce(Some("a"), &[(0, own)]))), [0]);
    let plain = requests::plain_batch((id, epoch), 1, &["plain"]);
    assert_eq!(codes(bench.call(12, &requests::produce(None, &[(0, plain)]))), [WRONG_STATE]);
}

#[test]
fn first_record_of_a_transaction_in_a_partition_has_sequence_zero() {
    let mut bench = serving();
    let producer = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    let second = requests::produce(Some("a"), &[(0, requests::batch(producer.producer, 1, &["second"]))]);
    assert_eq!(
        outcome(&bench.call(12, &second)),
        (OUT_OF_ORDER, -1),
        "the first was refused, and comes again"
    );
    let first = requests::produce(Some("a"), &[(0, requests::batch(producer.producer, 0, &["first"]))]);
    assert_eq!(outcome(&bench.call(12, &first)), (0, 0));
    assert_eq!(outcome(&bench.call(12, &second)), (0, 1));
    assert_eq!(outcome(&bench.call(12, &first)), (0, 0), "a duplicate (L17)");
}

#[test]
fn partitions_are_added_all_or_none() {
    let mut bench = serving();
    let producer = Client::new(&mut bench, "a", Protocol::Classic);
    let request = requests::add("a", producer.producer, &[0, 7]);
    let answer = bench.call::<AddPartitionsToTxnRequest>(3, &request);
    let codes = |results: &[kafka_protocol::messages::add_partitions_to_txn_response::AddPartitionsToTxnTopicResult]| {
        let partitions = results.iter().flat_map(|topic| &topic.results_by_partition);
        partitions.map(|partition| partition.partition_error_code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&answer.results_by_topic_v3_and_below), [NOT_ATTEMPTED, UNKNOWN_TOPIC]);
    let other = Client::new(&mut bench, "b", Protocol::Classic);
    let transactions = vec![
        requests::add_of_broker("a", producer.producer, &[0], true),
        requests::add_of_broker("b", other.producer, &[0, 1], false),
        requests::add_of_broker("none", other.producer, &[0], false),
    ];
    let request = AddPartitionsToTxnRequest::default().with_transactions(transactions);
    let answer = bench.call(5, &request);
    let results: Vec<_> =
        answer.results_by_transaction.iter().map(|result| codes(&result.topic_results)).collect();
    assert_eq!(results, [vec![ABORTABLE], vec![0, 0], vec![OTHER_PRODUCER]]);
}

#[test]
fn silent_transaction_is_aborted_after_its_timeout_and_its_client_may_go_on() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "lost");
        let waited = u64::from(TIMEOUT_MS.unsigned_abs());
        bench.pass(waited - 1_000);
        bench.settle();
        assert_eq!(read(&mut bench, 0, true), Vec::<String>::new());
        bench.pass(1_000);
        bench.settle();
        let partition = bench
            .call(requests::FETCH, &requests::fetch(0, 0, true))
            .responses
            .remove(0)
            .partitions
            .remove(0);
        assert_eq!((partition.last_stable_offset, requests::aborted(&partition).len()), (2, 1), "(L44)");
        assert_eq!(producer.send(&mut bench, 0, "late"), (OLD_EPOCH, -1));
        assert_eq!(producer.send(&mut bench, 1, "late"), (OLD_EPOCH, -1));
        let recoverable = if protocol == Protocol::Classic { NO_PRODUCER } else { ABORTABLE };
        assert_eq!(producer.end(&mut bench, true), recoverable, "(L41)");
        let before = producer.producer;
        producer.abort(&mut bench);
        if protocol == Protocol::Classic {
            producer.init(&mut bench, Some(before));
        }
        producer.produce(&mut bench, 0, "kept");
        producer.commit(&mut bench);
        bench.settle();
        assert_eq!(read(&mut bench, 0, true), ["kept"]);
    }
}

#[test]
fn offsets_of_a_transaction_are_unstable_until_everybody_sees_them() {
    for (protocol, commit) in BOTH.into_iter().flat_map(|protocol| [(protocol, true), (protocol, false)]) {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.commit_offset(&mut bench, 0, 5);
        producer.commit(&mut bench);
        bench.settle();
        assert_eq!(committed_offset(&mut bench, 0), Ok(5));
        producer.commit_offset(&mut bench, 0, 9);
        assert_eq!(committed_offset(&mut bench, 0), Err(UNSTABLE));
        let end = requests::end("a", producer.producer, commit);
        let waits = bench.begin::<EndTxnRequest>(protocol.end(), &end).expect_err("it is not durable");
        bench.flush();
        assert_eq!(bench.end::<EndTxnRequest>(waits, protocol.end()).expect("it is decided").error_code, 0);
        let read = requests::fetch_offset(0);
        let early = bench.begin(requests::OFFSET_FETCH, &read);
        bench.settle();
        let early = match early {
            Ok(answer) => answer,
            Err(number) => {
                bench.end::<OffsetFetchRequest>(number, requests::OFFSET_FETCH).expect("it is answered")
            }
        };
        let expected = if commit { 9 } else { 5 };
        let seen = requests::offset_of(&early);
        assert!(seen == (0, UNSTABLE, -1) || seen == (0, 0, expected), "{seen:?} (L45)");
        assert_eq!(committed_offset(&mut bench, 0), Ok(expected));
    }
}

#[test]
fn next_transaction_waits_until_the_offsets_of_the_last_are_seen() {
    let mut bench = serving();
    let mut producer = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    producer.commit_offset(&mut bench, 0, 5);
    producer.commit(&mut bench);
    producer.produce(&mut bench, 0, "next");
    // No more has become durable than the record needed, and the record came behind the marker of the offsets (KAFKA-17507).
    assert_eq!(committed_offset(&mut bench, 0), Ok(5));
}

#[test]
fn offset_of_no_transaction_is_refused_in_words_that_its_client_knows() {
    let mut bench = serving();
    let producer = Client::new(&mut bench, "a", Protocol::Classic);
    let request = requests::offsets("a", producer.producer, &[(0, 5), (9, 5)]);
    let mut codes = |version| {
        let answer = bench.call::<TxnOffsetCommitRequest>(version, &request);
        answer.topics[0].partitions.iter().map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    assert_eq!(codes(3), [WRONG_STATE, UNKNOWN_TOPIC]);
    assert_eq!(codes(4), [ABORTABLE, UNKNOWN_TOPIC]);
    assert_eq!(codes(5), [0, UNKNOWN_TOPIC], "it is added");
}

#[test]
fn offsets_are_fenced_by_the_generation_of_their_group() {
    let mut bench = serving();
    let producer = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    let request = requests::offsets("a", producer.producer, &[(0, 5)]).with_generation_id(3);
    let answer = bench.call::<TxnOffsetCommitRequest>(5, &request);
    assert_eq!(answer.topics[0].partitions[0].error_code, 22, "ILLEGAL_GENERATION");
    assert_eq!(committed_offset(&mut bench, 0), Ok(-1));
}

#[test]
fn end_that_is_repeated_is_answered_alike_and_its_opposite_is_refused() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "kept");
        let repeated = requests::end("a", producer.producer, true);
        let opposite = requests::end("a", producer.producer, false);
        producer.commit(&mut bench);
        for _ in 0..2 {
            let answer = bench.call::<EndTxnRequest>(protocol.end(), &repeated);
            let is_next = protocol == Protocol::Classic
                || (answer.producer_id.0, answer.producer_epoch) == producer.producer;
            assert!(answer.error_code == 0 && is_next, "{answer:?} (L41)");
            assert_eq!(bench.call::<EndTxnRequest>(protocol.end(), &opposite).error_code, WRONG_STATE);
            bench.settle();
        }
        assert_eq!(read(&mut bench, 0, true), ["kept"]);
        if protocol == Protocol::EpochPerTransaction {
            producer.produce(&mut bench, 0, "next");
            let late = bench.call::<EndTxnRequest>(5, &repeated);
            let given = (late.error_code, late.producer_id.0, late.producer_epoch);
            assert_eq!(
                given,
                (0, producer.producer.0, producer.producer.1),
                "it is answered for the last one"
            );
            bench.settle();
            assert_eq!(read(&mut bench, 0, true), ["kept"]);
        }
    }
}

#[test]
fn transaction_with_a_topic_that_is_deleted_ends() {
    for protocol in BOTH {
        let mut bench = serving();
        bench.council(topic("other", 9, 1, 0));
        bench.settle();
        let mut producer = Client::new(&mut bench, "a", protocol);
        producer.produce(&mut bench, 0, "gone");
        bench.council(no_topic(TOPIC));
        bench.council(topic(TOPIC, 2, 2, 0));
        bench.settle();
        producer.commit(&mut bench);
        bench.settle();
        producer.sequences.clear();
        producer.produce(&mut bench, 0, "kept");
        producer.commit(&mut bench);
        bench.settle();
        assert_eq!(
            read(&mut bench, 0, true),
            ["kept"],
            "nothing of the one before reaches its namesake (L73)"
        );
    }
}

#[test]
fn producer_ids_come_from_the_council_for_all_coordinators() {
    let mut bench = serving();
    let mut ids: Vec<i64> = Vec::new();
    for id in ["a", "b", "c", "d", "e", "f"] {
        ids.push(Client::new(&mut bench, id, Protocol::Classic).producer.0);
        let plain = InitProducerIdRequest::default().with_producer_id((-1).into()).with_producer_epoch(-1);
        let plain = bench.call::<InitProducerIdRequest>(4, &plain.with_transactional_id(None));
        assert_eq!(plain.error_code, 0);
        ids.push(plain.producer_id.0);
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "each is given once (L22)");
}

#[test]
fn coordinator_that_reads_its_partition_says_so_to_those_who_know_it() {
    let mut bench = serving();
    let producer = Client::new(&mut bench, "a", Protocol::Classic);
    bench.crash(0);
    bench.flush();
    let end = requests::end("a", producer.producer, true);
    assert_eq!(bench.ask::<EndTxnRequest>(1, 4, &end), None);
    let offsets = requests::offsets("a", producer.producer, &[(0, 5)]);
    assert_eq!(bench.ask::<TxnOffsetCommitRequest>(2, 1, &offsets), None);
    assert_eq!(bench.ask::<TxnOffsetCommitRequest>(3, 2, &offsets), None);
    let (version, record) = producer.clone().record(0, "late");
    assert_eq!(bench.ask::<ProduceRequest>(4, version, &record), None);
    let mut answered = bench.take_answered();
    let mut body = |number| answered.remove(&number).flatten().expect("it is answered");
    assert_eq!(crate::bench::decoded::<EndTxnRequest>(body(1), 4).error_code, LOADING);
    for (number, version, expected) in [(2, 1, NOT_AVAILABLE), (3, 2, LOADING)] {
        let answer = crate::bench::decoded::<TxnOffsetCommitRequest>(body(number), version);
        assert_eq!(answer.topics[0].partitions[0].error_code, expected);
    }
    let answer = crate::bench::decoded::<ProduceRequest>(body(4), version);
    assert_eq!(outcome(&answer), (NOT_ENOUGH_REPLICAS, -1), "which clients retry");
    bench.load();
    assert_eq!(bench.call::<EndTxnRequest>(4, &end).error_code, WRONG_STATE, "it has read");
}
