//! The other driver: the shipped machines on virtual disks and clocks, every interleaving decided by a seed.

pub mod client;
pub mod disk;
pub mod ensemble;
pub mod node;
pub mod random;
