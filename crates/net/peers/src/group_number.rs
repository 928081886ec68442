//! The numbers of the groups of a process.

use std::fmt;

/// Which of the groups of a process a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupNumber(pub(crate) u8);

impl GroupNumber {
    /// The group that owns the port.
    pub const FIRST: Self = Self(0);
    /// How many groups there may be.
    pub(crate) const COUNT: u8 = 8;

    /// The group of that number, 0 to 7.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < Self::COUNT { Some(Self(number)) } else { None }
    }
}

impl fmt::Display for GroupNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
