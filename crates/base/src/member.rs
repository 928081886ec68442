//! By what a member is known: its number in the configuration, and the id of its disk.

/// A member's id: not 0, never reused, not its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

impl MemberId {
    /// Marks the sender of a message that has no id yet; the rest is its number.
    const BLANK: u64 = 1 << 63;

    /// What stands for the member of that number before it has an id.
    #[must_use]
    pub const fn blank(number: MemberNumber) -> Self {
        Self(Self::BLANK | number.0 as u64)
    }

    /// Whether it stands for a member that has no id yet.
    #[must_use]
    pub const fn is_blank(self) -> bool {
        self.0 & Self::BLANK != 0
    }

    /// The member's number: the low byte of its id.
    #[must_use]
    pub const fn number(self) -> MemberNumber {
        MemberNumber((self.0 & 0xff) as u8)
    }
}

/// A member's number in the configuration. Its disk may be replaced, and its id with it; the number stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberNumber(pub u8);
