//! By what a member is known: its number in the configuration, and the id of its disk.

/// A member's id: never reused, not its address.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

impl MemberId {
    /// No member's.
    pub const NOBODY: Self = Self(0);
    /// Marks the sender of a message that has no id yet; the rest is its number.
    const BLANK: u64 = 1 << 63;
    /// How many numbers there are: the number is the id's low byte.
    const NUMBERS: u64 = 1 << u8::BITS;

    /// That of the member of this number if it founds the group: the number itself.
    #[must_use]
    pub const fn founder(number: MemberNumber) -> Self {
        Self(number.0 as u64)
    }

    /// That of the member of this number on this disk if it is let in later: each member that computes it gets the
    /// same, and no other disk ever has it.
    #[must_use]
    pub const fn admitted(number: MemberNumber, incarnation: [u8; 16]) -> Self {
        let [a, b, c, d, e, f, ..] = incarnation;
        let drawn = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        // 0 is the founders'.
        let drawn = if drawn == 0 { 1 } else { drawn };
        Self(number.0 as u64 + drawn * Self::NUMBERS)
    }

    /// What stands for the member of that number before it has an id.
    #[must_use]
    pub const fn blank(number: MemberNumber) -> Self {
        Self(Self::BLANK | number.0 as u64)
    }

    /// This id, unless it is `NOBODY`.
    #[must_use]
    pub const fn known(self) -> Option<Self> {
        if self.0 == 0 { None } else { Some(self) }
    }

    /// Whether it stands for a member that has no id yet.
    #[must_use]
    pub const fn is_blank(self) -> bool {
        self.0 & Self::BLANK != 0
    }

    /// Whether it is that of a member that founded its group.
    #[must_use]
    pub const fn is_founder(self) -> bool {
        self.0 < Self::NUMBERS
    }

    /// The member's number: the low byte of its id.
    #[must_use]
    pub const fn number(self) -> MemberNumber {
        MemberNumber::of(self.0)
    }
}

/// A member's number in the configuration. Its disk may be replaced, and its id with it; the number stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberNumber(pub u8);

impl MemberNumber {
    /// That of a number kept in more bits, which is at most 255: of a larger one its low byte.
    #[must_use]
    pub const fn of(number: u64) -> Self {
        Self((number % MemberId::NUMBERS) as u8)
    }
}

impl TryFrom<u64> for MemberNumber {
    type Error = core::num::TryFromIntError;

    /// That of a number kept in more bits.
    fn try_from(number: u64) -> Result<Self, Self::Error> {
        u8::try_from(number).map(Self)
    }
}

impl From<MemberNumber> for u64 {
    fn from(number: MemberNumber) -> Self {
        Self::from(number.0)
    }
}

crate::shown::shown_as_number!(MemberId, MemberNumber);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_says_which_number_it_belongs_to_and_no_other_disk_has_it() {
        let seven = MemberNumber(7);
        let id = MemberId::admitted(seven, [0xff; 16]);
        assert_eq!((id.number(), id.is_blank(), id.is_founder()), (seven, false, false));
        assert_ne!(id, MemberId::admitted(seven, [0xfe; 16]));
        assert_ne!(MemberId::admitted(seven, [0; 16]), MemberId::founder(seven));
        assert_eq!(MemberId::admitted(seven, [0; 16]), MemberId(0x107));
    }

    #[test]
    fn blank_member_and_founder_are_known_by_their_number() {
        let number = MemberNumber(200);
        assert_eq!(
            (MemberId::blank(number), MemberId::founder(number)),
            (MemberId(1 << 63 | 200), MemberId(200))
        );
        assert!(MemberId::blank(number).is_blank() && !MemberId::blank(number).is_founder());
        assert!(MemberId::founder(number).is_founder());
        assert_eq!((MemberId::NOBODY.known(), MemberId(1).known()), (None, Some(MemberId(1))));
        assert_eq!([MemberId::blank(number).number(), MemberNumber::of(0x1c8)], [number; 2]);
    }

    #[test]
    fn ids_and_numbers_are_shown_bare() {
        assert_eq!(format!("{:?} {:x} {}", [MemberId(3)], MemberId(16).0, MemberNumber(5)), "[3] 10 5");
    }
}
