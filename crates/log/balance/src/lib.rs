//! Where the replicas and leaders of a cluster of Kafka's protocol should be: what was measured, in the terms of topics and
//! brokers, becomes a [`Proposal`] by [`replication_planner`].
//!
//! Nothing here asks a broker or changes one. Who has measured a cluster gives a [`Snapshot`]; who takes the proposal carries
//! out its [`Change`]s as reassignments, those of one stage before those of the next.
//!
//! [`Balancer`] does without a person what [`propose`] does for one: at the end of each window of time it is shown a [`Snapshot`] and
//! says which changes begin now, and [`Look`] says why. [`Meter`] makes rates of what a broker counts.
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
//!
//! # Not done, and what that costs
//! - CPU time is not known by partition: a request counts as a number of bytes instead.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod balancer;
mod loads;
mod plan;
mod proposal;
mod rates;
mod report;
mod snapshot;

pub use balancer::{Balancer, Look, Scope};
pub use loads::{BrokerRoom, Loads};
pub use plan::propose;
pub use proposal::{Change, Level, Proposal};
pub use rates::{Counters, Meter, Rates};
pub use replication_planner::{Outcome, Settings};
pub use report::{Report, ReportedChange, ReportedLevel};
pub use snapshot::{BrokerLoad, PartitionLoad, Snapshot, SnapshotError};
