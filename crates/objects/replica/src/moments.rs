//! When positions were reached: a member remembers one of them for each second in which commands were applied. It is this
//! member's own, and in no snapshot: of what it did not apply itself it knows no time.

use std::collections::VecDeque;

/// A time is right to so many milliseconds, and never too late.
const GRAIN_MS: i64 = 1_000;
/// How many are remembered: more than an hour of them, which is how long calls wait at the most.
const MOMENTS_MAX: usize = 4_096;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// Positions and their stamps. Both rise.
    kept: VecDeque<(u64, i64)>,
}

impl Moments {
    /// A command with that position was applied.
    pub(crate) fn note(&mut self, position: u64, stamp_ms: i64) {
        if self.kept.back().is_some_and(|(_, last_ms)| stamp_ms < last_ms + GRAIN_MS) {
            return;
        }
        if self.kept.len() >= MOMENTS_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((position, stamp_ms));
    }

    /// When a position was reached that has been reached, milliseconds since 1970, if that is remembered.
    pub(crate) fn at(&self, position: u64) -> Option<i64> {
        let behind = self.kept.partition_point(|(kept, _)| *kept <= position);
        self.kept.get(behind.checked_sub(1)?).map(|(_, stamp_ms)| *stamp_ms)
    }

    /// What happened up to now was not seen here: another state has come.
    pub(crate) fn lost(&mut self) {
        self.kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_position_is_right_to_a_second_and_never_too_late() {
        let mut moments = Moments::default();
        assert_eq!(moments.at(9), None);
        let stamp = |position: u64| 5_000 + position as i64 * 300;
        (10..400).for_each(|position| moments.note(position, stamp(position)));
        assert_eq!(moments.at(9), None, "it was not seen");
        for position in 10..400 {
            let found = moments.at(position).expect("it was seen");
            assert!(found <= stamp(position) && stamp(position) < found + GRAIN_MS, "{position}");
        }
        moments.lost();
        moments.note(500, 1_000_000);
        assert_eq!((moments.at(399), moments.at(500)), (None, Some(1_000_000)));
    }

    #[test]
    fn oldest_moments_are_forgotten() {
        let mut moments = Moments::default();
        (0..MOMENTS_MAX as u64 + 10).for_each(|position| moments.note(position, position as i64 * GRAIN_MS));
        assert_eq!(moments.kept.len(), MOMENTS_MAX);
        assert_eq!((moments.at(9), moments.at(10)), (None, Some(10 * GRAIN_MS)));
    }
}
