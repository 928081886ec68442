//! A fetch that waits: what is wanted, and how much of it is enough.

use log_partition::{Isolation, LeaderEpoch, Offset};
use log_wire::FetchPartition;

use crate::response::TopicKey;
use crate::waits::Waiter;

/// What is wanted of one partition.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) topic: TopicKey,
    pub(crate) index: i32,
    pub(crate) known_epoch: LeaderEpoch,
    pub(crate) last_fetched: LeaderEpoch,
    pub(crate) from: Offset,
    pub(crate) bytes_max: usize,
}

/// A fetch that waits.
#[derive(Debug)]
pub(crate) struct PendingFetch {
    pub(crate) waiter: Waiter,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) isolation: Isolation,
    pub(crate) bytes_min: usize,
    pub(crate) bytes_max: usize,
}

impl Wanted {
    pub(crate) fn of(partition: &FetchPartition<'_>) -> Self {
        Self {
            topic: TopicKey::of(partition.topic),
            index: partition.partition,
            known_epoch: LeaderEpoch(partition.current_leader_epoch),
            last_fetched: LeaderEpoch(partition.last_fetched_epoch),
            from: Offset(partition.offset),
            bytes_max: size(partition.max_bytes),
        }
    }
}

/// A number of bytes; a negative one is none.
pub(crate) fn size(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}
