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
    /// Close all connections and end.
    Stop,
}
