//! The error codes that the scripts for a cluster of three brokers must see: those that only several brokers give, and what
//! shows that each API was answered by the broker that it is for, too.

use tools_testbed::cells::Row;

use crate::codes::CLOSED;

/// Every run must see these.
pub(crate) const CODES: &[Row<'static>] = &[
    ("AddOffsetsToTxn", &[16, 49]),
    ("AddPartitionsToTxn", &[0, 16, 49]),
    ("AlterPartitionReassignments", &[0]),
    ("AlterReplicaLogDirs", &[57]),
    ("ConsumerGroupDescribe", &[16, 69]),
    ("ConsumerGroupHeartbeat", &[16, 69]),
    ("CreatePartitions", &[0, 39]),
    ("CreateTopics", &[0, 38, 39, 42]),
    ("DeleteGroups", &[0, 16, 69]),
    ("DeleteRecords", &[0, 6]),
    ("DescribeCluster", &[0]),
    ("DescribeConfigs", &[0, 42]),
    ("DescribeGroups", &[0, 16]),
    ("DescribeLogDirs", &[0]),
    ("DescribeProducers", &[0, 3, 6]),
    ("DescribeTopicPartitions", &[0]),
    ("DescribeTransactions", &[0, 16]),
    ("ElectLeaders", &[0, 84]),
    ("EndTxn", &[16, 49]),
    ("Fetch", &[0, 1, 3, 6, 74, 75]),
    ("FindCoordinator", &[0]),
    ("Heartbeat", &[16, 25]),
    ("IncrementalAlterConfigs", &[0, 42]),
    ("InitProducerId", &[0, 16]),
    ("JoinGroup", &[16, 25]),
    ("LeaveGroup", &[16, 25]),
    ("ListGroups", &[0]),
    ("ListOffsets", &[0, 3, 6, 74, 75]),
    ("ListPartitionReassignments", &[0]),
    ("ListTransactions", &[0]),
    ("Metadata", &[0, 3, CLOSED]),
    ("OffsetCommit", &[0, 16]),
    ("OffsetDelete", &[0, 16]),
    ("OffsetFetch", &[0, 16]),
    ("OffsetForLeaderEpoch", &[0, 6, 74, 75]),
    ("Produce", &[0, 3, 6, 21]),
    ("SyncGroup", &[16, 25]),
    ("TxnOffsetCommit", &[16, 49]),
];

/// Codes that some seeds see and others do not, and those of scenes that are played only if they are named.
pub(crate) const SOMETIMES: &[Row<'static>] = &[
    ("AlterPartitionReassignments", &[3, 39, 85]),
    ("DeleteShareGroupOffsets", &[16, 69]),
    ("DescribeShareGroupOffsets", &[0]),
    ("DescribeTopicPartitions", &[5]),
    ("ElectLeaders", &[3, 80, 83]),
    ("LeaveGroup", &[0]),
    ("Metadata", &[5]),
    ("Produce", &[19]),
    ("ShareAcknowledge", &[123]),
    ("ShareFetch", &[0, 6, 123]),
    ("ShareGroupDescribe", &[16, 69]),
    ("ShareGroupHeartbeat", &[16, 69]),
    ("SyncGroup", &[23]),
];
