//! Fetch, without sessions.

use serde_json::{Value, json};

use super::body::{STRANGE_ID, ZERO_ID, batch, fetch, fetch_all, part, produce, records, with};
use crate::story::Story;

/// Batches of one, two and three records, in partition 0 and some in 1.
fn filled(story: &mut Story<'_>, topic: &str) {
    story.topic(topic, 3);
    for values in [&["a"][..], &["b", "c"], &["d", "e", "f"]] {
        story.call("Produce", produce(topic, 0, batch(values)));
    }
    story.call("Produce", produce(topic, 1, batch(&["other"])));
}

pub(super) fn every_version(story: &mut Story<'_>) {
    filled(story, "a");
    story.each("Fetch", |_| fetch("a", vec![part(0, 0), part(1, 0), part(2, 0)]));
    story.each("Fetch", |_| with(fetch("a", vec![part(0, 2)]), json!({"IsolationLevel": 1})));
    story.each("Fetch", |_| fetch("a", vec![part(0, 99), part(7, 0)]));
    // Without a session.
    story.each("Fetch", |_| with(fetch("a", vec![part(1, 0)]), json!({"SessionId": 0, "SessionEpoch": -1})));
}

pub(super) fn offsets(story: &mut Story<'_>) {
    filled(story, "a");
    for offset in [-1, 0, 1, 2, 3, 4, 5, 6, 7, i64::MAX, i64::MIN, -2] {
        story.call("Fetch", fetch("a", vec![part(0, offset), part(1, 0)]));
    }
    story.call("Fetch", fetch("a", vec![part(0, 3), part(0, 0), part(0, 6)]));
    story.call("Fetch", fetch("a", vec![part(-1, 0), part(3, 0), part(1, 0)]));
    story.call("Fetch", fetch("a", vec![]));
    story.call("Fetch", fetch_all(&[]));
    let unknown = |name: &str, id: &str| {
        let topic = json!({"Topic": name, "TopicId": id, "Partitions": [part(0, 0)]});
        with(fetch_all(&[]), json!({"Topics": [topic]}))
    };
    story.call_in(4..=12, "Fetch", unknown("@missing", ZERO_ID));
    story.call_in(4..=12, "Fetch", unknown("bad name", ZERO_ID));
    story.call_in(13..=i16::MAX, "Fetch", unknown("", STRANGE_ID));
    story.call_in(13..=i16::MAX, "Fetch", unknown("", ZERO_ID));
    let replica = fetch("a", vec![part(0, 0)]);
    story.call_in(4..=14, "Fetch", with(replica.clone(), json!({"ReplicaId": -2})));
    for level in [2, -1] {
        story.call("Fetch", with(replica.clone(), json!({"IsolationLevel": level})));
    }
}

pub(super) fn limits(story: &mut Story<'_>) {
    story.topic("a", 2).topic("b", 1);
    for index in 0..4 {
        let size = 200 + 100 * story.dice.below(3);
        let value = format!("{index}").repeat(size);
        for (topic, partition) in [("a", 0), ("a", 1), ("b", 0)] {
            story.call("Produce", produce(topic, partition, json!([{"records": records(&[&value])}])));
        }
    }
    let sized = |partition: i32, bytes: i64| json!({"Partition": partition, "FetchOffset": 0, "PartitionMaxBytes": bytes});
    for (max, each) in [
        (10_000, 10_000),
        (0, 10_000),
        (1, 1),
        (700, 10_000),
        (1_000, 500),
        (1_500, 1),
        (10_000, 0),
        (10_000, 900),
        (-1, 10_000),
        (10_000, -1),
        (2_000, 1_200),
    ] {
        let topics = fetch_all(&[("a", vec![sized(0, each), sized(1, each)]), ("b", vec![sized(0, each)])]);
        story.call("Fetch", with(topics, json!({"MaxBytes": max})));
    }
    // The first partition with records is answered whatever the limits; an empty one before it is not the first.
    let topics = fetch_all(&[("a", vec![part(0, 4), sized(1, 1)]), ("b", vec![sized(0, 1)])]);
    story.call("Fetch", with(topics, json!({"MaxBytes": 1})));
}

pub(super) fn waiting(story: &mut Story<'_>) {
    filled(story, "a");
    let wait = |partitions: Vec<Value>, wait_ms: i64, bytes: i64| {
        with(fetch("a", partitions), json!({"MaxWaitMs": wait_ms, "MinBytes": bytes}))
    };
    // Enough is there, an error is there, nothing is asked for, nobody waits.
    story.call("Fetch", wait(vec![part(0, 0)], 20_000, 1));
    story.call("Fetch", wait(vec![part(0, 6), part(1, 99)], 20_000, 1));
    // A partition that is not there does not end it.
    story.call("Fetch", wait(vec![part(0, 6), part(9, 0)], 200, 1));
    story.call("Fetch", wait(vec![], 20_000, 1));
    story.call("Fetch", wait(vec![part(0, 6)], 0, 1));
    story.call("Fetch", wait(vec![part(0, 6)], -1, 1));
    story.call("Fetch", wait(vec![part(0, 6)], 20_000, 0));
    story.call("Fetch", wait(vec![part(0, 6)], 20_000, -1));
    // It passes.
    story.call("Fetch", wait(vec![part(0, 6)], 200, 1));
    story.call("Fetch", wait(vec![part(0, 0)], 200, 100_000));
    // It is ended by what another connection sends.
    story.on(1).send("Fetch", wait(vec![part(0, 6), part(2, 0)], 20_000, 1));
    story.on(0).call("Produce", produce("a", 2, batch(&["awaited"])));
    story.on(1).wait();
    // Requests behind it wait their turn.
    story.on(2).send("Fetch", wait(vec![part(0, 6)], 20_000, 1));
    story.on(2).send("ListOffsets", super::body::offsets("a", &[(0, json!(-1))]));
    story.on(0).call("Produce", produce("a", 0, batch(&["awaited too"])));
    story.on(2).wait().wait();
}

pub(super) fn epochs(story: &mut Story<'_>) {
    filled(story, "a");
    let with_epochs = |current: i64, last: i64, offset: i64| {
        with(part(0, offset), json!({"CurrentLeaderEpoch": current, "LastFetchedEpoch": last}))
    };
    for (current, last, offset) in [
        (0, -1, 0),
        (-1, 0, 2),
        (0, 0, 6),
        (1, -1, 0),
        (99, 0, 0),
        (-2, -1, 0),
        (-1, 1, 0),
        (-1, 99, 3),
        (-1, -2, 3),
        (0, 0, 7),
        (0, 0, 99),
    ] {
        story.call_in(9..=i16::MAX, "Fetch", fetch("a", vec![with_epochs(current, last, offset)]));
    }
    story.call_in(16..=i16::MAX, "Fetch", fetch("a", vec![with_epochs(1, -1, 0), part(1, 0)]));
}
