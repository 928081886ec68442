//! Diwan beside its peers: real servers as child processes, the differential test against a real Apache ZooKeeper,
//! the load generator and the benchmarks.
//!
//! **Not done, and what that costs.** Peers run as one server each; ensembles are started by nobody yet.

pub mod bench;
pub mod differential;
pub mod keys;
pub mod load;
pub mod peer;
pub mod wire;
