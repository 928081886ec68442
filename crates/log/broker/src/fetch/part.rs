//! One partition of a fetch: what is wanted of it, and what its client was told last.

use log_partition::{LeaderEpoch, Offset};
use log_wire::FetchPartition;

use crate::partitions::Slot;
use crate::response::TopicKey;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) topic: TopicKey,
    pub(crate) index: i32,
    pub(crate) known_epoch: LeaderEpoch,
    pub(crate) last_fetched: LeaderEpoch,
    pub(crate) from: Offset,
    pub(crate) bytes_max: usize,
    /// Where the partition lives, once that was found: changes of it are heard of.
    pub(crate) slot: Option<Slot>,
    /// High watermark and start of the log, as the client was told them last.
    pub(crate) told: Option<(i64, i64)>,
    /// Whether it stands in the queue of those that may have something new.
    pub(super) is_queued: bool,
}

impl Part {
    pub(super) fn new(topic: TopicKey, wanted: &FetchPartition<'_>) -> Self {
        let mut part = Self {
            topic,
            index: wanted.partition,
            known_epoch: LeaderEpoch(-1),
            last_fetched: LeaderEpoch(-1),
            from: Offset::ZERO,
            bytes_max: 0,
            slot: None,
            told: None,
            is_queued: false,
        };
        part.want(wanted);
        part
    }

    /// The client wants this of it from now on.
    pub(super) fn want(&mut self, wanted: &FetchPartition<'_>) {
        // Any negative epoch stands for none here; in requests for offsets only -1 does.
        self.known_epoch = LeaderEpoch(wanted.current_leader_epoch.max(-1));
        self.last_fetched = LeaderEpoch(wanted.last_fetched_epoch);
        self.from = Offset(wanted.offset);
        self.bytes_max = size(wanted.max_bytes);
    }
}

/// A number of bytes; a negative one is none.
pub(super) fn size(bytes: i32) -> usize {
    usize::try_from(bytes).unwrap_or(0)
}
