//! From what a broker counts to how fast that grows: by partition, as a mean over some windows of time, and what of it is news to the
//! controller.
//!
//! # Invariants
//! - A rate is of windows in which the broker led the partition from their begin to their end.
//! - What is told is what the controller has, but for changes of less than an eighth.
//! - Nothing is remembered of a partition that is not led here.

use std::collections::BTreeMap;

/// What was counted of a partition, since any moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that producers have written.
    pub bytes_in: u64,
    /// Bytes that consumers have read.
    pub bytes_out: u64,
    /// Batches of producers, and reads of consumers that gave something.
    pub requests: u64,
    /// Bytes that it keeps now.
    pub stored_bytes: u64,
}

/// How fast it grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Bytes a second that producers write.
    pub write_bytes_per_s: u64,
    /// Bytes a second that consumers read.
    pub read_bytes_per_s: u64,
    /// Requests a second.
    pub requests_per_s: u64,
    /// Bytes that each replica keeps.
    pub stored_bytes: u64,
}

/// A newer window counts as one of so many.
const WINDOWS_OF_MEAN: u64 = 4;
/// What changes by less than one in so many is no news.
const NEWS_PART: u64 = 8;
/// Nor what changes by less than this, whatever it was.
const RATE_NEWS_MIN: u64 = 1_024;
const REQUESTS_NEWS_MIN: u64 = 16;
const STORED_NEWS_MIN: u64 = 1 << 20;

/// See the module. `K` names a partition.
#[derive(Clone, Debug)]
pub struct Meter<K> {
    led: BTreeMap<K, Metered>,
    window_began_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Metered {
    counted: Counters,
    /// Nothing before the first whole window.
    rates: Option<Rates>,
    told: Option<Rates>,
}

impl<K: Ord + Copy> Default for Meter<K> {
    fn default() -> Self {
        Self { led: BTreeMap::new(), window_began_ms: None }
    }
}

impl<K: Ord + Copy> Meter<K> {
    /// A window ends: this was counted of all partitions that are led here.
    pub fn window_ends(&mut self, now_ms: u64, led: impl IntoIterator<Item = (K, Counters)>) {
        let long_ms = self.window_began_ms.map(|began| now_ms.saturating_sub(began).max(1));
        let before = std::mem::take(&mut self.led);
        let next = |(key, counted): (K, Counters)| {
            let known = before.get(&key);
            let measured = known.zip(long_ms).map(|(known, long_ms)| known.measured(&counted, long_ms));
            (key, Metered { counted, rates: measured, told: known.and_then(|known| known.told) })
        };
        self.led = led.into_iter().map(next).collect();
        self.window_began_ms = Some(now_ms);
    }

    /// Nothing was told yet: whoever is told next knows nothing.
    pub fn tell_anew(&mut self) {
        self.led.values_mut().for_each(|of| of.told = None);
    }

    /// Takes what is to be told, and counts as told then.
    pub fn take_news(&mut self) -> Vec<(K, Rates)> {
        let news = |(key, of): (&K, &mut Metered)| {
            // Another broker may have told something of it before, so the first rates are news even if they are zero.
            let rates = of.rates.filter(|rates| of.told.is_none_or(|told| is_news(rates, &told)))?;
            of.told = Some(rates);
            Some((*key, rates))
        };
        self.led.iter_mut().filter_map(news).collect()
    }
}

impl Metered {
    fn measured(&self, now: &Counters, long_ms: u64) -> Rates {
        let rate = |then: u64, now: u64| now.saturating_sub(then).saturating_mul(1_000) / long_ms;
        let mean = |of: fn(&Rates) -> u64, new: u64| match &self.rates {
            Some(rates) => {
                (of(rates).saturating_mul(WINDOWS_OF_MEAN - 1).saturating_add(new)) / WINDOWS_OF_MEAN
            }
            None => new,
        };
        let then = &self.counted;
        Rates {
            write_bytes_per_s: mean(|of| of.write_bytes_per_s, rate(then.bytes_in, now.bytes_in)),
            read_bytes_per_s: mean(|of| of.read_bytes_per_s, rate(then.bytes_out, now.bytes_out)),
            requests_per_s: mean(|of| of.requests_per_s, rate(then.requests, now.requests)),
            stored_bytes: now.stored_bytes,
        }
    }
}

fn is_news(now: &Rates, told: &Rates) -> bool {
    let differs = |now: u64, told: u64, min: u64| {
        let by = now.abs_diff(told);
        by >= min && by >= told / NEWS_PART
    };
    differs(now.write_bytes_per_s, told.write_bytes_per_s, RATE_NEWS_MIN)
        || differs(now.read_bytes_per_s, told.read_bytes_per_s, RATE_NEWS_MIN)
        || differs(now.requests_per_s, told.requests_per_s, REQUESTS_NEWS_MIN)
        || differs(now.stored_bytes, told.stored_bytes, STORED_NEWS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(bytes_in: u64) -> Counters {
        Counters { bytes_in, ..Counters::default() }
    }

    fn write_rate(meter: &mut Meter<u8>) -> Option<u64> {
        meter.take_news().first().map(|(_, rates)| rates.write_bytes_per_s)
    }

    #[test]
    fn rate_is_of_whole_windows_and_a_mean_of_some() {
        let mut meter = Meter::default();
        meter.window_ends(5_000, [(1_u8, wrote(700_000))]);
        assert_eq!(write_rate(&mut meter), None, "it is not known how long that took");
        meter.window_ends(15_000, [(1, wrote(1_700_000))]);
        assert_eq!(write_rate(&mut meter), Some(100_000));
        meter.window_ends(25_000, [(1, wrote(1_700_000))]);
        assert_eq!(write_rate(&mut meter), Some(75_000));
        meter.window_ends(35_000, []);
        assert!(meter.led.is_empty());
        // It is led here again. What was counted meanwhile counts for nothing.
        meter.window_ends(45_000, [(1, wrote(9_000_000))]);
        assert_eq!(write_rate(&mut meter), None);
        meter.window_ends(55_000, [(1, wrote(9_100_000))]);
        assert_eq!(write_rate(&mut meter), Some(10_000));
    }

    #[test]
    fn only_what_changes_by_an_eighth_is_told_and_what_stops_once() {
        let mut meter = Meter::default();
        let mut bytes = 0;
        let mut window = |meter: &mut Meter<u8>, second: u64, more: u64| {
            bytes += more;
            meter.window_ends(second * 1_000, [(1_u8, wrote(bytes)), (2, wrote(0))]);
            meter.take_news().len()
        };
        window(&mut meter, 0, 0);
        assert_eq!(window(&mut meter, 1, 100_000), 2, "another one may have told of the idle one");
        assert_eq!((2..20).map(|second| window(&mut meter, second, 105_000)).sum::<usize>(), 0);
        assert_eq!(window(&mut meter, 20, 500_000), 1);
        let told: usize = (21..100).map(|second| window(&mut meter, second, 0)).sum();
        assert!((5..30).contains(&told), "{told}");
        let last = meter.led[&1];
        assert!(last.told.is_some_and(|told| told.write_bytes_per_s < RATE_NEWS_MIN + 200), "{last:?}");
    }

    #[test]
    fn who_knows_nothing_is_told_all() {
        let mut meter = Meter::default();
        for second in 0..3 {
            meter.window_ends(second * 1_000, (0..9_u8).map(|key| (key, wrote(second * 10_000))));
        }
        assert_eq!((meter.take_news().len(), meter.take_news().len()), (9, 0));
        meter.tell_anew();
        assert_eq!(meter.take_news().len(), 9);
    }
}
