//! One ensemble member: a [`Core`] that agrees, applies and keeps sessions, and shards that hold connections
//! (each a [`council_frontend::Front`]), joined only by messages and a `&Tree` that the driver lends.
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
//! - *No member alone takes another from its ensemble.* What arrives passes one gate (`peer_gate`): a message that its
//!   sender may not send now changes nothing, is counted, and stops no member.
//! - *Bounded.* What waits here is bounded by what the shards let through (`globalOutstandingLimit` a shard) and by
//!   the limits in [`CoreConfig`].
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod append_throttle;
mod apply;
mod commands;
mod config;
mod convert;
mod core;
mod digest_log;
mod disk_watch;
mod divergence;
mod fault;
mod feature_level;
mod forward_dedup;
pub mod founding;
pub mod journal_executor;
mod leadership;
pub mod lifecycle;
mod log_retention;
mod membership;
mod message;
mod output;
mod peer;
mod peer_gate;
mod peer_limits;
mod peers;
mod proposals;
mod proposer;
mod read_index;
mod reconfiguration;
mod refusals;
mod refused_writes;
mod replay;
pub mod revival;
mod room;
mod sessions;
mod snapshot;
pub mod start;
mod status;
#[cfg(test)]
mod test_support;
mod view;

pub use commands::commands_of;
pub use config::CoreConfig;
pub use consensus_raft::{MemberId, MemberNumber};
pub use core::Core;
pub use fault::Fault;
pub use feature_level::FEATURE_LEVEL;
pub use membership::Denials;
pub use message::{CoreEffect, JournalEvent, SessionEnd};
pub use peer::{PeerMessage, SnapshotEnd};
pub use peer_limits::peer_message_bytes_max;
pub use refusals::Refusal;
pub use replay::Replay;
pub use snapshot::{Chunks, LastSnapshot};
pub use status::{CoreStatus, Tenure};
