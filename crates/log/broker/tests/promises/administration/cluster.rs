//! The cluster, as one broker is one.

use kafka_protocol::messages::alter_partition_reassignments_request::{
    ReassignablePartition, ReassignableTopic,
};
use kafka_protocol::messages::alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_quorum_request;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::{
    AlterPartitionReassignmentsRequest, AlterReplicaLogDirsRequest, BrokerId, CreateDelegationTokenRequest,
    DescribeClusterRequest, DescribeDelegationTokenRequest, DescribeLogDirsRequest, DescribeQuorumRequest,
    ElectLeadersRequest, ExpireDelegationTokenRequest, ListPartitionReassignmentsRequest, ProduceRequest,
    RenewDelegationTokenRequest, TopicName,
};
use log_broker::{DiskEvent, Volume};
use log_metadata::KeeperEvent;
use log_wire::Producer;

use super::council::World;
use crate::bench::{text, topic};
use crate::produce;

fn name(name: &str) -> TopicName {
    TopicName(text(name))
}

/// With topics `t`, of two partitions, and `u`.
fn world() -> World {
    let mut world = World::of_file(&[("log.dirs", "/data/log"), ("broker.rack", "r1")]);
    for event in [topic("t", 1, 2, 0), topic("u", 2, 1, 0)] {
        let KeeperEvent::Node { path, data } = event else { panic!("a topic") };
        world.write(&path, data.as_deref());
    }
    world.settle();
    world
}

#[test]
fn cluster_is_one_broker_that_is_its_controller() {
    let mut world = world();
    let asked = DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
    let answer = world.ask(2, &asked).expect("an answer at once");
    assert_eq!((answer.error_code, &*answer.cluster_id, answer.controller_id.0), (0, "cluster", 1));
    let broker = &answer.brokers[0];
    assert_eq!(
        (broker.broker_id.0, &*broker.host, broker.port, broker.is_fenced),
        (1, "127.0.0.1", 9092, false)
    );
    assert_eq!(broker.rack.as_deref(), Some("r1"));
    assert_eq!(answer.cluster_authorized_operations, 8_096);
    for (endpoints, code) in [(2, 114), (3, 115)] {
        let request = DescribeClusterRequest::default().with_endpoint_type(endpoints);
        let answer = world.ask(1, &request).expect("an answer at once");
        assert_eq!((answer.error_code, answer.controller_id.0, answer.brokers.len()), (code, -1, 0));
    }
}

#[test]
fn quorum_is_this_broker_alone() {
    let mut world = world();
    let asked = |topic: &str, partition| {
        let partition = describe_quorum_request::PartitionData::default().with_partition_index(partition);
        let topic = describe_quorum_request::TopicData::default()
            .with_topic_name(name(topic))
            .with_partitions(vec![partition]);
        DescribeQuorumRequest::default().with_topics(vec![topic])
    };
    for version in 0..=2 {
        let answer = world.ask(version, &asked("__cluster_metadata", 0)).expect("an answer at once");
        let partition = &answer.topics[0].partitions[0];
        assert_eq!((answer.error_code, partition.error_code, partition.leader_id.0), (0, 0, 1));
        let voters: Vec<_> = partition.current_voters.iter().map(|voter| voter.replica_id.0).collect();
        assert!(voters == [1] && partition.observers.is_empty() && partition.high_watermark > 0);
        assert_eq!(answer.nodes.len(), usize::from(version == 2));
        for (topic, partition) in [("t", 0), ("__cluster_metadata", 1)] {
            let answer = world.ask(version, &asked(topic, partition)).expect("an answer at once");
            assert_eq!(answer.topics[0].partitions[0].error_code, 3, "{topic}");
        }
    }
}

#[test]
fn delegation_tokens_are_asked_for_in_vain() {
    let mut world = world();
    let made = world.ask(3, &CreateDelegationTokenRequest::default()).expect("an answer at once");
    let listed = world.ask(3, &DescribeDelegationTokenRequest::default()).expect("an answer at once");
    let renewed = world.ask(1, &RenewDelegationTokenRequest::default()).expect("an answer at once");
    let ended = world.ask(2, &ExpireDelegationTokenRequest::default()).expect("an answer at once");
    assert_eq!([made.error_code, listed.error_code, renewed.error_code, ended.error_code], [64; 4]);
}

#[test]
fn directory_is_described_with_the_sizes_of_its_partitions() {
    let mut world = world();
    let records = produce::batch(Producer::NONE);
    let request: ProduceRequest = produce::request(1, &records);
    assert_eq!(world.call(9, &request).responses[0].partition_responses[0].error_code, 0);
    let answer = world.ask(4, &DescribeLogDirsRequest::default().with_topics(None)).expect("at once");
    let directory = &answer.results[0];
    assert_eq!((&*directory.log_dir, directory.total_bytes, directory.usable_bytes), ("/data/log", -1, -1));
    let sizes: Vec<_> = directory
        .topics
        .iter()
        .flat_map(|topic| {
            topic.partitions.iter().map(|of| (topic.name.to_string(), of.partition_index, of.partition_size))
        })
        .collect();
    let bytes = i64::try_from(records.len()).expect("small");
    assert_eq!(sizes, [("t".into(), 0, 0), ("t".into(), 1, bytes), ("u".into(), 0, 0)]);

    let volume = Volume { total_bytes: 100, usable_bytes: 7 };
    world.bench.broker.disk_event(DiskEvent::Volume(volume), world.bench.now);
    let of = |topic: &str, partitions: &[i32]| {
        DescribableLogDirTopic::default().with_topic(name(topic)).with_partitions(partitions.to_vec())
    };
    let some = vec![of("u", &[0, 1]), of("nowhere", &[0]), of("t", &[9]), of("u", &[0])];
    let answer = world.ask(4, &DescribeLogDirsRequest::default().with_topics(Some(some))).expect("at once");
    let directory = &answer.results[0];
    assert_eq!((directory.total_bytes, directory.usable_bytes, directory.topics.len()), (100, 7, 1));
    assert_eq!(directory.topics[0].partitions.len(), 1);
}

#[test]
fn partition_stays_in_the_only_directory() {
    let mut world = world();
    let to = |path: &str, topic: &str, partitions: &[i32]| {
        let topic =
            AlterReplicaLogDirTopic::default().with_name(name(topic)).with_partitions(partitions.to_vec());
        AlterReplicaLogDir::default().with_path(text(path)).with_topics(vec![topic])
    };
    let dirs =
        vec![to("/elsewhere", "t", &[0, 9]), to("/data/log", "t", &[1]), to("/data/log", "u", &[0, 3])];
    let request = AlterReplicaLogDirsRequest::default().with_dirs(dirs);
    let answer = world.ask(2, &request).expect("an answer at once");
    let told: Vec<_> = answer
        .results
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|of| (of.partition_index, of.error_code)))
        .collect();
    assert_eq!(told, [(0, 57), (1, 0), (9, 57), (0, 0), (3, 3)]);
}

#[test]
fn leaders_need_no_election() {
    let mut world = world();
    let of = |topic: &str, partitions: &[i32]| {
        TopicPartitions::default().with_topic(name(topic)).with_partitions(partitions.to_vec())
    };
    let request = |kind, topics| {
        ElectLeadersRequest::default()
            .with_election_type(kind)
            .with_topic_partitions(topics)
            .with_timeout_ms(1_000)
    };
    for kind in [0, 1] {
        let some = Some(vec![of("t", &[0, 9]), of("nowhere", &[0])]);
        let answer = world.ask(2, &request(kind, some)).expect("an answer at once");
        let results = answer.replica_election_results.iter().flat_map(|topic| &topic.partition_result);
        let codes: Vec<i16> = results.map(|result| result.error_code).collect();
        assert_eq!((answer.error_code, codes), (0, vec![84, 3, 3]));
        let answer = world.ask(2, &request(kind, None)).expect("an answer at once");
        assert!(answer.replica_election_results.iter().all(|topic| topic.partition_result.is_empty()));
        assert_eq!(answer.replica_election_results.len(), 2);
    }
    let answer = world.ask(2, &request(5, None)).expect("an answer at once");
    assert_eq!((answer.error_code, answer.replica_election_results.len()), (42, 0));
    let answer = world.ask(2, &request(5, Some(vec![of("t", &[0])]))).expect("an answer at once");
    let told = &answer.replica_election_results[0].partition_result[0];
    assert!(told.error_code == 42 && told.error_message.is_some(), "{told:?}");
    let late = request(0, Some(vec![of("t", &[0])])).with_timeout_ms(0);
    let answer = world.ask(2, &late).expect("an answer at once");
    assert_eq!(
        (answer.error_code, answer.replica_election_results[0].partition_result[0].error_code),
        (7, 7)
    );
}

#[test]
fn partition_is_reassigned_to_where_it_is_and_nowhere_else() {
    let mut world = world();
    let to = |index, replicas: Option<&[i32]>| {
        ReassignablePartition::default()
            .with_partition_index(index)
            .with_replicas(replicas.map(|ids| ids.iter().map(|id| BrokerId(*id)).collect()))
    };
    let of =
        |topic, partitions| ReassignableTopic::default().with_name(name(topic)).with_partitions(partitions);
    let t = vec![
        to(0, Some(&[1])),
        to(1, Some(&[2])),
        to(1, None),
        to(0, Some(&[])),
        to(0, Some(&[1, 1])),
        to(9, Some(&[1])),
    ];
    let request = AlterPartitionReassignmentsRequest::default()
        .with_topics(vec![of("t", t), of("nowhere", vec![to(0, Some(&[1]))])])
        .with_timeout_ms(1_000);
    let answer = world.call(0, &request);
    let results = answer.responses.iter().flat_map(|topic| &topic.partitions);
    let codes: Vec<i16> = results.map(|result| result.error_code).collect();
    assert_eq!((answer.error_code, codes), (0, vec![0, 39, 85, 39, 39, 3, 3]));
    let listed = world.ask(0, &ListPartitionReassignmentsRequest::default().with_topics(None));
    let listed = listed.expect("an answer at once");
    assert_eq!((listed.error_code, listed.topics.len()), (0, 0));
}
