//! What tools ask for: the cluster, its partitions, their places and their ends.

use serde_json::{Value, json};

use super::body::{STRANGE_ID, batch, fetch, offsets, part, produce, with};
use crate::story::Story;

pub(super) fn cluster(story: &mut Story<'_>) {
    for operations in [true, false] {
        story.each("DescribeCluster", |_| json!({"IncludeClusterAuthorizedOperations": operations}));
    }
    for kind in [0, 1, 2, 3, -1] {
        story.call_in(1..=i16::MAX, "DescribeCluster", json!({"EndpointType": kind}));
    }
    story.call_in(2..=i16::MAX, "DescribeCluster", json!({"IncludeFencedBrokers": true}));
}

/// The controllers, and the features of the cluster: nothing is changed.
pub(super) fn quorum(story: &mut Story<'_>) {
    let of = |topic: &str, partition: i32| json!({"Topics": [{"TopicName": topic, "Partitions": [{"PartitionIndex": partition}]}]});
    story.each("DescribeQuorum", |_| of("__cluster_metadata", 0));
    for (topic, partition) in [("__cluster_metadata", 1), ("@missing", 0), ("", 0)] {
        story.call("DescribeQuorum", of(topic, partition));
    }
    story.call("DescribeQuorum", json!({"Topics": []}));
}

pub(super) fn features(story: &mut Story<'_>) {
    let update = |feature: &str, level: i64, how: i64| {
        let update = json!({
            "Feature": feature, "MaxVersionLevel": level, "UpgradeType": how, "AllowDowngrade": how != 1,
        });
        json!({"FeatureUpdates": [update], "ValidateOnly": true})
    };
    story.each("UpdateFeatures", |_| update("transaction.version", 2, 1));
    for (feature, level, how) in [
        ("no.such.feature", 1, 1),
        ("", 1, 1),
        ("transaction.version", 99, 1),
        ("transaction.version", -1, 1),
        ("transaction.version", 1, 1),
        ("transaction.version", 1, 9),
        ("metadata.version", 1, 1),
    ] {
        story.call_in(1..=i16::MAX, "UpdateFeatures", update(feature, level, how));
    }
    story.call("UpdateFeatures", json!({"FeatureUpdates": []}));
}

pub(super) fn partitions_of_topics(story: &mut Story<'_>) {
    story.topic("a", 3).topic("b", 1).topic("c", 2);
    let names = |names: &[&str]| -> Value { names.iter().map(|name| json!({"Name": name})).collect() };
    let asked = |topics: Value, others: Value| with(json!({"Topics": topics}), others);
    story.call("DescribeTopicPartitions", asked(names(&["@a", "@missing", "@c"]), json!({})));
    story.each("DescribeTopicPartitions", |_| asked(names(&["@a", "@b"]), json!({})));
    for name in ["bad name", "", ".", "@missing"] {
        story.call("DescribeTopicPartitions", asked(names(&[name]), json!({})));
    }
    story.call("DescribeTopicPartitions", asked(names(&["@a", "@a"]), json!({})));
    for limit in [0, 1, 2, 3, 4, 5, 100, -1] {
        let body = asked(names(&["@a", "@b", "@c"]), json!({"ResponsePartitionLimit": limit}));
        story.call("DescribeTopicPartitions", body);
    }
    for (topic, partition) in [("@a", 1), ("@b", 0), ("@c", 1), ("@c", 5), ("@zz", 0), ("@a", -1), ("", 0)] {
        let cursor =
            json!({"Cursor": {"TopicName": topic, "PartitionIndex": partition}, "ResponsePartitionLimit": 2});
        story.call("DescribeTopicPartitions", asked(names(&["@a", "@b", "@c"]), cursor));
    }
}

pub(super) fn more_partitions(story: &mut Story<'_>) {
    story.topic("a", 1).topic("b", 1);
    let more = |name: &str, count: i64, assignments: Value| json!({"Name": name, "Count": count, "Assignments": assignments});
    let asked =
        |topics: Value, only: bool| json!({"Topics": topics, "TimeoutMs": 30_000, "ValidateOnly": only});
    story.each("CreatePartitions", |version| {
        asked(json!([more("@a", 2 + i64::from(version), Value::Null)]), false)
    });
    let brokers =
        |all: &[&[i32]]| -> Value { all.iter().map(|brokers| json!({"BrokerIds": brokers})).collect() };
    let cases: Vec<Value> = vec![
        json!([more("@b", 1, Value::Null)]),
        json!([more("@b", 0, Value::Null)]),
        json!([more("@b", -1, Value::Null)]),
        json!([more("@missing", 5, Value::Null)]),
        json!([more("bad name", 5, Value::Null), more("", 2, Value::Null)]),
        json!([more("@b", 2, Value::Null), more("@b", 3, Value::Null)]),
        json!([more("@b", 2, brokers(&[]))]),
        json!([more("@b", 3, brokers(&[&[1]]))]),
        json!([more("@b", 2, brokers(&[&[7]]))]),
        json!([more("@b", 2, brokers(&[&[1, 1]]))]),
        json!([more("@b", 2, brokers(&[&[]]))]),
        json!([]),
    ];
    for topics in cases {
        let only = story.dice.once_in(3);
        story.call("CreatePartitions", asked(topics, only));
    }
    story.call("CreatePartitions", asked(json!([more("@b", 9, Value::Null)]), true));
    story.call("CreatePartitions", asked(json!([more("@b", 2, brokers(&[&[1]]))]), false));
    story.settle().known("b", 2);
    story.call("Metadata", json!({"Topics": [{"Name": "@b"}], "AllowAutoTopicCreation": false}));
    story.call("Produce", produce("b", 1, batch(&["there"])));
}

pub(super) fn deleted_records(story: &mut Story<'_>) {
    story.topic("a", 2).topic_with("compacted", 1, &[("cleanup.policy", "compact")]);
    for _ in 0..3 {
        story.call("Produce", produce("a", 0, batch(&["a", "b", "c"])));
    }
    let asked = |topic: &str, parts: &[(i32, i64)]| {
        let part = |(partition, offset): &(i32, i64)| json!({"PartitionIndex": partition, "Offset": offset});
        let parts: Vec<Value> = parts.iter().map(part).collect();
        json!({"Topics": [{"Name": topic, "Partitions": parts}], "TimeoutMs": 10_000})
    };
    story.each("DeleteRecords", |version| asked("@a", &[(0, i64::from(version))]));
    for offset in [4, 2, 10, -2, i64::MAX] {
        story.call("DeleteRecords", asked("@a", &[(0, offset), (1, 0)]));
    }
    for (topic, partition) in [
        ("@a", 9),
        ("@a", -1),
        ("@missing", 0),
        ("bad name", 0),
        ("@compacted", 0),
        ("__consumer_offsets", 0),
    ] {
        story.call("DeleteRecords", asked(topic, &[(partition, 0)]));
    }
    story.call("DeleteRecords", json!({"Topics": [], "TimeoutMs": 10_000}));
    story.call("DeleteRecords", asked("@a", &[(1, 0), (1, 0)]));
    for offset in [0, 3, 4, 5] {
        story.call("Fetch", fetch("a", vec![part(0, offset)]));
    }
    for time in [json!(-1), json!(-2), json!(0), json!("$now-2500")] {
        story.call("ListOffsets", offsets("a", &[(0, time)]));
    }
    story.call_in(5..=i16::MAX, "Produce", produce("a", 0, batch(&["more"])));
    story.call("DeleteRecords", asked("@a", &[(0, -1)]));
    story.call("Fetch", fetch("a", vec![part(0, 4), part(0, 10)]));
    story.call("ListOffsets", offsets("a", &[(0, json!(-2))]));
    story.call_in(7..=i16::MAX, "ListOffsets", offsets("a", &[(0, json!(-3))]));
}

pub(super) fn log_directories(story: &mut Story<'_>) {
    story.topic("a", 2);
    story.call("Produce", produce("a", 0, batch(&["a", "b", "c"])));
    let topics =
        |name: &str, partitions: &[i32]| json!({"Topics": [{"Topic": name, "Partitions": partitions}]});
    story.each("DescribeLogDirs", |_| topics("@a", &[0, 1]));
    story.call("DescribeLogDirs", topics("@a", &[9]));
    story.call("DescribeLogDirs", topics("@missing", &[0]));
    story.call("DescribeLogDirs", json!({"Topics": []}));
    story.call("DescribeLogDirs", json!({"Topics": null}));
    if story.serves("AlterReplicaLogDirs") {
        let to = |path: &str, topic: &str| json!({"Dirs": [{"Path": path, "Topics": [{"Name": topic, "Partitions": [0]}]}]});
        story.each("AlterReplicaLogDirs", |_| to("/no/such/folder", "@a"));
        story.call("AlterReplicaLogDirs", to("relative", "@a"));
        story.call("AlterReplicaLogDirs", to("/no/such/folder", "@missing"));
        story.call("AlterReplicaLogDirs", json!({"Dirs": []}));
    }
}

pub(super) fn elections(story: &mut Story<'_>) {
    story.topic("a", 2);
    let asked = |kind: i64, topics: Value| json!({"ElectionType": kind, "TopicPartitions": topics, "TimeoutMs": 30_000});
    let of = |topic: &str, partitions: &[i32]| json!([{"Topic": topic, "Partitions": partitions}]);
    story.each("ElectLeaders", |_| asked(0, of("@a", &[0, 1])));
    for kind in [1, 2, -1] {
        story.call_in(1..=i16::MAX, "ElectLeaders", asked(kind, of("@a", &[0])));
    }
    story.call("ElectLeaders", asked(0, of("@a", &[9, -1])));
    story.call("ElectLeaders", asked(0, of("@missing", &[0])));
    story.call("ElectLeaders", asked(0, of("bad name", &[0])));
    story.call("ElectLeaders", asked(0, of("@a", &[0, 0])));
    story.call("ElectLeaders", asked(0, json!([])));
    story.call("ElectLeaders", asked(0, Value::Null));
}

pub(super) fn reassignments(story: &mut Story<'_>) {
    story.topic("a", 2);
    let asked = |topic: &str, parts: &[(i32, Value)]| {
        let part =
            |(partition, replicas): &(i32, Value)| json!({"PartitionIndex": partition, "Replicas": replicas});
        let parts: Vec<Value> = parts.iter().map(part).collect();
        json!({"TimeoutMs": 30_000, "Topics": [{"Name": topic, "Partitions": parts}]})
    };
    story.each("ListPartitionReassignments", |_| json!({"Topics": null}));
    story.each("AlterPartitionReassignments", |_| asked("@a", &[(0, json!([1]))]));
    for replicas in [json!([]), json!([1, 1]), json!([7]), json!([1, 7]), json!([-1]), Value::Null] {
        story.call("AlterPartitionReassignments", asked("@a", &[(0, replicas), (1, json!([1]))]));
    }
    story.call("AlterPartitionReassignments", asked("@a", &[(9, json!([1])), (-1, json!([1]))]));
    story.call("AlterPartitionReassignments", asked("@missing", &[(0, json!([1]))]));
    story.call("AlterPartitionReassignments", asked("bad name", &[(0, Value::Null)]));
    story.call("AlterPartitionReassignments", json!({"Topics": []}));
    for topics in [
        Value::Null,
        json!([]),
        json!([{"Name": "@a", "PartitionIndexes": [0, 9]}]),
        json!([{"Name": "@missing", "PartitionIndexes": [0]}]),
    ] {
        story.call("ListPartitionReassignments", json!({"Topics": topics}));
    }
}

/// Offsets of groups are deleted.
pub(super) fn deleted_offsets(story: &mut Story<'_>) {
    story.topic("a", 2);
    let parts =
        json!([{"PartitionIndex": 0, "CommittedOffset": 5}, {"PartitionIndex": 1, "CommittedOffset": 6}]);
    let commit = json!({"GroupId": "@g", "GenerationIdOrMemberEpoch": -1, "Topics": [
        {"Name": "@a", "TopicId": "$id-a", "Partitions": parts},
    ]});
    story.call("OffsetCommit", commit);
    let delete = |group: &str, topic: &str, partitions: &[i32]| {
        let parts: Vec<Value> = partitions.iter().map(|index| json!({"PartitionIndex": index})).collect();
        json!({"GroupId": group, "Topics": [{"Name": topic, "Partitions": parts}]})
    };
    story.each("OffsetDelete", |_| delete("@g", "@a", &[0, 9]));
    story.call("OffsetDelete", delete("@g", "@a", &[0]));
    story.call("OffsetDelete", delete("@g", "@missing", &[0]));
    story.call("OffsetDelete", delete("@missing", "@a", &[0]));
    story.call("OffsetDelete", delete("", "@a", &[0]));
    story.call("OffsetDelete", delete("@g", "@a", &[]));
    story.call("OffsetDelete", json!({"GroupId": "@g", "Topics": []}));
    let all = json!({"GroupId": "@g", "Topics": null, "Groups": [{"GroupId": "@g", "Topics": null}]});
    story.call_in(2..=i16::MAX, "OffsetFetch", all);
    super::groups::alone(story, &["live"]);
    story.on(0).call("OffsetDelete", delete("@live", "@a", &[0]));
    let unknown =
        json!({"GroupId": "@g", "Topics": [{"Name": "@a", "TopicId": STRANGE_ID, "Partitions": []}]});
    story.call("OffsetCommit", unknown);
}
