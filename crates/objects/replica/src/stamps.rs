//! The leader's clock as it stamps entries: its wall clock, but never behind what the last stamp and the time since then
//! make. A leader whose wall clock is behind that of the one before goes on where that stood, so a lease of 30 seconds
//! lasts 30 seconds also through a change of leaders.

use base::{MonoTime, Now, WallTime};

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    last: WallTime,
    at: MonoTime,
}

impl Stamps {
    /// The last stamp is this one, and was made no later than now.
    pub(crate) const fn new(last: WallTime, now: Now) -> Self {
        Self { last, at: now.mono() }
    }

    /// What an entry is stamped with now.
    pub(crate) fn stamp(&self, now: Now) -> WallTime {
        self.earliest(now).max(now.wall)
    }

    /// What the last stamp and the time since then make.
    fn earliest(&self, now: Now) -> WallTime {
        let elapsed = i64::try_from(now.mono().since(self.at)).unwrap_or(i64::MAX);
        self.last.plus_ms(elapsed)
    }

    /// An entry with this stamp is proposed, or applied. The wall clock has no say here: it may be ahead now and set back later.
    pub(crate) fn noted(&mut self, stamp: WallTime, now: Now) {
        if stamp >= self.earliest(now) {
            *self = Self::new(stamp, now);
        }
    }

    /// When a stamp reaches that time, as far as is known now.
    pub(crate) fn due(&self, deadline: WallTime, now: Now) -> MonoTime {
        let left = deadline.since(self.stamp(now));
        now.mono().plus_ms(u64::try_from(left).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_never_go_back_and_go_on_at_the_pace_of_time() {
        let mut stamps = Stamps::new(WallTime::of_ms(5_000), Now::of_ms(100, 1_000));
        assert_eq!(stamps.stamp(Now::of_ms(100, 1_000)), WallTime::of_ms(5_000));
        assert_eq!(stamps.stamp(Now::of_ms(350, 1_250)), WallTime::of_ms(5_250));
        assert_eq!(stamps.stamp(Now::of_ms(350, 9_000)), WallTime::of_ms(9_000), "the wall clock is ahead");
        stamps.noted(WallTime::of_ms(9_000), Now::of_ms(350, 9_000));
        assert_eq!(stamps.stamp(Now::of_ms(400, 100)), WallTime::of_ms(9_050), "it was set back");
        assert_eq!(stamps.due(WallTime::of_ms(9_100), Now::of_ms(400, 100)), MonoTime::of_ms(450));
        stamps.noted(WallTime::of_ms(8_000), Now::of_ms(500, 100));
        assert_eq!(
            stamps.stamp(Now::of_ms(500, 100)),
            WallTime::of_ms(9_150),
            "an old entry changes nothing"
        );
    }

    #[test]
    fn entry_counts_that_is_applied_while_the_wall_clock_is_ahead() {
        let mut stamps = Stamps::new(WallTime::default(), Now::of_ms(0, 1_000));
        stamps.noted(WallTime::of_ms(5_000), Now::of_ms(100, 300_000));
        assert_eq!(stamps.stamp(Now::of_ms(200, 1_200)), WallTime::of_ms(5_100), "it was set back");
    }
}
