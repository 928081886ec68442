//! Who votes and who learns at each entry of the log, and which members know otherwise.
//!
//! The log alone decides: those who were known first, and after each change of members what Raft's paper makes of it
//! (Ongaro 2014, sections 4.2 and 4.3). Written without the engine's code, so that members can be held against it.

use base::{LogIndex, MemberId};
use std::collections::BTreeMap;

use consensus_raft::{Change, Entry, EntryKind, Membership, Step};

use super::Committed;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Members {
    /// The members as of each of these entries: one with which they were first known, and every change of them since.
    pub known: BTreeMap<LogIndex, Membership>,
    /// Who knows other members at an entry than the log says.
    pub unlike: Vec<(u64, LogIndex, Membership)>,
    /// How often what a member knows was held against the log.
    pub looks: usize,
}

impl Members {
    /// An entry was applied that is the next of all.
    pub(super) fn applied(&mut self, entry: &Entry) {
        if let Some((index, members)) = self.known.last_key_value()
            && *index < entry.index
            && let Some(next) = changed(members, entry)
        {
            self.known.insert(entry.index, next);
        }
    }

    /// A member that has applied everything up to that entry knows these members.
    pub(super) fn look(
        &mut self,
        (member, index): (u64, LogIndex),
        membership: &Membership,
        entries: &[Committed],
    ) {
        self.looks += 1;
        let membership = sorted(membership.clone());
        let agrees = match self.known.range(..=index).next_back() {
            Some((_, known)) => *known == membership,
            None => self.begin(index, &membership, entries),
        };
        if !agrees {
            self.unlike.push((member, index, membership));
        }
    }

    /// Nothing was known of who the members were at that entry. Says whether what is known of later ones follows from this.
    fn begin(&mut self, index: LogIndex, membership: &Membership, entries: &[Committed]) -> bool {
        let mut earlier = Self::default();
        earlier.known.insert(index, membership.clone());
        entries.iter().for_each(|committed| earlier.applied(&committed.entry));
        let follows = self.known.first_key_value().is_none_or(|(at, known)| {
            earlier.known.range(..=at).next_back().is_some_and(|(_, members)| members == known)
        });
        if follows {
            self.known = earlier.known;
        }
        follows
    }
}

/// The members behind an entry; nothing if it is no change of them.
fn changed(before: &Membership, entry: &Entry) -> Option<Membership> {
    if entry.kind != EntryKind::Membership {
        return None;
    }
    let steps = Change::decode(&entry.data).ok()?.steps;
    let mut after = before.clone();
    match (steps.len(), before.voters_outgoing.is_empty()) {
        (0, _) => {
            after.learners.append(&mut after.learners_next);
            after.voters_outgoing.clear();
        }
        // Until joint consensus ends, nothing else changes.
        (_, false) => return Some(after),
        (1, true) => {}
        (_, true) => after.voters_outgoing.clone_from(&before.voters),
    }
    after.auto_leave = !after.voters_outgoing.is_empty();
    steps.into_iter().for_each(|step| take(&mut after, step));
    Some(if after.voters.is_empty() { before.clone() } else { sorted(after) })
}

/// A member gets its new part. A voter that others still count on becomes a learner only when that has ended.
fn take(members: &mut Membership, step: Step) {
    let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
    for list in [&mut members.voters, &mut members.learners, &mut members.learners_next] {
        list.retain(|one| *one != id);
    }
    match step {
        Step::Voter(_) => members.voters.push(id),
        Step::Learner(_) if members.voters_outgoing.contains(&id) => members.learners_next.push(id),
        Step::Learner(_) => members.learners.push(id),
        Step::Remove(_) => {}
    }
}

/// In one order: who is meant does not depend on it.
fn sorted(mut membership: Membership) -> Membership {
    let lists: [&mut Vec<MemberId>; 4] = [
        &mut membership.voters,
        &mut membership.learners,
        &mut membership.voters_outgoing,
        &mut membership.learners_next,
    ];
    lists.into_iter().for_each(|list| list.sort_unstable());
    membership
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Term;

    fn ids(ids: &[u64]) -> Vec<MemberId> {
        ids.iter().copied().map(MemberId).collect()
    }

    fn members(voters: &[u64], learners: &[u64]) -> Membership {
        Membership { voters: ids(voters), learners: ids(learners), ..Membership::default() }
    }

    /// Members 1 to 3 while 4 takes the vote of 3, which is to learn from then on.
    fn joint() -> Membership {
        Membership {
            voters: ids(&[1, 2, 4]),
            voters_outgoing: ids(&[1, 2, 3]),
            learners_next: ids(&[3]),
            auto_leave: true,
            ..Membership::default()
        }
    }

    /// The bytes of a change: a kind and an id for each of its steps.
    fn bytes(steps: &[(u8, u64)]) -> Vec<u8> {
        steps.iter().flat_map(|(kind, id)| [vec![*kind], id.to_le_bytes().to_vec()].concat()).collect()
    }

    /// A log: 4 learns at entry 3, takes the vote of 3 at entry 5, which is over at entry 6; 2 is removed at entry 8.
    fn log() -> Vec<Committed> {
        let entry = |index: u64| {
            let steps: &[(u8, u64)] = match index {
                3 => &[(1, 4)],
                5 => &[(0, 4), (1, 3)],
                6 => &[],
                8 => &[(2, 2)],
                _ => {
                    let kind = EntryKind::Normal;
                    let data = bytes::Bytes::new();
                    return Entry { index: LogIndex(index), term: Term(1), kind, data };
                }
            };
            let data = bytes(steps).into();
            Entry { index: LogIndex(index), term: Term(1), kind: EntryKind::Membership, data }
        };
        (1..=9).map(|index| Committed { entry: entry(index), at_ms: index, member: 1 }).collect()
    }

    /// What there is to know behind each entry from the first on.
    fn each() -> [Membership; 9] {
        let (founders, learner) = (members(&[1, 2, 3], &[]), members(&[1, 2, 3], &[4]));
        let (after, last) = (members(&[1, 2, 4], &[3]), members(&[1, 4], &[3]));
        let before = [founders.clone(), founders, learner.clone(), learner, joint()];
        let [a, b, c, d, e] = before;
        [a, b, c, d, e, after.clone(), after, last.clone(), last]
    }

    /// The record once everything is applied, by a member that was looked at first at that entry.
    fn record(first: u64) -> Members {
        let (log, mut record) = (log(), Members::default());
        for (index, committed) in (1..).zip(&log) {
            record.applied(&committed.entry);
            if index >= first {
                let known = &each()[index as usize - 1];
                record.look((1, LogIndex(index)), known, &log[..index as usize]);
            }
        }
        record
    }

    #[test]
    fn record_of_members_follows_every_change_of_the_log() {
        let record = record(1);
        assert_eq!((record.unlike.len(), record.looks), (0, 9));
        let known: Vec<_> = record.known.iter().map(|(index, members)| (index.0, members.clone())).collect();
        let each = each();
        let changes = [1, 3, 5, 6, 8].map(|index: u64| (index, each[index as usize - 1].clone()));
        assert_eq!(known, changes);
    }

    #[test]
    fn member_that_knows_members_of_another_entry_is_unlike_the_record() {
        for (index, known) in (1..=9).flat_map(|index| (1..=9).map(move |known| (index, known))) {
            let mut record = record(1);
            let (told, due) = (&each()[known - 1], &each()[index - 1]);
            record.look((2, LogIndex(index as u64)), told, &log());
            assert_eq!(record.unlike.is_empty(), told == due, "at {index} those of {known}");
        }
    }

    #[test]
    fn change_that_no_member_knows_of_is_missed_all_the_same() {
        let (log, mut record) = (log(), Members::default());
        record.look((1, LogIndex(2)), &each()[1], &log[..2]);
        log[2..4].iter().for_each(|committed| record.applied(&committed.entry));
        record.look((1, LogIndex(4)), &each()[1], &log[..4]);
        assert_eq!(record.unlike, [(1, LogIndex(4), members(&[1, 2, 3], &[]))]);
    }

    #[test]
    fn member_that_lags_behind_the_first_look_is_held_against_what_follows() {
        for known in 1..=9 {
            let mut record = record(5);
            assert_eq!(record.known.len(), 3);
            record.look((2, LogIndex(2)), &each()[known - 1], &log());
            // From a change that is known too early follow the same members as from those before it.
            let follows = known <= 5;
            assert_eq!(record.unlike.is_empty(), follows, "those of {known}");
            assert_eq!(record.known.len(), if follows { 5 } else { 3 });
        }
    }

    #[test]
    fn changes_that_raft_refuses_change_nothing() {
        let entry = |steps: &[(u8, u64)]| Entry {
            index: LogIndex(9),
            term: Term(1),
            kind: EntryKind::Membership,
            data: bytes(steps).into(),
        };
        assert_eq!(changed(&joint(), &entry(&[(0, 9)])), Some(joint()), "another is under way");
        assert_eq!(changed(&members(&[1], &[2]), &entry(&[(2, 1)])), Some(members(&[1], &[2])), "no voter");
        assert_eq!(changed(&members(&[1], &[]), &entry(&[])), Some(members(&[1], &[])), "none is under way");
    }
}
