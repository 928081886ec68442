//! What a plan is made from: all nodes, all partitions, and the time.

use core::time::Duration;
use std::collections::BTreeSet;

use crate::ids::{NodeId, PartitionId};
use crate::node::Node;
use crate::partition::{LOAD_MAX, Partition};

/// See the module. The same cluster gives the same plan, whatever the order of nodes and partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// The time, in milliseconds on any clock that does not go back.
    pub now_ms: u64,
    /// For how long the load has been out of balance, as [`Trigger`](crate::Trigger) tells. If zero, nothing is
    /// moved for balance.
    pub imbalance_lasted: Duration,
    /// The nodes. A replica on a node that is not listed is on a node that is gone.
    pub nodes: Vec<Node>,
    /// The partitions.
    pub partitions: Vec<Partition>,
}

/// A cluster that makes no sense. The caller is at fault: nothing is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// Two nodes have one number.
    #[error("{0} is listed twice")]
    NodeTwice(NodeId),
    /// A weight of zero.
    #[error("{0} has weight 0\nhint: drain it, or exclude it")]
    NoWeight(NodeId),
    /// Two partitions have one number.
    #[error("{0} is listed twice")]
    PartitionTwice(PartitionId),
    /// No replica is wanted.
    #[error("{0} wants no replica")]
    NoReplicasWanted(PartitionId),
    /// The leader does not vote.
    #[error("{0} is led by a node that is not one of its voters")]
    LeaderNoVoter(PartitionId),
    /// A load above 2^44 of its unit.
    #[error("{0} has a load that no partition can have")]
    LoadTooLarge(PartitionId),
    /// A node has two replicas.
    #[error("{0} has a voter and a learner on one node")]
    VoterAndLearner(PartitionId),
}

impl Cluster {
    /// Whether a plan can be made from it.
    ///
    /// # Errors
    /// [`ClusterError`]: the caller is at fault.
    pub fn check(&self) -> Result<(), ClusterError> {
        let (mut nodes, mut partitions) = (BTreeSet::new(), BTreeSet::new());
        for node in &self.nodes {
            if !nodes.insert(node.id) {
                return Err(ClusterError::NodeTwice(node.id));
            }
            if node.weight_percent == 0 {
                return Err(ClusterError::NoWeight(node.id));
            }
        }
        for partition in &self.partitions {
            if !partitions.insert(partition.id) {
                return Err(ClusterError::PartitionTwice(partition.id));
            }
            check_partition(partition)?;
        }
        Ok(())
    }
}

fn check_partition(partition: &Partition) -> Result<(), ClusterError> {
    if partition.replicas_wanted == 0 {
        Err(ClusterError::NoReplicasWanted(partition.id))
    } else if partition.leader.is_some_and(|leader| !partition.voters.contains(&leader)) {
        Err(ClusterError::LeaderNoVoter(partition.id))
    } else if !partition.voters.is_disjoint(&partition.learners) {
        Err(ClusterError::VoterAndLearner(partition.id))
    } else if partition.load.is_some_and(|load| load.largest() > LOAD_MAX) {
        Err(ClusterError::LoadTooLarge(partition.id))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ZoneId;
    use crate::node::Capacity;
    use crate::partition::Load;

    fn node(id: u32) -> Node {
        Node::serving(NodeId(id), ZoneId(0), Capacity::default())
    }

    #[test]
    fn cluster_that_makes_no_sense_is_refused() {
        let mut cluster = Cluster { nodes: vec![node(1), node(1)], ..Cluster::default() };
        assert_eq!(cluster.check(), Err(ClusterError::NodeTwice(NodeId(1))));
        cluster.nodes[1].id = NodeId(2);
        assert_eq!(cluster.check(), Ok(()));
        cluster.nodes[1].weight_percent = 0;
        assert_eq!(cluster.check(), Err(ClusterError::NoWeight(NodeId(2))));
    }

    #[test]
    fn partition_that_makes_no_sense_is_refused() {
        let id = PartitionId(7);
        let check = |change: fn(&mut Partition)| {
            let mut partition = Partition::new(id, 1);
            change(&mut partition);
            Cluster { partitions: vec![partition], ..Cluster::default() }.check()
        };
        assert_eq!(check(|_| ()), Ok(()));
        assert_eq!(check(|it| it.replicas_wanted = 0), Err(ClusterError::NoReplicasWanted(id)));
        assert_eq!(check(|it| it.leader = Some(NodeId(1))), Err(ClusterError::LeaderNoVoter(id)));
        let load = check(|it| it.load = Some(Load { memory_bytes: u64::MAX, ..Load::default() }));
        assert_eq!(load, Err(ClusterError::LoadTooLarge(id)));
        let both = check(|it| {
            it.voters.insert(NodeId(1));
            it.learners.insert(NodeId(1));
        });
        assert_eq!(both, Err(ClusterError::VoterAndLearner(id)));
    }
}
