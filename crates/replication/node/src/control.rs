//! What controllers ask of a node.

use base::MonoTime;
use replication_appointed::Epoch;
use replication_controller::{Effect, Known, PartitionId, Task};

use crate::copy::Copies;
use crate::ids::ControllerId;
use crate::node::Node;

impl Node {
    /// Takes what a controller that is connected has sent to this node.
    pub fn handle<C: Copies>(&mut self, from: ControllerId, effect: Effect, now: MonoTime, copies: &mut C) {
        self.pass(now);
        if !self.outbox.is_connected(from) {
            return;
        }
        match effect {
            Effect::SendFence { node, fences } if node == self.own => {
                fences.into_iter().for_each(|fence| self.fence(from, fence.partition, fence.epoch, copies));
            }
            Effect::Tell { node, known } if node == self.own => {
                known.into_iter().for_each(|known| self.told(from, known, copies));
            }
            Effect::Ask { node, tasks } if node == self.own => {
                tasks.into_iter().for_each(|task| self.ask(from, task, copies));
            }
            _ => {}
        }
    }

    /// A partition that the node knows nothing of is read first: the copy, if it gets one, begins with the promise of the record.
    pub(crate) fn fence<C: Copies>(
        &mut self,
        from: ControllerId,
        partition: PartitionId,
        epoch: Epoch,
        copies: &mut C,
    ) {
        match self.assignments.get_mut(&partition) {
            Some(assignment) if assignment.creating.is_some() => assignment.fences.add(from, epoch),
            Some(_) => self.with(partition, copies, |assignment, copy, context| {
                assignment.fence(from, epoch, copy, context);
            }),
            None => drop(self.read(partition, |reading| reading.fences.add(from, epoch))),
        }
    }

    /// The controller is told what the replica does under the record. A partition that the node knows nothing of may have been
    /// removed since that was sent, so its record is read, and makes a copy if it has to; then all controllers are told.
    fn told<C: Copies>(&mut self, from: ControllerId, known: Known, copies: &mut C) {
        let (partition, version) = (known.partition, known.version);
        if self.assignments.contains_key(&partition) {
            self.learn(known, self.now, copies);
            self.with(partition, copies, |assignment, copy, context| {
                assignment.report(copy, Some(from), context);
            });
        } else if self.seen.get(&partition).is_none_or(|seen| *seen < version) {
            self.read(partition, |_| {});
        }
    }

    fn ask<C: Copies>(&mut self, from: ControllerId, task: Task, copies: &mut C) {
        self.with(task.partition, copies, |assignment, copy, context| {
            assignment.take_task(from, task, copy, context);
        });
    }
}
