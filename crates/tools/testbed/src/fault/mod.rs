//! Faults of the environment: a network that cuts, delays and loses, and clocks that are wrong. Members that are
//! killed, stopped or paused are [`crate::Ensemble`]'s.

mod clock;
mod network;
mod tun;

pub use clock::Clocks;
pub use network::Network;
