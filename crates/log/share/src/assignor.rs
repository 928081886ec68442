//! Which partitions each member of a share group gets. A partition may go to several members, so the rule is simple: topic by
//! topic, members and partitions are dealt to each other in turns until each partition has a member and each member that
//! reads the topic has a partition.
//!
//! Invariant: of a topic, two partitions differ by one member at most, and two members by one partition at most.

use std::collections::BTreeMap;

use log_coordinators::{Partitions, Text, TopicId};

/// A topic, how many partitions it has, and who reads it.
pub(crate) struct Readers<'g> {
    pub(crate) topic: TopicId,
    pub(crate) partitions: i32,
    pub(crate) members: Vec<&'g Text>,
}

/// What each member gets. Who is first moves from topic to topic, so that many small topics are spread too.
pub(crate) fn assign(topics: &[Readers<'_>]) -> BTreeMap<Text, Partitions> {
    let mut assigned: BTreeMap<Text, Partitions> = BTreeMap::new();
    for (turn, topic) in topics.iter().enumerate() {
        let partitions = usize::try_from(topic.partitions).unwrap_or(0);
        let members = topic.members.len();
        if partitions == 0 || members == 0 {
            continue;
        }
        for deal in 0..partitions.max(members) {
            let Some(member) = topic.members.get((deal + turn) % members) else { continue };
            let index = i32::try_from(deal % partitions).unwrap_or(0);
            assigned.entry(Text::clone(member)).or_default().entry(topic.topic).or_default().insert(index);
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_partitions_are_balanced() {
        let names: Vec<Text> = (0..9).map(|number| Text::from(format!("m{number}"))).collect();
        for members in 1..9 {
            for partitions in 1..9 {
                let of = |topic| Readers { topic, partitions, members: names[..members].iter().collect() };
                let assigned = assign(&[of([1; 16])]);
                let sizes: Vec<usize> = assigned.values().map(|of| of[&[1; 16]].len()).collect();
                assert_eq!(sizes.len(), members);
                assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
                let count = |index| assigned.values().filter(|of| of[&[1; 16]].contains(&index)).count();
                let counts: Vec<usize> = (0..partitions).map(count).collect();
                assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
                assert!(counts.iter().all(|count| *count > 0));
            }
        }
    }

    #[test]
    fn topics_of_one_partition_go_to_every_member() {
        let names: Vec<Text> = vec!["a".into(), "b".into()];
        let of = |number| Readers { topic: [number; 16], partitions: 1, members: names.iter().collect() };
        let assigned = assign(&[of(1), of(2)]);
        assert!(assigned.values().all(|of| of.len() == 2));
    }
}
