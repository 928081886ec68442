//! Whether this broker still leads a share partition. The partition's other replicas are asked before a member is given records: a
//! leader that has a successor, and does not know, would give out what members of that one have acknowledged.
//!
//! Many requests may have asked at once: those that come before a question is sent share it, and none waits for another's answer.
//!
//! # Invariant
//! - A request with a doubt counts as one that reads, in `reading`, until the doubt ends. The share partition does not: others read
//!   meanwhile.

use log_share::ShareKey;
use replication_appointed::Round;

use super::Share;
use super::pending::Place;
use crate::node::Node;
use crate::partitions::Slot;
use crate::waits::Waiter;

/// So many requests that waited for records ask at a time: more come when these have taken what they want.
pub(super) const ASKING_MAX: usize = 8;

/// A request that is to take records when the other replicas have answered the question of this round.
#[derive(Debug)]
pub(super) struct Doubt {
    waiter: Waiter,
    round: Round,
}

impl Share {
    /// Whether a request may take records of a partition now. If not, it goes on when the other replicas have answered.
    pub(super) fn leads(
        &mut self,
        node: &mut Node,
        key: &ShareKey,
        (waiter, place): (Waiter, Place),
    ) -> bool {
        let Some(served) = self.served.get_mut(key) else { return false };
        let Some(pending) = self.pending.get_mut(waiter) else { return false };
        if pending.led.take() == Some(place) {
            return true;
        }
        let Some(round) = node.partitions.confirm(served.slot) else { return true };
        pending.reading = Some(place);
        served.doubts.push(Doubt { waiter, round });
        false
    }

    /// A partition was still led here when that was asked: the requests that waited for this go on.
    pub(super) fn end_doubts(&mut self, node: &Node, slot: Slot) {
        let Some(hosted) = node.partitions.get(slot) else { return };
        let (id, confirmed) = (hosted.id, hosted.partition.replica().confirmed());
        let groups = self.groups_of.get(&(id.topic, id.index)).into_iter().flatten();
        for group in groups {
            let key = ShareKey { group: group.clone(), topic: id.topic, partition: id.index };
            let Some(served) = self.served.get_mut(&key) else { continue };
            for doubt in served.doubts.extract_if(.., |doubt| Some(doubt.round) <= confirmed) {
                if let Some(pending) = self.pending.get_mut(doubt.waiter) {
                    (pending.reading, pending.led) = (None, Some((id.topic, id.index)));
                    self.ready.push_back((doubt.waiter, None));
                }
            }
        }
    }

    /// A request does not wait for that any more. Gives whether it did.
    pub(super) fn withdraw_doubt(&mut self, key: &ShareKey, waiter: Waiter) -> bool {
        let Some(served) = self.served.get_mut(key) else { return false };
        let before = served.doubts.len();
        served.doubts.retain(|doubt| doubt.waiter != waiter);
        served.doubts.len() < before
    }

    /// A share partition is not served any more: the requests that were to read look again.
    pub(super) fn drop_doubts(&mut self, doubts: &[Doubt]) {
        for Doubt { waiter, .. } in doubts {
            if let Some(pending) = self.pending.get_mut(*waiter) {
                pending.reading = None;
                self.ready.push_back((*waiter, None));
            }
        }
    }
}
