//! How a node is set up, and why it did not start.

use base::MemberId;
use consensus_raft::{Entry, EntryKind};
use council_frontend::FrontConfig;
use council_replica::CoreConfig;
use storage_raft_log::{JournalConfig, KeepPolicy, OpenError, ReadError};

/// Why a node did not start, or stopped.
#[derive(Debug)]
pub enum NodeError {
    /// The journal could not be opened.
    Open(OpenError),
    /// The journal's snapshot or log could not be read.
    Read(ReadError),
    /// The newest snapshot holds no tree.
    Snapshot(council_wire::Malformed),
    /// The disk failed under way, or the core found itself broken.
    Fault(String),
}

/// How a node is set up.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// The core's settings, and how many shards it serves.
    pub core: CoreConfig,
    /// Each shard's settings.
    pub front: FrontConfig,
    /// The journal's settings.
    pub journal: JournalConfig,
    /// What is kept when a snapshot is saved.
    pub keep: KeepPolicy,
    /// Bytes of log that a start reads at a time; 0 is an entry at a time.
    pub piece_bytes: u64,
    /// Chunks of a snapshot that are read at once for a member that asks for it.
    pub chunks_at_once: usize,
    /// Bytes of a snapshot that are written a second at the most.
    pub snapshot_bytes_per_second: u64,
    /// What decides how many steps the journal takes at a time. Without it, it goes on until it has nothing to do.
    pub journal_seed: Option<u64>,
    /// What passwords, ids and timeouts are drawn from.
    pub seed: [u8; 32],
    /// Who votes when the ensemble is founded.
    pub founders: Vec<MemberId>,
}

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
