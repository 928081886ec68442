//! What was seen between two edges.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The percentiles that both the rows and the experiments report.
pub const PERCENTILES: [(&str, f64); 3] = [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)];

/// One thing that was measured.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What.
    pub name: String,
    /// Requests, events or passages that went well.
    pub operations: u64,
    /// Requests that did not.
    pub errors: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Microseconds of each.
    pub latency: Histogram<u64>,
}

impl Phase {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            operations: 0,
            errors: 0,
            elapsed: Duration::ZERO,
            latency: histogram(),
        }
    }

    /// One more that went well.
    pub fn record(&mut self, took: Duration) {
        self.operations += 1;
        self.latency.saturating_record((took.as_micros() as u64).max(1));
    }

    /// Several phases as one; nothing of none.
    #[must_use]
    pub fn sum(phases: &[&Self]) -> Option<Self> {
        let (first, rest) = phases.split_first()?;
        let mut sum = Self::clone(first);
        for phase in rest {
            sum.operations += phase.operations;
            sum.errors += phase.errors;
            sum.elapsed += phase.elapsed;
            // Of the same bounds, as all are.
            sum.latency.add(&phase.latency).unwrap_or_default();
        }
        Some(sum)
    }

    /// Operations a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }

    /// A percentile of the latency, milliseconds.
    #[must_use]
    pub fn latency_ms(&self, percentile: f64) -> f64 {
        milliseconds(&self.latency, percentile)
    }

    /// A part of something for each operation.
    #[must_use]
    pub fn each(&self, value: f64) -> f64 {
        value / self.operations as f64
    }
}

/// Latencies of 1 us to ten minutes, to a thousandth.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000, 3).expect("the bounds are fixed and valid")
}

/// A percentile of microseconds, in milliseconds.
pub(crate) fn milliseconds(latency: &Histogram<u64>, percentile: f64) -> f64 {
    latency.value_at_percentile(percentile) as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_add_up_to_one() {
        let phase = |took: &[u64]| {
            let mut phase = Phase::new("p");
            took.iter().for_each(|took| phase.record(Duration::from_millis(*took)));
            phase.elapsed = Duration::from_secs(1);
            phase
        };
        let sum = Phase::sum(&[&phase(&[1, 2]), &phase(&[3, 4])]).expect("two phases");
        assert_eq!((sum.operations, sum.per_second()), (4, 2.0));
        assert!((sum.latency_ms(50.0) - 2.0).abs() < 0.01 && (sum.latency_ms(100.0) - 4.0).abs() < 0.01);
        assert!(Phase::sum(&[]).is_none());
    }
}
