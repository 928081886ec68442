//! How fast a member that lags takes in the log. A member that comes back after seconds, before what it missed is in a
//! snapshot only, is sent it as fast as it answers; taken in as fast, it would have processors and disks for itself for a
//! while, and where others share them (or the leader's network) their clients would feel it.
//!
//! So it goes in steps, each a little longer than the one before: a short lag is made up gently, a long one is made up all
//! the same, whatever comes meanwhile. Nothing overtakes: as long as anything is held, what follows it is, too. What is
//! held is bounded by what a leader has under way to one member; what a peer sends beyond that is dropped.

use base::MonoTime;
use std::collections::VecDeque;

/// Entries by which a member lags that has caught up again.
const CLOSE_ENTRIES: u64 = 50;
/// From one step to the next.
const STEP_MS: u64 = 16;
/// Of the first step: 16 MiB a second.
const STEP_BYTES: usize = 256 << 10;
/// By which part of itself a step is longer than the one before: after two seconds it is ten times as long.
const GROWTH: usize = 50;

/// Messages that are held at the most, far more than a leader has under way, and ...
const HELD_MAX: usize = 1_024;
/// ... their bytes. What is dropped is sent again, as if it had been lost on the way.
const HELD_BYTES_MAX: usize = 256 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct AppendThrottle<T> {
    /// Each with its bytes.
    held: VecDeque<(T, usize)>,
    held_bytes: usize,
    lags: bool,
    step_bytes: usize,
    next_step: MonoTime,
}

impl<T> Default for AppendThrottle<T> {
    fn default() -> Self {
        Self { held: VecDeque::new(), held_bytes: 0, lags: false, step_bytes: 0, next_step: MonoTime::ZERO }
    }
}

impl<T> AppendThrottle<T> {
    /// When the next step is due.
    pub(crate) fn next_step(&self) -> Option<MonoTime> {
        (!self.held.is_empty()).then_some(self.next_step)
    }

    /// The leader's entries came while so many are missing. They wait for their step if this member lags, or others wait
    /// already; gives back what is to be taken in at once.
    pub(crate) fn hold_back(&mut self, what: T, bytes: usize, behind: u64, lag_entries: u64) -> Option<T> {
        self.lags = behind > if self.lags { CLOSE_ENTRIES } else { lag_entries };
        if !self.lags && self.held.is_empty() {
            return Some(what);
        }
        if self.held.len() < HELD_MAX && self.held_bytes < HELD_BYTES_MAX {
            self.held_bytes += bytes;
            self.held.push_back((what, bytes));
        }
        None
    }

    /// What is to be taken in now.
    pub(crate) fn step(&mut self, now: MonoTime) -> Vec<T> {
        let mut step = Vec::new();
        if self.held.is_empty() || now < self.next_step {
            return step;
        }
        let longer = self.step_bytes + self.step_bytes / GROWTH;
        let bytes = if self.lags { longer.max(STEP_BYTES) } else { usize::MAX };
        self.step_bytes = if self.lags { bytes } else { 0 };
        self.next_step = now.plus_ms(STEP_MS);
        let mut left = bytes;
        while left > 0
            && let Some((what, bytes)) = self.held.pop_front()
        {
            left = left.saturating_sub(bytes);
            self.held_bytes -= bytes;
            step.push(what);
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = 64 << 10;

    #[test]
    fn entries_of_a_member_that_keeps_up_wait_for_nothing() {
        let mut throttle = AppendThrottle::default();
        assert_eq!(throttle.hold_back(1, CHUNK, 1_000, 1_000), Some(1));
        assert_eq!((throttle.next_step(), throttle.step(MonoTime::of_ms(0)).len()), (None, 0));
    }

    #[test]
    fn steps_of_a_member_that_lags_grow_and_keep_the_order() {
        let mut throttle = AppendThrottle::default();
        for number in 0..1_000 {
            assert_eq!(throttle.hold_back(number, CHUNK, 2_000, 1_000), None);
        }
        assert_eq!(throttle.step(MonoTime::of_ms(5)), [0, 1, 2, 3]);
        assert!(throttle.step(MonoTime::of_ms(20)).is_empty(), "it is not due yet");
        assert_eq!(throttle.next_step(), Some(MonoTime::of_ms(21)));
        let steps: Vec<_> = (1..)
            .map_while(|turn| {
                Some(throttle.step(MonoTime::of_ms(5 + turn * 16))).filter(|step| !step.is_empty())
            })
            .collect();
        assert!(steps.len() < 120, "{} steps", steps.len());
        assert!(steps.iter().any(|step| step.len() > 20));
        assert!(steps.into_iter().flatten().eq(4..1_000));
    }

    #[test]
    fn held_messages_are_bounded() {
        let mut throttle = AppendThrottle::default();
        assert!((0..HELD_MAX * 2).all(|number| throttle.hold_back(number, 1, 2_000, 1_000).is_none()));
        assert_eq!(throttle.held.len(), HELD_MAX);
        let mut throttle = AppendThrottle::default();
        assert!((0..8).all(|number| throttle.hold_back(number, HELD_BYTES_MAX / 4, 2_000, 1_000).is_none()));
        assert_eq!(throttle.held.len(), 4);
    }

    #[test]
    fn held_messages_are_not_overtaken_and_all_come_once_nothing_is_missing() {
        let mut throttle = AppendThrottle::default();
        assert!((0..9).all(|number| throttle.hold_back(number, CHUNK, 2_000, 1_000).is_none()));
        assert_eq!(throttle.step(MonoTime::of_ms(0)).len(), 4);
        assert_eq!(throttle.hold_back(9, CHUNK, 60, 1_000), None, "it still lags");
        assert_eq!(throttle.hold_back(10, CHUNK, 10, 1_000), None);
        assert_eq!(throttle.step(MonoTime::of_ms(16)), [4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(throttle.hold_back(11, CHUNK, 10, 1_000), Some(11));
    }
}
