//! Who is a member, as far as it is applied here, and who is to be one.

mod denial;
mod leaving;
mod relation;
mod replacement;
mod tenure;
mod wanted;

use base::{MonoTime, Now};
use std::collections::{BTreeMap, BTreeSet};

use consensus_raft::{MemberId, MemberNumber, Membership};

pub use self::denial::Denials;
use self::leaving::Leaving;
pub(crate) use self::relation::Relation;
pub use self::tenure::Tenure;
pub use self::wanted::WantedMembers;

/// Removed members that are remembered. At the bound the lowest id is forgotten: its member is unknown then.
const EVICTED_MAX: usize = 1_024;

/// See the module.
#[derive(Debug)]
pub struct GroupMembership {
    /// This member's id.
    own: MemberId,
    /// Who votes and who learns.
    members: Membership,
    /// Who is to be a member; nothing where members are not changed.
    wanted: Option<WantedMembers>,
    leaving: Leaving,
    /// Members that were removed in this incarnation.
    evicted: BTreeSet<MemberId>,
    /// When which number said last that this member was replaced.
    denials: BTreeMap<MemberNumber, MonoTime>,
    /// When this incarnation began.
    began: MonoTime,
    /// The last moment without a connection to anybody.
    cut_off: MonoTime,
    tenure: Tenure,
}

impl GroupMembership {
    pub(crate) fn new(own: MemberId, members: Membership, wanted: Option<WantedMembers>, now: Now) -> Self {
        let named = wanted.as_ref().is_some_and(|wanted| wanted.names(own.number()));
        Self {
            own,
            members,
            wanted,
            leaving: Leaving::new(named),
            evicted: BTreeSet::new(),
            denials: BTreeMap::new(),
            began: now.mono(),
            cut_off: now.mono(),
            tenure: Tenure::default(),
        }
    }

    /// The members are these now. Gives those that were removed.
    pub(crate) fn change(&mut self, next: Membership) -> Vec<MemberId> {
        let before = core::mem::replace(&mut self.members, next);
        let mut removed = before.others(self.own);
        removed.retain(|peer| !self.members.contains(*peer));
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

    /// The members that are to be are these from now on.
    pub(crate) fn want(&mut self, wanted: Option<WantedMembers>, now: Now) {
        self.wanted = wanted;
        let named = self.wanted.as_ref().is_none_or(|wanted| wanted.names(self.own.number()));
        self.leaving.changed(named, now.mono());
    }

    /// Who votes and who learns, as far as it is applied here.
    pub const fn members(&self) -> &Membership {
        &self.members
    }

    /// The members that are to be, as far as this member knows; nothing where members are not changed.
    pub const fn wanted(&self) -> Option<&WantedMembers> {
        self.wanted.as_ref()
    }

    /// Whether the member of that id is to vote.
    pub(crate) fn is_to_vote(&self, id: MemberId) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| wanted.votes(id.number()) == Some(true))
    }

    /// Whether a member of that number is to be one.
    pub(crate) fn names(&self, number: MemberNumber) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| wanted.names(number))
    }

    /// Whether this member was removed in this incarnation, and parts from its clients or has done so.
    pub const fn is_leaving(&self) -> bool {
        self.leaving.is_leaving()
    }

    /// When it last changed who is to be a member.
    pub(crate) const fn wanted_changed(&self) -> MonoTime {
        self.leaving.changed
    }

    /// Whether a change of members is under way.
    pub fn is_changing(&self) -> bool {
        !self.members.voters_outgoing.is_empty()
    }

    /// Whether this member's seat is still its own.
    pub const fn tenure(&self) -> Tenure {
        self.tenure
    }

    /// What the sender of a message is.
    pub(crate) fn relation(&self, id: MemberId) -> Relation {
        if id.is_blank() {
            Relation::Joining
        } else if self.votes(id) {
            Relation::Voter
        } else if self.members.contains(id) {
            Relation::Learner
        } else if self.evicted.contains(&id) {
            Relation::Evicted
        } else {
            Relation::Unknown
        }
    }

    fn votes(&self, id: MemberId) -> bool {
        self.members.voters.contains(&id) || self.members.voters_outgoing.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::view;

    fn members(voters: &[u64], learners: &[u64]) -> Membership {
        let ids = |ids: &[u64]| ids.iter().copied().map(MemberId).collect();
        Membership { voters: ids(voters), learners: ids(learners), ..Membership::default() }
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
