//! The front of a server: client connections from the first byte to the last, without a socket.
//!
//! Bytes go in and come out; between them are the handshake, the order of replies, watches, authentication and every
//! limit that a client can run into. Writes go to the core as commands and come back through its stream; reads are
//! answered from the tree at once, or by the core when they must wait. One [`Front`] serves the connections of one
//! thread.
//!
//! Invariants:
//! - Replies come in the order of requests; nothing overtakes, neither a ping nor an authentication.
//! - An event is queued before any reply that may show its cause, and behind the reply that left its watch.
//! - Everything that a client can make grow has a limit with a name in [`FrontConfig`].
//!
//! # Not done, and what that costs
//! GSSAPI (Kerberos), schemes `key` and pluggable ones: a client that shows such an identity fails to authenticate.
//! Read-only mode, local sessions and their upgrade, connection tokens with weights, and probabilistic throttling
//! of requests are not here either. A connection keeps no serialised replies between reads: each is encoded anew.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod asker;
pub mod auth;
mod authenticate;
mod config;
mod connection;
mod cost;
mod deliver;
mod event;
mod four_letter_words;
mod front;
mod handshake;
mod history;
mod introspection;
mod judge;
mod long;
mod long_turns;
mod message;
mod namespace_stats;
mod output;
mod path_hash;
mod pauses;
mod pending_audit;
pub mod read;
mod read_effects;
mod replies;
mod request;
mod shard_round;
mod shard_state;
mod stats;
mod tally;
mod turn;
mod watch;
mod watching;
mod weight;
mod write;

pub use asker::Asker;
pub use config::{AuthConfig, FrontConfig};
pub use connection::Peer;
pub use event::{AuditRecord, CloseReason, FrontEvent};
pub use front::Front;
pub use history::History;
pub use introspection::{ConnectionInfo, WatchSummary};
pub use message::{ConnectRefusal, Evaluated, FromCore, ToCore, WatchKind};
pub use namespace_stats::{NAMESPACES_MAX, Namespaces, namespace};
pub use shard_round::{ShardDriver, ShardRound, View};
pub use stats::{CLOSE_REASONS, FrontStats, OPERATIONS, ResponseSizes, operation_index};
pub use tally::Tally;
pub use write::COMMAND_OVERHEAD_MAX;
