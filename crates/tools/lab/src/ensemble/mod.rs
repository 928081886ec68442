//! Ensembles of real processes under faults: members are killed, stopped, wiped and cut off while clients write, read,
//! watch and judge what they see.
//!
//! Members of one ensemble have addresses of their own, on loopback or in network namespaces, and the same ports. What
//! holds is judged from outside, through clients alone; of the servers it is only known where they log that they lead.

mod clock;
mod crowd;
mod failure;
mod history;
mod judge;
mod ledger;
mod link;
mod logs;
mod members;
mod network;
pub mod scenario;
mod tun;
mod verdict;
mod witness;
mod witnesses;
mod writer;

pub use crowd::HISTORY;
pub use failure::Failure;
pub use members::{Ensemble, Place};
pub use network::Network;
