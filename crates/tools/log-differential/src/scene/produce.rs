//! Produce, without sequences and transactions.

use serde_json::{Value, json};

use super::body::{
    STRANGE_ID, ZERO_ID, batch, create, fetch, new_topic, offsets, part, produce, produce_all, records, with,
};
use crate::story::Story;

/// A word for each version.
const WORDS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

pub(super) fn every_version(story: &mut Story<'_>) {
    story.topic("a", 3);
    for acks in [-1, 1] {
        story.each("Produce", |version| {
            let words = &WORDS[..1 + usize::try_from(version).unwrap_or(0) % WORDS.len()];
            produce_all("a", acks, &[(0, batch(words)), (2, batch(&["x"]))])
        });
    }
    story.each("Produce", |_| {
        produce_all("a", -1, &[(0, batch(&["x"])), (3, batch(&["lost"])), (-1, batch(&["lost"]))])
    });
    story.call("Fetch", fetch("a", vec![part(0, 0), part(1, 0), part(2, 0)]));
}

pub(super) fn compressed(story: &mut Story<'_>) {
    story.topic("a", 1);
    let headers = json!([["h", "1"], ["h", null], ["", ""]]);
    for compression in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let size = 1 + story.dice.below(3_000);
        let records = json!([
            {"key": "k", "value": "v".repeat(size), "timestamp": "$now-2000", "headers": headers},
            {"key": null, "value": null, "timestamp": "$now-1000"},
            {"key": "", "value": "", "timestamp": "$now-3000"},
        ]);
        let batch = json!([{"compression": compression, "records": records}]);
        // Zstandard is refused below version 7: once there, once here.
        story.call("Produce", produce("a", 0, batch.clone()));
        story.call_in(3..=6, "Produce", produce("a", 0, batch));
    }
    let call = fetch("a", vec![part(0, 0)]);
    story.call_in(10..=i16::MAX, "Fetch", call.clone());
    story.call_in(4..=9, "Fetch", call);
    for compression in ["gzip", "lz4", "zstd", "snappy"] {
        let topic = format!("to-{compression}");
        let word = if compression == "gzip" { "uncompressed" } else { compression };
        story.topic_with(&topic, 1, &[("compression.type", word)]);
        story.call(
            "Produce",
            produce(&topic, 0, json!([{"compression": compression, "records": records(&["a", "b"])}])),
        );
        story.call_in(4..=9, "Fetch", fetch(&topic, vec![part(0, 0)]));
    }
}

/// Batches with one fault each, some of which a broker takes.
#[expect(clippy::too_many_lines, reason = "a list")]
fn wrong_batches() -> Vec<Value> {
    let of = |others: Value| json!([with(json!({"records": records(&["a", "b"])}), others)]);
    vec![
        json!([]),
        json!(""),
        json!({"hex": "00"}),
        json!({"hex": "0000000000000000000000010000000002"}),
        of(json!({"crc": "wrong"})),
        of(json!({"magic": 0})),
        of(json!({"magic": 1})),
        of(json!({"magic": 3})),
        of(json!({"count": 1})),
        of(json!({"count": 3})),
        of(json!({"count": 0})),
        of(json!({"count": -1})),
        of(json!({"lastOffsetDelta": 0})),
        of(json!({"lastOffsetDelta": 2})),
        of(json!({"lastOffsetDelta": -1})),
        of(json!({"count": 3, "lastOffsetDelta": 2})),
        of(json!({"baseOffset": 5})),
        of(json!({"baseOffset": -1})),
        of(json!({"leaderEpoch": 9})),
        of(json!({"control": true})),
        of(json!({"length": 1})),
        of(json!({"length": -1})),
        of(json!({"length": -100})),
        of(json!({"attributes": 5})),
        of(json!({"attributes": 7})),
        of(json!({"attributes": 64})),
        of(json!({"attributes": 128})),
        of(json!({"attributes": 1})),
        json!([{"records": records(&["a"])}, {"records": records(&["b"])}]),
        json!([{"records": []}]),
        json!([{"records": [{"value": "a", "offsetDelta": 1, "timestamp": "$now-1000"}]}]),
        json!([{"records": [
            {"value": "a", "offsetDelta": 1, "timestamp": "$now-1000"}, {"value": "b", "offsetDelta": 0, "timestamp": "$now-1000"},
        ]}]),
        of(json!({"appendTime": true})),
        of(json!({"maxTimestamp": 5})),
        of(json!({"maxTimestamp": -1})),
        of(json!({"producer": 7})),
        of(json!({"producer": 7, "epoch": 0})),
        of(json!({"producer": -2, "epoch": 0, "sequence": 0})),
    ]
}

pub(super) fn refused_batches(story: &mut Story<'_>) {
    story.topic_with("compacted", 2, &[("cleanup.policy", "compact")]);
    story.topic_with("small", 1, &[("max.message.bytes", "200")]);
    let batches = wrong_batches();
    // Each to a partition of its own, so that one which is taken does not show in the answers to the others.
    story.topic("a", batches.len() as i32);
    for (partition, batch) in (0..).zip(&batches) {
        story.call("Produce", produce("a", partition, batch.clone()));
        if story.dice.once_in(3) {
            story.call("Produce", produce("a", partition, batch.clone()));
        }
    }
    story.call("Produce", produce("compacted", 0, batch(&["without a key"])));
    let keyed = json!([{"records": [{"key": "k", "value": null, "timestamp": "$now-1000"}]}]);
    story.call("Produce", produce("compacted", 1, keyed));
    let large = "x".repeat(200);
    story.call("Produce", produce("small", 0, batch(&[&large])));
    story.call("Produce", produce("small", 0, batch(&["fits"])));
    for partition in 0..batches.len() as i32 {
        story.call("Fetch", fetch("a", vec![part(partition, 0)]));
    }
    story.call("Fetch", fetch("compacted", vec![part(0, 0), part(1, 0)]));
}

pub(super) fn refused_requests(story: &mut Story<'_>) {
    story.topic("a", 1);
    for acks in [2, -2, 32_767, -32_768] {
        story.call("Produce", produce_all("a", acks, &[(0, batch(&["x"]))]));
    }
    let unknown = |name: &str, id: &str| json!({"Name": name, "TopicId": id, "PartitionData": [{"Index": 0, "Records": batch(&["x"])}]});
    for topic in [
        unknown("@missing", STRANGE_ID),
        unknown("@missing", ZERO_ID),
        unknown("bad name", STRANGE_ID),
        unknown("", STRANGE_ID),
    ] {
        story.call("Produce", json!({"Acks": -1, "TimeoutMs": 10_000, "TopicData": [topic]}));
    }
    story.call("Produce", json!({"Acks": -1, "TimeoutMs": 10_000, "TopicData": []}));
    let empty = json!({"Name": "@a", "TopicId": "$id-a", "PartitionData": []});
    story.call("Produce", json!({"Acks": -1, "TimeoutMs": 10_000, "TopicData": [empty]}));
    // The same partition twice, and the same topic twice: what is appended of them differs on purpose.
    story.topic("twice", 1);
    story.call("Produce", produce_all("twice", -1, &[(0, batch(&["first"])), (0, batch(&["second"]))]));
    let of = |value: &str| json!({"Name": "@twice", "TopicId": "$id-twice", "PartitionData": [{"Index": 0, "Records": batch(&[value])}]});
    story.call("Produce", json!({"Acks": -1, "TimeoutMs": 10_000, "TopicData": [of("third"), of("fourth")]}));
    story.call("Produce", with(produce("a", 0, batch(&["x"])), json!({"TimeoutMs": -1})));
    story.call("Produce", with(produce("a", 0, batch(&["x"])), json!({"TransactionalId": "@unused"})));
    story.call("Fetch", fetch("a", vec![part(0, 0)]));
    story.call("CreateTopics", create(json!([new_topic("@gone", 1, 1)])));
}

pub(super) fn times(story: &mut Story<'_>) {
    let topics: [(&str, &[(&str, &str)]); 4] = [
        ("a", &[]),
        ("append", &[("message.timestamp.type", "LogAppendTime")]),
        ("past", &[("message.timestamp.before.max.ms", "60000")]),
        ("future", &[("message.timestamp.after.max.ms", "86400000")]),
    ];
    let at = |times: &[&str]| {
        let record = |time: &&str| {
            let time = time.parse::<i64>().map_or_else(|_| json!(time), |time| json!(time));
            json!({"value": "x", "timestamp": time})
        };
        json!([{"records": times.iter().map(record).collect::<Vec<Value>>()}])
    };
    let times: [&[&str]; 9] = [
        &["$now-1000"],
        &["$now-1000", "$now-5000", "$now-3000"],
        &["$now-600000"],
        &["$now+7200000"],
        &["$now-1000", "$now+7200000"],
        &["0"],
        &["-1"],
        &["-5"],
        &["9223372036854775807"],
    ];
    for (topic, settings) in topics {
        story.topic_with(topic, 1 + times.len() as i32, settings);
        for (partition, times) in (1..).zip(times) {
            story.call("Produce", produce(topic, partition, at(times)));
            story.call("Fetch", fetch(topic, vec![part(partition, 0)]));
            // Where the broker's clock gives the times, it decides which record is the last.
            if topic != "append" {
                story.call_in(7..=i16::MAX, "ListOffsets", offsets(topic, &[(partition, json!(-3))]));
            }
        }
        let compressed =
            json!([with(at(&["$now-2000", "$now-1000"])[0].clone(), json!({"compression": "lz4"}))]);
        story.call("Produce", produce(topic, 0, compressed));
        story.call("Fetch", fetch(topic, vec![part(0, 0)]));
    }
}

pub(super) fn without_answer(story: &mut Story<'_>) {
    story.topic("a", 1);
    for word in ["one", "two", "three"] {
        story.call("Produce", produce_all("a", 0, &[(0, batch(&[word]))])).silent = true;
    }
    // A broker that flushes first shows them later.
    story
        .call("ListOffsets", offsets("a", &[(0, json!(-1))]))
        .until("/Topics/0/Partitions/0/Offset", json!(3));
    // An error shows as the end of the connection.
    story.on(1).call("Produce", produce_all("a", 0, &[(9, batch(&["lost"]))])).silent = true;
    story.on(1).call("ListOffsets", offsets("a", &[(0, json!(-1))]));
    story
        .on(2)
        .call("Produce", produce_all("a", 0, &[(0, json!([{"records": records(&["x"]), "crc": "wrong"}]))]))
        .silent = true;
    story.on(2).call("ListOffsets", offsets("a", &[(0, json!(-1))]));
    story.on(0).call("Fetch", fetch("a", vec![part(0, 0)]));
}
