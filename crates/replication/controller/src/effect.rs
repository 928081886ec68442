//! What the owner of a controller is to do.

use replication_appointed::{Epoch, ReplicaId};

use crate::ids::{PartitionId, ProposalId, Version};
use crate::record::Record;

/// What the owner of a controller is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask a node to promise epochs. It answers with [`Event::Promised`](crate::Event::Promised).
    SendFence {
        /// The node.
        node: ReplicaId,
        /// For which partitions.
        fences: Vec<FenceRequest>,
    },
    /// Tell a node what the configuration says. It answers with [`Event::Reported`](crate::Event::Reported).
    Tell {
        /// The node.
        node: ReplicaId,
        /// What it says.
        known: Vec<Known>,
    },
    /// Ask a leader for something.
    Ask {
        /// Its node.
        node: ReplicaId,
        /// For what.
        tasks: Vec<Task>,
    },
    /// Write all of this into the configuration, or none of it. It is answered with [`Event::Proposed`](crate::Event::Proposed).
    Propose {
        /// Its number.
        id: ProposalId,
        /// What is to be written.
        changes: Vec<Change>,
    },
    /// Read the newest records, each of which is answered with [`Event::Configured`](crate::Event::Configured) or
    /// [`Event::Removed`](crate::Event::Removed). The read must see all writes that were answered before it began.
    Read {
        /// Of these partitions.
        partitions: Vec<PartitionId>,
    },
}

/// A promise that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceRequest {
    /// Of which partition.
    pub partition: PartitionId,
    /// Which epoch.
    pub epoch: Epoch,
}

/// What the configuration says of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The partition.
    pub partition: PartitionId,
    /// The version.
    pub version: Version,
    /// What it says.
    pub record: Record,
}

/// A change of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Of which partition.
    pub partition: PartitionId,
    /// Only if this is still the version.
    pub version: Version,
    /// The record.
    pub record: Record,
}

/// What a leader is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The partition.
    pub partition: PartitionId,
    /// Only if it leads this epoch.
    pub epoch: Epoch,
    /// For what.
    pub work: Work,
}

/// What a leader is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// To write this record, once the new voters have caught up and
    /// [`Replica::are_voters_ready`](replication_appointed::Replica::are_voters_ready) says so, and to go on under it.
    Change {
        /// Only if this is still the version.
        version: Version,
        /// The record. Its epoch is the leader's next.
        record: Box<Record>,
    },
    /// To append nothing for a while, to wait until that replica's disk has everything, and to answer with
    /// [`Event::Prepared`](crate::Event::Prepared).
    HandOver {
        /// The next leader.
        to: ReplicaId,
    },
}
