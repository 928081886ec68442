//! What a controller is told.

use replication_appointed::{Epoch, Position, Replica, ReplicaId};

use crate::effect::Known;
use crate::ids::{Incarnation, PartitionId, ProposalId, Version};

/// What a controller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A node has connected and said which process it is.
    Announced {
        /// The node.
        node: ReplicaId,
        /// The process. An older one than is known is ignored.
        incarnation: Incarnation,
    },
    /// Something came from a node.
    Heard {
        /// The node.
        node: ReplicaId,
    },
    /// The connection to a node broke.
    Broken {
        /// The node.
        node: ReplicaId,
    },
    /// A node wants to lead nothing, or again.
    Draining {
        /// The node.
        node: ReplicaId,
        /// Whether it drains.
        drains: bool,
    },
    /// A node will not come back. If it does, it announces itself.
    Gone {
        /// The node.
        node: ReplicaId,
    },
    /// The configuration says that, read or observed. An older version than is known is ignored.
    Configured(Box<Known>),
    /// The partition is gone.
    Removed {
        /// Which.
        partition: PartitionId,
    },
    /// What became of [`Effect::Propose`](crate::Effect::Propose).
    Proposed {
        /// Which one.
        id: ProposalId,
        /// Of each change, in their order.
        results: Vec<Written>,
    },
    /// A node answers [`Effect::SendFence`](crate::Effect::SendFence).
    Promised {
        /// The node.
        node: ReplicaId,
        /// Its answers.
        answers: Vec<FenceAnswer>,
    },
    /// What a node's replicas do.
    Reported {
        /// The node.
        node: ReplicaId,
        /// Its process.
        incarnation: Incarnation,
        /// What they do.
        reports: Vec<Report>,
    },
    /// Somebody at a node asks for acts ([`Controller`](crate::Controller) has the methods). One that is not possible is passed
    /// over: whoever has asked sees by the record what became of it.
    Acts {
        /// The node.
        node: ReplicaId,
        /// What is asked for.
        acts: Vec<Act>,
    },
    /// A leader appends nothing, and the replica `to` has everything that it has, durably.
    Prepared {
        /// The leader's node.
        node: ReplicaId,
        /// The partition.
        partition: PartitionId,
        /// Which the leader leads.
        epoch: Epoch,
        /// The next leader.
        to: ReplicaId,
    },
}

/// What somebody asks of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Of which partition.
    pub partition: PartitionId,
    /// What.
    pub kind: ActKind,
}

/// What somebody asks of the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActKind {
    /// [`Controller::hand_over`](crate::Controller::hand_over) to that replica.
    HandOver(ReplicaId),
    /// [`Controller::recover_with_loss`](crate::Controller::recover_with_loss).
    RecoverWithLoss,
}

/// What became of one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is written, with this version.
    Yes(Version),
    /// The record had another version.
    Conflict,
    /// It was not tried: another change of the batch, or of the part of it that is written whole or not at all, failed.
    Untried,
    /// The answer is lost.
    Unknown,
}

/// The answer for one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceAnswer {
    /// The partition.
    pub partition: PartitionId,
    /// The epoch that was asked for.
    pub epoch: Epoch,
    /// The answer.
    pub promise: Promise,
}

/// Whether a voter has promised an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// It has, durably, and its log has come so far.
    Given(Position),
    /// It has promised a higher one.
    Refused(Epoch),
}

/// What one replica does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Of which partition.
    pub partition: PartitionId,
    /// The version of the record that the node knows.
    pub version: Version,
    /// Its epoch, under which the node has tried to lead if it is to.
    pub epoch: Epoch,
    /// What it has promised.
    pub promised: Epoch,
    /// Whether it leads that epoch.
    pub leads: bool,
}

impl Report {
    /// What a replica of node `own` does, which knows that record.
    #[must_use]
    pub fn of(own: ReplicaId, known: &Known, replica: &Replica) -> Self {
        let (epoch, promised) = (known.record.config.epoch, replica.promised());
        let leads = known.record.config.leader == own && replica.is_leading() && promised == epoch;
        Self { partition: known.partition, version: known.version, epoch, promised, leads }
    }

    /// Whether the partition may need a leader, which a controller has to hear: this replica is to lead and does not, or it has
    /// made a promise that no leader has come of.
    #[must_use]
    pub fn needs_controller(&self, own: ReplicaId, known: &Known) -> bool {
        self.promised > self.epoch || (known.record.config.leader == own && !self.leads)
    }
}
