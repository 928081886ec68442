//! What a load measured.

use std::time::Duration;

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

/// See the module.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Messages that were acknowledged, or received.
    pub messages: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Bytes of batches that were sent or received.
    pub bytes: u64,
    /// How long that took.
    pub elapsed: Duration,
    /// Microseconds of each request; of each message for [`deliver`](super::deliver).
    pub latency: Histogram<u64>,
    /// Processor time that the load's own threads spent, in user space and in the kernel.
    pub cpu: Duration,
    /// Messages that were acknowledged since the load began, before and after what was measured, too: as many must be there
    /// when [`recount`](super::recount) reads them. 0 of a load that only reads.
    pub total: u64,
}

impl Measured {
    pub(super) fn none() -> Self {
        Self {
            messages: 0,
            requests: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            latency: histogram(),
            cpu: Duration::ZERO,
            total: 0,
        }
    }

    /// So many latencies of that length.
    pub(super) fn note(&mut self, latency: Duration, count: u64) {
        // The histogram grows as it must; only one that has no memory for it refuses.
        let _ = self.latency.record_n(latency.as_micros() as u64, count);
    }

    /// Messages a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.messages as f64 / self.elapsed.as_secs_f64()
    }

    /// A percentile of the latency, in milliseconds.
    #[must_use]
    pub fn latency_ms(&self, percentile: f64) -> f64 {
        self.latency.value_at_percentile(percentile) as f64 / 1000.0
    }

    /// What a message cost the load's thread, in microseconds of processor time.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.messages as f64
    }
}

/// Microseconds up to an hour, to three digits.
fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits are allowed"));
    histogram.auto(true);
    histogram
}

/// Processor time of this thread.
pub(super) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
