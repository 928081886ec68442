//! A produce request that waits.

use crate::response::ProduceResponse;
use crate::waits::Waiter;

/// A request that waits for its batches to be committed.
#[derive(Debug)]
pub(crate) struct PendingProduce {
    pub(crate) waiter: Waiter,
    pub(crate) response: ProduceResponse,
    /// How many of its batches are not committed.
    pub(crate) missing: usize,
}
