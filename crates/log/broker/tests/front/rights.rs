//! Every API that needs rights, with and without them: what its client is told. A Kafka 4.3.1 answered the same codes.
#![expect(clippy::too_many_lines, reason = "tables of rights and answers")]

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::offset_for_leader_epoch_request::{
    OffsetForLeaderPartition, OffsetForLeaderTopic,
};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest, DeleteGroupsRequest, DeleteTopicsRequest, DescribeGroupsRequest, FetchRequest,
    FindCoordinatorRequest, GroupId, HeartbeatRequest, InitProducerIdRequest, JoinGroupRequest,
    LeaveGroupRequest, ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetCommitRequest,
    OffsetFetchRequest, OffsetForLeaderEpochRequest, ProduceRequest, SyncGroupRequest, TopicName,
    TransactionalId,
};
use kafka_protocol::protocol::Request;
use log_access::acl::{
    AccessRule, CLUSTER_NAME, Operation, PatternType, Permission, ResourcePattern, ResourceType,
};
use log_access::{AuthorizerConfig, Principal};
use log_broker::BrokerConfig;
use log_metadata::access::{AccessContent, AccessPlace};
use log_wire::{Attributes, BatchBuilder, Producer};
use uuid::Uuid;

use crate::world::{World, text};

pub(crate) const NOTHING: &[&str] = &[];
/// The id of the topic `t`, and of none.
pub(crate) const T: Uuid = Uuid::from_bytes([1; 16]);
const NONE: Uuid = Uuid::from_bytes([5; 16]);
/// Nobody has asked for operations.
pub(crate) const NOT_ASKED: i32 = i32::MIN;

pub(crate) fn world() -> World {
    let config = AuthorizerConfig { super_users: [Principal::user("boss")].into(), allow_if_no_rule: false };
    let mut world = World::new(BrokerConfig { authorizer: Some(config), ..BrokerConfig::default() });
    // The coordinators of groups live here by now.
    grant(&mut world, &["Group:g:Describe"]);
    let client = world.connect(0);
    let group = || FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")]);
    for _ in 0..3 {
        world.ask(client, 4, &group());
        world.pass_ms(100);
    }
    world
}

/// Everybody may do this, and nothing else: `KIND:NAME:OPERATION`.
pub(crate) fn grant(world: &mut World, grants: &[&str]) {
    let now = world.now();
    let known: Vec<String> = world.pipes.nodes.keys().cloned().collect();
    for path in known.iter().filter(|path| matches!(AccessPlace::of_path(path), Some(AccessPlace::Rules(_))))
    {
        world.pipes.write(path, None, now);
    }
    let mut by_pattern = BTreeMap::<ResourcePattern, BTreeSet<AccessRule>>::new();
    for grant in grants {
        let parts: Vec<&str> = grant.split(':').collect();
        let [kind, name, operation] = parts[..] else { panic!("{grant}") };
        let kind = *ResourceType::ALL.iter().find(|known| known.name() == kind).expect("a kind");
        let operation = *Operation::ALL.iter().find(|known| known.name() == operation).expect("an operation");
        let name = if kind == ResourceType::Cluster { CLUSTER_NAME } else { name };
        let pattern =
            ResourcePattern { resource_type: kind, pattern_type: PatternType::Literal, name: name.into() };
        let (principal, permission) = ("User:ANONYMOUS".into(), Permission::Allow);
        let rule = AccessRule { principal, host: "10.0.0.1".into(), operation, permission };
        by_pattern.entry(pattern).or_default().insert(rule);
    }
    for (pattern, rules) in by_pattern {
        let path = AccessPlace::Rules(pattern).path();
        world.pipes.write(&path, AccessContent::Rules(rules).bytes(), now);
    }
}

/// Asks with each set of rights, and compares what is told.
pub(crate) fn check<R: Request, T: PartialEq + core::fmt::Debug>(
    world: &mut World,
    (version, request): (i16, &R),
    told: impl Fn(R::Response) -> T,
    expected: &[(&[&str], T)],
) {
    for (grants, expected) in expected {
        grant(world, grants);
        let client = world.connect(0);
        let answer = world.ask(client, version, request).map(&told);
        let key = ApiKey::try_from(R::KEY);
        assert_eq!(answer.as_ref(), Some(expected), "{key:?} {version} with {grants:?}");
    }
}

pub(crate) fn topic(name: &str) -> TopicName {
    TopicName(text(name))
}

pub(crate) fn group(name: &str) -> GroupId {
    GroupId(text(name))
}

fn produce(version: i16, transactional: bool, acks: i16) -> ProduceRequest {
    let attributes = Attributes(if transactional { 16 } else { 0 });
    let producer =
        if transactional { Producer { id: 7, epoch: 0, base_sequence: 0 } } else { Producer::NONE };
    let mut builder = BatchBuilder::new(attributes, producer);
    builder.push(1_000, None, Some(b"value"), &[]);
    let records = Bytes::from(builder.finish());
    let data = |name: &str, id: Uuid| {
        let partition = PartitionProduceData::default().with_records(Some(records.clone()));
        let named = TopicProduceData::default().with_partition_data(vec![partition]);
        if version >= 13 { named.with_topic_id(id) } else { named.with_name(topic(name)) }
    };
    ProduceRequest::default()
        .with_transactional_id(transactional.then(|| TransactionalId(text("x"))))
        .with_acks(acks)
        .with_timeout_ms(500)
        .with_topic_data(vec![data("t", T), data("nope", NONE)])
}

#[test]
fn produce_needs_write() {
    let mut world = world();
    let told = |answer: kafka_protocol::messages::ProduceResponse| {
        let partitions = answer.responses.into_iter().flat_map(|topic| topic.partition_responses);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (9, &produce(9, false, 1)),
        told,
        &[
            (NOTHING, vec![29, 29]),
            (&["Topic:t:Write"], vec![0, 29]),
            (&["Topic:t:Read", "Topic:t:Describe"], vec![29, 29]),
            (&["Topic:nope:Write"], vec![29, 3]),
            (&["Topic:*:Write"], vec![0, 3]),
            (&["Topic:t:All"], vec![0, 29]),
        ],
    );
    check(
        &mut world,
        (13, &produce(13, false, 1)),
        told,
        &[(NOTHING, vec![29, 100]), (&["Topic:t:Write"], vec![0, 100])],
    );
    check(
        &mut world,
        (9, &produce(9, true, 1)),
        told,
        &[
            (NOTHING, vec![53, 53]),
            (&["Topic:t:Write"], vec![53, 53]),
            (&["TransactionalId:x:Describe", "Topic:t:Write"], vec![53, 53]),
            (&["TransactionalId:x:Write"], vec![29, 29]),
        ],
    );
}

#[test]
fn client_that_waits_for_no_answer_is_told_by_the_end_of_its_connection() {
    let mut world = world();
    grant(&mut world, NOTHING);
    let client = world.connect(0);
    assert_eq!(world.ask(client, 9, &produce(9, false, 0)).map(|_| ()), None);
    world.pass_ms(1_500);
    assert!(world.is_closed(client));
}

#[test]
fn fetch_needs_read() {
    let mut world = world();
    let request = |version: i16| {
        let named = |name: &str, id: Uuid| {
            let partition = FetchPartition::default().with_partition_max_bytes(1_000);
            let named = FetchTopic::default().with_partitions(vec![partition]);
            if version >= 13 { named.with_topic_id(id) } else { named.with_topic(topic(name)) }
        };
        let topics = vec![named("t", T), named("nope", NONE)];
        FetchRequest::default().with_session_epoch(-1).with_topics(topics)
    };
    let told = |answer: kafka_protocol::messages::FetchResponse| {
        let partitions = answer.responses.into_iter().flat_map(|topic| topic.partitions);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (12, &request(12)),
        told,
        &[
            (NOTHING, vec![29, 29]),
            (&["Topic:t:Read"], vec![0, 29]),
            (&["Topic:t:Describe", "Topic:t:Write"], vec![29, 29]),
            (&["Topic:t:Read", "Topic:nope:Read"], vec![0, 3]),
        ],
    );
    check(
        &mut world,
        (13, &request(13)),
        told,
        &[(NOTHING, vec![29, 100]), (&["Topic:t:Read"], vec![0, 100])],
    );
}

#[test]
fn session_and_fetch_that_waits_lose_a_right_that_is_taken_away() {
    let mut world = world();
    let (reader, writer) = (world.connect(0), world.connect(0));
    let fetch = |session: (i32, i32), wait_ms: i32, topics: Vec<FetchTopic>| {
        let (id, epoch) = session;
        FetchRequest::default()
            .with_session_id(id)
            .with_session_epoch(epoch)
            .with_max_wait_ms(wait_ms)
            .with_min_bytes(1)
            .with_topics(topics)
    };
    let partition = FetchPartition::default().with_partition_max_bytes(1_000);
    let named = || FetchTopic::default().with_topic(topic("t")).with_partitions(vec![partition.clone()]);
    grant(&mut world, &["Topic:t:Read"]);
    let begun = world.ask(reader, 12, &fetch((0, 0), 0, vec![named()])).expect("a session");
    let session = begun.session_id;
    let codes = |answer: &kafka_protocol::messages::FetchResponse| {
        answer
            .responses
            .iter()
            .flat_map(|topic| &topic.partitions)
            .map(|one| one.error_code)
            .collect::<Vec<_>>()
    };
    assert_eq!((codes(&begun), session > 0), (vec![0], true));
    let idle = world.ask(reader, 12, &fetch((session, 1), 0, vec![])).expect("nothing new");
    assert!(codes(&idle).is_empty());
    grant(&mut world, &["Topic:t:Write"]);
    let lost = world.ask(reader, 12, &fetch((session, 2), 0, vec![])).expect("an answer");
    assert_eq!(codes(&lost), [29]);
    grant(&mut world, &["Topic:t:Read", "Topic:t:Write"]);
    let found = world.ask(reader, 12, &fetch((session, 3), 0, vec![])).expect("an answer");
    assert_eq!(codes(&found), [0]);
    // It waits, and gets nothing of what is written when it may not read any more.
    assert!(world.ask(reader, 12, &fetch((session, 4), 5_000, vec![])).is_none());
    grant(&mut world, &["Topic:t:Write"]);
    world.ask(writer, 9, &produce(9, false, 1)).expect("it is written");
    world.turns(5);
    let frames = world.frames(reader);
    let answer = crate::world::decode::<FetchRequest>(12, frames.first().expect("an answer"));
    let records = &answer.responses[0].partitions[0].records;
    assert_eq!((codes(&answer), records.as_ref().is_none_or(Bytes::is_empty)), (vec![29], true));
}

#[test]
fn offsets_need_describe() {
    let mut world = world();
    let asked = |name: &str| {
        let partition = ListOffsetsPartition::default().with_timestamp(-1);
        ListOffsetsTopic::default().with_name(topic(name)).with_partitions(vec![partition])
    };
    let request = ListOffsetsRequest::default().with_topics(vec![asked("t"), asked("nope")]);
    let told = |answer: kafka_protocol::messages::ListOffsetsResponse| {
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (6, &request),
        told,
        &[
            (NOTHING, vec![29, 29]),
            (&["Topic:t:Describe"], vec![0, 29]),
            (&["Topic:t:Read"], vec![0, 29]),
            (&["Topic:t:Write"], vec![0, 29]),
            (&["Topic:t:Describe", "Topic:nope:Describe"], vec![0, 3]),
        ],
    );
    let asked = |name: &str| {
        let partition = OffsetForLeaderPartition::default();
        OffsetForLeaderTopic::default().with_topic(topic(name)).with_partitions(vec![partition])
    };
    let request = OffsetForLeaderEpochRequest::default().with_topics(vec![asked("t"), asked("nope")]);
    let told = |answer: kafka_protocol::messages::OffsetForLeaderEpochResponse| {
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (4, &request),
        told,
        &[
            (NOTHING, vec![29, 29]),
            (&["Topic:t:Describe"], vec![0, 29]),
            (&["Cluster::ClusterAction"], vec![0, 3]),
        ],
    );
}

#[test]
fn metadata_shows_what_may_be_described() {
    let mut world = world();
    let request = |names: Option<&[&str]>, create: bool| {
        let named = |name: &&str| MetadataRequestTopic::default().with_name(Some(topic(name)));
        MetadataRequest::default()
            .with_topics(names.map(|names| names.iter().map(named).collect()))
            .with_allow_auto_topic_creation(create)
    };
    let told = |answer: kafka_protocol::messages::MetadataResponse| {
        let of = |topic: kafka_protocol::messages::metadata_response::MetadataResponseTopic| {
            (topic.name.map(|name| name.to_string()), topic.error_code)
        };
        answer.topics.into_iter().map(of).collect::<Vec<_>>()
    };
    let is = |name: &str, error: i16| (Some(name.to_owned()), error);
    check(
        &mut world,
        (9, &request(Some(&["t", "nope", "bad name"]), false)),
        told,
        &[
            (NOTHING, vec![is("t", 29), is("nope", 29), is("bad name", 29)]),
            (&["Topic:t:Describe"], vec![is("t", 0), is("nope", 29), is("bad name", 29)]),
            (&["Topic:t:Read"], vec![is("t", 0), is("nope", 29), is("bad name", 29)]),
            (&["Topic:t:Create"], vec![is("t", 29), is("nope", 29), is("bad name", 29)]),
            (
                &["Topic:nope:Describe", "Topic:bad name:Describe"],
                vec![is("t", 29), is("nope", 3), is("bad name", 17)],
            ),
        ],
    );
    check(
        &mut world,
        (9, &request(Some(&["new"]), true)),
        told,
        &[(&["Topic:new:Describe"], vec![is("new", 29)]), (&["Cluster::Create"], vec![is("new", 29)])],
    );
    assert!(!world.pipes.nodes.contains_key("/log/topics/new"), "nobody may create it");
    check(
        &mut world,
        (9, &request(Some(&["new"]), true)),
        told,
        &[(&["Topic:new:Describe", "Cluster::Create"], vec![is("new", 3)])],
    );
    assert!(world.pipes.nodes.contains_key("/log/topics/new"));
    check(
        &mut world,
        (9, &request(None, false)),
        told,
        &[
            (NOTHING, vec![]),
            (&["Topic:t:Describe"], vec![is("t", 0)]),
            (&["Topic:*:Read"], vec![is("__consumer_offsets", 0), is("new", 0), is("t", 0)]),
        ],
    );
    let by_id = |id: Uuid| MetadataRequestTopic::default().with_name(None).with_topic_id(id);
    let request = MetadataRequest::default().with_topics(Some(vec![by_id(T), by_id(NONE)]));
    check(
        &mut world,
        (12, &request),
        told,
        &[(NOTHING, vec![(None, 29), (None, 100)]), (&["Topic:t:Describe"], vec![is("t", 0), (None, 100)])],
    );
}

#[test]
fn operations_that_a_client_may_do_are_told_where_it_asks() {
    let mut world = world();
    let named = MetadataRequestTopic::default().with_name(Some(topic("t")));
    let plain = MetadataRequest::default().with_topics(Some(vec![named]));
    let asked = plain
        .clone()
        .with_include_topic_authorized_operations(true)
        .with_include_cluster_authorized_operations(true);
    let told = |answer: kafka_protocol::messages::MetadataResponse| {
        (answer.topics[0].topic_authorized_operations, answer.cluster_authorized_operations)
    };
    check(&mut world, (9, &plain), told, &[(&["Topic:t:All", "Cluster::All"], (NOT_ASKED, NOT_ASKED))]);
    check(
        &mut world,
        (9, &asked),
        told,
        &[
            (NOTHING, (NOT_ASKED, 0)),
            (&["Topic:t:Describe", "Cluster::Describe"], (256, 256)),
            (&["Topic:t:Read", "Cluster::All"], (264, 8_096)),
            (&["Topic:t:All", "Cluster::Alter", "Cluster::AlterConfigs"], (3_576, 3_456)),
            (&["Topic:t:Write", "Topic:t:AlterConfigs"], (3_344, 0)),
        ],
    );
    let request = DescribeGroupsRequest::default()
        .with_groups(vec![group("g"), group("h")])
        .with_include_authorized_operations(true);
    let told = |answer: kafka_protocol::messages::DescribeGroupsResponse| {
        answer
            .groups
            .into_iter()
            .map(|group| (group.error_code, group.authorized_operations))
            .collect::<Vec<_>>()
    };
    check(
        &mut world,
        (5, &request),
        told,
        &[
            (NOTHING, vec![(30, NOT_ASKED), (30, NOT_ASKED)]),
            (&["Group:g:Describe"], vec![(0, 256), (30, NOT_ASKED)]),
            (&["Group:g:Read"], vec![(0, 264), (30, NOT_ASKED)]),
            (&["Group:g:Delete"], vec![(0, 320), (30, NOT_ASKED)]),
            (&["Group:g:All"], vec![(0, 3_400), (30, NOT_ASKED)]),
        ],
    );
}

#[test]
fn broker_without_rules_lets_everybody_do_everything_there_is() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let named = MetadataRequestTopic::default().with_name(Some(topic("t")));
    let metadata = MetadataRequest::default()
        .with_topics(Some(vec![named]))
        .with_include_topic_authorized_operations(true)
        .with_include_cluster_authorized_operations(true);
    let answer = world.ask(client, 9, &metadata).expect("the topic");
    let told = (answer.topics[0].topic_authorized_operations, answer.cluster_authorized_operations);
    assert_eq!(told, (3_576, 8_096));
    let groups = DescribeGroupsRequest::default()
        .with_groups(vec![group("g")])
        .with_include_authorized_operations(true);
    let find = FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")]);
    for _ in 0..3 {
        world.ask(client, 4, &find);
        world.pass_ms(100);
    }
    let answer = world.ask(client, 5, &groups).expect("the group");
    assert_eq!((answer.groups[0].error_code, answer.groups[0].authorized_operations), (0, 3_400));
}

#[test]
fn coordinators_are_told_to_whom_their_group_or_transaction_may_be_told() {
    let mut world = world();
    let request = |kind: i8, keys: &[&str]| {
        let keys = keys.iter().map(|key| text(key)).collect();
        FindCoordinatorRequest::default().with_key_type(kind).with_coordinator_keys(keys)
    };
    let told = |answer: kafka_protocol::messages::FindCoordinatorResponse| {
        answer.coordinators.into_iter().map(|found| found.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (4, &request(0, &["g", "h"])),
        told,
        &[
            (NOTHING, vec![30, 30]),
            (&["Group:g:Describe"], vec![0, 30]),
            (&["Group:g:Read"], vec![0, 30]),
            (&["Group:g:Delete"], vec![0, 30]),
        ],
    );
    let refused = |world: &mut World, kind: i8, grants: &[&str]| {
        grant(world, grants);
        let client = world.connect(0);
        told(world.ask(client, 4, &request(kind, &["x"])).expect("an answer"))
    };
    assert_eq!(refused(&mut world, 1, NOTHING), [53]);
    assert_ne!(refused(&mut world, 1, &["TransactionalId:x:Describe"]), [53]);
    assert_eq!(refused(&mut world, 2, &["Group:x:All"]), [42], "there is none in this version");
}

/// What members of a group are told with each right on it.
fn of_members(unknown: i16) -> [(&'static [&'static str], i16); 4] {
    [(NOTHING, 30), (&["Group:g:Read"], unknown), (&["Group:g:Describe"], 30), (&["Group:g:Delete"], 30)]
}

#[test]
fn members_of_a_group_need_read() {
    let mut world = world();
    let join = JoinGroupRequest::default()
        .with_group_id(group("g"))
        .with_session_timeout_ms(6_000)
        .with_member_id(text("nobody"))
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![JoinGroupRequestProtocol::default().with_name(text("range"))]);
    check(&mut world, (7, &join), |answer| answer.error_code, &of_members(25));
    let sync = SyncGroupRequest::default().with_group_id(group("g")).with_member_id(text("m"));
    let sync = sync.with_protocol_type(Some(text("consumer"))).with_protocol_name(Some(text("range")));
    check(&mut world, (5, &sync), |answer| answer.error_code, &of_members(25));
    let heartbeat = HeartbeatRequest::default().with_group_id(group("g")).with_member_id(text("m"));
    check(&mut world, (4, &heartbeat), |answer| answer.error_code, &of_members(25));
    let gone = MemberIdentity::default().with_member_id(text("m"));
    let leave = LeaveGroupRequest::default().with_group_id(group("g")).with_members(vec![gone]);
    check(&mut world, (5, &leave), |answer| answer.error_code, &of_members(0));
    let leave = LeaveGroupRequest::default().with_group_id(group("g")).with_member_id(text("m"));
    check(&mut world, (2, &leave), |answer| answer.error_code, &of_members(25));
}

#[test]
fn member_of_a_consumer_group_needs_read_and_sees_the_topics_that_it_names() {
    let mut world = world();
    let named = ConsumerGroupHeartbeatRequest::default()
        .with_group_id(group("c"))
        .with_member_id(text("m"))
        .with_rebalance_timeout_ms(1_000)
        .with_topic_partitions(Some(Vec::new()))
        .with_subscribed_topic_names(Some(vec![topic("t"), topic("nope")]));
    let told = |answer: kafka_protocol::messages::ConsumerGroupHeartbeatResponse| answer.error_code;
    check(
        &mut world,
        (1, &named),
        told,
        &[
            (NOTHING, 30),
            (&["Topic:t:Describe", "Topic:nope:Describe"], 30),
            (&["Group:c:Describe", "Topic:t:Describe", "Topic:nope:Describe"], 30),
            (&["Group:c:Read"], 29),
            (&["Group:c:Read", "Topic:t:Describe"], 29),
            (&["Group:c:Read", "Topic:t:Read", "Topic:nope:Write"], 0),
        ],
    );
    // Whoever sees the group sees its members only with all their topics.
    let request = ConsumerGroupDescribeRequest::default()
        .with_group_ids(vec![group("c"), group("h")])
        .with_include_authorized_operations(true);
    let told = |answer: kafka_protocol::messages::ConsumerGroupDescribeResponse| {
        let told = answer.groups.into_iter();
        told.map(|group| (group.error_code, group.members.len(), group.authorized_operations))
            .collect::<Vec<_>>()
    };
    let refused = (30, 0, NOT_ASKED);
    check(
        &mut world,
        (1, &request),
        told,
        &[
            (NOTHING, vec![refused, refused]),
            (&["Group:c:Describe"], vec![(29, 0, 256), refused]),
            (&["Group:c:All", "Topic:t:Describe"], vec![(0, 1, 3_400), refused]),
            (&["Group:h:Describe", "Topic:t:Describe"], vec![refused, (69, 0, NOT_ASKED)]),
        ],
    );
}

#[test]
fn expression_of_a_member_matches_only_topics_that_it_may_see() {
    for (grants, partitions) in [(&["Group:c:Read"][..], 0), (&["Group:c:Read", "Topic:t:Describe"][..], 1)] {
        let mut world = world();
        grant(&mut world, grants);
        let client = world.connect(0);
        let beat = ConsumerGroupHeartbeatRequest::default()
            .with_group_id(group("c"))
            .with_member_id(text("m"))
            .with_rebalance_timeout_ms(1_000)
            .with_topic_partitions(Some(Vec::new()))
            .with_subscribed_topic_regex(Some(text(".*")));
        let answer = world.ask(client, 1, &beat).expect("an answer");
        let assigned = answer.assignment.map_or(0, |assigned| assigned.topic_partitions.len());
        assert_eq!((answer.error_code, assigned), (0, partitions), "{grants:?}");
    }
}

#[test]
fn commit_needs_read_of_the_group_and_of_each_topic() {
    let mut world = world();
    let named = |name: &str| {
        let partition = OffsetCommitRequestPartition::default().with_committed_offset(1);
        OffsetCommitRequestTopic::default().with_name(topic(name)).with_partitions(vec![partition])
    };
    let request = OffsetCommitRequest::default()
        .with_group_id(group("g"))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![named("t"), named("nope")]);
    let told = |answer: kafka_protocol::messages::OffsetCommitResponse| {
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (8, &request),
        told,
        &[
            (NOTHING, vec![30, 30]),
            (&["Topic:t:Read"], vec![30, 30]),
            (&["Group:g:Read"], vec![29, 29]),
            (&["Group:g:Read", "Topic:t:Describe"], vec![29, 29]),
            (&["Group:g:Read", "Topic:t:Read"], vec![0, 29]),
            (&["Group:g:Read", "Topic:t:Read", "Topic:nope:Read"], vec![0, 3]),
        ],
    );
}

#[test]
fn committed_offsets_are_shown_of_topics_that_may_be_described() {
    let mut world = world();
    grant(&mut world, &["Group:g:Read", "Topic:t:Read"]);
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(5);
    let committed =
        OffsetCommitRequestTopic::default().with_name(topic("t")).with_partitions(vec![partition]);
    let commit = OffsetCommitRequest::default()
        .with_group_id(group("g"))
        .with_generation_id_or_member_epoch(-1)
        .with_topics(vec![committed]);
    let client = world.connect(0);
    world.ask(client, 8, &commit).expect("it is committed");
    let named = |name: &str| {
        OffsetFetchRequestTopics::default().with_name(topic(name)).with_partition_indexes(vec![0])
    };
    let of = |name: &str, topics| {
        OffsetFetchRequestGroup::default().with_group_id(group(name)).with_topics(topics)
    };
    let told = |answer: kafka_protocol::messages::OffsetFetchResponse| {
        let of = |group: kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseGroup| {
            let partitions = group.topics.into_iter().flat_map(|topic| topic.partitions);
            let offsets =
                partitions.map(|found| (found.error_code, found.committed_offset)).collect::<Vec<_>>();
            (group.error_code, offsets)
        };
        answer.groups.into_iter().map(of).collect::<Vec<_>>()
    };
    let some = Some(vec![named("t"), named("nope")]);
    let request = OffsetFetchRequest::default().with_groups(vec![of("g", some), of("h", None)]);
    check(
        &mut world,
        (8, &request),
        told,
        &[
            (NOTHING, vec![(30, vec![]), (30, vec![])]),
            (&["Topic:t:Read"], vec![(30, vec![]), (30, vec![])]),
            (&["Group:g:Describe"], vec![(0, vec![(29, -1), (29, -1)]), (30, vec![])]),
            (&["Group:g:Read", "Topic:t:Describe"], vec![(0, vec![(0, 5), (29, -1)]), (30, vec![])]),
            (
                &["Group:g:Read", "Topic:t:Read", "Topic:nope:Read"],
                vec![(0, vec![(0, 5), (0, -1)]), (30, vec![])],
            ),
        ],
    );
    let request = OffsetFetchRequest::default().with_groups(vec![of("g", None)]);
    check(
        &mut world,
        (8, &request),
        told,
        &[
            (NOTHING, vec![(30, vec![])]),
            (&["Group:g:Describe"], vec![(0, vec![])]),
            (&["Group:g:Describe", "Topic:t:Describe"], vec![(0, vec![(0, 5)])]),
        ],
    );
    let list = ListGroupsRequest::default();
    let told = |answer: kafka_protocol::messages::ListGroupsResponse| {
        let groups = answer.groups.into_iter().map(|group| group.group_id.to_string());
        (answer.error_code, groups.collect::<Vec<_>>())
    };
    check(
        &mut world,
        (4, &list),
        told,
        &[
            (NOTHING, (0, vec![])),
            (&["Cluster::Describe"], (0, vec![String::from("g")])),
            (&["Group:g:Read"], (0, vec![String::from("g")])),
            (&["Group:h:Read"], (0, vec![])),
        ],
    );
}

#[test]
fn groups_are_deleted_by_who_may() {
    let mut world = world();
    let request = DeleteGroupsRequest::default().with_groups_names(vec![group("g"), group("h")]);
    let told = |answer: kafka_protocol::messages::DeleteGroupsResponse| {
        answer.results.into_iter().map(|result| result.error_code).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (2, &request),
        told,
        &[
            (NOTHING, vec![30, 30]),
            (&["Group:g:Read"], vec![30, 30]),
            (&["Group:g:Delete"], vec![69, 30]),
            (&["Group:g:All"], vec![69, 30]),
        ],
    );
}

#[test]
fn topics_are_created_and_deleted_by_who_may() {
    let mut world = world();
    let new = |name: &str| {
        CreatableTopic::default().with_name(topic(name)).with_num_partitions(1).with_replication_factor(1)
    };
    let request = CreateTopicsRequest::default()
        .with_topics(vec![new("c"), new("t")])
        .with_timeout_ms(1_000)
        .with_validate_only(true);
    let told = |answer: kafka_protocol::messages::CreateTopicsResponse| {
        let of = |result: &kafka_protocol::messages::create_topics_response::CreatableTopicResult| {
            (result.error_code, result.topic_config_error_code)
        };
        answer.topics.iter().map(of).collect::<Vec<_>>()
    };
    check(
        &mut world,
        (7, &request),
        told,
        &[
            (NOTHING, vec![(29, 0), (29, 0)]),
            (&["Topic:c:Describe"], vec![(29, 0), (29, 0)]),
            (&["Topic:c:Create"], vec![(0, 29), (29, 0)]),
            (&["Cluster::Create"], vec![(0, 29), (36, 0)]),
            (&["Topic:c:Create", "Topic:c:DescribeConfigs"], vec![(0, 0), (29, 0)]),
        ],
    );
    let named = |name: &str| DeleteTopicState::default().with_name(Some(topic(name)));
    let by_id = |id: Uuid| DeleteTopicState::default().with_name(None).with_topic_id(id);
    let told = |answer: kafka_protocol::messages::DeleteTopicsResponse| {
        let of = |result: kafka_protocol::messages::delete_topics_response::DeletableTopicResult| {
            (result.error_code, result.name.map(|name| name.to_string()))
        };
        answer.responses.into_iter().map(of).collect::<Vec<_>>()
    };
    let is = |error: i16, name: &str| (error, Some(name.to_owned()));
    let request = DeleteTopicsRequest::default().with_timeout_ms(1_000);
    let names = request.clone().with_topics(vec![named("t"), named("nope")]);
    check(
        &mut world,
        (6, &names),
        told,
        &[
            (NOTHING, vec![is(29, "t"), is(29, "nope")]),
            (&["Topic:t:Describe", "Topic:nope:Describe"], vec![is(29, "t"), is(3, "nope")]),
            (&["Topic:nope:Delete"], vec![is(29, "t"), is(3, "nope")]),
            (&["Cluster::Alter"], vec![is(29, "t"), is(29, "nope")]),
        ],
    );
    let missing = request.clone().with_topics(vec![named("nope")]);
    check(&mut world, (6, &missing), told, &[(&["Cluster::Delete"], vec![is(3, "nope")])]);
    let ids = request.with_topics(vec![by_id(T), by_id(NONE)]);
    check(
        &mut world,
        (6, &ids),
        told,
        &[
            (NOTHING, vec![(29, None), (100, None)]),
            (&["Topic:t:Describe"], vec![is(29, "t"), (100, None)]),
            (&["Topic:t:Delete"], vec![is(0, "t"), (100, None)]),
        ],
    );
}

#[test]
fn right_to_delete_on_the_cluster_deletes_any_topic() {
    let mut world = world();
    let state = DeleteTopicState::default().with_name(Some(topic("t")));
    let request = DeleteTopicsRequest::default().with_topics(vec![state]).with_timeout_ms(1_000);
    let told = |answer: kafka_protocol::messages::DeleteTopicsResponse| answer.responses[0].error_code;
    check(&mut world, (6, &request), told, &[(&["Cluster::Describe"], 29), (&["Cluster::Delete"], 0)]);
}

#[test]
fn producer_ids_are_for_who_may_write() {
    let mut world = world();
    let request =
        InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(60_000);
    let told = |answer: kafka_protocol::messages::InitProducerIdResponse| answer.error_code;
    // The first answer is that there is none yet: ids come from the council.
    grant(&mut world, &["Topic:t:Write"]);
    let client = world.connect(0);
    world.ask(client, 4, &request);
    check(
        &mut world,
        (4, &request),
        told,
        &[
            (NOTHING, 31),
            (&["Topic:t:Write"], 0),
            (&["Topic:*:All"], 0),
            (&["Topic:t:Read"], 31),
            (&["Cluster::IdempotentWrite"], 0),
            (&["Cluster::All"], 0),
        ],
    );
    let request = request.with_transactional_id(Some(TransactionalId(text("x"))));
    check(
        &mut world,
        (4, &request),
        told,
        &[(NOTHING, 53), (&["TransactionalId:x:Describe"], 53), (&["Cluster::IdempotentWrite"], 53)],
    );
}

#[test]
fn every_api_that_is_served_has_its_test_here() {
    let mut world = world();
    let client = world.connect(0);
    let request = ApiVersionsRequest::default()
        .with_client_software_name(text("c"))
        .with_client_software_version(text("1"));
    let answer = world.ask(client, 3, &request).expect("the versions");
    let served: BTreeSet<i16> = answer.api_keys.iter().map(|api| api.api_key).collect();
    let free = [
        ApiKey::ApiVersions,
        ApiKey::SaslHandshake,
        ApiKey::SaslAuthenticate,
        // Nobody gets a delegation token.
        ApiKey::CreateDelegationToken,
        ApiKey::RenewDelegationToken,
        ApiKey::ExpireDelegationToken,
        ApiKey::DescribeDelegationToken,
    ];
    let tested = [
        ApiKey::Produce,
        ApiKey::Fetch,
        ApiKey::ListOffsets,
        ApiKey::Metadata,
        ApiKey::OffsetCommit,
        ApiKey::OffsetFetch,
        ApiKey::FindCoordinator,
        ApiKey::JoinGroup,
        ApiKey::Heartbeat,
        ApiKey::LeaveGroup,
        ApiKey::SyncGroup,
        ApiKey::DescribeGroups,
        ApiKey::ListGroups,
        ApiKey::CreateTopics,
        ApiKey::DeleteTopics,
        ApiKey::InitProducerId,
        ApiKey::AddPartitionsToTxn,
        ApiKey::AddOffsetsToTxn,
        ApiKey::EndTxn,
        ApiKey::TxnOffsetCommit,
        ApiKey::WriteTxnMarkers,
        ApiKey::DescribeProducers,
        ApiKey::DescribeTransactions,
        ApiKey::ListTransactions,
        ApiKey::OffsetDelete,
        ApiKey::OffsetForLeaderEpoch,
        ApiKey::DescribeAcls,
        ApiKey::CreateAcls,
        ApiKey::DeleteAcls,
        ApiKey::DeleteGroups,
        ApiKey::DescribeUserScramCredentials,
        ApiKey::AlterUserScramCredentials,
        ApiKey::DescribeClientQuotas,
        ApiKey::AlterClientQuotas,
        ApiKey::ConsumerGroupHeartbeat,
        ApiKey::ConsumerGroupDescribe,
        ApiKey::DescribeTopicPartitions,
        ApiKey::CreatePartitions,
        ApiKey::DeleteRecords,
        ApiKey::DescribeCluster,
        ApiKey::DescribeQuorum,
        ApiKey::DescribeLogDirs,
        ApiKey::AlterReplicaLogDirs,
        ApiKey::ElectLeaders,
        ApiKey::AlterPartitionReassignments,
        ApiKey::ListPartitionReassignments,
        ApiKey::DescribeConfigs,
        ApiKey::AlterConfigs,
        ApiKey::IncrementalAlterConfigs,
        ApiKey::ListConfigResources,
        ApiKey::ShareGroupHeartbeat,
        ApiKey::ShareGroupDescribe,
        ApiKey::ShareFetch,
        ApiKey::ShareAcknowledge,
        ApiKey::DescribeShareGroupOffsets,
        ApiKey::AlterShareGroupOffsets,
        ApiKey::DeleteShareGroupOffsets,
    ];
    let known: BTreeSet<i16> = free.iter().chain(&tested).map(|key| *key as i16).collect();
    assert_eq!(served, known);
}
