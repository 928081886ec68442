//! Internal topics that were made while few brokers lived get as many replicas as they are configured to have, once there are brokers
//! for them: a few partitions at a time, as by AlterPartitionReassignments.
//!
//! Replicas are only added, and only where all that there are can be reached. Whoever wants fewer sets the factor
//! (`offsets.topic.replication.factor`, `transaction.state.log.replication.factor`,
//! `share.coordinator.state.topic.replication.factor`).

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{MonoTime, Now};
use log_metadata::{PartitionNode, paths};

use crate::catalog::{OFFSETS_TOPIC, SHARE_GROUPS_TOPIC, TRANSACTIONS_TOPIC, TopicImage, change};
use crate::council::Purpose;
use crate::internal_topics;
use crate::node::Node;

/// How often it is looked at, milliseconds; and how long a broker may be starting before it is for the first time.
const LOOK_MS: u64 = 10_000;
/// So many partitions of a topic grow at once.
const AT_ONCE: usize = 5;

/// When it is looked at next.
#[derive(Debug, Default)]
pub(crate) struct InternalGrowth {
    due: Option<MonoTime>,
}

impl InternalGrowth {
    /// Time passes. To be called once all topics are known.
    pub(crate) fn tick(&mut self, node: &mut Node, now: Now) {
        let is_due = self.due.is_some_and(|due| due <= now.mono());
        if is_due || self.due.is_none() {
            self.due = Some(now.mono().plus_ms(LOOK_MS));
        }
        if is_due && node.brokers.controller() == node.config.node_id {
            [OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_GROUPS_TOPIC]
                .into_iter()
                .for_each(|name| grow(node, name));
        }
    }
}

/// Some partitions of a topic get more replicas, unless some do already.
fn grow(node: &mut Node, name: &str) {
    let topic = node.catalog.topics().find(|topic| &*topic.name == name).cloned();
    let (Some(topic), Some(made)) = (topic, internal_topics::of(name, &node.config)) else { return };
    let brokers: Vec<i32> = node.brokers.that_take_replicas().filter(|id| node.reaches(*id)).collect();
    let wanted = usize::try_from(made.replicas).unwrap_or(0).min(brokers.len());
    let purpose = Purpose::Growth(Arc::clone(&topic.name));
    if topic.partitions.iter().any(|image| image.rest.goal.is_some()) || node.council.has(&purpose) {
        return;
    }
    // A change waits for each replica that there shall be: with one that is away it would not end, and no other would begin.
    let is_whole = |image: &PartitionNode| image.replicas.iter().all(|id| node.reaches(*id));
    let small = (0..).zip(&topic.partitions);
    let small = small.filter(|(_, image)| image.replicas.len() < wanted && is_whole(image)).take(AT_ONCE);
    let grown = Grown::of(&topic).with_more(small, wanted, &brokers);
    if !grown.is_empty() {
        let min = topic.config.min_insync_replicas as usize;
        node.council.ask(paths::topic(&topic.name), purpose, change::grow(topic.id, grown, min));
    }
}

/// How many replicas brokers have of a topic, and of how many partitions they are preferred as leader.
struct Grown {
    replicas: BTreeMap<i32, usize>,
    firsts: BTreeMap<i32, usize>,
}

impl Grown {
    fn of(topic: &TopicImage) -> Self {
        let mut counts = Self { replicas: BTreeMap::new(), firsts: BTreeMap::new() };
        for image in &topic.partitions {
            image.replicas.iter().for_each(|id| *counts.replicas.entry(*id).or_default() += 1);
            image.replicas.first().into_iter().for_each(|id| *counts.firsts.entry(*id).or_default() += 1);
        }
        counts
    }

    /// Partitions with too few replicas, with more of them: on brokers that have the fewest, and led by those that lead the fewest.
    fn with_more<'t>(
        mut self,
        small: impl Iterator<Item = (i32, &'t PartitionNode)>,
        wanted: usize,
        brokers: &[i32],
    ) -> Vec<(i32, Vec<i32>)> {
        let mut grown = Vec::new();
        for (index, image) in small {
            let mut replicas = image.replicas.clone();
            while replicas.len() < wanted {
                let others = brokers.iter().filter(|id| !replicas.contains(id));
                let Some(next) = others.min_by_key(|id| self.replicas.get(id)).copied() else { break };
                *self.replicas.entry(next).or_default() += 1;
                replicas.push(next);
            }
            let least = (0..replicas.len()).min_by_key(|place| self.firsts.get(&replicas[*place]));
            if let (Some(place), Some(before)) = (least, image.replicas.first()) {
                replicas.swap(0, place);
                *self.firsts.entry(*before).or_default() -= 1;
                *self.firsts.entry(replicas[0]).or_default() += 1;
            }
            grown.push((index, replicas));
        }
        grown
    }
}
