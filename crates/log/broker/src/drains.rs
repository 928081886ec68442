//! Everything moves away from brokers that drain (`diwan.drain`), so that they may go for good: the controller gives their replicas to
//! other brokers, some partitions at a time, as by AlterPartitionReassignments. Where they go, [`replication_planner`] decides.
//!
//! A broker that drains leads nothing that another replica could lead, and is given no replicas; that holds at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{MonoTime, Now};
use log_config::Refusal;
use log_metadata::{PartitionNode, paths};
use log_wire::ErrorCode;
use replication_planner::{
    Action, Cluster, Node as Place, NodeId, NodeState, Partition, PartitionId, Settings, plan_drains,
};

use crate::catalog::{TopicImage, change};
use crate::council::Purpose;
use crate::node::Node;
use crate::topics::places;

/// How often it is looked at, milliseconds.
const LOOK_MS: u64 = 1_000;
/// The same while nothing is left to move.
const IDLE_MS: u64 = 10_000;
/// So many partitions change their replicas at once.
const AT_ONCE: usize = 20;

/// When it is looked at next.
#[derive(Debug, Default)]
pub(crate) struct Drains {
    due: Option<MonoTime>,
}

impl Drains {
    /// Time passes. To be called once all topics are known.
    pub(crate) fn tick(&mut self, node: &mut Node, now: Now) {
        let is_controller = node.brokers.controller() == node.config.node_id;
        if node.brokers.drained().is_empty() || !is_controller {
            self.due = None;
        } else if self.due.is_none_or(|due| due <= now.mono()) {
            let again_ms = if is_anything_left(node) { LOOK_MS } else { IDLE_MS };
            self.due = Some(now.mono().plus_ms(again_ms));
            relocate(node);
        }
    }

    pub(crate) const fn next_deadline(&self) -> Option<MonoTime> {
        self.due
    }
}

/// A partition that changes its replicas: its number, those that it has, and those that it gets.
type Relocation = (i32, Vec<i32>, Vec<i32>);

/// Whether any broker that drains keeps a replica.
fn is_anything_left(node: &Node) -> bool {
    let is_left = |image: &PartitionNode| node.brokers.drained().iter().any(|id| keeps(*id, image));
    node.catalog.topics().any(|topic| topic.partitions.iter().any(is_left))
}

/// Whether a broker has a replica of a partition, or is to have one.
fn keeps(broker: i32, image: &PartitionNode) -> bool {
    let is_wanted = image.rest.goal.as_ref().is_some_and(|goal| goal.to.voters.contains(&broker));
    is_wanted || image.replicas.contains(&broker)
}

/// Some partitions get replicas elsewhere, unless enough do already.
fn relocate(node: &mut Node) {
    let all = node.catalog.topics().flat_map(|topic| &topic.partitions);
    let under_way = all.filter(|image| image.settled_replicas().is_none()).count();
    if !is_anything_left(node) || under_way >= AT_ONCE {
        return;
    }
    let topics: Vec<TopicImage> = node.catalog.topics().cloned().collect();
    for (number, moves) in moves(node, AT_ONCE - under_way) {
        let Some(topic) = topics.get(number) else { continue };
        let purpose = Purpose::Drain(Arc::clone(&topic.name));
        if !node.council.has(&purpose) {
            let min = topic.config.min_insync_replicas as usize;
            node.council.ask(paths::topic(&topic.name), purpose, change::relocate(topic.id, moves, min));
        }
    }
}

/// A partition of the catalog: its topic's place there, its number, and what the council says of it.
type Known<'n> = (usize, i32, &'n PartitionNode);

/// What moves next, of so many partitions at most: by the place of their topic in the catalog.
fn moves(node: &Node, partitions_max: usize) -> BTreeMap<usize, Vec<Relocation>> {
    let all: Vec<Known<'_>> = (0..)
        .zip(node.catalog.topics())
        .flat_map(|(number, topic)| (0..).zip(&topic.partitions).map(move |(index, of)| (number, index, of)))
        .collect();
    let partitions = (0..).zip(&all).map(|(id, (_, _, image))| planned(id, image));
    let cluster = Cluster { nodes: nodes(node), partitions: partitions.collect(), ..Cluster::default() };
    let plan = plan_drains(&cluster, &Settings::default());
    let mut after = BTreeMap::<usize, Vec<i32>>::new();
    for step in plan.map(|plan| plan.steps).unwrap_or_default() {
        let (Action::MoveReplica { from, to, .. }, Ok(at)) = (step.action, usize::try_from(step.partition.0))
        else {
            continue;
        };
        let is_next = after.contains_key(&at) || after.len() < partitions_max;
        let before = all.get(at).filter(|(_, _, image)| is_next && node.reaches(image.leader));
        let Some(before) = before.and_then(|(_, _, image)| image.settled_replicas()) else { continue };
        let replicas = after.entry(at).or_insert(before).iter_mut();
        replicas.filter(|id| id.cast_unsigned() == from.0).for_each(|id| *id = to.0.cast_signed());
    }
    by_topic(&all, after)
}

/// The same by topics, with the replicas that there are.
fn by_topic(all: &[Known<'_>], after: BTreeMap<usize, Vec<i32>>) -> BTreeMap<usize, Vec<Relocation>> {
    let mut moves = BTreeMap::<usize, Vec<Relocation>>::new();
    for (at, replicas) in after {
        if let Some((topic, index, image)) = all.get(at)
            && let Some(before) = image.settled_replicas()
        {
            moves.entry(*topic).or_default().push((*index, before, replicas));
        }
    }
    moves
}

/// The brokers that take replicas and are reached, and those that drain.
fn nodes(node: &Node) -> Vec<Place> {
    let drained = node.brokers.drained();
    let serving = node.brokers.that_take_replicas().filter(|id| node.reaches(*id));
    let ids: Vec<i32> = serving.chain(drained.iter().copied()).collect();
    let mut places = places(&node.brokers, &ids);
    for place in places.iter_mut().filter(|place| drained.contains(&place.id.0.cast_signed())) {
        place.state = NodeState::Draining;
    }
    places
}

/// A partition as the planner sees it. One that changes its replicas stays as it is.
fn planned(id: u64, image: &PartitionNode) -> Partition {
    let node = |id: &i32| NodeId(id.cast_unsigned());
    let settled = image.settled_replicas();
    let replicas = settled.as_ref().unwrap_or(&image.replicas);
    let mut partition = Partition::new(PartitionId(id), replicas.len().max(1));
    partition.voters = replicas.iter().map(node).collect();
    partition.leader = Some(node(&image.leader)).filter(|leader| partition.voters.contains(leader));
    partition.pinned = settled.is_none();
    partition
}

impl Node {
    /// Whether everything can move away from a broker.
    ///
    /// # Errors
    /// `POLICY_VIOLATION`: there is no such broker, or too few others are left for the replicas of a topic.
    pub(crate) fn check_drain(&self, broker: i32) -> Result<(), Refusal> {
        let refused = |message: String| Err(Refusal { code: ErrorCode::PolicyViolation, message });
        let keeps = |image: &PartitionNode| keeps(broker, image);
        let is_known = self.brokers.is_live(broker)
            || self.catalog.topics().any(|topic| topic.partitions.iter().any(keeps));
        if !is_known {
            return refused(format!("there is no broker {broker}"));
        }
        let others = self.brokers.that_take_replicas().filter(|id| *id != broker).count();
        for topic in self.catalog.topics() {
            let wanted = |image: &PartitionNode| {
                image.rest.goal.as_ref().map_or(image.replicas.len(), |goal| goal.to.voters.len())
            };
            let needed = topic.partitions.iter().filter(|image| keeps(image)).map(wanted);
            if let Some(needed) = needed.max().filter(|needed| *needed > others) {
                return refused(format!(
                    "broker {broker} cannot drain: partitions of the topic `{}` have {needed} replicas, and {others} other \
                     brokers take replicas",
                    topic.name
                ));
            }
        }
        Ok(())
    }
}
