//! Diwan beside its peers: real servers as child processes, the differential test against a real Apache ZooKeeper,
//! ensembles under faults, loads and the benchmarks.
//!
//! **Not done, and what that costs.** Ensembles under faults are Diwan's only: a ZooKeeper's are measured, not judged.

pub mod bench;
pub mod compare;
pub mod conduct;
mod dice;
pub mod differential;
pub mod ensemble;
pub mod experiment;
pub mod keys;
pub mod peer;
pub mod record;
pub mod report;
pub mod stand;
pub mod task;
pub mod wire;
