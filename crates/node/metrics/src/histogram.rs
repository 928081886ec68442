//! A distribution that many threads add to and any thread reads, without a lock.
//!
//! Values are whole numbers; the name says their unit. Buckets are an eighth of a power of two wide, so a quantile is
//! at most 12.5 % above the truth; count, sum, smallest and largest are exact.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets to a power of two, as a power of two.
const FINE_BITS: u32 = 3;
const FINE: usize = 1 << FINE_BITS;
/// Values up to 2^40 have buckets of their own (microseconds: twelve days); larger ones share the last.
const POWERS: usize = 40;
const BUCKETS: usize = POWERS * FINE;

/// See the module.
pub struct Histogram {
    buckets: Box<[AtomicU64]>,
    count: AtomicU64,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            count: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            min: AtomicU64::new(u64::MAX),
            max: AtomicU64::new(0),
        }
    }
}

impl Histogram {
    /// Adds one value.
    pub fn record(&self, value: u64) {
        self.record_many(value, 1);
    }

    /// Adds the same value `times` over.
    pub fn record_many(&self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        if let Some(bucket) = self.buckets.get(bucket_of(value)) {
            bucket.fetch_add(times, Relaxed);
        }
        self.count.fetch_add(times, Relaxed);
        self.sum.fetch_add(value.wrapping_mul(times), Relaxed);
        if value < self.min.load(Relaxed) {
            self.min.fetch_min(value, Relaxed);
        }
        if value > self.max.load(Relaxed) {
            self.max.fetch_max(value, Relaxed);
        }
    }

    /// What it holds now.
    pub fn snapshot(&self) -> Distribution {
        let buckets: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
        let count = buckets.iter().sum();
        Distribution {
            count,
            sum: self.sum.load(Relaxed),
            min: if count == 0 { 0 } else { self.min.load(Relaxed) },
            max: self.max.load(Relaxed),
            buckets,
        }
    }
}

/// A distribution at one moment, or several of them added up.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The smallest; 0 if there is none.
    pub min: u64,
    /// The largest.
    pub max: u64,
    buckets: Vec<u64>,
}

impl Distribution {
    /// Adds another one in.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.buckets.resize(BUCKETS, 0);
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }

    /// A distribution counted elsewhere: how often each value, and what is known exactly.
    pub fn of_counts(counts: impl Iterator<Item = (u64, u64)>, sum: u64, min: u64, max: u64) -> Self {
        let mut buckets = vec![0; BUCKETS];
        let mut all = 0;
        for (value, count) in counts {
            all += count;
            if let Some(bucket) = buckets.get_mut(bucket_of(value)) {
                *bucket += count;
            }
        }
        Self { count: all, sum, min, max, buckets }
    }

    /// The same in larger units.
    pub fn scaled(&self, unit: u64) -> Self {
        let counts =
            self.buckets.iter().enumerate().map(|(index, count)| (upper_bound(index) / unit, *count));
        Self::of_counts(counts, self.sum / unit, self.min / unit, self.max / unit)
    }

    /// The mean, 0 when there is nothing.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The value that the share `quantile` of all values does not exceed; 0 when there is nothing.
    pub fn quantile(&self, quantile: f64) -> u64 {
        let rank = (quantile * self.count as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            below += count;
            if below >= rank {
                return upper_bound(index).min(self.max).max(self.min);
            }
        }
        self.max
    }

    /// How many values are below 2^`power`.
    pub fn below_power(&self, power: u32) -> u64 {
        self.buckets.iter().take(bucket_of(1 << power)).sum()
    }
}

/// The bucket of a value: values below 8 have one each, then 8 to a power of two.
fn bucket_of(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    if bits <= FINE_BITS {
        return value as usize;
    }
    let shift = bits - FINE_BITS - 1;
    let index = ((shift as usize + 1) << FINE_BITS) + ((value >> shift) as usize & (FINE - 1));
    index.min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn upper_bound(index: usize) -> u64 {
    if index < FINE {
        return index as u64;
    }
    let shift = (index >> FINE_BITS) - 1;
    ((((FINE + (index & (FINE - 1))) as u64) + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_its_bucket_and_the_bucket_is_narrow() {
        for value in (0..4000).chain((0..39).map(|power| (1 << power) + 1)) {
            let index = bucket_of(value);
            assert!(value <= upper_bound(index), "{value} in {index}");
            assert!(index == 0 || value > upper_bound(index - 1), "{value} in {index}");
            assert!(upper_bound(index) <= value + value / 8, "{value} in {index}");
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_and_sums_of_several() {
        let (low, high) = (Histogram::default(), Histogram::default());
        for value in 1..=50 {
            low.record(value);
            high.record(50 + value);
        }
        let mut both = low.snapshot();
        both.add(&high.snapshot());
        assert_eq!((both.count, both.sum, both.min, both.max), (100, 5050, 1, 100));
        assert!((50..=56).contains(&both.quantile(0.5)), "{}", both.quantile(0.5));
        assert!((99..=100).contains(&both.quantile(0.99)), "{}", both.quantile(0.99));
        assert_eq!(both.below_power(5), 31);
        assert_eq!(Histogram::default().snapshot().quantile(0.5), 0);
    }
}
