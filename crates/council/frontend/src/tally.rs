//! How large things were: counts by powers of two, with count, sum and extremes exact. Knows no unit.

/// Powers of two told apart; everything beyond shares the last place.
const POWERS: usize = 32;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// `buckets[i]` counts what was less than `2^i` and not less than half of that.
    pub buckets: [u64; POWERS],
    /// How many there were.
    pub count: u64,
    /// All together.
    pub sum: u64,
    /// The smallest; 0 when there was none.
    pub min: u64,
    /// The largest.
    pub max: u64,
}

impl Tally {
    /// Adds one value.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Adds the same value `times` over.
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let bucket = (u64::BITS - value.leading_zeros()) as usize;
        if let Some(count) = self.buckets.get_mut(bucket.min(POWERS - 1)) {
            *count += times;
        }
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += times;
        self.sum = self.sum.wrapping_add(value.wrapping_mul(times));
    }

    /// Adds another one's counts.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_in_their_buckets() {
        let mut tally = Tally::default();
        for value in [0, 1, 1000, u64::MAX / 4] {
            tally.record(value);
        }
        assert_eq!((tally.buckets[0], tally.buckets[1], tally.buckets[10]), (1, 1, 1));
        assert_eq!((tally.buckets[31], tally.count, tally.min), (1, 4, 0));
    }

    #[test]
    fn extremes_are_those_of_both() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        one.record_many(5, 2);
        other.record(3);
        one.add(&other);
        one.add(&Tally::default());
        assert_eq!((one.count, one.sum, one.min, one.max), (3, 13, 3, 5));
    }
}
