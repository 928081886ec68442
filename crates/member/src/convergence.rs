//! The members that there are become those that are to be: `/zookeeper/config` says the latter, and the leader makes
//! it so, one committed change after the other. A member joins by showing up with a blank disk (`admission`), learns,
//! and votes once it has caught up.

use council::{Change, MemberId, Role, Step};
use jute::{ErrorCode, OpCode, Request};
use tree::{Command, Identities, Operation, Policy, Roster, Tree};

use crate::core::Core;
use crate::founding::NUMBERS;

/// Entries by which a learner may lag and be promoted nevertheless.
const LAG_MAX: u64 = 1_000;

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

    /// `/zookeeper/config` may say something else now.
    pub(crate) fn read_roster(&mut self, tree: &Tree) {
        let roster = tree.roster().or_else(|| self.config.roster.clone());
        if roster != self.roster {
            self.roster = roster;
            self.roster_changes += 1;
        }
    }

    /// A new leader sees to it that `/zookeeper/config` names the members: at first those of its own configuration.
    /// Where members are not changed at run time, those that its configuration has and the others have not are added,
    /// and where they are is taken from it; nobody is removed that way.
    pub(crate) fn tell_roster(&mut self, tree: &Tree) {
        let Some(own) = &self.config.roster else { return };
        let known = tree.roster();
        let next = match &known {
            None => own.clone(),
            Some(_) if self.config.reconfig_enabled => return,
            Some(known) => {
                let mut next = Roster::new(known.members().chain(own.members()).cloned());
                next.version = known.version;
                next
            }
        };
        if known.as_ref() != Some(&next) {
            let text = next.text();
            self.propose(Operation::SetConfig { text: text.as_bytes(), version: next.version });
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
        if steps.is_empty() || !self.membership.voters.iter().any(stays) {
            // Where nobody who stays votes yet, somebody has to first.
            steps = self.promotion();
        }
        if !steps.is_empty() {
            // Refused while another change is under way; tried again with the next tick.
            let _ = self.council.propose_change(&Change { steps });
        }
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
        let last_index = self.council.last_index();
        let progress = self.council.progress();
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
    fn is_changing(&self) -> bool {
        !self.membership.voters_outgoing.is_empty()
    }

    /// A command that the leader is about to put into the log: a reconfig that would end without a majority, or comes
    /// while another is under way, keeps its place in its session's sequence as a refusal.
    pub(crate) fn judge_reconfig<'a>(&self, command: Command<'a>) -> Command<'a> {
        let Operation::Client { opcode: OpCode::Reconfig, body } = command.operation else { return command };
        // Where it is disabled that is what the client hears, whoever is here.
        if !command.policy.contains(Policy::RECONFIG_ENABLED) {
            return command;
        }
        let Ok(Request::Reconfig(change)) = Request::decode(OpCode::Reconfig, body) else { return command };
        let Some(Ok(next)) = self.roster.as_ref().map(|roster| roster.changed(&change)) else {
            return command;
        };
        let refusal = if self.is_changing() {
            ErrorCode::ReconfigInProgress
        } else if !self.has_majority(&next) {
            ErrorCode::NewConfigNoQuorum
        } else {
            return command;
        };
        Command { operation: Operation::Refuse(refusal), identities: Identities::NONE, ..command }
    }

    /// Whether a majority of those who are to vote is here and has caught up.
    fn has_majority(&self, next: &Roster) -> bool {
        let last_index = self.council.last_index();
        let progress = self.council.progress();
        let is_here = |number: &u64| {
            *number == self.config.member % NUMBERS
                || progress.iter().any(|one| {
                    one.id.0 % NUMBERS == *number && one.active && one.matched + LAG_MAX >= last_index
                })
        };
        let participants = next.participants();
        let here = participants.iter().filter(|number| is_here(number)).count();
        here > participants.len() / 2
    }

    /// Hands the lead to the member that has come farthest among those that `may` take it, if this member has it.
    pub(crate) fn hand_over(&mut self, may: impl Fn(u64) -> bool) {
        if self.council.role() != Role::Leader || self.council.is_handing_over() {
            return;
        }
        let heard_ms = self.now.mono_ms.saturating_sub(self.config.lease_ms);
        let next = self
            .council
            .progress()
            .into_iter()
            .filter(|one| one.votes && one.active && may(one.id.0) && self.heard_ms(one.id.0) >= heard_ms)
            .max_by_key(|one| (one.matched, one.id.0));
        if let Some(next) = next {
            self.status.handed_over += 1;
            self.council.transfer(MemberId(next.id.0));
        }
    }

    /// This member is about to stop: another should lead.
    pub fn step_aside(&mut self) {
        self.hand_over(|_| true);
    }
}
