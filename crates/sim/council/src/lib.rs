//! The other driver: the shipped machines on virtual disks and clocks, every interleaving decided by a seed.

pub mod client;
pub mod ensemble;
pub mod history;
pub mod load;
pub mod loaded;
pub mod node;
mod node_config;
pub mod oracle;
pub mod random;
pub mod record;
pub mod rules;
pub mod run;
pub mod shrink;
pub mod trace;

pub use storage_disk::sim as disk;
