//! Which replica a consumer reads (KIP-392): the leader, or one that stands where the consumer does.
//!
//! The leader tells a consumer that names its rack of a replica there. A replica that follows gives such a consumer what it knows to
//! be committed, and nothing else: what it cannot tell for sure, such as whether an offset is out of range, is the leader's to say,
//! and the consumer is sent back to it.

use log_partition::Offset;
use log_wire::{ErrorCode, TopicName};
use replication_appointed::ReplicaId;

use crate::node::Node;
use crate::partitions::{Hosted, Slot};

/// The partition of a fetch, as it lives here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'n> {
    pub(super) slot: Slot,
    pub(super) hosted: &'n Hosted,
    /// Whether it follows a leader elsewhere.
    pub(super) follows: bool,
}

/// Finds a partition for a reader who stands in that rack; in none if it does not say.
///
/// # Errors
/// It is not here, or not served to that reader.
pub(super) fn find<'n>(
    node: &'n Node,
    topic: TopicName<'_>,
    index: i32,
    rack: &str,
) -> Result<Found<'n>, ErrorCode> {
    match node.find(topic, index) {
        Ok((slot, hosted)) => Ok(Found { slot, hosted, follows: false }),
        Err(ErrorCode::NotLeaderOrFollower) if !rack.is_empty() => {
            let (slot, hosted, leader) = node.partitions.find_followed(&node.catalog, topic, index)?;
            // One that does not hear from its leader may be behind for long.
            match node.brokers.is_reached(leader) {
                true => Ok(Found { slot, hosted, follows: true }),
                false => Err(ErrorCode::NotLeaderOrFollower),
            }
        }
        Err(error) => Err(error),
    }
}

/// The replica that a reader of that offset had better ask, instead of the leader here: in the reader's rack, in sync, with the
/// offset on its disk, and of those the one with the longest log.
pub(super) fn nearest(node: &Node, hosted: &Hosted, rack: &str, from: Offset) -> Option<i32> {
    let is_here = node.config.rack.as_deref() == Some(rack);
    if rack.is_empty() || is_here || !node.config.leaders.reads_by_rack || !hosted.is_replicated {
        return None;
    }
    let topic = node.catalog.topic_of(hosted.id)?;
    let image = topic.partitions.get(usize::try_from(hosted.id.index).ok()?)?;
    let durable = |broker: i32| hosted.partition.durable_from(ReplicaId(broker.cast_unsigned()), from);
    let in_sync = node.in_sync.of(hosted.id, image).in_sync.into_iter();
    let others = in_sync.filter(|broker| {
        let is_there = node.brokers.rack(*broker) == Some(rack) && node.brokers.is_live(*broker);
        *broker != node.config.node_id && is_there && node.brokers.may_lead(*broker)
    });
    others.filter_map(|broker| Some((durable(broker)?, broker))).max().map(|(_, broker)| broker)
}
