//! Rests between heavy commands. One that is under way holds up all that comes behind it: it is written to the disk, and
//! applied as a whole. While there are others to be held up, the next one leaves them time of their own.

/// What weighs more is proposed alone when others wait, and takes several milliseconds to apply.
pub(super) const HEAVY: u64 = 1 << 20;
/// The least rest, ms, for so much weight: the long reply is written meanwhile, and requests that had to wait come before
/// the next heavy command.
const WEIGHT_PER_MS: u64 = HEAVY / 2;
/// How many times as long as a heavy command was under way the next one waits, where others were held up.
const TIMES: u64 = 3;
/// And the longest, ms: a disk that stalls holds up everybody anyway.
const MOST_MS: u64 = 100;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// When the heavy command that is under way was let go.
    since_ms: u64,
    /// Whether commands that are not heavy have come since.
    others_came: bool,
    /// The weight of one that was applied, until its rest is counted.
    applied: Option<u64>,
    until_ms: u64,
}

impl Rest {
    /// A command came that is not heavy.
    pub(super) const fn other_came(&mut self) {
        self.others_came = true;
    }

    /// A heavy command goes.
    pub(super) const fn begin(&mut self, now_ms: u64) {
        (self.since_ms, self.others_came) = (now_ms, false);
    }

    /// Commands of this weight are applied.
    pub(super) fn applied(&mut self, weight: u64) {
        if weight > HEAVY {
            self.applied = Some(weight);
        }
    }

    /// Counts the rest of what was applied from now on: only here the time is that after it.
    pub(super) fn count(&mut self, now_ms: u64) {
        let Some(weight) = self.applied.take() else { return };
        let shortest_ms = weight / WEIGHT_PER_MS;
        let under_way_ms = now_ms.saturating_sub(self.since_ms);
        let rest_ms = match self.others_came {
            true => (TIMES * under_way_ms).min(MOST_MS).max(shortest_ms),
            false => shortest_ms,
        };
        self.until_ms = now_ms + rest_ms;
    }

    /// Until when a heavy command waits.
    pub(super) const fn until_ms(&self) -> u64 {
        self.until_ms
    }
}
