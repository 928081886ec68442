//! How a node is set up.

use base::MemberId;
use council_frontend::FrontConfig;
use council_replica::CoreConfig;
use storage_raft_log::{JournalConfig, KeepPolicy};

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
