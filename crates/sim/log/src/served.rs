//! How long the broker has served: only in this time it can hear its clients.

/// A reading of the broker's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// Milliseconds in which a process served and did not stand still.
    ms: u64,
    /// What [`Self::ms`] was when the present process began to serve.
    began_ms: u64,
    /// How often the process stood still.
    pauses: u64,
}

/// How late a coordinator may notice that it stood still, and how unevenly a simulated process takes its turns, milliseconds:
/// by so much each pause may count, and each timeout be shorter.
const SLACK_MS: u64 = 400;

impl Served {
    pub(crate) const fn pass(&mut self, ms: u64) {
        self.ms += ms;
    }

    pub(crate) const fn pause(&mut self) {
        self.pauses += 1;
    }

    /// Another process serves.
    pub(crate) const fn begin(&mut self) {
        self.began_ms = self.ms;
    }

    /// Whether the broker may take it that so much time has passed since `then`. A process that began since then counts from its
    /// beginning (L52).
    pub(crate) const fn may_have_passed(&self, then: Self, ms: u64) -> bool {
        let from = if then.ms > self.began_ms { then.ms } else { self.began_ms };
        self.ms - from + SLACK_MS * (1 + self.pauses - then.pauses) >= ms
    }
}
