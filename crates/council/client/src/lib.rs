//! A client of ZooKeeper's protocol, for Diwan and ZooKeeper alike: sessions, reconnection, watches.
//!
//! The protocol is in `council-client-core`, a state machine without I/O; this crate drives it over sockets. One thread owns
//! the connection. Every operation is submitted at once and returns a [`Pending`]; waiting for it
//! blocks, and submitting many before waiting pipelines them on the one connection, in order.
//!
//! ```no_run
//! use council_client::{Client, CreateMode, Watcher};
//!
//! let client = Client::connect("127.0.0.1:2181/app")?;
//! client.create("/job", b"ready", CreateMode::Persistent).wait()?;
//! let (watcher, events) = Watcher::new();
//! let (data, stat) = client.watch_data("/job", &watcher).wait()?;
//! client.set_data("/job", data.unwrap_or_default(), stat.version).wait()?;
//! println!("{}", events.recv()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A request that is under way when the connection breaks fails with [`Error::ConnectionLost`]: it may or may not
//! have taken effect. Watches are set again after a reconnection, under the same session. A session that has expired
//! is over for good; open another [`Client`], or ask for a new session with [`Options::renew_session`].
//!
//! [`recipes`] holds what users build from nodes: locks, leader election, groups, cached subtrees, counters.
//!
//! With the feature `load` there is also a load generator, `load`: one thread that keeps thousands of sessions busy.
//!
//! # Not done, and what that costs
//! Of SASL there is DIGEST-MD5 only: servers that demand Kerberos cannot be reached. A read-only connection does not look
//! for a server that writes. Events wait for a slow receiver without a bound; those of [`recipes`] are bounded by what the
//! recipe watches.

mod access;
mod address;
mod client;
mod delivery;
mod driver;
mod entropy;
mod error;
mod event;
mod failure;
mod link;
#[cfg(feature = "load")]
pub mod load;
mod mailbox;
mod operations;
mod options;
mod pending;
pub mod recipes;
mod status;
mod stream;
mod subtree;

pub use access::Access;
pub use address::ConnectString;
pub use client::Client;
pub use council_client_core::operation::Identity;
pub use council_client_core::{
    Acl, Attempt, ConnectFailure, CreateMode, Error, ErrorCode, Event, EventKind, KeeperState, Limits, Multi,
    MultiRead, MultiReadResult, MultiResult, Replied, Reply, Request, SessionId, SessionState, Stat, Ticket,
    WatchMode, WatcherType, Zxid, permission, validate_path,
};
pub use error::ConnectError;
pub use event::{Events, Watcher};
pub use options::Options;
pub use pending::Pending;
pub use status::Unreachable;
