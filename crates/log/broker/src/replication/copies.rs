//! How much of older batches is under way to each follower. A follower that copies much would be sent all of it as fast as this broker
//! reads; it would wait in the other one's memory, before batches that producers wait for. So only so much is sent ahead of what the
//! follower has on its disk.
//!
//! Batches of the last moments, which are sent from memory, are not held up.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use log_partition::{Offset, PartitionId};
use replication_appointed::ReplicaId;
use replication_controller::PartitionId as ReplicatedId;

/// Bytes that are under way to one follower, at most; one message may be longer.
const UNDER_WAY_BYTES_MAX: usize = 1 << 20;
/// What a message counts at least: each costs a turn, however short it is.
const MESSAGE_BYTES_MIN: usize = 16 << 10;
/// A follower that does not say within this that it has something may never have got it: that is no longer waited for, milliseconds.
const WAITED_MS: u64 = 5_000;

/// What is under way of one partition.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// All before that offset.
    end: Offset,
    bytes: usize,
    /// When the last of it was sent.
    at: MonoTime,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Copies {
    under_way: BTreeMap<ReplicaId, BTreeMap<PartitionId, UnderWay>>,
    /// Partitions of which a follower is to be sent more once there is room.
    waiting: BTreeSet<(ReplicaId, ReplicatedId)>,
}

impl Copies {
    /// Whether a follower can be sent more, while so many bytes are being read for it.
    pub(super) fn has_room(&self, to: ReplicaId, reading_bytes: usize) -> bool {
        let each = self.under_way.get(&to).into_iter().flat_map(BTreeMap::values);
        each.map(|one| one.bytes).sum::<usize>() + reading_bytes < UNDER_WAY_BYTES_MAX
    }

    /// A follower is to be sent more of that partition once there is room.
    pub(super) fn wait(&mut self, to: ReplicaId, partition: ReplicatedId) {
        self.waiting.insert((to, partition));
    }

    /// A follower is sent what there is from that offset on: what it was sent of it before is lost.
    pub(super) fn begin(&mut self, to: ReplicaId, id: PartitionId, from: Offset) {
        if let Some(all) = self.under_way.get_mut(&to) {
            all.retain(|known, one| *known != id || one.end <= from);
        }
    }

    /// A follower was sent so many bytes of a partition, up to that offset.
    pub(super) fn sent(
        &mut self,
        to: ReplicaId,
        (id, end): (PartitionId, Offset),
        bytes: usize,
        now: MonoTime,
    ) {
        let all = self.under_way.entry(to).or_default();
        let one = all.entry(id).or_insert(UnderWay { end, bytes: 0, at: now });
        *one = UnderWay { end, bytes: one.bytes + bytes.max(MESSAGE_BYTES_MIN), at: now };
    }

    /// Forgets what has arrived, and gives partitions of which followers can be sent more. `has` says whether a follower has a
    /// partition up to an offset, or needs it no more.
    pub(super) fn settle(
        &mut self,
        has: impl Fn(ReplicaId, PartitionId, Offset) -> bool,
        now: MonoTime,
    ) -> BTreeMap<ReplicaId, Vec<ReplicatedId>> {
        for (to, all) in &mut self.under_way {
            all.retain(|id, one| now < one.at.plus_ms(WAITED_MS) && !has(*to, *id, one.end));
        }
        self.under_way.retain(|_, all| !all.is_empty());
        let mut ready = BTreeMap::<ReplicaId, Vec<ReplicatedId>>::new();
        for (to, partition) in &self.waiting {
            let given = ready.get(to).map_or(0, Vec::len);
            if self.has_room(*to, given * MESSAGE_BYTES_MIN) {
                ready.entry(*to).or_default().push(*partition);
            }
        }
        let given = |to: &ReplicaId, id: &ReplicatedId| ready.get(to).is_some_and(|all| all.contains(id));
        self.waiting.retain(|(to, partition)| !given(to, partition));
        ready
    }

    /// There is no connection to that broker.
    pub(super) fn forget(&mut self, peer: ReplicaId) {
        self.under_way.remove(&peer);
        self.waiting.retain(|(to, _)| *to != peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO: ReplicaId = ReplicaId(3);
    const NOW: MonoTime = MonoTime::ZERO;

    fn partition(index: i32) -> PartitionId {
        PartitionId { topic: [7; 16], index }
    }

    /// Copies of one partition, with all that may be under way up to offset 100.
    fn full() -> Copies {
        let mut copies = Copies::default();
        copies.sent(TO, (partition(0), Offset(100)), UNDER_WAY_BYTES_MAX, NOW);
        copies
    }

    fn ready(copies: &mut Copies, has_to: i64, now: MonoTime) -> Vec<ReplicatedId> {
        copies.settle(|_, _, end| end <= Offset(has_to), now).remove(&TO).unwrap_or_default()
    }

    #[test]
    fn copy_goes_on_when_the_follower_has_what_is_under_way() {
        let mut copies = full();
        assert!(!copies.has_room(TO, 0) && copies.has_room(ReplicaId(2), 0));
        let waits = crate::partitions::replicated(partition(1));
        copies.wait(TO, waits);
        assert!(ready(&mut copies, 99, NOW).is_empty());
        assert_eq!(ready(&mut copies, 100, NOW), [waits]);
        assert!(ready(&mut copies, 100, NOW).is_empty(), "it is given once");
    }

    #[test]
    fn copy_that_is_sent_again_does_not_wait_for_what_is_lost() {
        let mut copies = full();
        copies.begin(TO, partition(1), Offset(0));
        copies.begin(TO, partition(0), Offset(100));
        assert!(!copies.has_room(TO, 0));
        copies.begin(TO, partition(0), Offset(50));
        assert!(copies.has_room(TO, 0));
    }

    #[test]
    fn copy_that_is_never_acknowledged_stops_others_for_five_seconds_only() {
        let mut copies = full();
        copies.wait(TO, crate::partitions::replicated(partition(1)));
        assert!(ready(&mut copies, 0, NOW.plus_ms(WAITED_MS - 1)).is_empty());
        assert_eq!(ready(&mut copies, 0, NOW.plus_ms(WAITED_MS)).len(), 1);
    }

    #[test]
    fn many_short_copies_are_bounded_by_their_number() {
        let mut copies = Copies::default();
        for index in 0..64 {
            assert!(copies.has_room(TO, 0));
            copies.sent(TO, (partition(index), Offset(1)), 10, NOW);
        }
        assert!(!copies.has_room(TO, 0));
        copies.forget(TO);
        assert!(copies.has_room(TO, 0));
    }
}
