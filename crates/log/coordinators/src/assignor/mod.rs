//! The server-side assignors: which member of a consumer group is to own which partitions. They know no epoch, and not what
//! members own at present: the way to their result is not theirs.

mod range;
mod uniform;

use crate::{Partitions, Text, TopicId};

/// An assignor, by Kafka's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// `uniform`: as many partitions for each member as can be, and as few moves as can be.
    Uniform,
    /// `range`: of each topic, a run of partitions for each member. If all members read the same topics and these have as
    /// many partitions, a member gets the same numbers of each topic. Static members come first, by their instance id, so
    /// that they get the same again.
    Range,
}

impl Assignor {
    /// Kafka's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Uniform, Self::Range].into_iter().find(|assignor| assignor.name() == name)
    }
}

/// A topic that members subscribe to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssignableTopic {
    pub(crate) id: TopicId,
    pub(crate) partitions: i32,
}

/// A member that partitions are assigned to.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber<'a> {
    pub(crate) id: &'a Text,
    pub(crate) instance: Option<&'a Text>,
    /// Which of the task's subscriptions it has.
    pub(crate) subscription: usize,
    /// What it was to own until now.
    pub(crate) before: Option<&'a Partitions>,
}

/// What there is to assign.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task<'a> {
    pub(crate) topics: Vec<AssignableTopic>,
    /// The different subscriptions: places in `topics`, in ascending order.
    pub(crate) subscriptions: Vec<Vec<usize>>,
    /// In ascending order of their ids.
    pub(crate) members: Vec<Subscriber<'a>>,
}

impl Task<'_> {
    /// What each member is to own, in the order of the members.
    pub(crate) fn assign(&self, assignor: Assignor) -> Vec<Partitions> {
        match assignor {
            Assignor::Uniform => uniform::assign(self),
            Assignor::Range => range::assign(self),
        }
    }

    fn topics_of(&self, member: &Subscriber<'_>) -> &[usize] {
        self.subscriptions.get(member.subscription).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    use base::Random;

    fn topic(number: u8) -> TopicId {
        [number; 16]
    }

    /// A task with `members` of which each has a random subscription of `kinds`.
    fn draw<'a>(
        random: &mut Random,
        names: &'a [Text],
        kinds: u64,
        before: &'a [Option<Partitions>],
    ) -> Task<'a> {
        let topics = (0..random.below(5) + 1)
            .map(|number| AssignableTopic { id: topic(number as u8), partitions: random.below(9) as i32 });
        let topics: Vec<_> = topics.collect();
        let subscriptions = (0..kinds).map(|_| {
            let chosen = (0..topics.len()).filter(|_| kinds == 1 || random.chance(60));
            chosen.collect::<Vec<_>>()
        });
        let subscriptions: Vec<_> = subscriptions.collect();
        let members = names.iter().zip(before).map(|(id, before)| Subscriber {
            id,
            instance: None,
            subscription: random.below(kinds) as usize,
            before: before.as_ref(),
        });
        Task { topics, subscriptions, members: members.collect() }
    }

    /// Every partition that somebody reads has one owner, which reads it.
    fn check(task: &Task<'_>, result: &[Partitions]) {
        let mut owned = BTreeSet::new();
        for (member, partitions) in task.members.iter().zip(result) {
            for (id, numbers) in partitions {
                assert!(!numbers.is_empty());
                assert!(task.topics_of(member).iter().any(|place| task.topics[*place].id == *id));
                for number in numbers {
                    assert!(owned.insert((*id, *number)), "two members own {id:?} {number}");
                }
            }
        }
        let read: BTreeSet<_> = task.members.iter().flat_map(|member| task.topics_of(member)).collect();
        let expected: usize = read.iter().map(|place| task.topics[**place].partitions as usize).sum();
        assert_eq!(owned.len(), expected);
    }

    fn sizes(result: &[Partitions]) -> Vec<usize> {
        result.iter().map(|partitions| partitions.values().map(BTreeSet::len).sum()).collect()
    }

    #[test]
    fn every_partition_that_is_read_has_one_owner() {
        let mut random = Random::new(7);
        for _ in 0..2_000 {
            let names: Vec<Text> =
                (0..random.below(6) + 1).map(|number| format!("m{number}").into()).collect();
            let nothing = vec![None; names.len()];
            let kinds = random.below(3) + 1;
            let task = draw(&mut random, &names, kinds, &nothing);
            for assignor in [Assignor::Uniform, Assignor::Range] {
                check(&task, &task.assign(assignor));
            }
            // The result of the one assignor is what the other begins with.
            let before: Vec<_> = task.assign(Assignor::Range).into_iter().map(Some).collect();
            let next = draw(&mut random, &names, kinds, &before);
            let result = next.assign(Assignor::Uniform);
            check(&next, &result);
            let sizes = sizes(&result);
            if kinds == 1 {
                assert!(sizes.iter().max() <= sizes.iter().min().map(|least| least + 1).as_ref());
            }
            for (to, to_size) in next.members.iter().zip(&sizes) {
                for (from, from_size) in result.iter().zip(&sizes) {
                    let moves = next.topics_of(to).iter().any(|at| from.contains_key(&next.topics[*at].id));
                    assert!(!moves || *from_size <= to_size + 1, "a move would balance: {sizes:?}");
                }
            }
        }
    }

    #[test]
    fn uniform_moves_no_more_than_it_must() {
        let mut random = Random::new(9);
        for _ in 0..500 {
            let names: Vec<Text> = (0..6).map(|number| format!("m{number}").into()).collect();
            let nothing = vec![None; 6];
            let task = draw(&mut random, &names, 1, &nothing);
            let first = task.assign(Assignor::Uniform);
            let before: Vec<_> = first.iter().cloned().map(Some).collect();
            let mut again = task.clone();
            for (member, before) in again.members.iter_mut().zip(&before) {
                member.before = before.as_ref();
            }
            assert_eq!(again.assign(Assignor::Uniform), first, "nothing has changed");
            // The last member leaves: the others keep what they have.
            let left = Task { members: again.members[..5].to_vec(), ..again };
            for (kept, had) in left.assign(Assignor::Uniform).iter().zip(&first) {
                assert!(
                    had.iter().all(|(id, numbers)| kept.get(id).is_some_and(|now| now.is_superset(numbers)))
                );
            }
        }
    }

    #[test]
    fn range_gives_the_same_numbers_of_each_topic_and_static_members_first() {
        let names: Vec<Text> = ["a", "b", "c"].map(Into::into).to_vec();
        let instance: Text = "i".into();
        let member = |place: usize, instance| Subscriber {
            id: &names[place],
            instance,
            subscription: 0,
            before: None,
        };
        let topics = [1, 2].map(|number| AssignableTopic { id: topic(number), partitions: 4 }).to_vec();
        let task = Task {
            topics,
            subscriptions: vec![vec![0, 1]],
            members: vec![member(0, None), member(1, Some(&instance)), member(2, None)],
        };
        let numbers = [vec![2], vec![0, 1], vec![3]];
        for (given, numbers) in task.assign(Assignor::Range).iter().zip(numbers) {
            let numbers: BTreeSet<_> = numbers.into_iter().collect();
            assert_eq!(given, &[1, 2].map(|number| (topic(number), numbers.clone())).into());
        }
    }
}
