//! A member that is removed while it lives: it parts from its clients before the others go on without it.
//!
//! It learns of its removal when the new members are applied from the log. From then on it takes no new session and says
//! that it does not serve, so that its driver parts from clients as at a stop: what was asked is answered, and they go
//! elsewhere. The leader waits a moment before it takes the vote away, for without new entries nothing more could be
//! answered; and one that is itself removed hands the lead over.

use consensus_raft::Role;
use council_tree::Tree;

use crate::core::Core;
use crate::founding::NUMBERS;

/// How long the leader waits with the removal of a member that is connected, so that it can part from its clients.
const PARTING_MS: u64 = 300;

/// What this member knows of removals.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// Whether the members that are to be named this one.
    named: bool,
    /// Whether they did, and do no more.
    leaves: bool,
    /// When they changed last.
    changed_ms: u64,
}

impl Leaving {
    pub(crate) fn new(named: bool) -> Self {
        Self { named, ..Self::default() }
    }

    /// The members that are to be have changed.
    fn changed(&mut self, named: bool, now_ms: u64) {
        self.leaves = !named && (self.named || self.leaves);
        (self.named, self.changed_ms) = (named, now_ms);
    }
}

impl Core {
    /// Whether this member was removed in this life, and parts from its clients or has done so.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        self.leaving.leaves
    }

    /// `/zookeeper/config` may say something else now.
    pub(crate) fn read_roster(&mut self, tree: &Tree) {
        self.read_config_acl(tree);
        let roster = tree.roster().or_else(|| self.config.roster.clone());
        if roster == self.roster {
            return;
        }
        self.roster = roster;
        self.roster_changes += 1;
        let number = self.config.member % NUMBERS;
        let named = self.roster.as_ref().is_none_or(|roster| roster.member(number).is_some());
        self.leaving.changed(named, self.now.mono_ms);
        if self.is_leaving() && self.raft.role() == Role::Leader {
            let roster = self.roster.clone().unwrap_or_default();
            self.hand_over(|id| roster.member(id % NUMBERS).is_some_and(|member| member.votes));
        }
    }

    /// Whether that member, which is to be removed, may still be parting from its clients.
    pub(crate) fn parts(&self, id: u64) -> bool {
        self.linked_peers.contains(&id) && self.now.mono_ms < self.leaving.changed_ms + PARTING_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_member_that_was_named_leaves() {
        let leaves = |before: bool, then: &[bool]| {
            let mut leaving = Leaving::new(before);
            then.iter().for_each(|named| leaving.changed(*named, 1));
            leaving.leaves
        };
        assert!(leaves(true, &[false]) && leaves(false, &[true, false]) && leaves(true, &[false, false]));
        assert!(!leaves(true, &[]) && !leaves(false, &[false]) && !leaves(true, &[false, true]));
    }
}
