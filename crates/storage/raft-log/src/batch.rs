//! What is appended to the journal and read back from it: entries, hard state, membership.

use alloc::vec::Vec;
use base::{LogIndex, MemberId, Term, WallTime};
use bytes::Bytes;

/// The part of Raft's state that must survive a crash. The whole is rewritten whenever a part of it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HardState {
    /// The latest term seen.
    pub term: Term,
    /// The member that this one voted for in `term`.
    pub vote: Option<MemberId>,
    /// The highest index known committed. It may lag, and never runs ahead of the log.
    pub commit: LogIndex,
}

/// What an entry carries; the journal does not look inside either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Commands for the tree, or nothing.
    Normal,
    /// A change of the membership.
    Membership,
}

/// One entry of the replicated log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its position, from 1 on, without holes.
    pub index: LogIndex,
    /// The term of the leader that made it.
    pub term: Term,
    /// What it carries.
    pub kind: EntryKind,
    /// Its content.
    pub data: Bytes,
}

/// The members of the ensemble, in the form of Raft's joint consensus. Opaque to the journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Members that vote.
    pub voters: Vec<MemberId>,
    /// Members that follow without a vote.
    pub learners: Vec<MemberId>,
    /// The voters of the configuration being left; empty outside a joint one.
    pub voters_outgoing: Vec<MemberId>,
    /// Outgoing voters that become learners once the joint configuration is left.
    pub learners_next: Vec<MemberId>,
    /// Whether the joint configuration is left by itself.
    pub auto_leave: bool,
}

/// What becomes durable together: after a crash all of it is there, or a beginning of its entries, or nothing.
///
/// Entries are contiguous. One whose index is present already replaces it and everything behind it, except what is
/// committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The new hard state, if it changed.
    pub hard_state: Option<HardState>,
    /// The new membership, if it changed.
    pub membership: Option<Membership>,
    /// Entries to append.
    pub entries: Vec<Entry>,
}

/// What a snapshot stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotMeta {
    /// The last entry it contains.
    pub index: LogIndex,
    /// That entry's term.
    pub term: Term,
    /// The membership at that entry.
    pub membership: Membership,
    /// The number of the last transaction in it.
    pub position: i64,
    /// The digest of the tree in it.
    pub digest: u64,
    /// When it was begun.
    pub created: WallTime,
}
