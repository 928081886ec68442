//! Rights of members of share groups, and of those who administer such groups.

use kafka_protocol::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use kafka_protocol::messages::share_acknowledge_request::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch,
};
use kafka_protocol::messages::share_fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::{
    AlterShareGroupOffsetsRequest, DeleteShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequest,
    ShareAcknowledgeRequest, ShareFetchRequest, ShareFetchResponse, ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
};

use crate::rights::{NOTHING, T, check, grant, group, topic, world};
use crate::world::text;

fn fetch(epoch: i32) -> ShareFetchRequest {
    let named = FetchTopic::default().with_topic_id(T).with_partitions(vec![FetchPartition::default()]);
    ShareFetchRequest::default()
        .with_group_id(Some(group("c")))
        .with_member_id(Some(text("m")))
        .with_share_session_epoch(epoch)
        .with_max_records(1)
        .with_max_bytes(1_000)
        .with_topics(vec![named])
}

#[test]
fn members_need_read_of_the_group_and_sight_of_their_topics() {
    let mut world = world();
    let beat = ShareGroupHeartbeatRequest::default()
        .with_group_id(group("c"))
        .with_member_id(text("m"))
        .with_subscribed_topic_names(Some(vec![topic("t")]));
    let told = |answer: kafka_protocol::messages::ShareGroupHeartbeatResponse| answer.error_code;
    let expected: &[(&[&str], i16)] = &[
        (NOTHING, 30),
        (&["Group:c:Describe", "Topic:t:Describe"], 30),
        (&["Group:c:Read"], 29),
        (&["Group:c:Read", "Topic:t:Describe"], 0),
    ];
    check(&mut world, (1, &beat), told, expected);
    let request = ShareGroupDescribeRequest::default().with_group_ids(vec![group("c"), group("h")]);
    let told = |answer: kafka_protocol::messages::ShareGroupDescribeResponse| {
        let groups = answer.groups.into_iter();
        let topics = |group: &kafka_protocol::messages::share_group_describe_response::DescribedGroup| {
            group.members.iter().map(|member| member.subscribed_topic_names.len()).sum::<usize>()
        };
        groups.map(|group| (group.error_code, topics(&group))).collect::<Vec<_>>()
    };
    let expected: &[(&[&str], _)] = &[
        (NOTHING, vec![(30, 0), (30, 0)]),
        (&["Group:c:Describe"], vec![(0, 0), (30, 0)]),
        (&["Group:c:Describe", "Group:h:Describe", "Topic:t:Describe"], vec![(0, 1), (69, 0)]),
    ];
    check(&mut world, (1, &request), told, expected);
}

#[test]
fn taking_and_giving_back_need_read_of_the_group_and_of_each_topic() {
    let mut world = world();
    let told = |answer: ShareFetchResponse| {
        let partitions = answer.responses.iter().flat_map(|topic| &topic.partitions);
        (answer.error_code, partitions.map(|partition| partition.error_code).collect::<Vec<_>>())
    };
    let expected: &[(&[&str], _)] = &[
        (NOTHING, (30, vec![])),
        (&["Group:c:Describe", "Topic:t:Read"], (30, vec![])),
        (&["Group:c:Read", "Topic:t:Describe"], (0, vec![29])),
        (&["Group:c:Read", "Topic:t:Read"], (0, vec![])),
    ];
    check(&mut world, (1, &fetch(0)), told, expected);
    for (epoch, grants, expected) in [
        (1, &["Topic:t:Read"][..], (30, None)),
        (1, &["Group:c:Read"][..], (0, Some(29))),
        (2, &["Group:c:Read", "Topic:t:Read"][..], (0, Some(121))),
    ] {
        grant(&mut world, grants);
        let client = world.connect(0);
        let batch = AcknowledgementBatch::default().with_acknowledge_types(vec![1]);
        let partition = AcknowledgePartition::default().with_acknowledgement_batches(vec![batch]);
        let named = AcknowledgeTopic::default().with_topic_id(T).with_partitions(vec![partition]);
        let request = ShareAcknowledgeRequest::default()
            .with_group_id(Some(group("c")))
            .with_member_id(Some(text("m")))
            .with_share_session_epoch(epoch)
            .with_topics(vec![named]);
        let answer = world.ask(client, 1, &request).expect("an answer");
        let partition = answer.responses.first().map(|topic| topic.partitions[0].error_code);
        assert_eq!((answer.error_code, partition), expected, "{grants:?}");
    }
}

#[test]
fn administration_needs_rights_on_the_group() {
    let mut world = world();
    let named = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group("c"));
    let request = DescribeShareGroupOffsetsRequest::default().with_groups(vec![named]);
    let told =
        |answer: kafka_protocol::messages::DescribeShareGroupOffsetsResponse| answer.groups[0].error_code;
    check(&mut world, (0, &request), told, &[(NOTHING, 30), (&["Group:c:Describe"], 69)]);
    let request = AlterShareGroupOffsetsRequest::default().with_group_id(group("c"));
    let told = |answer: kafka_protocol::messages::AlterShareGroupOffsetsResponse| answer.error_code;
    check(&mut world, (0, &request), told, &[(&["Group:c:Describe"], 30), (&["Group:c:Read"], 69)]);
    let request = DeleteShareGroupOffsetsRequest::default().with_group_id(group("c"));
    let told = |answer: kafka_protocol::messages::DeleteShareGroupOffsetsResponse| answer.error_code;
    check(&mut world, (0, &request), told, &[(&["Group:c:Read"], 30), (&["Group:c:Delete"], 69)]);
}
