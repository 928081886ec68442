//! Batches of producers that a partition does not know yet, refused for a reason that passes.
//!
//! A partition takes any sequence number from a producer that it does not know, as Kafka does: what it knew may have expired, and
//! a topic may have been made anew below the producer. A producer with several requests on their way could so lose its order:
//! the first batch is refused because the partition is not ready or the disk is full, the second one is taken, and the first one
//! can never come in again. So the lowest sequence number that was refused is remembered, and those above it have to wait for
//! it. (Kafka does this for transactions only, while it verifies them.)

use std::collections::{BTreeMap, VecDeque};

use log_partition::PartitionId;
use log_wire::{Batch, ErrorCode};

/// How many are remembered; above it, the oldest are forgotten.
const REMEMBERED_MAX: usize = 10_000;

type Key = (PartitionId, i64);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RefusedFirst {
    /// Epoch and lowest sequence number, by partition and producer.
    lowest: BTreeMap<Key, (i16, i32)>,
    order: VecDeque<Key>,
}

impl RefusedFirst {
    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.lowest.is_empty()
    }

    /// A batch of a producer that the partition does not know was refused, and may come again.
    pub(super) fn refused(&mut self, id: PartitionId, batch: &Batch<'_>) {
        let (key, new) = ((id, batch.producer_id()), (batch.producer_epoch(), batch.base_sequence()));
        match self.lowest.get_mut(&key) {
            Some(known) if known.0 == new.0 => known.1 = known.1.min(new.1),
            Some(known) => *known = new,
            None => {
                self.lowest.insert(key, new);
                self.order.push_back(key);
            }
        }
        while self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.lowest.remove(&oldest);
        }
    }

    /// Whether a batch of a producer that the partition does not know may be taken.
    ///
    /// # Errors
    /// `OUT_OF_ORDER_SEQUENCE_NUMBER`: one before it was refused, and has not come again.
    pub(super) fn check(&self, id: PartitionId, batch: &Batch<'_>) -> Result<(), ErrorCode> {
        let lowest = self.lowest.get(&(id, batch.producer_id()));
        match lowest.filter(|(epoch, _)| *epoch == batch.producer_epoch()) {
            Some((_, sequence)) if batch.base_sequence() > *sequence => {
                Err(ErrorCode::OutOfOrderSequenceNumber)
            }
            _ => Ok(()),
        }
    }

    /// A batch was taken: the partition knows its producer from now on.
    pub(super) fn taken(&mut self, id: PartitionId, batch: &Batch<'_>) {
        if self.lowest.remove(&(id, batch.producer_id())).is_some() {
            self.order.retain(|key| *key != (id, batch.producer_id()));
        }
    }
}
