//! Explores appointed replication: every order of what can happen to a few replicas of one log, within bounds, or long random
//! orders that end with all faults healed.
//!
//! What runs are the replicas that ship ([`replication_appointed::Replica`]), each with a disk that does one thing after
//! another and loses what it has not done in a crash, messages that arrive in any order or never, controllers that may be
//! several at once, and a council that takes the first of two changes. What is checked is written apart from them: who has
//! committed which value, on which disks it is, and what a leader must have.
//!
//! ```sh
//! cargo run --release -p sim-appointed                    # explores; `--help` lists the bounds
//! cargo run --release -p sim-appointed -- walk 100000     # random orders
//! ```

mod action;
mod check;
pub mod controlled;
mod disk;
mod explore;
mod violation;
mod walk;
mod world;
pub mod worlds;

pub use action::Action;
pub use explore::{Explored, explore};
pub use violation::Violation;
pub use walk::walk;
pub use world::{Bounds, World};
