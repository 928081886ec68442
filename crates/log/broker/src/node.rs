//! What every handler of requests uses: the settings of this broker, the topics that there are, the partitions that live
//! here, producer ids, and the ways out: to clients, to the council, and to the coordinators of transactions.

use core::ops::Range;

use std::sync::Arc;

use base::{Now, Random};
use log_coordinators::Ticket;
use log_metadata::paths;
use log_partition::{NewBatch, PartitionConfig};
use log_wire::{ErrorCode, TopicName};

use crate::catalog::{Catalog, NewTopic, change};
use crate::config::BrokerConfig;
use crate::council::{Changes, Purpose};
use crate::disk_work::StoredPartition;
use crate::notice::Notice;
use crate::partitions::{Hosted, Partitions, Slot};
use crate::producer_ids::{ProducerIds, take_block};
use crate::question::Question;
use crate::response::Response;
use crate::waits::Waiter;

/// Topics that clients have named are made only while fewer changes than this are with the council.
const CHANGES_FOR_NAMES_MAX: usize = 100;

/// Ids come from other random numbers than everything else that comes from the broker's seed.
const SEED_OF_IDS: u64 = 0x746f_7069_6373_0000;

/// See the module.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) config: BrokerConfig,
    pub(crate) cluster_id: String,
    /// What holds for topics that do not say otherwise.
    pub(crate) topic_defaults: PartitionConfig,
    pub(crate) catalog: Catalog,
    pub(crate) partitions: Partitions,
    pub(crate) producer_ids: ProducerIds,
    /// What the council is asked for.
    pub(crate) council: Changes,
    /// What the coordinators of transactions are asked.
    pub(crate) questions: Vec<Question>,
    /// Answers to requests that waited.
    pub(crate) replies: Vec<(Waiter, Response)>,
    /// What the operator should know.
    pub(crate) notices: Vec<Notice>,
    last_ticket: u64,
    random: Random,
}

impl Node {
    pub(crate) fn new(
        config: BrokerConfig,
        topic_defaults: PartitionConfig,
        cluster_id: String,
        stored: Vec<StoredPartition>,
    ) -> Self {
        let seed = config.seed ^ SEED_OF_IDS;
        Self {
            partitions: Partitions::new(config.node_id, stored),
            config,
            cluster_id,
            topic_defaults,
            catalog: Catalog::default(),
            producer_ids: ProducerIds::default(),
            council: Changes::default(),
            questions: Vec::new(),
            replies: Vec::new(),
            notices: Vec::new(),
            last_ticket: 0,
            random: Random::new(seed),
        }
    }

    /// A ticket that nothing else has.
    pub(crate) const fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    /// Answers a request that waited.
    pub(crate) fn reply(&mut self, waiter: Waiter, response: Response) {
        self.replies.push((waiter, response));
    }

    /// Asks the council for a topic that nobody waits for. If the council has much to do already, the client asks again later.
    pub(crate) fn make_topic(&mut self, new: &NewTopic) {
        let purpose = Purpose::Topic(Arc::clone(&new.name));
        if self.council.len() < CHANGES_FOR_NAMES_MAX && !self.council.has(&purpose) {
            let compute = change::create(new, self.draw_id(), self.config.node_id);
            self.council.ask(paths::topic(&new.name), purpose, compute);
        }
    }

    /// At most so many producer ids that nobody has; none until the council has given some.
    pub(crate) fn take_producer_ids(&mut self, count: i64) -> Range<i64> {
        let ids = self.producer_ids.take(count);
        if self.producer_ids.wants_more() {
            self.council.ask(paths::PRODUCER_IDS.into(), Purpose::ProducerIds, take_block);
        }
        ids
    }

    /// An id that no topic has or will have.
    pub(crate) fn draw_id(&mut self) -> [u8; 16] {
        let (high, low) = (self.random.number(), self.random.number());
        let mut id = [0; 16];
        let (first, second) = id.split_at_mut(8);
        first.copy_from_slice(&high.to_be_bytes());
        second.copy_from_slice(&low.to_be_bytes());
        id
    }

    /// Sends a batch that was appended to the disk.
    pub(crate) fn store(&mut self, slot: Slot, new: NewBatch, now: Now) {
        self.partitions.store(slot, new, now);
    }

    /// The partition of a request, if it is served here.
    ///
    /// # Errors
    /// As [`Partitions::find`].
    pub(crate) fn find(&self, topic: TopicName<'_>, index: i32) -> Result<(Slot, &Hosted), ErrorCode> {
        self.partitions.find(&self.catalog, topic, index)
    }
}
