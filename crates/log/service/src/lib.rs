//! The driver of a broker: its port, its threads, its directory, and its topics in the council.
//!
//! - The listener's thread accepts connections and deals them out.
//! - Each shard's thread serves connections with [`log_broker::Front`]; all share one [`log_broker::Broker`] behind a lock,
//!   which a shard holds while it handles what it has read in a turn.
//! - The disk's thread runs [`log_broker::DiskExecutor`].
//! - A client of the council runs a [`log_metadata::Keeper`]: what it tells goes to the first shard, what the broker asks for
//!   comes from all.
//!
//! # Not done, and what that costs
//! - One broker: topics whose leader is another broker are not served, and a leader that is gone is not replaced.
//! - No encryption, no authentication, no metrics.
#![deny(missing_docs)]

mod compaction;
mod config;
mod council;
mod disk_loop;
mod error;
mod mail;
mod segments;
mod server;
mod shard;
mod volume;

pub use config::LogConfig;
pub use error::{LogFault, StartError};
pub use server::LogServer;
