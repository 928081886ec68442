//! What a coordinator, or a leader, promises that has a successor and does not know it: it tells nobody what was true before.

use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::{
    DeleteRecordsRequest, DeleteRecordsResponse, FindCoordinatorRequest, GroupId, OffsetCommitRequest,
    OffsetFetchRequest, OffsetFetchResponse, ProduceRequest, TopicName,
};
use log_wire::{Attributes, BatchBuilder, Producer};

use crate::bench::text;
use crate::produce::request;
use crate::replicas::Cluster;

const OFFSETS: &str = "__consumer_offsets";
const FETCH: i16 = 8;
const COMMIT: i16 = 8;
const PRODUCE: i16 = 9;
const NOT_COORDINATOR: i16 = 16;
const NOT_LEADER: i16 = 6;
const OUT_OF_ORDER: i16 = 45;
const OUT_OF_RANGE: i16 = 1;

/// Three brokers, and the one that coordinates the group `g`.
fn serving() -> (Cluster, i32) {
    let mut cluster = Cluster::with(&[&[1, 2, 3]], &[], |config| {
        config.offsets_topic.partitions = 1;
        config.replication_factor = 3;
        config.seed = config.node_id as u64 * 1_000;
    });
    let find = FindCoordinatorRequest::default().with_key_type(0).with_coordinator_keys(vec![text("g")]);
    cluster.call(1, 6, &find);
    cluster.settle();
    let coordinator = cluster.leader_of(OFFSETS, 0).expect("it is there");
    (cluster, coordinator)
}

fn commit(cluster: &mut Cluster, coordinator: i32, offset: i64) {
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(offset);
    let topic =
        OffsetCommitRequestTopic::default().with_name(TopicName(text("t"))).with_partitions(vec![partition]);
    let request = OffsetCommitRequest::default()
        .with_group_id(GroupId(text("g")))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![topic]);
    let answer = cluster.call(coordinator, COMMIT, &request);
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
}

fn fetch() -> OffsetFetchRequest {
    let topic =
        OffsetFetchRequestTopics::default().with_name(TopicName(text("t"))).with_partition_indexes(vec![0]);
    let group =
        OffsetFetchRequestGroup::default().with_group_id(GroupId(text("g"))).with_topics(Some(vec![topic]));
    OffsetFetchRequest::default().with_groups(vec![group])
}

fn offset_of(answer: &OffsetFetchResponse) -> (i16, Option<i64>) {
    let group = &answer.groups[0];
    let offset = group.topics.first().and_then(|topic| topic.partitions.first());
    (group.error_code, offset.map(|partition| partition.committed_offset))
}

#[test]
fn coordinator_with_a_successor_tells_no_offset_of_before() {
    let (mut cluster, before) = serving();
    commit(&mut cluster, before, 3);
    assert_eq!(offset_of(&cluster.call(before, FETCH, &fetch())), (0, Some(3)));
    cluster.lose(before);
    cluster.pass(1_000);
    let after = cluster.leader_of(OFFSETS, 0).expect("it is there");
    assert_ne!(before, after);
    commit(&mut cluster, after, 4);

    // It has heard nothing of that, and serves on.
    let number = cluster.broker(before).begin(FETCH, &fetch()).expect_err("it has to ask first");
    for _ in 0..10 {
        cluster.turn(before);
    }
    assert_eq!(cluster.broker(before).end::<OffsetFetchRequest>(number, FETCH), None);
    cluster.come_back(before);
    cluster.pass(1_000);
    let answer = cluster.broker(before).end::<OffsetFetchRequest>(number, FETCH).expect("it knows by now");
    assert_eq!(offset_of(&answer), (NOT_COORDINATOR, None));
    assert_eq!(offset_of(&cluster.call(after, FETCH, &fetch())), (0, Some(4)));
}

/// Produces a batch of a producer under that sequence number. Gives the number of the request if it waits, or the error.
fn produce(cluster: &mut Cluster, broker: i32, sequence: i32) -> Result<u64, i16> {
    let (id, epoch) = (7, 0);
    let mut batch = BatchBuilder::new(Attributes(0), Producer { id, epoch, base_sequence: sequence });
    batch.push(1_000, None, Some(b"value"), &[]);
    match cluster.broker(broker).begin(PRODUCE, &request(0, &batch.finish())) {
        Ok(answer) => Err(answer.responses[0].partition_responses[0].error_code),
        Err(number) => Ok(number),
    }
}

fn produced(cluster: &mut Cluster, broker: i32, number: u64) -> Option<i16> {
    let answer = cluster.broker(broker).end::<ProduceRequest>(number, PRODUCE)?;
    Some(answer.responses[0].partition_responses[0].error_code)
}

/// Otherwise its producer, which was acknowledged what is missing here, gives up.
#[test]
fn leader_with_a_successor_does_not_say_that_a_batch_is_out_of_order() {
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let number = produce(&mut cluster, 1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(produced(&mut cluster, 1, number), Some(0));
    // One that still leads says so, once it knows that.
    let number = produce(&mut cluster, 1, 5).expect("it has to ask first");
    assert_eq!(produced(&mut cluster, 1, number), None);
    cluster.settle();
    assert_eq!(produced(&mut cluster, 1, number), Some(OUT_OF_ORDER));

    cluster.lose(1);
    cluster.pass(1_000);
    let after = cluster.leader(0).0;
    assert_ne!(after, 1);
    let number = produce(&mut cluster, after, 1).expect("it waits");
    cluster.settle();
    assert_eq!(produced(&mut cluster, after, number), Some(0));
    let number = produce(&mut cluster, 1, 2).expect("it has to ask first");
    for _ in 0..10 {
        cluster.turn(1);
    }
    assert_eq!(produced(&mut cluster, 1, number), None);
    cluster.come_back(1);
    cluster.pass(1_000);
    assert_eq!(produced(&mut cluster, 1, number), Some(NOT_LEADER));
    let number = produce(&mut cluster, after, 2).expect("it waits");
    cluster.settle();
    assert_eq!(produced(&mut cluster, after, number), Some(0));
}

/// The error of DeleteRecords of the first partition.
fn error_of(answer: &DeleteRecordsResponse) -> i16 {
    answer.topics[0].partitions[0].error_code
}

#[test]
fn leader_with_a_successor_does_not_say_that_an_offset_is_beyond_the_end() {
    const DELETE: i16 = 2;
    let mut cluster = Cluster::new(&[&[1, 2, 3]]);
    let number = produce(&mut cluster, 1, 0).expect("it waits");
    cluster.settle();
    assert_eq!(produced(&mut cluster, 1, number), Some(0));
    let delete = |before| {
        let partition = DeleteRecordsPartition::default().with_partition_index(0).with_offset(before);
        let topic =
            DeleteRecordsTopic::default().with_name(TopicName(text("t"))).with_partitions(vec![partition]);
        DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(5_000)
    };
    // One that still leads says so, once it knows that.
    let asked = cluster.broker(1).begin(DELETE, &delete(2)).expect_err("it has to ask first");
    cluster.settle();
    let answer = cluster.broker(1).end::<DeleteRecordsRequest>(asked, DELETE).expect("it leads");
    assert_eq!(error_of(&answer), OUT_OF_RANGE);

    cluster.lose(1);
    cluster.pass(1_000);
    let after = cluster.leader(0).0;
    let number = produce(&mut cluster, after, 1).expect("it waits");
    cluster.settle();
    assert_eq!(produced(&mut cluster, after, number), Some(0));
    let asked = cluster.broker(1).begin(DELETE, &delete(2)).expect_err("it has to ask first");
    for _ in 0..10 {
        cluster.turn(1);
    }
    assert_eq!(cluster.broker(1).end::<DeleteRecordsRequest>(asked, DELETE), None);
    cluster.come_back(1);
    cluster.pass(1_000);
    let answer = cluster.broker(1).end::<DeleteRecordsRequest>(asked, DELETE).expect("it knows by now");
    assert_eq!(error_of(&answer), NOT_LEADER);
}

#[test]
fn offset_is_told_while_enough_replicas_answer_and_not_before() {
    let (mut cluster, coordinator) = serving();
    commit(&mut cluster, coordinator, 3);
    let others: Vec<i32> = cluster.here().into_iter().filter(|id| *id != coordinator).collect();
    // Disks have nothing to do with it.
    others.iter().for_each(|id| cluster.stop_disk(*id));
    assert_eq!(offset_of(&cluster.call(coordinator, FETCH, &fetch())), (0, Some(3)));
    let number = cluster.broker(coordinator).begin(FETCH, &fetch()).expect_err("it has to ask first");
    cluster.turn(coordinator);
    assert_eq!(cluster.broker(coordinator).end::<OffsetFetchRequest>(number, FETCH), None);
    cluster.turn(others[0]);
    cluster.turn(coordinator);
    let answer = cluster.broker(coordinator).end::<OffsetFetchRequest>(number, FETCH).expect("one is enough");
    assert_eq!(offset_of(&answer), (0, Some(3)));
}
