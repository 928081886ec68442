//! Which numbers members have, and how a hello writes them.

use core::fmt;

use base::{MemberId, MemberNumber};
use net_peer_pairs::PeerNumber;

/// A member's number as a hello says it: any 64 bits until the hello is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedNumber(pub u64);

impl ClaimedNumber {
    /// What a hello says where it means no member.
    pub(crate) const NOBODY: Self = Self(0);

    /// The number in a group whose numbers have one byte, if a member may have it: 1 to 255.
    #[must_use]
    pub fn number(self) -> Option<MemberNumber> {
        MemberNumber::try_from(self.0).ok().filter(|number| number.0 != 0)
    }
}

impl From<MemberNumber> for ClaimedNumber {
    fn from(number: MemberNumber) -> Self {
        Self(number.into())
    }
}

/// Which numbers members have. All members of a group go by the same numbering. On the wire, 0 means no member in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// 1 to 255. An id carries the number in its low byte, and a member whose disk is blank has no id.
    OneByte,
    /// 0 to 2^32 - 1, written as one more. The id of a member says nothing but its number, and every member has one.
    FourBytes,
}

impl Numbering {
    /// How a hello writes a number.
    #[must_use]
    pub const fn claim(self, number: PeerNumber) -> ClaimedNumber {
        match self {
            Self::OneByte => ClaimedNumber(number.0 as u64),
            Self::FourBytes => ClaimedNumber(number.0 as u64 + 1),
        }
    }

    /// The id of a member whose id says nothing but its number. Nothing where ids say more.
    #[must_use]
    pub const fn id(self, number: PeerNumber) -> Option<MemberId> {
        match self {
            Self::OneByte => None,
            Self::FourBytes => Some(MemberId(self.claim(number).0)),
        }
    }

    /// The number that a hello claims, if there is such a number.
    pub(crate) fn number(self, claimed: ClaimedNumber) -> Option<PeerNumber> {
        match self {
            Self::OneByte => claimed.number().map(PeerNumber::from),
            Self::FourBytes => claimed.0.checked_sub(1)?.try_into().ok().map(PeerNumber),
        }
    }

    /// The number that a claim means that was judged before.
    pub(crate) const fn known(self, claimed: ClaimedNumber) -> PeerNumber {
        match self {
            Self::OneByte => PeerNumber((claimed.0 & 0xff) as u32),
            Self::FourBytes => PeerNumber(claimed.0.wrapping_sub(1) as u32),
        }
    }

    /// What a claim is called in the log, whatever it is.
    pub(crate) const fn shown(self, claimed: ClaimedNumber) -> u64 {
        match self {
            Self::OneByte => claimed.0,
            Self::FourBytes => claimed.0.saturating_sub(1),
        }
    }

    /// The number of the member of that id, if there may be one.
    #[must_use]
    pub fn number_of(self, id: MemberId) -> Option<PeerNumber> {
        match self {
            Self::OneByte => Some(id.number().into()),
            Self::FourBytes => self.number(ClaimedNumber(id.0)),
        }
    }

    /// Whether one without an id is refused.
    pub(crate) const fn needs_id(self) -> bool {
        matches!(self, Self::FourBytes)
    }
}

impl fmt::Display for Numbering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneByte => "1 to 255",
            Self::FourBytes => "0 to 2^32 - 1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_read_back_and_what_is_none_is_refused() {
        for (numbering, first, last) in [(Numbering::OneByte, 1, 255), (Numbering::FourBytes, 0, u32::MAX)] {
            for number in [first, first + 1, last].map(PeerNumber) {
                let claim = numbering.claim(number);
                assert_eq!((numbering.number(claim), numbering.known(claim)), (Some(number), number));
            }
            let past = ClaimedNumber(numbering.claim(PeerNumber(last)).0 + 1);
            for none in [ClaimedNumber(0), past, ClaimedNumber(u64::MAX)] {
                assert_eq!(numbering.number(none), None, "{numbering:?} {none:?}");
            }
        }
    }

    #[test]
    fn id_of_four_bytes_is_of_one_number_and_that_of_one_byte_of_its_low_byte() {
        let zero = PeerNumber(0);
        assert_eq!(
            Numbering::FourBytes.id(zero).and_then(|id| Numbering::FourBytes.number_of(id)),
            Some(zero)
        );
        assert_eq!(Numbering::FourBytes.number_of(MemberId(0)), None);
        assert_eq!(Numbering::OneByte.number_of(MemberId(0x702)), Some(PeerNumber(2)));
    }
}
