//! Who is to be a member: what an operator, or another service, has decided. The leader makes it so.

use std::collections::BTreeMap;

use consensus_raft::MemberNumber;

/// The members that are to be, and which of them are to vote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedMembers(BTreeMap<MemberNumber, bool>);

impl WantedMembers {
    /// Whether the member of that number is to vote; nothing if it is to be none.
    #[must_use]
    pub fn votes(&self, number: MemberNumber) -> Option<bool> {
        self.0.get(&number).copied()
    }

    /// Whether a member of that number is to be one.
    #[must_use]
    pub fn names(&self, number: MemberNumber) -> bool {
        self.0.contains_key(&number)
    }
}

impl FromIterator<(MemberNumber, bool)> for WantedMembers {
    /// Each with whether it is to vote.
    fn from_iter<T: IntoIterator<Item = (MemberNumber, bool)>>(members: T) -> Self {
        Self(members.into_iter().collect())
    }
}
