//! Measurements of Diwan beside its peers: the benchmarks, and the published experiments, repeated.
//!
//! Servers and faults are `tools-testbed`'s.
//!
//! **Not done, and what that costs.** Loads run on the machine of the servers, so absolute rates are lower than on machines
//! of their own.

pub mod bench;
pub mod conduct;
pub mod experiment;
pub mod log;
pub mod measure;
pub mod task;
