//! One member of the group of live objects in a process: its threads, its data, its connections with the other members.
//!
//! What a member decides is in `objects-replica` and below; here are the threads, files and sockets that carry it out.
//! What knows no objects is in `node-group`.
//!
//! # Threads
//! One core thread, which alone has the state (runs of modules that take long have threads of the engine's, each with the memory
//! of its object alone); one journal thread, which alone touches the disk; the edges, each of which
//! serves a share of the clients; one thread for each other member that is dialled; one for packets of names, if they are
//! served; one while a backup is sent. They exchange messages through
//! mailboxes: an edge sends [`objects_replica::edge::Request`]s and gets [`objects_replica::edge::Answer`]s.
//!
//! # Connections with other members
//! The objects' group shares the port between members with the group that owns it ([`net_peers::SharedPort`]): one
//! address, one certificate, one secret. But it has connections of its own, and its core thread reads and writes them. So
//! a message crosses no other thread, and a flood of calls delays no message of the other group.
//!
//! # Not done, and what that costs
//! - One group. Its members are those of the server's ensemble, and follow it.
//! - Reads are answered by the core thread, so it alone bounds them.

pub mod backup;
mod boot;
mod config;
mod core_loop;
mod data;
mod edges;
mod encryption;
mod error;
mod figures;
mod front;
mod member;
mod names;
pub mod revival;
mod sender;
mod server;
mod shared;
mod standing;
mod to_edge;

pub use config::{Announced, GroupConfig, HttpOptions, ModuleEngine, ObjectsConfig};
pub use edges::EdgeAnswers;
pub use error::{ServerFault, StartError};
pub use member::Member;
pub use names::{NamesConfig, PreparedNames};
pub use objects_http::{TOKEN_PREFIX, hash_of_token};
pub use objects_names::{Announcement, BadZone, Zone};
pub use objects_replica::is_address;
pub use server::{Prepared, Server};
pub use standing::Standing;
