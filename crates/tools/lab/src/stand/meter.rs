//! What the kernel says of all servers together, at an edge. Knows not what they do.

use std::time::Duration;

use crate::peer::process;

/// What processes have used since they started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Processor time, in user space and in the kernel.
    pub cpu: Duration,
    /// Bytes that went to disks.
    pub written: u64,
    /// Resident memory, bytes, now.
    pub resident: u64,
}

impl Reading {
    /// Reads the meters of these processes; one that is gone counts nothing.
    #[must_use]
    pub fn of(pids: &[u32]) -> Self {
        let mut sum = Self::default();
        for pid in pids {
            sum.cpu += process::cpu_time(*pid).map(process::CpuTime::total).unwrap_or_default();
            sum.written += process::written_bytes(*pid).unwrap_or_default();
            sum.resident += process::resident_bytes(*pid).unwrap_or_default();
        }
        sum
    }
}
