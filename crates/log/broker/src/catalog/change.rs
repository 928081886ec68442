//! What becomes of a topic's node.

use std::sync::Arc;

use log_metadata::{Compute, Decision, Found, TopicNode};
use log_wire::ErrorCode;

use super::NewTopic;

/// The node of a new topic of that id.
pub(crate) fn create(new: &NewTopic, id: [u8; 16], broker: i32) -> Compute {
    let partitions = usize::try_from(new.partitions).unwrap_or(1);
    let node = TopicNode::new(id, new.settings.clone(), &vec![vec![broker]; partitions]);
    Box::new(move |found: Found<'_>| match found.data {
        None => Decision::Write(node.bytes()),
        Some(data) if id_of(data) == Some(id) => Decision::Keep,
        Some(_) => Decision::Refuse(ErrorCode::TopicAlreadyExists, "there is a topic of that name".into()),
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

/// The broker leads its partitions of the topic of that id anew.
pub(crate) fn appoint(id: [u8; 16], broker: i32) -> Compute {
    Box::new(move |found: Found<'_>| {
        let node = found.data.and_then(|data| TopicNode::read(data).ok()).filter(|node| node.id == id);
        // Of another id it was made meanwhile, and has no earlier leader.
        let Some(mut node) = node else { return Decision::Keep };
        if node.appoint(broker) { Decision::Write(node.bytes()) } else { Decision::Keep }
    })
}

fn id_of(data: &[u8]) -> Option<[u8; 16]> {
    TopicNode::read(data).ok().map(|node| node.id)
}
