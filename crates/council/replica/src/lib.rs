//! One ensemble member: a [`Core`], which is a [`consensus_replica::Replica`] over the council's commands and sessions, and
//! shards that hold connections (each a [`council_frontend::Front`]), joined only by messages and a `&Tree` that the
//! driver lends.
//!
//! # Invariants
//! - *One order for each connection.* The core hands each shard one stream: the changes of a transaction, then its
//!   outcome, then the reads that waited for it, and only then anything of the next transaction. The driver appends
//!   the stream to the shard's mailbox before it lets anyone read the tree that it describes.
//! - *Exactly once, in order.* A command takes effect only under its session's current generation and next sequence
//!   number; the tree drops the rest.
//! - *No early expiry.* A session ends only after every shard was asked, past its deadline, whom it has heard of; in an
//!   ensemble every member that is alive, a majority at the least.
//! - *Nothing is lost with a leader.* A command is kept here until it is applied here, and given to whoever leads next.
//! - *Bounded.* What waits here is bounded by what the shards let through (`globalOutstandingLimit` a shard) and by
//!   the limits in [`CoreConfig`].
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod apply;
mod commands;
mod config;
mod core;
mod ensemble_config;
mod forward_dedup;
mod group;
mod machine;
mod message;
mod output;
mod proposals;
mod proposer;
mod reconfig_judge;
mod refused_writes;
mod replayed_tree;
pub mod revival;
mod sessions;
mod status;
#[cfg(test)]
mod test_support;

pub use commands::commands_of;
pub use config::CoreConfig;
pub use core::Core;
pub use message::CouncilMessage;
pub use output::SessionEnd;
pub use replayed_tree::{ReplayedTree, replay};
pub use status::CoreStatus;

/// What cores of different members say to each other.
pub type PeerMessage = consensus_replica::PeerMessage<CouncilMessage>;

/// The highest feature level that this build understands. At 1 a session is opened once: a command that comes twice does not
/// bring back one that has ended. At 2 what is refused for want of room is one command for a run of a session's, and
/// a multi that makes a quota in the slot of another's node is not judged by that.
pub const FEATURE_LEVEL: u32 = 2;

/// The level from which on the log says `RefuseMany`.
pub(crate) const REFUSE_MANY_LEVEL: u32 = 2;

/// How many bytes a message of another member may have that begins like this: see
/// [`consensus_replica::peer_message_bytes_max`].
#[must_use]
pub fn peer_message_bytes_max(beginning: &[u8], request_bytes_max: usize) -> usize {
    consensus_replica::peer_message_bytes_max::<CouncilMessage>(beginning, request_bytes_max)
}
