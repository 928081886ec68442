//! When containers and TTL nodes are looked over, and how many of them are removed.

/// The pace of the reaper.
#[derive(Debug)]
pub(crate) struct Reaper {
    interval_ms: u64,
    per_minute: u32,
    next_ms: u64,
}

impl Reaper {
    pub(crate) const fn new(interval_ms: u64, per_minute: u32, now_ms: u64) -> Self {
        Self { interval_ms, per_minute, next_ms: now_ms + interval_ms }
    }

    /// When it should look next.
    pub(crate) const fn next_ms(&self) -> Option<u64> {
        if self.interval_ms == 0 { None } else { Some(self.next_ms) }
    }

    /// Whether it is time to look, and for how many nodes at the most: the share of a minute's allowance that the
    /// interval is.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<usize> {
        if self.interval_ms == 0 || now_ms < self.next_ms {
            return None;
        }
        self.next_ms = now_ms + self.interval_ms;
        let allowance = u64::from(self.per_minute) * self.interval_ms / 60_000;
        Some(usize::try_from(allowance.max(1)).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_once_an_interval_and_within_the_minutes_allowance() {
        let mut reaper = Reaper::new(6_000, 100, 1_000);
        assert_eq!(reaper.due(6_999), None);
        assert_eq!(reaper.due(7_000), Some(10));
        assert_eq!(reaper.due(7_001), None);
        assert_eq!(Reaper::new(0, 100, 0).due(1 << 40), None);
    }
}
