//! The target assignment: what each member is to own in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ConsumerGroup;
use crate::assignor::{AssignableTopic, Subscriber, Task};
use crate::stored_consumer::StoredConsumerMember;
use crate::turn::Turn;
use crate::{Assignor, ConsumerLimits, GroupConfig, Partitions, Text, Topics};

/// Bytes of a topic and of a partition in a target's record, and of a record besides.
const TOPIC_BYTES: usize = 24;
const PARTITION_BYTES: usize = 4;
const RECORD_BYTES: usize = 64;

impl ConsumerGroup {
    /// Looks for the topics. The epoch rises if a member reads other topics, or if the topics themselves are others.
    pub(super) fn refresh(&mut self, subscription_changed: bool, topics: &dyn Topics, turn: &Turn<'_>) {
        self.subscriptions.look(topics, &turn.limits.consumer, turn.now);
        let hash = self.subscriptions.hash();
        let others = hash != self.topics_hash;
        // If a target has to be computed anyway, it is computed for these topics.
        if subscription_changed || (others && self.assignment_epoch == self.epoch) {
            self.bump();
        }
        if others {
            (self.topics_hash, self.changes.group) = (hash, true);
        }
    }

    /// Computes a target for the newest epoch, but not before the last one is as old as it has to be. A target whose records
    /// would not fit into one append is not given out.
    pub(super) fn assign_if_due(&mut self, config: GroupConfig, turn: &Turn<'_>) {
        let interval_ms = config.assignment_interval_ms(&turn.limits.consumer);
        let early = self.assigned_at.is_some_and(|at| turn.now.since(at) < interval_ms);
        if self.assignment_epoch >= self.epoch || early {
            return;
        }
        self.assigned_at = Some(turn.now);
        let task = self.task();
        let ids: Vec<Text> = task.members.iter().map(|member| member.id.clone()).collect();
        let result = task.assign(self.assignor(&turn.limits.consumer));
        let changed: Vec<_> =
            ids.into_iter().zip(result).filter(|(id, new)| *self.target_of(id) != *new).collect();
        if changed.iter().map(|(_, new)| bytes_of(new)).sum::<usize>() > turn.limits.group_bytes_max {
            return;
        }
        for (id, new) in changed {
            self.aim(&id, Arc::new(new));
        }
        (self.assignment_epoch, self.changes.group) = (self.epoch, true);
    }

    fn task(&self) -> Task<'_> {
        let found = self.subscriptions.found();
        let topics =
            found.iter().map(|(id, (_, partitions))| AssignableTopic { id: *id, partitions: *partitions });
        let mut task = Task { topics: topics.collect(), ..Task::default() };
        let mut known: BTreeMap<(&BTreeSet<Text>, &Text), usize> = BTreeMap::new();
        for member in self.members.values().map(|member| &member.stored) {
            let subscription = *known.entry((&member.topics, &member.regex)).or_insert_with(|| {
                task.subscriptions.push(self.places(member));
                task.subscriptions.len() - 1
            });
            task.members.push(Subscriber {
                id: &member.id,
                instance: member.instance.as_ref(),
                subscription,
                before: self.target.get(&member.id).map(Arc::as_ref),
            });
        }
        task
    }

    /// The topics that a member reads, as places in the task.
    fn places(&self, member: &StoredConsumerMember) -> Vec<usize> {
        let found = self.subscriptions.found().values().enumerate();
        let read = found.filter(|(_, (name, _))| self.subscriptions.reads_name(member, name));
        read.map(|(place, _)| place).collect()
    }

    /// The assignor that most members prefer; the broker's first one if they do not say.
    pub(super) fn assignor(&self, limits: &ConsumerLimits) -> Assignor {
        let votes = |name: &str| {
            let preferred = self.members.values().filter_map(|member| member.stored.assignor.as_deref());
            preferred.filter(|preferred| *preferred == name).count()
        };
        let mut best = limits.assignors.first().copied().unwrap_or(Assignor::Uniform);
        for assignor in &limits.assignors {
            if votes(assignor.name()) > votes(best.name()) {
                best = *assignor;
            }
        }
        best
    }
}

fn bytes_of(target: &Partitions) -> usize {
    let topic = |numbers: &BTreeSet<i32>| TOPIC_BYTES + PARTITION_BYTES * numbers.len();
    RECORD_BYTES + target.values().map(topic).sum::<usize>()
}
