//! A client of ZooKeeper's protocol, for Diwan and ZooKeeper alike: sessions, reconnection, watches.
//!
//! One thread owns the connection. Every operation is submitted at once and returns a [`Pending`]; waiting for it
//! blocks, and submitting many before waiting pipelines them on the one connection, in order.
//!
//! ```no_run
//! use client::{Client, CreateMode, Watcher};
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
//! is over for good; open another [`Client`].
//!
//! With the feature `load` there is also a load generator, `load`: one thread that keeps thousands of sessions busy.
//!
//! # Not done, and what that costs
//! Of SASL there is DIGEST-MD5 only: servers that demand Kerberos cannot be reached. A read-only connection does not look
//! for a server that writes.

mod access;
mod address;
mod attempt;
mod client;
mod decode;
mod driver;
mod encode;
mod error;
mod event;
mod hosts;
mod link;
#[cfg(feature = "load")]
pub mod load;
mod multi;
mod operations;
mod options;
mod path;
mod pending;
mod sasl;
mod session;
mod status;
mod stream;
mod subtree;
mod watch;

pub use access::Access;
pub use address::ConnectString;
pub use attempt::{Attempt, ConnectFailure};
pub use client::Client;
pub use council_wire::{Acl, ErrorCode, KeeperState, Stat, WatchMode, WatcherType, permission};
pub use encode::CreateMode;
pub use error::{ConnectError, Error};
pub use event::{Event, EventKind, Events, Watcher};
pub use multi::{Multi, MultiRead, MultiReadResult, MultiResult};
pub use operations::Identity;
pub use options::Options;
pub use path::validate as validate_path;
pub use pending::Pending;
pub use status::{SessionState, Ticket, Unreachable};
