//! The members that there are become those that are to be: `/zookeeper/config` says the latter, and the leader makes
//! it so, one committed change after the other. No change leaves less than a majority of living voters: learners are
//! promoted before a living voter goes, where its vote is needed. A member joins by showing up with a blank disk (`admission`), learns,
//! and votes once it has caught up.

use consensus_raft::{Change, MemberId, Role, Step};
use council_tree::{Operation, Roster, Tree};

use crate::core::Core;
use crate::founding::NUMBERS;

/// Entries by which a learner may lag and be promoted nevertheless.
pub(crate) const LAG_MAX: u64 = 1_000;

/// After this many milliseconds a leader proposes the text of `/zookeeper/config` again.
const TELL_AGAIN_MS: u64 = 5_000;

impl Core {
    /// The members that are to be, as far as this member knows.
    #[must_use]
    pub const fn roster(&self) -> Option<&Roster> {
        self.roster.as_ref()
    }

    /// Counts how often they have changed, so that a driver need not compare them.
    #[must_use]
    pub const fn roster_changes(&self) -> u64 {
        self.roster_changes
    }

    /// A new leader sees to it that `/zookeeper/config` names the members: at first those of its own configuration.
    /// Where members are not changed at run time, those that its configuration has and the others have not are added,
    /// and where they are is taken from it; no member is removed that way. In each case the text is in the form that
    /// ZooKeeper's own parser reads, also where an older build wrote another.
    ///
    /// What is proposed replaces the whole text. Until it is applied the leader refuses clients' changes
    /// ([`Core::judge_reconfig`]), for one that came between would be undone.
    pub(crate) fn tell_roster(&mut self, tree: &Tree) {
        self.telling_since_ms = None;
        let known = tree.roster();
        let next = match (&known, &self.config.roster) {
            (_, None) => return,
            (None, Some(own)) => own.published(),
            (Some(known), Some(_)) if self.config.reconfig_enabled => known.published(),
            (Some(known), Some(own)) => {
                let mut next = Roster::new(known.members().chain(own.members()).cloned());
                next.version = known.version;
                next.published()
            }
        };
        if known.as_ref() != Some(&next) {
            let text = next.text();
            self.propose(Operation::SetConfig { text: text.as_bytes(), version: next.version });
            self.telling_since_ms = Some(self.now.mono_ms);
        }
    }

    /// The text that a leader proposed may have been lost with a proposal that raft refused.
    pub(crate) fn tell_roster_again(&mut self, tree: &Tree) {
        if self.telling_since_ms.is_some_and(|since| self.now.mono_ms >= since + TELL_AGAIN_MS) {
            self.tell_roster(tree);
        }
    }

    /// One step from the members that there are to those that are to be.
    pub(crate) fn converge(&mut self) {
        if !self.status.leading || self.is_changing() {
            return;
        }
        let Some(roster) = self.roster.clone() else { return };
        let own = self.config.member;
        let votes = |id: u64| roster.member(id % NUMBERS).map(|member| member.votes);
        let mut steps = Vec::new();
        for id in self.membership.others(0) {
            let is_voter = self.membership.voters.contains(&id);
            match votes(id) {
                None if self.parts(id) => {}
                None => steps.push(Step::Remove(id)),
                Some(false) if is_voter => steps.push(Step::Learner(id)),
                _ => {}
            }
        }
        let stays = |id: &u64| votes(*id) == Some(true);
        let loses_seat = |step: &Step| matches!(step, Step::Remove(id) | Step::Learner(id) if *id == own);
        if steps.iter().any(loses_seat) && self.membership.voters.iter().any(stays) {
            // Whoever stays does it.
            return self.hand_over(|id| stays(&id));
        }
        steps.extend(self.dismissed().into_iter().filter(|step| !steps.contains(step)).collect::<Vec<_>>());
        let steps = match self.membership.voters.iter().any(stays) {
            true => self.keeping_majority(steps),
            // Where nobody who stays votes yet, somebody has to first.
            false => Vec::new(),
        };
        let steps = if steps.is_empty() { self.promotion() } else { steps };
        if !steps.is_empty() {
            // Refused while another change is under way; tried again with the next tick.
            let _ = self.raft.propose_change(&Change { steps });
        }
    }

    /// Of these steps, those that leave a majority of the voters alive, as far as this leader hears them. What takes the
    /// vote of one that is not heard always does; a living voter waits until enough learners vote.
    fn keeping_majority(&self, steps: Vec<Step>) -> Vec<Step> {
        let mut voters = self.membership.voters.clone();
        let mut kept = Vec::with_capacity(steps.len());
        let (living, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| {
            let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
            voters.contains(id) && self.lives(*id)
        });
        for step in others {
            let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
            voters.retain(|voter| *voter != id);
            kept.push(step);
        }
        for step in living {
            let (Step::Voter(id) | Step::Learner(id) | Step::Remove(id)) = step;
            let stay: Vec<_> = voters.iter().copied().filter(|voter| *voter != id).collect();
            if 2 * stay.iter().filter(|voter| self.lives(**voter)).count() > stay.len() {
                voters = stay;
                kept.push(step);
            }
        }
        kept
    }

    /// A learner who is to vote and has caught up does, in the place of whoever had its number before.
    fn promotion(&self) -> Vec<Step> {
        let promoted = self
            .ripe_learners()
            .into_iter()
            .find_map(|id| self.replaced_by(id).map(|replaced| (id, replaced)));
        let Some((id, replaced)) = promoted else { return Vec::new() };
        [Step::Voter(id)].into_iter().chain(replaced.into_iter().map(Step::Remove)).collect()
    }

    /// Learners who are to vote and have caught up.
    fn ripe_learners(&self) -> Vec<u64> {
        let Some(roster) = &self.roster else { return Vec::new() };
        let last_index = self.raft.last_index();
        let progress = self.raft.progress();
        let ripe = progress.iter().filter(|progress| {
            !progress.votes
                && progress.active
                && progress.matched > 0
                && progress.matched + LAG_MAX >= last_index
                && roster.member(progress.id.0 % NUMBERS).is_some_and(|member| member.votes)
        });
        ripe.map(|progress| progress.id.0).collect()
    }

    /// Whether a change of members is under way.
    pub(crate) fn is_changing(&self) -> bool {
        !self.membership.voters_outgoing.is_empty()
    }

    /// Hands the lead to the member that has come farthest among those that `may` take it, if this member has it.
    pub(crate) fn hand_over(&mut self, may: impl Fn(u64) -> bool) {
        if self.raft.role() != Role::Leader || self.raft.is_handing_over() {
            return;
        }
        let heard_ms = self.now.mono_ms.saturating_sub(self.config.lease_ms);
        let next = self
            .raft
            .progress()
            .into_iter()
            .filter(|one| one.votes && one.active && may(one.id.0) && self.heard_ms(one.id.0) >= heard_ms)
            .max_by_key(|one| (one.matched, one.id.0));
        if let Some(next) = next {
            self.status.handed_over += 1;
            self.raft.transfer(MemberId(next.id.0));
        }
    }

    /// This member is about to stop: another should lead.
    pub fn step_aside(&mut self) {
        self.hand_over(|_| true);
    }
}
