//! What clients and tools are told of replicas, by every broker, and what producers may rely on.

use kafka_protocol::messages::create_partitions_request::{
    CreatePartitionsAssignment, CreatePartitionsTopic,
};
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    BrokerId, CreatePartitionsRequest, DescribeTopicPartitionsRequest, ElectLeadersRequest, MetadataRequest,
    TopicName,
};
use log_broker::{DiskEvent, Notice, SegmentFault};
use log_partition::Offset;

use crate::bench::text;
use crate::replicas::Cluster;

const LEADER_NOT_AVAILABLE: i16 = 5;
const NOT_ENOUGH_REPLICAS: i16 = 19;
const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const PREFERRED_LEADER_NOT_AVAILABLE: i16 = 80;
const ELECTION_NOT_NEEDED: i16 = 84;
const TWO: (&str, &str) = ("min.insync.replicas", "2");

/// Replicas in sync, and offline ones, as a broker tells by Metadata.
fn seen(cluster: &mut Cluster, by: i32) -> (Vec<i32>, Vec<i32>) {
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(text("t"))));
    let answer = cluster.call(by, 9, &MetadataRequest::default().with_topics(Some(vec![topic])));
    let partition = &answer.topics[0].partitions[0];
    assert_eq!(partition.replica_nodes.iter().map(|id| id.0).collect::<Vec<_>>(), [1, 2, 3]);
    let of = |ids: &[kafka_protocol::messages::BrokerId]| ids.iter().map(|id| id.0).collect();
    (of(&partition.isr_nodes), of(&partition.offline_replicas))
}

/// Replicas in sync, and eligible ones, as a broker tells by DescribeTopicPartitions.
fn described(cluster: &mut Cluster, by: i32) -> (Vec<i32>, Vec<i32>) {
    let topic = TopicRequest::default().with_name(TopicName(text("t")));
    let request =
        DescribeTopicPartitionsRequest::default().with_topics(vec![topic]).with_response_partition_limit(10);
    let answer = cluster.call(by, 0, &request);
    let partition = &answer.topics[0].partitions[0];
    let of = |ids: &[kafka_protocol::messages::BrokerId]| ids.iter().map(|id| id.0).collect();
    (of(&partition.isr_nodes), of(partition.eligible_leader_replicas.as_deref().unwrap_or_default()))
}

/// The leader that a broker tells by Metadata; nothing while the answer waits.
fn leader_told(answer: &kafka_protocol::messages::MetadataResponse) -> i32 {
    answer.topics[0].partitions[0].leader_id.0
}

#[test]
fn client_is_not_told_of_a_leader_that_has_just_died() {
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(text("t"))));
    let request = MetadataRequest::default().with_topics(Some(vec![topic]));
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    // It lives: the answer waits for a word of it.
    assert!(cluster.broker(3).ask(1, 9, &request).is_none());
    cluster.settle();
    let told: Vec<_> = cluster.broker(3).answers::<MetadataRequest>();
    assert_eq!(
        told.iter().map(|(number, answer)| (*number, leader_told(answer))).collect::<Vec<_>>(),
        [(1, 1)]
    );
    // It dies before it has answered.
    assert!(cluster.broker(3).ask(2, 9, &request).is_none());
    cluster.lose(1);
    assert!(cluster.broker(3).answers::<MetadataRequest>().is_empty());
    cluster.settle();
    let told: Vec<_> = cluster.broker(3).answers::<MetadataRequest>();
    assert!(matches!(&told[..], [(2, answer)] if [2, 3].contains(&leader_told(answer))), "{told:?}");
}

#[test]
fn leader_that_is_gone_is_told_to_nobody() {
    let mut cluster = Cluster::new(&[&[3]]);
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(text("t"))));
    let request = MetadataRequest::default().with_topics(Some(vec![topic]));
    let told = |cluster: &mut Cluster| {
        let answer = cluster.call(1, 9, &request);
        (answer.topics[0].partitions[0].error_code, leader_told(&answer))
    };
    assert_eq!(told(&mut cluster), (0, 3));
    cluster.lose(3);
    cluster.settle();
    assert_eq!(told(&mut cluster), (LEADER_NOT_AVAILABLE, -1));
    cluster.come_back(3);
    cluster.settle();
    assert_eq!(told(&mut cluster), (0, 3));
}

#[test]
fn partition_without_a_leader_has_nobody_in_sync_and_its_last_leader_may_lead_next() {
    let mut cluster = Cluster::new(&[&[3]]);
    let topic = TopicRequest::default().with_name(TopicName(text("t")));
    let request =
        DescribeTopicPartitionsRequest::default().with_topics(vec![topic]).with_response_partition_limit(10);
    let told = |cluster: &mut Cluster| {
        let answer = cluster.call(1, 0, &request);
        let of = |ids: &[BrokerId]| ids.iter().map(|id| id.0).collect::<Vec<i32>>();
        let partition = &answer.topics[0].partitions[0];
        let [eligible, last] = [&partition.eligible_leader_replicas, &partition.last_known_elr];
        let [eligible, last] = [eligible, last].map(|ids| of(ids.as_deref().unwrap_or_default()));
        (partition.error_code, partition.leader_id.0, of(&partition.isr_nodes), eligible, last)
    };
    assert_eq!(told(&mut cluster), (0, 3, vec![3], vec![], vec![]));
    cluster.lose(3);
    cluster.settle();
    assert_eq!(told(&mut cluster), (0, -1, vec![], vec![3], vec![3]));
}

#[test]
fn partitions_are_not_added_with_other_numbers_of_replicas_than_their_topic_has() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let mut added = |brokers: &[i32]| {
        let brokers = brokers.iter().map(|id| BrokerId(*id)).collect();
        let assignment = CreatePartitionsAssignment::default().with_broker_ids(brokers);
        let topic = CreatePartitionsTopic::default()
            .with_name(TopicName(text("t")))
            .with_count(2)
            .with_assignments(Some(vec![assignment]));
        let request = CreatePartitionsRequest::default()
            .with_topics(vec![topic])
            .with_timeout_ms(1_000)
            .with_validate_only(true);
        cluster.call(1, 3, &request).results[0].error_code
    };
    assert_eq!(
        [added(&[1]), added(&[1, 2]), added(&[3, 1, 2])],
        [INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICA_ASSIGNMENT, 0]
    );
}

#[test]
fn client_does_not_wait_for_long_for_a_leader_that_says_nothing() {
    let topic = MetadataRequestTopic::default().with_name(Some(TopicName(text("t"))));
    let request = MetadataRequest::default().with_topics(Some(vec![topic]));
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let bench = cluster.broker(3);
    assert!(bench.ask(1, 9, &request).is_none());
    bench.pass(200);
    let told: Vec<_> = bench.answers::<MetadataRequest>();
    assert!(matches!(&told[..], [(1, answer)] if leader_told(answer) == 1), "{told:?}");
}

#[test]
fn preferred_leader_that_does_not_lead_is_not_said_to_need_no_election() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let all = ElectLeadersRequest::default().with_election_type(0).with_timeout_ms(1_000);
    let named = TopicPartitions::default().with_topic(TopicName(text("t"))).with_partitions(vec![0]);
    let one = all.clone().with_topic_partitions(Some(vec![named]));
    let codes = |cluster: &mut Cluster, request: &ElectLeadersRequest| {
        let answer = cluster.call(2, 2, request);
        answer.replica_election_results[0].partition_result.iter().map(|of| of.error_code).collect::<Vec<_>>()
    };
    let all = all.with_topic_partitions(None);
    assert_eq!((codes(&mut cluster, &one), codes(&mut cluster, &all)), (vec![ELECTION_NOT_NEEDED], vec![]));
    cluster.lose(1);
    cluster.settle();
    let refused = vec![PREFERRED_LEADER_NOT_AVAILABLE];
    assert_eq!((codes(&mut cluster, &one), codes(&mut cluster, &all)), (refused.clone(), refused));
}

#[test]
fn every_broker_tells_which_replicas_are_in_sync() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    for by in 1..=3 {
        assert_eq!(seen(&mut cluster, by), (vec![1, 2, 3], vec![]), "by {by}");
    }
    cluster.lose(3);
    cluster.settle();
    for by in 1..=2 {
        assert_eq!(seen(&mut cluster, by), (vec![1, 2], vec![3]), "by {by}");
    }
    for _ in 0..3 {
        cluster.produce(1, 0).expect("it waits");
    }
    cluster.settle();
    cluster.come_back(3);
    cluster.settle();
    cluster.pass(1_000);
    for by in 1..=3 {
        assert_eq!(seen(&mut cluster, by), (vec![1, 2, 3], vec![]), "by {by}");
    }
}

#[test]
fn follower_is_sent_what_could_not_be_read_once_it_can_be_and_the_operator_is_told_once() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    cluster.lose(3);
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    let batches = cluster.batches(1, 0);
    let log = cluster.broker(1).disk.log_of(0);
    let bench = cluster.broker(1);
    bench.broker.disk_event(DiskEvent::Written(log, Offset(1), 0), bench.now);
    bench.broker.take_notices();
    cluster.segment = Some(Err(SegmentFault::Failed));
    cluster.restart(3);
    cluster.settle();
    let told = |cluster: &mut Cluster| {
        let notices = cluster.broker(1).broker.take_notices();
        notices.iter().filter(|notice| matches!(notice, Notice::NotSent(_))).count()
    };
    assert_eq!((told(&mut cluster), cluster.segment_reads, cluster.ends(3, 0)), (1, 1, (0, 0)));
    // It is not read for each batch that comes.
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.segment_reads, 1);
    cluster.pass(3_000);
    assert!((2..=4).contains(&cluster.segment_reads), "{}", cluster.segment_reads);
    assert_eq!((told(&mut cluster), cluster.ends(3, 0)), (0, (0, 0)));
    cluster.segment = Some(Ok(batches));
    cluster.pass(1_200);
    assert_eq!(cluster.ends(3, 0), (2, 2));
}

#[test]
fn follower_is_sent_what_was_read_for_it_although_more_is_committed_by_then() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    cluster.lose(3);
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    let batches = cluster.batches(1, 0);
    let log = cluster.broker(1).disk.log_of(0);
    let bench = cluster.broker(1);
    bench.broker.disk_event(DiskEvent::Written(log, Offset(1), 0), bench.now);
    cluster.holds_reads = true;
    cluster.restart(3);
    cluster.settle();
    let read = cluster.broker(1).broker.next_replica_read().expect("the batch is in a segment");
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!((cluster.ends(1, 0), cluster.ends(3, 0).0), ((2, 2), 0));
    let bench = cluster.broker(1);
    bench.broker.replica_was_read(&read, Ok(batches), bench.now);
    cluster.settle();
    assert_eq!(cluster.ends(3, 0), (2, 2));
}

#[test]
fn replica_that_does_not_keep_up_is_not_in_sync_until_it_does() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    cluster.stop_disk(3);
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(1).len(), 1, "two of three disks are enough");
    assert_eq!(seen(&mut cluster, 2).0, [1, 2, 3], "it is a moment behind");
    cluster.pass(2_000);
    assert_eq!([1, 2, 3].map(|by| seen(&mut cluster, by).0), [[1, 2]; 3]);
    cluster.start_disk(3);
    cluster.pass(1_000);
    assert_eq!([1, 2, 3].map(|by| seen(&mut cluster, by).0), [[1, 2, 3]; 3]);
}

#[test]
fn replica_that_does_not_keep_up_is_in_sync_for_as_long_as_the_file_says() {
    let mut cluster = Cluster::with(&[&[1, 2, 3]], &[], |config| config.leaders.lag_ms = 5_000);
    cluster.stop_disk(3);
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    cluster.pass(4_000);
    assert_eq!(seen(&mut cluster, 2).0, [1, 2, 3]);
    cluster.pass(3_000);
    assert_eq!([1, 2, 3].map(|by| seen(&mut cluster, by).0), [[1, 2]; 3]);
}

#[test]
fn those_who_may_lead_next_are_told_while_too_few_are_in_sync() {
    let mut cluster = Cluster::with(&[&[1, 2, 3]], &[TWO], |_| ());
    cluster.lose(3);
    cluster.settle();
    assert_eq!(described(&mut cluster, 2), (vec![1, 2], vec![]));
    cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    cluster.lose(2);
    cluster.settle();
    // Broker 2 holds everything that is committed, and broker 3 does not.
    assert_eq!(described(&mut cluster, 1), (vec![1], vec![2]));
}

#[test]
fn producer_that_waits_for_all_is_refused_while_too_few_are_in_sync() {
    let mut cluster = Cluster::with(&[&[1, 2, 3]], &[TWO], |_| ());
    cluster.lose(3);
    cluster.settle();
    let number = cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(1), [(number, (0, 0))]);
    cluster.lose(2);
    cluster.settle();
    let end = cluster.ends(1, 0).1;
    assert_eq!(cluster.produce(1, 0), Err((NOT_ENOUGH_REPLICAS, -1)));
    assert_eq!(cluster.ends(1, 0).1, end, "nothing is appended");
    // The leader's word alone is enough for this one; nobody reads it before another replica has it.
    let number = cluster.produce_with(1, 0, 1).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(1), [(number, (0, 1))]);
    assert_eq!(cluster.ends(1, 0), (1, 2));
    cluster.come_back(2);
    cluster.settle();
    cluster.pass(1_000);
    assert_eq!(cluster.ends(1, 0), (2, 2));
}

#[test]
fn producer_that_waits_for_the_leader_is_answered_once_its_disk_has_the_batch() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let number = cluster.produce_with(1, 0, 1).expect("it waits");
    assert_eq!(cluster.answers(1), []);
    cluster.broker(1).flush();
    assert_eq!(cluster.answers(1), [(number, (0, 0))]);
    assert_eq!(cluster.ends(1, 0), (0, 1), "no other disk has it");
}

#[test]
fn records_are_durable_on_as_many_replicas_as_the_topic_asks_for_by_now() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let durable_on = |cluster: &Cluster| {
        let partition = &cluster.topic().partitions[0];
        assert_eq!(partition.rest.goal, None, "it has come to its end");
        partition.record().map(|record| record.config.voters.durable_on())
    };
    assert_eq!(durable_on(&cluster), Some(2));
    cluster.configure("min.insync.replicas", "3");
    cluster.settle();
    assert_eq!(durable_on(&cluster), Some(3));
    cluster.stop_disk(3);
    let number = cluster.produce(1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(cluster.answers(1), [], "the third disk does not have it");
    cluster.start_disk(3);
    assert_eq!(cluster.answers(1), [(number, (0, 0))]);
    cluster.configure("min.insync.replicas", "1");
    cluster.settle();
    assert_eq!(durable_on(&cluster), Some(2), "a majority in any case");
}
