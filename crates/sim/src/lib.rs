//! The other driver: the shipped machines on virtual disks and clocks, every interleaving decided by a seed.
//!
//! # Not done, and what that costs
//! There is no network between members yet, as an ensemble of one has none; the checkers of all rules come with it.

pub mod client;
pub mod disk;
pub mod node;
pub mod random;
