//! Rules of access, on brokers that ask who a client is and check its rights.
//!
//! Connection 0 is root's, who may do everything and makes the rules; 1 is alice's and 2 is bob's, who may do what rules let
//! them. Rules name users, and some the whole cluster, so these scenes are played one after the other, and each leaves no rule
//! behind.

mod bodies;
mod rules;
mod who;

use serde_json::{Value, json};

use super::body::{batch, produce, sequenced, with};
use super::random;
use crate::story::Story;
use bodies::asked;
pub(super) use rules::administration;
pub(super) use who::authentication;

const ROOT: usize = 0;
const ALICE: usize = 1;
const BOB: usize = 2;

/// Kinds of resources, by their numbers.
const TOPIC: i64 = 2;
const GROUP: i64 = 3;
const CLUSTER: i64 = 4;
const TRANSACTIONAL_ID: i64 = 5;

/// What a rule may be about, and the operations that mean something there.
const RESOURCES: [(i64, &str, &[i64]); 4] = [
    (TOPIC, "@a", &[2, 3, 4, 5, 6, 7, 8, 10, 11]),
    (GROUP, "@live", &[2, 3, 6, 8, 10, 11]),
    (CLUSTER, "kafka-cluster", &[2, 5, 7, 8, 9, 10, 11, 12]),
    (TRANSACTIONAL_ID, "@t", &[2, 4, 8]),
];

/// APIs that are asked when rights are compared. What is left out changes what is known of the connection, or of everybody.
const APIS: [&str; 52] = [
    "Produce",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "OffsetCommit",
    "OffsetFetch",
    "FindCoordinator",
    "JoinGroup",
    "Heartbeat",
    "LeaveGroup",
    "SyncGroup",
    "DescribeGroups",
    "ListGroups",
    "CreateTopics",
    "DeleteTopics",
    "DeleteRecords",
    "InitProducerId",
    "OffsetForLeaderEpoch",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "WriteTxnMarkers",
    "TxnOffsetCommit",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "DescribeConfigs",
    "AlterConfigs",
    "AlterReplicaLogDirs",
    "DescribeLogDirs",
    "CreatePartitions",
    "DeleteGroups",
    "ElectLeaders",
    "IncrementalAlterConfigs",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "OffsetDelete",
    "DescribeClientQuotas",
    "AlterClientQuotas",
    "DescribeUserScramCredentials",
    "AlterUserScramCredentials",
    "DescribeQuorum",
    "UpdateFeatures",
    "DescribeCluster",
    "DescribeProducers",
    "DescribeTransactions",
    "ListTransactions",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "ListConfigResources",
    "DescribeTopicPartitions",
    "ApiVersions",
];

/// Three users, two topics with records, a group with a member, and a producer with transactions: all of root's.
fn stage(story: &mut Story<'_>) {
    // The last two are used by the scenes of groups.
    story
        .log_in(ROOT, "root")
        .log_in(ALICE, "alice")
        .log_in(BOB, "bob")
        .log_in(9, "root")
        .log_in(10, "root")
        .on(ROOT);
    forget(story);
    story.topic("a", 2).topic("b", 1).topic("c", 1);
    for topic in ["a", "b"] {
        story.call("Produce", produce(topic, 0, batch(&["x", "y"])));
    }
    super::groups::alone(story, &["live"]);
    story.on(ROOT);
    super::transactions::producer(story, "t");
}

/// Takes all rules away.
fn forget(story: &mut Story<'_>) {
    let all = json!({
        "ResourceTypeFilter": 1, "ResourceNameFilter": null, "PatternTypeFilter": 1, "PrincipalFilter": null,
        "HostFilter": null, "Operation": 1, "PermissionType": 1,
    });
    story.on(ROOT).call_in(1..=i16::MAX, "DeleteAcls", json!({"Filters": [all]}));
    settle(story);
}

/// A broker shows a topic shortly before it heeds the rules that were made before the topic; not so long as until it shows the
/// next one.
fn settle(story: &mut Story<'_>) {
    story.on(ROOT).settle().settle();
}

fn rule(resource: (i64, &str), pattern: i64, principal: &str, operation: i64, permission: i64) -> Value {
    json!({
        "ResourceType": resource.0, "ResourceName": resource.1, "ResourcePatternType": pattern, "Principal": principal,
        "Host": "*", "Operation": operation, "PermissionType": permission,
    })
}

fn allow(story: &mut Story<'_>, rules: &[Value]) {
    story.on(ROOT).call_in(1..=i16::MAX, "CreateAcls", json!({"Creations": rules}));
    settle(story);
}

/// Asks every API once, for what is there.
fn ask_all(story: &mut Story<'_>, user: usize) {
    story.on(user);
    for api in APIS {
        if story.serves(api) {
            ask(story, api);
        }
    }
    story.on(ROOT);
}

fn ask(story: &mut Story<'_>, api: &str) {
    let Some(body) = asked(api) else { return random::one(story, api) };
    let versions = match api {
        // Old ones make topics.
        "Metadata" => 4..=i16::MAX,
        _ => 0..=i16::MAX,
    };
    story.call_in(versions, api, body).retry(&[51]);
}

/// Of somebody without a right, in every version.
pub(super) fn none(story: &mut Story<'_>) {
    stage(story);
    story.on(ALICE);
    for api in APIS {
        if !story.serves(api) {
            continue;
        }
        for version in story.versions(api) {
            match asked(api) {
                Some(body) => drop(story.call_in(version..=version, api, body)),
                None => random::in_version(story, api, version),
            }
        }
    }
}

/// One right at a time.
pub(super) fn one_each(story: &mut Story<'_>) {
    stage(story);
    for _ in 0..6 {
        let (kind, name, operations) = story.dice.pick(&RESOURCES);
        let operation = story.dice.pick(operations);
        allow(story, &[rule((kind, name), 3, "User:alice", operation, 3)]);
        ask_all(story, ALICE);
        forget(story);
    }
}

/// Rules that name nobody, that begin with a name, that forbid, and that are for another host.
pub(super) fn drawn(story: &mut Story<'_>) {
    stage(story);
    for _ in 0..4 {
        let rules: Vec<Value> = (0..6).map(|_| drawn_rule(story)).collect();
        allow(story, &rules);
        for user in [ALICE, BOB] {
            story.on(user);
            for _ in 0..20 {
                let api = story.dice.pick(&APIS);
                if !story.serves(api) {
                    continue;
                }
                match story.dice.once_in(2) {
                    // What would be gone for the rest of the script.
                    false if ["DeleteTopics", "DeleteGroups"].contains(&api) => {}
                    false => random::one(story, api),
                    true => ask(story, api),
                }
            }
        }
        forget(story);
        // What was drawn may have ended a transaction, or raised the epoch.
        super::transactions::again(story, "t");
    }
}

fn drawn_rule(story: &mut Story<'_>) -> Value {
    let (kind, name, operations) = story.dice.pick(&RESOURCES);
    let any = match kind {
        CLUSTER => [(name, 3), (name, 3), (name, 3)],
        _ => [(name, 3), ("*", 3), ("@", 4)],
    };
    let (name, pattern) = story.dice.pick(&any);
    let operation = story.dice.pick(operations);
    let principal = story.dice.pick(&["User:alice", "User:alice", "User:bob", "User:*"]);
    let permission = story.dice.pick(&[3, 3, 3, 3, 2]);
    let host = story.dice.pick(&["*", "*", "*", "127.0.0.1", "10.1.2.3"]);
    with(rule((kind, name), pattern, principal, operation, permission), json!({"Host": host}))
}

/// Rights of producers with transactions: of the id, of the topics, of the groups.
pub(super) fn transactions(story: &mut Story<'_>) {
    stage(story);
    let write_id = rule((TRANSACTIONAL_ID, "@"), 4, "User:alice", 4, 3);
    let write_topic = rule((TOPIC, "@a"), 3, "User:alice", 4, 3);
    let read_topic = rule((TOPIC, "@a"), 3, "User:alice", 3, 3);
    let read_group = rule((GROUP, "@live"), 3, "User:alice", 3, 3);
    let none: Vec<Value> = Vec::new();
    let sets = [
        none,
        vec![write_id.clone()],
        vec![write_id.clone(), write_topic.clone()],
        vec![write_id.clone(), read_group.clone()],
        vec![write_id.clone(), read_group.clone(), read_topic.clone()],
        vec![write_topic.clone(), read_topic.clone(), read_group.clone()],
        vec![write_id, write_topic, read_topic, read_group],
    ];
    for rules in sets {
        if !rules.is_empty() {
            allow(story, &rules);
        }
        super::transactions::as_somebody(story.on(ALICE), "t");
        story.on(ROOT);
        super::transactions::again(story, "t");
        forget(story);
    }
    // Idempotent producers without transactions need no right of the cluster any more.
    let id = json!({"TransactionalId": null, "TransactionTimeoutMs": 60_000});
    story.on(ALICE).call("InitProducerId", id.clone());
    allow(story, &[rule((CLUSTER, "kafka-cluster"), 3, "User:alice", 12, 3)]);
    story.on(ALICE).call("InitProducerId", id.clone()).bind("p-i", "/ProducerId");
    story.call("Produce", produce("a", 0, sequenced("$p-i", 0, 0, &["x"])));
    forget(story);
    allow(story, &[rule((TOPIC, "@b"), 3, "User:alice", 4, 3)]);
    story.on(ALICE).call("InitProducerId", id).bind("p-j", "/ProducerId");
    story.call("Produce", produce("b", 0, sequenced("$p-j", 0, 0, &["x"])));
    story.call("Produce", produce("a", 0, sequenced("$p-j", 0, 0, &["x"])));
    forget(story);
}
