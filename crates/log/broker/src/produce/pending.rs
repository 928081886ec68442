//! Produce requests that wait for their batches to be committed.

use log_partition::Offset;
use replication_appointed::Round;
use smallvec::SmallVec;

use super::outcome::OutcomePlace;
use crate::partitions::Slot;
use crate::response::ProduceResponse;
use crate::waits::Waiter;

/// Partitions of a request, of which most have one.
pub(crate) type Slots = SmallVec<[Slot; 2]>;

/// A request that waits.
#[derive(Debug)]
pub(crate) struct PendingProduce {
    pub(crate) response: ProduceResponse,
    /// Where its client came in.
    pub(crate) listener: u16,
    /// How many of its batches have no outcome.
    pub(crate) missing: usize,
    /// Their partitions.
    pub(crate) slots: Slots,
}

/// A batch that was refused for what is remembered here, which may be old: whether this broker still leads is being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoubtedBatch {
    /// The round in which that is asked.
    pub(crate) round: Round,
    /// The request.
    pub(crate) waiter: Waiter,
    /// Where its outcome stands in the response.
    pub(crate) place: OutcomePlace,
}

/// A batch that was appended and is not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitingBatch {
    /// The offset behind it.
    pub(crate) end: Offset,
    /// The request.
    pub(crate) waiter: Waiter,
    /// Where its outcome stands in the response.
    pub(crate) place: OutcomePlace,
}
