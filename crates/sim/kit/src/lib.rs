//! The simulator kit.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod command_line;
pub mod damage;
mod faults;
mod host;
mod judged;
pub mod network;
pub mod peers;
pub mod random;
mod run;
mod shrink;
mod simulation;
mod trace;
mod world;

pub use faults::{MessageFaults, OF_MESSAGES, Without};
pub use host::{DRIFT_MAX_PPM, Host};
pub use judged::{Floor, Judged, SEEDS_MIN, below_floor};
pub use run::{Seeds, Tally, run};
pub use shrink::{Shrunk, shrink};
pub use simulation::Simulation;
pub use storage_disk::sim as disk;
pub use trace::Trace;
pub use world::{Plan, Report, World, play, report, run_to_end};
