//! Members take records.

use base::{MonoTime, Now};
use log_coordinators::Text;

use super::{InFlight, InFlightState, SharePartition};
use crate::state::DeadReason;

/// What becomes of records that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Members get them.
    Delivered,
    /// Members do not get them: markers, and records of transactions that were aborted.
    Skipped,
    /// Their time to live is over.
    Expired,
    /// Members get them from that time on.
    Delayed(MonoTime),
}

/// A batch of the log, as it was read, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBatch {
    /// Its first offset.
    pub first: i64,
    /// Its last offset.
    pub last: i64,
    /// What becomes of its records.
    pub fate: Fate,
}

/// How much is taken at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquireTerms {
    /// So many records.
    pub records_max: usize,
    /// Whether a batch may be taken in parts. Otherwise the last one is taken whole, whatever the limit.
    pub is_strict: bool,
    /// Longer ranges are told in parts, so that they may be acknowledged in parts.
    pub batch_size: usize,
}

/// Records that a member has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// The first offset.
    pub first: i64,
    /// The last offset.
    pub last: i64,
    /// How often they were delivered, with this time.
    pub delivery_count: i16,
}

impl SharePartition {
    /// Where to read on for a member; nothing if all that may be taken is taken.
    #[must_use]
    pub fn next_offset(&self) -> Option<i64> {
        let available = self.runs.iter().find(|(_, _, run)| run.state == InFlightState::Available);
        match available {
            Some((first, _, _)) => Some(first),
            None => (self.room() > 0).then_some(self.end),
        }
    }

    /// A member takes what it may of batches that were read from `from` on. They, and the gaps between them, are all there is
    /// up to `until`.
    pub fn acquire(
        &mut self,
        member: &Text,
        (from, until): (i64, i64),
        batches: &[LogBatch],
        terms: AcquireTerms,
        now: Now,
    ) -> Vec<Acquired> {
        let (mut acquired, mut cursor, mut taken) = (Vec::new(), from.max(self.start), 0);
        for batch in batches.iter().filter(|batch| batch.last >= from) {
            if taken >= terms.records_max {
                break;
            }
            self.skip(cursor, batch.first - 1);
            cursor = cursor.max(batch.first);
            match batch.fate {
                Fate::Delivered => {
                    let left = if terms.is_strict { terms.records_max - taken } else { usize::MAX };
                    let new = self.take(member, (cursor, batch.last), left, now);
                    taken += new.iter().map(|new| length(new.first, new.last)).sum::<usize>();
                    acquired.extend(new);
                }
                Fate::Skipped => self.skip(cursor, batch.last),
                Fate::Expired => {
                    self.expire(cursor, batch.last);
                    // Many may have expired: they make room for those behind them.
                    self.advance();
                }
                Fate::Delayed(until) => self.delay((cursor, batch.last), until),
            }
            cursor = cursor.max(batch.last + 1);
        }
        if taken < terms.records_max {
            self.skip(cursor, until - 1);
        }
        self.advance();
        split(acquired, terms.batch_size)
    }

    /// How many new records may be taken.
    pub(super) fn room(&self) -> i64 {
        let delayed = self.delayed.min(i64::from(self.limits.delayed_max));
        i64::from(self.limits.locks_max) + delayed - (self.end - self.start)
    }

    /// Nobody may get these any more. If they become dead letters, they need room.
    fn expire(&mut self, first: i64, last: i64) {
        if !self.limits.has_dead_letters {
            return self.skip(first, last);
        }
        for (first, last, delivery_count) in self.untaken((first, last), self.room()) {
            self.bury((first, last), DeadReason::Expired, delivery_count);
            self.end = self.end.max(last + 1);
        }
    }

    /// Nobody may get these before a time.
    fn delay(&mut self, (first, last): (i64, i64), until: MonoTime) {
        let room = self.room().max(0) + (i64::from(self.limits.delayed_max) - self.delayed).max(0);
        for (first, last, delivery_count) in self.untaken((first, last), room) {
            let state = InFlightState::Delayed(until);
            self.runs.set(first, last, InFlight { state, delivery_count });
            self.end = self.end.max(last + 1);
            self.delayed += last - first + 1;
            self.first_deadline = Some(self.first_deadline.map_or(until, |first| first.min(until)));
        }
    }

    /// What of these records nobody has, with how often they were delivered: of new ones at most so many.
    fn untaken(&self, (first, last): (i64, i64), room: i64) -> Vec<(i64, i64, i16)> {
        let known = self.runs.within(first, last).into_iter();
        let available = known.filter(|(_, _, run)| run.state == InFlightState::Available);
        let mut untaken: Vec<_> =
            available.map(|(first, last, run)| (first, last, run.delivery_count)).collect();
        if last >= self.end && first <= self.end {
            let new_last = last.min(self.end.saturating_add(room) - 1);
            if new_last >= self.end {
                untaken.push((self.end, new_last, 0));
            }
        }
        untaken
    }

    /// Delays that are over end.
    pub(super) fn end_delays(&mut self, now: Now) {
        let is_over =
            |run: &InFlight| matches!(run.state, InFlightState::Delayed(until) if until <= now.mono());
        let over = self.runs.iter().filter(|(_, _, run)| is_over(run));
        let over: Vec<(i64, i64, i16)> =
            over.map(|(first, last, run)| (first, last, run.delivery_count)).collect();
        for (first, last, delivery_count) in over {
            self.runs.set(first, last, InFlight { state: InFlightState::Available, delivery_count });
            self.delayed -= last - first + 1;
        }
    }

    /// Members do not get these, as far as nobody has them.
    fn skip(&mut self, first: i64, last: i64) {
        let skipped = InFlight { state: InFlightState::Archived, delivery_count: 0 };
        for (first, last, run) in self.runs.within(first, last) {
            if run.state == InFlightState::Available {
                self.runs.set(
                    first,
                    last,
                    InFlight { delivery_count: run.delivery_count, ..skipped.clone() },
                );
            }
        }
        if last >= self.end && first <= self.end {
            self.runs.set(self.end, last, skipped);
            self.end = last + 1;
        }
    }

    /// A member takes at most so many of these records.
    fn take(&mut self, member: &Text, (first, last): (i64, i64), most: usize, now: Now) -> Vec<Acquired> {
        let parts = self.untaken((first, last), self.room());
        let until = now.mono().plus_ms(self.limits.lock_ms);
        let (mut acquired, mut left) = (Vec::new(), most);
        for (first, last, delivery_count) in parts {
            if left == 0 {
                break;
            }
            let count = length(first, last).min(left);
            let last = first + i64::try_from(count).unwrap_or(i64::MAX) - 1;
            let delivery_count = delivery_count.saturating_add(1);
            let state = InFlightState::Acquired(Text::clone(member), until);
            self.runs.set(first, last, InFlight { state, delivery_count });
            self.end = self.end.max(last + 1);
            left -= count;
            acquired.push(Acquired { first, last, delivery_count });
        }
        if !acquired.is_empty() {
            self.first_deadline = Some(self.first_deadline.map_or(until, |first| first.min(until)));
        }
        acquired
    }
}

fn length(first: i64, last: i64) -> usize {
    usize::try_from(last - first + 1).unwrap_or(0)
}

/// Ranges of at most so many records.
fn split(acquired: Vec<Acquired>, most: usize) -> Vec<Acquired> {
    let most = i64::try_from(most.max(1)).unwrap_or(i64::MAX);
    let parts = acquired.into_iter().flat_map(|range| {
        let parts = (range.last - range.first) / most + 1;
        (0..parts).map(move |part| {
            let first = range.first + part * most;
            Acquired { first, last: range.last.min(first.saturating_add(most - 1)), ..range }
        })
    });
    parts.collect()
}
