//! What a run of the lab measured, as it lies in a folder: `run.json` says where, when, of what and by which command;
//! `points.jsonl` has a line for each point, written as soon as it is measured, so that a run that is broken off loses
//! nothing and can be gone on with.

mod point;
mod store;

pub use point::{Checked, Key, Point};
pub use store::{Failed, Header, Run, Skipped, StoreError};
