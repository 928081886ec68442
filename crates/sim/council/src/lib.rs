//! The other driver: the shipped machines on virtual disks and clocks, every interleaving decided by a seed. What is not
//! about the council is in `sim_kit`.

pub mod client;
pub mod ensemble;
pub mod history;
pub mod load;
pub mod loaded;
pub mod node;
mod node_config;
pub mod oracle;
pub mod record;
pub mod rules;
pub mod run;

pub use sim_kit::{disk, random};
