//! The benchmarks: Diwan beside a real Apache ZooKeeper and beside a bare floor, in one run, in turn.
//!
//! A *row* is one load; a *figure* is one number of it, measured once a repeat for each contestant. The median over the
//! repeats is compared with a bar. The figure to watch is the server's CPU time an operation: it survives a noisy
//! machine; latencies and rates inform. Every number in a report was measured in the run that printed it.
//!
//! Stands, meters, turns and phases are the framework's ([`crate::measure`]); here are the rows, their bars and their report.

pub mod floor;
pub mod options;
mod patient;
mod probe;
pub mod report;
mod scenario;
mod setting;

use std::fmt;
use std::io;

pub use options::Options;
pub use scenario::{ROWS, Row};
pub use setting::Bench;
pub use tools_lab_report::sheet::{Figure, Limit, Sheet, Spec, Who};

use tools_testbed::PeerError;

use crate::measure::StandError;

/// What Diwan is compared with.
const PEER: &str = "ZooKeeper";

/// Why a row could not be measured.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<PeerError> for Failure {
    fn from(error: PeerError) -> Self {
        Self(error.to_string())
    }
}

impl From<tools_testbed::Failure> for Failure {
    fn from(error: tools_testbed::Failure) -> Self {
        Self(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<StandError> for Failure {
    fn from(error: StandError) -> Self {
        Self(error.to_string())
    }
}
