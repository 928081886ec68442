//! What is to be done and said, gathered so that many partitions share a message.

use std::collections::{BTreeMap, BTreeSet};

use replication_appointed::ReplicaId;
use replication_controller::{Event, FenceAnswer, Incarnation, PartitionId, Report};

use crate::effect::{Effect, Reply};
use crate::ids::ControllerId;

/// See the module.
#[derive(Debug)]
pub(crate) struct Outbox {
    own: ReplicaId,
    incarnation: Incarnation,
    controllers: BTreeSet<ControllerId>,
    /// Is done in this order, and before what follows.
    effects: Vec<Effect>,
    promises: BTreeMap<ControllerId, Vec<FenceAnswer>>,
    /// The newest of each partition.
    reports: BTreeMap<ControllerId, BTreeMap<PartitionId, Report>>,
    sends: BTreeMap<ReplicaId, BTreeSet<PartitionId>>,
    replies: BTreeMap<ReplicaId, Vec<(PartitionId, Reply)>>,
    reads: BTreeSet<PartitionId>,
}

impl Outbox {
    pub(crate) const fn new(own: ReplicaId, incarnation: Incarnation) -> Self {
        Self {
            own,
            incarnation,
            controllers: BTreeSet::new(),
            effects: Vec::new(),
            promises: BTreeMap::new(),
            reports: BTreeMap::new(),
            sends: BTreeMap::new(),
            replies: BTreeMap::new(),
            reads: BTreeSet::new(),
        }
    }

    pub(crate) fn connect(&mut self, controller: ControllerId) {
        self.controllers.insert(controller);
    }

    pub(crate) fn disconnect(&mut self, controller: ControllerId) {
        self.controllers.remove(&controller);
        self.promises.remove(&controller);
        self.reports.remove(&controller);
    }

    pub(crate) fn is_connected(&self, controller: ControllerId) -> bool {
        self.controllers.contains(&controller)
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// A controller that is not connected is told nothing: it asks again.
    pub(crate) fn inform(&mut self, controller: ControllerId, event: Event) {
        if self.controllers.contains(&controller) {
            self.effects.push(Effect::Inform { controller, event });
        }
    }

    pub(crate) fn inform_all(&mut self, event: &Event) {
        let all = self.controllers.iter().map(|id| Effect::Inform { controller: *id, event: event.clone() });
        self.effects.extend(all);
    }

    pub(crate) fn promise(&mut self, controller: ControllerId, answer: FenceAnswer) {
        if self.controllers.contains(&controller) {
            self.promises.entry(controller).or_default().push(answer);
        }
    }

    /// For that controller, or for all.
    pub(crate) fn report(&mut self, to: Option<ControllerId>, report: Report) {
        for id in self.controllers.iter().filter(|id| to.is_none_or(|to| to == **id)) {
            self.reports.entry(*id).or_default().insert(report.partition, report);
        }
    }

    pub(crate) fn send(&mut self, to: ReplicaId, partition: PartitionId) {
        self.sends.entry(to).or_default().insert(partition);
    }

    pub(crate) fn reply(&mut self, to: ReplicaId, partition: PartitionId, reply: Reply) {
        self.replies.entry(to).or_default().push((partition, reply));
    }

    pub(crate) fn read(&mut self, partition: PartitionId) {
        self.reads.insert(partition);
    }

    /// Everything, in effects of at most so many partitions.
    pub(crate) fn take(&mut self, message_max: usize) -> Vec<Effect> {
        let (node, incarnation) = (self.own, self.incarnation);
        let mut effects = core::mem::take(&mut self.effects);
        for (controller, answers) in core::mem::take(&mut self.promises) {
            effects.extend(batches(answers, message_max).map(|answers| {
                let event = Event::Promised { node, answers };
                Effect::Inform { controller, event }
            }));
        }
        for (controller, reports) in core::mem::take(&mut self.reports) {
            effects.extend(batches(reports.into_values(), message_max).map(|reports| {
                let event = Event::Reported { node, incarnation, reports };
                Effect::Inform { controller, event }
            }));
        }
        for (to, replies) in core::mem::take(&mut self.replies) {
            effects.extend(batches(replies, message_max).map(|replies| Effect::Reply { to, replies }));
        }
        for (to, partitions) in core::mem::take(&mut self.sends) {
            effects
                .extend(batches(partitions, message_max).map(|partitions| Effect::Send { to, partitions }));
        }
        let reads = core::mem::take(&mut self.reads);
        effects.extend(batches(reads, message_max).map(|partitions| Effect::Read { partitions }));
        effects
    }
}

/// The same in lists of at most `max`.
fn batches<T>(all: impl IntoIterator<Item = T>, max: usize) -> impl Iterator<Item = Vec<T>> {
    let mut all = all.into_iter();
    core::iter::from_fn(move || {
        let batch: Vec<T> = all.by_ref().take(max.max(1)).collect();
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_at_most_as_many_as_may_be() {
        assert_eq!(batches(1..=5, 2).collect::<Vec<_>>(), [vec![1, 2], vec![3, 4], vec![5]]);
        assert_eq!(batches(Vec::<u8>::new(), 2).count(), 0);
    }
}
