//! A partition that lives on this broker.

use std::sync::Arc;

use log_partition::{Offset, Partition, PartitionId};
use storage_wal::LogId;

use crate::figures::Traffic;

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
    /// Where the log begins on the disk: what is before that is gone for good.
    pub(crate) durable_start: Offset,
    /// Whether the beginning of the present leader epoch is durable: nothing is served before (L28).
    pub(crate) is_ready: bool,
    pub(crate) traffic: Traffic,
    /// Whether it was told that it has timestamps in the future.
    pub(crate) is_future_told: bool,
}
