//! When an imbalance has lasted long enough to act: in three of the last four windows of time. A load that is
//! high in one window and low in the next moves nothing.

use core::time::Duration;

/// How many windows are remembered.
const WINDOWS: usize = 4;

/// In how many of them the load must have been out of balance.
const WINDOWS_OUT_MIN: usize = 3;

/// See the module. The owner calls [`Trigger::observe`] at the end of each window, of 10 s for example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// Newest first.
    windows: [bool; WINDOWS],
    /// When the imbalance began.
    since_ms: Option<u64>,
}

impl Trigger {
    /// Nothing was out of balance yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A window has ended, and during it the load was out of balance or not. `window_ms` is its length.
    pub fn observe(&mut self, now_ms: u64, window_ms: u64, out_of_balance: bool) {
        self.windows.rotate_right(1);
        self.windows[0] = out_of_balance;
        if out_of_balance && self.since_ms.is_none() {
            self.since_ms = Some(now_ms.saturating_sub(window_ms));
        }
        if self.windows.iter().all(|out| !out) {
            self.since_ms = None;
        }
    }

    /// For how long the load has been out of balance: zero if it was not in enough windows. This is
    /// [`Cluster::imbalance_lasted`](crate::Cluster::imbalance_lasted).
    #[must_use]
    pub fn lasted(&self, now_ms: u64) -> Duration {
        let out = self.windows.iter().filter(|out| **out).count();
        let since = self.since_ms.filter(|_| out >= WINDOWS_OUT_MIN);
        since.map_or(Duration::ZERO, |since| Duration::from_millis(now_ms.saturating_sub(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lasted(windows: &[bool]) -> Duration {
        let (mut trigger, mut now_ms) = (Trigger::new(), 0);
        for out in windows {
            now_ms += 10_000;
            trigger.observe(now_ms, 10_000, *out);
        }
        trigger.lasted(now_ms)
    }

    #[test]
    fn imbalance_counts_after_three_windows_and_from_its_begin() {
        assert_eq!(lasted(&[true, true]), Duration::ZERO);
        assert_eq!(lasted(&[false, true, true, true]), Duration::from_secs(30));
        assert_eq!(lasted(&[true, true, false, true]), Duration::from_secs(40));
    }

    #[test]
    fn load_that_flips_is_no_imbalance() {
        assert_eq!(lasted(&[true, false, true, false, true, false, true]), Duration::ZERO);
    }

    #[test]
    fn four_quiet_windows_forget_an_imbalance() {
        let windows = [true, true, true, false, false, false, false, true, true, true];
        assert_eq!(lasted(&windows), Duration::from_secs(30));
    }
}
