//! Nodes, controllers, the configuration, and what is on its way between them.

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Random};
use replication_appointed::{Config, Epoch, ReplicaId, Voters};
use replication_controller::{Controller, PartitionId, Record, Settings};

use super::copy::{Copy, Run};
use super::node::Process;
use super::packet::{ControllerId, Packet};
use super::store::Store;
use super::walk::Figures;
use crate::disk::Entry;
use crate::violation::Violation;

/// Nodes, numbered from 1.
pub(super) const NODES: u32 = 5;
/// Partitions, numbered from 0.
const PARTITIONS: u64 = 3;
/// Entries of a partition.
pub(super) const ENTRIES_MAX: u8 = 250;

/// A node: its disks stay, its process comes and goes.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) is_up: bool,
    pub(super) incarnation: u64,
    pub(super) copies: BTreeMap<PartitionId, Copy>,
    pub(super) process: Option<Process>,
    pub(super) drains: bool,
}

/// What is known of a partition from outside.
#[derive(Debug, Default)]
pub(super) struct Truth {
    /// Values that leaders have shown as committed.
    pub(super) committed: Vec<Entry>,
    /// The epoch of the leader that showed each of them first.
    pub(super) committed_in: Vec<Epoch>,
    pub(super) leaders: BTreeMap<Epoch, ReplicaId>,
    /// Who had what was committed was asked for: the number of the next value.
    pub(super) values: u8,
    /// An appointment of that epoch has accepted a loss.
    pub(super) lost: Epoch,
    /// The partition was removed: its copies are dropped one after the other, and nothing holds any more.
    pub(super) is_removed: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct World {
    pub(super) random: Random,
    pub(super) now: u64,
    pub(super) nodes: BTreeMap<ReplicaId, Node>,
    pub(super) controllers: BTreeMap<ControllerId, Controller>,
    pub(super) last_controller: u64,
    pub(super) store: Store,
    pub(super) packets: Vec<Packet>,
    /// What arrives late, and when.
    pub(super) late: Vec<(u64, Packet)>,
    /// Pairs of nodes, the lower first, that do not hear each other.
    pub(super) cuts: BTreeSet<(ReplicaId, ReplicaId)>,
    /// Nodes that a controller does not hear.
    pub(super) controller_cuts: BTreeSet<(ControllerId, ReplicaId)>,
    pub(super) truths: BTreeMap<PartitionId, Truth>,
    pub(super) settings: Settings,
    /// Partitions of which people have accepted a loss that has not come yet.
    pub(super) accepted: BTreeSet<PartitionId>,
    pub(super) figures: Figures,
    /// Messages are lost and doubled.
    pub(super) is_faulty: bool,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let preferred_after_ms = random.chance(60).then_some(500);
        // Small bounds, so that they are met.
        let settings = Settings {
            preferred_after_ms,
            proposal_ms: 1_000,
            changes_max: 2,
            proposals_max: 1,
            message_max: 2,
            hand_overs_max: 1,
            seed,
            ..Settings::default()
        };
        let mut world = Self {
            random,
            now: 0,
            nodes: (1..=NODES).map(|id| (ReplicaId(id), Node::default())).collect(),
            controllers: BTreeMap::new(),
            last_controller: 0,
            store: Store::default(),
            packets: Vec::new(),
            late: Vec::new(),
            cuts: BTreeSet::new(),
            controller_cuts: BTreeSet::new(),
            truths: BTreeMap::new(),
            settings,
            accepted: BTreeSet::new(),
            figures: Figures::default(),
            is_faulty: true,
        };
        for _ in 0..PARTITIONS {
            world.create_partition();
        }
        world
    }

    fn create_partition(&mut self) -> PartitionId {
        let (id, record) = (PartitionId::numbered(self.truths.len() as u32), self.drawn_record());
        self.store.create(id, record);
        self.truths.insert(id, Truth::default());
        id
    }

    /// A partition is removed, and another one is created.
    pub(super) fn remove_partition(&mut self, id: PartitionId) {
        let Some(truth) = self.truths.get_mut(&id).filter(|truth| !truth.is_removed) else { return };
        truth.is_removed = true;
        self.store.records.remove(&id);
        self.figures.removed += 1;
        let new = self.create_partition();
        for controller in self.controllers.keys().copied().collect::<Vec<_>>() {
            self.read(controller, &[id, new]);
        }
    }

    fn drawn_record(&mut self) -> Record {
        let voters = self.drawn_voters();
        let mut preferred: Vec<ReplicaId> = voters.replicas().iter().copied().collect();
        let turn = self.random.below(preferred.len() as u64) as usize;
        preferred.rotate_left(turn);
        let leader = preferred[0];
        let config = Config { epoch: Epoch(1), leader, voters, learners: BTreeSet::new(), chosen: true };
        let voters_min = self.random.chance(50).then_some(1);
        Record { preferred, voters_min, ..Record::new(config) }
    }

    pub(super) fn drawn_voters(&mut self) -> Voters {
        let count = 1 + self.random.below(3).max(self.random.below(3));
        let mut replicas = BTreeSet::new();
        while (replicas.len() as u64) < count {
            replicas.insert(ReplicaId(1 + self.random.below(NODES.into()) as u32));
        }
        let durable_on = 1 + self.random.below(count) as usize;
        Voters::new(replicas, durable_on).expect("drawn to be fine")
    }

    pub(super) fn ids(&self) -> Vec<ReplicaId> {
        self.nodes.keys().copied().collect()
    }

    pub(super) fn partitions(&self) -> Vec<PartitionId> {
        self.truths.keys().copied().collect()
    }

    pub(super) fn node(&mut self, id: ReplicaId) -> &mut Node {
        self.nodes.entry(id).or_default()
    }

    pub(super) fn run(&mut self, node: ReplicaId, partition: PartitionId) -> Option<&mut Run> {
        self.nodes.get_mut(&node)?.copies.get_mut(&partition)?.run.as_mut()
    }

    pub(super) fn run_of(&self, node: ReplicaId, partition: PartitionId) -> Option<&Run> {
        self.nodes.get(&node)?.copies.get(&partition)?.run.as_ref()
    }

    pub(super) fn hear(&self, one: ReplicaId, other: ReplicaId) -> bool {
        let is_up = |id: ReplicaId| self.nodes.get(&id).is_some_and(|node| node.is_up);
        is_up(one) && is_up(other) && !self.cuts.contains(&(one.min(other), one.max(other)))
    }

    pub(super) fn controller_hears(&self, controller: ControllerId, node: ReplicaId) -> bool {
        let is_up = self.nodes.get(&node).is_some_and(|node| node.is_up);
        is_up
            && self.controllers.contains_key(&controller)
            && !self.controller_cuts.contains(&(controller, node))
    }

    /// The node connects to the controller.
    pub(super) fn announce(&mut self, controller: ControllerId, node: ReplicaId) -> Result<(), Violation> {
        if self.controller_hears(controller, node) {
            self.drive(node, |machine, _, _| machine.connected(controller))?;
        }
        Ok(())
    }

    pub(super) fn time(&self) -> MonoTime {
        MonoTime::of_ms(self.now)
    }
}
