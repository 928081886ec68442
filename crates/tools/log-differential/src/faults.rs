//! Faults of ours that are known and still open: the differences that are not on purpose and not mended yet.
//!
//! Each is taken out when it is mended; a run of all scenes that does not meet one any more says so. The worst come first.

use crate::difference::Difference;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What is wrong.
    pub what: &'static str,
    /// The kinds of differences that it shows as, by how their text begins.
    kinds: &'static [&'static str],
    /// Only in scripts of this scene.
    scene: Option<&'static str>,
}

impl Fault {
    const fn of(what: &'static str, kinds: &'static [&'static str]) -> Self {
        Self { what, kinds, scene: None }
    }

    const fn within(scene: &'static str, what: &'static str, kinds: &'static [&'static str]) -> Self {
        Self { what, kinds, scene: Some(scene) }
    }
}

/// All of them.
pub const OPEN: &[Fault] = &[
    Fault::within(
        "nobody waits for the answer",
        "a produce with acks=0 that fails does not close its connection, so its producer never asks who leads",
        &["ListOffsets : \"<closed>\" / an answer"],
    ),
    Fault::within(
        "nobody waits for the answer",
        "what a produce with acks=0 sent is not seen by the next request of its connection",
        &["ListOffsets Topics[].Partitions[].Offset", "Fetch Responses[].Partitions[]"],
    ),
    Fault::within(
        "refused batches",
        "the records of a batch are not looked at: their count, their keys on a compacted topic, whether they decompress",
        &[
            "Produce Responses[].PartitionResponses[].ErrorCode: 87 / 0",
            "Produce Responses[].PartitionResponses[].ErrorCode: -1 / 0",
            "Produce Responses[].PartitionResponses[].BaseOffset",
            "Produce Responses[].PartitionResponses[].RecordErrors",
            "Fetch Responses[].Partitions[].HighWatermark",
            "Fetch Responses[].Partitions[].LastStableOffset",
            "Fetch Responses[].Partitions[].Records",
        ],
    ),
    Fault::within(
        "times of records",
        "a record's time may be below -1 where before.max.ms forbids it, and -3 does not find records without a time",
        &[
            "Produce Responses[].PartitionResponses[].ErrorCode: 32 / 0",
            "Produce Responses[].PartitionResponses[].BaseOffset",
            "Produce Responses[].PartitionResponses[].RecordErrors",
            "Fetch Responses[].Partitions[]",
            "ListOffsets Topics[].Partitions[]",
        ],
    ),
    Fault::of(
        "a topic's compression.type has no effect",
        &[
            "Fetch Responses[].Partitions[].Records[].attributes",
            "Fetch Responses[].Partitions[].Records[].records",
        ],
    ),
    Fault::within(
        "topics are deleted",
        "DeleteTopics deletes a topic that is named twice: Kafka answers 42 and deletes nothing",
        &["DeleteTopics Responses", "Metadata Topics: more / nothing"],
    ),
    Fault::within(
        "topics are not made",
        "assignments of new topics may leave out partitions, name one twice, or a negative one: 39",
        &[
            "CreateTopics Topics[].ErrorCode: 39 / 0",
            "CreateTopics Topics[].ErrorMessage",
            "CreateTopics Topics[].NumPartitions",
            "CreateTopics Topics[].ReplicationFactor",
            "CreateTopics Topics[].TopicId",
            "Metadata Topics: nothing / more",
        ],
    ),
    Fault::within(
        "settings of new topics",
        "min.insync.replicas of 0 is accepted, and local.retention.ms above retention.ms refused",
        &[
            "CreateTopics Topics[].ErrorCode: 0 / 40",
            "CreateTopics Topics[].ErrorCode: 40 / 0",
            "CreateTopics Topics[].ErrorMessage",
            "CreateTopics Topics[].NumPartitions",
            "CreateTopics Topics[].ReplicationFactor",
            "CreateTopics Topics[].TopicId",
        ],
    ),
    Fault::of("the settings of a new topic are not told", &["CreateTopics Topics[].Configs"]),
    Fault::of("a topic that is only checked has no id", &["CreateTopics Topics[].TopicId"]),
    Fault::of(
        "what a client may do is never told",
        &[
            "ConsumerGroupDescribe Groups[].AuthorizedOperations",
            "DescribeGroups Groups[].AuthorizedOperations",
            "Metadata ClusterAuthorizedOperations",
            "Metadata Topics[].TopicAuthorizedOperations",
        ],
    ),
    Fault::of(
        "DescribeGroups shows protocols while a group is not stable, and forgets assignments then",
        &[
            "DescribeGroups Groups[].Members[].MemberAssignment",
            "DescribeGroups Groups[].Members[].MemberMetadata",
            "DescribeGroups Groups[].ProtocolData",
        ],
    ),
    Fault::of(
        "DescribeGroups has no text for a group that is not there",
        &["DescribeGroups Groups[].ErrorMessage"],
    ),
    Fault::of("a refused JoinGroup does not repeat the member's id", &["JoinGroup MemberId"]),
    Fault::of(
        "SyncGroup takes a null protocol for any: 23",
        &["SyncGroup ErrorCode: 23 / 0", "SyncGroup Protocol", "SyncGroup Assignment"],
    ),
    Fault::of(
        "a group without a name is 24 to members, and to ConsumerGroupDescribe",
        &[
            "ConsumerGroupDescribe Groups[].ErrorCode: 24 / 69",
            "ConsumerGroupDescribe Groups[].ErrorMessage",
            "Heartbeat ErrorCode: 24 / 25",
            "LeaveGroup ErrorCode: 24 /",
            "LeaveGroup Members: nothing / more",
            "SyncGroup ErrorCode: 24 / 25",
        ],
    ),
    Fault::of(
        "Kafka keeps offsets of a group without a name, and describes, lists and deletes it",
        &[
            "OffsetCommit Topics[].Partitions[].ErrorCode: 0 / 24",
            "OffsetFetch Topics[].Partitions[].CommittedOffset",
            "OffsetFetch Topics[].Partitions[].CommittedLeaderEpoch",
            "OffsetFetch Topics[].Partitions[].Metadata",
            "OffsetFetch Groups[].Topics: more / nothing",
            "DeleteGroups Results",
            "DescribeGroups Groups[].ErrorCode: 0 / 69",
            "DescribeGroups Groups[].GroupState: \"Empty\" / \"Dead\"",
            "ListGroups Groups: more / nothing",
        ],
    ),
    Fault::of(
        "commits without a generation are taken from anyone while a group is empty, and others are 25 before anything else",
        &[
            "OffsetCommit Topics[].Partitions[].ErrorCode: 0 / 22",
            "OffsetCommit Topics[].Partitions[].ErrorCode: 0 / 69",
            "OffsetCommit Topics[].Partitions[].ErrorCode: 25 / 22",
            "OffsetCommit Topics[].Partitions[].ErrorCode: 25 / 69",
            "OffsetFetch Groups[].Topics[].Partitions[].CommittedOffset",
            "OffsetFetch Groups[].Topics[].Partitions[].CommittedLeaderEpoch",
        ],
    ),
    Fault::of(
        "OffsetFetch by an unknown topic id is 100",
        &["OffsetFetch Groups[].Topics[].Partitions[].ErrorCode: 100 / 0"],
    ),
    Fault::of(
        "OffsetFetch leaves out a topic of which no partition is asked for",
        &["OffsetFetch Topics: more / nothing"],
    ),
    Fault::of(
        "FindCoordinator of an unknown type is 42",
        &["FindCoordinator Coordinators[].Error", "FindCoordinator Error"],
    ),
    Fault::of(
        "ApiVersions to a client of a wrong name lists nothing",
        &[
            "ApiVersions ApiKeys: nothing / more",
            "ApiVersions SupportedFeatures: \"<absent>\"",
            "ApiVersions FinalizedFeatures: \"<absent>\"",
        ],
    ),
    Fault::of(
        "Metadata 10 and 11 refuse ids as a whole, later versions prefer an id to a name, names that collide are 3",
        &[
            "Metadata Brokers",
            "Metadata ClusterId",
            "Metadata ControllerId",
            "Metadata Topics[].ErrorCode: 42 / 0",
            "Metadata Topics[].ErrorCode: 42 / 100",
            "Metadata Topics[].ErrorCode: 100 / 0",
            "Metadata Topics[].ErrorCode: 3 / 17",
            "Metadata Topics[].Name",
            "Metadata Topics[].Partitions",
            "Metadata Topics[].TopicId",
        ],
    ),
    Fault::of(
        "a fetch above the log's end by the last epoch diverges there: no error",
        &[
            "Fetch Responses[].Partitions[].DivergingEpoch",
            "Fetch Responses[].Partitions[].ErrorCode: 0 / 1",
            "Fetch Responses[].Partitions[].HighWatermark",
            "Fetch Responses[].Partitions[].LastStableOffset",
            "Fetch Responses[].Partitions[].LogStartOffset",
        ],
    ),
    Fault::of(
        "offset out of range has no list of aborted transactions but isolation 1",
        &["Fetch Responses[].Partitions[].AbortedTransactions"],
    ),
    Fault::within("wrong fetch sessions", "a session of no partitions is not made", &["Fetch SessionId"]),
    Fault::of(
        "a leader's epoch below -1 is 74",
        &[
            "ListOffsets Topics[].Partitions[].ErrorCode: 74 / 0",
            "ListOffsets Topics[].Partitions[].LeaderEpoch",
            "ListOffsets Topics[].Partitions[].Offset",
            "OffsetForLeaderEpoch Topics[].Partitions[]",
        ],
    ),
    Fault::of("ListOffsets leaves out a topic without partitions", &["ListOffsets Topics: nothing / more"]),
    Fault::of(
        "a refused produce does not say where the log begins, nor why it was refused; magic 3 is 2, too few bytes are 87",
        &[
            "Produce Responses[].PartitionResponses[].LogStartOffset",
            "Produce Responses[].PartitionResponses[].ErrorMessage",
            "Produce Responses[].PartitionResponses[].RecordErrors",
            "Produce Responses[].PartitionResponses[].ErrorCode: 2 / 87",
            "Produce Responses[].PartitionResponses[].ErrorCode: 87 / 2",
        ],
    ),
];

/// The one of these faults that a difference belongs to.
#[must_use]
pub fn of(faults: &[Fault], scene: &str, difference: &Difference) -> Option<&'static str> {
    let kind = difference.kind();
    let is_it = |fault: &&Fault| {
        let in_scene = fault.scene.is_none_or(|only| only == scene);
        in_scene && fault.kinds.iter().any(|start| kind.starts_with(start))
    };
    faults.iter().find(is_it).map(|fault| fault.what)
}
