//! Rests between heavy commands. One that is under way holds up all that comes behind it: it is written to the disk, and
//! applied as a whole. While there are others to be held up, the next one leaves them time of their own.

use super::weight::HEAVY;
use base::MonoTime;

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
    others_seen: Option<MonoTime>,
    /// When the last heavy command went.
    since: Option<MonoTime>,
    /// The weight of one that was applied, until its rest is counted.
    applied: Option<u64>,
    until: MonoTime,
}

impl Rest {
    /// A command came that is not heavy.
    pub(super) const fn other_came(&mut self) {
        self.others_came = true;
    }

    /// Whether the next heavy command may go.
    pub(super) fn is_over(&self, now: MonoTime) -> bool {
        now >= self.until
    }

    /// A heavy command goes.
    pub(super) const fn begin(&mut self, now: MonoTime) {
        self.since = Some(now);
    }

    /// Commands of this weight are applied.
    pub(super) fn applied(&mut self, weight: u64) {
        if weight > HEAVY {
            self.applied = Some(weight);
        }
    }

    /// Takes in what has happened since this was last called. Only here the time is that after a command was applied.
    pub(super) fn turn(&mut self, now: MonoTime) {
        if std::mem::take(&mut self.others_came) {
            self.others_seen = Some(now);
        }
        let Some(weight) = self.applied.take() else { return };
        let under_way_ms = self.since.take().map_or(0, |since| now.since(since));
        let shortest_ms = weight / WEIGHT_PER_MS;
        let others = self.others_seen.is_some_and(|seen| now < seen.plus_ms(LATELY_MS));
        let longest_ms = if others { (TIMES * under_way_ms).min(MOST_MS) } else { 0 };
        self.until = now.plus_ms(longest_ms.max(shortest_ms));
    }

    /// Until when heavy commands wait.
    pub(super) const fn until(&self) -> MonoTime {
        self.until
    }
}
