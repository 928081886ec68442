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

mod admission;
mod agree;
mod among;
mod apply;
mod attachment;
mod barrier;
mod catchup;
mod census;
mod commands;
mod comparison;
mod config;
mod convergence;
mod convert;
mod core;
mod digests;
mod disk_watch;
mod expiry;
mod floor;
pub mod founding;
mod gait;
mod identity;
mod lease;
mod leaving;
mod level;
mod message;
mod outlook;
mod peer;
mod peer_gate;
mod pieces;
mod proposals;
mod reaper;
mod reconfig;
mod refused_writes;
mod relays;
mod replay;
pub mod revival;
mod room;
mod round;
mod silence;
mod snapshotter;
pub mod start;
mod status;
mod succession;
mod understudy;

pub use admission::Denials;
pub use commands::commands_of;
pub use config::CoreConfig;
pub use core::{Core, Fault};
pub use level::FEATURE_LEVEL;
pub use message::{CoreEffect, JournalEvent, Now, SessionEnd};
pub use peer::{PeerMessage, SnapshotEnd};
pub use peer_gate::Refusal;
pub use pieces::{PieceReader, Pieces};
pub use replay::Replay;
pub use snapshotter::LastSnapshot;
pub use status::{CoreStatus, Tenure};
