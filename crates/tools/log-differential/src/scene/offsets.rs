//! ListOffsets and OffsetForLeaderEpoch.

use serde_json::{Value, json};

use super::body::{batch, offsets, produce, with};
use crate::story::Story;

/// Three batches with times that go back, and an empty partition.
fn filled(story: &mut Story<'_>) {
    story.topic("a", 2);
    let at = |times: &[i64]| {
        let record = |time: &i64| json!({"value": "x", "timestamp": format!("$now-{time}")});
        json!([{"records": times.iter().map(record).collect::<Vec<Value>>()}])
    };
    for times in [&[50_000][..], &[40_000, 10_000, 30_000], &[20_000, 20_000]] {
        story.call("Produce", produce("a", 0, at(times)));
    }
}

pub(super) fn every_version(story: &mut Story<'_>) {
    filled(story);
    for time in [json!(-1), json!(-2), json!("$now-35000")] {
        story.each("ListOffsets", |_| offsets("a", &[(0, time.clone()), (1, time.clone())]));
    }
    // Special times, newer than some versions.
    for time in -6..=-3 {
        story.each("ListOffsets", |_| offsets("a", &[(0, json!(time)), (1, json!(time))]));
    }
}

pub(super) fn by_time(story: &mut Story<'_>) {
    filled(story);
    for back in [60_000, 50_000, 49_999, 40_000, 30_000, 15_000, 10_000, 9_999, 0] {
        story.call("ListOffsets", offsets("a", &[(0, json!(format!("$now-{back}")))]));
    }
    for time in [0, 1, i64::MAX, -7, -100, i64::MIN] {
        story.call("ListOffsets", offsets("a", &[(0, json!(time)), (1, json!(time))]));
    }
    for level in [0, 1, 2] {
        story.call(
            "ListOffsets",
            with(offsets("a", &[(0, json!(-1)), (0, json!(-1))]), json!({"IsolationLevel": level})),
        );
        story.call("ListOffsets", with(offsets("a", &[(0, json!(-1))]), json!({"IsolationLevel": level})));
        story.call("ListOffsets", with(offsets("a", &[(0, json!(-3))]), json!({"IsolationLevel": level})));
    }
    story.call("ListOffsets", offsets("missing", &[(0, json!(-1))]));
    story.call("ListOffsets", offsets("a", &[(5, json!(-1)), (-1, json!(-2)), (1, json!(-1))]));
    story.call("ListOffsets", offsets("a", &[]));
    story.call("ListOffsets", json!({"ReplicaId": -1, "Topics": []}));
    for replica in [-2, 1, 7] {
        story.call("ListOffsets", with(offsets("a", &[(0, json!(-1))]), json!({"ReplicaId": replica})));
    }
    for epoch in [0, 1, 99, -2] {
        let part = json!({"PartitionIndex": 0, "CurrentLeaderEpoch": epoch, "Timestamp": -1});
        let body = json!({"ReplicaId": -1, "Topics": [{"Name": "@a", "Partitions": [part]}]});
        story.call_in(4..=i16::MAX, "ListOffsets", body);
    }
    story.call("Produce", produce("a", 1, batch(&["late"])));
    story.call("ListOffsets", offsets("a", &[(1, json!(-1))]));
}

pub(super) fn leader_epochs(story: &mut Story<'_>) {
    filled(story);
    let asked = |topic: &str, parts: &[(i32, i64, i64)]| {
        let part = |(partition, current, epoch): &(i32, i64, i64)| json!({"Partition": partition, "CurrentLeaderEpoch": current, "LeaderEpoch": epoch});
        let parts: Vec<Value> = parts.iter().map(part).collect();
        json!({"ReplicaId": -1, "Topics": [{"Topic": topic, "Partitions": parts}]})
    };
    story.each("OffsetForLeaderEpoch", |_| asked("@a", &[(0, -1, 0), (1, -1, 0)]));
    for (current, epoch) in
        [(0, 0), (-1, 1), (-1, 99), (-1, -1), (-1, -2), (1, 0), (99, 0), (-2, 0), (0, i64::from(i32::MAX))]
    {
        story.call("OffsetForLeaderEpoch", asked("@a", &[(0, current, epoch)]));
    }
    story.call("OffsetForLeaderEpoch", asked("@a", &[(5, -1, 0), (-1, -1, 0)]));
    story.call("OffsetForLeaderEpoch", asked("@missing", &[(0, -1, 0)]));
    story.call("OffsetForLeaderEpoch", asked("@a", &[]));
    story.call("OffsetForLeaderEpoch", json!({"ReplicaId": -1, "Topics": []}));
    for replica in [-2, 1] {
        story.call("OffsetForLeaderEpoch", with(asked("@a", &[(0, -1, 0)]), json!({"ReplicaId": replica})));
    }
}
