//! Requests to brokers that have a replica and do not lead, and to those that have none.

use serde_json::{Value, json};

use super::super::body::{self, offsets as latest, part, produce_all, with};
use super::{IDS, becomes_former, metadata, placed, produced, reordered};
use crate::story::Story;

/// Topic `a` is led by 1, with a replica on 2; topic `b` by 2, without another.
fn two_topics(story: &mut Story<'_>) {
    placed(story, "a", &[&[1, 2]], &[]);
    placed(story, "b", &[&[2]], &[]);
    story.at(1).call("Produce", produced("a", 0, -1, &["x", "y"]));
    story.at(2).call("Produce", produced("b", 0, -1, &["z"]));
    for broker in [1, 2] {
        shown(story, broker, "a", 2);
    }
}

/// Waits until a replica shows that so much is committed, to a consumer in its rack.
fn shown(story: &mut Story<'_>, broker: usize, topic: &str, end: i64) {
    let body = with(body::fetch(topic, vec![part(0, 0)]), json!({"RackId": format!("rack-{broker}")}));
    let call = story.at(broker).call_in(12..=i16::MAX, "Fetch", body);
    call.until("/Responses/0/Partitions/0/HighWatermark", json!(end));
}

pub(super) fn produce(story: &mut Story<'_>) {
    two_topics(story);
    for broker in IDS {
        story.at(broker).each("Produce", |_| produced("a", 0, -1, &["v"]));
        for acks in [1, 2, -2] {
            story.call("Produce", produced("a", 0, acks, &["w"]));
        }
        let several = produce_all("b", 1, &[(0, body::batch(&["s"])), (4, json!([]))]);
        story.call("Produce", several);
    }
    // Where nobody waits for an answer, the end of the connection is the answer.
    for (connection, broker) in [(1, 2), (1, 3)] {
        story.at(broker).on(connection).call("Produce", produced("a", 0, 0, &["nowhere"])).silent = true;
        story.call("Metadata", metadata("a"));
    }
    story.at(1);
    let end = latest("a", &[(0, json!(-1))]);
    story.call("ListOffsets", end);
}

pub(super) fn fetch(story: &mut Story<'_>) {
    two_topics(story);
    for broker in IDS {
        story.at(broker).each("Fetch", |_| body::fetch("a", vec![part(0, 0)]));
    }
    for (current, offset) in [(json!("$epoch-a-0"), 0), (json!("$epoch-a-0+1"), 0), (json!(-1), 1)] {
        for broker in IDS {
            let part = with(part(0, offset), json!({"CurrentLeaderEpoch": current}));
            story.at(broker).call_in(9..=i16::MAX, "Fetch", body::fetch("a", vec![part]));
        }
    }
    for broker in IDS {
        story.at(broker).call("Fetch", body::fetch("b", vec![part(0, 0), part(5, 0)]));
    }
}

pub(super) fn racks(story: &mut Story<'_>) {
    placed(story, "a", &[&[1, 3]], &[]);
    story.at(1).call("Produce", produced("a", 0, -1, &["x", "y"]));
    for broker in [1, 3] {
        shown(story, broker, "a", 2);
    }
    for rack in ["rack-1", "rack-2", "rack-3", "elsewhere", ""] {
        for broker in IDS {
            let body = with(body::fetch("a", vec![part(0, 0)]), json!({"RackId": rack}));
            story.at(broker).call_in(11..=i16::MAX, "Fetch", body);
        }
    }
    // At its end, and beyond.
    for offset in [2, 3, 99] {
        let body = with(body::fetch("a", vec![part(0, offset)]), json!({"RackId": "rack-3"}));
        story.at(3).call_in(11..=i16::MAX, "Fetch", body.clone());
        story.at(1).call_in(11..=i16::MAX, "Fetch", body);
    }
}

pub(super) fn offsets(story: &mut Story<'_>) {
    two_topics(story);
    for broker in IDS {
        story.at(broker).each("ListOffsets", |_| latest("a", &[(0, json!(-1)), (9, json!(-1))]));
        story.each("OffsetForLeaderEpoch", |_| of_epoch(&json!(-1), &json!("$epoch-a-0")));
        for time in [-1, -2, -3] {
            story.call_in(7..=i16::MAX, "ListOffsets", latest("b", &[(0, json!(time))]));
        }
        let deleted = json!({
            "Topics": [{"Name": "@a", "Partitions": [{"PartitionIndex": 0, "Offset": 1}]}], "TimeoutMs": 10_000,
        });
        story.each("DeleteRecords", |_| deleted.clone());
        let producers = json!({"Topics": [{"Name": "@a", "PartitionIndexes": [0, 9]}]});
        story.each("DescribeProducers", |_| producers.clone());
    }
}

/// Of OffsetForLeaderEpoch.
fn of_epoch(current: &Value, epoch: &Value) -> Value {
    let part = json!({"Partition": 0, "CurrentLeaderEpoch": current, "LeaderEpoch": epoch});
    json!({"ReplicaId": -1, "Topics": [{"Topic": "@a", "Partitions": [part]}]})
}

pub(super) fn epochs(story: &mut Story<'_>) {
    placed(story, "a", &[&[1, 2, 3]], &[]);
    story.at(1).call("Produce", produced("a", 0, -1, &["x", "y"]));
    becomes_former(story, ("a", 0));
    reordered(story, ("a", 0), &[2, 3, 1]);
    story.at(2).call("Produce", produced("a", 0, -1, &["z"]));
    for broker in [2, 3] {
        shown(story, broker, "a", 3);
    }
    let known = ["$epoch-a-0", "$former-epoch-a-0", "$epoch-a-0+1", "$former-epoch-a-0-1"];
    for broker in IDS {
        story.at(broker);
        for current in known.map(Value::from).iter().chain([&json!(-1)]) {
            let part = with(part(0, 0), json!({"CurrentLeaderEpoch": current}));
            story.call_in(12..=i16::MAX, "Fetch", body::fetch("a", vec![part]));
            let asked = with(
                latest("a", &[]),
                json!({"Topics": [{"Name": "@a", "Partitions": [
                    {"PartitionIndex": 0, "CurrentLeaderEpoch": current, "Timestamp": -1},
                ]}]}),
            );
            story.call_in(4..=i16::MAX, "ListOffsets", asked);
            story.call("OffsetForLeaderEpoch", of_epoch(current, &json!("$former-epoch-a-0")));
        }
        for epoch in known {
            story.call("OffsetForLeaderEpoch", of_epoch(&json!("$epoch-a-0"), &json!(epoch)));
        }
    }
    // What was fetched in the former epoch ends where the next one begins.
    for (last, offset) in [("$former-epoch-a-0", 2), ("$former-epoch-a-0", 3), ("$epoch-a-0", 3)] {
        let part = with(part(0, offset), json!({"LastFetchedEpoch": last}));
        story.at(2).call_in(12..=i16::MAX, "Fetch", body::fetch("a", vec![part]));
    }
}
