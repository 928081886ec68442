//! Scenes whose requests are drawn: which API, which version, which of its fields is given, and each value, from a few that are
//! right and a few that are wrong ([`values`]).
//!
//! Some requests are not drawn, for what they show depends on clocks: those that join a group with other members, those that
//! wait, and whatever the table of differences on purpose leaves out.

pub(super) mod values;

use serde_json::{Value, json};

use super::body::{batch, fetch, part, produce, with};
use super::{groups as classic, transactions};
use crate::story::Story;
use values::Draw;

/// An API, how often it is drawn, and whether it changes what others see.
type Choice = (&'static str, u32, bool);

/// Draws so many requests from these APIs.
fn draw(story: &mut Story<'_>, choices: &[Choice], count: usize) {
    let weights: Vec<u32> = choices.iter().map(|(_, weight, _)| *weight).collect();
    for _ in 0..count {
        let (api, _, changes) = choices[story.dice.weighted(&weights)];
        one(story, api);
        if changes {
            story.settle();
        }
    }
}

/// One request to an API, in any version.
pub(super) fn one(story: &mut Story<'_>, api: &str) {
    let version = match story.version(api) {
        // It makes the topics that it is asked about.
        version if api == "Metadata" => version.max(4),
        version => version,
    };
    in_version(story, api, version);
}

/// One request to an API in that version.
pub(super) fn in_version(story: &mut Story<'_>, api: &str, version: i16) {
    let Some(known) = story.schemas().named(api) else { return };
    let body = Draw { dice: &mut story.dice, api, version }.message(&known.request);
    story.call_in(version..=version, api, body).retry(values::early(api));
}

/// Topics that the drawn requests know, with records.
fn topics(story: &mut Story<'_>) {
    story.topic("a", 3).topic_with("b", 2, &[("cleanup.policy", "compact")]).topic("c", 1);
    for partition in [0, 0, 1] {
        story.call("Produce", produce("a", partition, batch(&["x", "y", "z"])));
    }
    story.call(
        "Produce",
        produce("c", 0, json!([{"records": [{"key": "k", "value": "v", "timestamp": "$now-5000"}]}])),
    );
}

/// Topics, their settings, their partitions.
pub(super) fn administration(story: &mut Story<'_>) {
    topics(story);
    let choices = [
        ("CreateTopics", 6, true),
        ("DeleteTopics", 2, true),
        ("CreatePartitions", 3, true),
        ("IncrementalAlterConfigs", 4, true),
        ("AlterConfigs", 2, true),
        ("DescribeConfigs", 4, false),
        ("Metadata", 6, false),
        ("DescribeTopicPartitions", 4, false),
        ("ElectLeaders", 2, false),
        ("AlterPartitionReassignments", 2, false),
        ("ListPartitionReassignments", 2, false),
        ("AlterReplicaLogDirs", 1, false),
        ("ListConfigResources", 1, false),
        ("ListOffsets", 2, false),
    ];
    draw(story, &choices, 60);
}

/// Records, as producers and consumers use them.
pub(super) fn records(story: &mut Story<'_>) {
    topics(story);
    let id = json!({"TransactionalId": null, "TransactionTimeoutMs": 60_000});
    story.call("InitProducerId", id).bind("p-t", "/ProducerId").bind("e-t", "/ProducerEpoch");
    let choices = [
        ("Produce", 12, false),
        ("Fetch", 12, false),
        ("ListOffsets", 6, false),
        ("OffsetForLeaderEpoch", 3, false),
        ("DeleteRecords", 1, false),
        ("DescribeProducers", 2, false),
        ("ApiVersions", 1, false),
    ];
    draw(story, &choices, 90);
}

/// Groups and their offsets.
pub(super) fn of_groups(story: &mut Story<'_>) {
    topics(story);
    classic::alone(story, &["live"]);
    story.on(0);
    let choices = [
        ("OffsetCommit", 8, false),
        ("OffsetFetch", 8, false),
        ("OffsetDelete", 3, false),
        ("Heartbeat", 4, false),
        ("SyncGroup", 3, false),
        ("LeaveGroup", 1, false),
        ("DescribeGroups", 4, false),
        ("ConsumerGroupDescribe", 3, false),
        ("ConsumerGroupHeartbeat", 3, false),
        ("ListGroups", 3, false),
        ("DeleteGroups", 1, false),
        ("FindCoordinator", 3, false),
        ("TxnOffsetCommit", 2, false),
    ];
    draw(story, &choices, 80);
}

/// Transactions, mostly of one producer.
pub(super) fn of_transactions(story: &mut Story<'_>) {
    topics(story);
    transactions::producer(story, "t");
    let choices = [
        ("AddPartitionsToTxn", 4, false),
        ("AddOffsetsToTxn", 3, false),
        ("TxnOffsetCommit", 4, false),
        ("DescribeTransactions", 2, false),
        ("ListTransactions", 2, false),
        ("DescribeProducers", 2, false),
    ];
    for _ in 0..10 {
        begun(story);
        draw(story, &choices, 4);
        one(story, "EndTxn");
        // While a transaction ends, what is shown of it depends on clocks.
        transactions::again(story, "t");
        let topic = story.dice.pick(&["a", "c"]);
        story.call("Fetch", with(fetch(topic, vec![part(0, 0)]), json!({"IsolationLevel": 1})));
        if story.dice.once_in(4) {
            one(story, "InitProducerId");
            transactions::again(story, "t");
        }
    }
}

/// Begins a transaction, or not, by the old protocol or the new one.
fn begun(story: &mut Story<'_>) {
    let topic = story.dice.pick(&["a", "c"]);
    let records = transactions::batch("t", 0, &["x"]);
    match story.dice.below(3) {
        0 => transactions::begin_new(story, "t", topic, records),
        1 => transactions::begin_old(story, "t", topic, records),
        _ => {}
    }
}

/// Users, quotas, and the cluster itself.
pub(super) fn cluster(story: &mut Story<'_>) {
    story.topic("a", 1);
    let choices = [
        ("AlterUserScramCredentials", 4, true),
        ("DescribeUserScramCredentials", 3, false),
        ("AlterClientQuotas", 5, true),
        ("DescribeClientQuotas", 5, false),
        ("DescribeCluster", 3, false),
        ("DescribeQuorum", 1, false),
        ("CreateAcls", 1, false),
        ("DeleteAcls", 1, false),
        ("CreateDelegationToken", 1, false),
        ("RenewDelegationToken", 1, false),
        ("ExpireDelegationToken", 1, false),
        ("DescribeDelegationToken", 1, false),
        ("SaslHandshake", 1, false),
    ];
    draw(story, &choices, 50);
}

/// The value with what makes it the only one of its kind in a list.
pub(super) fn key_of(value: &Value) -> Option<String> {
    const KEYS: [&str; 13] = [
        "Name",
        "Topic",
        "TopicName",
        "TopicId",
        "GroupId",
        "Index",
        "Partition",
        "PartitionIndex",
        "TransactionalId",
        "ResourceName",
        "EntityType",
        "Key",
        "ProducerId",
    ];
    match value {
        Value::Object(fields) => KEYS.iter().find_map(|key| fields.get(*key)).map(Value::to_string),
        other => Some(other.to_string()),
    }
}
