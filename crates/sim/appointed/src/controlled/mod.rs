//! Real controllers ([`replication_controller::Controller`]) that appoint the leaders of a few partitions, and real nodes
//! ([`replication_node::Node`]) that have their copies, in random orders that end with all faults healed.
//!
//! Processes die with a part of what their disks have not done, connections break with and without notice, up to two controllers
//! act at once, die and start, messages come twice, late or never, and the configuration takes writes whose answers are lost or
//! that arrive long after their writer has died. People hand over, reassign, cancel and drain meanwhile. What is checked: the
//! rules of the other worlds for each partition, that the configuration has one content for each epoch, that no loss is accepted but by a person, that nobody leads without
//! it, and that after the end of the faults each partition has its leader and its replicas within a bounded time, after which the
//! controller rests.

mod check;
mod copy;
mod drive;
mod faults;
mod node;
mod packet;
mod replication;
mod store;
mod walk;
mod world;

pub use walk::{Figures, Walked, walk};
