//! The assignor `range`.

use std::collections::BTreeMap;

use super::Task;
use crate::Partitions;

/// What is left to give of a topic.
#[derive(Clone, Copy)]
struct Rest {
    members: i32,
    next: i32,
}

pub(super) fn assign(task: &Task<'_>) -> Vec<Partitions> {
    let mut order: Vec<usize> = (0..task.members.len()).collect();
    let key = |place: &usize| {
        task.members.get(*place).map(|member| (member.instance.is_none(), member.instance, member.id))
    };
    order.sort_by_key(key);
    let mut rests: BTreeMap<usize, Rest> = BTreeMap::new();
    for place in task.members.iter().flat_map(|member| task.topics_of(member)) {
        rests.entry(*place).or_insert(Rest { members: 0, next: 0 }).members += 1;
    }
    let mut result = vec![Partitions::new(); task.members.len()];
    for index in order {
        let (Some(member), Some(given)) = (task.members.get(index), result.get_mut(index)) else { continue };
        for place in task.topics_of(member) {
            let (Some(topic), Some(rest)) = (task.topics.get(*place), rests.get_mut(place)) else { continue };
            // The first members get one more if the partitions cannot be divided.
            let left = topic.partitions - rest.next;
            let count = left / rest.members + i32::from(left % rest.members > 0);
            let numbers = rest.next..rest.next + count;
            (rest.members, rest.next) = (rest.members - 1, rest.next + count);
            if count > 0 {
                given.insert(topic.id, numbers.collect());
            }
        }
    }
    result
}
