//! Where the replicas of new topics and partitions lie.

use serde_json::{Value, json};

use super::super::body::{create, new_topic, with};
use super::{IDS, assigned, described, metadata, placed, rests};
use crate::story::Story;

pub(super) fn made(story: &mut Story<'_>) {
    placed(story, "one", &[&[2]], &[]);
    placed(story, "two", &[&[3, 1], &[1, 2]], &[("min.insync.replicas", "2")]);
    placed(story, "three", &[&[2, 3, 1], &[3, 2, 1], &[1, 2, 3]], &[]);
    for broker in IDS {
        story.at(broker);
        for name in ["one", "two", "three"] {
            story.each("Metadata", |_| metadata(name));
            story.call("DescribeTopicPartitions", described(name));
        }
    }
    // Where these lie is drawn by the broker.
    for factor in [1, 2, 3, -1] {
        let broker = story.dice.pick(&IDS);
        let topic = new_topic(&format!("@factor{factor}"), 3, factor);
        story.at(broker).call("CreateTopics", create(json!([topic])));
    }
    story.each("CreateTopics", |version| {
        create(json!([assigned(&format!("v{version}"), &[&[3, 2], &[1, 3]], &[])]))
    });
    for version in story.versions("CreateTopics") {
        let name = format!("v{version}");
        rests(story, &IDS, (&name, 0), 3, &[2, 3]);
        rests(story, &IDS, (&name, 1), 1, &[1, 3]);
        story.at(2).call("Metadata", metadata(&name));
    }
}

pub(super) fn refused(story: &mut Story<'_>) {
    let wrong: &[&[&[i32]]] = &[
        &[&[7]],
        &[&[1, 7]],
        &[&[7, 8, 9]],
        &[&[1, 1]],
        &[&[1, 2, 1]],
        &[&[1, 2], &[3]],
        &[&[1], &[2, 3]],
        &[&[1, 2], &[]],
        &[&[]],
        &[&[-1]],
        &[&[0]],
        &[&[1, 2, 3, 4]],
        &[&[1, 2, 3], &[3, 2, 7]],
    ];
    for (index, partitions) in wrong.iter().enumerate() {
        let broker = story.dice.pick(&IDS);
        let only = story.dice.once_in(4);
        let asked = create(json!([assigned(&format!("w{index}"), partitions, &[])]));
        story.at(broker).call("CreateTopics", with(asked, json!({"validateOnly": only})));
    }
    for factor in [4, 0, -2, i16::MAX] {
        story.call("CreateTopics", create(json!([new_topic("@factor", 1, factor)])));
    }
    refused_beside_assignments(story);
    // More replicas have to be in sync than there are.
    placed(story, "strict", &[&[2, 1]], &[("min.insync.replicas", "3")]);
    for acks in [-1, 1] {
        story.at(2).call("Produce", super::produced("strict", 0, acks, &["x"]));
    }
    for broker in IDS {
        let topics = json!([{"Name": "@w0"}, {"Name": "@gap"}]);
        story.at(broker).call("Metadata", json!({"Topics": topics, "AllowAutoTopicCreation": false}));
    }
}

/// Partitions whose numbers have a gap, and numbers beside assignments.
fn refused_beside_assignments(story: &mut Story<'_>) {
    let gap = json!([{
        "Name": "@gap", "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": [
            {"PartitionIndex": 0, "BrokerIds": [1, 2]}, {"PartitionIndex": 2, "BrokerIds": [1, 2]},
        ],
    }]);
    story.call("CreateTopics", create(gap));
    for (partitions, factor) in [(1, 2), (-1, 2), (1, -1)] {
        let both = with(
            assigned("both", &[&[1, 2]], &[]),
            json!({"NumPartitions": partitions, "ReplicationFactor": factor}),
        );
        story.call("CreateTopics", create(json!([both])));
    }
}

pub(super) fn more_partitions(story: &mut Story<'_>) {
    placed(story, "a", &[&[1, 2]], &[]);
    let asked = |count: i64, brokers: &[&[i32]]| {
        let brokers: Vec<Value> = brokers.iter().map(|brokers| json!({"BrokerIds": brokers})).collect();
        let topic = json!({"Name": "@a", "Count": count, "Assignments": brokers});
        json!({"Topics": [topic], "TimeoutMs": 30_000, "ValidateOnly": false})
    };
    let wrong: &[&[&[i32]]] =
        &[&[&[1]], &[&[1, 2, 3]], &[&[1, 7]], &[&[1, 1]], &[&[]], &[&[1, 2], &[2, 3]], &[&[-1, 2]]];
    for brokers in wrong {
        let broker = story.dice.pick(&IDS);
        story.at(broker).call("CreatePartitions", asked(2, brokers));
    }
    story.each("CreatePartitions", |version| asked(2 + i64::from(version), &[&[3, 1]]));
    // The last one first: once it is there, all are.
    let added = story.versions("CreatePartitions").count();
    for partition in (1..=added).rev() {
        rests(story, &IDS, ("a", partition), 3, &[1, 3]);
    }
    for broker in IDS {
        story.at(broker).call("Metadata", metadata("a"));
        story.call("DescribeTopicPartitions", described("a"));
    }
}
