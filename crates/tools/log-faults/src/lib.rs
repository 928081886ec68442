//! Three brokers in real processes under faults: they are killed, stopped and started while clients write, read and commit
//! offsets, and judge what they see. Their links are cut, their clocks jump, their disks are full or empty, and their council is gone.
//!
//! Each broker is one process with a server of the council, as `diwan up` starts them. What holds is judged from outside, through
//! clients alone, in the manner of Jepsen's workload for Kafka: what was acknowledged is there once and in its order, whoever leads;
//! a reader skips nothing and sees nothing twice or otherwise than another; an offset that was committed is not taken back.
//!
//! # Not done, and what that costs
//! - Transactions and members of groups are left to Java's clients (`interop/log-java`), which play them while brokers are killed.
//! - Where a broker is cut off, so is the member of the council in its process. Networks that are slow, and disks that fail, are the
//!   simulator's.
//! - A topic with fewer than three replicas is not played.

mod commits;
mod crowd;
mod ledger;
mod reader;
pub mod scenario;
mod shared;
mod writer;
