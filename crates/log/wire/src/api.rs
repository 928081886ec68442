//! The APIs, and the versions of each that Kafka 4.3 advertises. Which of them a broker serves is decided above: only those
//! are advertised.
//!
//! Source: the answer of a Kafka 4.3.1 to ApiVersions; KIP-896 for what older versions were given up.

/// An API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
#[expect(missing_docs, reason = "the protocol's names")]
pub enum ApiKey {
    Produce = 0,
    Fetch = 1,
    ListOffsets = 2,
    Metadata = 3,
    OffsetCommit = 8,
    OffsetFetch = 9,
    FindCoordinator = 10,
    JoinGroup = 11,
    Heartbeat = 12,
    LeaveGroup = 13,
    SyncGroup = 14,
    DescribeGroups = 15,
    ListGroups = 16,
    SaslHandshake = 17,
    ApiVersions = 18,
    CreateTopics = 19,
    DeleteTopics = 20,
    DeleteRecords = 21,
    InitProducerId = 22,
    OffsetForLeaderEpoch = 23,
    AddPartitionsToTxn = 24,
    AddOffsetsToTxn = 25,
    EndTxn = 26,
    WriteTxnMarkers = 27,
    TxnOffsetCommit = 28,
    DescribeAcls = 29,
    CreateAcls = 30,
    DeleteAcls = 31,
    DescribeConfigs = 32,
    AlterConfigs = 33,
    AlterReplicaLogDirs = 34,
    DescribeLogDirs = 35,
    SaslAuthenticate = 36,
    CreatePartitions = 37,
    CreateDelegationToken = 38,
    RenewDelegationToken = 39,
    ExpireDelegationToken = 40,
    DescribeDelegationToken = 41,
    DeleteGroups = 42,
    ElectLeaders = 43,
    IncrementalAlterConfigs = 44,
    AlterPartitionReassignments = 45,
    ListPartitionReassignments = 46,
    OffsetDelete = 47,
    DescribeClientQuotas = 48,
    AlterClientQuotas = 49,
    DescribeUserScramCredentials = 50,
    AlterUserScramCredentials = 51,
    DescribeQuorum = 55,
    UpdateFeatures = 57,
    DescribeCluster = 60,
    DescribeProducers = 61,
    DescribeTransactions = 65,
    ListTransactions = 66,
    ConsumerGroupHeartbeat = 68,
    ConsumerGroupDescribe = 69,
    ListConfigResources = 74,
    DescribeTopicPartitions = 75,
    ShareGroupHeartbeat = 76,
    ShareGroupDescribe = 77,
    ShareFetch = 78,
    ShareAcknowledge = 79,
    DescribeShareGroupOffsets = 90,
    AlterShareGroupOffsets = 91,
    DeleteShareGroupOffsets = 92,
}

/// An API with its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Api {
    /// Which.
    pub key: ApiKey,
    /// The lowest version.
    pub lowest: i16,
    /// The highest.
    pub highest: i16,
    /// The first flexible one (KIP-482), if there are any.
    flexible_from: Option<i16>,
}

impl Api {
    /// All of them, in the order of their keys.
    pub const ALL: &'static [Self] = &[
        Self::of(ApiKey::Produce, 3, 13, Some(9)),
        Self::of(ApiKey::Fetch, 4, 18, Some(12)),
        Self::of(ApiKey::ListOffsets, 1, 11, Some(6)),
        Self::of(ApiKey::Metadata, 0, 13, Some(9)),
        Self::of(ApiKey::OffsetCommit, 2, 10, Some(8)),
        Self::of(ApiKey::OffsetFetch, 1, 10, Some(6)),
        Self::of(ApiKey::FindCoordinator, 0, 6, Some(3)),
        Self::of(ApiKey::JoinGroup, 0, 9, Some(6)),
        Self::of(ApiKey::Heartbeat, 0, 4, Some(4)),
        Self::of(ApiKey::LeaveGroup, 0, 5, Some(4)),
        Self::of(ApiKey::SyncGroup, 0, 5, Some(4)),
        Self::of(ApiKey::DescribeGroups, 0, 6, Some(5)),
        Self::of(ApiKey::ListGroups, 0, 5, Some(3)),
        Self::of(ApiKey::SaslHandshake, 0, 1, None),
        Self::of(ApiKey::ApiVersions, 0, 4, Some(3)),
        Self::of(ApiKey::CreateTopics, 2, 7, Some(5)),
        Self::of(ApiKey::DeleteTopics, 1, 6, Some(4)),
        Self::of(ApiKey::DeleteRecords, 0, 2, Some(2)),
        Self::of(ApiKey::InitProducerId, 0, 5, Some(2)),
        Self::of(ApiKey::OffsetForLeaderEpoch, 2, 4, Some(4)),
        Self::of(ApiKey::AddPartitionsToTxn, 0, 5, Some(3)),
        Self::of(ApiKey::AddOffsetsToTxn, 0, 4, Some(3)),
        Self::of(ApiKey::EndTxn, 0, 5, Some(3)),
        Self::of(ApiKey::WriteTxnMarkers, 1, 2, Some(1)),
        Self::of(ApiKey::TxnOffsetCommit, 0, 5, Some(3)),
        Self::of(ApiKey::DescribeAcls, 1, 3, Some(2)),
        Self::of(ApiKey::CreateAcls, 1, 3, Some(2)),
        Self::of(ApiKey::DeleteAcls, 1, 3, Some(2)),
        Self::of(ApiKey::DescribeConfigs, 1, 4, Some(4)),
        Self::of(ApiKey::AlterConfigs, 0, 2, Some(2)),
        Self::of(ApiKey::AlterReplicaLogDirs, 1, 2, Some(2)),
        Self::of(ApiKey::DescribeLogDirs, 1, 5, Some(2)),
        Self::of(ApiKey::SaslAuthenticate, 0, 2, Some(2)),
        Self::of(ApiKey::CreatePartitions, 0, 3, Some(2)),
        Self::of(ApiKey::CreateDelegationToken, 1, 3, Some(2)),
        Self::of(ApiKey::RenewDelegationToken, 1, 2, Some(2)),
        Self::of(ApiKey::ExpireDelegationToken, 1, 2, Some(2)),
        Self::of(ApiKey::DescribeDelegationToken, 1, 3, Some(2)),
        Self::of(ApiKey::DeleteGroups, 0, 2, Some(2)),
        Self::of(ApiKey::ElectLeaders, 0, 2, Some(2)),
        Self::of(ApiKey::IncrementalAlterConfigs, 0, 1, Some(1)),
        Self::of(ApiKey::AlterPartitionReassignments, 0, 1, Some(0)),
        Self::of(ApiKey::ListPartitionReassignments, 0, 0, Some(0)),
        Self::of(ApiKey::OffsetDelete, 0, 0, None),
        Self::of(ApiKey::DescribeClientQuotas, 0, 1, Some(1)),
        Self::of(ApiKey::AlterClientQuotas, 0, 1, Some(1)),
        Self::of(ApiKey::DescribeUserScramCredentials, 0, 0, Some(0)),
        Self::of(ApiKey::AlterUserScramCredentials, 0, 0, Some(0)),
        Self::of(ApiKey::DescribeQuorum, 0, 2, Some(0)),
        Self::of(ApiKey::UpdateFeatures, 0, 2, Some(0)),
        Self::of(ApiKey::DescribeCluster, 0, 2, Some(0)),
        Self::of(ApiKey::DescribeProducers, 0, 0, Some(0)),
        Self::of(ApiKey::DescribeTransactions, 0, 0, Some(0)),
        Self::of(ApiKey::ListTransactions, 0, 2, Some(0)),
        Self::of(ApiKey::ConsumerGroupHeartbeat, 0, 1, Some(0)),
        Self::of(ApiKey::ConsumerGroupDescribe, 0, 1, Some(0)),
        Self::of(ApiKey::ListConfigResources, 0, 1, Some(0)),
        Self::of(ApiKey::DescribeTopicPartitions, 0, 0, Some(0)),
        Self::of(ApiKey::ShareGroupHeartbeat, 1, 1, Some(0)),
        Self::of(ApiKey::ShareGroupDescribe, 1, 1, Some(0)),
        Self::of(ApiKey::ShareFetch, 1, 2, Some(0)),
        Self::of(ApiKey::ShareAcknowledge, 1, 2, Some(0)),
        Self::of(ApiKey::DescribeShareGroupOffsets, 0, 1, Some(0)),
        Self::of(ApiKey::AlterShareGroupOffsets, 0, 0, Some(0)),
        Self::of(ApiKey::DeleteShareGroupOffsets, 0, 0, Some(0)),
    ];

    const fn of(key: ApiKey, lowest: i16, highest: i16, flexible_from: Option<i16>) -> Self {
        Self { key, lowest, highest, flexible_from }
    }

    /// The API of that number, if this crate knows it.
    #[must_use]
    pub fn find(key: i16) -> Option<&'static Self> {
        let place = Self::ALL.binary_search_by_key(&key, |api| api.key as i16).ok()?;
        Self::ALL.get(place)
    }

    /// Whether that version is among those.
    #[must_use]
    pub const fn has(&self, version: i16) -> bool {
        self.lowest <= version && version <= self.highest
    }

    /// Whether that version is a flexible one.
    #[must_use]
    pub const fn is_flexible(&self, version: i16) -> bool {
        matches!(self.flexible_from, Some(first) if first <= version)
    }

    /// Whether the response's header has tagged fields. Those of ApiVersions have none in any version: a client may ask in one
    /// that the broker does not know, and has to be able to read the answer.
    #[must_use]
    pub const fn has_flexible_response_header(&self, version: i16) -> bool {
        self.is_flexible(version) && !matches!(self.key, ApiKey::ApiVersions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_api_is_found_by_its_number() {
        assert!(Api::ALL.is_sorted_by_key(|api| api.key));
        assert!(
            Api::ALL.iter().all(|api| Api::find(api.key as i16) == Some(api) && api.lowest <= api.highest)
        );
        assert_eq!([-1, 4, 71, 93].map(Api::find), [None; 4]);
    }

    #[test]
    fn versions_are_flexible_from_one_on() {
        let produce = Api::find(0).expect("there is one");
        assert_eq!([2, 3, 13, 14].map(|version| produce.has(version)), [false, true, true, false]);
        assert_eq!([8, 9].map(|version| produce.is_flexible(version)), [false, true]);
        let handshake = Api::find(17).expect("there is one");
        assert!(!handshake.is_flexible(1));
        let versions = Api::find(18).expect("there is one");
        assert!(versions.is_flexible(3) && !versions.has_flexible_response_header(3));
    }
}
