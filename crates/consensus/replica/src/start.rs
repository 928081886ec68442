//! Taking a seat with what the journal recovered.

use consensus_raft::{LogIndex, MemberId, Recovered, SnapshotOffer, Term};
use storage_raft_log::Batch;

use crate::convert;

/// What a member that founds an ensemble writes before anything else: who the members are. The driver appends and
/// flushes it into a journal that is [`is_unfounded`].
#[must_use]
pub fn founding(voters: Vec<MemberId>, learners: Vec<MemberId>) -> Batch {
    let founders = consensus_raft::Membership { voters, learners, ..consensus_raft::Membership::default() };
    Batch { hard_state: None, membership: Some(convert::membership(&founders)), entries: Vec::new() }
}

/// Whether the journal belongs to no ensemble yet.
#[must_use]
pub fn is_unfounded(recovered: &storage_raft_log::Recovered) -> bool {
    recovered.membership.voters.is_empty() && recovered.last_index == LogIndex::ZERO
}

/// What a replica begins with, from a [`crate::Replay`].
#[derive(Debug)]
pub struct Seat {
    /// The log, from a while before what is applied on.
    pub(crate) recovered: Recovered,
    /// Index and term of the last entry that is applied.
    pub(crate) applied: (LogIndex, Term),
    /// How much log was applied behind the snapshot.
    pub(crate) log_bytes: u64,
    /// How many commands that was.
    pub(crate) commands: u64,
    /// The newest snapshot.
    pub(crate) snapshot: Option<SnapshotOffer>,
}

impl Seat {
    /// A seat with this log, of which everything up to that entry is applied, and without a snapshot.
    #[must_use]
    pub const fn new(recovered: Recovered, applied: (LogIndex, Term)) -> Self {
        Self { recovered, applied, log_bytes: 0, commands: 0, snapshot: None }
    }

    /// Index and term of the last entry that is applied.
    #[must_use]
    pub const fn applied(&self) -> (LogIndex, Term) {
        self.applied
    }
}
