//! Who is measured in a row.

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A real Apache ZooKeeper.
    ZooKeeper,
    /// Diwan.
    Diwan,
    /// What nobody can beat: a bare server or a bare disk.
    Floor,
}

impl Who {
    /// All, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::ZooKeeper, Self::Diwan, Self::Floor];

    /// The name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ZooKeeper => "ZooKeeper",
            Self::Diwan => "Diwan",
            Self::Floor => "floor",
        }
    }
}
