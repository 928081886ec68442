//! What a frontend calls its connections.

/// A connection of a frontend. A slot is used again; the generation distinguishes its uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    /// Place in the frontend's table; small numbers, good as an index.
    pub slot: u32,
    /// Which use of that place.
    pub generation: u32,
}
