//! The rows, one file for each kind of load.

mod abuse;
mod closed;
mod disk;
mod growth;
mod idle;
mod memory;
mod mix;
mod snapshot;
mod start;
mod three;
mod watchers;

use super::{Bench, Failure, Limit, Sheet, Spec};

/// One load, and what is measured under it.
#[derive(Debug)]
pub struct Row {
    /// Its name on the command line.
    pub name: &'static str,
    /// What the load is.
    pub about: &'static str,
    /// What the floor is, if there is one.
    pub floor: Option<&'static str>,
    /// What is measured.
    pub figures: &'static [Spec],
    /// How many servers of each kind are one contestant.
    pub servers: usize,
    /// Whether it needs so much disk, time or rights that it must be asked for.
    pub large: bool,
    pub(super) run: fn(&Bench, &mut Sheet) -> Result<(), Failure>,
}

/// All rows, in the order of the report.
pub const ROWS: &[Row] = &[
    closed::READS_20X50,
    closed::READS_100X1,
    closed::WRITES_20X50,
    closed::WRITES_100X1,
    mix::MIX,
    memory::MEMORY,
    start::START,
    snapshot::SNAPSHOT,
    snapshot::SNAPSHOT_2GB,
    watchers::WATCHERS,
    idle::IDLE,
    growth::GROWTH,
    abuse::ABUSE,
    disk::DISK,
    closed::THREE_READS_20X50,
    closed::THREE_READS_100X1,
    closed::THREE_WRITES_20X50,
    closed::THREE_WRITES_100X1,
    mix::THREE_WRITES,
    three::KILLED,
    three::STOPPED,
    three::DISK_STALLED,
    three::HANDOVER,
    three::ROLLING,
    three::FOLLOWER_STOPPED,
    three::JOIN,
    three::JOIN_1GB,
];

/// Limits as the rows write them.
const fn at_most(most: f64) -> Limit {
    Limit::AtMost(most)
}

const fn part(of: u32) -> Limit {
    Limit::OfPeer(1.0 / of as f64)
}
