//! What a machine holds: how many servers, with how much memory each. What it does not hold is made smaller or left out,
//! and the report says so. Knows no experiment.

use std::thread;

use serde_json::{Map, Value};

/// Servers that share a processor before they measure one another.
const SERVERS_PER_CORE: usize = 4;
/// As many run everywhere, however slowly: fewer would leave out half of the experiments.
const SERVERS_LEAST: usize = 5;
/// What a server takes beside its heap, MiB.
const BESIDE_HEAP_MB: u64 = 256;
/// The smallest heap with which a JVM serves.
const HEAP_LEAST_MB: u64 = 512;
/// What a node takes in memory beside its value, bytes: its path, its record, and what is garbage before it is collected.
const NODE_BYTES: u64 = 700;

/// The machine on which servers and load run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    cores: usize,
    /// Of which servers may take three quarters.
    memory_mb: u64,
}

impl Capacity {
    /// A machine that holds everything.
    pub const UNBOUNDED: Self = Self { cores: usize::MAX, memory_mb: u64::MAX };

    /// So many processors, and so much memory.
    #[must_use]
    pub const fn of(cores: usize, memory_mb: u64) -> Self {
        Self { cores, memory_mb }
    }

    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kib = total.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        Self {
            cores: thread::available_parallelism().map_or(1, usize::from),
            memory_mb: kib.map_or(u64::MAX, |kib| kib / 1024),
        }
    }

    /// The machine of a run, as it was written down.
    #[must_use]
    pub fn recorded(machine: &Map<String, Value>) -> Self {
        let cores = machine.get("cores").and_then(Value::as_u64);
        let gib = machine.get("memory_gib").and_then(Value::as_f64);
        Self {
            cores: cores.map_or(usize::MAX, |cores| cores as usize),
            memory_mb: gib.map_or(u64::MAX, |gib| (gib * 1024.0) as u64),
        }
    }

    /// How many servers it holds.
    #[must_use]
    pub fn servers(&self) -> usize {
        let by_memory = self.for_servers_mb() / (HEAP_LEAST_MB + BESIDE_HEAP_MB);
        let by_cores = self.cores.saturating_mul(SERVERS_PER_CORE).max(SERVERS_LEAST);
        by_cores.min(usize::try_from(by_memory).unwrap_or(usize::MAX)).max(1)
    }

    /// The heap that each of so many JVMs may have, MiB.
    #[must_use]
    pub fn heap_mb(&self, servers: usize) -> u32 {
        let each = (self.for_servers_mb() / servers as u64).saturating_sub(BESIDE_HEAP_MB);
        u32::try_from(each.max(HEAP_LEAST_MB)).unwrap_or(u32::MAX)
    }

    /// How many nodes with values of so many bytes each of so many servers may have.
    #[must_use]
    pub fn nodes(&self, servers: usize, value_bytes: usize) -> u64 {
        // Half of a heap: the rest is for what is under way, and for snapshots.
        let bytes = (self.for_servers_mb() / servers as u64 / 2).saturating_mul(1 << 20);
        bytes / (value_bytes as u64 + NODE_BYTES)
    }

    const fn for_servers_mb(&self) -> u64 {
        self.memory_mb / 4 * 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_need_memory_and_a_part_of_a_processor() {
        assert_eq!(Capacity::of(2, 24_000).servers(), 8);
        assert_eq!(Capacity::of(64, 24_000).servers(), 23);
        assert_eq!(Capacity::of(1, 24_000).servers(), 5);
        assert_eq!(Capacity::of(8, 4000).servers(), 3);
        assert_eq!(Capacity::of(2, 24_000).heap_mb(3), 5744);
    }

    #[test]
    fn a_recorded_machine_holds_what_it_held() {
        let machine = serde_json::json!({ "cores": 2, "memory_gib": 23.5 });
        let Value::Object(machine) = machine else { unreachable!("it was written as one") };
        assert_eq!(Capacity::recorded(&machine), Capacity::of(2, 24_064));
        assert_eq!(Capacity::recorded(&Map::new()), Capacity::UNBOUNDED);
    }
}
