//! How long the broker has served: only in this time it can hear its clients.

/// Of how many processes it is known when they began.
const BEGINNINGS: usize = 6;

/// A reading of the broker's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// Milliseconds in which a process served and did not stand still.
    ms: u64,
    /// What [`Self::ms`] was when the last processes began to serve, the present one at the end.
    began_ms: [u64; BEGINNINGS],
    /// How often the process stood still.
    pauses: u64,
    /// Nothing is known: coordinators move from broker to broker.
    is_unknown: bool,
}

/// How late a coordinator may notice that it stood still, and how unevenly a simulated process takes its turns, milliseconds:
/// by so much each pause may count, and each timeout be shorter.
const SLACK_MS: u64 = 400;

impl Served {
    /// Of several brokers, of which a client cannot tell which one has heard it.
    pub(crate) fn unknown() -> Self {
        Self { is_unknown: true, ..Self::default() }
    }

    pub(crate) const fn is_known(&self) -> bool {
        !self.is_unknown
    }

    pub(crate) const fn pass(&mut self, ms: u64) {
        self.ms += ms;
    }

    pub(crate) const fn pause(&mut self) {
        self.pauses += 1;
    }

    /// Another process serves.
    pub(crate) fn begin(&mut self) {
        self.began_ms.rotate_left(1);
        self.began_ms[BEGINNINGS - 1] = self.ms;
    }

    /// Whether one of the processes since `then` may take it that so much time has passed. Each counts from its beginning (L52).
    pub(crate) fn may_have_passed(&self, then: Self, ms: u64) -> bool {
        if self.is_unknown || self.began_ms[0] > then.ms {
            // There were more processes than are known.
            return true;
        }
        let since = self.began_ms.iter().copied().filter(|began_ms| *began_ms > then.ms);
        let bounds: Vec<u64> = [then.ms].into_iter().chain(since).chain([self.ms]).collect();
        let longest_ms = bounds.windows(2).map(|two| two[1] - two[0]).max().unwrap_or(0);
        longest_ms + SLACK_MS * (1 + self.pauses - then.pauses) >= ms
    }
}
