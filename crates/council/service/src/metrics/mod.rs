//! The list of all figures about the running server: ZooKeeper's names, and ours.

mod absent;
pub(crate) mod catalog;
mod ensemble;
pub(crate) mod flat;
pub(crate) mod zookeeper;
