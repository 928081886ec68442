//! What another member is to this one.

/// What the sender is, as far as the members are applied here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// It votes.
    Voter,
    /// It receives everything and does not vote.
    Learner,
    /// It has no id yet.
    Joining,
    /// It was a member in this life of this one.
    Evicted,
    /// It has an id that is not known here: it was removed before, or let in by a change that is not applied here.
    Unknown,
}
