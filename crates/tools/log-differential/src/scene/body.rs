//! Bodies of requests that many scenes send. A field that a version lacks is left out of it, so each names a topic by its name
//! and by its id.

use serde_json::{Value, json};

/// Of Produce, for one partition.
pub(super) fn produce(topic: &str, partition: i32, records: Value) -> Value {
    produce_all(topic, -1, &[(partition, records)])
}

/// Of Produce, for partitions of one topic.
pub(super) fn produce_all(topic: &str, acks: i16, partitions: &[(i32, Value)]) -> Value {
    let data = |(partition, records): &(i32, Value)| json!({"Index": partition, "Records": records});
    let data: Vec<Value> = partitions.iter().map(data).collect();
    let topic =
        json!({"Name": format!("@{topic}"), "TopicId": format!("$id-{topic}"), "PartitionData": data});
    json!({"Acks": acks, "TimeoutMs": 10_000, "TopicData": [topic]})
}

/// One batch of records with these values, one second apart, the last one a second ago.
pub(super) fn batch(values: &[&str]) -> Value {
    json!([{"records": records(values)}])
}

/// Records with these values, one second apart, the last one a second ago.
pub(super) fn records(values: &[&str]) -> Value {
    let count = values.len();
    let record = |(index, value): (usize, &&str)| {
        let time = format!("$now-{}", (count - index) * 1_000);
        json!({"value": value, "timestamp": time})
    };
    values.iter().enumerate().map(record).collect()
}

/// One batch of an idempotent producer.
pub(super) fn sequenced(producer: &str, epoch: i64, sequence: i64, values: &[&str]) -> Value {
    json!([{"records": records(values), "producer": producer, "epoch": epoch, "sequence": sequence}])
}

/// A partition of Fetch.
pub(super) fn part(partition: i32, offset: i64) -> Value {
    json!({"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": 1_048_576})
}

/// Of Fetch, for partitions of one topic, without waiting.
pub(super) fn fetch(topic: &str, partitions: Vec<Value>) -> Value {
    fetch_all(&[(topic, partitions)])
}

/// Of Fetch, for several topics.
pub(super) fn fetch_all(topics: &[(&str, Vec<Value>)]) -> Value {
    let topic = |(topic, partitions): &(&str, Vec<Value>)| json!({"Topic": format!("@{topic}"), "TopicId": format!("$id-{topic}"), "Partitions": partitions});
    let topics: Vec<Value> = topics.iter().map(topic).collect();
    json!({"MaxWaitMs": 0, "MinBytes": 1, "MaxBytes": 10_485_760, "Topics": topics})
}

/// The same body with other values of some fields.
pub(super) fn with(mut body: Value, others: Value) -> Value {
    if let (Some(fields), Value::Object(others)) = (body.as_object_mut(), others) {
        fields.extend(others);
    }
    body
}

/// Of ListOffsets, for times of partitions of one topic.
pub(super) fn offsets(topic: &str, times: &[(i32, Value)]) -> Value {
    let time = |(partition, time): &(i32, Value)| json!({"PartitionIndex": partition, "Timestamp": time});
    let times: Vec<Value> = times.iter().map(time).collect();
    json!({"ReplicaId": -1, "Topics": [{"Name": format!("@{topic}"), "Partitions": times}]})
}

/// Of CreateTopics, for these topics.
pub(super) fn create(topics: Value) -> Value {
    json!({"Topics": topics, "timeoutMs": 30_000})
}

/// A topic of CreateTopics.
pub(super) fn new_topic(name: &str, partitions: i32, factor: i16) -> Value {
    json!({"Name": name, "NumPartitions": partitions, "ReplicationFactor": factor})
}

/// An id that no broker has drawn.
pub(super) const STRANGE_ID: &str = "0123456789abcdef0123456789abcdef";
/// No id.
pub(super) const ZERO_ID: &str = "00000000000000000000000000000000";
