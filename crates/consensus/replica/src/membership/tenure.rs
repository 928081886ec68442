//! Whether a member may keep the seat that its disk says it has.

/// Whether a member's seat is still its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tenure {
    /// As far as is known here.
    #[default]
    Sound,
    /// Nothing has come of the group that it was to found for long: the driver asks the others whether there is another,
    /// see [`crate::founding::Founding::holding`].
    Doubtful,
    /// It was let in, and no leader has said anything to it for long: whoever let it in may have been overruled before that. The
    /// driver puts the member's data aside and asks for a new seat. It has never voted, and knows nothing.
    Unreceived,
    /// It was given to another disk: the driver puts the member's data aside and asks for a new one.
    Lost,
}
