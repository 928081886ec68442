//! Diwan beside its peers: real servers as child processes, the differential test against a real Apache ZooKeeper,
//! ensembles under faults, the load generator and the benchmarks.
//!
//! **Not done, and what that costs.** Ensembles are Diwan's only: what a ZooKeeper's would do under the same faults is
//! not compared.

pub mod bench;
mod dice;
pub mod differential;
pub mod ensemble;
pub mod keys;
pub mod load;
pub mod peer;
pub mod wire;
