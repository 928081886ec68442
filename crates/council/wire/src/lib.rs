//! The wire of ZooKeeper: jute records, frames, operation and error codes.
//!
//! Decoding borrows from the frame it reads and is bounded by it: no length that a peer writes makes this crate
//! allocate more than the frame holds. Encoding appends to a byte vector that the caller keeps and reuses.
//!
//! This crate knows the shape of records and nothing of their meaning: the crates above decide which paths are valid,
//! which ACL schemes exist and which flags may be combined.
//!
//! # Not done, and what that costs
//! A string that is not UTF-8 is malformed here, while ZooKeeper replaces the bad bytes and goes on; a client
//! that sends such bytes gets a marshalling error instead of a node under a mangled name.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

mod acl;
mod connect;
mod error;
mod frame;
mod header;
mod ids;
mod multi;
mod opcode;
mod reader;
mod request;
pub mod sasl;
mod stat;
mod watch;
mod writer;

pub use acl::{Acl, AclEntry, AclList, permission};
pub use connect::{ConnectRequest, ConnectResponse};
pub use error::{ErrorCode, Malformed};
pub use frame::{FRAME_HEADER, Frame, end_frame, next_frame, start_frame};
pub use header::{ReplyHeader, RequestHeader, xid};
pub use ids::{SessionId, Zxid};
pub use multi::{MultiHeader, MultiKind, MultiOperation, MultiRequest};
pub use opcode::OpCode;
pub use reader::Reader;
pub use request::{Create, PathList, Reconfig, Request, SetWatches};
pub use stat::Stat;
pub use watch::{EventType, KeeperState, WatchMode, WatcherEvent, WatcherType};
pub use writer::Writer;
