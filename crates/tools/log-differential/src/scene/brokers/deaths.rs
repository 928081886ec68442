//! What is shown while a broker is gone, or two, and after they came back.

use serde_json::{Value, json};

use super::super::body::{create, fetch, new_topic, part};
use super::{IDS, assigned, becomes_former, described, elect, metadata, placed, produced, rests};
use crate::script::{Action, End};
use crate::story::Story;

/// The broker ends; these are left, and show no other.
pub(super) fn ends(story: &mut Story<'_>, broker: usize, how: End, left: &[usize]) {
    story.at(broker).act(Action::End(how));
    for other in left {
        let call = story.at(*other).call_in(2..=i16::MAX, "DescribeCluster", json!({}));
        call.until(&format!("/Brokers/{}", left.len()), Value::Null);
    }
}

/// It runs again.
pub(super) fn starts(story: &mut Story<'_>, broker: usize) {
    story.at(broker).act(Action::Start);
}

/// What brokers show of a topic.
fn show(story: &mut Story<'_>, brokers: &[usize], names: &[&str]) {
    for broker in brokers {
        for name in names {
            // The first versions make topics that are not there.
            story.at(*broker).call_in(4..=i16::MAX, "Metadata", metadata(name));
            story.call("DescribeTopicPartitions", described(name));
        }
    }
}

pub(super) fn stopped(story: &mut Story<'_>) {
    placed(story, "led", &[&[3, 1, 2]], &[("min.insync.replicas", "2")]);
    placed(story, "kept", &[&[1, 3]], &[("min.insync.replicas", "2")]);
    placed(story, "lone", &[&[3]], &[]);
    placed(story, "pair", &[&[3, 2]], &[]);
    for (broker, name) in [(3, "led"), (1, "kept"), (3, "lone"), (3, "pair")] {
        story.at(broker).call("Produce", produced(name, 0, -1, &["x", "y"]));
    }
    becomes_former(story, ("pair", 0));
    let left = [1, 2];
    ends(story, 3, End::Stopped, &left);
    rests(story, &left, ("led", 0), 1, &[1, 2]);
    rests(story, &left, ("kept", 0), 1, &[1]);
    rests(story, &left, ("pair", 0), 2, &[2]);
    leaderless(story, &left, "lone");
    show(story, &left, &["led", "kept", "lone", "pair"]);
    for broker in left {
        for (name, acks) in [("led", -1), ("kept", -1), ("kept", 1), ("lone", -1), ("pair", -1)] {
            story.at(broker).call("Produce", produced(name, 0, acks, &["more"]));
            story.call("Fetch", fetch(name, vec![part(0, 0)]));
        }
        story.call("ElectLeaders", elect(0, "led", &[0]));
        story.call("ElectLeaders", elect(0, "lone", &[0]));
        story.call_in(1..=i16::MAX, "ElectLeaders", elect(1, "led", &[0]));
        story.call_in(1..=i16::MAX, "ElectLeaders", elect(1, "lone", &[0]));
        story.each("DescribeCluster", |_| json!({}));
        story.call_in(2..=i16::MAX, "DescribeCluster", json!({"IncludeFencedBrokers": true}));
    }
    new_topics(story);
    starts(story, 3);
    for (name, replicas) in [("kept", &[1, 3][..]), ("lone", &[3]), ("led", &[3, 1, 2]), ("pair", &[3, 2])] {
        in_sync(story, name, replicas);
    }
    rests(story, &IDS, ("kept", 0), 1, &[1, 3]);
    rests(story, &IDS, ("lone", 0), 3, &[3]);
    for (name, replicas) in [("led", &[3, 1, 2][..]), ("pair", &[3, 2])] {
        story.at(1).call("ElectLeaders", elect(0, name, &[0]));
        rests(story, &IDS, (name, 0), 3, replicas);
    }
    show(story, &IDS, &["led", "kept", "lone", "pair"]);
}

/// Waits until nobody leads the only partition of a topic.
fn leaderless(story: &mut Story<'_>, brokers: &[usize], name: &str) {
    for broker in brokers {
        let call = story.at(*broker).call_in(10..=i16::MAX, "Metadata", metadata(name));
        call.until("/Topics/0/Partitions/0/LeaderId", json!(-1));
    }
}

/// Waits until these replicas are in sync, whoever leads, and each broker reaches all of them.
pub(super) fn in_sync(story: &mut Story<'_>, name: &str, replicas: &[i32]) {
    for broker in IDS {
        let call = story.at(broker).call_in(10..=i16::MAX, "Metadata", metadata(name));
        call.until("/Topics/0/Partitions/0/IsrNodes", json!(replicas));
        call.until("/Topics/0/Partitions/0/OfflineReplicas", json!([]));
    }
}

/// Topics that are made while broker 3 is gone.
fn new_topics(story: &mut Story<'_>) {
    for factor in [1, 2, 4] {
        story.call("CreateTopics", create(json!([new_topic(&format!("@new{factor}"), 1, factor)])));
    }
    story.call("CreateTopics", create(json!([assigned("on-the-dead", &[&[3]], &[])])));
    show(story, &[1, 2], &["on-the-dead", "new4"]);
}

pub(super) fn two(story: &mut Story<'_>) {
    placed(story, "all", &[&[1, 2, 3]], &[]);
    placed(story, "strict", &[&[1, 2]], &[("min.insync.replicas", "2")]);
    placed(story, "pair", &[&[2, 1]], &[]);
    placed(story, "gone", &[&[2, 3]], &[]);
    for (broker, name) in [(1, "all"), (1, "strict"), (2, "pair"), (2, "gone")] {
        story.at(broker).call("Produce", produced(name, 0, -1, &["x"]));
    }
    for (broker, left) in [(3, &[1, 2][..]), (2, &[1])] {
        ends(story, broker, End::Stopped, left);
    }
    rests(story, &[1], ("strict", 0), 1, &[1]);
    rests(story, &[1], ("pair", 0), 1, &[1]);
    leaderless(story, &[1], "gone");
    show(story, &[1], &["all", "strict", "pair", "gone"]);
    for (name, acks) in [("strict", -1), ("strict", 1), ("pair", -1), ("gone", -1), ("gone", 1)] {
        story.call("Produce", produced(name, 0, acks, &["y"]));
        story.call("Fetch", fetch(name, vec![part(0, 0)]));
    }
    story.call("ElectLeaders", elect(0, "gone", &[0]));
    story.call_in(1..=i16::MAX, "ElectLeaders", elect(1, "gone", &[0]));
    for broker in [2, 3] {
        starts(story, broker);
    }
    for (name, leader, replicas) in
        [("all", 1, &[1, 2, 3][..]), ("strict", 1, &[1, 2]), ("pair", 2, &[2, 1]), ("gone", 2, &[2, 3])]
    {
        in_sync(story, name, replicas);
        story.at(1).call("ElectLeaders", elect(0, name, &[0]));
        rests(story, &IDS, (name, 0), leader, replicas);
    }
    show(story, &IDS, &["all", "strict", "pair", "gone"]);
}

pub(super) fn killed(story: &mut Story<'_>) {
    placed(story, "led", &[&[2, 3]], &[]);
    placed(story, "all", &[&[1, 2, 3]], &[("min.insync.replicas", "2")]);
    story.at(2).call("Produce", produced("led", 0, -1, &["x", "y"]));
    story.at(1).call("Produce", produced("all", 0, -1, &["x"]));
    becomes_former(story, ("led", 0));
    ends(story, 2, End::Killed, &[1, 3]);
    rests(story, &[1, 3], ("led", 0), 3, &[3]);
    rests(story, &[1, 3], ("all", 0), 1, &[1, 3]);
    show(story, &[1, 3], &["led", "all"]);
    story.at(3).call("Produce", produced("led", 0, -1, &["z"]));
    story.call("Fetch", fetch("led", vec![part(0, 0)]));
    let asked = |epoch: &str| {
        let part = json!({"Partition": 0, "CurrentLeaderEpoch": "$epoch-led-0", "LeaderEpoch": epoch});
        json!({"ReplicaId": -1, "Topics": [{"Topic": "@led", "Partitions": [part]}]})
    };
    for epoch in ["$former-epoch-led-0", "$epoch-led-0"] {
        story.call("OffsetForLeaderEpoch", asked(epoch));
    }
    starts(story, 2);
    in_sync(story, "led", &[2, 3]);
    in_sync(story, "all", &[1, 2, 3]);
    show(story, &IDS, &["led", "all"]);
    story.at(1).call("ElectLeaders", elect(0, "led", &[0]));
    rests(story, &IDS, ("led", 0), 2, &[2, 3]);
    story.at(2).call("Fetch", fetch("led", vec![part(0, 0)]));
}
