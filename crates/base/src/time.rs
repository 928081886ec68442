//! Points in time. A driver reads both clocks once for each round of work and passes the result down. How long something
//! takes is a plain number with its unit in its name (`timeout_ms`); so is a point of the monotonic clock in microseconds
//! (`now_us`), which only latencies and the pace of a journal need.

/// A point on the monotonic clock of one process: whole milliseconds since some start. For deadlines and timeouts. Where a
/// time may be missing, [`MonoTime::ZERO`] stands for "not yet" and [`MonoTime::MAX`] for "never".
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MonoTime(u64);

impl MonoTime {
    /// The start of the clock.
    pub const ZERO: Self = Self(0);
    /// After every deadline.
    pub const MAX: Self = Self(u64::MAX);

    /// So many milliseconds after the start of the clock.
    #[inline]
    #[must_use]
    pub const fn of_ms(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the start of the clock.
    #[inline]
    #[must_use]
    pub const fn ms(self) -> u64 {
        self.0
    }

    /// So many milliseconds later; [`MonoTime::MAX`] if there is no such time.
    #[inline]
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// So many milliseconds earlier; [`MonoTime::ZERO`] if the clock started later.
    #[inline]
    #[must_use]
    pub const fn minus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to this time; 0 if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A point on the wall clock: milliseconds since 1970. For people, and for the time that a leader stamps entries with. It
/// differs between machines and may go back.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

impl WallTime {
    /// So many milliseconds after the start of 1970.
    #[inline]
    #[must_use]
    pub const fn of_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the start of 1970.
    #[inline]
    #[must_use]
    pub const fn ms(self) -> i64 {
        self.0
    }

    /// So many milliseconds later, or earlier if `ms` is negative.
    #[inline]
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this time; negative if `earlier` is later.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

crate::shown::shown_as_number!(MonoTime, WallTime);

/// What time it is, by both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Microseconds since the start of the monotonic clock: for latencies. [`Now::mono`] is for everything else.
    pub mono_us: u64,
    /// The wall clock.
    pub wall: WallTime,
}

impl Now {
    /// Both clocks in milliseconds.
    #[must_use]
    pub const fn of_ms(mono_ms: u64, wall_ms: i64) -> Self {
        Self { mono_us: mono_ms.saturating_mul(1000), wall: WallTime::of_ms(wall_ms) }
    }

    /// Lets time pass on the monotonic clock.
    pub const fn advance_ms(&mut self, ms: u64) {
        self.mono_us = self.mono_us.saturating_add(ms.saturating_mul(1000));
    }

    /// The monotonic clock, in whole milliseconds.
    #[inline]
    #[must_use]
    pub const fn mono(self) -> MonoTime {
        MonoTime::of_ms(self.mono_us / 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outside_the_clock_saturates() {
        let time = MonoTime::of_ms(7);
        assert_eq!((time.since(MonoTime::of_ms(4)), time.since(MonoTime::of_ms(8))), (3, 0));
        assert_eq!((time.minus_ms(8), time.plus_ms(u64::MAX)), (MonoTime::ZERO, MonoTime::MAX));
        let wall = WallTime::of_ms(7);
        assert_eq!((wall.since(WallTime::of_ms(9)), wall.plus_ms(-9)), (-2, WallTime::of_ms(-2)));
    }

    #[test]
    fn monotonic_time_is_cut_to_whole_milliseconds() {
        let now = Now { mono_us: 2_999, ..Now::default() };
        assert_eq!((now.mono(), now.wall), (MonoTime::of_ms(2), WallTime::default()));
    }

    #[test]
    fn times_are_shown_as_numbers() {
        assert_eq!(format!("{} {:?}", MonoTime::of_ms(3), WallTime::of_ms(-5)), "3 -5");
    }
}
