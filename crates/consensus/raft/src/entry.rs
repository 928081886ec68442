//! What the log holds, free of the engine's types.

use base::{LogIndex, MemberId, Term};
use bytes::Bytes;
use raft::eraftpb;

/// What an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A batch of commands, or nothing (a new leader's first entry).
    Normal,
    /// A step of a membership change.
    Membership,
}

/// One entry of the replicated log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its place, counted from 1.
    pub index: LogIndex,
    /// The term of the leader that proposed it.
    pub term: Term,
    /// What it is for.
    pub kind: EntryKind,
    /// Its content.
    pub data: Bytes,
}

/// What a member must never forget: its term, its vote, and how far it knew the log to be committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardState {
    /// The latest term seen.
    pub term: Term,
    /// Whom this member voted for in that term.
    pub vote: Option<MemberId>,
    /// The highest index known to be committed. It may lag, and never runs ahead of the log.
    pub commit: LogIndex,
}

/// Who votes and who only listens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Members that vote.
    pub voters: Vec<MemberId>,
    /// Members that only learn.
    pub learners: Vec<MemberId>,
    /// While a change is under way: the voters before it.
    pub voters_outgoing: Vec<MemberId>,
    /// While a change is under way: voters that become learners at its end.
    pub learners_next: Vec<MemberId>,
    /// Whether the change ends by itself.
    pub auto_leave: bool,
}

impl Membership {
    /// An ensemble of one.
    #[must_use]
    pub fn alone(voter: MemberId) -> Self {
        Self { voters: vec![voter], ..Self::default() }
    }
}

impl Entry {
    /// What it takes in memory while the engine holds it.
    #[must_use]
    pub const fn bytes_in_memory(&self) -> usize {
        size_of::<eraftpb::Entry>() + self.data.len()
    }

    pub(crate) fn to_engine(&self) -> eraftpb::Entry {
        let mut entry = eraftpb::Entry { index: self.index.0, term: self.term.0, ..Default::default() };
        match self.kind {
            EntryKind::Normal => entry.data = self.data.clone(),
            EntryKind::Membership => {
                entry.set_entry_type(eraftpb::EntryType::EntryConfChangeV2);
                entry.context = self.data.clone();
            }
        }
        entry
    }

    pub(crate) fn from_engine(entry: &eraftpb::Entry) -> Self {
        // Of a membership change the engine keeps its own form in `data`, on the leader that proposed it alone; ours
        // is in `context`, and is what every disk and every peer sees.
        let (kind, data) = match entry.get_entry_type() {
            eraftpb::EntryType::EntryNormal => (EntryKind::Normal, &entry.data),
            _ => (EntryKind::Membership, &entry.context),
        };
        Self { index: LogIndex(entry.index), term: Term(entry.term), kind, data: data.clone() }
    }
}

impl HardState {
    pub(crate) fn to_engine(self) -> eraftpb::HardState {
        let vote = self.vote.unwrap_or_default().0;
        eraftpb::HardState { term: self.term.0, vote, commit: self.commit.0, ..Default::default() }
    }

    pub(crate) const fn from_engine(state: &eraftpb::HardState) -> Self {
        Self { term: Term(state.term), vote: MemberId(state.vote).known(), commit: LogIndex(state.commit) }
    }
}

impl Membership {
    pub(crate) fn to_engine(&self) -> eraftpb::ConfState {
        let mut state = eraftpb::ConfState::default();
        state.set_voters(numbers(&self.voters));
        state.set_learners(numbers(&self.learners));
        state.set_voters_outgoing(numbers(&self.voters_outgoing));
        state.set_learners_next(numbers(&self.learners_next));
        state.auto_leave = self.auto_leave;
        state
    }

    pub(crate) fn from_engine(state: &eraftpb::ConfState) -> Self {
        Self {
            voters: ids(&state.voters),
            learners: ids(&state.learners),
            voters_outgoing: ids(&state.voters_outgoing),
            learners_next: ids(&state.learners_next),
            auto_leave: state.auto_leave,
        }
    }

    /// Whether that member has any part.
    #[must_use]
    pub fn contains(&self, id: MemberId) -> bool {
        [&self.voters, &self.learners, &self.voters_outgoing].iter().any(|list| list.contains(&id))
    }

    /// Everybody but `id`, each once, in order.
    #[must_use]
    pub fn others(&self, id: MemberId) -> Vec<MemberId> {
        let mut others = [&self.voters[..], &self.learners, &self.voters_outgoing].concat();
        others.retain(|other| *other != id);
        others.sort_unstable();
        others.dedup();
        others
    }

    /// How many must agree.
    #[must_use]
    pub const fn majority(&self) -> usize {
        self.voters.len() / 2 + 1
    }
}

fn numbers(ids: &[MemberId]) -> Vec<u64> {
    ids.iter().map(|id| id.0).collect()
}

fn ids(numbers: &[u64]) -> Vec<MemberId> {
    numbers.iter().copied().map(MemberId).collect()
}
