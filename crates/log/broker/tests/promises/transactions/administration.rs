//! What administrators see of transactions, and how they end one that hangs.

use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::offset_delete_request::{
    OffsetDeleteRequestPartition, OffsetDeleteRequestTopic,
};
use kafka_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeProducersRequest, DescribeTransactionsRequest, GroupId,
    ListTransactionsRequest, OffsetDeleteRequest, ProducerId, TopicName, WriteTxnMarkersRequest,
};

use super::client::{BOTH, Client, Protocol, committed_offset, read};
use super::requests::{self, GROUP, TOPIC, transactional};
use super::{UNKNOWN_TOPIC, serving};
use crate::bench::{Bench, text};

const FENCED_COORDINATOR: i16 = 52;
const NO_TRANSACTION: i16 = 105;

fn marker(
    producer: (i64, i16),
    commit: bool,
    coordinator_epoch: i32,
    partitions: &[i32],
) -> WritableTxnMarker {
    let topic = WritableTxnMarkerTopic::default()
        .with_name(TopicName(text(TOPIC)))
        .with_partition_indexes(partitions.to_vec());
    WritableTxnMarker::default()
        .with_producer_id(ProducerId(producer.0))
        .with_producer_epoch(producer.1)
        .with_transaction_result(commit)
        .with_coordinator_epoch(coordinator_epoch)
        .with_topics(vec![topic])
}

/// Results by producer.
fn write(bench: &mut Bench, markers: Vec<WritableTxnMarker>) -> Vec<(i64, Vec<i16>)> {
    let answer = bench.call(1, &WriteTxnMarkersRequest::default().with_markers(markers));
    let results = answer.markers.iter().map(|result| {
        let partitions = result.topics.iter().flat_map(|topic| &topic.partitions);
        (result.producer_id.0, partitions.map(|partition| partition.error_code).collect())
    });
    results.collect()
}

/// Epoch, last sequence number, coordinator epoch and first offset of what is open, of the producers of a partition.
fn producers(bench: &mut Bench, partition: i32) -> Vec<(i32, i32, i32, i64)> {
    let topic =
        TopicRequest::default().with_name(TopicName(text(TOPIC))).with_partition_indexes(vec![partition]);
    let answer = bench.call(0, &DescribeProducersRequest::default().with_topics(vec![topic]));
    let found = &answer.topics[0].partitions[0];
    if found.error_code != 0 {
        return vec![(i32::from(found.error_code), -1, -1, -1)];
    }
    let state = found.active_producers.iter().map(|state| {
        let (sequence, open) = (state.last_sequence, state.current_txn_start_offset);
        (state.producer_epoch, sequence, state.coordinator_epoch, open)
    });
    state.collect()
}

#[test]
fn producers_of_a_partition_are_shown_with_what_is_open() {
    let mut bench = serving();
    let mut client = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    assert_eq!(producers(&mut bench, 0), []);
    client.produce(&mut bench, 0, "one");
    client.produce(&mut bench, 0, "two");
    assert_eq!(producers(&mut bench, 0), [(0, 1, -1, 0)]);
    client.commit(&mut bench);
    bench.settle();
    assert_eq!(producers(&mut bench, 0), [(1, -1, 0, -1)]);
    assert_eq!(producers(&mut bench, 9), [(i32::from(UNKNOWN_TOPIC), -1, -1, -1)]);
}

#[test]
fn administrator_ends_what_hangs_in_a_partition() {
    let mut bench = serving();
    let mut client = Client::new(&mut bench, "a", Protocol::Classic);
    client.produce(&mut bench, 0, "lost");
    let (id, epoch) = client.producer;
    assert_eq!(
        write(&mut bench, vec![marker((id, epoch), false, -1, &[0, 9])]),
        [(id, vec![0, UNKNOWN_TOPIC])]
    );
    let answer = bench.call(requests::FETCH, &requests::fetch(0, 0, true));
    let partition = &answer.responses[0].partitions[0];
    assert_eq!((partition.last_stable_offset, partition.high_watermark), (2, 2));
    assert_eq!(read(&mut bench, 0, true), Vec::<String>::new());
    let newer = write(&mut bench, vec![marker((id, epoch), true, 3, &[1])]);
    assert_eq!(newer, [(id, vec![0])]);
    let older = marker((id, epoch), true, 2, &[1]);
    assert_eq!(write(&mut bench, vec![older]), [(id, vec![FENCED_COORDINATOR])]);
    let many = vec![marker((77, 0), true, 0, &[0]), marker((77, 0), true, 0, &[1])];
    assert_eq!(write(&mut bench, many), [(77, vec![0, 0])], "the results of a producer stand together");
    assert_eq!(write(&mut bench, Vec::new()), []);
}

#[test]
fn marker_of_an_administrator_waits_until_it_is_durable() {
    let mut bench = serving();
    let markers = vec![marker((77, 0), true, 0, &[0])];
    let request = WriteTxnMarkersRequest::default().with_markers(markers);
    let waits = bench.begin(1, &request).expect_err("it is not durable");
    bench.take();
    assert!(bench.end::<WriteTxnMarkersRequest>(waits, 1).is_none());
    bench.flush();
    assert!(bench.end::<WriteTxnMarkersRequest>(waits, 1).is_some());
}

#[test]
fn offsets_are_ended_by_an_administrator_like_records() {
    let mut bench = serving();
    let mut client = Client::new(&mut bench, "a", Protocol::Classic);
    client.commit_offset(&mut bench, 0, 5);
    let topic = WritableTxnMarkerTopic::default()
        .with_name(TopicName(text("__consumer_offsets")))
        .with_partition_indexes(vec![0, 1, 9]);
    let marker = marker(client.producer, true, 0, &[]).with_topics(vec![topic]);
    assert_eq!(write(&mut bench, vec![marker]), [(client.producer.0, vec![0, 0, UNKNOWN_TOPIC])]);
    assert_eq!(committed_offset(&mut bench, 0), Ok(5));
}

#[test]
fn transactions_are_described_and_listed() {
    let mut bench = serving();
    let mut client = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    Client::new(&mut bench, "b", Protocol::Classic);
    client.produce(&mut bench, 1, "x");
    client.commit_offset(&mut bench, 0, 5);
    bench.pass(5_000);
    let ids = ["a", "none", ""].map(transactional).to_vec();
    let answer = bench.call(0, &DescribeTransactionsRequest::default().with_transactional_ids(ids));
    let [open, unknown, empty] = answer.transaction_states.as_slice() else { panic!("{answer:?}") };
    assert_eq!(
        (&*open.transaction_state, open.transaction_timeout_ms, open.producer_epoch),
        ("Ongoing", 60_000, 0)
    );
    let topics: Vec<_> = open.topics.iter().map(|topic| (&*topic.topic.0, topic.partitions.len())).collect();
    assert_eq!(topics, [(TOPIC, 1), ("__consumer_offsets", 1)]);
    assert_eq!((unknown.error_code, empty.error_code), (NO_TRANSACTION, 42));
    let mut list = |request: ListTransactionsRequest| {
        let answer = bench.call(1, &request);
        let mut ids: Vec<_> =
            answer.transaction_states.iter().map(|state| state.transactional_id.0.to_string()).collect();
        ids.sort();
        (ids, answer.unknown_state_filters.len())
    };
    let all = ListTransactionsRequest::default();
    assert_eq!(list(all.clone()), (vec!["a".into(), "b".into()], 0));
    let states = vec![text("Ongoing"), text("Odd"), text("Dead")];
    assert_eq!(list(all.clone().with_state_filters(states)), (vec!["a".into()], 1));
    // As by Kafka, a transaction that never began counts as older than any duration.
    assert_eq!(list(all.clone().with_duration_filter(4_000)), (vec!["a".into(), "b".into()], 0));
    assert_eq!(list(all.with_duration_filter(6_000)), (vec!["b".into()], 0));
}

#[test]
fn committed_offset_is_deleted_alone() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut client = Client::new(&mut bench, "a", protocol);
        client.commit_offset(&mut bench, 0, 5);
        client.commit_offset(&mut bench, 1, 6);
        client.commit(&mut bench);
        bench.settle();
        let delete = |group: &str, indexes: &[i32]| {
            let partitions = indexes
                .iter()
                .map(|index| OffsetDeleteRequestPartition::default().with_partition_index(*index));
            let topic = OffsetDeleteRequestTopic::default()
                .with_name(TopicName(text(TOPIC)))
                .with_partitions(partitions.collect());
            OffsetDeleteRequest::default().with_group_id(GroupId(text(group))).with_topics(vec![topic])
        };
        let answer = bench.call(0, &delete(GROUP, &[0, 9]));
        let codes: Vec<_> =
            answer.topics[0].partitions.iter().map(|partition| partition.error_code).collect();
        assert_eq!((answer.error_code, codes), (0, vec![0, UNKNOWN_TOPIC]));
        assert_eq!((committed_offset(&mut bench, 0), committed_offset(&mut bench, 1)), (Ok(-1), Ok(6)));
        let unknown = bench.call(0, &delete("none", &[9]));
        assert_eq!((unknown.error_code, unknown.topics.len()), (69, 0), "GROUP_ID_NOT_FOUND stands alone");
        assert_eq!(bench.call(0, &delete("", &[0])).error_code, 24, "INVALID_GROUP_ID");
    }
}

#[test]
fn features_say_that_each_transaction_has_an_epoch_of_its_own() {
    let mut bench = serving();
    let request = ApiVersionsRequest::default()
        .with_client_software_name(text("bench"))
        .with_client_software_version(text("1"));
    for (version, supported) in [
        (3, vec!["metadata.version"]),
        (4, vec!["group.version", "metadata.version", "share.version", "transaction.version"]),
    ] {
        let answer = bench.ask(1, version, &request).expect("it does not wait");
        let names: Vec<_> = answer.supported_features.iter().map(|feature| &*feature.name).collect();
        assert_eq!(names, supported, "features from level 0 on are hidden from old clients");
        let finalized =
            answer.finalized_features.iter().find(|feature| &*feature.name == "transaction.version");
        let finalized = finalized.expect("it is used");
        assert_eq!((finalized.min_version_level, finalized.max_version_level), (2, 2));
    }
}
