//! When a reactor leaves its sockets alone for a moment although some may be ready: while many clients send something, one look
//! at the sockets then finds several requests, which share the system calls and wake-ups of a turn. It is what network cards call
//! interrupt moderation. A rest costs every request a part of it, so it is short, and shorter the more there is to do.
//!
//! Invariants:
//! - *Few clients never wait.* Their next requests come only after the answers to the last.
//! - *Clients that wait for answers do not wait longer.* After a rest most of them would be ready, and nothing came of it but
//!   that they sent later: if a rest finds that, there is none for a while.
//! - *Not longer than needed.* A rest ends when as many sockets as [`GATHERED`] are ready, as far as the past tells.

/// What is counted before a rest is decided on, microseconds at least.
const WINDOW_US: u64 = 10_000;
/// And so many of the longest rests: a window with few looks does not tell who waits.
const RESTS: u64 = 16;
/// How many different sockets are ready in a window, at least, for a reactor to rest.
const MANY: u64 = 16;
/// For how many ready sockets a rest waits at most.
const GATHERED: u64 = 16;
/// Of the sockets that are ready in a window, one in so many at a look, or more: their clients wait for answers.
const WAITING_SHARE: u64 = 3;
/// Fewer looks do not tell that.
const LOOKS: u64 = RESTS / 2;
/// How long it is until a rest is tried again for clients that waited, microseconds.
const AGAIN_US: u64 = 1_000_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Rest {
    us_max: u64,
    /// When the sockets were looked at last.
    looked_us: u64,
    window: Window,
    /// Between two looks.
    pause_us: u64,
    /// No rest before.
    again_us: u64,
}

/// What the poll reported since some time.
#[derive(Debug, Default)]
struct Window {
    since_us: u64,
    /// Looks that found something.
    looks: u64,
    ready: u64,
    /// A bit for each socket, by the last digits of its token.
    sockets: u128,
}

impl Rest {
    /// Of at most so many microseconds; 0 for none ever.
    pub(crate) fn new(us_max: u64) -> Self {
        Self { us_max, looked_us: 0, window: Window::default(), pause_us: 0, again_us: 0 }
    }

    /// The sockets were looked at, and these are ready.
    pub(crate) fn looked(&mut self, now_us: u64, ready: impl Iterator<Item = usize>) {
        if self.us_max == 0 {
            return;
        }
        self.looked_us = now_us;
        self.window.add(ready);
        if now_us.saturating_sub(self.window.since_us) >= WINDOW_US.max(RESTS * self.us_max) {
            self.decide(now_us);
            self.window = Window { since_us: now_us, ..Window::default() };
        }
    }

    fn decide(&mut self, now_us: u64) {
        let is_waited_for = self.window.is_waited_for();
        if is_waited_for && self.pause_us > 0 {
            self.again_us = now_us + AGAIN_US;
        }
        let may_rest = self.window.is_of_many() && !is_waited_for && now_us >= self.again_us;
        self.pause_us = if may_rest { self.window.gathering_us(now_us).min(self.us_max) } else { 0 };
    }

    /// How long the sockets are left alone now.
    pub(crate) fn left_us(&self, now_us: u64) -> u64 {
        (self.looked_us + self.pause_us).saturating_sub(now_us)
    }
}

impl Window {
    fn add(&mut self, ready: impl Iterator<Item = usize>) {
        let before = self.ready;
        for token in ready {
            self.ready += 1;
            self.sockets |= 1 << (token % 128);
        }
        self.looks += u64::from(self.ready > before);
    }

    fn different(&self) -> u64 {
        u64::from(self.sockets.count_ones())
    }

    fn is_of_many(&self) -> bool {
        self.different() >= MANY
    }

    /// Whether the clients wait for answers before they send more: many of them at once, again and again.
    fn is_waited_for(&self) -> bool {
        self.looks >= LOOKS && self.ready * WAITING_SHARE >= self.different() * self.looks
    }

    /// How long it takes until enough sockets are ready, if it goes on like this.
    fn gathering_us(&self, now_us: u64) -> u64 {
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
        assert_eq!(pause_us(400, 100, 20, 100), 80);
    }

    #[test]
    fn many_clients_that_send_seldom_are_not_rested_for() {
        // A hundred, each once a second: one in ten milliseconds.
        assert_eq!(pause_us(400, 100, 1, 10_000), 0);
    }

    /// So many clients, each of which sends its next request a little after the answer to its last one, and how often they
    /// are answered in some seconds.
    fn answers_to_waiting_clients(us_max: u64, clients: usize) -> usize {
        const SEND_US: u64 = 30;
        const REQUEST_US: u64 = 10;
        let (mut rest, mut now_us, mut answers) = (Rest::new(us_max), 0, 0);
        let mut sends_us = vec![0; clients];
        while now_us < 4_000_000 {
            let ready: Vec<usize> = (0..clients).filter(|client| sends_us[*client] <= now_us).collect();
            rest.looked(now_us, ready.iter().copied());
            now_us += 5 + REQUEST_US * ready.len() as u64;
            answers += ready.len();
            ready.iter().for_each(|client| sends_us[*client] = now_us + SEND_US);
            now_us += rest.left_us(now_us);
        }
        answers
    }

    #[test]
    fn clients_that_wait_for_answers_are_answered_as_often_as_without() {
        for clients in [1, 8, 16, 20, 32, 48] {
            let (without, with) =
                (answers_to_waiting_clients(0, clients), answers_to_waiting_clients(500, clients));
            assert!(with * 100 >= without * 97, "{clients} clients: {with} beside {without}");
        }
        // Of very many a part waits, but the others are served meanwhile.
        for clients in [64, 100, 400] {
            let (without, with) =
                (answers_to_waiting_clients(0, clients), answers_to_waiting_clients(500, clients));
            assert!(with * 100 >= without * 80, "{clients} clients: {with} beside {without}");
        }
    }

    #[test]
    fn many_that_are_ready_at_each_look_are_not_rested_for() {
        assert_eq!(pause_us(400, 100, 34, 100), 0);
        assert_eq!(pause_us(400, 100, 100, 100), 0);
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
