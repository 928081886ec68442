//! The cluster with indexes instead of numbers, and with the sums that a search needs. Steps of a search change
//! it.

use std::collections::{BTreeMap, BTreeSet};

use crate::capacity::{Capacities, Counts, PerUnit, known, utilisation};
use crate::cluster::Cluster;
use crate::ids::{NodeId, PartitionId, ZoneId};
use crate::node::{Capacity, Node, NodeState};
use crate::partition::{Load, Partition};
use crate::resource::{Amounts, RESOURCES, Resource, Utilisation};
use crate::settings::Settings;

/// See the module. Nodes and partitions are in the order of their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) nodes: Vec<NodeModel>,
    pub(crate) partitions: Vec<PartitionModel>,
    /// How much each node would use if load were spread in proportion to capacity.
    pub(crate) even: [Utilisation; RESOURCES],
}

#[derive(Clone, Debug)]
pub(crate) struct NodeModel {
    pub(crate) id: NodeId,
    pub(crate) zone: ZoneId,
    pub(crate) state: NodeState,
    /// Whether it may get replicas and leaders: it serves and is not excluded.
    pub(crate) is_target: bool,
    pub(crate) is_excluded: bool,
    /// Whether the cluster lists it. Nothing is known of the zone of one that is not listed.
    pub(crate) is_listed: bool,
    pub(crate) used: Amounts,
    per_unit: PerUnit,
    capacity: Capacity,
    /// The partitions that it leads.
    pub(crate) leads: BTreeSet<usize>,
    /// The partitions of which it is a voter.
    pub(crate) votes: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct PartitionModel {
    pub(crate) id: PartitionId,
    pub(crate) wanted: usize,
    pub(crate) voters: BTreeSet<usize>,
    pub(crate) leader: Option<usize>,
    pub(crate) learners: BTreeSet<usize>,
    pub(crate) lead: Amounts,
    pub(crate) follow: Amounts,
    /// Bytes that a new replica copies.
    pub(crate) copy_bytes: u64,
    pub(crate) pinned: bool,
    /// Whether it was moved a short time ago.
    pub(crate) rests: bool,
}

impl Model {
    pub(crate) fn new(cluster: &Cluster, settings: &Settings) -> Self {
        let nodes = all_nodes(cluster);
        let partitions = partitions(cluster, settings, &nodes);
        let counts = Counts {
            partitions: partitions.len() as u64,
            replicas: partitions.iter().map(|partition| partition.wanted as u64).sum(),
            level: settings.counts_level,
        };
        let capacities = Capacities::of(&nodes, counts);
        let even = capacities.even(&total(&partitions));
        let listed: BTreeSet<NodeId> = cluster.nodes.iter().map(|node| node.id).collect();
        let node = |(place, node): (usize, &Node)| NodeModel {
            is_listed: listed.contains(&node.id),
            ..NodeModel::new(node, capacities.per_unit(place), settings)
        };
        let nodes = nodes.iter().enumerate().map(node).collect();
        let mut model = Self { nodes, partitions, even };
        model.add_up();
        model
    }

    /// Fills in what nodes use and have.
    fn add_up(&mut self) {
        for (index, partition) in self.partitions.iter().enumerate() {
            for voter in &partition.voters {
                let node = &mut self.nodes[*voter];
                let leads = partition.leader == Some(*voter);
                node.used += if leads { &partition.lead } else { &partition.follow };
                node.votes.insert(index);
                if leads {
                    node.leads.insert(index);
                }
            }
            for learner in &partition.learners {
                self.nodes[*learner].used += &partition.follow;
            }
        }
    }

    /// Makes a voter. A learner becomes one without using more.
    pub(crate) fn add_voter(&mut self, partition: usize, node: usize) {
        let of = &mut self.partitions[partition];
        assert!(of.voters.insert(node), "a node gets no second replica");
        self.nodes[node].votes.insert(partition);
        if !of.learners.remove(&node) {
            self.nodes[node].used += &of.follow;
        }
    }

    /// Removes a voter. If it led, the partition has no leader.
    pub(crate) fn remove_voter(&mut self, partition: usize, node: usize) {
        if self.partitions[partition].leader == Some(node) {
            self.set_leader(partition, None);
        }
        let of = &mut self.partitions[partition];
        assert!(of.voters.remove(&node), "only a voter is removed");
        self.nodes[node].votes.remove(&partition);
        self.nodes[node].used -= &of.follow;
    }

    pub(crate) fn remove_learner(&mut self, partition: usize, node: usize) {
        let of = &mut self.partitions[partition];
        assert!(of.learners.remove(&node), "only a learner is removed");
        self.nodes[node].used -= &of.follow;
    }

    pub(crate) fn set_leader(&mut self, partition: usize, leader: Option<usize>) {
        let of = &mut self.partitions[partition];
        if let Some(old) = of.leader {
            let node = &mut self.nodes[old];
            node.used -= &of.lead;
            node.used += &of.follow;
            node.leads.remove(&partition);
        }
        if let Some(new) = leader {
            assert!(of.voters.contains(&new), "a leader votes");
            let node = &mut self.nodes[new];
            node.used -= &of.follow;
            node.used += &of.lead;
            node.leads.insert(partition);
        }
        of.leader = leader;
    }

    /// Moves a voter; if it leads, the new one leads.
    pub(crate) fn move_voter(&mut self, partition: usize, from: usize, to: usize) {
        let led = self.partitions[partition].leader == Some(from);
        self.add_voter(partition, to);
        self.remove_voter(partition, from);
        if led {
            self.set_leader(partition, Some(to));
        }
    }

    /// What a voter on this node uses.
    pub(crate) fn amounts(&self, partition: usize, node: usize) -> &Amounts {
        let of = &self.partitions[partition];
        if of.leader == Some(node) { &of.lead } else { &of.follow }
    }

    /// The voters of a partition whose nodes work.
    pub(crate) fn live(&self, partition: usize) -> impl Iterator<Item = usize> + '_ {
        let voters = self.partitions[partition].voters.iter().copied();
        voters.filter(|voter| self.nodes[*voter].state != NodeState::Gone)
    }

    /// Whether the partition has replicas, and none of them leads.
    pub(crate) fn leader_is_lost(&self, partition: usize) -> bool {
        let of = &self.partitions[partition];
        let leads = of.leader.is_some_and(|leader| self.nodes[leader].state != NodeState::Gone);
        !of.voters.is_empty() && !leads
    }

    pub(crate) fn place_of(&self, id: NodeId) -> Option<usize> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok()
    }

    pub(crate) fn partition_of(&self, id: PartitionId) -> Option<usize> {
        self.partitions.binary_search_by_key(&id, |partition| partition.id).ok()
    }
}

impl NodeModel {
    fn new(node: &Node, per_unit: PerUnit, settings: &Settings) -> Self {
        let is_excluded = settings.excluded.contains(&node.id);
        Self {
            id: node.id,
            zone: node.zone,
            state: node.state,
            is_target: node.state == NodeState::Serving && !is_excluded,
            is_excluded,
            is_listed: true,
            used: Amounts::default(),
            per_unit,
            capacity: node.capacity(),
            leads: BTreeSet::new(),
            votes: BTreeSet::new(),
        }
    }

    /// How much of a resource it uses.
    pub(crate) fn utilisation(&self, resource: Resource) -> Utilisation {
        self.utilisation_by(&self.used, resource)
    }

    /// How much of a resource such amounts are.
    pub(crate) fn utilisation_by(&self, amounts: &Amounts, resource: Resource) -> Utilisation {
        utilisation(amounts[resource], self.per_unit[resource.index()])
    }

    /// How much such amounts are of each resource.
    pub(crate) fn utilisations_by(&self, amounts: &Amounts) -> [Utilisation; RESOURCES] {
        Resource::ALL.map(|resource| self.utilisation_by(amounts, resource))
    }

    /// What is known of its capacity, without its weight.
    pub(crate) const fn capacity(&self, resource: Resource) -> Option<u64> {
        known(self.capacity, resource)
    }

    /// Bytes of a resource that are left if so many percent of it are to stay free; `None` if its capacity is
    /// unknown.
    pub(crate) fn room(&self, resource: Resource, free_percent: u32) -> Option<u64> {
        Some(self.usable(resource, free_percent)?.saturating_sub(self.used[resource]))
    }

    /// Bytes of a resource that may be used if so many percent of it are to stay free.
    pub(crate) fn usable(&self, resource: Resource, free_percent: u32) -> Option<u64> {
        let (capacity, percent) = (self.capacity(resource)?, u64::from(100_u32.saturating_sub(free_percent)));
        Some(capacity / 100 * percent + capacity % 100 * percent / 100)
    }
}

/// The nodes that are listed, and those that hold replicas without being listed: they are gone.
fn all_nodes(cluster: &Cluster) -> Vec<Node> {
    let mut nodes: BTreeMap<NodeId, Node> =
        cluster.nodes.iter().map(|node| (node.id, node.clone())).collect();
    for partition in &cluster.partitions {
        for id in partition.voters.iter().chain(&partition.learners) {
            nodes.entry(*id).or_insert_with(|| Node {
                state: NodeState::Gone,
                ..Node::serving(*id, ZoneId::default(), Capacity::default())
            });
        }
    }
    nodes.into_values().collect()
}

fn partitions(cluster: &Cluster, settings: &Settings, nodes: &[Node]) -> Vec<PartitionModel> {
    let places: BTreeMap<NodeId, usize> =
        nodes.iter().enumerate().map(|(place, node)| (node.id, place)).collect();
    let measured: Vec<Load> = cluster.partitions.iter().filter_map(|partition| partition.load).collect();
    let mean = Load::mean(&measured);
    let rest_ms = u64::try_from(settings.rest.as_millis()).unwrap_or(u64::MAX);
    let mut sorted: Vec<&Partition> = cluster.partitions.iter().collect();
    sorted.sort_by_key(|partition| partition.id);
    let of = |partition: &&Partition| {
        let load = partition.load.unwrap_or(mean);
        let moved_ago = partition.moved_at_ms.map(|at| cluster.now_ms.saturating_sub(at));
        PartitionModel {
            id: partition.id,
            wanted: partition.replicas_wanted,
            voters: partition.voters.iter().map(|id| places[id]).collect(),
            leader: partition.leader.map(|id| places[&id]),
            learners: partition.learners.iter().map(|id| places[id]).collect(),
            lead: load.of_leader(partition.replicas_wanted - 1 + partition.learners.len()),
            follow: load.of_follower(),
            copy_bytes: load.stored_bytes.max(load.memory_bytes),
            pinned: partition.pinned,
            rests: moved_ago.is_some_and(|ago| ago < rest_ms),
        }
    };
    sorted.iter().map(of).collect()
}

/// What all wanted replicas use.
fn total(partitions: &[PartitionModel]) -> Amounts {
    let mut total = Amounts::default();
    for partition in partitions {
        total += &partition.lead;
        for _ in 1..partition.wanted + partition.learners.len() {
            total += &partition.follow;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster() -> Cluster {
        let node = |id| {
            let declared = Capacity { cpu_us_per_s: Some(1_000), ..Capacity::default() };
            Node::serving(NodeId(id), ZoneId(0), declared)
        };
        let load = Load { cpu_leader_us_per_s: 300, cpu_follower_us_per_s: 100, ..Load::default() };
        let partition = Partition {
            voters: [NodeId(1), NodeId(9)].into(),
            leader: Some(NodeId(1)),
            load: Some(load),
            ..Partition::new(PartitionId(5), 2)
        };
        Cluster { nodes: vec![node(2), node(1)], partitions: vec![partition], ..Cluster::default() }
    }

    #[test]
    fn node_that_is_not_listed_is_gone() {
        let model = Model::new(&cluster(), &Settings::default());
        let states: Vec<_> = model.nodes.iter().map(|node| (node.id.0, node.state)).collect();
        assert_eq!(states, [(1, NodeState::Serving), (2, NodeState::Serving), (9, NodeState::Gone)]);
        assert_eq!(model.live(0).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn sums_follow_each_change() {
        let mut model = Model::new(&cluster(), &Settings::default());
        let cpu = |model: &Model| [0, 1].map(|node: usize| model.nodes[node].used[Resource::Cpu]);
        assert_eq!(cpu(&model), [300, 0]);
        model.add_voter(0, 1);
        assert_eq!(cpu(&model), [300, 100]);
        model.set_leader(0, Some(1));
        assert_eq!(cpu(&model), [100, 300]);
        model.remove_voter(0, 0);
        model.move_voter(0, 1, 0);
        assert_eq!(cpu(&model), [300, 0]);
        assert_eq!(model.partitions[0].leader, Some(0));
    }

    #[test]
    fn room_leaves_a_part_free() {
        let declared = Capacity { disk_bytes: Some(1_000), ..Capacity::default() };
        let node = Node::serving(NodeId(1), ZoneId(0), declared);
        let mut node = NodeModel::new(&node, [0.0; RESOURCES], &Settings::default());
        node.used[Resource::Disk] = 700;
        assert_eq!(node.room(Resource::Disk, 20), Some(100));
        assert_eq!(node.room(Resource::Disk, 50), Some(0));
        assert_eq!(node.room(Resource::Memory, 20), None);
    }
}
