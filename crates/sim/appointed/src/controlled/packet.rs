//! What is on its way.

use replication_appointed::{Append, Epoch, ReplicaId};
use replication_controller::{Change, Effect, Event, Known, PartitionId, ProposalId, Written};
/// The number of a controller's process.
pub(super) use replication_node::ControllerId;
use replication_node::Reply;

use crate::disk::Entry;

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
    /// From a node to the configuration: its process, and what it reads.
    NodeRead(ReplicaId, u64, Vec<PartitionId>),
    /// From the configuration to a node: a record, or that there is none.
    NodeAnswer(ReplicaId, u64, PartitionId, Option<Box<Known>>),
    /// A copy that a node's process wanted is there, with that promise.
    Created(ReplicaId, u64, PartitionId, Epoch),
    /// From one replica to another.
    Replica(PartitionId, ReplicaId, ReplicaId, Body),
}

/// From one replica to another.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Append(Append, Vec<Entry>),
    Reply(Reply),
}
