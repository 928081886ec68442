//! A partition that lives on this broker, with those who wait for it.

use std::collections::VecDeque;
use std::sync::Arc;

use log_partition::{Offset, Partition, PartitionId};
use storage_wal::LogId;

/// See the module.
#[derive(Debug)]
pub(crate) struct Hosted {
    pub(crate) id: PartitionId,
    pub(crate) topic: Arc<str>,
    pub(crate) log: LogId,
    pub(crate) partition: Partition,
    /// Produce requests that wait for the high watermark, in the order of the offsets that they wait for.
    pub(crate) produces: VecDeque<WaitingBatch>,
    /// Fetches that wait for more.
    pub(crate) fetches: Vec<u64>,
    /// Whether the beginning of the present leader epoch is durable: nothing is served before (L28).
    pub(crate) is_ready: bool,
}

/// A batch that was appended and is not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingBatch {
    /// The offset behind it.
    pub(crate) end: Offset,
    /// The request.
    pub(crate) ticket: u64,
    /// Where in its response the outcome stands: topic and partition.
    pub(crate) place: (usize, usize),
}
