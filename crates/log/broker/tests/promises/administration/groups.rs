//! What administration changes for groups: settings, and topics whose offsets they have.

use kafka_protocol::messages::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, GroupId, OffsetCommitRequest, OffsetFetchRequest, TopicName,
};
use log_metadata::{KeeperEvent, paths};

use super::council::World;
use crate::bench::{text, topic};

/// With topics `t` and `u`, and the coordinator of all groups.
fn world(properties: &[(&str, &str)]) -> World {
    let mut world = World::of_file(properties);
    for event in [topic("t", 1, 1, 0), topic("u", 2, 1, 0), topic("__consumer_offsets", 3, 1, 0)] {
        let KeeperEvent::Node { path, data } = event else { panic!("a topic") };
        world.write(&path, data.as_deref());
    }
    world.settle();
    world.bench.settle();
    world
}

fn commit(world: &mut World, topics: &[&str]) {
    let partition = OffsetCommitRequestPartition::default().with_committed_offset(3);
    let topics = topics.iter().map(|topic| {
        let name = TopicName(text(topic));
        OffsetCommitRequestTopic::default().with_name(name).with_partitions(vec![partition.clone()])
    });
    let request =
        OffsetCommitRequest::default().with_group_id(GroupId(text("g"))).with_topics(topics.collect());
    let answer = world.bench.call(8, &request);
    assert!(answer.topics.iter().all(|topic| topic.partitions[0].error_code == 0), "{answer:?}");
}

/// The topics of which the group has offsets.
fn committed(world: &mut World) -> Vec<String> {
    let group = OffsetFetchRequestGroup::default().with_group_id(GroupId(text("g"))).with_topics(None);
    let answer = world.bench.call(8, &OffsetFetchRequest::default().with_groups(vec![group]));
    answer.groups[0].topics.iter().map(|topic| topic.name.to_string()).collect()
}

#[test]
fn offsets_of_a_topic_go_with_it_and_when_another_takes_its_name() {
    let mut world = world(&[]);
    commit(&mut world, &["t", "u"]);
    assert_eq!(committed(&mut world), ["t", "u"]);
    world.write(&paths::topic("t"), None);
    assert_eq!(committed(&mut world), ["u"]);
    let KeeperEvent::Node { path, data } = topic("u", 9, 1, 0) else { panic!("a topic") };
    world.write(&path, data.as_deref());
    assert!(committed(&mut world).is_empty());
}

fn heartbeat_interval_ms(world: &mut World, group: &str) -> i32 {
    let request = ConsumerGroupHeartbeatRequest::default()
        .with_group_id(GroupId(text(group)))
        .with_member_id(text("member"))
        .with_rebalance_timeout_ms(1_000)
        .with_subscribed_topic_names(Some(vec![TopicName(text("t"))]))
        .with_topic_partitions(Some(Vec::new()));
    let answer = world.bench.call(1, &request);
    assert_eq!(answer.error_code, 0, "{answer:?}");
    answer.heartbeat_interval_ms
}

#[test]
fn members_of_a_consumer_group_act_on_what_the_group_and_the_broker_set() {
    let times = [
        ("group.consumer.heartbeat.interval.ms", "700"),
        ("group.consumer.min.heartbeat.interval.ms", "500"),
    ];
    let mut world = world(&times);
    assert_eq!(heartbeat_interval_ms(&mut world, "a"), 700);
    world.write("/log/configs/groups/b", Some(br#"{"consumer.heartbeat.interval.ms": "900"}"#));
    assert_eq!(heartbeat_interval_ms(&mut world, "b"), 900);
    world.write("/log/configs/groups/b", None);
    assert_eq!(heartbeat_interval_ms(&mut world, "b"), 700);
}

#[test]
fn settings_of_a_group_are_known_to_a_coordinator_that_begins_later() {
    let mut world = World::new();
    world.write("/log/configs/groups/a", Some(br#"{"consumer.heartbeat.interval.ms": "6000"}"#));
    for event in [topic("t", 1, 1, 0), topic("__consumer_offsets", 3, 1, 0)] {
        let KeeperEvent::Node { path, data } = event else { panic!("a topic") };
        world.write(&path, data.as_deref());
    }
    world.settle();
    world.bench.settle();
    assert_eq!(heartbeat_interval_ms(&mut world, "a"), 6_000);
}
