//! What a broker promises to members of share groups: each record goes to one of them at a time, until it is finished; and what
//! was acknowledged is durable.

use kafka_protocol::messages::alter_share_group_offsets_request::{
    AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use kafka_protocol::messages::delete_share_group_offsets_request::DeleteShareGroupOffsetsRequestTopic;
use kafka_protocol::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use kafka_protocol::messages::share_acknowledge_request::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch,
};
use kafka_protocol::messages::share_fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{
    AlterShareGroupOffsetsRequest, DeleteGroupsRequest, DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest, FindCoordinatorRequest, GroupId, JoinGroupRequest, ListGroupsRequest,
    ShareAcknowledgeRequest, ShareFetchRequest, ShareFetchResponse, ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest, TopicName,
};
use log_metadata::{ConfigNode, KeeperEvent, configs_bytes};
use log_wire::{ErrorCode, Producer};
use uuid::Uuid;

use crate::bench::{Bench, text, topic};
use crate::produce::{batch, request as produce_request};

const T: Uuid = Uuid::from_bytes([1; 16]);
pub(crate) const ACCEPT: i8 = 1;
pub(crate) const RELEASE: i8 = 2;
pub(crate) const REJECT: i8 = 3;

/// First and last offset, and how often they were delivered.
pub(crate) type Range = (i64, i64, i16);

pub(crate) fn group() -> GroupId {
    GroupId(text("g"))
}

/// A group that reads from the first record on.
fn serving(partitions: usize) -> Bench {
    let mut bench = Bench::serving(&[topic("t", 1, partitions, 0)]);
    let set = [("share.auto.offset.reset".to_owned(), "earliest".to_owned())].into();
    let node = ConfigNode::Group("g".into());
    bench.council(KeeperEvent::Node { path: node.path(), data: Some(configs_bytes(&set)) });
    let find = FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")]);
    bench.call(4, &find);
    bench.settle();
    let joined = bench.call(1, &heartbeat("m", 0));
    assert_eq!((joined.error_code, joined.assignment.map(|of| of.topic_partitions.len())), (0, Some(1)));
    bench
}

pub(crate) fn heartbeat(member: &str, epoch: i32) -> ShareGroupHeartbeatRequest {
    ShareGroupHeartbeatRequest::default()
        .with_group_id(group())
        .with_member_id(text(member))
        .with_member_epoch(epoch)
        .with_subscribed_topic_names((epoch == 0).then(|| vec![TopicName(text("t"))]))
}

fn produce(bench: &mut Bench, partition: i32) {
    let done = bench.call(9, &produce_request(partition, &batch(Producer::NONE)));
    assert_eq!(done.responses[0].partition_responses[0].error_code, 0);
}

pub(crate) fn fetch(member: &str, epoch: i32, partitions: &[i32]) -> ShareFetchRequest {
    let named = partitions.iter().map(|index| FetchPartition::default().with_partition_index(*index));
    let topic = FetchTopic::default().with_topic_id(T).with_partitions(named.collect());
    ShareFetchRequest::default()
        .with_group_id(Some(group()))
        .with_member_id(Some(text(member)))
        .with_share_session_epoch(epoch)
        .with_max_wait_ms(100)
        .with_max_records(100)
        .with_batch_size(100)
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_topics(if partitions.is_empty() { Vec::new() } else { vec![topic] })
}

pub(crate) fn acknowledge(member: &str, epoch: i32, ranges: &[(i64, i64, i8)]) -> ShareAcknowledgeRequest {
    let batches = ranges.iter().map(|(first, last, kind)| {
        AcknowledgementBatch::default()
            .with_first_offset(*first)
            .with_last_offset(*last)
            .with_acknowledge_types(vec![*kind])
    });
    let partition = AcknowledgePartition::default().with_acknowledgement_batches(batches.collect());
    let topic = AcknowledgeTopic::default().with_topic_id(T).with_partitions(vec![partition]);
    ShareAcknowledgeRequest::default()
        .with_group_id(Some(group()))
        .with_member_id(Some(text(member)))
        .with_share_session_epoch(epoch)
        .with_topics(vec![topic])
}

pub(crate) fn ranges(answer: &ShareFetchResponse) -> Vec<Range> {
    assert_eq!(answer.error_code, 0, "{answer:?}");
    let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
    let acquired = partitions.flat_map(|partition| {
        assert_eq!(partition.error_code, 0, "{partition:?}");
        let has_records = partition.records.as_ref().is_some_and(|records| !records.is_empty());
        assert_eq!(has_records, !partition.acquired_records.is_empty(), "{partition:?}");
        &partition.acquired_records
    });
    acquired.map(|of| (of.first_offset, of.last_offset, of.delivery_count)).collect()
}

pub(crate) fn take(bench: &mut Bench, member: &str, epoch: i32, partitions: &[i32]) -> Vec<Range> {
    ranges(&bench.call(1, &fetch(member, epoch, partitions)))
}

pub(crate) fn say(bench: &mut Bench, member: &str, epoch: i32, said: &[(i64, i64, i8)]) -> ErrorCode {
    let answer = bench.call(1, &acknowledge(member, epoch, said));
    assert_eq!(answer.error_code, 0, "{answer:?}");
    ErrorCode::of(answer.responses[0].partitions[0].error_code).expect("it is known")
}

#[test]
fn a_record_goes_to_one_member_until_it_is_accepted() {
    let mut bench = serving(1);
    (0..3).for_each(|_| produce(&mut bench, 0));
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1), (1, 1, 1), (2, 2, 1)]);
    assert_eq!(take(&mut bench, "b", 0, &[0]), []);
    assert_eq!(say(&mut bench, "b", 1, &[(0, 0, ACCEPT)]), ErrorCode::InvalidRecordState);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, ACCEPT), (1, 1, RELEASE), (2, 2, REJECT)]), ErrorCode::None);
    assert_eq!(take(&mut bench, "b", 2, &[]), [(1, 1, 2)]);
    assert_eq!(say(&mut bench, "b", 3, &[(1, 1, ACCEPT)]), ErrorCode::None);
    assert_eq!(take(&mut bench, "a", 2, &[]), []);
}

#[test]
fn an_acknowledgement_is_answered_when_it_is_durable() {
    let mut bench = serving(1);
    produce(&mut bench, 0);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
    assert!(bench.ask(1, 1, &acknowledge("a", 1, &[(0, 0, ACCEPT)])).is_none());
    bench.take();
    assert_eq!(bench.take_answered().len(), 0, "it is not durable");
    bench.flush();
    assert_eq!(bench.take_answered().len(), 1);
}

#[test]
fn an_acknowledgement_of_what_is_finished_is_answered_when_that_is_durable() {
    let mut bench = serving(1);
    produce(&mut bench, 0);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
    assert_eq!(take(&mut bench, "b", 0, &[0]), []);
    assert!(bench.ask(1, 1, &acknowledge("a", 1, &[(0, 0, ACCEPT)])).is_none());
    assert!(bench.ask(2, 1, &acknowledge("b", 1, &[(0, 0, ACCEPT)])).is_none(), "it may be lost still");
    bench.take();
    assert_eq!(bench.take_answered().len(), 0, "it is not durable");
    bench.flush();
    assert_eq!(bench.take_answered().len(), 2);
    assert_eq!(say(&mut bench, "b", 2, &[(0, 0, ACCEPT)]), ErrorCode::None);
}

#[test]
fn what_was_accepted_does_not_come_back_after_a_crash() {
    let mut bench = serving(1);
    (0..4).for_each(|_| produce(&mut bench, 0));
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 4);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, ACCEPT), (1, 1, RELEASE), (2, 2, ACCEPT)]), ErrorCode::None);
    bench.crash(0);
    bench.settle();
    assert_eq!(bench.call(1, &heartbeat("m", 1)).error_code, ErrorCode::UnknownMemberId.code());
    let lost = bench.call(1, &fetch("a", 2, &[]));
    assert_eq!(lost.error_code, ErrorCode::ShareSessionNotFound.code());
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(1, 1, 2), (3, 3, 1)]);
}

#[test]
fn a_fetch_waits_for_what_is_new_or_given_back() {
    let mut bench = serving(1);
    assert!(bench.ask(1, 1, &fetch("a", 0, &[0]).with_max_wait_ms(60_000)).is_none());
    bench.settle();
    assert!(bench.ask(2, 1, &fetch("b", 0, &[0]).with_max_wait_ms(60_000)).is_none());
    bench.settle();
    assert_eq!(bench.end::<ShareFetchRequest>(1, 1), None, "there is nothing");
    produce(&mut bench, 0);
    let first = bench.end::<ShareFetchRequest>(1, 1).expect("it came first");
    assert_eq!(ranges(&first), [(0, 0, 1)]);
    assert_eq!(bench.end::<ShareFetchRequest>(2, 1), None);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 0, RELEASE)]), ErrorCode::None);
    let second = bench.end::<ShareFetchRequest>(2, 1).expect("it was given back");
    assert_eq!(ranges(&second), [(0, 0, 2)]);
}

#[test]
fn a_lock_ends_and_after_too_many_deliveries_a_record_is_archived() {
    let mut bench = serving(1);
    produce(&mut bench, 0);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
    for (epoch, count) in [(1, 2), (2, 3), (3, 4), (4, 5)] {
        bench.pass(30_000);
        bench.settle();
        assert_eq!(take(&mut bench, "a", epoch, &[]), [(0, 0, count)]);
    }
    bench.pass(30_000);
    bench.settle();
    assert_eq!(take(&mut bench, "a", 5, &[]), []);
    assert_eq!(
        say(&mut bench, "a", 6, &[(0, 0, ACCEPT)]),
        ErrorCode::None,
        "it is finished, whatever is said"
    );
}

#[test]
fn a_lost_connection_gives_back_what_its_members_had() {
    let mut bench = serving(1);
    produce(&mut bench, 0);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
    bench.disconnect();
    bench.conn = 1;
    bench.pass(1);
    bench.settle();
    assert_eq!(take(&mut bench, "b", 0, &[0]), [(0, 0, 2)]);
    let closed = bench.call(1, &fetch("b", -1, &[]));
    assert_eq!(ranges(&closed), []);
    assert_eq!(
        take(&mut bench, "c", 0, &[0]),
        [(0, 0, 2)],
        "a delivery to a session that was closed does not count"
    );
}

#[test]
fn many_members_take_of_many_partitions() {
    let mut bench = serving(3);
    (0..12).for_each(|number| produce(&mut bench, number % 3));
    let mut taken = 0;
    for member in 0..12 {
        let one = fetch(&format!("m{member}"), 0, &[0, 1, 2]).with_max_records(1);
        taken += ranges(&bench.call(1, &one)).len();
    }
    assert_eq!(taken, 12);
}

#[test]
fn groups_are_listed_described_and_deleted() {
    let mut bench = serving(1);
    produce(&mut bench, 0);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
    let listed = bench.call(5, &ListGroupsRequest::default().with_types_filter(vec![text("share")]));
    assert_eq!((listed.groups.len(), listed.groups[0].group_state.as_str()), (1, "Stable"));
    let describe = ShareGroupDescribeRequest::default().with_group_ids(vec![group(), GroupId(text("x"))]);
    let described = bench.call(1, &describe).groups;
    assert_eq!((described[0].members.len(), described[0].error_code), (1, 0));
    assert_eq!(described[1].error_code, ErrorCode::GroupIdNotFound.code());
    let join = JoinGroupRequest::default().with_group_id(group()).with_session_timeout_ms(10_000);
    assert_eq!(bench.call(9, &join).error_code, ErrorCode::InconsistentGroupProtocol.code());
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![group()]);
    assert_eq!(bench.call(2, &delete).results[0].error_code, ErrorCode::NonEmptyGroup.code());
    assert_eq!(bench.call(1, &heartbeat("m", -1)).error_code, 0);
    assert_eq!(bench.call(2, &delete).results[0].error_code, 0);
    assert_eq!(bench.call(5, &ListGroupsRequest::default()).groups.len(), 0);
    bench.crash(0);
    bench.settle();
    assert_eq!(bench.call(5, &ListGroupsRequest::default()).groups.len(), 0, "it does not come back");
}

#[test]
fn offsets_are_shown_altered_and_deleted() {
    let mut bench = serving(1);
    (0..3).for_each(|_| produce(&mut bench, 0));
    assert_eq!(take(&mut bench, "a", 0, &[0]).len(), 3);
    assert_eq!(say(&mut bench, "a", 1, &[(0, 1, ACCEPT)]), ErrorCode::None);
    let shown = |bench: &mut Bench| {
        let all = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group()).with_topics(None);
        let request = DescribeShareGroupOffsetsRequest::default().with_groups(vec![all]);
        let answer = bench.call(0, &request);
        let partitions = answer.groups[0].topics.iter().flat_map(|topic| &topic.partitions);
        partitions.map(|partition| partition.start_offset).collect::<Vec<_>>()
    };
    assert_eq!(shown(&mut bench), [2]);
    let partition = AlterShareGroupOffsetsRequestPartition::default().with_start_offset(1);
    let of = AlterShareGroupOffsetsRequestTopic::default()
        .with_topic_name(TopicName(text("t")))
        .with_partitions(vec![partition]);
    let alter = AlterShareGroupOffsetsRequest::default().with_group_id(group()).with_topics(vec![of]);
    assert_eq!(bench.call(0, &alter).error_code, ErrorCode::NonEmptyGroup.code());
    assert_eq!(bench.call(1, &heartbeat("m", -1)).error_code, 0);
    let altered = bench.call(0, &alter);
    assert_eq!((altered.error_code, altered.responses[0].partitions[0].error_code), (0, 0));
    assert_eq!(shown(&mut bench), [1]);
    assert_eq!(take(&mut bench, "b", 0, &[0]), [(1, 1, 1), (2, 2, 1)]);
    assert_eq!(
        say(&mut bench, "a", 2, &[(2, 2, ACCEPT)]),
        ErrorCode::InvalidRecordState,
        "it is another's by now"
    );
    let of = DeleteShareGroupOffsetsRequestTopic::default().with_topic_name(TopicName(text("t")));
    let delete = DeleteShareGroupOffsetsRequest::default().with_group_id(group()).with_topics(vec![of]);
    let deleted = bench.call(0, &delete);
    assert_eq!((deleted.error_code, deleted.responses[0].error_code), (0, 0));
    assert_eq!(bench.call(5, &ListGroupsRequest::default()).groups.len(), 0);
}

#[test]
fn nothing_of_a_deleted_topic_is_left() {
    let mut bench = serving(1);
    produce(&mut bench, 0);
    assert_eq!(take(&mut bench, "a", 0, &[0]), [(0, 0, 1)]);
    bench.council(crate::bench::no_topic("t"));
    bench.settle();
    let answer = bench.call(1, &fetch("a", 1, &[]));
    assert_eq!(answer.responses[0].partitions[0].error_code, ErrorCode::UnknownTopicId.code());
    assert_eq!(bench.call(1, &heartbeat("m", -1)).error_code, 0);
    assert_eq!(bench.call(5, &ListGroupsRequest::default()).groups.len(), 0);
}

#[test]
fn heavier_topics_are_served_first_and_lighter_ones_are_not_forgotten() {
    let mut bench = Bench::serving(&[topic("t", 1, 1, 0), topic("u", 2, 1, 0)]);
    let set = [("share.auto.offset.reset", "earliest"), ("diwan.share.topic.weights", "u:3,t:1")];
    let set = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let node = ConfigNode::Group("g".into());
    bench.council(KeeperEvent::Node { path: node.path(), data: Some(configs_bytes(&set)) });
    for name in ["t", "u"] {
        for _ in 0..40 {
            let mut request = produce_request(0, &batch(Producer::NONE));
            request.topic_data[0].name = TopicName(text(name));
            assert_eq!(bench.call(9, &request).responses[0].partition_responses[0].error_code, 0);
        }
    }
    let mut taken = [0, 0];
    for epoch in 0..20 {
        let mut one = fetch("a", epoch, if epoch == 0 { &[0] } else { &[] }).with_max_records(1);
        if epoch == 0 {
            let other = one.topics[0].clone().with_topic_id(Uuid::from_bytes([2; 16]));
            one.topics.push(other);
        }
        let answer = bench.call(1, &one);
        for topic in answer.responses.iter().filter(|of| !of.partitions[0].acquired_records.is_empty()) {
            taken[usize::from(topic.topic_id.as_bytes()[0]) - 1] += 1;
        }
    }
    assert_eq!(taken, [5, 15]);
}
