//! Members give records back: each is accepted, released, rejected or renewed. What they keep too long is taken from them.

use base::{MonoTime, Now};
use log_wire::ErrorCode;

use super::{InFlight, InFlightState, SharePartition};
use crate::state::{DeadReason, DeliveryState};

/// What a member says of records that it has: a range, and what becomes of each record, or one thing for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The first offset.
    pub first: i64,
    /// The last offset.
    pub last: i64,
    /// Kafka's numbers: 0 for a gap, 1 accept, 2 release, 3 reject, 4 renew.
    pub types: Vec<i8>,
}

/// How the records of a member that is gone are given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It has closed its session: this delivery does not count.
    Closed,
    /// It is lost: it may have died of them.
    Lost,
}

const GAP: i8 = 0;
const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;
const RENEW: i8 = 4;

impl SharePartition {
    /// A member gives records back. All of it is done, or nothing. Records before the window are finished whatever is said.
    ///
    /// # Errors
    /// `INVALID_REQUEST`: the ranges are malformed; `INVALID_RECORD_STATE`: the member does not have these records.
    pub fn acknowledge(
        &mut self,
        member: &str,
        acknowledgements: &[Acknowledgement],
        may_renew: bool,
        now: Now,
    ) -> Result<(), ErrorCode> {
        let mut after = i64::MIN;
        for of in acknowledgements {
            check_form(of, after, may_renew)?;
            after = of.last;
            self.check_owner(of, member)?;
        }
        for of in acknowledgements {
            if let [all] = of.types[..] {
                self.settle(of.first, of.last, all, now);
                continue;
            }
            let mut offset = of.first;
            for same in of.types.chunk_by(|one, other| one == other) {
                let last = offset + i64::try_from(same.len()).unwrap_or(i64::MAX) - 1;
                self.settle(offset, last, same.first().copied().unwrap_or(GAP), now);
                offset = last + 1;
            }
        }
        self.advance();
        Ok(())
    }

    /// A member is gone: others may take what it has.
    pub fn release(&mut self, member: &str, how: Release) {
        let own =
            |run: &InFlight| matches!(&run.state, InFlightState::Acquired(owner, _) if **owner == *member);
        self.give_back(own, how);
    }

    /// Time has passed: locks that are over end.
    pub fn tick(&mut self, now: Now) {
        if self.first_deadline.is_none_or(|first| first > now.mono()) {
            return;
        }
        let is_over =
            |run: &InFlight| matches!(&run.state, InFlightState::Acquired(_, until) if *until <= now.mono());
        self.give_back(is_over, Release::Lost);
        self.end_delays(now);
        let deadlines = self.runs.iter().filter_map(|(_, _, run)| deadline(run));
        self.first_deadline = deadlines.min();
    }

    fn give_back(&mut self, is_meant: impl Fn(&InFlight) -> bool, how: Release) {
        let meant = self.runs.iter().filter(|(_, _, run)| is_meant(run));
        let meant: Vec<(i64, i64, i16)> =
            meant.map(|(first, last, run)| (first, last, run.delivery_count)).collect();
        for (first, last, delivery_count) in meant {
            match how {
                Release::Closed => {
                    self.finish(first, last, DeliveryState::Available, delivery_count.saturating_sub(1));
                }
                Release::Lost => self.make_available(first, last, delivery_count),
            }
        }
        self.advance();
    }

    fn check_owner(&self, of: &Acknowledgement, member: &str) -> Result<(), ErrorCode> {
        let first = of.first.max(self.start);
        if of.last < first {
            return Ok(());
        }
        if of.last >= self.end {
            return Err(ErrorCode::InvalidRecordState);
        }
        let runs = self.runs.within(first, of.last);
        let is_own =
            |run: &InFlight| matches!(&run.state, InFlightState::Acquired(owner, _) if **owner == *member);
        if runs.iter().all(|(_, _, run)| is_own(run)) { Ok(()) } else { Err(ErrorCode::InvalidRecordState) }
    }

    /// What becomes of records.
    fn settle(&mut self, first: i64, last: i64, kind: i8, now: Now) {
        for (first, last, run) in self.runs.within(first, last) {
            match kind {
                ACCEPT => self.finish(first, last, DeliveryState::Acknowledged, run.delivery_count),
                RELEASE => self.make_available(first, last, run.delivery_count),
                RENEW => self.renew(first, last, run, now),
                REJECT => self.bury((first, last), DeadReason::Rejected, run.delivery_count),
                // Gaps.
                _ => self.finish(first, last, DeliveryState::Archived, run.delivery_count),
            }
        }
    }

    fn renew(&mut self, first: i64, last: i64, run: InFlight, now: Now) {
        if let InFlightState::Acquired(owner, _) = run.state {
            let until = now.mono().plus_ms(self.limits.lock_ms);
            self.runs.set(first, last, InFlight { state: InFlightState::Acquired(owner, until), ..run });
        }
    }

    /// Others may take these records, unless they were delivered too often.
    fn make_available(&mut self, first: i64, last: i64, delivery_count: i16) {
        if u32::from(delivery_count.unsigned_abs()) >= self.limits.delivery_count_max {
            self.bury((first, last), DeadReason::DeliveredTooOften, delivery_count);
        } else {
            self.finish(first, last, DeliveryState::Available, delivery_count);
        }
    }
}

const fn deadline(run: &InFlight) -> Option<MonoTime> {
    match &run.state {
        InFlightState::Acquired(_, until) | InFlightState::Delayed(until) => Some(*until),
        _ => None,
    }
}

fn check_form(of: &Acknowledgement, after: i64, may_renew: bool) -> Result<(), ErrorCode> {
    let length = of.last.checked_sub(of.first).and_then(|length| length.checked_add(1));
    let is_range = of.first >= 0 && of.first > after && length.is_some_and(|length| length > 0);
    let types = i64::try_from(of.types.len()).unwrap_or(i64::MAX);
    let fits = types == 1 || Some(types) == length;
    let highest = if may_renew { RENEW } else { REJECT };
    let is_known = of.types.iter().all(|kind| (GAP..=highest).contains(kind));
    if is_range && fits && is_known { Ok(()) } else { Err(ErrorCode::InvalidRequest) }
}
