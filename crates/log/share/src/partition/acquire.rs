//! Members take records.

use base::Now;
use log_coordinators::Text;

use super::{InFlight, InFlightState, SharePartition};

/// A batch of the log, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBatch {
    /// Its first offset.
    pub first: i64,
    /// Its last offset.
    pub last: i64,
    /// Whether members get its records: not markers, and not those of transactions that were aborted.
    pub is_delivered: bool,
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
            if batch.is_delivered {
                let left = if terms.is_strict { terms.records_max - taken } else { usize::MAX };
                let new = self.take(member, (cursor, batch.last), left, now);
                taken += new.iter().map(|new| length(new.first, new.last)).sum::<usize>();
                acquired.extend(new);
            } else {
                self.skip(cursor, batch.last);
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
        i64::from(self.limits.locks_max) - (self.end - self.start)
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
        let mut parts = self.runs.within(first, last);
        parts.retain(|(_, _, run)| run.state == InFlightState::Available);
        if last >= self.end && first <= self.end {
            let new_last = last.min(self.end + self.room() - 1);
            if new_last >= self.end {
                let new = InFlight { state: InFlightState::Available, delivery_count: 0 };
                parts.push((self.end, new_last, new));
            }
        }
        let until = now.mono().plus_ms(self.limits.lock_ms);
        let (mut acquired, mut left) = (Vec::new(), most);
        for (first, last, run) in parts {
            if left == 0 {
                break;
            }
            let count = length(first, last).min(left);
            let last = first + i64::try_from(count).unwrap_or(i64::MAX) - 1;
            let delivery_count = run.delivery_count.saturating_add(1);
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
