//! A node as the planner sees it: where it stands, whether it may take replicas, and what it has.

use crate::ids::{NodeId, ZoneId};

/// Whether a node takes and keeps replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeState {
    /// It takes and keeps them.
    Serving,
    /// It works, and everything is to leave it.
    Draining,
    /// It does not work, and nothing can be read from it. What was on it is to be replaced.
    Gone,
}

/// What a node has. `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capacity {
    /// CPU time in microseconds per second: 1,000,000 is one core. If the cores of nodes differ in speed, the
    /// unit is a microsecond of the median core of the cluster.
    pub cpu_us_per_s: Option<u64>,
    /// Bytes per second in each direction.
    pub network_bytes_per_s: Option<u64>,
    /// Bytes of disk for replicas.
    pub disk_bytes: Option<u64>,
    /// Bytes of memory for replicas.
    pub memory_bytes: Option<u64>,
}

impl Capacity {
    /// The smaller of the two in each resource. A declared capacity is a bound, and so is a measured one.
    pub(crate) fn bounded_by(self, other: Self) -> Self {
        let smaller = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self {
            cpu_us_per_s: smaller(self.cpu_us_per_s, other.cpu_us_per_s),
            network_bytes_per_s: smaller(self.network_bytes_per_s, other.network_bytes_per_s),
            disk_bytes: smaller(self.disk_bytes, other.disk_bytes),
            memory_bytes: smaller(self.memory_bytes, other.memory_bytes),
        }
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: NodeId,
    /// Where it stands.
    pub zone: ZoneId,
    /// Whether it takes and keeps replicas.
    pub state: NodeState,
    /// What an operator says that it has.
    pub declared: Capacity,
    /// What was measured. The smaller of both counts; where both are unknown, the mean of the other nodes counts.
    pub measured: Capacity,
    /// How much of its capacity it is to use, compared with other nodes, in percent: 50 gives it half of the
    /// load that its capacity suggests. It does not change how much the disk and the memory hold.
    pub weight_percent: u32,
}

impl Node {
    /// A node that serves, with a declared capacity and the usual weight.
    #[must_use]
    pub const fn serving(id: NodeId, zone: ZoneId, declared: Capacity) -> Self {
        let measured =
            Capacity { cpu_us_per_s: None, network_bytes_per_s: None, disk_bytes: None, memory_bytes: None };
        Self { id, zone, state: NodeState::Serving, declared, measured, weight_percent: 100 }
    }

    /// What counts as its capacity.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.declared.bounded_by(self.measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_is_the_smaller_of_declared_and_measured() {
        let declared =
            Capacity { cpu_us_per_s: Some(4_000_000), disk_bytes: Some(10), ..Capacity::default() };
        let mut node = Node::serving(NodeId(1), ZoneId(0), declared);
        node.measured =
            Capacity { cpu_us_per_s: Some(1_000_000), memory_bytes: Some(7), ..Capacity::default() };
        let expected = Capacity {
            cpu_us_per_s: Some(1_000_000),
            network_bytes_per_s: None,
            disk_bytes: Some(10),
            memory_bytes: Some(7),
        };
        assert_eq!(node.capacity(), expected);
    }
}
