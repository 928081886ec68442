//! Two ids of one number. A member whose disk was replaced is let in under a new id, as a learner: the replacement. The old
//! id keeps its vote until the new one has all that was committed, and is then given up in the same change by which the
//! other begins to vote. Were it given up at once, an ensemble would have a vote less in the meantime, on the strength of
//! one message; and that may be an old one, of a disk that is gone again.
//!
//! - Nobody is served under a replacement's number but by the old id's member, should it live yet: two who give numbers
//!   to connections under one number could give the same.
//! - Where the old id's member is heard again, its replacement goes.

use consensus_raft::{MemberId, MemberNumber, Membership, Step};

use super::GroupMembership;

impl GroupMembership {
    /// Whether that member is no voter, and a voter has its number.
    pub(crate) fn is_replacement(&self, id: MemberId) -> bool {
        !self.votes(id) && self.voters_of(id.number()).next().is_some()
    }

    /// Whether that voter goes with the change that is under way, and another gets its number. When that was proposed, its
    /// lease was over; another one would outlast the change.
    pub(crate) fn is_replaced(&self, id: MemberId) -> bool {
        let Membership { voters, voters_outgoing, .. } = &self.members;
        let is_successor = |other: &MemberId| *other != id && other.number() == id.number();
        voters_outgoing.contains(&id) && !voters.contains(&id) && voters.iter().any(is_successor)
    }

    /// The voters who are to go when that member begins to vote; nothing while one of them `serves` clients, as far as is
    /// known here.
    pub(crate) fn replaced_by(
        &self,
        id: MemberId,
        serves: impl Fn(MemberId) -> bool,
    ) -> Option<Vec<MemberId>> {
        let replaced: Vec<_> = self.voters_of(id.number()).filter(|voter| *voter != id).collect();
        (!replaced.iter().any(|voter| *voter == self.own || serves(*voter))).then_some(replaced)
    }

    /// Replacements that are not needed: the old id's member `lives`. Of two without a voter, the one that is not here
    /// goes, or else one of them.
    pub(crate) fn dismissed(&self, lives: impl Fn(MemberId) -> bool) -> Vec<Step> {
        let learners = &self.members.learners;
        let is_dismissed = |place: usize, id: MemberId| {
            let others = |other: &&MemberId| **other != id && other.number() == id.number();
            if self.is_replacement(id) {
                return self.voters_of(id.number()).any(&lives);
            }
            let earlier = learners.iter().take(place).any(|other| others(&other) && lives(*other));
            let alive = learners.iter().filter(others).any(|other| lives(*other));
            earlier || (alive && !lives(id))
        };
        let dismissed = learners.iter().enumerate().filter(|(place, id)| is_dismissed(*place, **id));
        dismissed.map(|(_, id)| Step::Remove(*id)).collect()
    }

    fn voters_of(&self, number: MemberNumber) -> impl Iterator<Item = MemberId> {
        let voters = self.members.voters.iter().chain(&self.members.voters_outgoing);
        voters.copied().filter(move |id| id.number() == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::view;

    /// The ids of number 3 on further disks.
    const NEW: MemberId = MemberId(0x503);
    const NEWER: MemberId = MemberId(0x903);
    const OLD: MemberId = MemberId(3);

    fn with_learners(learners: &[MemberId], voters: &[u64]) -> GroupMembership {
        let mut membership = view(1, &[1, 2, 3]).membership;
        let (voters, learners) = (voters.iter().copied().map(MemberId).collect(), learners.to_vec());
        membership.replace(Membership { voters, learners, ..Membership::default() });
        membership
    }

    #[test]
    fn replacement_takes_the_voters_place_once_that_serves_nobody() {
        let membership = with_learners(&[NEW], &[1, 2, 3]);
        assert!(membership.is_replacement(NEW) && !membership.is_replacement(OLD));
        assert_eq!(membership.replaced_by(NEW, |id| id == OLD), None);
        assert_eq!(membership.replaced_by(NEW, |_| false), Some(vec![OLD]));
    }

    #[test]
    fn replacement_goes_where_the_old_member_lives() {
        let membership = with_learners(&[NEW], &[1, 2, 3]);
        assert_eq!(membership.dismissed(|id| id == OLD), [Step::Remove(NEW)]);
        assert_eq!(membership.dismissed(|id| id != OLD), []);
    }

    #[test]
    fn replacement_that_is_not_here_goes_of_two_without_a_voter() {
        let membership = with_learners(&[NEW, NEWER], &[1, 2]);
        assert_eq!(membership.dismissed(|id| id == NEWER), [Step::Remove(NEW)]);
        assert_eq!(membership.dismissed(|_| true), [Step::Remove(NEWER)]);
        assert_eq!(membership.dismissed(|_| false), []);
    }
}
