//! The number by which a process knows another one that it is connected to.

use core::fmt;

use base::MemberNumber;

/// The number of a process among those that are connected to each other. Which numbers there are is up to the group.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerNumber(pub u32);

impl PeerNumber {
    /// The number of a member of a group that has at most 255 of them. Of a larger number it is the low byte.
    #[must_use]
    pub const fn member(self) -> MemberNumber {
        MemberNumber::of(self.0 as u64)
    }
}

impl From<MemberNumber> for PeerNumber {
    fn from(number: MemberNumber) -> Self {
        Self(number.0.into())
    }
}

impl From<PeerNumber> for u64 {
    fn from(number: PeerNumber) -> Self {
        number.0.into()
    }
}

impl fmt::Debug for PeerNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for PeerNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
