//! Whether this broker still leads a share partition. The partition's other replicas are asked before a member is given records: a
//! leader that has a successor, and does not know, would give out what members of that one have acknowledged.
//!
//! # Invariant
//! - A request with a doubt counts as one that reads, until the doubt ends: in `is_read` of the share partition, and in `reading` of
//!   the request.

use base::Now;
use log_share::ShareKey;
use replication_appointed::Round;

use super::Share;
use super::pending::Place;
use crate::node::Node;
use crate::partitions::Slot;
use crate::waits::Waiter;

/// A request that is to take records when the other replicas have answered the question of this round.
#[derive(Debug)]
pub(super) struct Doubt {
    waiter: Waiter,
    round: Round,
}

impl Share {
    /// Whether a request may take records at once. If not, it reads when the other replicas have answered.
    pub(super) fn leads(
        &mut self,
        node: &mut Node,
        key: &ShareKey,
        (waiter, place): (Waiter, Place),
    ) -> bool {
        let Some(served) = self.served.get_mut(key) else { return false };
        let Some(round) = node.partitions.confirm(served.slot) else { return true };
        let Some(pending) = self.pending.get_mut(waiter) else { return false };
        pending.reading = Some(place);
        served.is_read = true;
        served.doubt = Some(Doubt { waiter, round });
        false
    }

    /// A partition was still led here when that was asked: the requests that waited for this read.
    pub(super) fn end_doubts(&mut self, node: &mut Node, slot: Slot, now: Now) {
        let Some(hosted) = node.partitions.get(slot) else { return };
        let (id, confirmed) = (hosted.id, hosted.partition.replica().confirmed());
        let groups = self.groups_of.get(&(id.topic, id.index)).into_iter().flatten();
        let keys =
            groups.map(|group| ShareKey { group: group.clone(), topic: id.topic, partition: id.index });
        for key in keys.collect::<Vec<_>>() {
            let of = self.served.get_mut(&key);
            let ended = of.and_then(|of| of.doubt.take_if(|doubt| Some(doubt.round) <= confirmed));
            if let Some(doubt) = ended {
                self.read_without_doubt(node, &key, doubt.waiter, now);
            }
        }
    }

    fn read_without_doubt(&mut self, node: &mut Node, key: &ShareKey, waiter: Waiter, now: Now) {
        if let Some(served) = self.served.get_mut(key) {
            served.is_read = false;
        }
        // Its time was over, perhaps: then the next one reads.
        let Some(pending) = self.pending.get_mut(waiter) else { return self.wake(key) };
        pending.reading = None;
        let is_done = self.read_led(node, key, (waiter, (key.topic, key.partition)), now);
        let is_read = self.pending.get_mut(waiter).is_some_and(|pending| pending.reading.is_some());
        if is_done || !is_read {
            self.ready.push_back((waiter, None));
        }
    }

    /// A share partition is not served any more: the request that was to read looks again.
    pub(super) fn drop_doubt(&mut self, doubt: &Doubt) {
        if let Some(pending) = self.pending.get_mut(doubt.waiter) {
            pending.reading = None;
            self.ready.push_back((doubt.waiter, None));
        }
    }
}
