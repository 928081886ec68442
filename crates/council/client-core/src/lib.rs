//! The client of ZooKeeper's protocol without its connection: a state machine that takes bytes, times and requests, and
//! gives bytes, replies and events. `council-client` drives it over sockets; services and simulators drive it as they please.
//!
//! [`ClientMachine`] is the machine. Its driver hands in what happened ([`ClientMachine::received`],
//! [`ClientMachine::disconnected`], [`ClientMachine::tick`], ...), and takes what is to be done: [`ClientMachine::action`],
//! [`ClientMachine::output`], [`ClientMachine::deadline`]. What users are told goes to a [`Handler`]. [`DataClient`] is the
//! same machine with requests, replies and events as data. [`recipes`] are built on those.
//!
//! # Invariants
//! - **A request is answered once**: by its reply, or by an error that says why there is none. A request that was sent
//!   when the connection broke ends with [`Error::ConnectionLost`]: it is *unknown* whether it took effect, and it is
//!   never sent again by itself. One that still waited to be sent is kept for the next connection; it fails with the
//!   same error if a whole round of servers is tried without success. [`Error::TooManyRequests`] and
//!   [`Error::InvalidPath`] say that nothing was sent.
//! - **One order.** Requests are sent in the order in which they were submitted. Replies and events are delivered in
//!   the order in which they came on the connection, so an event comes before the reply of any request that could show
//!   its change. When a connection breaks, first its requests fail, then the new state is reported.
//! - **Events are hints that something changed.** A one-shot watch is left when its request's reply comes, is used up
//!   by one event, and is set again on the next connection, where the server sends what was missed. Persistent watches
//!   are set again, too, but changes in between are not reported: a caller that needs them reads again.
//! - **A session never goes back in time.** Each connection begins with the zxid of the last reply, also under a new session
//!   after an expired one, and a server that is behind it refuses.
//! - ***Only the server says that a session has expired.** A client that is cut off does not know whether its session
//!   has expired. When the server says so, all watchers get the expiry and are gone, and all requests end with
//!   [`Error::SessionExpired`]. The client is over then, unless [`Settings::renew`] says that a new session follows.
//! - **Bounded**: requests that wait or are under way, and their bytes, by [`Limits`]; a reply by
//!   [`Settings::frame_bytes_max`]; a cached subtree by [`recipes::CacheLimits`]. Beyond it there is an error, never growth.
//!   Watches and identities grow only with what the user leaves and adds.
//!
//! # Not done, and what that costs
//! Of SASL there is DIGEST-MD5 only. A client of a read-only server does not look for one that writes. Events are handed to
//! the [`Handler`] at once: one that queues them must bound its queue itself.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod attempt;
mod data_client;
mod decode;
mod encode;
mod error;
mod event;
mod handler;
mod hosts;
mod machine;
mod multi;
pub mod operation;
mod path;
pub mod recipes;
mod request;
pub mod sasl;
mod session;
mod settings;
mod state;
mod watch;

pub use attempt::{Attempt, ConnectFailure, TLS_ALERT};
pub use base::Random;
pub use council_wire::{
    Acl, ErrorCode, KeeperState, SessionId, Stat, WatchMode, WatcherType, Zxid, permission,
};
pub use data_client::{DataClient, Output, Outputs, RequestId, Tag, WatcherId};
pub use decode::Decode;
pub use encode::CreateMode;
pub use error::Error;
pub(crate) use error::refusal;
pub use event::{Event, EventKind};
pub use handler::{Handler, Notice, StateChange};
pub use hosts::Target;
pub use machine::{Action, ClientMachine};
pub use multi::{Multi, MultiRead, MultiReadResult, MultiResult};
pub use path::{Chroot, validate as validate_path};
pub use request::{Replied, Reply, Request};
pub use settings::{Limits, Settings};
pub use state::{SessionState, Ticket};
