//! Between the council's terms and the journal's: the two know nothing of each other.

pub(crate) fn hard_state(state: council::HardState) -> journal::HardState {
    journal::HardState { term: state.term, vote: state.vote, commit: state.commit }
}

pub(crate) fn entry(entry: council::Entry) -> journal::Entry {
    let kind = match entry.kind {
        council::EntryKind::Normal => journal::EntryKind::Normal,
        council::EntryKind::Membership => journal::EntryKind::Membership,
    };
    journal::Entry { index: entry.index, term: entry.term, kind, data: entry.data }
}

pub(crate) fn council_hard_state(state: journal::HardState) -> council::HardState {
    council::HardState { term: state.term, vote: state.vote, commit: state.commit }
}

pub(crate) fn council_entry(entry: journal::Entry) -> council::Entry {
    let kind = match entry.kind {
        journal::EntryKind::Normal => council::EntryKind::Normal,
        journal::EntryKind::Membership => council::EntryKind::Membership,
    };
    council::Entry { index: entry.index, term: entry.term, kind, data: entry.data }
}

pub(crate) fn membership(membership: &council::Membership) -> journal::Membership {
    journal::Membership {
        voters: membership.voters.clone(),
        learners: membership.learners.clone(),
        voters_outgoing: membership.voters_outgoing.clone(),
        learners_next: membership.learners_next.clone(),
        auto_leave: membership.auto_leave,
    }
}

pub(crate) fn council_membership(membership: &journal::Membership) -> council::Membership {
    council::Membership {
        voters: membership.voters.clone(),
        learners: membership.learners.clone(),
        voters_outgoing: membership.voters_outgoing.clone(),
        learners_next: membership.learners_next.clone(),
        auto_leave: membership.auto_leave,
    }
}
