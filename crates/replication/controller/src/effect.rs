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
    /// Write these changes into the configuration, each only if its partition still has the version that it names. It is answered
    /// with one [`Event::Proposed`](crate::Event::Proposed), which has a result for each change, in their order.
    ///
    /// The changes do not depend on each other, because the invariants of the controller are about one partition each. So the owner
    /// may write the batch in parts, for instance group by group: one change may be [`Written::Yes`](crate::Written::Yes) while
    /// another one is a [`Written::Conflict`](crate::Written::Conflict).
    /// The batch is an optimisation, as many changes in one write as the store takes. What the controller relies on is this:
    /// - `Yes` is told only of a change that is written with the next version, and durable;
    /// - `Conflict` and [`Written::Untried`](crate::Written::Untried) are told only of a change that is not written and never will
    ///   be. The controller reads the record after a conflict, and judges the partition at once after `Untried`;
    /// - [`Written::Unknown`](crate::Written::Unknown) is told of anything else. The controller reads the record;
    /// - the answer comes within [`Settings::proposal_ms`](crate::Settings::proposal_ms). A later one is ignored, and all of its
    ///   changes are read, so a part that is not answered in time is told as `Unknown` with the results of the others.
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
