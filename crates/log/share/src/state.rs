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
        self.runs.iter().map(|(first, last, (state, delivery_count))| StateBatch {
            first,
            last,
            state: *state,
            delivery_count: *delivery_count,
        })
    }

    /// How many records behind the start are finished.
    #[must_use]
    pub fn finished(&self) -> i64 {
        let finished = self.batches().filter(|batch| batch.state != DeliveryState::Available);
        finished.map(|batch| batch.last - batch.first + 1).sum()
    }
}
