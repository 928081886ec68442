//! The systems that are measured.

/// The systems that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// What Diwan is compared with.
    Peer,
    /// Diwan.
    Diwan,
    /// The lower bound of the cost: a bare server or a bare disk.
    Floor,
}

impl Who {
    /// All, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::Peer, Self::Diwan, Self::Floor];

    /// The name for reports, beside a peer of that name.
    #[must_use]
    pub const fn name(self, peer: &str) -> &str {
        match self {
            Self::Peer => peer,
            Self::Diwan => "Diwan",
            Self::Floor => "floor",
        }
    }
}
