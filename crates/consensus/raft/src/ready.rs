//! What raft hands to its member.

use crate::{Entry, HardState, LogIndex, MemberId, SnapshotOffer};

/// A member's part at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Follows a leader, or looks for one.
    Follower,
    /// Asks for votes.
    Candidate,
    /// Leads.
    Leader,
}

/// What must be durable before [`crate::RaftNode::persisted`] is called with its number.
#[derive(Clone, Debug)]
pub struct Persist {
    /// Counts up; naming one names all before it.
    pub number: u64,
    /// The new hard state, when it changed.
    pub hard_state: Option<HardState>,
    /// Entries to append. The first may overwrite a suffix of the log.
    pub entries: Vec<Entry>,
}

/// The outcome of one turn of the engine.
#[derive(Debug, Default)]
pub struct Ready {
    /// What to make durable, if anything. Without it the turn is done.
    pub persist: Option<Persist>,
    /// Entries that are committed and durable here, in order, to be applied.
    pub committed: Vec<Entry>,
    /// The member's new part, when it changed.
    pub role: Option<Role>,
    /// State that replaces everything before its index: to be made durable before `persist`, and put in place.
    pub snapshot: Option<SnapshotOffer>,
    /// Read barriers that hold: each by its number, with the index that must be applied first.
    pub barriers: Vec<(u64, LogIndex)>,
}

/// How far another member has come, as its leader knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The member.
    pub id: MemberId,
    /// The last index that is durable there.
    pub matched: LogIndex,
    /// Whether it was heard of lately.
    pub active: bool,
    /// Whether it waits for a snapshot.
    pub wants_snapshot: bool,
    /// Whether it votes.
    pub votes: bool,
}
