//! A share partition: which records of a partition of a topic a group has taken, has finished, or may take.
//!
//! Its *window* begins at the first record that is not finished, and ends behind the last one that was ever taken. Every
//! offset in it is in one state: available, delayed until a time, taken by a member until a time, on its way to become a dead
//! letter, or finished. Behind the window everything is new. What a member may not get (gaps, markers, aborted records) is finished
//! at once, and is not made durable: it is found again.
//!
//! Interface: [`acquire`](SharePartition::acquire) gives a member what was read of the log, [`acknowledge`] and [`release`]
//! take it back, [`tick`] ends locks. After each of them the caller takes the [update](SharePartition::take_update) that is to
//! be made durable; answers wait for it.
//!
//! Invariants: the ranges cover the window without gaps; the window is not longer than the limit of locks, but for what was
//! delivered before the limit sank; a record is taken by one member at most.
//!
//! [`acknowledge`]: SharePartition::acknowledge
//! [`release`]: SharePartition::release
//! [`tick`]: SharePartition::tick

mod acknowledge;
mod acquire;
mod dead_letters;

use base::MonoTime;
use log_coordinators::Text;

pub use acknowledge::{Acknowledgement, Release};
pub use acquire::{AcquireTerms, Acquired, Fate, LogBatch};
pub use dead_letters::DeadLetters;

use crate::runs::Runs;
use crate::state::{DeadReason, DeliveryState, ShareState, StateBatch, StateUpdate};

/// What is in force for a share partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareLimits {
    /// How long a record is locked that was taken, milliseconds: `share.record.lock.duration.ms`.
    pub lock_ms: u64,
    /// How often a record is delivered: `share.delivery.count.limit`.
    pub delivery_count_max: u32,
    /// How long the window is: `share.partition.max.record.locks`.
    pub locks_max: u32,
    /// By how many delayed records it may be longer.
    pub delayed_max: u32,
    /// Whether what is not delivered any more becomes a dead letter before it is archived.
    pub has_dead_letters: bool,
}

/// A state of records, and how often they were delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InFlight {
    state: InFlightState,
    delivery_count: i16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum InFlightState {
    Available,
    Acquired(Text, MonoTime),
    Acknowledged,
    Archived,
    /// It becomes a dead letter.
    Archiving(DeadReason),
    /// Nobody may take it before that time. This is not durable: it is found again.
    Delayed(MonoTime),
}

impl From<DeliveryState> for InFlightState {
    fn from(state: DeliveryState) -> Self {
        match state {
            DeliveryState::Available => Self::Available,
            DeliveryState::Acknowledged => Self::Acknowledged,
            DeliveryState::Archived => Self::Archived,
            DeliveryState::Archiving(reason) => Self::Archiving(reason),
        }
    }
}

impl InFlight {
    const fn is_finished(&self) -> bool {
        matches!(self.state, InFlightState::Acknowledged | InFlightState::Archived)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SharePartition {
    limits: ShareLimits,
    start: i64,
    end: i64,
    runs: Runs<InFlight>,
    /// How many records are delayed.
    delayed: i64,
    /// No lock is over before.
    first_deadline: Option<MonoTime>,
    /// What is to be made durable.
    changes: Runs<(DeliveryState, i16)>,
    is_changed: bool,
}

impl SharePartition {
    /// A share partition whose durable state is this one, with a start.
    #[must_use]
    pub fn new(state: &ShareState, limits: ShareLimits) -> Self {
        let mut runs = Runs::default();
        let mut end = state.start;
        for batch in state.batches() {
            // What lies between was never delivered, or is known to nobody any more: it may be taken.
            if end < batch.first {
                runs.set(
                    end,
                    batch.first - 1,
                    InFlight { state: InFlightState::Available, delivery_count: 0 },
                );
            }
            let state = InFlightState::from(batch.state);
            runs.set(batch.first, batch.last, InFlight { state, delivery_count: batch.delivery_count });
            end = batch.last + 1;
        }
        let mut partition = Self {
            limits,
            start: state.start,
            end,
            runs,
            delayed: 0,
            first_deadline: None,
            changes: Runs::default(),
            is_changed: false,
        };
        partition.limit(limits);
        partition.advance();
        partition
    }

    /// These limits hold from now on. Without dead letters, what was to become one is archived.
    pub fn limit(&mut self, limits: ShareLimits) {
        self.limits = limits;
        if !limits.has_dead_letters {
            self.archived(self.start, self.end - 1);
        }
    }

    /// The log begins there: what was before is finished.
    pub fn trim(&mut self, log_start: i64) {
        if log_start > self.start {
            self.runs.clear_below(log_start);
            self.count_delayed();
            self.start = log_start;
            self.end = self.end.max(log_start);
            self.is_changed = true;
            self.advance();
        }
    }

    /// The log ends there, before the end of the window: what is behind it is not there.
    pub fn cut(&mut self, log_end: i64) {
        if log_end < self.end {
            self.runs.clear(log_end, i64::MAX - 1);
            self.count_delayed();
            self.end = log_end;
            self.start = self.start.min(log_end);
        }
    }

    /// What has to be made durable, if anything has changed.
    pub fn take_update(&mut self) -> Option<StateUpdate> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        self.changes.clear_below(self.start);
        let batches = std::mem::take(&mut self.changes);
        let batches = batches.iter().map(|(first, last, (state, delivery_count))| StateBatch {
            first,
            last,
            state: *state,
            delivery_count: *delivery_count,
        });
        Some(StateUpdate { start: self.start, batches: batches.collect() })
    }

    /// All records before this offset are finished.
    #[must_use]
    pub const fn start(&self) -> i64 {
        self.start
    }

    /// Everything from this offset on is new.
    #[must_use]
    pub const fn end(&self) -> i64 {
        self.end
    }

    /// When to call [`Self::tick`], if nothing happens before.
    #[must_use]
    pub const fn next_deadline(&self) -> Option<MonoTime> {
        self.first_deadline
    }

    /// Records are finished for good.
    fn finish(&mut self, first: i64, last: i64, state: DeliveryState, delivery_count: i16) {
        self.runs.set(first, last, InFlight { state: state.into(), delivery_count });
        self.changes.set(first, last, (state, delivery_count));
        self.is_changed = true;
    }

    fn count_delayed(&mut self) {
        let is_delayed = |run: &InFlight| matches!(run.state, InFlightState::Delayed(_));
        let delayed = self.runs.iter().filter(|(_, _, run)| is_delayed(run));
        self.delayed = delayed.map(|(first, last, _)| last - first + 1).sum();
    }

    /// The window begins with a record that is not finished.
    fn advance(&mut self) {
        let unfinished = self.runs.iter().find(|(_, _, run)| !run.is_finished());
        let start = unfinished.map_or(self.end, |(first, _, _)| first);
        if start > self.start {
            self.runs.clear_below(start);
            self.start = start;
        }
    }
}

#[cfg(test)]
mod tests;
