//! What a core is told before it starts.

use consensus_replica::{MemberId, ReplicaConfig};

use crate::FEATURE_LEVEL;

/// Settings of a [`crate::Core`].
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// Of the part that is the same for every group.
    pub replica: ReplicaConfig,
    /// How many edges it serves.
    pub edges: u16,
    /// The grain of session expiry, milliseconds: a session ends at the first tick at or after its deadline.
    pub tick_ms: u64,
    /// After how long without progress commands that are under way are given to the leader again, milliseconds.
    pub resubmit_ms: u64,
    /// How long a command waits for a leader before it is refused with `no-leader`, milliseconds.
    pub leaderless_ms: u64,
    /// After how long a command that a leader was given is answered `outcome-unknown`, milliseconds.
    pub unknown_ms: u64,
    /// How long a query waits for the leader, or for its `min_position`, before it is refused with `no-leader`,
    /// milliseconds.
    pub query_ms: u64,
    /// Where the member serves its clients, `HOST:PORT`, if other members are to tell theirs while it leads.
    pub serves_at: Option<String>,
}

impl CoreConfig {
    /// Settings for a member that serves so many edges.
    #[must_use]
    pub const fn new(member: MemberId, edges: u16) -> Self {
        let mut replica = ReplicaConfig::new(member);
        replica.feature_level = FEATURE_LEVEL;
        Self {
            replica,
            edges,
            tick_ms: 50,
            resubmit_ms: 2_000,
            leaderless_ms: 5_000,
            unknown_ms: 30_000,
            query_ms: 5_000,
            serves_at: None,
        }
    }

    /// The settings of the replica: a member that is alone looks at the time as the sessions' grain wants it.
    pub(crate) fn for_replica(&self) -> ReplicaConfig {
        ReplicaConfig { alone_tick_ms: self.tick_ms.clamp(10, 200), ..self.replica.clone() }
    }
}
