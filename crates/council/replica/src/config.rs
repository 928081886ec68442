//! What a core is told before it starts.

use consensus_replica::{MemberId, ReplicaConfig};
use council_tree::Roster;

use crate::FEATURE_LEVEL;

/// Settings of a [`crate::Core`].
#[derive(Clone, Debug)]
pub struct CoreConfig {
    /// Of the part that is the same for every group. The low byte of the member's id is the high byte of the session ids
    /// that it hands out.
    pub replica: ReplicaConfig,
    /// The members as this one's configuration names them, in an ensemble.
    pub roster: Option<Roster>,
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
    /// What commands may be under way at a time, from being proposed or forwarded until they are applied here, in about
    /// bytes: what comes beyond waits for its session's turn. One command may exceed it.
    pub under_way_max: u64,
    /// After how long without progress commands that are under way are given to the leader again, milliseconds.
    pub resubmit_ms: u64,
    /// Transactions of an epoch after which the next begins: what is under way then still has room below 2^32.
    pub epoch_transactions_max: u32,
}

impl CoreConfig {
    /// Settings for a member, with ZooKeeper's defaults where it has them.
    #[must_use]
    pub const fn new(member: MemberId, shards: u16) -> Self {
        let mut replica = ReplicaConfig::new(member);
        replica.feature_level = FEATURE_LEVEL;
        Self {
            replica,
            roster: None,
            reconfig_enabled: false,
            shards,
            tick_ms: 2_000,
            reap_interval_ms: 60_000,
            reaps_per_minute: 10_000,
            never_used_ms: 0,
            under_way_max: 4 << 20,
            resubmit_ms: 2_000,
            epoch_transactions_max: 0xf000_0000,
        }
    }

    /// The settings of the replica: a member that is alone looks at the time as the sessions' grain wants it.
    pub(crate) fn for_replica(&self) -> ReplicaConfig {
        ReplicaConfig { alone_tick_ms: self.tick_ms.clamp(10, 200), ..self.replica.clone() }
    }
}
