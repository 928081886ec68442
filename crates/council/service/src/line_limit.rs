//! How many lines of a kind are written that a caller without a password can bring about. What is left out is counted,
//! and the count is told.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Lines in each interval.
const LINES_MAX: u32 = 20;
/// How long an interval lasts.
const INTERVAL: Duration = Duration::from_secs(60);

/// Lines of one kind.
#[derive(Debug, Default)]
pub(crate) struct LineLimit {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// When the interval began; none before the first line.
    began: Option<Instant>,
    /// Lines of this interval.
    written: u32,
    /// Lines that were left out since the last one.
    left_out: u64,
}

/// A line that may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// So many were left out before it.
    pub(crate) left_out: u64,
    /// Those that come next are left out until the interval ends.
    pub(crate) is_last: bool,
}

impl LineLimit {
    /// Takes the place of a line; nothing if it is to be left out.
    pub(crate) fn take(&self, now: Instant) -> Option<Line> {
        let mut state = self.state.lock();
        let is_over = state.began.is_none_or(|began| now.saturating_duration_since(began) >= INTERVAL);
        if is_over {
            (state.began, state.written) = (Some(now), 0);
        }
        if state.written >= LINES_MAX {
            state.left_out += 1;
            return None;
        }
        state.written += 1;
        Some(Line { left_out: std::mem::take(&mut state.left_out), is_last: state.written == LINES_MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_in_each_interval_and_those_left_out_are_told() {
        let (limit, start) = (LineLimit::default(), Instant::now());
        let lines: Vec<_> = (0..1000).filter_map(|_| limit.take(start)).collect();
        assert_eq!(lines.len(), LINES_MAX as usize);
        assert_eq!(lines.iter().filter(|line| line.is_last).count(), 1);
        assert_eq!(lines.last(), Some(&Line { left_out: 0, is_last: true }));
        let later = start + INTERVAL;
        assert_eq!(limit.take(later - Duration::from_millis(1)), None);
        let left_out = 1000 - u64::from(LINES_MAX) + 1;
        assert_eq!(limit.take(later), Some(Line { left_out, is_last: false }));
        assert_eq!(limit.take(later), Some(Line { left_out: 0, is_last: false }), "told once");
    }
}
