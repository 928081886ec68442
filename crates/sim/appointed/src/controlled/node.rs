//! The process of a node: a [`replication_node::Node`] is driven here, and what it wants is done.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use replication_appointed::{Epoch, ReplicaId};
use replication_controller::{Event, Incarnation, Known, PartitionId, Version, Written};
use replication_node::{Effect, Node, Settings};

use super::copy::{Copy, Run};
use super::packet::{Body, Packet};
use super::world::World;
use crate::violation::Violation;

/// A node's process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) machine: Node,
    /// Which replicas have something to be sent.
    pub(super) to_send: BTreeSet<(PartitionId, ReplicaId)>,
    /// To which nothing is appended.
    pub(super) paused: BTreeSet<PartitionId>,
    /// Records that it has sent to the configuration.
    written: BTreeSet<(PartitionId, Version)>,
}

/// The copies that the process can use.
pub(super) struct Copies<'a>(&'a mut BTreeMap<PartitionId, Copy>);

impl replication_node::Copies for Copies<'_> {
    type Copy<'a>
        = &'a mut Run
    where
        Self: 'a;

    fn copy(&mut self, partition: PartitionId) -> Option<&mut Run> {
        self.0.get_mut(&partition)?.run.as_mut()
    }
}

impl Process {
    pub(super) fn new(id: ReplicaId, incarnation: u64, drains: bool) -> Self {
        // Small bounds, so that they are met.
        let settings = Settings { message_max: 2, read_ms: 1_000, ..Settings::default() };
        let mut machine = Node::new(id, Incarnation(incarnation), settings);
        machine.drain(drains);
        Self { machine, to_send: BTreeSet::new(), paused: BTreeSet::new(), written: BTreeSet::new() }
    }
}

impl World {
    /// Something happens to a node that is up, it does what follows, and what its replicas show is checked.
    pub(super) fn drive(
        &mut self,
        node: ReplicaId,
        what: impl FnOnce(&mut Node, &mut Copies<'_>, MonoTime),
    ) -> Result<(), Violation> {
        let now = self.time();
        let state = self.node(node);
        let Some(process) = &mut state.process else { return Ok(()) };
        what(&mut process.machine, &mut Copies(&mut state.copies), now);
        let effects = process.machine.take_effects();
        let mut created = Vec::new();
        for effect in effects {
            created.extend(self.carry_out(node, effect));
        }
        for partition in self.partitions() {
            self.check_after(node, partition)?;
        }
        created.into_iter().try_for_each(|(partition, promised)| {
            if self.random.chance(50) {
                return self.created(node, partition, promised);
            }
            let incarnation = self.node(node).incarnation;
            self.packets.push(Packet::Created(node, incarnation, partition, promised));
            Ok(())
        })
    }

    fn check_after(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        if let Some(run) = self.run(node, partition) {
            let has_begun = core::mem::take(&mut run.has_begun);
            let given_up = core::mem::take(&mut run.given_up);
            self.figures.given_up += given_up;
            if has_begun {
                self.check_leader(node, partition)?;
            }
        }
        let process = self.nodes.get(&node).and_then(|node| node.process.as_ref());
        if let Some(process) = process {
            let is_paused = process.paused.contains(&partition);
            assert_eq!(process.machine.is_paused(partition), is_paused, "a pause has no effect");
        }
        self.check(node, partition)
    }

    /// Does what a node wants. A copy that it wants is there, and not ready.
    fn carry_out(&mut self, node: ReplicaId, effect: Effect) -> Option<(PartitionId, Epoch)> {
        let incarnation = self.node(node).incarnation;
        match effect {
            Effect::Inform { controller, event } => {
                self.figures.hand_overs += usize::from(matches!(event, Event::Prepared { .. }));
                self.packets.push(Packet::ToController(node, controller, event));
            }
            Effect::Read { partitions } => {
                self.packets.push(Packet::NodeRead(node, incarnation, partitions));
            }
            Effect::Write(change) => {
                let written = self.process(node)?.written.insert((change.partition, change.version));
                self.figures.rewritten += usize::from(!written);
                self.packets.push(Packet::Write(node, incarnation, change));
            }
            Effect::Create { partition, promised } => {
                let before = self.node(node).copies.insert(partition, Copy::new(promised));
                self.figures.renewed += usize::from(before.is_some());
                return Some((partition, promised));
            }
            Effect::Drop { partition } => {
                self.figures.dropped += 1;
                self.node(node).copies.remove(&partition);
                let process = self.process(node)?;
                process.paused.remove(&partition);
                process.to_send.retain(|(known, _)| *known != partition);
            }
            Effect::Pause { partition } => drop(self.process(node)?.paused.insert(partition)),
            Effect::Resume { partition } => drop(self.process(node)?.paused.remove(&partition)),
            Effect::NotHandedOver { .. } => {}
            Effect::Send { to, partitions } => {
                let all = partitions.into_iter().map(|partition| (partition, to));
                self.process(node)?.to_send.extend(all);
            }
            Effect::Reply { to, replies } => {
                let of = |(partition, reply)| Packet::Replica(partition, node, to, Body::Reply(reply));
                self.packets.extend(replies.into_iter().map(of));
            }
        }
        None
    }

    /// A copy is ready, if it is still the one that was wanted.
    pub(super) fn created(
        &mut self,
        node: ReplicaId,
        partition: PartitionId,
        promised: Epoch,
    ) -> Result<(), Violation> {
        let copy = self.node(node).copies.get_mut(&partition);
        let Some(copy) = copy.filter(|copy| copy.run.is_none() && copy.disk.promised == promised) else {
            return Ok(());
        };
        copy.start();
        self.drive(node, |machine, copies, now| machine.created(partition, promised, now, copies))
    }

    /// The owner has done something with a copy.
    pub(super) fn follow_up(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        self.drive(node, |machine, copies, now| machine.follow_up(partition, now, copies))
    }

    /// A record is read, as fast as can be.
    pub(super) fn read_record(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        let (known, incarnation) = (self.store.known(partition), self.node(node).incarnation);
        self.node_answer(node, incarnation, partition, known)
    }

    /// The configuration answers a node some time later.
    pub(super) fn answer_node(&mut self, node: ReplicaId, incarnation: u64, partitions: &[PartitionId]) {
        for partition in partitions {
            let known = self.store.known(*partition).map(Box::new);
            self.packets.push(Packet::NodeAnswer(node, incarnation, *partition, known));
        }
    }

    /// The answer arrives. Of a partition that is known to be removed nothing that was read before follows.
    pub(super) fn node_answer(
        &mut self,
        node: ReplicaId,
        incarnation: u64,
        partition: PartitionId,
        known: Option<Known>,
    ) -> Result<(), Violation> {
        if self.node(node).incarnation != incarnation {
            return Ok(());
        }
        let Some(known) = known else {
            let is_old = |packet: &Packet| matches!(packet, Packet::NodeAnswer(to, _, of, _) if (*to, *of) == (node, partition));
            self.packets.retain(|packet| !is_old(packet));
            self.late.retain(|(_, packet)| !is_old(packet));
            return self.drive(node, |machine, copies, _| machine.removed(partition, copies));
        };
        self.drive(node, |machine, copies, now| machine.learn(known, now, copies))
    }

    /// What has become of a leader's write.
    pub(super) fn wrote(
        &mut self,
        node: ReplicaId,
        incarnation: u64,
        partition: PartitionId,
        result: Written,
    ) -> Result<(), Violation> {
        if self.node(node).incarnation != incarnation {
            return Ok(());
        }
        self.drive(node, |machine, copies, now| machine.wrote(partition, result, now, copies))
    }

    pub(super) fn process(&mut self, node: ReplicaId) -> Option<&mut Process> {
        self.node(node).process.as_mut()
    }
}
