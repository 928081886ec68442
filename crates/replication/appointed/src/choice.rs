//! Which replica leads next.

use std::collections::BTreeMap;

use crate::config::Voters;
use crate::{Position, ReplicaId};

/// The voter with the longest log of those that have promised the new epoch and told their positions; of equal ones the first
/// of `preferred`, or else the one with the lowest number. Nothing while too few have answered: one that has not may have
/// entries that are committed.
#[must_use]
pub fn choose(
    voters: &Voters,
    told: &BTreeMap<ReplicaId, Position>,
    preferred: &[ReplicaId],
) -> Option<ReplicaId> {
    let answers = || told.iter().filter(|(id, _)| voters.replicas().contains(id));
    if answers().count() < voters.fenced_min() {
        return None;
    }
    let longest = answers().map(|(_, position)| *position).max()?;
    let mut equal = answers().filter(|(_, position)| **position == longest).map(|(id, _)| *id);
    let first =
        equal.clone().min_by_key(|id| preferred.iter().position(|wanted| wanted == id).unwrap_or(usize::MAX));
    first.or_else(|| equal.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoch, Seq};

    fn voters() -> Voters {
        Voters::new([1, 2, 3].map(ReplicaId), 2).expect("voters")
    }

    fn told(answers: &[(u32, u32, u64)]) -> BTreeMap<ReplicaId, Position> {
        let position = |epoch, end| Position { epoch: Epoch(epoch), end: Seq(end) };
        answers.iter().map(|(id, epoch, end)| (ReplicaId(*id), position(*epoch, *end))).collect()
    }

    #[test]
    fn newest_epoch_goes_before_most_entries() {
        assert_eq!(choose(&voters(), &told(&[(1, 4, 100), (2, 5, 7)]), &[]), Some(ReplicaId(2)));
        assert_eq!(choose(&voters(), &told(&[(1, 5, 8), (2, 5, 7)]), &[ReplicaId(2)]), Some(ReplicaId(1)));
    }

    #[test]
    fn preference_decides_between_equal_logs() {
        let equal = told(&[(1, 5, 7), (2, 5, 7), (3, 5, 7)]);
        assert_eq!(choose(&voters(), &equal, &[ReplicaId(9), ReplicaId(3)]), Some(ReplicaId(3)));
        assert_eq!(choose(&voters(), &equal, &[]), Some(ReplicaId(1)));
    }

    #[test]
    fn nobody_is_chosen_by_too_few_or_by_those_that_do_not_vote() {
        assert_eq!(choose(&voters(), &told(&[(1, 5, 7), (8, 9, 9)]), &[]), None);
    }
}
