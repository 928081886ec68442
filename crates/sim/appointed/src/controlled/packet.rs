//! What is on its way.

use replication_appointed::{Append, Appended, Diverged, Refused, ReplicaId};
use replication_controller::{Change, Effect, Event, PartitionId, ProposalId, Written};

use crate::disk::Entry;

/// The number of a controller's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ControllerId(pub(super) u32);

/// What is on its way.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    /// From a controller to a node.
    ToNode(ControllerId, ReplicaId, Effect),
    /// From a node to a controller.
    ToController(ReplicaId, ControllerId, Event),
    /// From the configuration to a controller.
    Answer(ControllerId, Event),
    /// To the configuration.
    Propose(ControllerId, ProposalId, Vec<Change>),
    /// To the configuration.
    Read(ControllerId, Vec<PartitionId>),
    /// From a leader to the configuration: its node, and the process of that.
    Write(ReplicaId, u64, Box<Change>),
    /// From the configuration to a leader.
    Wrote(ReplicaId, u64, PartitionId, Written),
    /// From one replica to another.
    Replica(PartitionId, ReplicaId, ReplicaId, Body),
}

/// From one replica to another.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Append(Append, Vec<Entry>),
    Appended(Appended),
    Diverged(Diverged),
    Refused(Refused),
}
