//! What goes wrong, what people ask for, and the end of it.

use replication_appointed::ReplicaId;
use replication_controller::{Controller, Event, Members, PartitionId, Settings, Waits};

use super::node::Process;
use super::packet::{ControllerId, Packet};
use super::world::{NODES, World};
use crate::violation::Violation;

impl World {
    pub(super) fn drawn_node(&mut self) -> ReplicaId {
        ReplicaId(1 + self.random.below(NODES.into()) as u32)
    }

    pub(super) fn drawn_partition(&mut self) -> PartitionId {
        PartitionId::numbered(self.random.below(self.truths.len() as u64) as u32)
    }

    pub(super) fn drawn_controller(&mut self) -> Option<ControllerId> {
        let all: Vec<ControllerId> = self.controllers.keys().copied().collect();
        let place = self.random.below(all.len() as u64) as usize;
        all.get(place).copied()
    }

    pub(super) fn fault(&mut self) -> Result<(), Violation> {
        let (node, other) = (self.drawn_node(), self.drawn_node());
        match self.random.below(14) {
            0 | 1 => self.crash(node),
            2..=4 => self.restart(node)?,
            5 => drop(self.cuts.insert((node.min(other), node.max(other)))),
            6 => self.heal_pair(node, other)?,
            7 => self.cut_controller(node),
            8 | 9 => self.heal_controller(node)?,
            10 if self.controllers.len() < 2 => self.start_controller()?,
            11 if self.controllers.len() > 1 || self.random.chance(50) => {
                self.drawn_controller().map_or(Ok(()), |id| self.end_controller(id))?;
            }
            12 if self.random.chance(20) => self.drain(node)?,
            13 if self.random.chance(25) => {
                let partition = self.drawn_partition();
                self.remove_partition(partition);
            }
            _ => {}
        }
        Ok(())
    }

    /// People ask for something.
    pub(super) fn act(&mut self) {
        let Some(id) = self.drawn_controller() else { return };
        let node = self.drawn_node();
        let (mut partition, now) = (self.drawn_partition(), self.time());
        let (draw, loses) = (self.random.below(8), self.settings.seed.is_multiple_of(5));
        if draw == 7
            && let Some(waits) = self.waiting_for_voters(id)
        {
            partition = waits;
        }
        let voters = self.drawn_voters();
        let learner = self.drawn_node();
        let learners =
            [learner].into_iter().filter(|id| id.0 % 2 == 0 && !voters.replicas().contains(id)).collect();
        let mut is_accepted = false;
        self.control(id, |controller| match draw {
            0..=2 => drop(controller.hand_over(partition, node, now)),
            3..=5 => drop(controller.reassign(partition, Members { voters, learners }, now)),
            6 => drop(controller.cancel(partition, now)),
            _ if loses => is_accepted = controller.recover_with_loss(partition, now).is_ok(),
            _ => {}
        });
        if is_accepted {
            self.accepted.insert(partition);
        }
    }

    /// A partition that has too few voters for a leader.
    fn waiting_for_voters(&self, id: ControllerId) -> Option<PartitionId> {
        let status = self.controllers.get(&id)?.status();
        let mut waiting = status.partitions.iter().filter(|(_, waits)| matches!(waits, Waits::Voters { .. }));
        waiting.next().map(|(partition, _)| *partition)
    }

    pub(super) fn crash(&mut self, node: ReplicaId) {
        if !self.node(node).is_up {
            return;
        }
        for partition in self.partitions() {
            let done = self.random.below(6) as usize;
            if let Some(copy) = self.node(node).copies.get_mut(&partition) {
                copy.crash(done);
            }
        }
        let state = self.node(node);
        state.is_up = false;
        state.process = None;
        let is_between = |packet: &Packet| {
            matches!(packet, Packet::Replica(_, from, to, _) if *from == node || *to == node)
                || matches!(packet, Packet::ToNode(_, to, _) if *to == node)
        };
        self.packets.retain(|packet| !is_between(packet));
        self.tell_broken(node);
    }

    /// Connections to the node break. Not every controller is told.
    fn tell_broken(&mut self, node: ReplicaId) {
        for id in self.controllers.keys().copied().collect::<Vec<_>>() {
            if self.random.chance(60) {
                self.packets.push(Packet::Answer(id, Event::Broken { node }));
            }
        }
    }

    pub(super) fn restart(&mut self, node: ReplicaId) -> Result<(), Violation> {
        let state = self.node(node);
        if state.is_up {
            return Ok(());
        }
        state.is_up = true;
        state.incarnation += 1;
        state.copies.values_mut().for_each(super::copy::Copy::start);
        state.process = Some(Process::new(node, state.incarnation, state.drains));
        for other in self.ids().into_iter().filter(|other| *other != node) {
            self.reconnect(node, other)?;
        }
        for partition in self.partitions() {
            self.read_record(node, partition)?;
        }
        let controllers: Vec<_> = self.controllers.keys().copied().collect();
        controllers.into_iter().try_for_each(|id| self.announce(id, node))
    }

    /// The process of a controller ends. Not every node is told.
    fn end_controller(&mut self, id: ControllerId) -> Result<(), Violation> {
        self.controllers.remove(&id);
        for node in self.ids() {
            if self.random.chance(70) {
                self.drive(node, |machine, _, _| machine.disconnected(id))?;
            }
        }
        Ok(())
    }

    pub(super) fn heal_pair(&mut self, one: ReplicaId, other: ReplicaId) -> Result<(), Violation> {
        if self.cuts.remove(&(one.min(other), one.max(other))) && one != other {
            self.reconnect(one, other)?;
        }
        Ok(())
    }

    fn cut_controller(&mut self, node: ReplicaId) {
        let Some(id) = self.drawn_controller() else { return };
        self.controller_cuts.insert((id, node));
        if self.random.chance(50) {
            self.packets.push(Packet::Answer(id, Event::Broken { node }));
        }
    }

    fn heal_controller(&mut self, node: ReplicaId) -> Result<(), Violation> {
        let cuts: Vec<_> = self.controller_cuts.iter().filter(|cut| cut.1 == node).copied().collect();
        for (id, node) in cuts {
            self.controller_cuts.remove(&(id, node));
            let is_between = |packet: &Packet| match packet {
                Packet::ToNode(from, to, _) => (*from, *to) == (id, node),
                Packet::ToController(from, to, _) => (*to, *from) == (id, node),
                _ => false,
            };
            self.packets.retain(|packet| !is_between(packet));
            self.announce(id, node)?;
        }
        Ok(())
    }

    pub(super) fn start_controller(&mut self) -> Result<(), Violation> {
        self.last_controller += 1;
        let id = ControllerId(self.last_controller);
        let settings = Settings { seed: self.random.number(), ..self.settings };
        let mut controller = Controller::new(settings, self.time());
        for known in self.store.all() {
            controller.handle(Event::Configured(Box::new(known)), self.time());
        }
        self.controllers.insert(id, controller);
        self.control(id, |_| {});
        self.ids().into_iter().try_for_each(|node| self.announce(id, node))
    }

    fn drain(&mut self, node: ReplicaId) -> Result<(), Violation> {
        let drains = !self.node(node).drains;
        self.set_drains(node, drains)
    }

    /// What was said of it before is not heard any more.
    fn set_drains(&mut self, node: ReplicaId, drains: bool) -> Result<(), Violation> {
        let is_old = |packet: &Packet| matches!(packet, Packet::ToController(from, _, Event::Draining { .. }) if *from == node);
        self.packets.retain(|packet| !is_old(packet));
        self.node(node).drains = drains;
        self.drive(node, |machine, _, _| machine.drain(drains))
    }

    /// All faults end, and one controller is left, the one before or a new one.
    pub(super) fn heal(&mut self) -> Result<(), Violation> {
        self.is_faulty = false;
        while self.controllers.len() > 1 {
            self.drawn_controller().map_or(Ok(()), |id| self.end_controller(id))?;
        }
        if self.controllers.is_empty() || self.random.chance(30) {
            self.drawn_controller().map_or(Ok(()), |id| self.end_controller(id))?;
            self.start_controller()?;
        }
        for node in self.ids() {
            self.restart(node)?;
            self.heal_controller(node)?;
            self.set_drains(node, false)?;
        }
        for (one, other) in self.cuts.clone() {
            self.heal_pair(one, other)?;
        }
        Ok(())
    }
}
