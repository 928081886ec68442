//! When a reactor leaves its sockets alone for a moment although some may be ready: while many clients send something, one look
//! at the sockets then finds several requests, which share the system calls and wake-ups of a turn. It is what network cards call
//! interrupt moderation. A rest costs every request a part of it, so it is short, and shorter the more there is to do.
//!
//! Invariants:
//! - *Few clients never wait.* Their next requests come only after the answers to the last.
//! - *Not longer than needed.* A rest ends when as many sockets as [`GATHERED`] are ready, as far as the past tells.

/// What is counted before a rest is decided on, microseconds at least.
const WINDOW_US: u64 = 10_000;
/// How many different sockets are ready in a window, at least, for a reactor to rest.
const MANY: u32 = 16;
/// For how many ready sockets a rest waits at most.
const GATHERED: u64 = 16;

/// See the module.
#[derive(Debug)]
pub(crate) struct Rest {
    us_max: u64,
    /// When the sockets were looked at last.
    looked_us: u64,
    window: Window,
    /// Between two looks.
    pause_us: u64,
}

/// What the poll reported since some time.
#[derive(Debug, Default)]
struct Window {
    since_us: u64,
    ready: u64,
    /// A bit for each socket, by the last digits of its token.
    sockets: u64,
}

impl Rest {
    /// Of at most so many microseconds; 0 for none ever.
    pub(crate) fn new(us_max: u64) -> Self {
        Self { us_max, looked_us: 0, window: Window::default(), pause_us: 0 }
    }

    /// The sockets were looked at, and these are ready.
    pub(crate) fn looked(&mut self, now_us: u64, ready: impl Iterator<Item = usize>) {
        if self.us_max == 0 {
            return;
        }
        self.looked_us = now_us;
        for token in ready {
            self.window.ready += 1;
            self.window.sockets |= 1 << (token % 64);
        }
        if now_us.saturating_sub(self.window.since_us) >= WINDOW_US {
            self.pause_us = self.window.pause_us(now_us).min(self.us_max);
            self.window = Window { since_us: now_us, ..Window::default() };
        }
    }

    /// How long the sockets are left alone now.
    pub(crate) fn left_us(&self, now_us: u64) -> u64 {
        (self.looked_us + self.pause_us).saturating_sub(now_us)
    }
}

impl Window {
    fn pause_us(&self, now_us: u64) -> u64 {
        if self.sockets.count_ones() < MANY {
            return 0;
        }
        GATHERED * now_us.saturating_sub(self.since_us) / self.ready.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a rest right after a look, when so many of so many sockets are ready every so often for a while.
    fn pause_us(us_max: u64, sockets: usize, ready: usize, every_us: u64) -> u64 {
        let (mut rest, mut next, mut now_us) = (Rest::new(us_max), 0, 0);
        for _ in 0..1_000 {
            now_us += every_us;
            rest.looked(now_us, (next..next + ready).map(|token| token % sockets));
            next += ready;
        }
        rest.left_us(now_us)
    }

    #[test]
    fn reactor_rests_while_many_clients_send_and_not_for_few() {
        assert_eq!(pause_us(400, 100, 1, 100), 400);
        assert_eq!(pause_us(400, 16, 1, 100), 400);
        assert_eq!(pause_us(400, 15, 1, 100), 0);
        assert_eq!(pause_us(400, 1, 1, 20), 0);
        assert_eq!(pause_us(0, 100, 1, 100), 0);
    }

    #[test]
    fn rest_is_as_long_as_a_few_requests_take_to_come() {
        // One every ten microseconds.
        assert_eq!(pause_us(400, 100, 10, 100), 160);
        assert_eq!(pause_us(400, 100, 100, 100), 16);
    }

    #[test]
    fn many_clients_that_send_seldom_are_not_rested_for() {
        // A hundred, each once a second: one in ten milliseconds.
        assert_eq!(pause_us(400, 100, 1, 10_000), 0);
    }

    #[test]
    fn rest_is_counted_from_the_last_look() {
        let mut rest = Rest::new(400);
        for look in 0..200 {
            rest.looked(look * 100, std::iter::once(usize::try_from(look).expect("small")));
        }
        assert_eq!((rest.left_us(19_900), rest.left_us(20_200), rest.left_us(20_300)), (400, 100, 0));
        // Nobody sends any more: that is seen at the end of the next window.
        for now_us in [40_000, 50_000] {
            rest.looked(now_us, std::iter::empty());
        }
        assert_eq!(rest.left_us(50_000), 0);
    }
}
