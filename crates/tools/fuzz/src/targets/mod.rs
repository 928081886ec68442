//! One file a target.

pub(crate) mod auth;
pub(crate) mod canary;
pub(crate) mod command;
pub(crate) mod connection;
pub(crate) mod entries;
pub(crate) mod kafka_request;
pub(crate) mod peer;
pub(crate) mod peer_canary;
pub(crate) mod peer_wire;
pub(crate) mod recovery;
pub(crate) mod reply;
pub(crate) mod request;
mod restart;
pub(crate) mod server_properties;
pub(crate) mod snapshot;
