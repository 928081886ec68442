//! The assignor `uniform`: balanced first, then as it was before.
//!
//! Topics with the same subscribers are one pool. In a pool, a partition may go to any subscriber. If all members read the
//! same topics there is one pool, and the result is balanced within one partition, with the fewest moves. If they do not, no
//! single move would balance the result better, unless [`ROUNDS_MAX`] is reached.

use std::collections::{BTreeMap, BTreeSet};

use super::Task;
use crate::Partitions;

/// How often all pools are balanced. A move in one pool may unbalance another.
const ROUNDS_MAX: usize = 64;

struct Uniform<'t> {
    task: &'t Task<'t>,
    /// Partitions of each member.
    loads: Vec<usize>,
    /// The owner of each partition of each topic.
    owners: Vec<Vec<Option<usize>>>,
}

/// Topics with the same subscribers.
struct Pool {
    members: Vec<usize>,
    topics: Vec<usize>,
}

pub(super) fn assign(task: &Task<'_>) -> Vec<Partitions> {
    let topics = task.topics.iter();
    let owners = topics.map(|topic| vec![None; usize::try_from(topic.partitions).unwrap_or(0)]).collect();
    let mut uniform = Uniform { task, loads: vec![0; task.members.len()], owners };
    uniform.keep();
    let pools = uniform.pools();
    for pool in &pools {
        uniform.give(pool);
    }
    for _ in 0..ROUNDS_MAX {
        // Not `any`: every pool has its turn.
        let moves = pools.iter().map(|pool| uniform.balance(pool)).filter(|moved| *moved).count();
        if moves == 0 {
            break;
        }
    }
    uniform.result()
}

impl Uniform<'_> {
    /// Members keep what they had and still read.
    fn keep(&mut self) {
        let ids = self.task.topics.iter().enumerate();
        let places: BTreeMap<_, _> = ids.map(|(place, topic)| (topic.id, place)).collect();
        for (index, member) in self.task.members.iter().enumerate() {
            let topics = self.task.topics_of(member);
            for (id, numbers) in member.before.into_iter().flatten() {
                let Some(place) = places.get(id).filter(|place| topics.binary_search(place).is_ok()) else {
                    continue;
                };
                for number in numbers {
                    let number = usize::try_from(*number).ok();
                    let owners = self.owners.get_mut(*place);
                    let owner = owners.zip(number).and_then(|(owners, number)| owners.get_mut(number));
                    if let Some(owner @ None) = owner {
                        *owner = Some(index);
                        self.loads[index] += 1;
                    }
                }
            }
        }
    }

    /// The pools, those with the fewest members first: their partitions have the least choice.
    fn pools(&self) -> Vec<Pool> {
        let mut members = vec![Vec::new(); self.task.subscriptions.len()];
        for (index, member) in self.task.members.iter().enumerate() {
            if let Some(members) = members.get_mut(member.subscription) {
                members.push(index);
            }
        }
        let mut readers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, topics) in self.task.subscriptions.iter().enumerate() {
            if members.get(number).is_some_and(|members| !members.is_empty()) {
                for topic in topics {
                    readers.entry(*topic).or_default().push(number);
                }
            }
        }
        let mut topics: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for (topic, readers) in readers {
            topics.entry(readers).or_default().push(topic);
        }
        let pool = |(readers, topics): (Vec<usize>, _)| {
            let all = readers.iter().filter_map(|number| members.get(*number)).flatten();
            Pool { members: all.copied().collect(), topics }
        };
        let mut pools: Vec<Pool> = topics.into_iter().map(pool).collect();
        pools.sort_by_key(|pool| pool.members.len());
        pools
    }

    /// Gives the partitions that nobody has to the members that have the fewest.
    fn give(&mut self, pool: &Pool) {
        let mut takers = self.by_load(&pool.members);
        for topic in &pool.topics {
            let owners = self.owners.get_mut(*topic).into_iter().flatten();
            for owner in owners.filter(|owner| owner.is_none()) {
                let Some((load, index)) = takers.pop_first() else { return };
                *owner = Some(index);
                self.loads[index] += 1;
                takers.insert((load + 1, index));
            }
        }
    }

    /// Moves partitions from the members that have the most to those that have the fewest. Says whether it moved any.
    fn balance(&mut self, pool: &Pool) -> bool {
        let mut takers = self.by_load(&pool.members);
        let (least, most) = (takers.first(), takers.last());
        if least.zip(most).is_none_or(|((least, _), (most, _))| most - least <= 1) {
            return false;
        }
        let mut owned: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for topic in &pool.topics {
            for (number, owner) in self.owners.get(*topic).into_iter().flatten().enumerate() {
                if let Some(index) = owner {
                    owned.entry(*index).or_default().push((*topic, number));
                }
            }
        }
        let mut givers: BTreeSet<_> = owned.keys().map(|index| (self.loads[*index], *index)).collect();
        let mut moved = false;
        while let (Some((most, from)), Some((least, to))) = (givers.pop_last(), takers.first().copied()) {
            if most <= least + 1 {
                break;
            }
            let Some((topic, number)) = owned.get_mut(&from).and_then(Vec::pop) else { continue };
            self.owners[topic][number] = Some(to);
            self.loads[from] -= 1;
            self.loads[to] += 1;
            takers.remove(&(most, from));
            takers.remove(&(least, to));
            takers.extend([(most - 1, from), (least + 1, to)]);
            givers.insert((most - 1, from));
            // A taker that already gives stands among the givers with its new load.
            if givers.remove(&(least, to)) {
                givers.insert((least + 1, to));
            }
            moved = true;
        }
        moved
    }

    fn by_load(&self, members: &[usize]) -> BTreeSet<(usize, usize)> {
        members.iter().map(|index| (self.loads[*index], *index)).collect()
    }

    fn result(&self) -> Vec<Partitions> {
        let mut result = vec![Partitions::new(); self.task.members.len()];
        for (topic, owners) in self.task.topics.iter().zip(&self.owners) {
            for (number, owner) in (0..topic.partitions).zip(owners) {
                if let Some(given) = owner.and_then(|index| result.get_mut(index)) {
                    given.entry(topic.id).or_default().insert(number);
                }
            }
        }
        result
    }
}
