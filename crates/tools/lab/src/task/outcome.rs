//! What a task saw.

use std::time::Duration;

use serde::Deserialize;
use tools_lab_report::record::Checked;

use crate::measure::{Phase, histogram};

/// How many errors are kept as text.
pub(super) const TOLD_MAX: usize = 5;

/// What was seen, all phases together.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What was measured, in order.
    pub phases: Vec<Phase>,
    /// What was checked.
    pub checked: Checked,
    /// What was wrong.
    pub wrong: Vec<String>,
    /// Requests whose answers were lost, and that were sent again.
    pub lost: u64,
    /// Hundredths of a second, at faults of the servers.
    pub timeline: Vec<Slot>,
}

/// What was answered within 10 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    /// When it began, milliseconds since measuring did.
    pub at_ms: f64,
    /// Requests.
    pub answered: f64,
    /// The longest that one of them took since it was due, microseconds.
    pub longest_us: f64,
}

impl Outcome {
    pub(super) fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.wrong.len() < TOLD_MAX {
            self.wrong.push(what());
        }
    }
}

/// As drivers that are programs of their own write it.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    #[serde(default)]
    phases: Option<Vec<WrittenPhase>>,
    reads: u64,
    writes: u64,
    events: u64,
    barriers: u64,
    wrong: Option<Vec<String>>,
    lost: u64,
    timeline: Option<Vec<[f64; 3]>>,
}

#[derive(Debug, Deserialize)]
struct WrittenPhase {
    name: String,
    operations: u64,
    errors: u64,
    elapsed_s: f64,
    latency_us: Option<Vec<(u64, u64)>>,
}

impl From<Written> for Outcome {
    fn from(written: Written) -> Self {
        let phase = |phase: WrittenPhase| {
            let mut latency = histogram();
            for (us, count) in phase.latency_us.unwrap_or_default() {
                latency.saturating_record_n(us.max(1), count);
            }
            let elapsed = Duration::from_secs_f64(phase.elapsed_s.max(0.0));
            Phase { name: phase.name, operations: phase.operations, errors: phase.errors, elapsed, latency }
        };
        let slot = |[at_ms, answered, longest_us]: [f64; 3]| Slot { at_ms, answered, longest_us };
        let Written { reads, writes, events, barriers, lost, .. } = written;
        Self {
            phases: written.phases.unwrap_or_default().into_iter().map(phase).collect(),
            checked: Checked { reads, writes, events, barriers },
            wrong: written.wrong.unwrap_or_default(),
            lost,
            timeline: written.timeline.unwrap_or_default().into_iter().map(slot).collect(),
        }
    }
}
