//! What a query is answered from: a member's copy of the state, and who is in its group.

use base::MemberNumber;
use objects_state::State;

/// A member of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its number.
    pub number: MemberNumber,
    /// Whether it votes.
    pub votes: bool,
}

/// See the module. A member has one only as long as it has a lease from its leader.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The state.
    pub state: &'a State,
    /// The members of the group, by number.
    pub members: &'a [Seat],
    /// Who leads it, as far as is known.
    pub leader: Option<MemberNumber>,
}

impl View<'_> {
    pub(crate) fn seat(&self, number: u8) -> Option<Seat> {
        self.members.iter().copied().find(|seat| seat.number.0 == number)
    }
}
