//! What a replica is told before it starts.

use consensus_raft::MemberId;

use crate::founding::Cluster;

/// Settings of a [`crate::Replica`].
#[derive(Clone, Debug)]
pub struct ReplicaConfig {
    /// This member's id in the group.
    pub member: MemberId,
    /// The group.
    pub cluster: Cluster,
    /// The highest feature level that this build understands.
    pub feature_level: u32,
    /// The engine's tick among several members, milliseconds: a leader is heard of every second tick, and missed after
    /// ten to twenty.
    pub election_tick_ms: u64,
    /// How often a member that is alone looks at the time, milliseconds.
    pub alone_tick_ms: u64,
    /// A pause of this process longer than this, milliseconds, is told to the machine.
    pub stall_ms: u64,
    /// For how long a member goes on serving its clients without having heard of a leader, milliseconds.
    pub lease_ms: u64,
    /// How long this member's disk may hold up what a majority has made durable before another leads, milliseconds.
    /// After three times that its clients go elsewhere.
    pub disk_stall_ms: u64,
    /// Bytes of commands in one log entry, unless a single command is larger.
    pub entry_bytes_max: usize,
    /// Bytes of memory for the log that is kept for members that lag; who lags further is given a snapshot.
    pub window_bytes_max: usize,
    /// Entries that a member may lack of what is committed before it takes the log in step by step.
    pub lag_entries: u64,
    /// Bytes of commands applied before readers are let in again. What a command costs beyond its length counts, too: see
    /// [`crate::StateMachine::apply`].
    pub apply_bytes_max: usize,
    /// Bytes of log after which a snapshot is begun.
    pub snapshot_after_bytes: u64,
    /// Commands after which a snapshot is begun.
    pub snapshot_after_commands: u64,
    /// Bytes that writes may displace while a snapshot is scanned; from half of it on the scan hurries, at it writes
    /// wait for the scan.
    pub snapshot_side_bytes_max: usize,
    /// Bytes of one chunk of a snapshot: what the state is scanned for while writes wait.
    pub snapshot_chunk_bytes: usize,
    /// Chunks of another member's snapshot that may wait for this member's disk before it asks for more: a member that
    /// catches up writes no faster than its disk is to be given snapshots, which others may share.
    pub chunks_unwritten_max: usize,
}

impl ReplicaConfig {
    /// Settings that suit most groups.
    #[must_use]
    pub const fn new(member: MemberId) -> Self {
        Self {
            member,
            cluster: [0; 16],
            feature_level: 0,
            election_tick_ms: 50,
            alone_tick_ms: 200,
            stall_ms: 500,
            lease_ms: 2_000,
            disk_stall_ms: 300,
            entry_bytes_max: 256 << 10,
            window_bytes_max: 64 << 20,
            lag_entries: 1_000,
            apply_bytes_max: 256 << 10,
            snapshot_after_bytes: 1 << 30,
            snapshot_after_commands: 10_000_000,
            snapshot_side_bytes_max: 256 << 20,
            snapshot_chunk_bytes: 64 << 10,
            chunks_unwritten_max: 4,
        }
    }
}
