//! What the simulators of consensus groups share: a member's journal driven step by step, and what a member's process does
//! with its disk when it starts. Knows no state machine, no load and no rule of what is right.
//!
//! # Not done, and what that costs
//! Machines, their processes and the faults that strike them are written once for each simulator: each has a core of another
//! type.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

pub mod aside;
mod config;
mod error;
mod journal_driver;
pub mod storage;

pub use config::{raft_entry, small_journal};
pub use error::NodeError;
pub use journal_driver::JournalDriver;
