//! A rate over the last moments, and how long one must wait until it is below a bound.
//!
//! Samples of one window each are kept. The rate counts at least one window less than there may be samples, so that a single
//! burst at the beginning is not taken for a high rate.

use std::collections::VecDeque;

use base::MonoTime;

/// How a rate is sampled: `quota.window.num`, `quota.window.size.seconds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// How many samples are kept.
    pub count: u32,
    /// What one of them spans, milliseconds.
    pub size_ms: u64,
}

impl Default for Windows {
    fn default() -> Self {
        Self { count: 11, size_ms: 1_000 }
    }
}

impl Windows {
    /// What all samples span, milliseconds.
    #[must_use]
    pub const fn span_ms(self) -> u64 {
        self.count as u64 * self.size_ms
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct SampledRate {
    /// When each sample began, and its sum; the oldest first.
    samples: VecDeque<(MonoTime, f64)>,
}

impl SampledRate {
    /// Adds to the sum of this moment. A negative value takes back what was recorded.
    pub fn record(&mut self, value: f64, windows: Windows, now: MonoTime) {
        self.purge(windows, now);
        match self.samples.back_mut() {
            Some((began, sum)) if now.since(*began) < windows.size_ms => *sum += value,
            _ => self.samples.push_back((now, value)),
        }
        if self.samples.len() > windows.count as usize {
            self.samples.pop_front();
        }
    }

    /// How long to wait until the rate has come down to `bound` a second, milliseconds; 0 if it is not above it.
    pub fn excess_ms(&mut self, bound: f64, windows: Windows, now: MonoTime) -> u64 {
        self.purge(windows, now);
        let span_ms = self.span_ms(windows, now) as f64;
        let sum: f64 = self.samples.iter().map(|(_, sum)| sum).sum();
        let rate = sum * 1_000.0 / span_ms;
        // Not a number, or infinite, means that no wait is long enough: it is as long as all samples span.
        if rate <= bound { 0 } else { whole_ms((rate - bound) / bound * span_ms, windows) }
    }

    /// Whether nothing is left of what was recorded.
    pub fn is_idle(&mut self, windows: Windows, now: MonoTime) -> bool {
        self.purge(windows, now);
        self.samples.is_empty()
    }

    fn purge(&mut self, windows: Windows, now: MonoTime) {
        let is_old = |(began, _): &mut (MonoTime, f64)| now.since(*began) >= windows.span_ms();
        while self.samples.pop_front_if(is_old).is_some() {}
    }

    fn span_ms(&self, windows: Windows, now: MonoTime) -> u64 {
        let elapsed_ms = self.samples.front().map_or(0, |(began, _)| now.since(*began));
        let size_ms = windows.size_ms.max(1);
        let missing = u64::from(windows.count.saturating_sub(1)).saturating_sub(elapsed_ms / size_ms);
        (elapsed_ms + missing * size_ms).max(1)
    }
}

/// The longest wait, milliseconds: what is owed longer than that is forgiven.
const WAIT_MS_MAX: f64 = 3_600_000.0;

fn whole_ms(ms: f64, windows: Windows) -> u64 {
    if ms.is_finite() { ms.round().clamp(1.0, WAIT_MS_MAX) as u64 } else { windows.span_ms() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> MonoTime {
        MonoTime::of_ms(ms)
    }

    #[test]
    fn burst_is_spread_over_the_windows_that_were_not_there_yet() {
        let (mut rate, windows) = (SampledRate::default(), Windows::default());
        rate.record(9_000.0, windows, at(5));
        assert_eq!(rate.excess_ms(1_000.0, windows, at(5)), 0);
        // As a Kafka 4.3.1 does: 20,119 bytes at 1,000 a second.
        rate.record(11_119.0, windows, at(5));
        assert_eq!(rate.excess_ms(1_000.0, windows, at(5)), 10_119);
    }

    #[test]
    fn what_was_recorded_is_forgotten_after_all_windows() {
        let (mut rate, windows) = (SampledRate::default(), Windows { count: 3, size_ms: 100 });
        rate.record(1_000.0, windows, at(0));
        assert!(rate.excess_ms(1.0, windows, at(299)) > 0 && !rate.is_idle(windows, at(299)));
        assert!(rate.excess_ms(1.0, windows, at(300)) == 0 && rate.is_idle(windows, at(300)));
    }

    #[test]
    fn samples_are_bounded_and_what_is_taken_back_does_not_count() {
        let (mut rate, windows) = (SampledRate::default(), Windows::default());
        (0..1_000).for_each(|second| rate.record(10.0, windows, at(second * 1_000)));
        assert_eq!(rate.samples.len(), 11);
        assert_eq!(rate.excess_ms(11.0, windows, at(999_000)), 0);
        assert!(rate.excess_ms(9.0, windows, at(999_000)) > 0);
        rate.record(-110.0, windows, at(999_000));
        assert_eq!(rate.excess_ms(0.001, windows, at(999_000)), 0);
    }

    #[test]
    fn bound_of_nothing_gives_a_wait_that_ends() {
        let (mut rate, windows) = (SampledRate::default(), Windows::default());
        rate.record(f64::MAX, windows, at(0));
        assert_eq!(rate.excess_ms(0.0, windows, at(0)), 11_000);
        assert_eq!(rate.excess_ms(f64::NAN, windows, at(0)), 11_000);
        assert_eq!(rate.excess_ms(1e-300, windows, at(0)), 11_000);
    }
}
