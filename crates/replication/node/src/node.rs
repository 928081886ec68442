//! The machine: what it keeps, and how an input reaches the assignment that it is about.

use std::collections::BTreeMap;

use base::MonoTime;
use replication_appointed::{Epoch, ReplicaId};
use replication_controller::{Event, Incarnation, Known, PartitionId, Version};

use crate::assignment::{Assignment, Context};
use crate::copy::{Copies, Input, LogCopy};
use crate::deadlines::{Deadline, Deadlines};
use crate::effect::{Admission, Effect, Reply};
use crate::ids::ControllerId;
use crate::outbox::Outbox;
use crate::reading::Reading;
use crate::settings::Settings;

/// See the crate.
#[derive(Debug)]
pub struct Node {
    pub(crate) own: ReplicaId,
    incarnation: Incarnation,
    pub(crate) settings: Settings,
    pub(crate) now: MonoTime,
    drains: bool,
    pub(crate) assignments: BTreeMap<PartitionId, Assignment>,
    /// The newest version that was seen of each partition, also of those that are not assigned any more: a record that comes
    /// late must not make a copy again.
    pub(crate) seen: BTreeMap<PartitionId, Version>,
    pub(crate) readings: BTreeMap<PartitionId, Reading>,
    pub(crate) deadlines: Deadlines,
    pub(crate) outbox: Outbox,
}

impl Node {
    /// The process of a node that knows no record yet.
    #[must_use]
    pub const fn new(own: ReplicaId, incarnation: Incarnation, settings: Settings) -> Self {
        Self {
            own,
            incarnation,
            settings,
            now: MonoTime::ZERO,
            drains: false,
            assignments: BTreeMap::new(),
            seen: BTreeMap::new(),
            readings: BTreeMap::new(),
            deadlines: Deadlines::new(),
            outbox: Outbox::new(own, incarnation),
        }
    }

    /// There is a connection to that controller: the node announces itself.
    pub fn connected(&mut self, controller: ControllerId) {
        self.outbox.connect(controller);
        let (node, incarnation, drains) = (self.own, self.incarnation, self.drains);
        self.outbox.inform(controller, Event::Announced { node, incarnation });
        self.outbox.inform(controller, Event::Draining { node, drains });
    }

    /// The connection to that controller is gone, and nothing more is to be sent there.
    pub fn disconnected(&mut self, controller: ControllerId) {
        self.outbox.disconnect(controller);
    }

    /// The node wants to lead nothing, or again.
    pub fn drain(&mut self, drains: bool) {
        self.drains = drains;
        self.outbox.inform_all(&Event::Draining { node: self.own, drains });
    }

    /// A copy is ready that [`Effect::Create`] has asked for, with that promise.
    pub fn created<C: Copies>(
        &mut self,
        partition: PartitionId,
        promised: Epoch,
        now: MonoTime,
        copies: &mut C,
    ) {
        self.pass(now);
        let Some(assignment) = self.assignments.get_mut(&partition) else { return };
        if assignment.creating == Some(promised) {
            assignment.creating = None;
            self.with(partition, copies, |assignment, copy, context| assignment.created(copy, context));
        }
    }

    /// Whether entries of a leader of that epoch may be taken. A copy whose record the node does not know yet may have to be
    /// started anew first, or dropped.
    pub fn admit(
        &mut self,
        partition: PartitionId,
        from: ReplicaId,
        epoch: Epoch,
        now: MonoTime,
    ) -> Admission {
        self.pass(now);
        let assignment = self.assignments.get_mut(&partition);
        if let Some(assignment) = assignment.filter(|assignment| assignment.epoch() >= epoch) {
            if assignment.creating.is_none() {
                return Admission::Take;
            }
            assignment.dropped = Some((from, epoch));
            return Admission::Later;
        }
        match self.read(partition, |reading| reading.drop_entries(from, epoch)) {
            true => Admission::Later,
            false => Admission::Close,
        }
    }

    /// A follower has answered.
    pub fn answered<C: Copies>(
        &mut self,
        partition: PartitionId,
        from: ReplicaId,
        reply: Reply,
        now: MonoTime,
        copies: &mut C,
    ) {
        self.pass(now);
        let input = match reply {
            Reply::Appended(answer) => Input::Appended(from, answer),
            Reply::Diverged(answer) => Input::Diverged(from, answer),
            Reply::Refused(answer) => Input::Refused(answer),
        };
        self.with(partition, copies, |_, copy, _| copy.apply(input));
    }

    /// The owner has done something with the copy: it has appended, taken or sent entries, or its disk has made something
    /// durable.
    pub fn follow_up<C: Copies>(&mut self, partition: PartitionId, now: MonoTime, copies: &mut C) {
        self.pass(now);
        self.with(partition, copies, |_, _, _| {});
    }

    /// The connection to another node is new: what was sent over the one before may be lost.
    pub fn reconnected<C: Copies>(&mut self, peer: ReplicaId, now: MonoTime, copies: &mut C) {
        self.pass(now);
        let all: Vec<PartitionId> = self.assignments.keys().copied().collect();
        for partition in all {
            self.with(partition, copies, |_, copy, _| {
                if copy.replica().is_leading() {
                    copy.apply(Input::SendAgain(peer));
                } else if copy.replica().leader().is_some_and(|(leader, _)| leader == peer) {
                    copy.apply(Input::TellAgain);
                }
            });
        }
    }

    /// Looks at what has waited until now.
    pub fn tick<C: Copies>(&mut self, now: MonoTime, copies: &mut C) {
        self.pass(now);
        while let Some(deadline) = self.deadlines.pop(self.now) {
            match deadline {
                Deadline::Partition(partition) => self.with(partition, copies, |_, _, _| {}),
                Deadline::Read(partition) => self.send_read(partition),
            }
        }
    }

    /// What is to be done since the last time.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        self.outbox.take(self.settings.message_max)
    }

    /// When [`Node::tick`] is to be called; nothing if never.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        self.deadlines.next()
    }

    /// The record of a partition that this node has, or gets, a copy of.
    #[must_use]
    pub fn known(&self, partition: PartitionId) -> Option<&Known> {
        self.assignments.get(&partition).map(|assignment| &assignment.known)
    }

    /// Whether a hand-over forbids to append: between [`Effect::Pause`] and [`Effect::Resume`].
    #[must_use]
    pub fn is_paused(&self, partition: PartitionId) -> bool {
        self.assignments
            .get(&partition)
            .is_some_and(|assignment| assignment.hand_over.is_some_and(|known| known.pauses()))
    }

    pub(crate) fn pass(&mut self, now: MonoTime) {
        self.now = self.now.max(now);
    }

    /// Does something with an assignment whose copy is ready, and then all that follows.
    pub(crate) fn with<C: Copies>(
        &mut self,
        partition: PartitionId,
        copies: &mut C,
        what: impl FnOnce(&mut Assignment, &mut dyn LogCopy, &mut Context<'_>),
    ) {
        let assignment = self.assignments.get_mut(&partition).filter(|known| known.creating.is_none());
        let Some(assignment) = assignment else { return };
        let Some(mut copy) = copies.copy(partition) else { return };
        let (own, now, settings) = (self.own, self.now, &self.settings);
        let mut context = Context { own, now, settings, outbox: &mut self.outbox };
        what(assignment, &mut copy, &mut context);
        assignment.follow_up(&mut copy, &mut context);
        // What is due was done just now. A deadline that is over would keep `tick` busy for ever.
        let deadline = assignment.deadline(settings).map(|at| at.max(now.plus_ms(1)));
        self.deadlines.set(Deadline::Partition(partition), deadline);
    }

    /// The record is read, and that is noted; whether there was room.
    pub(crate) fn read(&mut self, partition: PartitionId, note: impl FnOnce(&mut Reading)) -> bool {
        if let Some(reading) = self.readings.get_mut(&partition) {
            note(reading);
            return true;
        }
        // Of partitions that are assigned there are only so many as there are copies.
        let is_assigned = self.assignments.contains_key(&partition);
        if !is_assigned && self.readings.len() >= self.settings.reads_max {
            return false;
        }
        note(self.readings.entry(partition).or_default());
        self.send_read(partition);
        true
    }

    pub(crate) fn send_read(&mut self, partition: PartitionId) {
        if self.readings.contains_key(&partition) {
            self.outbox.read(partition);
            let again = self.now.plus_ms(self.settings.read_ms);
            self.deadlines.set(Deadline::Read(partition), Some(again));
        }
    }
}
