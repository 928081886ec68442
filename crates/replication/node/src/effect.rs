//! What the owner of a node is to do, and what nodes say to each other.

use replication_appointed::{Appended, Diverged, Epoch, Refused, ReplicaId};
use replication_controller::{Change, Event, PartitionId};

use crate::ids::ControllerId;

/// What the owner of a node is to do. Effects of one partition are carried out in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send that to a controller. It may be lost.
    Inform {
        /// The controller.
        controller: ControllerId,
        /// What it is told.
        event: Event,
    },
    /// Read the newest records, each of which is answered with [`Node::learn`](crate::Node::learn) or
    /// [`Node::removed`](crate::Node::removed). The read must see all writes that were answered before it began. It may be lost.
    Read {
        /// Of these partitions.
        partitions: Vec<PartitionId>,
    },
    /// Write that record if the version is still that one, and answer with [`Node::wrote`](crate::Node::wrote). It may be lost.
    Write(Box<Change>),
    /// Make a copy with an empty log that has promised this epoch, durably. A copy that there is gives way to it in one
    /// step: a crash leaves one or the other. Then call [`Node::created`](crate::Node::created); until then [`Copies::copy`]
    /// has nothing.
    ///
    /// [`Copies::copy`]: crate::Copies::copy
    Create {
        /// The partition.
        partition: PartitionId,
        /// The epoch.
        promised: Epoch,
    },
    /// Drop the copy, ready or not.
    Drop {
        /// The partition.
        partition: PartitionId,
    },
    /// Append nothing to that partition: the lead is being handed over. Requests to append may wait.
    Pause {
        /// The partition.
        partition: PartitionId,
    },
    /// The pause is over, whether this replica still leads or not.
    Resume {
        /// The partition.
        partition: PartitionId,
    },
    /// Tell the operator that a hand-over was given up.
    NotHandedOver {
        /// The partition.
        partition: PartitionId,
        /// The replica that was to lead.
        to: ReplicaId,
        /// How many entries it is behind; nothing if that is not known.
        behind: Option<u64>,
    },
    /// That replica is to be sent something ([`Replica::next_append`](replication_appointed::Replica::next_append)). After it
    /// was sent, [`Node::follow_up`](crate::Node::follow_up) sees whether there is more. If there is no connection, nothing is to
    /// be done: [`Node::reconnected`](crate::Node::reconnected) says it again.
    Send {
        /// Its node.
        to: ReplicaId,
        /// Of these partitions.
        partitions: Vec<PartitionId>,
    },
    /// Send a leader what its follower answers.
    Reply {
        /// Its node.
        to: ReplicaId,
        /// The answers.
        replies: Vec<(PartitionId, Reply)>,
    },
}

/// What a follower answers its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Its log is the leader's, durably, up to there.
    Appended(Appended),
    /// The leader has to send from there on.
    Diverged(Diverged),
    /// It has promised a higher epoch.
    Refused(Refused),
}

/// What is to be done with an [`Append`](replication_appointed::Append) of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Take it: [`Replica::receive_append`](replication_appointed::Replica::receive_append).
    Take,
    /// Drop it. The node reads the record first, or its copy is being made; then it asks the leader to send again.
    Later,
    /// Drop it and close the connection: the node reads too many records that it does not know. The leader sends again over a
    /// new connection.
    Close,
}
