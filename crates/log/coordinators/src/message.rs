//! Requests to a group coordinator and its answers, without the form of any version of the wire.

use log_partition::Marker;
use log_wire::ErrorCode;

use crate::{
    Blob, ConsumerGroupDescription, ConsumerHeartbeat, ConsumerHeartbeatAnswer, Generation, Offset, Producer,
    Text, Topic, TransactionGuard,
};

/// Who speaks, in the name of which group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRef {
    /// The group.
    pub group: Text,
    /// The member id; empty if there is none yet.
    pub member: Text,
    /// The id of a static member (KIP-345).
    pub instance: Option<Text>,
    /// The generation that the member believes in; of a member of KIP-848, its epoch.
    pub generation: Generation,
}

/// JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Join {
    /// Who joins. The generation means nothing.
    pub who: MemberRef,
    /// The version of the request: from 4 on, a new member is sent back with an id; from 9 on, KIP-814 holds.
    pub version: i16,
    /// The client's own name for itself.
    pub client_id: Text,
    /// The client's address.
    pub client_host: Text,
    /// How long the member may be silent.
    pub session_timeout_ms: u64,
    /// How long a rebalance waits for the member.
    pub rebalance_timeout_ms: u64,
    /// The kind of group, such as `consumer` or `connect`.
    pub protocol_type: Text,
    /// Protocols and the metadata for each, the preferred protocol first.
    pub protocols: Vec<(Text, Blob)>,
}

/// SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sync {
    /// Who asks.
    pub who: MemberRef,
    /// The protocol type and the protocol that the member believes in; versions below 5 do not say.
    pub protocol: Option<(Text, Text)>,
    /// From the leader: the assignment of each member.
    pub assignments: Vec<(Text, Blob)>,
}

/// LeaveGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leave {
    /// The group.
    pub group: Text,
    /// Member ids, or empty ids and instance ids.
    pub members: Vec<(Text, Option<Text>)>,
}

/// An offset to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOffset {
    /// The topic.
    pub topic: Topic,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: Offset,
    /// The leader epoch of the last record that was consumed, or -1.
    pub leader_epoch: i32,
    /// Text of the client's own.
    pub metadata: Text,
}

/// OffsetCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCommit {
    /// Who commits.
    pub who: MemberRef,
    /// The version of the request: from 9 on, it knows GROUP_ID_NOT_FOUND.
    pub version: i16,
    /// What is committed.
    pub offsets: Vec<NewOffset>,
}

/// TxnOffsetCommit. The caller has asked the transaction's coordinator that this partition takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOffsetCommit {
    /// Who commits; without a member, the group is not asked (KIP-447).
    pub who: MemberRef,
    /// The producer of the transaction.
    pub producer: Producer,
    /// Taken before the transaction's coordinator was asked.
    pub guard: TransactionGuard,
    /// What is committed.
    pub offsets: Vec<NewOffset>,
}

/// OffsetFetch of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetFetch {
    /// The group.
    pub group: Text,
    /// The partitions, or nothing for all.
    pub partitions: Option<Vec<(Topic, i32)>>,
    /// A partition for which a transaction is to commit an offset answers UNSTABLE_OFFSET_COMMIT.
    pub require_stable: bool,
    /// The member that asks, and its epoch, from version 9 on; nothing if the request names no member and its epoch is below 0.
    pub member: Option<(Text, i32)>,
}

/// What a client, or the broker itself, asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// JoinGroup.
    Join(Join),
    /// SyncGroup.
    Sync(Sync),
    /// Heartbeat.
    Heartbeat(MemberRef),
    /// LeaveGroup.
    Leave(Leave),
    /// OffsetCommit.
    Commit(OffsetCommit),
    /// TxnOffsetCommit.
    TxnCommit(TxnOffsetCommit),
    /// The marker of a transaction for this partition.
    EndTransaction(Marker),
    /// OffsetFetch of one or many groups.
    Fetch(Vec<OffsetFetch>),
    /// OffsetDelete: a group and partitions.
    DeleteOffsets(Text, Vec<(Topic, i32)>),
    /// DescribeGroups.
    Describe(Vec<Text>),
    /// ConsumerGroupHeartbeat.
    ConsumerHeartbeat(ConsumerHeartbeat),
    /// ConsumerGroupDescribe.
    ConsumerDescribe(Vec<Text>),
    /// ListGroups, of these states; none means all. The caller filters by type.
    List(Vec<Text>),
    /// DeleteGroups.
    DeleteGroups(Vec<Text>),
    /// The broker has deleted these topics.
    TopicsDeleted(Vec<Topic>),
}

impl Request {
    /// How many things a client names in it.
    pub(crate) fn names(&self) -> usize {
        match self {
            Self::Join(join) => join.protocols.len(),
            Self::Sync(sync) => sync.assignments.len(),
            Self::Leave(leave) => leave.members.len(),
            Self::Commit(commit) => commit.offsets.len(),
            Self::TxnCommit(commit) => commit.offsets.len(),
            Self::Fetch(groups) => {
                let of_group = |fetch: &OffsetFetch| fetch.partitions.as_ref().map_or(0, Vec::len);
                groups.len() + groups.iter().map(of_group).sum::<usize>()
            }
            Self::DeleteOffsets(_, partitions) => partitions.len(),
            Self::Describe(names)
            | Self::ConsumerDescribe(names)
            | Self::List(names)
            | Self::DeleteGroups(names) => names.len(),
            Self::ConsumerHeartbeat(heartbeat) => heartbeat.names(),
            Self::Heartbeat(_) | Self::TopicsDeleted(_) | Self::EndTransaction(_) => 0,
        }
    }
}

/// A member as the leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// Its id.
    pub member: Text,
    /// Its instance id.
    pub instance: Option<Text>,
    /// Its metadata for the protocol that was chosen.
    pub metadata: Blob,
}

/// The member is in the generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The generation.
    pub generation: Generation,
    /// The protocol type.
    pub protocol_type: Text,
    /// The protocol that was chosen.
    pub protocol: Text,
    /// The leader's member id.
    pub leader: Text,
    /// The member's own id.
    pub member: Text,
    /// All members, for the leader only.
    pub members: Vec<JoinedMember>,
    /// The leader does not assign: the assignment is that of before (KIP-814).
    pub skip_assignment: bool,
}

/// The member's assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The protocol type.
    pub protocol_type: Text,
    /// The protocol.
    pub protocol: Text,
    /// What the leader gave to this member.
    pub assignment: Blob,
}

/// A committed offset, or [`Offset::NONE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The topic.
    pub topic: Topic,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: Offset,
    /// The leader epoch that was committed with it.
    pub leader_epoch: i32,
    /// The text that was committed with it.
    pub metadata: Text,
    /// UNSTABLE_OFFSET_COMMIT, or none.
    pub error: ErrorCode,
}

/// The offsets of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOffsets {
    /// The group.
    pub group: Text,
    /// UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION for the member that asks; there are no offsets then.
    pub error: ErrorCode,
    /// Its offsets.
    pub offsets: Vec<CommittedOffset>,
}

/// A member as DescribeGroups shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDescription {
    /// Its id.
    pub member: Text,
    /// Its instance id.
    pub instance: Option<Text>,
    /// Its client id.
    pub client_id: Text,
    /// Its address.
    pub client_host: Text,
    /// Its metadata for the chosen protocol.
    pub metadata: Blob,
    /// Its assignment.
    pub assignment: Blob,
}

/// A group as DescribeGroups shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDescription {
    /// The group.
    pub group: Text,
    /// GROUP_ID_NOT_FOUND for an unknown group, and for one that is not classic.
    pub error: ErrorCode,
    /// The state, by Kafka's name.
    pub state: &'static str,
    /// The protocol type; empty if none.
    pub protocol_type: Text,
    /// The protocol; empty if none.
    pub protocol: Text,
    /// Its members.
    pub members: Vec<MemberDescription>,
}

/// A group as ListGroups shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupListing {
    /// The group.
    pub group: Text,
    /// The protocol type; empty if none.
    pub protocol_type: Text,
    /// The state, by Kafka's name.
    pub state: &'static str,
    /// The type, by Kafka's name: `classic` or `consumer`.
    pub group_type: &'static str,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The whole request failed.
    Failed(ErrorCode),
    /// Heartbeat, EndTransaction and TopicsDeleted: done.
    Done,
    /// JoinGroup: join again with this id (MEMBER_ID_REQUIRED).
    MemberIdRequired(Text),
    /// JoinGroup.
    Joined(Joined),
    /// SyncGroup.
    Synced(Synced),
    /// An error code for each part, in the request's order: LeaveGroup, OffsetCommit, TxnOffsetCommit, OffsetDelete, DeleteGroups.
    Each(Vec<ErrorCode>),
    /// OffsetFetch.
    Offsets(Vec<GroupOffsets>),
    /// DescribeGroups.
    Described(Vec<GroupDescription>),
    /// ConsumerGroupHeartbeat.
    ConsumerHeartbeat(ConsumerHeartbeatAnswer),
    /// ConsumerGroupDescribe.
    ConsumerDescribed(Vec<ConsumerGroupDescription>),
    /// ListGroups.
    Listed(Vec<GroupListing>),
}

/// Whether a client only asks again after that.
pub(crate) const fn asks_again(error: ErrorCode) -> bool {
    matches!(
        error,
        ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::NotCoordinator
            | ErrorCode::RebalanceInProgress
            | ErrorCode::ConcurrentTransactions
    )
}
