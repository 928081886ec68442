//! What becomes of a topic's node.

use std::collections::BTreeMap;
use std::sync::Arc;

use log_config::{Overrides, Refusal};
use log_metadata::{Compute, Decision, Found, NODE_BYTES_MAX, PartitionNode, TopicNode};
use log_partition::LeaderEpoch;
use log_wire::ErrorCode;

use super::NewTopic;

/// The node of a new topic of that id.
pub(crate) fn create(new: &NewTopic, id: [u8; 16]) -> Compute {
    let node = TopicNode::new(id, new.settings.clone(), &new.replicas);
    Box::new(move |found: Found<'_>| match found.data {
        None => written(&node),
        Some(data) if id_of(data) == Some(id) => Decision::Keep,
        Some(_) => Decision::Refuse(ErrorCode::TopicAlreadyExists, "the topic already exists".into()),
    })
}

/// The topic of that id is gone.
pub(crate) fn delete(name: Arc<str>, id: [u8; 16]) -> Compute {
    Box::new(move |found: Found<'_>| {
        if found.data.and_then(id_of) == Some(id) {
            Decision::Delete
        } else if found.may_be_done {
            Decision::Keep
        } else {
            Decision::Refuse(
                ErrorCode::UnknownTopicOrPartition,
                format!("the topic `{name}` is gone already"),
            )
        }
    })
}

/// The broker leads its partitions of the topic of that id anew, each under an epoch above all that it knows: the council may
/// be one that was brought back from a backup.
pub(crate) fn appoint(id: [u8; 16], broker: i32, known: BTreeMap<i32, LeaderEpoch>) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        // Of another id it was made meanwhile, and has no earlier leader.
        let Some(mut node) = node else { return Decision::Keep };
        if node.appoint(broker, &known) { Decision::Write(node.bytes()) } else { Decision::Keep }
    })
}

/// The topic of that id has so many partitions, the new ones on these brokers, each with its leader first.
pub(crate) fn add_partitions(id: [u8; 16], count: i32, replicas: Vec<Vec<i32>>) -> Compute {
    let count = usize::try_from(count).unwrap_or(0);
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        let Some(mut node) = node else {
            let why = String::from("the topic is gone");
            return Decision::Refuse(ErrorCode::UnknownTopicOrPartition, why);
        };
        let present = node.partitions.len();
        if present == count && found.may_be_done {
            return Decision::Keep;
        }
        if present >= count {
            let why = format!("the topic has {present} partitions: it can only have more");
            return Decision::Refuse(ErrorCode::InvalidPartitions, why);
        }
        if present + replicas.len() != count {
            let why = String::from("other partitions were added at the same time");
            return Decision::Refuse(ErrorCode::InvalidPartitions, why);
        }
        node.partitions.extend(replicas.iter().cloned().map(PartitionNode::new));
        written(&node)
    })
}

/// Partitions of the topic of that id get these replicas, or, where none are named, those back that they had. Each record of them
/// becomes durable on so many at least.
pub(crate) fn reassign(id: [u8; 16], wanted: Vec<(i32, Option<Vec<i32>>)>, durable_on_min: usize) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        let Some(mut node) = node else {
            let why = String::from("the topic is gone");
            return Decision::Refuse(ErrorCode::UnknownTopicOrPartition, why);
        };
        let mut is_changed = false;
        for (index, replicas) in &wanted {
            let partition = usize::try_from(*index).ok().and_then(|index| node.partitions.get_mut(index));
            let Some(partition) = partition else { continue };
            is_changed |= match replicas {
                Some(replicas) => partition.reassign(replicas, durable_on_min),
                None => partition.cancel_reassignment(),
            };
        }
        if is_changed { written(&node) } else { Decision::Keep }
    })
}

/// Partitions of the topic of that id, each with the replicas that it has, get others instead; unless they have others by now, or
/// get some.
pub(crate) fn relocate(
    id: [u8; 16],
    wanted: Vec<(i32, Vec<i32>, Vec<i32>)>,
    durable_on_min: usize,
) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        let Some(mut node) = node else { return Decision::Keep };
        let mut is_changed = false;
        for (index, before, after) in &wanted {
            let partition = usize::try_from(*index).ok().and_then(|index| node.partitions.get_mut(index));
            let partition = partition.filter(|of| of.settled_replicas().as_ref() == Some(before));
            is_changed |= partition.is_some_and(|partition| partition.reassign(after, durable_on_min));
        }
        if is_changed { written(&node) } else { Decision::Keep }
    })
}

/// Partitions of the topic of that id get these replicas, unless they have as many already, or get others.
pub(crate) fn grow(id: [u8; 16], wanted: Vec<(i32, Vec<i32>)>, durable_on_min: usize) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        let Some(mut node) = node else { return Decision::Keep };
        let mut is_changed = false;
        for (index, replicas) in &wanted {
            let partition = usize::try_from(*index).ok().and_then(|index| node.partitions.get_mut(index));
            let partition =
                partition.filter(|of| of.rest.goal.is_none() && of.replicas.len() < replicas.len());
            is_changed |= partition.is_some_and(|partition| partition.reassign(replicas, durable_on_min));
        }
        if is_changed { written(&node) } else { Decision::Keep }
    })
}

/// A partition of the topic of that id, which has one replica, gets its leader from a controller once more, unless its record has
/// another version by now.
pub(crate) fn reopen(id: [u8; 16], index: usize, version: u64) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        let Some(mut node) = node else { return Decision::Keep };
        let partition = node.partitions.get_mut(index).filter(|partition| partition.version == version);
        if partition.is_some_and(PartitionNode::reopen) { written(&node) } else { Decision::Keep }
    })
}

/// Partitions of two replicas of the topic of that id may go on with one, or not, as so many replicas that each record must be on say.
pub(crate) fn permit_survivors(id: [u8; 16], durable_on_min: usize) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        let Some(mut node) = node else { return Decision::Keep };
        let changed =
            node.partitions.iter_mut().filter_map(|of| of.permit_survivors(durable_on_min).then_some(()));
        if changed.count() > 0 { written(&node) } else { Decision::Keep }
    })
}

/// The topic of that id sets what `set` makes of what it sets.
pub(crate) fn configure(
    id: [u8; 16],
    mut set: impl FnMut(&Overrides) -> Result<Overrides, Refusal> + Send + 'static,
) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        let Some(mut node) = node else {
            let why = String::from("the topic is gone");
            return Decision::Refuse(ErrorCode::UnknownTopicOrPartition, why);
        };
        match set(&node.settings) {
            Ok(settings) if settings == node.settings => Decision::Keep,
            Ok(settings) => {
                node.settings = settings;
                written(&node)
            }
            Err(refusal) => Decision::Refuse(refusal.code, refusal.message),
        }
    })
}

fn written(node: &TopicNode) -> Decision {
    let bytes = node.bytes();
    if bytes.len() <= NODE_BYTES_MAX {
        return Decision::Write(bytes);
    }
    let why = "the topic would be too large for the council: it has too many partitions";
    Decision::Refuse(ErrorCode::PolicyViolation, why.into())
}

fn id_of(data: &[u8]) -> Option<[u8; 16]> {
    TopicNode::read(data).ok().map(|node| node.id)
}
