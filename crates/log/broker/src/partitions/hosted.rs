//! A partition that lives on this broker.

use std::sync::Arc;

use log_partition::{Partition, PartitionId};
use storage_wal::LogId;

use crate::traffic::Traffic;

/// The place of a partition among those that live here. A place is used again once its partition is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) usize);

/// See the module.
#[derive(Debug)]
pub(crate) struct Hosted {
    pub(crate) id: PartitionId,
    pub(crate) topic: Arc<str>,
    pub(crate) log: LogId,
    pub(crate) partition: Partition,
    /// Whether it leads, and the beginning of its leader epoch is committed: nothing is served before (L28).
    pub(crate) is_ready: bool,
    /// Whether it has several replicas: who leads is decided by `replication` then.
    pub(crate) is_replicated: bool,
    /// Whether its lead is being handed over: clients append nothing.
    pub(crate) is_paused: bool,
    pub(crate) traffic: Traffic,
    /// Whether it was told that it has timestamps in the future.
    pub(crate) is_future_told: bool,
}

impl Hosted {
    /// One that is not served yet.
    pub(super) fn new(
        id: PartitionId,
        topic: &Arc<str>,
        log: LogId,
        mut partition: Partition,
        is_replicated: bool,
    ) -> Self {
        // No log has the number of one that was before.
        partition.set_copy(log.0);
        Self {
            id,
            topic: Arc::clone(topic),
            log,
            partition,
            is_ready: false,
            is_replicated,
            is_paused: false,
            traffic: Traffic::default(),
            is_future_told: false,
        }
    }
}
