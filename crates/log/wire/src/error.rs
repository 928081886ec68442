//! Kafka's error codes, and what is no message of its protocol.

/// Bytes that are no message of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// What a response says of a request, or of a part of it. The names are the protocol's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
pub enum ErrorCode {
    /// An error that has no code of its own.
    UnknownServerError = -1,
    /// No error.
    #[default]
    None = 0,
    /// The offset is below the log's start or beyond its end.
    OffsetOutOfRange = 1,
    /// A record batch does not verify, or its length is wrong.
    CorruptMessage = 2,
    /// This broker has no such partition.
    UnknownTopicOrPartition = 3,
    /// The partition has no leader now.
    LeaderNotAvailable = 5,
    /// Another broker leads the partition.
    NotLeaderOrFollower = 6,
    /// It was not done in the request's time; it may be done later.
    RequestTimedOut = 7,
    /// The broker is not available.
    BrokerNotAvailable = 8,
    /// The replica is not available.
    ReplicaNotAvailable = 9,
    /// The batch is above `max.message.bytes`.
    MessageTooLarge = 10,
    /// The metadata of a committed offset is too long.
    OffsetMetadataTooLarge = 12,
    /// The coordinator reads its partition still.
    CoordinatorLoadInProgress = 14,
    /// There is no coordinator now.
    CoordinatorNotAvailable = 15,
    /// Another broker coordinates this group or transaction.
    NotCoordinator = 16,
    /// The name is none that a topic may have, or that of an internal topic.
    InvalidTopic = 17,
    /// The batch is longer than a segment.
    RecordListTooLarge = 18,
    /// Fewer replicas are in sync than `min.insync.replicas`; nothing was appended.
    NotEnoughReplicas = 19,
    /// Fewer are in sync by now; it was appended.
    NotEnoughReplicasAfterAppend = 20,
    /// `acks` is none of -1, 0 and 1.
    InvalidRequiredAcks = 21,
    /// The group has gone on to another generation.
    IllegalGeneration = 22,
    /// The group's members use other protocols.
    InconsistentGroupProtocol = 23,
    /// The group id is empty.
    InvalidGroupId = 24,
    /// The group has no such member.
    UnknownMemberId = 25,
    /// The timeout is outside of the broker's limits.
    InvalidSessionTimeout = 26,
    /// The group rebalances: join again.
    RebalanceInProgress = 27,
    /// The client may not do this to the topic.
    TopicAuthorizationFailed = 29,
    /// The client may not do this to the group.
    GroupAuthorizationFailed = 30,
    /// The client may not do this to the cluster.
    ClusterAuthorizationFailed = 31,
    /// A record's timestamp is too far from now.
    InvalidTimestamp = 32,
    /// The broker does not offer this mechanism.
    UnsupportedSaslMechanism = 33,
    /// The request does not belong here in the authentication.
    IllegalSaslState = 34,
    /// The broker does not serve this version of the API.
    UnsupportedVersion = 35,
    /// There is a topic of that name.
    TopicAlreadyExists = 36,
    /// So many partitions cannot be.
    InvalidPartitions = 37,
    /// So many replicas cannot be.
    InvalidReplicationFactor = 38,
    /// The assignment of replicas contradicts itself.
    InvalidReplicaAssignment = 39,
    /// The value is none that this configuration takes.
    InvalidConfig = 40,
    /// Another broker is the controller.
    NotController = 41,
    /// The request contradicts itself.
    InvalidRequest = 42,
    /// The log's format cannot do this.
    UnsupportedForMessageFormat = 43,
    /// The topic's policy forbids it.
    PolicyViolation = 44,
    /// A sequence number before this one is missing.
    OutOfOrderSequenceNumber = 45,
    /// The batch was appended before, so long ago that its offset is forgotten.
    DuplicateSequenceNumber = 46,
    /// The producer has been followed by another.
    InvalidProducerEpoch = 47,
    /// The transaction is in no state for this.
    InvalidTxnState = 48,
    /// The transactional id has another producer id.
    InvalidProducerIdMapping = 49,
    /// The timeout is above `transaction.max.timeout.ms`.
    InvalidTransactionTimeout = 50,
    /// A transaction of this id ends just now.
    ConcurrentTransactions = 51,
    /// Another coordinator has taken over.
    TransactionCoordinatorFenced = 52,
    /// The client may not use the transactional id.
    TransactionalIdAuthorizationFailed = 53,
    /// The broker has no authorizer.
    SecurityDisabled = 54,
    /// Another part of the request failed.
    OperationNotAttempted = 55,
    /// The broker's disk failed.
    KafkaStorageError = 56,
    /// There is no such log directory.
    LogDirNotFound = 57,
    /// The client could not prove who it is.
    SaslAuthenticationFailed = 58,
    /// The producer's state is gone.
    UnknownProducerId = 59,
    /// The partition's replicas are being changed.
    ReassignmentInProgress = 60,
    /// The broker gives no delegation tokens.
    DelegationTokenAuthDisabled = 61,
    /// A client that shows no principal of its own asks for a delegation token.
    DelegationTokenRequestNotAllowed = 64,
    /// The group has members.
    NonEmptyGroup = 68,
    /// There is no such group.
    GroupIdNotFound = 69,
    /// There is no such fetch session.
    FetchSessionIdNotFound = 70,
    /// It is another request's turn in the fetch session.
    InvalidFetchSessionEpoch = 71,
    /// The leader has no listener of that name.
    ListenerNotFound = 72,
    /// `delete.topic.enable` is false.
    TopicDeletionDisabled = 73,
    /// The client knows an older leader of the partition.
    FencedLeaderEpoch = 74,
    /// The client knows a newer leader of the partition.
    UnknownLeaderEpoch = 75,
    /// The request's version cannot carry this compression.
    UnsupportedCompressionType = 76,
    /// The broker has begun anew meanwhile.
    StaleBrokerEpoch = 77,
    /// The new leader does not know the high watermark yet.
    OffsetNotAvailable = 78,
    /// The member joins again with the id given here.
    MemberIdRequired = 79,
    /// The preferred leader is not there.
    PreferredLeaderNotAvailable = 80,
    /// The group has `group.max.size` members.
    GroupMaxSizeReached = 81,
    /// Another member has this instance id now.
    FencedInstanceId = 82,
    /// No replica may lead.
    EligibleLeadersNotAvailable = 83,
    /// The leader is the one that was wanted.
    ElectionNotNeeded = 84,
    /// No replicas are being changed.
    NoReassignmentInProgress = 85,
    /// The group is subscribed to the topic.
    GroupSubscribedToTopic = 86,
    /// A record contradicts the format or the topic's configuration.
    InvalidRecord = 87,
    /// A transaction is about to commit offsets.
    UnstableOffsetCommit = 88,
    /// The quota is used up; nothing was done.
    ThrottlingQuotaExceeded = 89,
    /// Another producer has this transactional id now.
    ProducerFenced = 90,
    /// There is no such resource.
    ResourceNotFound = 91,
    /// The resource is named twice.
    DuplicateResource = 92,
    /// The credential is outside of the limits.
    UnacceptableCredential = 93,
    /// The voters are others.
    InconsistentVoterSet = 94,
    /// The feature level cannot be set to this.
    InvalidUpdateVersion = 95,
    /// The features could not be set.
    FeatureUpdateFailed = 96,
    /// There is no such snapshot.
    SnapshotNotFound = 98,
    /// There is no topic of that id.
    UnknownTopicId = 100,
    /// The topic has another id now.
    InconsistentTopicId = 103,
    /// There is no such transactional id.
    TransactionalIdNotFound = 105,
    /// The fetch session names topics in another way.
    FetchSessionTopicIdError = 106,
    /// The replica may not be in sync.
    IneligibleReplica = 107,
    /// A new leader was appointed by the request.
    NewLeaderElected = 108,
    /// The offset is in tiered storage.
    OffsetMovedToTieredStorage = 109,
    /// The member's epoch is over.
    FencedMemberEpoch = 110,
    /// The instance id is still in use.
    UnreleasedInstanceId = 111,
    /// The broker has no such assignor.
    UnsupportedAssignor = 112,
    /// The member's epoch is not the present one.
    StaleMemberEpoch = 113,
    /// The request went to an endpoint of the other type.
    MismatchedEndpointType = 114,
    /// There are no endpoints of this type.
    UnsupportedEndpointType = 115,
    /// There is no such subscription.
    UnknownSubscriptionId = 117,
    /// The telemetry is too long.
    TelemetryTooLarge = 118,
    /// The transaction can only be aborted.
    TransactionAbortable = 120,
    /// The record is not in a state for this acknowledgement.
    InvalidRecordState = 121,
    /// There is no such share session.
    ShareSessionNotFound = 122,
    /// It is another request's turn in the share session.
    InvalidShareSessionEpoch = 123,
    /// The state's epoch is over.
    FencedStateEpoch = 124,
    /// The regular expression cannot be read.
    InvalidRegularExpression = 128,
    /// The client has to begin anew with its bootstrap servers.
    RebootstrapRequired = 129,
    /// There are as many share sessions as there may be.
    ShareSessionLimitReached = 133,
}

impl ErrorCode {
    /// All of them, by their codes.
    const ALL: &'static [Self] = &[
        Self::UnknownServerError,
        Self::None,
        Self::OffsetOutOfRange,
        Self::CorruptMessage,
        Self::UnknownTopicOrPartition,
        Self::LeaderNotAvailable,
        Self::NotLeaderOrFollower,
        Self::RequestTimedOut,
        Self::BrokerNotAvailable,
        Self::ReplicaNotAvailable,
        Self::MessageTooLarge,
        Self::OffsetMetadataTooLarge,
        Self::CoordinatorLoadInProgress,
        Self::CoordinatorNotAvailable,
        Self::NotCoordinator,
        Self::InvalidTopic,
        Self::RecordListTooLarge,
        Self::NotEnoughReplicas,
        Self::NotEnoughReplicasAfterAppend,
        Self::InvalidRequiredAcks,
        Self::IllegalGeneration,
        Self::InconsistentGroupProtocol,
        Self::InvalidGroupId,
        Self::UnknownMemberId,
        Self::InvalidSessionTimeout,
        Self::RebalanceInProgress,
        Self::TopicAuthorizationFailed,
        Self::GroupAuthorizationFailed,
        Self::ClusterAuthorizationFailed,
        Self::InvalidTimestamp,
        Self::UnsupportedSaslMechanism,
        Self::IllegalSaslState,
        Self::UnsupportedVersion,
        Self::TopicAlreadyExists,
        Self::InvalidPartitions,
        Self::InvalidReplicationFactor,
        Self::InvalidReplicaAssignment,
        Self::InvalidConfig,
        Self::NotController,
        Self::InvalidRequest,
        Self::UnsupportedForMessageFormat,
        Self::PolicyViolation,
        Self::OutOfOrderSequenceNumber,
        Self::DuplicateSequenceNumber,
        Self::InvalidProducerEpoch,
        Self::InvalidTxnState,
        Self::InvalidProducerIdMapping,
        Self::InvalidTransactionTimeout,
        Self::ConcurrentTransactions,
        Self::TransactionCoordinatorFenced,
        Self::TransactionalIdAuthorizationFailed,
        Self::SecurityDisabled,
        Self::OperationNotAttempted,
        Self::KafkaStorageError,
        Self::LogDirNotFound,
        Self::SaslAuthenticationFailed,
        Self::UnknownProducerId,
        Self::ReassignmentInProgress,
        Self::DelegationTokenAuthDisabled,
        Self::DelegationTokenRequestNotAllowed,
        Self::NonEmptyGroup,
        Self::GroupIdNotFound,
        Self::FetchSessionIdNotFound,
        Self::InvalidFetchSessionEpoch,
        Self::ListenerNotFound,
        Self::TopicDeletionDisabled,
        Self::FencedLeaderEpoch,
        Self::UnknownLeaderEpoch,
        Self::UnsupportedCompressionType,
        Self::StaleBrokerEpoch,
        Self::OffsetNotAvailable,
        Self::MemberIdRequired,
        Self::PreferredLeaderNotAvailable,
        Self::GroupMaxSizeReached,
        Self::FencedInstanceId,
        Self::EligibleLeadersNotAvailable,
        Self::ElectionNotNeeded,
        Self::NoReassignmentInProgress,
        Self::GroupSubscribedToTopic,
        Self::InvalidRecord,
        Self::UnstableOffsetCommit,
        Self::ThrottlingQuotaExceeded,
        Self::ProducerFenced,
        Self::ResourceNotFound,
        Self::DuplicateResource,
        Self::UnacceptableCredential,
        Self::InconsistentVoterSet,
        Self::InvalidUpdateVersion,
        Self::FeatureUpdateFailed,
        Self::SnapshotNotFound,
        Self::UnknownTopicId,
        Self::InconsistentTopicId,
        Self::TransactionalIdNotFound,
        Self::FetchSessionTopicIdError,
        Self::IneligibleReplica,
        Self::NewLeaderElected,
        Self::OffsetMovedToTieredStorage,
        Self::FencedMemberEpoch,
        Self::UnreleasedInstanceId,
        Self::UnsupportedAssignor,
        Self::StaleMemberEpoch,
        Self::MismatchedEndpointType,
        Self::UnsupportedEndpointType,
        Self::UnknownSubscriptionId,
        Self::TelemetryTooLarge,
        Self::TransactionAbortable,
        Self::InvalidRecordState,
        Self::ShareSessionNotFound,
        Self::InvalidShareSessionEpoch,
        Self::FencedStateEpoch,
        Self::InvalidRegularExpression,
        Self::RebootstrapRequired,
        Self::ShareSessionLimitReached,
    ];

    /// As responses carry it.
    #[must_use]
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// The error of a code, if this crate knows it.
    #[must_use]
    pub fn of(code: i16) -> Option<Self> {
        let place = Self::ALL.binary_search_by_key(&code, |error| error.code()).ok()?;
        Self::ALL.get(place).copied()
    }

    /// The name that Kafka's documentation has for it.
    #[must_use]
    pub fn name(self) -> alloc::string::String {
        if self == Self::InvalidTopic {
            return "INVALID_TOPIC_EXCEPTION".into();
        }
        let mut name = alloc::string::String::new();
        for letter in alloc::format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_protocol() {
        let codes = [
            ErrorCode::UnknownServerError,
            ErrorCode::None,
            ErrorCode::CorruptMessage,
            ErrorCode::InvalidRecord,
        ];
        assert_eq!(codes.map(ErrorCode::code), [-1, 0, 2, 87]);
        assert!(ErrorCode::ALL.is_sorted_by_key(|error| error.code()));
        assert_eq!(
            [-1, 2, 87, 4].map(ErrorCode::of),
            [
                Some(ErrorCode::UnknownServerError),
                Some(ErrorCode::CorruptMessage),
                Some(ErrorCode::InvalidRecord),
                None
            ]
        );
        assert_eq!(ErrorCode::UnknownTopicOrPartition.name(), "UNKNOWN_TOPIC_OR_PARTITION");
    }
}
