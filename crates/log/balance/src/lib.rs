//! Where the replicas and leaders of a cluster of Kafka's protocol should be: what was measured, in the terms of topics and
//! brokers, becomes a [`Proposal`] by [`replication_planner`].
//!
//! Nothing here asks a broker or changes one. Who has measured a cluster gives a [`Snapshot`]; who takes the proposal carries
//! out its [`Change`]s as reassignments, those of one stage before those of the next.
//!
//! # What is proposed
//! Brokers that use much more than their part of the disk or the network are relieved, and in a cluster in which little happens the
//! numbers of leaders and replicas are made even. Replicas of a partition stay in as many racks as they can be in. A change of
//! leader among the replicas copies nothing and is preferred to a move. No change leaves a partition with fewer replicas than it has.
//!
//! # Invariants
//! - A change has as many replicas as the partition had, all of them on brokers of the snapshot, none twice, the leader first.
//! - A partition that is being moved, or has no leader, stays as it is.
//! - Nothing is proposed while a broker is away that has replicas: what it has cannot be weighed, and it may come back.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod plan;
mod proposal;
mod snapshot;

pub use plan::propose;
pub use proposal::{Change, Level, Proposal};
pub use replication_planner::Settings;
pub use snapshot::{BrokerLoad, PartitionLoad, Snapshot, SnapshotError};
