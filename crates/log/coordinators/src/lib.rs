//! The coordinator of Kafka's consumer groups: which members a group has, who owns which generation, and which offsets were
//! committed. One [`GroupCoordinator`] serves one partition of the internal compacted topic.
//!
//! It is a deterministic machine. Requests, time and the fate of its appends go in; records to append and answers come out.
//! An answer is withheld until every append that it may depend on is durable. A refused append leaves the table as a
//! replay of the durable records gives it. It knows no frame, no socket, and not which topics exist.
//!
//! # Not done, and what that costs
//! - Transactional offsets and the transaction coordinator: `sendOffsetsToTransaction` and transactions cannot be served.
//! - Groups of KIP-848: clients with `group.protocol=consumer` cannot join.
//! - A record has our own form, not that of Kafka's `__consumer_offsets`: tools that read that topic see nothing they know.
//! - `retention_time_ms` of OffsetCommit 2 to 4 is ignored: `offsets.retention.minutes` holds for all.
//! - A heartbeat costs time in proportion to its group's members, and a check of retention reads the whole table.
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
