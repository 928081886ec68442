//! What a core is told before it starts.

use council_tree::Roster;

use crate::feature_level::FEATURE_LEVEL;
use crate::founding::Cluster;

/// Settings of a [`crate::Core`].
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// This member's id in the ensemble; its low byte is the high byte of the session ids that it hands out.
    pub member: u64,
    /// The ensemble.
    pub cluster: Cluster,
    /// The members as this one's configuration names them, in an ensemble.
    pub roster: Option<Roster>,
    /// The highest feature level that this build understands.
    pub feature_level: u32,
    /// Whether members are changed at run time: then `/zookeeper/config` alone says who they are.
    pub reconfig_enabled: bool,
    /// How many shards it serves.
    pub shards: u16,
    /// `tickTime`: the grain of session expiry, milliseconds.
    pub tick_ms: u64,
    /// `znode.container.checkIntervalMs`: how often containers and TTL nodes are looked over; 0 never.
    pub reap_interval_ms: u64,
    /// `znode.container.maxPerMinute`: how many of them are removed in a minute at the most.
    pub reaps_per_minute: u32,
    /// `znode.container.maxNeverUsedIntervalMs`: after how long a container that never had a child is removed; 0 never.
    pub never_used_ms: i64,
    /// Bytes of log after which a snapshot is begun.
    pub snapshot_after_bytes: u64,
    /// `snapCount`: transactions after which a snapshot is begun.
    pub snapshot_after_commands: u64,
    /// Bytes that writes may displace while a snapshot is scanned; from half of it on the scan hurries, at it writes
    /// wait for the scan.
    pub snapshot_side_bytes_max: usize,
    /// Bytes of commands in one log entry, unless a single command is larger.
    pub entry_bytes_max: usize,
    /// What commands may be under way at a time, from being proposed or forwarded until they are applied here, in about
    /// bytes: what comes beyond waits for its session's turn. One command may exceed it.
    pub under_way_max: u64,
    /// A pause of this process longer than this, milliseconds, is added to every session's deadline.
    pub stall_ms: u64,
    /// The engine's tick among several members, milliseconds: a leader is heard of every second tick, and missed after
    /// ten to twenty.
    pub election_tick_ms: u64,
    /// For how long a member goes on serving its clients without having heard of a leader, milliseconds.
    pub lease_ms: u64,
    /// After how long without progress commands that are under way are given to the leader again, milliseconds.
    pub resubmit_ms: u64,
    /// How long this member's disk may hold up what a majority has made durable before another leads, milliseconds.
    /// After three times that its clients go elsewhere.
    pub disk_stall_ms: u64,
    /// Bytes of log kept in memory for members that lag; who lags further is given a snapshot.
    pub window_bytes_max: usize,
    /// Entries that a member may lack of what is committed before it takes the log in step by step.
    pub lag_entries: u64,
    /// Bytes of commands applied before readers are let in again. What a command costs beyond its length counts, too: a
    /// step of [`council_tree::Tree::take_work`] takes about as long as a byte.
    pub apply_bytes_max: usize,
    /// Bytes of one chunk of a snapshot: what the tree is scanned for while writes wait.
    pub snapshot_chunk_bytes: usize,
    /// Chunks of another member's snapshot that may wait for this member's disk before it asks for more: a member that
    /// catches up writes no faster than its disk is to be given snapshots, which others may share.
    pub chunks_unwritten_max: usize,
    /// Transactions of an epoch after which the next begins: what is under way then still has room below 2^32.
    pub epoch_transactions_max: u32,
}

impl CoreConfig {
    /// Settings for a member, with ZooKeeper's defaults where it has them.
    #[must_use]
    pub const fn new(member: u64, shards: u16) -> Self {
        Self {
            member,
            cluster: [0; 16],
            roster: None,
            feature_level: FEATURE_LEVEL,
            reconfig_enabled: false,
            shards,
            tick_ms: 2_000,
            reap_interval_ms: 60_000,
            reaps_per_minute: 10_000,
            never_used_ms: 0,
            snapshot_after_bytes: 1 << 30,
            snapshot_after_commands: 10_000_000,
            snapshot_side_bytes_max: 256 << 20,
            entry_bytes_max: 256 << 10,
            under_way_max: 4 << 20,
            stall_ms: 500,
            election_tick_ms: 50,
            lease_ms: 2_000,
            resubmit_ms: 2_000,
            disk_stall_ms: 300,
            window_bytes_max: 64 << 20,
            lag_entries: 1_000,
            apply_bytes_max: 256 << 10,
            snapshot_chunk_bytes: 64 << 10,
            chunks_unwritten_max: 4,
            epoch_transactions_max: 0xf000_0000,
        }
    }
}
