//! Replicas that move to other brokers, and leaders that are elected.

use serde_json::{Value, json};

use super::super::body::{fetch, part};
use super::{
    IDS, elect, elect_topic, has_moved, metadata, placed, produced, reassign, reassign_topic, rests,
};
use crate::story::Story;

/// Waits until no replicas of the partition are added or taken away.
fn moved(story: &mut Story<'_>, name: &str) {
    let asked = json!({"Topics": [{"Name": format!("@{name}"), "PartitionIndexes": [0]}]});
    for broker in IDS {
        story.at(broker).call("ListPartitionReassignments", asked.clone()).until("/Topics", json!([]));
    }
}

pub(super) fn reassignments(story: &mut Story<'_>) {
    placed(story, "a", &[&[1]], &[]);
    story.at(1).call("Produce", produced("a", 0, -1, &["x", "y"]));
    // More replicas, fewer, another broker, all of them, in another order.
    let stages: &[(&[i32], i32)] =
        &[(&[1, 2], 1), (&[1], 1), (&[2], 2), (&[2, 3, 1], 2), (&[3, 1], 3), (&[1, 3], 1)];
    for (replicas, leader) in stages {
        let broker = story.dice.pick(&IDS);
        story.at(broker).call("AlterPartitionReassignments", reassign("a", &[(0, json!(replicas))]));
        moved(story, "a");
        // That the move is over a broker hears from the controller, and knows it later. Who is preferred it knows by the order.
        has_moved(story, 1, ("a", 0), replicas);
        story.at(1).call("ElectLeaders", elect(0, "a", &[0])).retry(&[80]);
        rests(story, &IDS, ("a", 0), *leader, replicas);
        for broker in IDS {
            story.at(broker).call("Metadata", metadata("a"));
            story.call("Fetch", fetch("a", vec![part(0, 0)]));
            story.call("Produce", produced("a", 0, -1, &["more"]));
        }
    }
}

pub(super) fn refused(story: &mut Story<'_>) {
    placed(story, "a", &[&[1, 2], &[2, 3]], &[]);
    let none = json!([]);
    for broker in IDS {
        story.at(broker);
        let wrong =
            [none.clone(), json!([1, 1]), json!([7]), json!([1, 7]), json!([-1]), json!([1, 2, 3, 4])];
        for replicas in wrong {
            story.call("AlterPartitionReassignments", reassign("a", &[(0, replicas), (1, json!([2, 3]))]));
        }
        // There is nothing to cancel.
        story.each("AlterPartitionReassignments", |_| reassign("a", &[(0, Value::Null), (9, Value::Null)]));
        story.call("AlterPartitionReassignments", reassign("missing", &[(0, json!([1, 2]))]));
        story.call("AlterPartitionReassignments", reassign_topic("bad name", &[(0, json!([1]))]));
        let mut fixed = reassign("a", &[(0, json!([1, 2, 3])), (1, json!([2]))]);
        fixed["AllowReplicationFactorChange"] = Value::from(false);
        story.call_in(1..=i16::MAX, "AlterPartitionReassignments", fixed);
        for topics in [
            json!([{"Name": "@a", "PartitionIndexes": [0, 1, 9]}]),
            json!([{"Name": "@missing", "PartitionIndexes": [0]}]),
            none.clone(),
        ] {
            story.call("ListPartitionReassignments", json!({"Topics": topics}));
        }
    }
    // The same replicas again are no move.
    story.at(2).call("AlterPartitionReassignments", reassign("a", &[(0, json!([1, 2]))]));
    rests(story, &IDS, ("a", 0), 1, &[1, 2]);
    story.at(3).call("Metadata", metadata("a"));
}

pub(super) fn elections(story: &mut Story<'_>) {
    placed(story, "a", &[&[1, 2, 3], &[2, 3, 1]], &[]);
    for broker in IDS {
        story.at(broker).each("ElectLeaders", |_| elect(0, "a", &[0, 1]));
        story.call_in(1..=i16::MAX, "ElectLeaders", elect(1, "a", &[0, 1]));
        for kind in [0, 1] {
            story.call_in(1..=i16::MAX, "ElectLeaders", elect(kind, "a", &[0, 9]));
            story.call_in(1..=i16::MAX, "ElectLeaders", elect(kind, "missing", &[0]));
            story.call_in(1..=i16::MAX, "ElectLeaders", elect_topic(kind, "", &[0]));
        }
    }
    // Another replica is preferred, and leads when that is asked for.
    story.at(3).call("AlterPartitionReassignments", reassign("a", &[(1, json!([3, 1, 2]))]));
    for broker in IDS {
        let call = story.at(broker).call("Metadata", metadata("a"));
        call.until("/Topics/0/Partitions/1/ReplicaNodes/0", json!(3));
    }
    story.call_in(1..=i16::MAX, "ElectLeaders", elect(1, "a", &[1]));
    story.at(2).call("ElectLeaders", elect(0, "a", &[0, 1]));
    rests(story, &IDS, ("a", 1), 3, &[1, 2, 3]);
    for broker in IDS {
        story.at(broker).call("Metadata", metadata("a"));
    }
}
