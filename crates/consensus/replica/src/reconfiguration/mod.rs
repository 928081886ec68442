//! The members that there are become those that are to be ([`crate::WantedMembers`]): the leader makes it so, one committed
//! change after the other. No change leaves less than a majority of living voters: learners are promoted before a living
//! voter goes, where its vote is needed. A member joins by showing up with a blank disk (`join`), learns, and votes once it
//! has caught up.
//!
//! Decides only; the core proposes the change.

mod admission;

use consensus_raft::{LogIndex, MemberId, RaftNode, Step};

use crate::leadership::Leadership;
use crate::view::View;

pub(crate) use self::admission::{admit, seated};

/// Entries by which a learner may lag and be promoted nevertheless.
pub const LAG_MAX: u64 = 1_000;

/// How long the leader waits with the removal of a member that is connected, so that it can part from its clients.
const PARTING_MS: u64 = 300;

/// What brings the members nearer to those that are to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// They are those, or nothing can be done now.
    Nothing,
    /// This leader is not to vote any more: a voter who stays is to go on.
    Transfer,
    /// This change is to be proposed.
    Change(Vec<Step>),
}

/// What a leader knows when it decides.
pub(crate) struct Reconfiguration<'a> {
    pub(crate) view: &'a View,
    pub(crate) raft: &'a RaftNode,
    pub(crate) leadership: &'a Leadership,
}

impl Reconfiguration<'_> {
    /// One step from the members that there are to those that are to be.
    pub(crate) fn next(&self) -> NextStep {
        let membership = &self.view.membership;
        let Some(wanted) = membership.wanted().filter(|_| !membership.is_changing()) else {
            return NextStep::Nothing;
        };
        let (own, members) = (self.view.own(), membership.members());
        let votes = |id: MemberId| wanted.votes(id.number());
        let mut steps = Vec::new();
        for id in members.others(MemberId::NOBODY) {
            let is_voter = members.voters.contains(&id);
            match votes(id) {
                None if parts(id, self.view) => {}
                None => steps.push(Step::Remove(id)),
                Some(false) if is_voter => steps.push(Step::Learner(id)),
                _ => {}
            }
        }
        let stays = |id: &MemberId| votes(*id) == Some(true);
        let loses_vote = |step: &Step| matches!(step, Step::Remove(id) | Step::Learner(id) if *id == own);
        if steps.iter().any(loses_vote) && members.voters.iter().any(stays) {
            return NextStep::Transfer;
        }
        let dismissed = membership.dismissed(|id| self.view.lives(id));
        steps.extend(dismissed.into_iter().filter(|step| !steps.contains(step)).collect::<Vec<_>>());
        let steps = match members.voters.iter().any(stays) {
            true => self.keeping_majority(steps),
            // Where nobody who stays votes yet, somebody has to first.
            false => Vec::new(),
        };
        let steps = if steps.is_empty() { self.promotion() } else { steps };
        if steps.is_empty() { NextStep::Nothing } else { NextStep::Change(steps) }
    }

    /// Of these steps, those that leave a majority of the voters alive, as far as this leader hears them. Those who are not
    /// heard lose their votes first; a living voter waits until enough learners vote. Where too few are heard even then,
    /// nobody loses a vote: one that is not heard may come back and decide its own removal, and then the rest, of whom
    /// one may be gone for good, would decide nothing ever again.
    fn keeping_majority(&self, steps: Vec<Step>) -> Vec<Step> {
        let mut voters = self.view.members().voters.clone();
        let mut kept = Vec::with_capacity(steps.len());
        let (living, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| {
            let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
            voters.contains(id) && self.view.lives(*id)
        });
        for step in others {
            let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
            voters.retain(|voter| *voter != id);
            kept.push(step);
        }
        if !self.majority_lives(&voters) {
            kept.retain(|step| {
                let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
                !self.view.is_voter(*id)
            });
            return kept;
        }
        for step in living {
            let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
            let stay: Vec<_> = voters.iter().copied().filter(|voter| *voter != id).collect();
            if self.majority_lives(&stay) {
                voters = stay;
                kept.push(step);
            }
        }
        kept
    }

    fn majority_lives(&self, voters: &[MemberId]) -> bool {
        2 * voters.iter().filter(|voter| self.view.lives(**voter)).count() > voters.len()
    }

    /// A learner who is to vote and has caught up does, in the place of the voter that had its number before.
    fn promotion(&self) -> Vec<Step> {
        let membership = &self.view.membership;
        let serves = |voter| self.view.now.mono() <= self.leadership.serves_until(voter, self.view);
        let promoted = self
            .ripe_learners()
            .into_iter()
            .find_map(|id| membership.replaced_by(id, serves).map(|replaced| (id, replaced)));
        let Some((id, replaced)) = promoted else { return Vec::new() };
        let removed = replaced.into_iter().map(Step::Remove);
        [Step::Voter(id)].into_iter().chain(removed).collect()
    }

    /// Learners who are to vote and have caught up.
    fn ripe_learners(&self) -> Vec<MemberId> {
        let membership = &self.view.membership;
        let last_index = self.raft.last_index();
        let progress = self.raft.progress();
        let ripe = progress.iter().filter(|progress| {
            !progress.votes
                && progress.active
                && progress.matched > LogIndex::ZERO
                && last_index.since(progress.matched) <= LAG_MAX
                && membership.is_to_vote(progress.id)
        });
        ripe.map(|progress| progress.id).collect()
    }
}

/// Whether that member, which is to be removed, may still be parting from its clients.
fn parts(id: MemberId, view: &View) -> bool {
    view.peers.is_connected(id) && view.now.mono() < view.membership.wanted_changed().plus_ms(PARTING_MS)
}

#[cfg(test)]
mod tests {
    use consensus_raft::MemberNumber;

    use super::*;
    use crate::test_support::{raft, view};

    #[test]
    fn reconfiguration_without_wanted_members_does_nothing() {
        let (view, raft, leadership) = (view(1, &[1, 2, 3]), raft(1, &[1, 2, 3]), Leadership::default());
        let next = Reconfiguration { view: &view, raft: &raft, leadership: &leadership }.next();
        assert_eq!(next, NextStep::Nothing);
    }

    /// What the leader 1 of five does, of whom 2 and 3 are heard, when these are to vote.
    fn next(voting: &[u8]) -> NextStep {
        let mut view = view(1, &[1, 2, 3, 4, 5]);
        let wanted = voting.iter().map(|number| (MemberNumber(*number), true)).collect();
        view.membership.want(Some(wanted), view.now);
        view.now.advance_ms(10_000);
        [2, 3].into_iter().for_each(|peer| view.peers.hear(MemberId(peer), view.now.mono()));
        let (raft, leadership) = (raft(1, &[1, 2, 3, 4, 5]), Leadership::default());
        Reconfiguration { view: &view, raft: &raft, leadership: &leadership }.next()
    }

    #[test]
    fn voter_that_is_not_heard_keeps_its_vote_while_too_few_of_the_others_are() {
        let mut view = view(2, &[1, 2, 3]);
        let wanted = [1, 2].into_iter().map(|number| (MemberNumber(number), true)).collect();
        view.membership.want(Some(wanted), view.now);
        view.now.advance_ms(10_000);
        let (raft, leadership) = (raft(2, &[1, 2, 3]), Leadership::default());
        let next = |view: &View| Reconfiguration { view, raft: &raft, leadership: &leadership }.next();
        assert_eq!(
            next(&view),
            NextStep::Nothing,
            "3 may come back and decide that 1, who may be gone, is needed"
        );
        view.peers.hear(MemberId(1), view.now.mono());
        assert_eq!(next(&view), NextStep::Change(vec![Step::Remove(MemberId(3))]));
    }

    #[test]
    fn reconfiguration_removes_the_dead_first_and_hands_over_when_it_is_to_go_itself() {
        assert_eq!(next(&[1, 2, 3, 4, 5]), NextStep::Nothing);
        assert_eq!(
            next(&[1, 2, 3]),
            NextStep::Change(vec![Step::Remove(MemberId(4)), Step::Remove(MemberId(5))])
        );
        assert_eq!(next(&[2, 3, 4, 5]), NextStep::Transfer);
    }
}
