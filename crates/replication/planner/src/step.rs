//! One step of a plan: what is done to one partition, why, what it copies and when.

use core::fmt;
use core::time::Duration;

use crate::ids::{NodeId, PartitionId};
use crate::reason::Reason;

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The first replicas of a partition are created, empty.
    Place {
        /// The voters; the first of them leads.
        voters: Vec<NodeId>,
    },
    /// The leadership goes from one voter to another.
    TransferLeadership {
        /// The leader before. If there is none, or its node is gone, this is a failover, and the data decides
        /// which voters can lead: then `to` is a preference.
        from: Option<NodeId>,
        /// The leader after.
        to: NodeId,
    },
    /// A node gets a replica, which becomes a voter once it has the data; then another node loses its own.
    MoveReplica {
        /// The voter that is removed.
        from: NodeId,
        /// The voter that is added.
        to: NodeId,
        /// Whether `from` leads, so that `to` has to lead.
        leads: bool,
    },
    /// A node gets a replica, which becomes a voter once it has the data.
    AddReplica {
        /// The node.
        to: NodeId,
    },
    /// A learner that has the data becomes a voter.
    PromoteLearner {
        /// Its node.
        node: NodeId,
    },
    /// A node loses its replica, a voter or a learner. It does not lead.
    RemoveReplica {
        /// The node.
        from: NodeId,
    },
}

impl Action {
    /// The node that gets a copy of the data.
    #[must_use]
    pub const fn copies_to(&self) -> Option<NodeId> {
        match self {
            Self::MoveReplica { to, .. } | Self::AddReplica { to } => Some(*to),
            Self::Place { .. }
            | Self::TransferLeadership { .. }
            | Self::PromoteLearner { .. }
            | Self::RemoveReplica { .. } => None,
        }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The partition.
    pub partition: PartitionId,
    /// What is done.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Bytes that are copied.
    pub copy_bytes: u64,
    /// The node that sends them: the leader.
    pub copy_from: Option<NodeId>,
    /// A step of a stage begins when all steps of the stages before have ended: it needs the room that they make.
    pub stage: u32,
    /// When it begins, counted from the begin of the plan, if all steps take as long as expected.
    pub start: Duration,
    /// How long it is expected to take.
    pub duration: Duration,
}

impl Step {
    /// When it is expected to end.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.start.saturating_add(self.duration)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place { voters } => {
                let names: Vec<String> = voters.iter().map(ToString::to_string).collect();
                write!(f, "place it on {}; the first leads", names.join(", "))
            }
            Self::TransferLeadership { from: Some(from), to } => {
                write!(f, "transfer the leadership from {from} to {to}")
            }
            Self::TransferLeadership { from: None, to } => write!(f, "let {to} lead"),
            Self::MoveReplica { from, to, leads: false } => write!(f, "move a replica from {from} to {to}"),
            Self::MoveReplica { from, to, leads: true } => write!(f, "move the leader from {from} to {to}"),
            Self::AddReplica { to } => write!(f, "add a replica on {to}"),
            Self::PromoteLearner { node } => write!(f, "make the learner on {node} a voter"),
            Self::RemoveReplica { from } => write!(f, "remove the replica on {from}"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, because {}", self.partition, self.action, self.reason)?;
        if self.copy_bytes > 0 {
            write!(f, " (copies {} bytes in about {:.1} s)", self.copy_bytes, self.duration.as_secs_f64())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_reads_as_a_sentence() {
        let step = Step {
            partition: PartitionId(7),
            action: Action::MoveReplica { from: NodeId(1), to: NodeId(2), leads: false },
            reason: Reason::Draining(NodeId(1)),
            copy_bytes: 500,
            copy_from: Some(NodeId(3)),
            stage: 0,
            start: Duration::ZERO,
            duration: Duration::from_millis(2_500),
        };
        let expected = "partition 7: move a replica from node 1 to node 2, because node 1 is draining (copies 500 bytes in \
                        about 2.5 s)";
        assert_eq!(step.to_string(), expected);
    }
}
