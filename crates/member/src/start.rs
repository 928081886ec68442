//! Taking a seat with what the journal recovered.

use council::Recovered;
use journal::Batch;

use crate::convert;

/// What a member that founds an ensemble of one writes before anything else: who votes. The driver appends and
/// flushes it into a journal that is [`is_unfounded`].
#[must_use]
pub fn founding(member: u64) -> Batch {
    let alone = council::Membership::alone(member);
    Batch { hard_state: None, membership: Some(convert::membership(&alone)), entries: Vec::new() }
}

/// Whether the journal belongs to no ensemble yet.
#[must_use]
pub fn is_unfounded(recovered: &journal::Recovered) -> bool {
    recovered.membership.voters.is_empty() && recovered.last_index == 0
}

/// What the council must know of what the journal recovered, in the order: who votes, what was voted, what is logged.
#[must_use]
pub fn seat(recovered: &journal::Recovered, membership: &journal::Membership) -> Recovered {
    let snapshot = recovered.snapshot.as_ref();
    Recovered {
        hard_state: council::HardState {
            term: recovered.hard_state.term,
            vote: recovered.hard_state.vote,
            commit: recovered.hard_state.commit,
        },
        membership: convert::council_membership(membership),
        snapshot_index: snapshot.map_or(0, |meta| meta.index),
        snapshot_term: snapshot.map_or(0, |meta| meta.term),
        entries: recovered.entries.iter().map(convert::council_entry).collect(),
    }
}
