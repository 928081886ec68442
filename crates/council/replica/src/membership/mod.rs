//! Who is a member, as far as it is applied here, and who is to be one.

mod config_text;
mod denial;
mod leaving;
mod relation;
mod replacement;

use base::Now;
use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::{MemberId, MemberNumber, Membership};
use council_tree::{AclRef, Member, Roster, Tree};

pub use self::denial::Denials;
pub(crate) use self::denial::is_untouched;
use self::leaving::Leaving;
pub(crate) use self::relation::Relation;
use crate::{CoreConfig, Tenure};

/// Removed members that are remembered. At the bound the lowest id is forgotten: its member is unknown then.
const EVICTED_MAX: usize = 1_024;

/// See the module.
#[derive(Debug)]
pub(crate) struct EnsembleMembership {
    /// This member's id.
    own: MemberId,
    /// Who votes and who learns.
    members: Membership,
    /// Who is to be a member.
    roster: Option<Roster>,
    /// Counts how often that changed.
    roster_changes: u64,
    /// The ACL of `/zookeeper/config`, if there is that node.
    pub(crate) config_acl: Option<AclRef>,
    /// When this leader proposed the text of `/zookeeper/config`, while that is not applied.
    text_proposed_ms: Option<u64>,
    leaving: Leaving,
    /// Members that were removed in this incarnation.
    evicted: BTreeSet<MemberId>,
    /// When which number said last that this member was replaced.
    denials: BTreeMap<MemberNumber, u64>,
    /// When this incarnation began.
    began_ms: u64,
    tenure: Tenure,
}

impl EnsembleMembership {
    pub(crate) fn new(config: &CoreConfig, members: Membership, tree: &Tree, now: Now) -> Self {
        let roster = tree.roster().or_else(|| config.roster.clone());
        let own = MemberId(config.member);
        let named = roster.as_ref().is_some_and(|roster| member_of(roster, own.number()).is_some());
        Self {
            own,
            members,
            roster,
            roster_changes: 1,
            config_acl: tree.roster_acl().cloned(),
            text_proposed_ms: None,
            leaving: Leaving::new(named),
            evicted: BTreeSet::new(),
            denials: BTreeMap::new(),
            began_ms: now.mono_ms(),
            tenure: Tenure::default(),
        }
    }

    /// The members are these now. Gives those that were removed.
    pub(crate) fn change(&mut self, next: Membership) -> Vec<MemberId> {
        let before = core::mem::replace(&mut self.members, next);
        let mut removed = before.others(self.own.0);
        removed.retain(|peer| !self.members.contains(*peer));
        let removed: Vec<_> = removed.into_iter().map(MemberId).collect();
        for peer in &removed {
            if self.evicted.len() == EVICTED_MAX {
                self.evicted.pop_first();
            }
            self.evicted.insert(*peer);
        }
        removed
    }

    /// The members are these now, as a snapshot that takes the place of everything says.
    pub(crate) fn replace(&mut self, members: Membership) {
        self.members = members;
    }

    /// `/zookeeper/config` may say something else now. Says whether this member is leaving because of it.
    pub(crate) fn read_roster(&mut self, tree: &Tree, config: &CoreConfig, now: Now) -> bool {
        self.read_config_acl(tree);
        let roster = tree.roster().or_else(|| config.roster.clone());
        if roster == self.roster {
            return false;
        }
        self.roster = roster;
        self.roster_changes += 1;
        let named = self.roster.is_none() || self.names(self.own.number());
        self.leaving.changed(named, now.mono_ms());
        self.is_leaving()
    }

    /// The ACL of `/zookeeper/config` may be another now.
    pub(crate) fn read_config_acl(&mut self, tree: &Tree) {
        self.config_acl = tree.roster_acl().cloned();
    }

    pub(crate) const fn members(&self) -> &Membership {
        &self.members
    }

    /// The members that are to be, as far as this member knows.
    pub(crate) const fn roster(&self) -> Option<&Roster> {
        self.roster.as_ref()
    }

    pub(crate) const fn roster_changes(&self) -> u64 {
        self.roster_changes
    }

    /// Whether the member of that id is to vote.
    pub(crate) fn is_to_vote(&self, id: MemberId) -> bool {
        let roster = self.roster.as_ref();
        roster.and_then(|roster| member_of(roster, id.number())).is_some_and(|member| member.votes)
    }

    /// Whether a member of that number is to be one.
    pub(crate) fn names(&self, number: MemberNumber) -> bool {
        self.roster.as_ref().is_some_and(|roster| member_of(roster, number).is_some())
    }

    /// Whether this member was removed in this incarnation, and parts from its clients or has done so.
    pub(crate) const fn is_leaving(&self) -> bool {
        self.leaving.is_leaving()
    }

    /// When it last changed who is to be a member.
    pub(crate) const fn roster_changed_ms(&self) -> u64 {
        self.leaving.changed_ms
    }

    /// Whether a change of members is under way.
    pub(crate) fn is_changing(&self) -> bool {
        !self.members.voters_outgoing.is_empty()
    }

    pub(crate) const fn tenure(&self) -> Tenure {
        self.tenure
    }

    /// What the sender of a message is.
    pub(crate) fn relation(&self, id: MemberId) -> Relation {
        if id.is_blank() {
            Relation::Joining
        } else if self.votes(id) {
            Relation::Voter
        } else if self.members.contains(id.0) {
            Relation::Learner
        } else if self.evicted.contains(&id) {
            Relation::Evicted
        } else {
            Relation::Unknown
        }
    }

    fn votes(&self, id: MemberId) -> bool {
        self.members.voters.contains(&id.0) || self.members.voters_outgoing.contains(&id.0)
    }
}

/// The member of that number in a roster.
pub(crate) fn member_of(roster: &Roster, number: MemberNumber) -> Option<&Member> {
    roster.member(u64::from(number.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::view;

    fn members(voters: &[u64], learners: &[u64]) -> Membership {
        Membership { voters: voters.to_vec(), learners: learners.to_vec(), ..Membership::default() }
    }

    #[test]
    fn change_tells_who_was_removed_and_their_relation_is_evicted() {
        let mut membership = view(1, &[1, 2, 3]).membership;
        assert_eq!(membership.change(members(&[1, 2], &[4])), [MemberId(3)]);
        assert_eq!(membership.change(members(&[1, 2, 4], &[])), []);
        let relations = [2, 3, 4, 5].map(|id| membership.relation(MemberId(id)));
        use Relation::{Evicted, Joining, Unknown, Voter};
        assert_eq!(relations, [Voter, Evicted, Voter, Unknown]);
        assert_eq!(membership.relation(MemberId::blank(MemberNumber(6))), Joining);
    }

    #[test]
    fn evicted_members_are_remembered_up_to_a_bound() {
        let mut membership = view(1, &[1]).membership;
        for id in 2..EVICTED_MAX as u64 + 10 {
            membership.change(members(&[1], &[id]));
        }
        membership.change(members(&[1], &[]));
        assert_eq!(membership.evicted.len(), EVICTED_MAX);
        assert_eq!(membership.relation(MemberId(2)), Relation::Unknown);
        assert_eq!(membership.relation(MemberId(EVICTED_MAX as u64 + 9)), Relation::Evicted);
    }
}
