//! One file a target.

pub(crate) mod auth;
pub(crate) mod canary;
pub(crate) mod command;
pub(crate) mod connection;
pub(crate) mod entries;
pub(crate) mod kafka_codecs;
pub(crate) mod kafka_connection;
pub(crate) mod kafka_coordinators;
mod kafka_pipes;
pub(crate) mod kafka_recovery;
pub(crate) mod kafka_request;
pub(crate) mod kafka_sasl;
pub(crate) mod names;
pub(crate) mod peer;
pub(crate) mod peer_canary;
pub(crate) mod peer_wire;
pub(crate) mod recovery;
pub(crate) mod replication_wire;
pub(crate) mod reply;
pub(crate) mod request;
mod restart;
pub(crate) mod server_properties;
pub(crate) mod snapshot;
