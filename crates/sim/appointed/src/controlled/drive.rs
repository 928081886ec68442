//! What carries controllers' effects out.

use replication_appointed::ReplicaId;
use replication_controller::{Change, Controller, Effect, Event, PartitionId, Written};

use super::packet::{ControllerId, Packet};
use super::world::World;
use crate::violation::Violation;

impl World {
    /// Something happens to a controller, and it does what follows.
    pub(super) fn control(&mut self, id: ControllerId, what: impl FnOnce(&mut Controller)) {
        let Some(controller) = self.controllers.get_mut(&id) else { return };
        what(controller);
        for effect in controller.take_effects() {
            let packet = match effect {
                Effect::SendFence { node, .. } | Effect::Tell { node, .. } | Effect::Ask { node, .. } => {
                    Packet::ToNode(id, node, effect)
                }
                Effect::Propose { id: proposal, changes } => Packet::Propose(id, proposal, changes),
                Effect::Read { partitions } => Packet::Read(id, partitions),
            };
            self.packets.push(packet);
        }
    }

    pub(super) fn feed(&mut self, id: ControllerId, event: Event) {
        let now = self.time();
        self.control(id, |controller| controller.handle(event, now));
    }

    pub(super) fn propose(
        &mut self,
        controller: ControllerId,
        id: replication_controller::ProposalId,
        changes: &[Change],
    ) -> Result<(), Violation> {
        // As a service does whose groups are written one after the other.
        let part = 1 + self.random.below(changes.len() as u64) as usize;
        let mut results = Vec::new();
        for changes in changes.chunks(part) {
            results.extend(self.write(changes)?);
        }
        if self.is_faulty && self.random.chance(10) {
            results.iter_mut().for_each(|result| *result = Written::Unknown);
        }
        self.packets.push(Packet::Answer(controller, Event::Proposed { id, results }));
        Ok(())
    }

    pub(super) fn write(&mut self, changes: &[Change]) -> Result<Vec<Written>, Violation> {
        let results = self.store.write(changes)?;
        for (partition, leader, epoch) in core::mem::take(&mut self.store.losses) {
            if !self.accepted.remove(&partition) {
                return Err(Violation::Loss(epoch));
            }
            self.figures.losses += 1;
            self.lose(partition, leader, epoch);
        }
        let written = results.iter().any(|result| matches!(result, Written::Yes(_)));
        for id in self.controllers.keys().copied().collect::<Vec<_>>() {
            if written && self.random.chance(50) {
                self.read(id, &changes.iter().map(|change| change.partition).collect::<Vec<_>>());
            }
        }
        Ok(results)
    }

    pub(super) fn read(&mut self, controller: ControllerId, partitions: &[PartitionId]) {
        for id in partitions {
            let event = match self.store.known(*id) {
                Some(known) => Event::Configured(Box::new(known)),
                None => Event::Removed { partition: *id },
            };
            self.packets.push(Packet::Answer(controller, event));
        }
    }

    /// A controller's message reaches a node.
    pub(super) fn deliver_to_node(
        &mut self,
        from: ControllerId,
        node: ReplicaId,
        effect: Effect,
    ) -> Result<(), Violation> {
        if !self.controller_hears(from, node) {
            return Ok(());
        }
        self.drive(node, |machine, copies, now| machine.handle(from, effect, now, copies))
    }
}
