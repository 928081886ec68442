//! Groups, transactions and share groups, asked for at every broker: one of them coordinates.

use serde_json::{Value, json};

use super::super::body::with;
use super::{IDS, placed};
use crate::story::Story;

/// Of a coordinator that starts.
const STARTING: [i64; 2] = [14, 15];

/// The names of some groups: by chance, each is coordinated by another broker.
const NAMES: [&str; 3] = ["@g", "@h", "@k"];

/// Asks every broker; that it does not coordinate is an answer.
fn everywhere(story: &mut Story<'_>, api: &str, body: &Value) {
    for broker in IDS {
        story.at(broker).call(api, body.clone()).at_once().retry(&STARTING);
    }
}

/// The same in every version.
fn in_every_version(story: &mut Story<'_>, api: &str, body: &Value) {
    for version in story.versions(api) {
        let broker = story.dice.pick(&IDS);
        let call = story.at(broker).call_in(version..=version, api, body.clone());
        call.at_once().retry(&STARTING);
    }
    everywhere(story, api, body);
}

fn found(story: &mut Story<'_>, kind: i64, keys: &[String]) {
    for broker in IDS {
        for version in story.versions("FindCoordinator") {
            // Share groups are asked for from version 6 on.
            if kind == 2 && version < 6 || kind == 1 && version == 0 {
                continue;
            }
            let asked = json!({"Key": keys[0], "CoordinatorKeys": keys, "KeyType": kind});
            story.at(broker).call_in(version..=version, "FindCoordinator", asked);
        }
    }
}

pub(super) fn of_groups(story: &mut Story<'_>) {
    placed(story, "a", &[&[1], &[2]], &[]);
    found(story, 0, &NAMES.map(String::from));
    for name in NAMES {
        let committed = json!([{"Name": "@a", "TopicId": "$id-a", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 5}]}]);
        let plain = json!([{"Name": "@a", "PartitionIndexes": [0]}]);
        let wanted = json!([{"Name": "@a", "TopicId": "$id-a", "PartitionIndexes": [0]}]);
        let commit = json!({"GroupId": name, "GenerationIdOrMemberEpoch": -1, "Topics": committed});
        in_every_version(story, "OffsetCommit", &commit);
        let groups = json!([{"GroupId": name, "MemberEpoch": -1, "Topics": wanted}]);
        in_every_version(story, "OffsetFetch", &json!({"GroupId": name, "Topics": plain, "Groups": groups}));
        in_every_version(story, "Heartbeat", &json!({"GroupId": name, "GenerationId": 1, "MemberId": "m"}));
        let join = json!({
            "GroupId": name, "SessionTimeoutMs": 30_000, "RebalanceTimeoutMs": 6_000, "MemberId": "nobody",
            "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": "r"}],
        });
        in_every_version(story, "JoinGroup", &join);
        let sync = json!({"GroupId": name, "GenerationId": 1, "MemberId": "m", "Assignments": []});
        in_every_version(story, "SyncGroup", &sync);
        let leave = json!({"GroupId": name, "MemberId": "m", "Members": [{"MemberId": "m"}]});
        in_every_version(story, "LeaveGroup", &leave);
        in_every_version(story, "DescribeGroups", &json!({"Groups": [name]}));
        in_every_version(story, "ConsumerGroupDescribe", &json!({"GroupIds": [name]}));
        let beat = json!({"GroupId": name, "MemberId": "m", "MemberEpoch": 4});
        in_every_version(story, "ConsumerGroupHeartbeat", &beat);
        let delete = json!([{"Name": "@a", "Partitions": [{"PartitionIndex": 9}]}]);
        in_every_version(story, "OffsetDelete", &json!({"GroupId": name, "Topics": delete}));
    }
    in_every_version(story, "DescribeGroups", &json!({"Groups": NAMES}));
    in_every_version(story, "ListGroups", &json!({}));
    everywhere(story, "DeleteGroups", &json!({"GroupsNames": NAMES}));
    everywhere(story, "DeleteGroups", &json!({"GroupsNames": ["@missing"]}));
}

pub(super) fn of_transactions(story: &mut Story<'_>) {
    placed(story, "a", &[&[1]], &[]);
    found(story, 1, &NAMES.map(String::from));
    for name in NAMES {
        in_every_version(
            story,
            "InitProducerId",
            &json!({"TransactionalId": name, "TransactionTimeoutMs": 60_000}),
        );
        let ids = json!({"TransactionalId": name, "ProducerId": 77, "ProducerEpoch": 0});
        let topics = json!([{"Name": "@a", "Partitions": [0]}]);
        let add = json!({
            "V3AndBelowTransactionalId": name, "V3AndBelowProducerId": 77, "V3AndBelowProducerEpoch": 0,
            "V3AndBelowTopics": topics,
            "Transactions": [{"TransactionalId": name, "ProducerId": 77, "ProducerEpoch": 0, "Topics": topics}],
        });
        let of = |more: Value| with(ids.clone(), more);
        in_every_version(story, "AddPartitionsToTxn", &add);
        in_every_version(story, "AddOffsetsToTxn", &of(json!({"GroupId": "@g"})));
        in_every_version(story, "EndTxn", &of(json!({"Committed": true})));
        let offsets = json!([{"Name": "@a", "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1}]}]);
        in_every_version(story, "TxnOffsetCommit", &of(json!({"GroupId": name, "Topics": offsets})));
    }
    everywhere(story, "DescribeTransactions", &json!({"TransactionalIds": NAMES}));
    everywhere(story, "ListTransactions", &json!({}));
}

pub(super) fn of_share_groups(story: &mut Story<'_>) {
    placed(story, "a", &[&[2, 1]], &[]);
    let keys = ["@g:0123456789abcdefghijkw:0", "@h:0123456789abcdefghijkw:1"];
    found(story, 2, &keys.map(String::from));
    for name in NAMES {
        // Nobody becomes a member: what a member is told depends on when it asks.
        let beat = json!({"GroupId": name, "MemberId": "0123456789abcdefghijkw", "MemberEpoch": 3});
        in_every_version(story, "ShareGroupHeartbeat", &beat);
        in_every_version(story, "ShareGroupDescribe", &json!({"GroupIds": [name]}));
        let groups = json!([{"GroupId": name, "Topics": [{"TopicName": "@a", "Partitions": [0]}]}]);
        in_every_version(story, "DescribeShareGroupOffsets", &json!({"Groups": groups}));
        let deleted = json!({"GroupId": name, "Topics": [{"TopicName": "@a"}]});
        in_every_version(story, "DeleteShareGroupOffsets", &deleted);
    }
    // At brokers that do not lead the partition.
    for broker in [1, 3] {
        let of = |epoch: i64, others: Value| {
            let part = json!({"PartitionIndex": 0, "AcknowledgementBatches": []});
            let topics = json!([{"TopicId": "$id-a", "Partitions": [part]}]);
            let asked = json!({
                "GroupId": "@g", "MemberId": "0123456789abcdefghijkw", "ShareSessionEpoch": epoch, "Topics": topics,
            });
            with(asked, others)
        };
        let limits = || json!({"MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 1_048_576, "MaxRecords": 10, "BatchSize": 10});
        story.at(broker).call("ShareFetch", of(0, limits()));
        story.call("ShareFetch", of(7, limits()));
        story.call("ShareAcknowledge", of(7, json!({})));
    }
}
