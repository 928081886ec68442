//! How many replicas of a partition one zone may have.

use std::collections::BTreeMap;

use crate::ids::ZoneId;
use crate::model::{Model, NodeModel};
use crate::node::NodeState;

/// For each number of replicas, the most that a zone may have.
#[derive(Clone, Debug)]
pub(crate) struct ZoneLimits {
    /// How many nodes each zone has that count.
    nodes: Vec<usize>,
    /// By the number of replicas.
    limits: Vec<usize>,
}

impl ZoneLimits {
    /// With the nodes that may get replicas.
    pub(crate) fn possible(model: &Model) -> Self {
        Self::over(model, |node| node.is_target)
    }

    /// With all nodes that are listed, as if each of them worked.
    pub(crate) fn intended(model: &Model) -> Self {
        Self::over(model, |node| node.is_listed)
    }

    fn over(model: &Model, counts: impl Fn(&NodeModel) -> bool) -> Self {
        let mut nodes = BTreeMap::<ZoneId, usize>::new();
        for node in model.nodes.iter().filter(|node| counts(node)) {
            *nodes.entry(node.zone).or_default() += 1;
        }
        let mut own = Self { nodes: nodes.into_values().collect(), limits: Vec::new() };
        let most = model.partitions.iter().map(|partition| partition.wanted).max().unwrap_or(0);
        own.limits = (0..=most).map(|replicas| own.smallest(replicas)).collect();
        own
    }

    /// The smallest limit under which so many replicas have a node each. Without enough nodes there is no limit.
    fn smallest(&self, replicas: usize) -> usize {
        let fit = |limit: usize| self.nodes.iter().map(|nodes| limit.min(*nodes)).sum::<usize>();
        (1..=replicas).find(|limit| fit(*limit) >= replicas).unwrap_or(usize::MAX)
    }

    /// The most replicas that one zone may have, of a partition that wants so many.
    pub(crate) fn limit(&self, wanted: usize) -> usize {
        self.limits.get(wanted).copied().unwrap_or(usize::MAX)
    }
}

/// How many voters of a partition are on serving nodes of a zone, without the one on `except`.
pub(crate) fn voters_in(model: &Model, partition: usize, zone: ZoneId, except: Option<usize>) -> usize {
    let serves = |node: &NodeModel| node.state == NodeState::Serving && node.zone == zone;
    let voters = model.partitions[partition].voters.iter().filter(|voter| Some(**voter) != except);
    voters.filter(|voter| serves(&model.nodes[**voter])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(nodes: &[usize], replicas: usize) -> usize {
        ZoneLimits { nodes: nodes.to_vec(), limits: Vec::new() }.smallest(replicas)
    }

    #[test]
    fn zone_limit_is_the_smallest_that_leaves_a_node_for_each_replica() {
        assert_eq!(limits(&[3, 3, 3], 3), 1);
        assert_eq!(limits(&[3, 3], 3), 2);
        assert_eq!(limits(&[1, 3], 4), 3);
        assert_eq!(limits(&[9], 3), 3);
        assert_eq!(limits(&[1, 1], 3), usize::MAX, "there are too few nodes for any limit");
    }
}
