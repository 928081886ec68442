//! How the servers of one system are set up, in words that each system understands or refuses.

/// How servers are set up.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Servers that vote.
    pub servers: usize,
    /// Servers that do not.
    pub observers: usize,
    /// The heap limit of each server that is a JVM, MiB.
    pub heap_mb: u32,
    /// After how many transactions a snapshot is taken, if not as each system does by default.
    pub snapshot_every: Option<u32>,
    /// Whether they stand in a network of their own, which can be cut.
    pub can_be_cut: bool,
}

impl Setting {
    /// So many that vote, all else as it mostly is.
    #[must_use]
    pub const fn of(servers: usize) -> Self {
        Self { servers, observers: 0, heap_mb: 512, snapshot_every: None, can_be_cut: false }
    }

    /// All of them, whether they vote or not.
    #[must_use]
    pub const fn members(&self) -> usize {
        self.servers + self.observers
    }
}
