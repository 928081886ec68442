//! One point of one experiment: what was varied, which system was measured, and every figure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which point it is. Two points of one key are repetitions of each other if that differs, else one of them is too many.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The experiment, as `Z1`.
    pub experiment: String,
    /// The system, as `diwan`.
    pub system: String,
    /// The line of the figure that it is on, as `3 servers`.
    pub series: String,
    /// Where on that line, in the experiment's unit; in text, so that equal places are equal.
    pub at: String,
    /// Counted from 1.
    pub repetition: u32,
}

impl Key {
    /// Where on its line, as a number.
    #[must_use]
    pub fn x(&self) -> Option<f64> {
        self.at.parse().ok()
    }
}

/// What was checked of the work while it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Reads that were compared with what was written.
    pub reads: u64,
    /// Acknowledged writes that were found again at the end.
    pub writes: u64,
    /// Watch events that were owed and came.
    pub events: u64,
    /// Barriers that an independent reader saw complete.
    pub barriers: u64,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Which.
    #[serde(flatten)]
    pub key: Key,
    /// Each figure by its name and unit, as `p99 (ms)`.
    pub figures: BTreeMap<String, f64>,
    /// Curves beside the figures, as a distribution or a timeline: pairs of x and y by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, Vec<(f64, f64)>>,
    /// What was checked.
    #[serde(default)]
    pub checked: Checked,
}
