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
    /// Another broker, for one of these.
    Peer(PeerAsker),
}

/// Another broker that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerAsker {
    /// The broker.
    pub(crate) broker: i32,
    /// The number of its question.
    pub(crate) id: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) asker: Asker,
    pub(crate) verify: VerifyPartitions,
}

/// What the coordinator says: an error, or none, for each partition in the order of the question.
pub(crate) type Verdict = Result<Vec<ErrorCode>, ErrorCode>;
