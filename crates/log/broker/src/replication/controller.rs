//! The controller, if this broker is it.

use base::{MonoTime, Now};
use log_config::LeaderSettings;
use replication_appointed::ReplicaId;
use replication_controller::{
    Act, Controller, Effect, Event, Incarnation, Known, PartitionId, Settings, Status,
};
use replication_node::ControllerId;
use replication_wire::{ControllerMessage, NodeMessage};

use super::{Replication, controller_id};
use crate::node::Node;

/// See the module.
#[derive(Debug)]
pub(super) struct Role {
    controller: Option<Controller>,
    settings: Settings,
    /// How often it has become the controller: what an earlier one has asked for is not the present one's.
    term: u64,
}

impl Role {
    /// Of a process that is none yet.
    pub(super) fn new(incarnation: Incarnation, leaders: LeaderSettings) -> Self {
        let LeaderSettings { preferred_after_ms, imbalance_percent, .. } = leaders;
        let seed = incarnation.0;
        let settings = Settings { seed, preferred_after_ms, imbalance_percent, ..Settings::default() };
        Self { controller: None, settings, term: 0 }
    }

    /// This broker is the controller from now on, and knows these records. Whether it was none before.
    pub(super) fn begin(&mut self, records: impl Iterator<Item = Known>, now: Now) -> bool {
        if self.controller.is_some() {
            return false;
        }
        let mut controller = Controller::new(self.settings, now.mono());
        records.for_each(|known| controller.handle(Event::Configured(Box::new(known)), now.mono()));
        self.controller = Some(controller);
        self.term += 1;
        true
    }

    pub(super) const fn is_active(&self) -> bool {
        self.controller.is_some()
    }

    pub(super) const fn term(&self) -> u64 {
        self.term
    }

    /// It is not any more.
    pub(super) fn resign(&mut self) {
        self.controller = None;
    }

    /// It hears of something, if it is the controller.
    pub(super) fn hear(&mut self, event: Event, now: Now) {
        if let Some(controller) = &mut self.controller {
            controller.handle(event, now.mono());
        }
    }

    pub(super) fn announced(&mut self, node: ReplicaId, incarnation: Incarnation, now: Now) {
        self.hear(Event::Announced { node, incarnation }, now);
    }

    pub(super) fn broken(&mut self, node: ReplicaId, now: Now) {
        self.hear(Event::Broken { node }, now);
    }

    pub(super) fn learn(&mut self, known: &Known, now: Now) {
        if self.controller.is_some() {
            self.hear(Event::Configured(Box::new(known.clone())), now);
        }
    }

    pub(super) fn removed(&mut self, partition: PartitionId, now: Now) {
        self.hear(Event::Removed { partition }, now);
    }

    pub(super) fn tick(&mut self, now: Now) {
        if let Some(controller) = &mut self.controller {
            controller.tick(now.mono());
        }
    }

    /// What partitions wait for, if it is the controller. It looks at all partitions.
    pub(super) fn status(&self) -> Option<Status> {
        self.controller.as_ref().map(Controller::status)
    }

    pub(super) fn next_deadline(&self) -> Option<MonoTime> {
        self.controller.as_ref().and_then(Controller::next_deadline)
    }

    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        self.controller.as_mut().map(Controller::take_effects).unwrap_or_default()
    }
}

impl Replication {
    /// A controller is told something by this node.
    pub(super) fn inform(&mut self, controller: ControllerId, event: Event, now: Now) {
        if controller == controller_id(self.own) {
            return self.role.hear(event, now);
        }
        let Ok(to) = u32::try_from(controller.0) else { return };
        if let Some(message) = message_of(event) {
            message.encode_parts(|bytes| self.outbox.say(ReplicaId(to), bytes));
        }
    }

    /// The controller, as far as this broker knows who that is, is asked for these acts. Nothing is answered, and what is asked for
    /// may be lost: the records tell what was done.
    pub(crate) fn ask_for(&mut self, node: &mut Node, acts: Vec<Act>, now: Now) {
        let first = self.first().unwrap_or(self.own);
        self.inform(controller_id(first), Event::Acts { node: self.own, acts }, now);
        self.carry_out(node, now);
    }

    /// Another node tells the controller something.
    pub(super) fn told(&mut self, node: &mut Node, from: ReplicaId, message: NodeMessage, now: Now) {
        if let NodeMessage::Announced { incarnation } = &message
            && let Some(process) = self.peers.get_mut(&from)
        {
            *process = Some(*incarnation);
        }
        if let NodeMessage::Draining { drains } = &message {
            node.brokers.drains(from.0.cast_signed(), *drains);
        }
        self.role.hear(message.into_event(from), now);
    }

    pub(super) fn carry_out_for_controller(&mut self, node: &mut Node, effect: Effect, now: Now) {
        match effect {
            Effect::Propose { id, changes } => self.propose(node, id, changes, now),
            Effect::Read { partitions } => self.read(node, &partitions),
            to_node => match ControllerMessage::of(to_node) {
                Ok((to, message)) if to == self.own => {
                    let effect = message.into_effect(to);
                    self.machine.handle(controller_id(to), effect, now.mono(), &mut node.partitions);
                }
                Ok((to, message)) => message.encode_parts(|bytes| self.outbox.say(to, bytes)),
                Err(_) => {}
            },
        }
    }
}

/// What is said of an event to a controller elsewhere.
fn message_of(event: Event) -> Option<NodeMessage> {
    match event {
        Event::Announced { incarnation, .. } => Some(NodeMessage::Announced { incarnation }),
        Event::Draining { drains, .. } => Some(NodeMessage::Draining { drains }),
        Event::Promised { answers, .. } => Some(NodeMessage::Promised(answers)),
        Event::Reported { incarnation, reports, .. } => Some(NodeMessage::Reported { incarnation, reports }),
        Event::Prepared { partition, epoch, to, .. } => Some(NodeMessage::Prepared { partition, epoch, to }),
        Event::Acts { acts, .. } => Some(NodeMessage::Acts(acts)),
        Event::Heard { .. }
        | Event::Broken { .. }
        | Event::Gone { .. }
        | Event::Configured(_)
        | Event::Removed { .. }
        | Event::Proposed { .. } => None,
    }
}
