//! What the kernel says of all servers together, at an edge. Does not know what they do.

use std::io;
use std::time::Duration;

use super::{CpuTime, cpu_time, resident_bytes, written_bytes};

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
            sum.cpu += cpu_time(*pid).map(CpuTime::total).unwrap_or_default();
            sum.written += written_bytes(*pid).unwrap_or_default();
            sum.resident += resident_bytes(*pid).unwrap_or_default();
        }
        sum
    }

    /// As [`Reading::of`], of processes that must be there.
    ///
    /// # Errors
    /// One of them is gone.
    pub fn of_all(pids: &[u32]) -> io::Result<Self> {
        pids.iter().try_for_each(|pid| cpu_time(*pid).map(drop))?;
        Ok(Self::of(pids))
    }
}
