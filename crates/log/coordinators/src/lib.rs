//! Kafka's coordinators. One [`GroupCoordinator`] serves one partition of the internal topic of groups: which members a group
//! has, who owns which generation, which offsets were committed, and which an open transaction will commit. One
//! [`TransactionCoordinator`] serves one partition of the internal topic of transactions: which producer may act for a
//! transactional id, what takes part in its transaction, and how that ends.
//!
//! Both are deterministic machines. Requests, time and the fate of their appends go in; records to append, answers and
//! transaction markers come out. An answer or a marker is withheld until every append that it may depend on is durable. A
//! refused append leaves the table as a replay of the durable records gives it. They know no frame, no socket, and not which
//! topics exist.
//!
//! # Not done, and what that costs
//! - Groups of KIP-848: clients with `group.protocol=consumer` cannot join.
//! - Two-phase commit of KIP-939: a transaction without a timeout cannot be had.
//! - ListTransactions cannot filter by a pattern of transactional ids (version 2): the caller has to.
//! - A record has our own form, not that of Kafka's `__consumer_offsets` and `__transaction_state`: tools that read these
//!   topics see nothing they know.
//! - `retention_time_ms` of OffsetCommit 2 to 4 is ignored: `offsets.retention.minutes` holds for all.
//! - A heartbeat costs time in proportion to its group's members. A check of retention or expiration reads the whole table, and
//!   each addition to a transaction writes all its participants again.
//! - Under transaction version 1 a late copy of EndTxn or of a marker cannot be told from that of the next transaction under the
//!   same epoch. The caller has to keep the order of a connection, and has to know that a marker is not under way any more
//!   before it reports it as not written.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod clock;
mod codec;
mod coordinator;
mod group;
mod ids;
mod journal;
mod limits;
mod message;
mod offsets;
mod pending;
mod transactions;

pub use codec::Damaged;
pub use coordinator::{Effect, GroupCoordinator};
pub use ids::{Blob, Generation, Offset, Seq, Text, Ticket, Topic, TransactionGuard};
pub use journal::Record;
pub use limits::GroupLimits;
pub use message::{
    Answer, CommittedOffset, GroupDescription, GroupListing, GroupOffsets, Join, Joined, JoinedMember, Leave,
    MemberDescription, MemberRef, NewOffset, OffsetCommit, OffsetFetch, Request, Sync, Synced,
    TxnOffsetCommit,
};
pub use transactions::{
    AddPartitions, EndTransaction, InitProducerId, MarkerOutcome, MarkersId, Participant, Producer,
    TransactionAnswer, TransactionCoordinator, TransactionDescription, TransactionEffect, TransactionFilter,
    TransactionLimits, TransactionListing, TransactionRef, TransactionRequest, VerifyPartitions,
    WriteMarkers,
};
