//! Faults of the environment: a network that cuts, delays and loses, clocks that are wrong, and disks that are full. Members that are
//! killed, stopped or paused are [`crate::Ensemble`]'s.

mod clock;
mod disk;
mod network;
mod tun;

pub use clock::Clocks;
pub use disk::SmallDisk;
pub use network::Network;
