//! Share groups (KIP-932): queues on top of partitions. Many members take records of the same partition, each record goes to
//! one of them at a time, and every record is accepted, released, rejected or renewed on its own.
//!
//! Four deterministic machines, which know no frame and no socket:
//! - [`SharePartition`]: which records of a partition a group has taken, finished or may take. It lives with the leader of the
//!   topic's partition.
//! - [`ShareCoordinator`]: the durable state of share partitions, as records of one partition of `__share_group_state`. It
//!   lives with the leader of that partition, which may be another broker: share partitions reach it by [`StateRequest`]
//!   and [`StateAnswer`] only.
//! - [`ShareGroup`]: the members of a group and what each is assigned.
//! - [`ShareSessions`]: which partitions a member fetches, without naming them in every request.
//!
//! # Invariants
//! - An acknowledgement is answered only when the update that carries it is durable. A refused update makes the share
//!   partition forget everything and read its durable state again.
//! - A record that was accepted or rejected, and answered so, is never given to anybody again.
//! - With dead letters, a record that is not delivered any more is archived when its letter is durable, and not before.
//! - A record that is not finished is given to somebody again, after its lock is over at the latest.
//!
//! # Not done, and what that costs
//! - Members are not durable. After a change of the coordinator each member is told UNKNOWN_MEMBER_ID once and joins again.
//! - What is taken is not durable, as in Kafka: after a crash a record may be delivered once more than it is counted.
//! - The records of `__share_group_state` have our own form, not Kafka's.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod assignor;
mod codec;
mod coordinator;
mod group;
mod partition;
mod runs;
mod session;
mod state;

pub use coordinator::{ShareCoordinator, StateAnswer, StateEffect, StateRequest};
pub use group::{
    ShareGroup, ShareGroupDescription, ShareHeartbeat, ShareHeartbeatAnswer, ShareMemberDescription,
    ShareMemberLimits,
};
pub use partition::{
    Acknowledgement, AcquireTerms, Acquired, DeadLetters, Fate, LogBatch, Release, ShareLimits,
    SharePartition,
};
pub use session::{SessionEpoch, SessionKey, ShareSessions};
pub use state::{DeadReason, DeliveryState, ShareKey, ShareState, StateBatch, StateSummary, StateUpdate};
