//! Produce requests that wait until their transaction's coordinator has said whether their batches may be appended. The next
//! request of the connection waits behind such a one, so batches of a producer do not overtake each other.

use std::sync::Arc;

use log_partition::PartitionId;

use crate::client::Client;
use crate::response::Form;

/// A request that waits.
#[derive(Debug)]
pub(super) struct Held {
    /// Who asks.
    pub(super) client: Arc<Client>,
    pub(super) form: Form,
    /// The body, as it came.
    pub(super) body: Vec<u8>,
    /// The partitions that its coordinator was asked about.
    pub(super) asked: Vec<PartitionId>,
    pub(super) has_answer: bool,
}
