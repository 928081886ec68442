//! Kafka's coordinators. One [`GroupCoordinator`] serves one partition of the internal topic of groups: which members a group
//! has, who owns which generation or epoch, which offsets were committed, and which an open transaction will commit. One
//! [`TransactionCoordinator`] serves one partition of the internal topic of transactions: which producer may act for a
//! transactional id, what takes part in its transaction, and how that ends.
//!
//! Both are deterministic machines. Requests, time and the fate of their appends go in; records to append, answers and
//! transaction markers come out. An answer or a marker is withheld until every append that it may depend on is durable. A
//! refused append leaves the table as a replay of the durable records gives it. They know no frame and no socket.
//!
//! # Groups
//! A group is classic, or a consumer group (KIP-848); a share group would be a third kind in `group.rs`. A classic group waits
//! for its members, and its leader assigns. A consumer group waits for nobody: the coordinator computes a target, and leads each
//! member to it by the member's own heartbeats. A partition goes to a member only when nobody else may own it.
//!
//! Members of both protocols may be in a consumer group. A classic group becomes one when a member of KIP-848 joins, and a
//! consumer group becomes classic when the last one has left, as [`MigrationPolicy`] says. Empty groups follow whoever joins.
//!
//! # What a caller does for consumer groups
//! - It gives each call of [`GroupCoordinator::handle`] the topics that the client may see: a view of its own table, by
//!   [`Topics`]. Of it, the coordinator looks up what its groups subscribe to. Regular expressions are matched against
//!   [`Topics::each`], so a client that may not describe a topic does not get it. Nothing has to be called when topics
//!   change: [`Topics::version`] says so with the next heartbeat.
//! - It tells the settings of a group to its coordinator by [`GroupCoordinator::configure`], before
//!   [`GroupCoordinator::loaded`] and whenever they change. [`GroupConfig::check`] says whether a client may set them.
//! - [`Request::ConsumerHeartbeat`] and [`Request::ConsumerDescribe`] are APIs 68 and 69. Error messages are the caller's.
//!   A rebalance timeout of -1 is nothing; other absent fields are nothing too. An assignment that is nothing is null.
//! - OffsetCommit gives the member epoch as the generation, and the topics' ids. OffsetFetch from version 9 on names the member
//!   and its epoch in [`OffsetFetch::member`], unless the member id is null and the epoch below 0.
//! - ListGroups: each [`GroupListing`] has its type; the caller filters by it. DescribeGroups below version 6 turns
//!   GROUP_ID_NOT_FOUND into no error.
//!
//! # What differs from Kafka 4.3.1 on purpose
//! - Topics are matched with the member's heartbeat that brings an expression, not behind it: it is assigned at once.
//! - When an empty group changes its type, its epoch or generation goes on and does not begin anew: a commit of a member from
//!   before cannot take effect (L49, L50).
//! - A consumer group that becomes classic always rebalances. Kafka does not if nothing is to change, and leaves a group without
//!   a leader that looks after topics.
//! - A classic member that is unknown in a consumer group, and says that it owns partitions, is told UNKNOWN_MEMBER_ID: it was
//!   removed, and what it owns may be another's (L48). Kafka takes it in.
//! - When a classic group becomes a consumer group, a member may still own what it said in its last JoinGroup, not only what it
//!   was assigned (L48).
//! - A static member of a classic group that starts anew while it had to give up partitions rebalances (L53).
//! - Offsets of an empty consumer group expire when it has been empty for the retention time, not after the last commit (L55).
//!
//! # Not done, and what that costs
//! - Racks have no effect on assignments.
//! - The assignors are `uniform` and `range`. One of the operator's own cannot be added.
//! - A heartbeat of KIP-848 has no number. One that was sent before the member got a partition, and that arrives when the
//!   partition is to be taken away again within the same epoch, cannot be told from a confirmation. So it is in Kafka: the
//!   caller has to keep the order of a connection, and drop what is left of a closed one.
//! - Two-phase commit of KIP-939: a transaction without a timeout cannot be had.
//! - A record has our own form, not that of Kafka's `__consumer_offsets` and `__transaction_state`: tools that read these
//!   topics see nothing they know.
//! - `retention_time_ms` of OffsetCommit 2 to 4 is ignored: `offsets.retention.minutes` holds for all.
//! - A JoinGroup into a classic group costs time in proportion to the group's members, a change of a member's topics in proportion
//!   to the group's topics. The deletion of a topic reads the whole table, a check of expiration all producers, and each
//!   addition to a transaction writes all its participants again.
//! - Under transaction version 1 a late copy of EndTxn or of a marker cannot be told from that of the next transaction under the
//!   same epoch. The caller has to keep the order of a connection, and has to know that a marker is not under way any more
//!   before it reports it as not written.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod assignor;
mod classic;
mod clock;
mod codec;
#[cfg(test)]
mod codec_tests;
mod consumer;
mod consumer_message;
mod consumer_protocol;
mod conversion;
mod coordinator;
mod deadlines;
mod dispatch;
mod group;
mod group_config;
mod groups;
mod ids;
mod journal;
mod limits;
mod listing;
mod message;
mod offsets;
mod pattern;
mod pending;
mod retention;
mod stored_consumer;
mod topics;
mod transactions;
mod turn;

pub use assignor::Assignor;
pub use codec::Damaged;
pub use consumer_message::{
    ConsumerGroupDescription, ConsumerHeartbeat, ConsumerHeartbeatAnswer, ConsumerMemberDescription,
    NamedPartitions,
};
pub use coordinator::{Effect, GroupCoordinator};
pub use group_config::{GroupConfig, InvalidGroupConfig};
pub use ids::{
    Blob, Epoch, Generation, Offset, Partitions, Seq, Text, Ticket, Topic, TopicId, TransactionGuard,
};
pub use journal::Record;
pub use limits::{ConsumerLimits, GroupLimits, MigrationPolicy};
pub use message::{
    Answer, CommittedOffset, GroupDescription, GroupListing, GroupOffsets, Join, Joined, JoinedMember, Leave,
    MemberDescription, MemberRef, NewOffset, OffsetCommit, OffsetFetch, Request, Sync, Synced,
    TxnOffsetCommit,
};
pub use pattern::{InvalidPattern, Pattern};
pub(crate) use retention::RetentionCheck;
pub use topics::Topics;
pub use transactions::{
    AddPartitions, EndTransaction, InitProducerId, MarkerOutcome, MarkersId, Participant, Producer,
    TransactionAnswer, TransactionCoordinator, TransactionDescription, TransactionEffect, TransactionFilter,
    TransactionLimits, TransactionListing, TransactionRef, TransactionRequest, VerifyPartitions,
    WriteMarkers,
};
