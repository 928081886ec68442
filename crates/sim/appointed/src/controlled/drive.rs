//! What carries controllers' effects out, and what a node does for controllers.

use replication_appointed::{Refused, ReplicaId};
use replication_controller::{
    Change, Controller, Effect, Event, FenceAnswer, FenceRequest, Known, PartitionId, Promise, Task, Version,
    Work, Written,
};

use super::copy::{Asked, Copy};
use super::packet::{ControllerId, Packet};
use super::world::World;
use crate::violation::Violation;

/// How long a leader that prepares a hand-over appends nothing.
const PAUSE_MS: u64 = 1_000;
/// How long a leader pursues a task that is not repeated, and waits for the outcome of a write.
const TASK_MS: u64 = 1_500;

/// Of controllers.
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
        let mut results = self.write(changes)?;
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
            self.losses += 1;
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
}

/// Of nodes.
impl World {
    pub(super) fn deliver_to_node(
        &mut self,
        from: ControllerId,
        node: ReplicaId,
        effect: Effect,
    ) -> Result<(), Violation> {
        if !self.controller_hears(from, node) {
            return Ok(());
        }
        match effect {
            Effect::SendFence { fences, .. } => {
                fences.into_iter().try_for_each(|fence| self.fence(from, node, fence))
            }
            Effect::Tell { known, .. } => known.into_iter().try_for_each(|known| {
                let partition = known.partition;
                self.learn(node, known)?;
                self.report(node, partition, Some(from));
                Ok(())
            }),
            Effect::Ask { tasks, .. } => {
                tasks.into_iter().for_each(|task| self.take_task(from, node, task));
                Ok(())
            }
            Effect::Propose { .. } | Effect::Read { .. } => Ok(()),
        }
    }

    fn fence(&mut self, from: ControllerId, node: ReplicaId, request: FenceRequest) -> Result<(), Violation> {
        let FenceRequest { partition, epoch } = request;
        if self.run(node, partition).is_none() {
            self.read_configuration(node, partition)?;
        }
        let Some(run) = self.run(node, partition) else { return Ok(()) };
        if let Some(promised) = run.fence(from, epoch) {
            self.promise(from, node, FenceAnswer { partition, epoch, promise: Promise::Refused(promised) });
        }
        self.after(node, partition)
    }

    fn promise(&mut self, to: ControllerId, node: ReplicaId, answer: FenceAnswer) {
        let event = Event::Promised { node, answers: vec![answer] };
        self.packets.push(Packet::ToController(node, to, event));
    }

    /// Promises that have become durable, or that were overtaken.
    pub(super) fn answer_fences(&mut self, node: ReplicaId, partition: PartitionId) {
        let Some(run) = self.run(node, partition) else { return };
        let mut answers = Vec::new();
        for (controller, epoch) in core::mem::take(&mut run.fences) {
            let promised = run.replica.promised();
            match run.replica.fenced(epoch) {
                Some(position) => answers.push((controller, epoch, Promise::Given(position))),
                None if promised > epoch => answers.push((controller, epoch, Promise::Refused(promised))),
                None => run.fences.push((controller, epoch)),
            }
        }
        for (controller, epoch, promise) in answers {
            self.promise(controller, node, FenceAnswer { partition, epoch, promise });
        }
    }

    /// The node hears what the configuration says.
    pub(super) fn learn(&mut self, node: ReplicaId, known: Known) -> Result<(), Violation> {
        let (partition, config) = (known.partition, &known.record.config);
        let state = self.node(node);
        if state.seen.get(&partition).is_some_and(|seen| *seen >= known.version.0) {
            return Ok(());
        }
        state.seen.insert(partition, known.version.0);
        if config.leader != node && !known.record.members().nodes().contains(&node) {
            state.copies.remove(&partition);
            return Ok(());
        }
        let lost = known.record.loss.as_ref().map(|loss| loss.epoch);
        let is_lost = |copy: &Copy| {
            let run = copy.run.as_ref();
            let log = run.map(|run| run.replica.log().position().epoch);
            config.leader != node && lost.is_some_and(|lost| log.is_some_and(|log| log < lost))
        };
        let before = state.copies.remove(&partition);
        let copy = match before {
            Some(copy) if is_lost(&copy) => Copy::new(config.epoch.max(copy.disk.promised)),
            Some(copy) => copy,
            None => Copy::new(config.epoch),
        };
        state.copies.insert(partition, copy);
        self.act_on(node, known)
    }

    fn act_on(&mut self, node: ReplicaId, known: Known) -> Result<(), Violation> {
        let (partition, version, epoch) = (known.partition, known.version, known.record.config.epoch);
        let Some(run) = self.run(node, partition) else { return Ok(()) };
        run.known = Some(known);
        if run.try_lead(node) {
            self.check_leader(node, partition)?;
        } else if run.replica.is_leading() && epoch > run.replica.promised() {
            // Another leader was appointed, or is being chosen.
            run.replica.receive_refused(Refused { promised: epoch });
            run.stop_if_idle();
        } else if run.asked.as_ref().is_some_and(|asked| asked.version < version) {
            // The epoch has not risen: what was asked for was never written, and never will be.
            run.asked = None;
            run.replica.give_up_voters();
        }
        self.after(node, partition)
    }

    pub(super) fn read_configuration(
        &mut self,
        node: ReplicaId,
        partition: PartitionId,
    ) -> Result<(), Violation> {
        let known = self.store.known(partition);
        known.map_or(Ok(()), |known| self.learn(node, known))
    }

    fn take_task(&mut self, from: ControllerId, node: ReplicaId, task: Task) {
        let now = self.now;
        let Some(run) = self.run(node, task.partition) else { return };
        let known = run.known.as_ref().map(|known| known.version);
        let leads = run.replica.is_leading() && run.replica.promised() == task.epoch;
        self.hand_overs += usize::from(leads && matches!(task.work, Work::HandOver { .. }));
        let Some(run) = self.run(node, task.partition) else { return };
        match task.work {
            Work::HandOver { to } if leads => run.pause = Some((to, now + PAUSE_MS)),
            Work::Change { version, record } if leads && known == Some(version) => {
                let until = now + TASK_MS;
                match &mut run.asked {
                    Some(asked) if asked.record == *record => asked.until = until,
                    Some(_) => {}
                    None => {
                        let (is_counted, sent) = (false, None);
                        run.asked = Some(Asked { version, record: *record, is_counted, sent, until });
                    }
                }
            }
            _ => self.report(node, task.partition, Some(from)),
        }
    }

    /// What a leader does from time to time for the tasks that it has.
    pub(super) fn work(&mut self, node: ReplicaId, partition: PartitionId) -> Result<(), Violation> {
        let (now, incarnation) = (self.now, self.node(node).incarnation);
        let Some(run) = self.run(node, partition) else { return Ok(()) };
        run.pause = run.pause.filter(|(_, until)| *until > now);
        let (replica, mut write) = (&mut run.replica, None);
        if let Some(asked) = &mut run.asked {
            let voters = &asked.record.config.voters;
            let has = |id| replica.durable_on(id).is_some_and(|end| end >= replica.committed());
            if !asked.is_counted && voters.replicas().iter().all(|id| has(*id)) {
                asked.is_counted = true;
                replica.ask_for_voters(voters.clone());
            }
            let is_late = asked.sent.is_none_or(|sent| sent + TASK_MS < now);
            if asked.is_counted && is_late && (asked.sent.is_some() || replica.are_voters_ready()) {
                asked.sent = Some(now);
                write = Some(Change { partition, version: asked.version, record: asked.record.clone() });
            } else if asked.sent.is_none() && asked.until < now {
                replica.give_up_voters();
                run.asked = None;
            }
        }
        self.packets.extend(write.map(|change| Packet::Write(node, incarnation, Box::new(change))));
        self.say_prepared(node, partition);
        self.after(node, partition)
    }

    fn say_prepared(&mut self, node: ReplicaId, partition: PartitionId) {
        let Some(run) = self.run(node, partition) else { return };
        let (Some((to, _)), epoch) = (run.pause, run.replica.promised()) else { return };
        if run.replica.durable_on(to) == Some(run.replica.log().end()) {
            for controller in self.controllers.keys().copied() {
                let event = Event::Prepared { node, partition, epoch, to };
                self.packets.push(Packet::ToController(node, controller, event));
            }
        }
    }

    /// What has become of a leader's write.
    pub(super) fn wrote(
        &mut self,
        node: ReplicaId,
        incarnation: u64,
        partition: PartitionId,
        result: Written,
    ) -> Result<(), Violation> {
        let state = self.node(node);
        if !state.is_up || state.incarnation != incarnation {
            return Ok(());
        }
        let asked = self.run(node, partition).and_then(|run| run.asked.clone());
        match (result, asked) {
            (Written::Yes(version), Some(asked)) if version == Version(asked.version.0 + 1) => {
                self.learn(node, Known { partition, version, record: asked.record })
            }
            _ => self.read_configuration(node, partition),
        }
    }
}
