//! One member of a group of live objects: a [`Core`], which is a [`consensus_replica::Replica`] over the commands of
//! [`objects_state`], and edges that serve HTTP, joined by the messages of [`edge`] and a `&State` that the driver lends.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod commands;
mod config;
mod core;
pub mod edge;
mod entry;
mod gone;
mod group;
mod joined;
pub mod limits;
mod machine;
mod mailboxes;
mod message;
pub mod query;
mod sessions;
mod stamps;
mod status;
mod waiting;
mod watches;

pub use config::CoreConfig;
pub use core::Core;
pub use machine::{ObjectsMachine, ReplayedState, StateLoader, replay};
pub use message::ObjectsMessage;
pub use status::CoreStatus;

/// What cores of different members say to each other.
pub type PeerMessage = consensus_replica::PeerMessage<ObjectsMessage>;

/// The highest feature level that this build understands.
pub const FEATURE_LEVEL: u32 = 1;

/// How many bytes a message of another member may have that begins like this: see
/// [`consensus_replica::peer_message_bytes_max`].
#[must_use]
pub fn peer_message_bytes_max(beginning: &[u8]) -> usize {
    consensus_replica::peer_message_bytes_max::<ObjectsMessage>(beginning, limits::COMMAND_BYTES_MAX)
}
