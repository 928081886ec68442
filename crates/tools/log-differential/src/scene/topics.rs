//! Topics are made and deleted.

use serde_json::{Value, json};

use super::body::{STRANGE_ID, ZERO_ID, create, new_topic, with};
use crate::story::Story;

/// Settings that a topic may have.
const GOOD: &[(&str, &str)] = &[
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "delete"),
    ("retention.ms", "-1"),
    ("retention.ms", "3600000"),
    ("retention.bytes", "1073741824"),
    ("segment.bytes", "1048576"),
    ("segment.ms", "1000"),
    ("max.message.bytes", "2000"),
    ("min.insync.replicas", "2"),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.before.max.ms", "1000"),
    ("message.timestamp.after.max.ms", "1000"),
    ("compression.type", "zstd"),
    ("compression.type", "uncompressed"),
    ("unclean.leader.election.enable", "true"),
    ("flush.messages", "1"),
    ("delete.retention.ms", "5"),
    ("min.cleanable.dirty.ratio", "0.25"),
    ("index.interval.bytes", "100"),
    ("preallocate", "TRUE"),
    ("leader.replication.throttled.replicas", "*"),
    ("file.delete.delay.ms", "1"),
];
/// Settings that it may not have.
const BAD: &[(&str, Option<&str>)] = &[
    ("no.such.setting", Some("1")),
    ("cleanup.policy", Some("nonsense")),
    ("cleanup.policy", Some("")),
    ("retention.ms", Some("-2")),
    ("retention.ms", Some("x")),
    ("retention.ms", Some("9223372036854775808")),
    ("segment.bytes", Some("1048575")),
    ("segment.bytes", Some("4294967296")),
    ("segment.ms", Some("0")),
    ("max.message.bytes", Some("-1")),
    ("min.insync.replicas", Some("0")),
    ("message.timestamp.type", Some("SomeTime")),
    ("compression.type", Some("lzma")),
    ("compression.gzip.level", Some("10")),
    ("min.cleanable.dirty.ratio", Some("1.5")),
    ("unclean.leader.election.enable", Some("yes")),
    ("leader.replication.throttled.replicas", Some("1,2")),
    ("retention.ms", None),
    ("", Some("1")),
    ("min.compaction.lag.ms", Some("9223372036854775807")),
    ("local.retention.ms", Some("900000000")),
    ("remote.storage.enable", Some("true")),
];

pub(super) fn made(story: &mut Story<'_>) {
    story.each("CreateTopics", |version| create(json!([new_topic(&format!("@v{version}"), 2, 1)])));
    story.each("CreateTopics", |version| {
        with(
            create(json!([new_topic(&format!("@only-asked-{version}"), 3, 1)])),
            json!({"validateOnly": true}),
        )
    });
    let several = json!([new_topic("@m1", 1, 1), new_topic("@m2", -1, 1), new_topic("@m3", 2, -1)]);
    story.call("CreateTopics", create(several));
    let assigned = json!([{
        "Name": "@assigned", "NumPartitions": -1, "ReplicationFactor": -1,
        "Assignments": [{"PartitionIndex": 0, "BrokerIds": [1]}, {"PartitionIndex": 1, "BrokerIds": [1]}],
    }]);
    story.call("CreateTopics", create(assigned));
    story.known("m1", 1).known("m2", 1).known("assigned", 2);
    story.call("CreateTopics", create(json!([])));
}

pub(super) fn refused(story: &mut Story<'_>) {
    story.topic("there", 1).topic("dot.ted", 1);
    let long = "l".repeat(250);
    let assigned = |name: &str, assignments: Value| json!({"Name": name, "NumPartitions": -1, "ReplicationFactor": -1, "Assignments": assignments});
    let part = |index: i32, brokers: &[i32]| json!({"PartitionIndex": index, "BrokerIds": brokers});
    let both = json!({
        "Name": "@both", "NumPartitions": 1, "ReplicationFactor": 1, "Assignments": [part(0, &[1])],
    });
    let asked: Vec<Value> = vec![
        json!([new_topic("@there", 1, 1)]),
        json!([new_topic("@zero", 0, 1)]),
        json!([new_topic("@negative", -2, 1)]),
        json!([new_topic("@factor", 1, 0)]),
        json!([new_topic("@factor", 1, -2)]),
        json!([new_topic("@factor", 1, 2)]),
        json!([new_topic("@factor", 1, 32_767)]),
        json!([new_topic("@twice", 1, 1), new_topic("@twice", 2, 1), new_topic("@once", 1, 1)]),
        json!([new_topic("", 1, 1)]),
        json!([new_topic(".", 1, 1), new_topic("..", 1, 1)]),
        json!([new_topic("a b", 1, 1), new_topic("a/b", 1, 1), new_topic("é", 1, 1)]),
        json!([new_topic(&long, 1, 1)]),
        json!([new_topic("@dot_ted", 1, 1)]),
        json!([new_topic("@dot.ted", 1, 1), new_topic("@other", 1, 1)]),
        json!([new_topic("@col.lide", 1, 1), new_topic("@col_lide", 1, 1)]),
        json!([both]),
        json!([assigned("@strange", json!([part(0, &[7])]))]),
        json!([assigned("@double", json!([part(0, &[1, 1])]))]),
        json!([assigned("@empty", json!([part(0, &[])]))]),
        json!([assigned("@gap", json!([part(1, &[1])]))]),
        json!([assigned("@again", json!([part(0, &[1]), part(0, &[1])]))]),
        json!([assigned("@negative-index", json!([part(-1, &[1])]))]),
    ];
    for topics in asked {
        let only = story.dice.once_in(4);
        story.call("CreateTopics", with(create(topics), json!({"validateOnly": only})));
    }
    story.settle();
    story.call_in(4..=i16::MAX, "Metadata", json!({"Topics": null, "AllowAutoTopicCreation": false}));
}

pub(super) fn settings(story: &mut Story<'_>) {
    let configured = |name: String, settings: Value| json!({"Name": name, "NumPartitions": 1, "ReplicationFactor": 1, "Configs": settings});
    let ask = |story: &mut Story<'_>, index: usize, key: &str, value: Option<&str>| {
        let settings = json!([{"Name": key, "Value": value}]);
        let topic = configured(format!("@s{index}"), settings);
        let only = json!({"validateOnly": story.dice.once_in(3)});
        story.call("CreateTopics", with(create(json!([topic])), only));
    };
    for (index, (key, value)) in GOOD.iter().enumerate() {
        ask(story, index, key, Some(value));
    }
    for (index, (key, value)) in BAD.iter().enumerate() {
        ask(story, 100 + index, key, *value);
    }
    let twice = json!([{"Name": "retention.ms", "Value": "1"}, {"Name": "retention.ms", "Value": "2"}]);
    story.call("CreateTopics", create(json!([configured("@twice".into(), twice)])));
    let some = json!([{"Name": "retention.ms", "Value": "1"}, {"Name": "segment.ms", "Value": "no"}]);
    story.call("CreateTopics", create(json!([configured("@half".into(), some), new_topic("@whole", 1, 1)])));
}

pub(super) fn deleted(story: &mut Story<'_>) {
    let delete = |topics: &[(Value, Value)]| {
        let names: Vec<&Value> = topics.iter().map(|(name, _)| name).filter(|name| !name.is_null()).collect();
        let all: Vec<Value> = topics.iter().map(|(name, id)| json!({"Name": name, "TopicId": id})).collect();
        json!({"Topics": all, "TopicNames": names, "TimeoutMs": 30_000})
    };
    for version in story.versions("DeleteTopics") {
        story.topic(&format!("v{version}"), 1);
    }
    story.each("DeleteTopics", |version| delete(&[(json!(format!("@v{version}")), json!(ZERO_ID))]));
    story.settle();
    story.call_in(4..=i16::MAX, "Metadata", json!({"Topics": null, "AllowAutoTopicCreation": false}));
    story.call("DeleteTopics", delete(&[(json!("@missing"), json!(ZERO_ID))]));
    story.call("DeleteTopics", delete(&[(json!("bad name"), json!(ZERO_ID)), (json!(""), json!(ZERO_ID))]));
    story.topic("a", 1).topic("b", 1).topic("c", 1);
    story.call_in(
        1..=5,
        "DeleteTopics",
        delete(&[(json!("@a"), json!(ZERO_ID)), (json!("@a"), json!(ZERO_ID))]),
    );
    for topics in [
        vec![(json!("@b"), json!("$id-b"))],
        vec![(Value::Null, json!(STRANGE_ID))],
        vec![(Value::Null, json!(ZERO_ID))],
        vec![(json!("@b"), json!(ZERO_ID)), (json!("@b"), json!(ZERO_ID))],
        vec![(json!("@b"), json!(ZERO_ID)), (Value::Null, json!("$id-b"))],
        vec![(Value::Null, json!("$id-c")), (Value::Null, json!("$id-c"))],
        vec![(Value::Null, json!("$id-b")), (json!("@missing"), json!(ZERO_ID))],
        vec![(Value::Null, json!("$id-b"))],
        vec![],
    ] {
        story.call_in(6..=i16::MAX, "DeleteTopics", delete(&topics));
    }
    // The same name again has another id.
    story.settle();
    story.topic("b", 1);
    story.settle();
    story.call_in(4..=i16::MAX, "Metadata", json!({"Topics": null, "AllowAutoTopicCreation": false}));
}
