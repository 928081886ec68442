//! The bodies of requests and responses as owned structs. Those of the main path are here for clients; a broker reads and writes
//! them by hand.
//!
//! Their fields, and the versions that have each, are tables: see `schema`. They are not decoded by the crate that others
//! wrote for the protocol, which makes room for as many elements as a request says that it has before it reads any: a
//! request of twenty bytes could end the process. The tests compare with that crate.
//!
//! Source: Kafka's message definitions, as of 4.3.

mod schema;
#[cfg(test)]
mod tests;

pub mod acls;
pub mod cluster;
pub mod configs;
pub mod consumer_groups;
pub mod data;
pub mod groups;
pub mod offsets;
pub mod peers;
pub mod quorum;
pub mod security;
pub mod share;
pub mod tokens;
pub mod topics;
pub mod transactions;

pub use schema::{Blob, Field};
