//! Between raft's terms and the journal's: the two know nothing of each other.

pub(crate) fn hard_state(state: consensus_raft::HardState) -> storage_raft_log::HardState {
    storage_raft_log::HardState { term: state.term, vote: state.vote, commit: state.commit }
}

pub(crate) fn entry(entry: consensus_raft::Entry) -> storage_raft_log::Entry {
    let kind = match entry.kind {
        consensus_raft::EntryKind::Normal => storage_raft_log::EntryKind::Normal,
        consensus_raft::EntryKind::Membership => storage_raft_log::EntryKind::Membership,
    };
    storage_raft_log::Entry { index: entry.index, term: entry.term, kind, data: entry.data }
}

pub(crate) fn engine_hard_state(state: storage_raft_log::HardState) -> consensus_raft::HardState {
    consensus_raft::HardState { term: state.term, vote: state.vote, commit: state.commit }
}

pub(crate) fn engine_entry(entry: storage_raft_log::Entry) -> consensus_raft::Entry {
    let kind = match entry.kind {
        storage_raft_log::EntryKind::Normal => consensus_raft::EntryKind::Normal,
        storage_raft_log::EntryKind::Membership => consensus_raft::EntryKind::Membership,
    };
    consensus_raft::Entry { index: entry.index, term: entry.term, kind, data: entry.data }
}

pub(crate) fn membership(membership: &consensus_raft::Membership) -> storage_raft_log::Membership {
    storage_raft_log::Membership {
        voters: membership.voters.clone(),
        learners: membership.learners.clone(),
        voters_outgoing: membership.voters_outgoing.clone(),
        learners_next: membership.learners_next.clone(),
        auto_leave: membership.auto_leave,
    }
}

pub(crate) fn engine_membership(membership: &storage_raft_log::Membership) -> consensus_raft::Membership {
    consensus_raft::Membership {
        voters: membership.voters.clone(),
        learners: membership.learners.clone(),
        voters_outgoing: membership.voters_outgoing.clone(),
        learners_next: membership.learners_next.clone(),
        auto_leave: membership.auto_leave,
    }
}
