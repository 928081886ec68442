//! The error codes that APIs can give a client of one broker: those that scripts must see, and those that they cannot provoke,
//! with the reason.

use tools_testbed::cells::Row;

/// Stands for a connection that is closed instead of an answer.
pub(crate) const CLOSED: i32 = i32::MAX;

/// Every run must see these.
pub(crate) const CODES: &[Row<'static>] = &[
    ("AddOffsetsToTxn", &[0, 42, 49, 53, 90]),
    ("AddPartitionsToTxn", &[0, 3, 31, 42, 49, 53, 55, 90]),
    ("AlterClientQuotas", &[0, 31, 42]),
    ("AlterConfigs", &[0, 3, 40, 42]),
    ("AlterPartitionReassignments", &[0, 3, 31, 39, 85]),
    ("AlterReplicaLogDirs", &[0, 31, 57]),
    ("AlterUserScramCredentials", &[0, 31, 33, 91, 92, 93]),
    ("ApiVersions", &[0, 42, CLOSED]),
    ("ConsumerGroupDescribe", &[0, 24, 30, 69]),
    ("ConsumerGroupHeartbeat", &[0, 25, 30, 42, 69, 82, 110, 111, 112, 128]),
    ("CreateAcls", &[0, 31, 42, 54, CLOSED]),
    ("CreateDelegationToken", &[64]),
    ("CreatePartitions", &[0, 3, 29, 37, 39, 42]),
    ("CreateTopics", &[0, 17, 29, 36, 37, 38, 39, 40, 42, CLOSED]),
    ("DeleteAcls", &[0, 31, 54]),
    ("DeleteGroups", &[0, 30, 68, 69]),
    ("DeleteRecords", &[0, 1, 3, 17, 29, 44]),
    ("DeleteTopics", &[0, 3, 29, 42, 100]),
    ("DescribeAcls", &[0, 31, 54, CLOSED]),
    ("DescribeClientQuotas", &[0, 31, 35, 42]),
    ("DescribeCluster", &[0, 114, 115, CLOSED]),
    ("DescribeConfigs", &[0, 3, 17, 29, 30, 42]),
    ("DescribeDelegationToken", &[64]),
    ("DescribeGroups", &[0, 30, 69]),
    ("DescribeLogDirs", &[0, 31]),
    ("DescribeProducers", &[0, 3, 17, 29]),
    ("DescribeQuorum", &[0, 3, 31]),
    ("DescribeTopicPartitions", &[-1, 0, 3, 17, 29, 42]),
    ("DescribeTransactions", &[0, 42, 53, 105]),
    ("DescribeUserScramCredentials", &[0, 31, 91, 92]),
    ("ElectLeaders", &[0, 3, 31, 42, 84]),
    ("EndTxn", &[0, 42, 47, 48, 49, 53, 90]),
    ("ExpireDelegationToken", &[64]),
    ("Fetch", &[-1, 0, 1, 3, 29, 70, 71, 75, 100, 106]),
    ("FindCoordinator", &[0, 30, 42, 53, CLOSED]),
    ("Heartbeat", &[0, 22, 24, 25, 27, 30, 82]),
    ("IncrementalAlterConfigs", &[-1, 0, 3, 17, 40, 42]),
    ("InitProducerId", &[0, 31, 42, 50, 53, 90]),
    ("JoinGroup", &[0, 23, 24, 25, 26, 30, 79, 82, CLOSED]),
    ("LeaveGroup", &[0, 24, 25, 30, 82]),
    ("ListConfigResources", &[0, 31, 35]),
    ("ListGroups", &[0]),
    ("ListOffsets", &[-1, 0, 3, 29, 35, 42, 74, 75, CLOSED]),
    ("ListPartitionReassignments", &[0, 31]),
    ("ListTransactions", &[0, 128]),
    ("Metadata", &[0, 3, 17, 29, 42, 100, CLOSED]),
    ("OffsetCommit", &[0, 3, 12, 22, 25, 27, 29, 30, 35, 113]),
    ("OffsetDelete", &[0, 3, 24, 30, 69, 86]),
    ("OffsetFetch", &[0, 25, 29, 30, 88, 100, 113, CLOSED]),
    ("OffsetForLeaderEpoch", &[0, 3, 29, 74, 75]),
    ("Produce", &[-1, 0, 2, 3, 10, 21, 29, 32, 45, 47, 48, 53, 76, 87, 120, CLOSED]),
    ("RenewDelegationToken", &[64]),
    ("SaslAuthenticate", &[0, 34, 58, CLOSED]),
    ("SaslHandshake", &[0, 33, 34]),
    ("SyncGroup", &[0, 22, 23, 24, 25, 27, 30, 82]),
    ("TxnOffsetCommit", &[0, 22, 25, 29, 30, 42, 47, 48, 49, 53, 120]),
    ("UpdateFeatures", &[0, 95]),
    ("WriteTxnMarkers", &[-1, 0, 3, 31, 52]),
];

/// A long run must see these too: they need a request that is drawn.
pub(crate) const DRAWN: &[Row<'static>] = &[
    ("AddOffsetsToTxn", &[30]),
    ("AddPartitionsToTxn", &[29]),
    ("AlterConfigs", &[29, 30, 31]),
    ("ConsumerGroupHeartbeat", &[29]),
    ("IncrementalAlterConfigs", &[29, 30, 31]),
    ("OffsetDelete", &[29]),
    ("TxnOffsetCommit", &[3]),
];

/// Codes that some seeds see and others do not.
pub(crate) const SOMETIMES: &[Row<'static>] = &[
    ("AddOffsetsToTxn", &[47]),
    ("AddPartitionsToTxn", &[47, 120]),
    ("AlterUserScramCredentials", &[-1]),
    ("CreateAcls", &[-1]),
    ("CreateDelegationToken", &[-1]),
    ("DescribeConfigs", &[31]),
    ("InitProducerId", &[47]),
    ("Metadata", &[-1]),
    ("OffsetCommit", &[69, 100]),
    ("Produce", &[100]),
];

/// Codes that Kafka can give, and not to these scripts.
pub(crate) struct Unprovoked {
    /// Why not.
    pub(crate) reason: &'static str,
    /// The APIs, and their codes.
    pub(crate) cells: &'static [Row<'static>],
}

/// All of them.
pub(crate) const UNPROVOKED: &[Unprovoked] = &[
    Unprovoked {
        reason: "the broker leads every partition and is its only replica, and the controller is in the same process",
        cells: &[
            ("AlterPartitionReassignments", &[41, 60]),
            ("CreatePartitions", &[41]),
            ("CreateTopics", &[41]),
            ("DeleteRecords", &[6]),
            ("DeleteTopics", &[41]),
            ("DescribeProducers", &[6]),
            ("DescribeTopicPartitions", &[5]),
            ("ElectLeaders", &[41, 80, 83]),
            ("Fetch", &[6, 9, 78]),
            ("ListOffsets", &[6, 78]),
            ("Metadata", &[5, 9]),
            ("OffsetForLeaderEpoch", &[6]),
            ("Produce", &[6, 19, 20]),
        ],
    },
    Unprovoked {
        reason: "a coordinator that starts: scripts ask again until it serves",
        cells: &[
            ("AddOffsetsToTxn", &[14, 15, 16, 51]),
            ("AddPartitionsToTxn", &[14, 15, 16, 51]),
            ("ConsumerGroupDescribe", &[14, 15, 16]),
            ("ConsumerGroupHeartbeat", &[14, 15, 16]),
            ("DeleteGroups", &[14, 15, 16]),
            ("DescribeGroups", &[14, 15, 16]),
            ("DescribeTransactions", &[14, 15, 16]),
            ("EndTxn", &[14, 15, 16, 51]),
            ("FindCoordinator", &[15]),
            ("Heartbeat", &[14, 15, 16]),
            ("InitProducerId", &[14, 15, 16, 51]),
            ("JoinGroup", &[14, 15, 16]),
            ("LeaveGroup", &[14, 15, 16]),
            ("ListGroups", &[14, 15]),
            ("ListTransactions", &[14]),
            ("OffsetCommit", &[14, 15, 16]),
            ("OffsetDelete", &[14, 15, 16]),
            ("OffsetFetch", &[14, 15, 16]),
            ("SyncGroup", &[14, 15, 16]),
            ("TxnOffsetCommit", &[14, 15, 16, 51]),
        ],
    },
    Unprovoked {
        reason: "a disk fails, or is full",
        cells: &[
            ("AlterReplicaLogDirs", &[56]),
            ("DeleteRecords", &[56]),
            ("DescribeLogDirs", &[56]),
            ("Fetch", &[56]),
            ("ListOffsets", &[56]),
            ("Produce", &[56]),
        ],
    },
    Unprovoked {
        reason: "something takes too long, or is done too often",
        cells: &[
            ("CreatePartitions", &[7, 89]),
            ("CreateTopics", &[7, 89]),
            ("DeleteRecords", &[7]),
            ("DeleteTopics", &[7, 89]),
            ("ElectLeaders", &[7]),
            ("Produce", &[7]),
        ],
    },
    Unprovoked {
        reason: "a setting of the broker, or a class of Java that it loads, which none of these brokers has",
        cells: &[
            ("AlterConfigs", &[44]),
            ("ConsumerGroupHeartbeat", &[81]),
            ("CreateDelegationToken", &[65, 67]),
            ("CreateTopics", &[44]),
            ("DescribeDelegationToken", &[61, 65]),
            ("ExpireDelegationToken", &[61, 62, 63, 66]),
            ("IncrementalAlterConfigs", &[44]),
            ("JoinGroup", &[81]),
            ("RenewDelegationToken", &[61, 62, 63, 66]),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_either_provoked_or_not_and_in_one_list() {
        let unprovoked = UNPROVOKED.iter().flat_map(|of| of.cells.iter());
        let rows = CODES.iter().chain(DRAWN).chain(SOMETIMES).chain(unprovoked);
        let mut cells: Vec<(&str, i32)> =
            rows.flat_map(|(api, codes)| codes.iter().map(|code| (*api, *code))).collect();
        cells.sort_unstable();
        let twice: Vec<_> = cells.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert_eq!(twice, Vec::<&[(&str, i32)]>::new());
    }
}
