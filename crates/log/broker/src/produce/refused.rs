//! Batches of producers that a partition does not know yet, refused for a reason that passes.
//!
//! A partition takes any sequence number from a producer that it does not know, as Kafka does: what it knew may have expired, and
//! a topic may have been made anew below the producer. A producer with several requests on their way could so lose its order:
//! the first batch is refused because the partition is not ready or the disk is full, the second one is taken, and the first one
//! can never come in again. So the lowest sequence number that was refused is remembered, and those above it have to wait for
//! it. (Kafka does this for transactions only, while it verifies them.)
//!
//! It is remembered only for as long as clients try again. Another broker may lead, and have taken what was refused here. If this
//! one leads long after that, and does not know the producer because what it knew has expired, any sequence number may be the next.

use std::collections::{BTreeMap, VecDeque};

use base::MonoTime;
use log_wire::{Batch, ErrorCode, TopicName};

use crate::catalog::NAME_BYTES_MAX;

/// How many are remembered; above it, the oldest are forgotten.
const REMEMBERED_MAX: usize = 10_000;
/// For how long one is remembered, milliseconds: the longest time for which widespread clients try again by default
/// (`message.timeout.ms` of librdkafka; Java's `delivery.timeout.ms` is shorter).
const REMEMBERED_MS: u64 = 300_000;

/// A partition as requests name it: its topic may not be known here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Named {
    topic: Topic,
    index: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Id([u8; 16]),
    Name(Box<str>),
}

impl Named {
    /// Nothing for a name that no topic can have.
    pub(super) fn new(topic: TopicName<'_>, index: i32) -> Option<Self> {
        let topic = match topic {
            TopicName::Id(id) => Topic::Id(id),
            TopicName::Name(name) if name.len() <= NAME_BYTES_MAX => Topic::Name(name.into()),
            TopicName::Name(_) => return None,
        };
        Some(Self { topic, index })
    }
}

type Key = (Named, i64);

/// What is remembered of a producer.
#[derive(Clone, Copy, Debug)]
struct Lowest {
    epoch: i16,
    sequence: i32,
    until: MonoTime,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RefusedFirst {
    /// By partition and producer.
    lowest: BTreeMap<Key, Lowest>,
    order: VecDeque<Key>,
}

impl RefusedFirst {
    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.lowest.is_empty()
    }

    /// A batch of a producer that the partition does not know was refused, and may come again.
    pub(super) fn refused(&mut self, partition: Named, batch: &Batch<'_>, now: MonoTime) {
        let (key, until) = ((partition, batch.producer_id()), now.plus_ms(REMEMBERED_MS));
        let new = Lowest { epoch: batch.producer_epoch(), sequence: batch.base_sequence(), until };
        match self.lowest.get_mut(&key) {
            Some(known) if known.epoch == new.epoch && now < known.until => {
                *known = Lowest { sequence: known.sequence.min(new.sequence), ..new };
            }
            Some(known) => *known = new,
            None => {
                self.order.push_back(key.clone());
                self.lowest.insert(key, new);
            }
        }
        while self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.lowest.remove(&oldest);
        }
    }

    /// Forgets what came long ago, as far as nothing before it came again.
    pub(super) fn forget_old(&mut self, now: MonoTime) {
        while let Some(oldest) = self.order.front()
            && self.lowest.get(oldest).is_none_or(|of| of.until <= now)
        {
            self.lowest.remove(oldest);
            self.order.pop_front();
        }
    }

    /// Whether a batch of a producer that the partition does not know may be taken.
    ///
    /// # Errors
    /// `OUT_OF_ORDER_SEQUENCE_NUMBER`: one before it was refused, and has not come again.
    pub(super) fn check(&self, partition: Named, batch: &Batch<'_>, now: MonoTime) -> Result<(), ErrorCode> {
        let lowest = self.lowest.get(&(partition, batch.producer_id()));
        let lowest = lowest.filter(|of| of.epoch == batch.producer_epoch() && now < of.until);
        match lowest {
            Some(of) if batch.base_sequence() > of.sequence => Err(ErrorCode::OutOfOrderSequenceNumber),
            _ => Ok(()),
        }
    }

    /// A batch was taken: the partition knows its producer from now on.
    pub(super) fn taken(&mut self, partition: Named, batch: &Batch<'_>) {
        let taken = (partition, batch.producer_id());
        if self.lowest.remove(&taken).is_some() {
            self.order.retain(|key| *key != taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use log_wire::{Attributes, BatchBuilder, Producer};

    use super::*;

    fn batch_of(id: i64) -> Vec<u8> {
        let mut batch = BatchBuilder::new(Attributes(0), Producer { id, epoch: 0, base_sequence: 3 });
        batch.push(1_000, None, Some(b"value"), &[]);
        batch.finish().to_vec()
    }

    #[test]
    fn name_that_no_topic_can_have_is_not_remembered() {
        assert!(Named::new(TopicName::Name(&"t".repeat(249)), 0).is_some());
        assert!(Named::new(TopicName::Name(&"t".repeat(250)), 0).is_none());
    }

    #[test]
    fn what_was_refused_long_ago_takes_no_room() {
        let mut refused = RefusedFirst::default();
        let at = |ms| MonoTime::ZERO.plus_ms(ms);
        for producer in 0..3 {
            let bytes = batch_of(producer);
            let (batch, _) = Batch::read(&bytes).expect("it is whole");
            let partition = Named::new(TopicName::Name("t"), 0).expect("it is short");
            refused.refused(partition, &batch, at(100 * producer.unsigned_abs()));
        }
        refused.forget_old(at(REMEMBERED_MS - 1));
        assert_eq!((refused.lowest.len(), refused.order.len()), (3, 3));
        refused.forget_old(at(REMEMBERED_MS + 100));
        assert_eq!((refused.lowest.len(), refused.order.len()), (1, 1));
        refused.forget_old(at(REMEMBERED_MS + 200));
        assert!(refused.is_empty() && refused.order.is_empty());
    }
}
