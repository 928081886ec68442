//! The driver of a broker: its port, its threads, its directory, and its topics in the council.
//!
//! - A thread for each listener accepts connections and deals them out.
//! - Each shard's thread serves connections with [`log_broker::Front`]; all share one [`log_broker::Broker`] behind a lock,
//!   which a shard holds while it handles what it has read in a turn.
//! - The disk's thread runs [`log_broker::DiskExecutor`].
//! - A client of the council runs a [`log_metadata::Keeper`]: what it tells goes to the first shard, what the broker asks for
//!   comes from all.
//! - The reloader's thread reads keys and certificates again when their files change.
//!
//! # Not done, and what that costs
//! - One broker: topics whose leader is another broker are not served, and a leader that is gone is not replaced.
#![deny(missing_docs)]

mod compaction;
mod config;
mod council;
mod disk_loop;
mod error;
mod hand_over;
mod listener;
mod mail;
mod metrics;
mod oauth;
mod peers;
mod refusals;
mod segments;
mod server;
mod shard;
mod volume;

pub use config::{LogConfig, PeerListener, SetLogLevel};
pub use error::{LogFault, StartError};
pub use listener::{BadRules, ListenerConfig, ListenerSasl, ListenerTls, PrincipalRules};
pub use log_links::PeerTlsConfig;
pub use oauth::OauthConfig;
pub use server::LogServer;
