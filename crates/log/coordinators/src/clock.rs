//! The clock by which members' timeouts run. It stands still while the coordinator itself is stuck: a process that did not
//! run, or whose appends did not become durable, could not hear the heartbeats that arrived meanwhile (rule L52).

use base::MonoTime;

/// A clock that counts only time in which the coordinator could serve.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// How late a tick or an append may be and still count as time that passed.
    pause_ms_max: u64,
    heard: MonoTime,
    reading: MonoTime,
}

impl Clock {
    pub(crate) const fn new(pause_ms_max: u64) -> Self {
        Self { pause_ms_max, heard: MonoTime::ZERO, reading: MonoTime::ZERO }
    }

    /// Starts at `now`. What passed before does not count.
    pub(crate) const fn start(&mut self, now: MonoTime) {
        self.heard = now;
    }

    /// Time has gone on to `now`. The caller was asked to tick at `due` by this clock; the oldest append that is not durable
    /// was given away at `stuck_since`.
    pub(crate) fn advance(&mut self, now: MonoTime, due: Option<MonoTime>, stuck_since: Option<MonoTime>) {
        let mut passed = now.since(self.heard);
        // A call that comes much too late ends a pause. None of it counts: the requests that would have moved the deadline may
        // stand behind this call.
        if due.is_some_and(|due| passed > due.since(self.reading).saturating_add(self.pause_ms_max)) {
            passed = 0;
        }
        if let Some(since) = stuck_since {
            passed = passed.min(since.plus_ms(self.pause_ms_max).since(self.heard));
        }
        self.heard = self.heard.max(now);
        self.reading = self.reading.plus_ms(passed);
    }

    /// When to look at this clock if a member's timeout ends at `deadline`. Without a look in between, a pause that ends shortly
    /// behind the deadline could not be told from time that passed.
    pub(crate) fn before_a_pause(&self, deadline: MonoTime) -> MonoTime {
        deadline.min(self.reading.plus_ms(self.pause_ms_max))
    }

    /// What this clock shows.
    pub(crate) const fn reading(&self) -> MonoTime {
        self.reading
    }

    /// The caller's time at which this clock will show `reading`.
    pub(crate) const fn real(&self, reading: MonoTime) -> MonoTime {
        self.heard.plus_ms(reading.since(self.reading))
    }

    /// The caller's time of the last call.
    pub(crate) const fn heard(&self) -> MonoTime {
        self.heard
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> MonoTime {
        MonoTime::of_ms(ms)
    }

    #[test]
    fn clock_does_not_count_a_late_tick() {
        let mut clock = Clock::new(100);
        clock.start(at(1_000));
        clock.advance(at(1_050), Some(at(500)), None);
        assert_eq!(clock.reading(), at(50));
        clock.advance(at(90_000), Some(at(500)), None);
        assert_eq!(clock.reading(), at(50));
        assert_eq!(clock.real(at(150)), at(90_100));
        clock.advance(at(90_550), Some(at(500)), None);
        assert_eq!(clock.reading(), at(600), "a tick that is late within the tolerance counts");
    }

    #[test]
    fn clock_stands_still_while_an_append_is_stuck() {
        let mut clock = Clock::new(100);
        clock.advance(at(50), None, Some(at(20)));
        clock.advance(at(9_000), None, Some(at(20)));
        assert_eq!(clock.reading(), at(120));
        clock.advance(at(9_500), None, Some(at(20)));
        assert_eq!(clock.reading(), at(120));
        clock.advance(at(9_600), None, None);
        assert_eq!(clock.reading(), at(220));
    }

    #[test]
    fn clock_does_not_run_backwards() {
        let mut clock = Clock::new(100);
        clock.advance(at(500), None, None);
        clock.advance(at(400), None, None);
        clock.advance(at(600), None, None);
        assert_eq!(clock.reading(), at(600));
    }
}
