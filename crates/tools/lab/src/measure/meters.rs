//! What the kernel reports of servers and of this program, at the edges of phases.

use std::collections::BTreeMap;
use std::time::Duration;

use tools_testbed::meter::{CpuTime, Edge, Reading, cpu_time};

/// What was used between the edges of a phase.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Processor time of all servers.
    pub cpu: Duration,
    /// Processor time of this program.
    pub load_cpu: Duration,
    /// Bytes that servers wrote to disks.
    pub written: u64,
    /// The most resident memory of all servers at an end, bytes.
    pub resident: u64,
}

/// System calls of all servers, and what they were made for.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallsOf {
    /// How many.
    pub calls: u64,
    /// For how many operations.
    pub operations: u64,
}

/// The meters of servers, read phase by phase.
#[derive(Debug, Default)]
pub struct Meters {
    begun: (Reading, Duration),
    spent: BTreeMap<String, Spent>,
    calls: BTreeMap<String, CallsOf>,
}

impl Meters {
    /// An edge of a phase, of which there may be several of one name, and what servers have used until then.
    pub fn edge(&mut self, edge: Edge, phase: &str, reading: Reading) {
        let own = cpu_time(std::process::id()).map(CpuTime::total).unwrap_or_default();
        if edge == Edge::Begin {
            self.begun = (reading, own);
            return;
        }
        let spent = self.spent.entry(phase.to_owned()).or_default();
        let (before, own_before) = self.begun;
        spent.cpu += reading.cpu.saturating_sub(before.cpu);
        spent.load_cpu += own.saturating_sub(own_before);
        spent.written += reading.written.saturating_sub(before.written);
        spent.resident = spent.resident.max(reading.resident);
    }

    /// System calls, counted in a turn of their own.
    pub fn count(&mut self, calls: BTreeMap<String, CallsOf>) {
        self.calls = calls;
    }

    /// What was used in phases of these names, together.
    pub fn spent<'n>(&self, phases: impl Iterator<Item = &'n str>) -> Spent {
        phases.filter_map(|phase| self.spent.get(phase)).fold(Spent::default(), |sum, one| Spent {
            cpu: sum.cpu + one.cpu,
            load_cpu: sum.load_cpu + one.load_cpu,
            written: sum.written + one.written,
            resident: sum.resident.max(one.resident),
        })
    }

    /// System calls in phases of these names, together.
    pub fn calls<'n>(&self, phases: impl Iterator<Item = &'n str>) -> CallsOf {
        phases.filter_map(|phase| self.calls.get(phase)).fold(CallsOf::default(), |sum, one| CallsOf {
            calls: sum.calls + one.calls,
            operations: sum.operations + one.operations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spent_is_what_lies_between_edges_of_one_name_together() {
        let reading = |ms, resident| Reading { cpu: Duration::from_millis(ms), written: ms, resident };
        let mut meters = Meters::default();
        for (phase, from, to) in [("a", 0, 3), ("b", 3, 10), ("a", 10, 14)] {
            meters.edge(Edge::Begin, phase, reading(from, 1));
            meters.edge(Edge::End, phase, reading(to, to));
        }
        let spent = |phases: &[&str]| meters.spent(phases.iter().copied());
        assert_eq!((spent(&["a"]).cpu, spent(&["a"]).resident), (Duration::from_millis(7), 14));
        assert_eq!(spent(&["a", "b"]).written, 14);
    }
}
