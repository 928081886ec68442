//! From what nodes have to how much of it an amount is: the divisor of each resource on each node, and the even
//! level.
//!
//! An unknown capacity counts as the mean of the known ones. A node of which nothing is known would otherwise
//! look empty and get everything. A resource of which no node's capacity is known does not count.

use crate::node::{Capacity, Node, NodeState};
use crate::resource::{Amounts, RESOURCES, Resource, Utilisation};

/// What one unit of each resource is on a node, in millionths of its capacity. Zero does not count.
pub(crate) type PerUnit = [f64; RESOURCES];

/// How many partitions and replicas are wanted, and the level at which they count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) partitions: u64,
    pub(crate) replicas: u64,
    pub(crate) level: Utilisation,
}

/// The weighted capacities of all nodes.
pub(crate) struct Capacities {
    of: Vec<[f64; RESOURCES]>,
    serving: Vec<bool>,
    known: [bool; RESOURCES],
    /// Over the nodes that serve.
    total: [f64; RESOURCES],
    level: Utilisation,
}

impl Capacities {
    pub(crate) fn of(nodes: &[Node], counts: Counts) -> Self {
        let serving: Vec<bool> = nodes.iter().map(|node| node.state == NodeState::Serving).collect();
        let mut own = Self {
            of: vec![[0.0; RESOURCES]; nodes.len()],
            serving,
            known: [false; RESOURCES],
            total: [0.0; RESOURCES],
            level: counts.level,
        };
        for resource in Resource::WITH_CAPACITY {
            own.measure(resource, nodes);
        }
        let shares = own.shares(nodes);
        for (resource, count) in
            [(Resource::Leaders, counts.partitions), (Resource::Replicas, counts.replicas)]
        {
            let at_level = count.max(1) as f64 / counts.level.fraction();
            for (node, share) in own.of.iter_mut().zip(&shares) {
                node[resource.index()] = share * at_level;
            }
            own.known[resource.index()] = true;
        }
        own
    }

    fn measure(&mut self, resource: Resource, nodes: &[Node]) {
        let of = |node: &Node| known(node.capacity(), resource);
        let working = || nodes.iter().filter(|node| node.state != NodeState::Gone);
        let known: Vec<u64> = working().filter_map(of).collect();
        if known.is_empty() {
            return;
        }
        let mean = known.iter().map(|capacity| *capacity as f64).sum::<f64>() / known.len() as f64;
        let index = resource.index();
        self.known[index] = true;
        for (place, node) in nodes.iter().enumerate() {
            let capacity = of(node).map_or(mean, |capacity| capacity as f64);
            let weighted = capacity * f64::from(node.weight_percent) / 100.0;
            self.of[place][index] = weighted;
            if self.serving[place] {
                self.total[index] += weighted;
            }
        }
    }

    /// Which part of all counts each node should have: the mean of its parts of the known resources.
    fn shares(&self, nodes: &[Node]) -> Vec<f64> {
        let known: Vec<usize> = (0..RESOURCES).filter(|index| self.known[*index]).collect();
        if known.is_empty() {
            let weight = |node: &Node| f64::from(node.weight_percent);
            let serving = nodes.iter().filter(|node| node.state == NodeState::Serving);
            let all: f64 = serving.map(weight).sum();
            return nodes.iter().map(|node| weight(node) / all).collect();
        }
        let part = |of: &[f64; RESOURCES]| {
            known.iter().map(|index| of[*index] / self.total[*index]).sum::<f64>() / known.len() as f64
        };
        self.of.iter().map(part).collect()
    }

    pub(crate) fn per_unit(&self, place: usize) -> PerUnit {
        let mut per_unit = [0.0; RESOURCES];
        for index in (0..RESOURCES).filter(|index| self.known[*index]) {
            per_unit[index] = 1_000_000.0 / self.of[place][index];
        }
        per_unit
    }

    /// How much of each resource every node would use if load were spread in proportion to capacity.
    pub(crate) fn even(&self, total: &Amounts) -> [Utilisation; RESOURCES] {
        let mut even = [self.level; RESOURCES];
        for resource in Resource::WITH_CAPACITY {
            let index = resource.index();
            let per_unit = if self.known[index] { 1_000_000.0 / self.total[index] } else { 0.0 };
            even[index] = utilisation(total[resource], per_unit);
        }
        even
    }
}

/// How much of a capacity an amount is.
pub(crate) fn utilisation(amount: u64, per_unit: f64) -> Utilisation {
    // A capacity of zero gives an infinite divisor. The cast makes the largest number of it, and zero of zero
    // times infinity.
    Utilisation((amount as f64 * per_unit) as u32)
}

/// What is known of a capacity, in the unit of the resource.
pub(crate) const fn known(capacity: Capacity, resource: Resource) -> Option<u64> {
    match resource {
        Resource::Cpu => capacity.cpu_us_per_s,
        Resource::NetworkIn | Resource::NetworkOut => capacity.network_bytes_per_s,
        Resource::Disk => capacity.disk_bytes,
        Resource::Memory => capacity.memory_bytes,
        Resource::Leaders | Resource::Replicas => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{NodeId, ZoneId};

    const COUNTS: Counts = Counts { partitions: 30, replicas: 60, level: Utilisation::percent(10) };

    fn nodes(cpus: [Option<u64>; 3]) -> Vec<Node> {
        let node = |(id, cpu)| {
            let declared = Capacity { cpu_us_per_s: cpu, ..Capacity::default() };
            Node::serving(NodeId(id), ZoneId(0), declared)
        };
        (0..).zip(cpus).map(node).collect()
    }

    fn of(capacities: &Capacities, place: usize, resource: Resource, amount: u64) -> Utilisation {
        utilisation(amount, capacities.per_unit(place)[resource.index()])
    }

    #[test]
    fn unknown_capacity_is_the_mean_of_the_known_ones() {
        let capacities = Capacities::of(&nodes([Some(1_000), Some(3_000), None]), COUNTS);
        assert_eq!(of(&capacities, 2, Resource::Cpu, 1_000), Utilisation::percent(50));
        assert_eq!(of(&capacities, 2, Resource::Disk, 1_000), Utilisation(0), "nothing is known of any");
    }

    #[test]
    fn counts_follow_capacity_and_lie_at_their_level() {
        let capacities = Capacities::of(&nodes([Some(1_000), Some(2_000), Some(3_000)]), COUNTS);
        for (place, leaders) in [(0, 5), (1, 10), (2, 15)] {
            let level = of(&capacities, place, Resource::Leaders, leaders);
            assert!(level.0.abs_diff(COUNTS.level.0) <= 1, "{level}");
        }
    }

    #[test]
    fn weight_scales_what_a_node_is_to_use() {
        let mut nodes = nodes([None, None, None]);
        nodes[0].weight_percent = 200;
        let capacities = Capacities::of(&nodes, COUNTS);
        let level = of(&capacities, 0, Resource::Leaders, 15);
        assert!(level.0.abs_diff(COUNTS.level.0) <= 1, "{level}");
    }

    #[test]
    fn even_level_is_all_load_over_all_capacity_that_serves() {
        let mut nodes = nodes([Some(1_000), Some(1_000), Some(8_000)]);
        nodes[2].state = NodeState::Gone;
        let mut total = Amounts::default();
        total[Resource::Cpu] = 500;
        let even = Capacities::of(&nodes, COUNTS).even(&total);
        assert_eq!(even[Resource::Cpu.index()], Utilisation::percent(25));
        assert_eq!(even[Resource::Disk.index()], Utilisation(0));
    }
}
