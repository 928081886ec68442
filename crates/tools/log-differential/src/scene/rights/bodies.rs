//! What somebody asks each API whose rights are compared: for what is there, and so that little is changed by it.

use serde_json::{Value, json};

use crate::scene::body::{batch, fetch, offsets, part, produce, with};

/// A body that does little harm; APIs without one are asked what is drawn.
#[expect(clippy::too_many_lines, reason = "a table: an arm for each API")]
pub(super) fn asked(api: &str) -> Option<Value> {
    let parts = json!([{"PartitionIndex": 0, "CommittedOffset": 1}]);
    let named = json!([{"Name": "@a"}]);
    let group = json!({"GroupId": "@live", "GenerationId": 1, "MemberId": "$m-live"});
    let producer =
        json!({"TransactionalId": "@t", "ProducerId": "$p-t", "ProducerEpoch": "$e-t", "GroupId": "@live"});
    let topics = json!([{"Name": "@a", "Partitions": [0]}]);
    Some(match api {
        "Produce" => produce("a", 0, batch(&["more"])),
        "Fetch" => fetch("a", vec![part(0, 0)]),
        "ListOffsets" => offsets("a", &[(0, json!(-2))]),
        "Metadata" => json!({"Topics": named, "AllowAutoTopicCreation": false,
            "IncludeClusterAuthorizedOperations": true, "IncludeTopicAuthorizedOperations": true}),
        "OffsetCommit" => json!({"GroupId": "@live", "GenerationIdOrMemberEpoch": 1, "MemberId": "$m-live",
            "Topics": [{"Name": "@a", "TopicId": "$id-a", "Partitions": parts}]}),
        "OffsetFetch" => {
            let topics = json!([{"Name": "@a", "TopicId": "$id-a", "PartitionIndexes": [0]}]);
            json!({"GroupId": "@live", "Topics": [{"Name": "@a", "PartitionIndexes": [0]}],
                "Groups": [{"GroupId": "@live", "Topics": topics}]})
        }
        "FindCoordinator" => json!({"Key": "@live", "CoordinatorKeys": ["@live"]}),
        // Refused for what it is, if it is not refused for who asks.
        "JoinGroup" => {
            json!({"GroupId": "@live", "SessionTimeoutMs": 1, "MemberId": "", "ProtocolType": "consumer",
            "Protocols": [{"Name": "range", "Metadata": "r"}]})
        }
        "Heartbeat" => group,
        "LeaveGroup" => {
            json!({"GroupId": "@live", "MemberId": "nobody", "Members": [{"MemberId": "nobody"}]})
        }
        "SyncGroup" => with(group, json!({"ProtocolType": "consumer", "ProtocolName": "range"})),
        "DescribeGroups" => json!({"Groups": ["@live"], "IncludeAuthorizedOperations": true}),
        "CreateTopics" => {
            json!({"Topics": [{"Name": "@a", "NumPartitions": 1, "ReplicationFactor": 1}], "timeoutMs": 10_000})
        }
        "DeleteTopics" => {
            json!({"TopicNames": ["@missing"], "Topics": [{"Name": "@missing"}], "TimeoutMs": 10_000})
        }
        "DeleteRecords" => {
            json!({"Topics": [{"Name": "@a", "Partitions": [{"PartitionIndex": 0, "Offset": 1}]}], "TimeoutMs": 10_000})
        }
        "InitProducerId" => json!({"TransactionalId": "@t", "TransactionTimeoutMs": 0}),
        "AddPartitionsToTxn" => json!({
            "V3AndBelowTransactionalId": "@t", "V3AndBelowProducerId": "$p-t", "V3AndBelowProducerEpoch": "$e-t",
            "V3AndBelowTopics": topics,
            "Transactions": [{"TransactionalId": "@t", "ProducerId": "$p-t", "ProducerEpoch": "$e-t", "Topics": topics}],
        }),
        "AddOffsetsToTxn" => producer,
        "EndTxn" => {
            json!({"TransactionalId": "@t", "ProducerId": "$p-t", "ProducerEpoch": "$e-t+1", "Committed": true})
        }
        "TxnOffsetCommit" => with(producer, json!({"Topics": [{"Name": "@a", "Partitions": parts}]})),
        "DescribeConfigs" => {
            let of = |kind: i64, name: &str, key: &str| json!({"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": [key]});
            json!({"Resources": [of(2, "@a", "retention.ms"), of(32, "@live", "consumer.session.timeout.ms")]})
        }
        "CreatePartitions" => json!({"Topics": [{"Name": "@a", "Count": 1}], "TimeoutMs": 10_000}),
        "DeleteGroups" => json!({"GroupsNames": ["@live"]}),
        "OffsetDelete" => {
            json!({"GroupId": "@live", "Topics": [{"Name": "@a", "Partitions": [{"PartitionIndex": 1}]}]})
        }
        "DescribeProducers" => json!({"Topics": [{"Name": "@a", "PartitionIndexes": [0]}]}),
        "DescribeTransactions" => json!({"TransactionalIds": ["@t"]}),
        "ListTransactions" | "ListGroups" => json!({}),
        "ConsumerGroupDescribe" => json!({"GroupIds": ["@live"], "IncludeAuthorizedOperations": true}),
        "ConsumerGroupHeartbeat" => {
            json!({"GroupId": "@live", "MemberId": "nobody", "MemberEpoch": 5, "SubscribedTopicNames": ["@a"]})
        }
        "DescribeCluster" => json!({"IncludeClusterAuthorizedOperations": true}),
        "DescribeTopicPartitions" => json!({"Topics": named}),
        _ => return None,
    })
}
