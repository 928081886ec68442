//! What waits for what, for people.

use std::collections::{BTreeMap, BTreeSet};

use replication_appointed::{Epoch, ReplicaId};

use crate::controller::Controller;
use crate::ids::{Incarnation, PartitionId};
use crate::nodes::Standing;
use crate::partition::Partition;
use crate::step::{Step, step};

/// What is thought of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// It was heard from in time.
    pub is_alive: bool,
    /// It was not heard of yet since the controller began.
    pub is_expected: bool,
    /// It is said not to come back.
    pub is_gone: bool,
    /// It is to lead nothing.
    pub drains: bool,
    /// Its process.
    pub incarnation: Option<Incarnation>,
}

/// What a partition waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// It has no leader, and too few voters are alive.
    Voters {
        /// Voters that are not alive.
        missing: BTreeSet<ReplicaId>,
        /// So many of them have to return.
        needed: usize,
    },
    /// It has no leader, and voters have not promised the next epoch yet.
    Promises {
        /// That epoch; nothing while another controller is given time.
        epoch: Option<Epoch>,
        /// Voters that are alive and have not answered.
        missing: BTreeSet<ReplicaId>,
    },
    /// A read or a write of the configuration is not answered.
    Configuration,
    /// The leader has not said yet that it leads.
    Leader(ReplicaId),
    /// The leader is to go on with other replicas.
    Change {
        /// The leader.
        leader: ReplicaId,
        /// Whether it has fewer voters than it should have.
        is_reduced: bool,
    },
    /// Replicas that are not alive have to return before they vote.
    Replicas {
        /// Those.
        missing: BTreeSet<ReplicaId>,
    },
    /// The leader prepares a hand-over to this replica.
    HandOver(ReplicaId),
}

/// What waits for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// All nodes.
    pub nodes: BTreeMap<ReplicaId, NodeStatus>,
    /// Partitions that wait for something.
    pub partitions: BTreeMap<PartitionId, Waits>,
}

impl Controller {
    /// What waits for what now. It looks at all partitions.
    #[must_use]
    pub fn status(&self) -> Status {
        let nodes = self.nodes.iter().map(|(id, node)| {
            let status = NodeStatus {
                is_alive: node.standing == Standing::Alive,
                is_expected: node.standing == Standing::Expected,
                is_gone: node.standing == Standing::Gone,
                drains: node.drains,
                incarnation: node.incarnation,
            };
            (id, status)
        });
        let partitions =
            self.partitions.iter().filter_map(|(id, partition)| Some((*id, self.waits(partition)?)));
        Status { nodes: nodes.collect(), partitions: partitions.collect() }
    }

    fn waits(&self, partition: &Partition) -> Option<Waits> {
        if partition.is_reading || partition.proposal.is_some() {
            return Some(Waits::Configuration);
        }
        let config = &partition.record.config;
        if partition.needs_leader(&self.nodes) {
            return Some(self.waits_for_voters(partition));
        }
        if partition.confirmed != config.epoch {
            return Some(Waits::Leader(config.leader));
        }
        if let Some(asked) = partition.hand_over {
            return Some(Waits::HandOver(asked.to));
        }
        let goal = partition.record.goal.as_ref();
        let wanted = goal.map(|goal| goal.to.voters.replicas());
        match step(&partition.record, &self.nodes) {
            Some(Step::Change(_)) => {
                let is_reduced = wanted.is_some_and(|wanted| wanted.len() > config.voters.replicas().len());
                Some(Waits::Change { leader: config.leader, is_reduced })
            }
            Some(Step::Finish(_)) => Some(Waits::Configuration),
            None => wanted.map(|wanted| Waits::Replicas { missing: self.dead(wanted) }),
        }
    }

    fn waits_for_voters(&self, partition: &Partition) -> Waits {
        let voters = &partition.record.config.voters;
        let dead = self.dead(voters.replicas());
        if !partition.has_enough_voters(&self.nodes) {
            let alive = voters.replicas().len() - dead.len();
            return Waits::Voters { missing: dead, needed: voters.fenced_min() - alive };
        }
        let attempt = partition.attempt.as_ref();
        let is_open = |id: &&ReplicaId| {
            !dead.contains(id) && !attempt.is_some_and(|attempt| attempt.told.contains_key(id))
        };
        let missing = voters.replicas().iter().filter(is_open).copied().collect();
        Waits::Promises { epoch: attempt.map(|attempt| attempt.epoch), missing }
    }

    fn dead(&self, nodes: &BTreeSet<ReplicaId>) -> BTreeSet<ReplicaId> {
        nodes.iter().filter(|id| !self.nodes.is_alive(**id)).copied().collect()
    }
}
