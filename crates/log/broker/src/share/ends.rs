//! Where partitions end that other brokers lead: their leaders are asked, for the lag that an administrator is shown.
//!
//! # Invariants
//! - *Asked once.* What a leader does not tell, since it is gone or leads no more, is not known: the lag is shown as -1.

use std::collections::BTreeMap;

use base::Now;
use log_coordinators::TopicId;
use log_partition::{Isolation, PartitionId};
use log_wire::TopicName;

use super::Share;
use super::inspect::Inspected;
use crate::node::Node;
use crate::peer_calls::ends_codec::{ENDS_PER_CALL, Ends};
use crate::waits::Waiter;

/// A question for another broker, on behalf of a request.
#[derive(Debug)]
pub(crate) struct PeerEnds {
    pub(crate) broker: i32,
    pub(crate) waiter: Waiter,
    pub(crate) partitions: Vec<PartitionId>,
}

/// What leaders have told.
pub(super) type KnownEnds = BTreeMap<(TopicId, i32), Ends>;

impl Share {
    /// What other brokers are to be asked.
    pub(crate) fn take_peer_ends(&mut self) -> Vec<PeerEnds> {
        std::mem::take(&mut self.peer_ends)
    }

    /// A leader has told where these partitions end, or cannot.
    pub(crate) fn ends_told(
        &mut self,
        node: &mut Node,
        waiter: Waiter,
        told: impl Iterator<Item = (PartitionId, Option<Ends>)>,
        now: Now,
    ) {
        let Some(inspection) = self.inspections.get_mut(waiter) else { return };
        let known = told.filter_map(|(id, ends)| Some(((id.topic, id.index), ends?)));
        inspection.ends.extend(known);
        self.part_has_come(node, waiter, now);
    }
}

/// Where a partition that is led here begins and ends.
pub(crate) fn ends_here(node: &Node, id: PartitionId) -> Option<Ends> {
    let (_, hosted) = node.find(TopicName::Id(id.topic), id.index).ok()?;
    let end = hosted.partition.readable_end(Isolation::ReadUncommitted);
    Some(Ends { start: hosted.partition.start(), end })
}

/// What leaders elsewhere are to be asked about the states of these groups.
pub(super) fn questions(node: &Node, waiter: Waiter, inspected: &Inspected) -> Vec<PeerEnds> {
    let mut of_leader: BTreeMap<i32, Vec<PartitionId>> = BTreeMap::new();
    for state in inspected.values().flatten().flatten().filter(|state| state.start >= 0) {
        let id = PartitionId { topic: state.topic, index: state.partition };
        if let Some(leader) = leader_elsewhere(node, id) {
            of_leader.entry(leader).or_default().push(id);
        }
    }
    let mut asked = Vec::new();
    for (broker, mut partitions) in of_leader {
        partitions.sort_unstable();
        partitions.dedup();
        let parts = partitions.chunks(ENDS_PER_CALL);
        asked.extend(parts.map(|part| PeerEnds { broker, waiter, partitions: part.to_vec() }));
    }
    asked
}

fn leader_elsewhere(node: &Node, id: PartitionId) -> Option<i32> {
    let topic = node.catalog.find(TopicName::Id(id.topic)).ok()?;
    let leader = topic.partitions.get(usize::try_from(id.index).ok()?)?.leader;
    (leader >= 0 && leader != node.config.node_id).then_some(leader)
}
