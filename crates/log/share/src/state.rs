//! The durable state of a share partition, and how it changes.

use log_coordinators::{Text, TopicId};

use crate::runs::Runs;

/// A share partition: a group at a partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShareKey {
    /// The group.
    pub group: Text,
    /// The topic.
    pub topic: TopicId,
    /// The number of the partition.
    pub partition: i32,
}

/// What became of a record that was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It may be delivered again.
    Available,
    /// It was accepted.
    Acknowledged,
    /// It is not delivered any more.
    Archived,
    /// It is not delivered any more, and becomes a dead letter before it is archived.
    Archiving(DeadReason),
}

/// Why a record becomes a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadReason {
    /// A member has rejected it.
    Rejected,
    /// It was delivered as often as it may be.
    DeliveredTooOften,
    /// Its time to live is over.
    Expired,
}

/// Records that are in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateBatch {
    /// The first offset.
    pub first: i64,
    /// The last offset.
    pub last: i64,
    /// Their state.
    pub state: DeliveryState,
    /// How often they were delivered.
    pub delivery_count: i16,
}

/// What has changed since the update before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateUpdate {
    /// All records before this offset are finished.
    pub start: i64,
    /// Records behind it, in another state than before.
    pub batches: Vec<StateBatch>,
}

impl StateUpdate {
    /// A later update follows this one: both become one, which is not longer than the records that they name.
    pub fn join(&mut self, later: &Self) {
        self.start = self.start.max(later.start);
        let mut runs = Runs::default();
        for batch in self.batches.iter().chain(&later.batches) {
            runs.set(batch.first, batch.last, (batch.state, batch.delivery_count));
        }
        runs.clear_below(self.start);
        self.batches = batches_of(&runs).collect();
    }
}

fn batches_of(runs: &Runs<(DeliveryState, i16)>) -> impl Iterator<Item = StateBatch> {
    runs.iter().map(|(first, last, (state, delivery_count))| StateBatch {
        first,
        last,
        state: *state,
        delivery_count: *delivery_count,
    })
}

/// A share partition without its records, as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSummary {
    /// The topic.
    pub topic: TopicId,
    /// The number of the partition.
    pub partition: i32,
    /// As in [`ShareState::leader_epoch`].
    pub leader_epoch: i32,
    /// As in [`ShareState::start`].
    pub start: i64,
    /// As [`ShareState::finished`].
    pub finished: i64,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareState {
    /// Rises when the state is set anew, by an administrator.
    pub state_epoch: i32,
    /// That of the leader of the topic's partition that wrote last.
    pub leader_epoch: i32,
    /// All records before this offset are finished; -1 if nobody has read yet.
    pub start: i64,
    pub(crate) runs: Runs<(DeliveryState, i16)>,
}

impl DeliveryState {
    /// Kafka's number. It has one for all reasons.
    #[must_use]
    pub const fn number(self) -> i8 {
        match self {
            Self::Available => 0,
            Self::Acknowledged => 2,
            Self::Archiving(DeadReason::Rejected) => 3,
            Self::Archived => 4,
            Self::Archiving(DeadReason::DeliveredTooOften) => 5,
            Self::Archiving(DeadReason::Expired) => 6,
        }
    }

    /// The state of that number, if there is one.
    #[must_use]
    pub const fn of(number: i8) -> Option<Self> {
        match number {
            0 => Some(Self::Available),
            2 => Some(Self::Acknowledged),
            3 => Some(Self::Archiving(DeadReason::Rejected)),
            4 => Some(Self::Archived),
            5 => Some(Self::Archiving(DeadReason::DeliveredTooOften)),
            6 => Some(Self::Archiving(DeadReason::Expired)),
            _ => None,
        }
    }
}

impl ShareState {
    /// Where nobody has read yet.
    pub const NO_START: i64 = -1;

    /// A share partition that begins there.
    #[must_use]
    pub fn new(state_epoch: i32, start: i64) -> Self {
        Self { state_epoch, leader_epoch: 0, start, runs: Runs::default() }
    }

    /// Takes a change over.
    pub fn apply(&mut self, update: &StateUpdate) {
        self.start = self.start.max(update.start);
        for batch in &update.batches {
            self.runs.set(batch.first, batch.last, (batch.state, batch.delivery_count));
        }
        self.runs.clear_below(self.start);
    }

    /// Records behind the start whose state is known; all others were never delivered, or are with a member.
    pub fn batches(&self) -> impl Iterator<Item = StateBatch> {
        batches_of(&self.runs)
    }

    /// How many records behind the start are finished.
    #[must_use]
    pub fn finished(&self) -> i64 {
        let finished = self.batches().filter(|batch| batch.state != DeliveryState::Available);
        finished.map(|batch| batch.last - batch.first + 1).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(first: i64, last: i64, state: DeliveryState) -> StateBatch {
        StateBatch { first, last, state, delivery_count: 1 }
    }

    #[test]
    fn updates_that_were_joined_do_what_both_do_and_name_each_record_once() {
        use DeliveryState::{Acknowledged, Available};
        let earlier = StateUpdate { start: 2, batches: vec![batch(3, 9, Available)] };
        let later =
            StateUpdate { start: 4, batches: vec![batch(5, 5, Acknowledged), batch(9, 12, Available)] };
        let (mut one, mut other) = (ShareState::new(0, 0), ShareState::new(0, 0));
        one.apply(&earlier);
        one.apply(&later);
        let mut joined = earlier;
        joined.join(&later);
        other.apply(&joined);
        assert_eq!(one, other);
        let expected = [batch(4, 4, Available), batch(5, 5, Acknowledged), batch(6, 12, Available)];
        assert_eq!((joined.start, joined.batches), (4, expected.to_vec()));
    }
}
