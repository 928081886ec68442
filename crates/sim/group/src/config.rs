//! Settings that make a short run meet the ends of files, and entries as the engine knows them.

use consensus_raft::{Entry, EntryKind};
use storage_raft_log::JournalConfig;

/// A journal of small files, so that a short run meets their ends.
#[must_use]
pub fn small_journal() -> JournalConfig {
    JournalConfig {
        segment_bytes: 64 << 10,
        first_segment_bytes: 16 << 10,
        reserve_bytes: 4 << 10,
        prepare_step_bytes: 16 << 10,
        ..JournalConfig::default()
    }
}

/// As raft knows it.
#[must_use]
pub fn raft_entry(entry: storage_raft_log::Entry) -> Entry {
    let storage_raft_log::Entry { index, term, kind, data } = entry;
    let kind = match kind {
        storage_raft_log::EntryKind::Normal => EntryKind::Normal,
        storage_raft_log::EntryKind::Membership => EntryKind::Membership,
    };
    Entry { index, term, kind, data }
}
