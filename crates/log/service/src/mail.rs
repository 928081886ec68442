//! What other threads tell a shard.

use log_broker::{CompactionEvent, Response, Waiter};
use log_metadata::KeeperEvent;
use net_reactor::Accepted;

/// What a shard is told.
pub(crate) enum ShardMail {
    /// A new connection.
    Accepted(Accepted),
    /// An answer for one of its connections.
    Answer(Waiter, Response),
    /// Something happened in the council.
    Council(KeeperEvent),
    /// The compactor tells something.
    Compaction(CompactionEvent),
    /// The broker is about to stop: what it leads is to be handed over. For the first shard.
    Drain,
    /// Close all connections and end.
    Stop,
}
