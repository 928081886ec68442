//! Requests that are as large, as many or as far out as they can be: each is answered or refused, and others are served.

use bytes::Bytes;
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, DeleteRecordsRequest, DescribeGroupsRequest, FetchRequest, FindCoordinatorRequest,
    JoinGroupRequest, ListOffsetsRequest, MetadataRequest,
};
use log_broker::BrokerConfig;

use crate::rights::{group, topic};
use crate::world::{World, frame, text};

fn serves(world: &mut World) -> bool {
    let client = world.connect(0);
    world.ask(client, 0, &ApiVersionsRequest::default()).is_some()
}

/// Sends a request, however many turns it takes to read, and gives the length of the answer; nothing if there is none.
fn answered(world: &mut World, client: usize, bytes: &[u8]) -> Option<usize> {
    world.send(client, bytes);
    while world.unread(client) > 0 && !world.is_closed(client) {
        world.turns(1);
    }
    world.pass_ms(3_000);
    world.frames(client).pop().map(|answer| answer.len())
}

#[test]
fn very_many_topics_are_asked_for_and_others_are_served() {
    let mut world = World::new(BrokerConfig::default());
    let request = |count: usize| {
        let name = |number| topic(&format!("missing-{number}"));
        let names = (0..count).map(|number| MetadataRequestTopic::default().with_name(Some(name(number))));
        let request = MetadataRequest::default().with_topics(Some(names.collect()));
        frame(9, &request.with_allow_auto_topic_creation(false))
    };
    let client = world.connect(0);
    let answer = answered(&mut world, client, &request(200_000)).expect("an answer");
    assert!(answer > 200_000 * "missing-".len(), "{answer}");
    // More than a body may hold: the connection ends.
    assert_eq!(answered(&mut world, client, &request(400_000)), None);
    assert!(world.is_closed(client));
    assert!(serves(&mut world));
}

#[test]
fn offsets_at_the_ends_of_their_range_are_answered() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    for offset in [i64::MIN, i64::MIN + 1, -3, i64::MAX - 1, i64::MAX] {
        let partition =
            FetchPartition::default().with_fetch_offset(offset).with_partition_max_bytes(i32::MAX);
        let of = FetchTopic::default().with_topic(topic("t")).with_partitions(vec![partition]);
        let request =
            FetchRequest::default().with_max_bytes(i32::MAX).with_session_epoch(-1).with_topics(vec![of]);
        let fetched = world.ask(client, 11, &request).expect("an answer");
        assert_eq!(fetched.responses[0].partitions[0].error_code, 1, "fetch from {offset}");

        let partition = DeleteRecordsPartition::default().with_offset(offset);
        let of = DeleteRecordsTopic::default().with_name(topic("t")).with_partitions(vec![partition]);
        let request = DeleteRecordsRequest::default().with_topics(vec![of]).with_timeout_ms(1_000);
        let deleted = world.ask(client, 2, &request).expect("an answer");
        assert_eq!(deleted.topics[0].partitions[0].error_code, 1, "delete to {offset}");

        let partition = ListOffsetsPartition::default().with_timestamp(offset);
        let of = ListOffsetsTopic::default().with_name(topic("t")).with_partitions(vec![partition]);
        let listed = world.ask(client, 5, &ListOffsetsRequest::default().with_topics(vec![of]));
        let code = listed.expect("an answer").topics[0].partitions[0].error_code;
        assert_eq!(code, if offset < 0 { 35 } else { 0 }, "time {offset}");
    }
    assert!(serves(&mut world));
}

fn join(metadata: usize) -> JoinGroupRequest {
    let protocol = JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(Bytes::from(vec![7; metadata]));
    JoinGroupRequest::default()
        .with_group_id(group("g"))
        .with_session_timeout_ms(30_000)
        .with_rebalance_timeout_ms(60_000)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol])
}

#[test]
fn storm_of_members_is_answered_and_others_are_served() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let keys = || FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")]);
    for _ in 0..3 {
        world.ask(client, 4, &keys());
        world.pass_ms(100);
    }
    let clients: Vec<usize> = (0..1_000).map(|_| world.connect(0)).collect();
    let request = frame(2, &join(200));
    for client in &clients {
        world.send(*client, &request);
    }
    for _ in 0..20 {
        world.pass_ms(50);
        assert!(serves(&mut world));
    }
    let described = DescribeGroupsRequest::default().with_groups(vec![group("g")]);
    let answer = world.ask(client, 4, &described).expect("an answer");
    assert_eq!((answer.groups[0].error_code, answer.groups[0].members.len()), (0, 1_000));
}

#[test]
fn metadata_of_a_member_is_as_large_as_a_body_may_be_and_no_larger() {
    let config = BrokerConfig { body_bytes_max: 1 << 20, ..BrokerConfig::default() };
    let mut world = World::new(config);
    let client = world.connect(0);
    assert!(answered(&mut world, client, &frame(2, &join(900_000))).is_some());
    assert_eq!(answered(&mut world, client, &frame(2, &join(1_100_000))), None);
    assert!(world.is_closed(client));
    assert!(serves(&mut world));
}
