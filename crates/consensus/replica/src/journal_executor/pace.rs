//! When the chunks of a snapshot are answered: no faster than a rate. Knows no snapshot and no disk.

use std::collections::VecDeque;

/// See the module.
#[derive(Debug)]
pub(super) struct Pace {
    bytes_per_second: u64,
    /// When the last chunk that was written is due.
    due_us: u64,
    /// Chunks that are not answered: when each is due, and its length.
    unanswered: VecDeque<(u64, u64)>,
}

impl Pace {
    pub(super) const fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second, due_us: 0, unanswered: VecDeque::new() }
    }

    /// A chunk was written.
    pub(super) fn written(&mut self, bytes: u64, hurry: bool, now_us: u64) {
        self.due_us = if hurry {
            now_us
        } else {
            self.due_us.max(now_us) + bytes.saturating_mul(1_000_000) / self.bytes_per_second.max(1)
        };
        self.unanswered.push_back((self.due_us, bytes));
    }

    /// The next chunk to be answered by now: its length.
    pub(super) fn answered(&mut self, now_us: u64) -> Option<u64> {
        self.unanswered.pop_front_if(|(due_us, _)| *due_us <= now_us).map(|(_, bytes)| bytes)
    }

    /// When the next chunk is due.
    pub(super) fn due_us(&self) -> Option<u64> {
        self.unanswered.front().map(|(due_us, _)| *due_us)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unanswered.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_answered_in_order_and_no_faster_than_the_rate() {
        let mut pace = Pace::new(1_000);
        pace.written(500, false, 10);
        pace.written(250, false, 20);
        assert_eq!((pace.answered(500_009), pace.due_us()), (None, Some(500_010)));
        assert_eq!((pace.answered(500_010), pace.answered(500_010)), (Some(500), None));
        assert_eq!((pace.answered(750_010), pace.due_us()), (Some(250), None));
    }

    #[test]
    fn time_in_which_nothing_was_written_is_not_made_up_for() {
        let mut pace = Pace::new(1_000);
        pace.written(500, false, 0);
        assert_eq!(pace.answered(500_000), Some(500));
        pace.written(500, false, 9_000_000);
        assert_eq!(pace.due_us(), Some(9_500_000));
    }

    #[test]
    fn chunk_in_a_hurry_is_answered_at_once_and_those_behind_it_count_from_there() {
        let mut pace = Pace::new(1_000);
        pace.written(500, true, 10);
        assert_eq!(pace.answered(10), Some(500));
        pace.written(1, false, 20);
        assert_eq!(pace.due_us(), Some(1_020));
        assert!(!pace.is_empty());
    }
}
