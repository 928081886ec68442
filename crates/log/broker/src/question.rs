//! What areas ask the coordinators of transactions: whether records, or offsets, may enter a transaction.

use log_coordinators::VerifyPartitions;
use log_wire::ErrorCode;

use crate::waits::Waiter;

/// A request that waits for the answer to its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A Produce with transactional batches.
    Produce(Waiter),
    /// A TxnOffsetCommit.
    Offsets(Waiter),
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) asker: Asker,
    pub(crate) verify: VerifyPartitions,
}

/// What the coordinator says: an error, or none, for each partition in the order of the question.
pub(crate) type Verdict = Result<Vec<ErrorCode>, ErrorCode>;
