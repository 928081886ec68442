//! Rests between heavy commands. One that is under way holds up all that comes behind it: it is written to the disk, and
//! applied as a whole. While there are others to be held up, the next one leaves them time of their own.

use super::weight::HEAVY;

/// The least rest, ms, for so much weight: the long reply is written meanwhile, and requests that had to wait come before
/// the next heavy command.
const WEIGHT_PER_MS: u64 = HEAVY / 2;
/// How many times as long as a heavy command was under way the next one waits, where others could be held up.
const TIMES: u64 = 3;
/// And the longest, ms: a disk that stalls holds up everybody anyway.
const MOST_MS: u64 = 100;
/// Others could be held up, if any came so shortly before.
const LATELY_MS: u64 = 1000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Rest {
    /// Whether commands that are not heavy have come, and when that was seen last.
    others_came: bool,
    others_ms: Option<u64>,
    /// When the last heavy command went.
    since_ms: Option<u64>,
    /// The weight of one that was applied, until its rest is counted.
    applied: Option<u64>,
    until_ms: u64,
}

impl Rest {
    /// A command came that is not heavy.
    pub(super) const fn other_came(&mut self) {
        self.others_came = true;
    }

    /// Whether the next heavy command may go.
    pub(super) const fn is_over(&self, now_ms: u64) -> bool {
        now_ms >= self.until_ms
    }

    /// A heavy command goes.
    pub(super) const fn begin(&mut self, now_ms: u64) {
        self.since_ms = Some(now_ms);
    }

    /// Commands of this weight are applied.
    pub(super) fn applied(&mut self, weight: u64) {
        if weight > HEAVY {
            self.applied = Some(weight);
        }
    }

    /// Takes in what has happened since this was last called. Only here the time is that after a command was applied.
    pub(super) fn turn(&mut self, now_ms: u64) {
        if std::mem::take(&mut self.others_came) {
            self.others_ms = Some(now_ms);
        }
        let Some(weight) = self.applied.take() else { return };
        let under_way_ms = self.since_ms.take().map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        let shortest_ms = weight / WEIGHT_PER_MS;
        let others = self.others_ms.is_some_and(|others_ms| now_ms < others_ms + LATELY_MS);
        let longest_ms = if others { (TIMES * under_way_ms).min(MOST_MS) } else { 0 };
        self.until_ms = now_ms + longest_ms.max(shortest_ms);
    }

    /// Until when heavy commands wait.
    pub(super) const fn until_ms(&self) -> u64 {
        self.until_ms
    }
}
