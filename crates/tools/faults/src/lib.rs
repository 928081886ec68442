//! Ensembles of real processes under faults: members are killed, stopped, wiped and cut off while clients write, read,
//! watch and judge what they see.
//!
//! Members of one ensemble have addresses of their own, on loopback or in network namespaces, and the same ports. What
//! holds is judged from outside, through clients alone; of the servers it is only known where they log that they lead.
//! Servers and faults are `tools-testbed`'s; the rules are the simulator's.
//!
//! **Not done, and what that costs.** Only Diwan's ensembles are judged: ZooKeeper's are measured by the lab, not judged.

mod crowd;
mod history;
mod judge;
mod ledger;
mod link;
mod logs;
pub mod scenario;
mod shared;
mod verdict;
mod witness;
mod witnesses;
mod writer;

pub use crowd::HISTORY;
