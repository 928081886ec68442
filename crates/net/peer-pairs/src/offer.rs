//! A connection on which both sides have said who they are, as the table of pairs sees it.

use base::MemberId;

use crate::number::PeerNumber;

/// Which of the two connections of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Small and urgent.
    Control,
    /// Large, and may wait.
    Bulk,
}

impl Lane {
    /// The one for what is bulky, or is not.
    #[must_use]
    pub const fn of(is_bulky: bool) -> Self {
        if is_bulky { Self::Bulk } else { Self::Control }
    }
}

/// A connection on which both sides have said who they are, and what the other side said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its number.
    pub number: PeerNumber,
    /// Its id, once it has one.
    pub id: Option<MemberId>,
    /// When its process started: a later one has a greater number.
    pub process: u64,
    /// The highest feature level that it understands.
    pub level: u32,
    /// Which connection of a pair it is to be.
    pub lane: Lane,
    /// Whether this member dialled.
    pub dialled: bool,
    /// Which of the dialler's attempts it was: the two connections of one attempt belong together.
    pub attempt: u64,
    /// Whether the other has proved by key or secret that it is that member.
    pub proven: bool,
    /// Whether this member said that it has an id.
    pub as_member: bool,
}
