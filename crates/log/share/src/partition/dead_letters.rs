//! Records that become dead letters: each stays in the window until its letter is durable.

use super::{InFlightState, SharePartition};
use crate::state::{DeadReason, DeliveryState};

/// Records that are to become dead letters for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadLetters {
    /// The first offset.
    pub first: i64,
    /// The last offset.
    pub last: i64,
    /// Why.
    pub reason: DeadReason,
    /// How often they were delivered.
    pub delivery_count: i16,
}

impl SharePartition {
    /// The next records that are to become dead letters, at most so many.
    #[must_use]
    pub fn next_dead_letters(&self, most: u32) -> Option<DeadLetters> {
        self.runs.iter().find_map(|(first, last, run)| match run.state {
            InFlightState::Archiving(reason) => {
                let last = last.min(first.saturating_add(i64::from(most.max(1)) - 1));
                Some(DeadLetters { first, last, reason, delivery_count: run.delivery_count })
            }
            _ => None,
        })
    }

    /// The dead letters of these records are durable, or nobody wants them.
    pub fn archived(&mut self, first: i64, last: i64) {
        for (first, last, run) in self.runs.within(first, last) {
            if matches!(run.state, InFlightState::Archiving(_)) {
                self.finish(first, last, DeliveryState::Archived, run.delivery_count);
            }
        }
        self.advance();
    }

    /// Nobody gets these records any more.
    pub(super) fn bury(&mut self, (first, last): (i64, i64), reason: DeadReason, delivery_count: i16) {
        let state = match self.limits.has_dead_letters {
            true => DeliveryState::Archiving(reason),
            false => DeliveryState::Archived,
        };
        self.finish(first, last, state, delivery_count);
    }
}
