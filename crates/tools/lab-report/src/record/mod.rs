//! What a run of the lab measured, as it lies in a folder: `run.json` says where, when, of what and by which command;
//! `points.jsonl` has a line for each point, written as soon as it is measured, so that an interrupted run loses
//! nothing and can be continued.

mod point;
mod store;

pub use point::{Checked, Key, Point};
pub use store::{Failed, Header, Run, Skipped, StoreError};
