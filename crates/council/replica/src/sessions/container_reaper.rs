//! When containers and TTL nodes are looked over, and how many of them are removed.

use base::{MonoTime, Now};
use council_tree::Tree;

use crate::CoreConfig;

/// The pace of the reaper.
#[derive(Debug)]
pub(crate) struct ContainerReaper {
    interval_ms: u64,
    per_minute: u32,
    next_look: MonoTime,
}

impl ContainerReaper {
    pub(crate) const fn new(config: &CoreConfig, now: Now) -> Self {
        let (interval_ms, per_minute) = (config.reap_interval_ms, config.reaps_per_minute);
        Self { interval_ms, per_minute, next_look: now.mono().plus_ms(interval_ms) }
    }

    /// The nodes to be removed now; containers that never had a child after `never_used_ms`, 0 never.
    pub(crate) fn tick(&mut self, tree: &Tree, never_used_ms: i64, now: Now) -> Vec<String> {
        let Some(limit) = self.due(now.mono()) else { return Vec::new() };
        tree.reapable(now.wall, never_used_ms, limit)
    }

    /// When it should look next.
    pub(crate) const fn next_look(&self) -> Option<MonoTime> {
        if self.interval_ms == 0 { None } else { Some(self.next_look) }
    }

    /// Whether it is time to look, and for how many nodes at the most: the share of a minute's allowance that the
    /// interval is.
    fn due(&mut self, now: MonoTime) -> Option<usize> {
        if self.interval_ms == 0 || now < self.next_look {
            return None;
        }
        self.next_look = now.plus_ms(self.interval_ms);
        let allowance = u64::from(self.per_minute) * self.interval_ms / 60_000;
        Some(usize::try_from(allowance.max(1)).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaper_looks_once_an_interval_and_within_the_minutes_allowance() {
        let mut reaper =
            ContainerReaper { interval_ms: 6_000, per_minute: 100, next_look: MonoTime::of_ms(7_000) };
        assert_eq!(reaper.due(MonoTime::of_ms(6_999)), None);
        assert_eq!(reaper.due(MonoTime::of_ms(7_000)), Some(10));
        assert_eq!(reaper.due(MonoTime::of_ms(7_001)), None);
        let mut never = ContainerReaper { interval_ms: 0, per_minute: 100, next_look: MonoTime::ZERO };
        assert_eq!(never.due(MonoTime::of_ms(1 << 40)), None);
    }
}
