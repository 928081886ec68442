//! Answers in which ours once differed from a real Kafka: found by drawn requests, and small.

use kafka_protocol::messages::alter_user_scram_credentials_request::{
    ScramCredentialDeletion, ScramCredentialUpsertion,
};
use kafka_protocol::messages::delete_records_request::DeleteRecordsTopic;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
use kafka_protocol::messages::{
    AlterUserScramCredentialsRequest, CreateDelegationTokenRequest, DeleteRecordsRequest,
    DescribeUserScramCredentialsRequest, FindCoordinatorRequest, JoinGroupRequest, ListOffsetsRequest,
    OffsetFetchRequest, WriteTxnMarkersRequest,
};
use log_broker::BrokerConfig;

use crate::rights::{NOTHING, check, group, topic, world};
use crate::world::{World, text};

#[test]
fn time_that_a_version_lacks_is_refused_before_its_topic_is_looked_for() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let mut code = |name: &str, version: i16, time: i64, epoch: i32| {
        let partition = ListOffsetsPartition::default().with_timestamp(time).with_current_leader_epoch(epoch);
        let of = ListOffsetsTopic::default().with_name(topic(name)).with_partitions(vec![partition]);
        let answer = world.ask(client, version, &ListOffsetsRequest::default().with_topics(vec![of]));
        answer.map(|answer| answer.topics[0].partitions[0].error_code)
    };
    assert_eq!(code("nope", 5, -4, -1), Some(35));
    assert_eq!(code("nope", 8, -4, -1), Some(3));
    assert_eq!(code("t", 9, -9, 7), Some(35), "before the epoch");
    assert_eq!(code("t", 9, -4, 7), Some(75));
}

#[test]
fn error_of_a_group_is_told_of_each_partition_in_versions_without_a_place_for_it() {
    let mut world = world();
    let of = OffsetFetchRequestTopic::default().with_name(topic("t")).with_partition_indexes(vec![0, 1]);
    let request = OffsetFetchRequest::default().with_group_id(group("g")).with_topics(Some(vec![of]));
    let told = |answer: kafka_protocol::messages::OffsetFetchResponse| {
        let partitions = answer.topics.into_iter().flat_map(|topic| topic.partitions);
        partitions.map(|partition| partition.error_code).collect::<Vec<_>>()
    };
    let expected: &[(&[&str], Vec<i16>)] =
        &[(NOTHING, vec![30, 30]), (&["Group:g:Describe", "Topic:t:Describe"], vec![0, 0])];
    check(&mut world, (1, &request), told, expected);
    check(&mut world, (2, &request), told, &[(NOTHING, vec![])]);
}

#[test]
fn member_without_the_right_is_not_told_its_id() {
    let mut world = world();
    let protocol = JoinGroupRequestProtocol::default().with_name(text("range"));
    let request = JoinGroupRequest::default()
        .with_group_id(group("g"))
        .with_session_timeout_ms(1)
        .with_member_id(text("member"))
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol]);
    let told = |answer: kafka_protocol::messages::JoinGroupResponse| {
        (answer.error_code, answer.member_id.to_string())
    };
    let expected: &[(&[&str], (i16, String))] =
        &[(NOTHING, (30, String::new())), (&["Group:g:Read"], (26, "member".into()))];
    check(&mut world, (5, &request), told, expected);
}

#[test]
fn coordinator_of_an_unknown_kind_is_an_invalid_request_for_everybody() {
    let mut world = world();
    for (version, kind, code) in [(1, 9, 42), (1, 2, 42), (6, 3, 42), (6, 2, 31)] {
        let request = FindCoordinatorRequest::default()
            .with_key(text(if version < 4 { "k" } else { "" }))
            .with_key_type(kind)
            .with_coordinator_keys(if version < 4 { Vec::new() } else { vec![text("k")] });
        let told = |answer: kafka_protocol::messages::FindCoordinatorResponse| {
            answer.coordinators.first().map_or(answer.error_code, |one| one.error_code)
        };
        check(&mut world, (version, &request), told, &[(NOTHING, code)]);
    }
}

#[test]
fn first_reason_against_changes_of_a_user_counts() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let set = |mechanism: i8, iterations: i32| {
        ScramCredentialUpsertion::default()
            .with_name(text("u"))
            .with_mechanism(mechanism)
            .with_iterations(iterations)
            .with_salt("salt".into())
            .with_salted_password("salted".into())
    };
    let gone =
        |mechanism: i8| ScramCredentialDeletion::default().with_name(text("u")).with_mechanism(mechanism);
    let mut code = |deletions: Vec<ScramCredentialDeletion>, upsertions: Vec<ScramCredentialUpsertion>| {
        let request =
            AlterUserScramCredentialsRequest::default().with_deletions(deletions).with_upsertions(upsertions);
        let answer = world.ask(client, 0, &request).expect("an answer");
        answer.results.into_iter().map(|result| result.error_code).collect::<Vec<_>>()
    };
    assert_eq!(code(vec![gone(1)], vec![set(2, 4_096)]), [91], "it is not there");
    assert_eq!(code(vec![], vec![set(1, 1), set(1, 4_096)]), [93]);
    assert_eq!(code(vec![], vec![set(1, 4_096), set(1, 1)]), [92]);
    assert_eq!(code(vec![], vec![set(1, 4_096)]), [0]);
    assert_eq!(code(vec![gone(1)], vec![set(2, 4_096)]), [92], "it is there");
}

#[test]
fn user_is_named_by_nobody_to_who_may_not_see_users() {
    let mut world = world();
    let told = |answer: kafka_protocol::messages::DescribeUserScramCredentialsResponse| {
        assert!(answer.results.iter().all(|one| one.user.is_empty() && one.error_code == 31));
        (answer.error_code, answer.results.len())
    };
    let expected: &[(&[&str], (i16, usize))] = &[(NOTHING, (31, 1)), (&["Cluster::Describe"], (0, 0))];
    check(&mut world, (0, &DescribeUserScramCredentialsRequest::default()), told, expected);
}

#[test]
fn topic_without_partitions_is_not_answered_where_partitions_are() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let records = DeleteRecordsRequest::default()
        .with_topics(vec![DeleteRecordsTopic::default().with_name(topic("t"))])
        .with_timeout_ms(1_000);
    assert!(world.ask(client, 2, &records).expect("an answer").topics.is_empty());
    let of = WritableTxnMarkerTopic::default().with_name(topic("t"));
    let marker = WritableTxnMarker::default().with_topics(vec![of]);
    let markers = WriteTxnMarkersRequest::default().with_markers(vec![marker]);
    assert!(world.ask(client, 1, &markers).expect("an answer").markers.is_empty());
}

#[test]
fn owner_of_a_refused_token_is_the_one_that_was_named() {
    let mut world = World::new(BrokerConfig::default());
    let client = world.connect(0);
    let mut owner = |name: &str| {
        let request = CreateDelegationTokenRequest::default()
            .with_owner_principal_type(Some(text("")))
            .with_owner_principal_name(Some(text(name)));
        let answer = world.ask(client, 3, &request).expect("an answer");
        (answer.error_code, answer.principal_type.to_string(), answer.principal_name.to_string())
    };
    assert_eq!(owner("alice"), (64, String::new(), "alice".into()));
    assert_eq!(owner(""), (64, "User".into(), "ANONYMOUS".into()));
}
