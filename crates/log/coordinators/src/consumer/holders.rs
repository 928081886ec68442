//! Which partitions are held, and by how many members. It is one at the most, unless the leader of a classic group gave a
//! partition to two members before the group became a consumer group.

use std::collections::BTreeMap;

use crate::TopicId;
use crate::stored_consumer::{Owned, StoredConsumerMember};

#[derive(Clone, Debug, Default)]
pub(super) struct Holders {
    counts: BTreeMap<TopicId, BTreeMap<i32, usize>>,
}

impl Holders {
    pub(super) fn add(&mut self, member: &StoredConsumerMember) {
        for (id, numbers) in held(member) {
            let counts = self.counts.entry(*id).or_default();
            for number in numbers.keys() {
                *counts.entry(*number).or_default() += 1;
            }
        }
    }

    pub(super) fn remove(&mut self, member: &StoredConsumerMember) {
        for (id, numbers) in held(member) {
            let Some(counts) = self.counts.get_mut(id) else { continue };
            for number in numbers.keys() {
                if let Some(count) = counts.get_mut(number) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(number);
                    }
                }
            }
            if counts.is_empty() {
                self.counts.remove(id);
            }
        }
    }

    /// Whether another member than this one holds the partition.
    pub(super) fn others_hold(&self, id: &TopicId, number: i32, member: &StoredConsumerMember) -> bool {
        let all = self.counts.get(id).and_then(|counts| counts.get(&number)).copied().unwrap_or(0);
        let has = |owned: &Owned| owned.get(id).is_some_and(|numbers| numbers.contains_key(&number));
        let own = usize::from(has(&member.assigned)) + usize::from(has(&member.revoking));
        all > own
    }
}

/// What the member may own.
fn held(member: &StoredConsumerMember) -> impl Iterator<Item = (&TopicId, &BTreeMap<i32, crate::Epoch>)> {
    member.assigned.iter().chain(&member.revoking)
}
