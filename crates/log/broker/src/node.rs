//! What every handler of requests uses: the settings of this broker, the topics that there are, the partitions that live
//! here, producer ids, and the ways out: to clients, to the council, and to the coordinators of transactions.

use core::ops::Range;

use base::Now;
use log_coordinators::Ticket;
use log_partition::{NewBatch, PartitionConfig};
use log_wire::{ErrorCode, TopicName};

use crate::catalog::{Catalog, CatalogCommand, NewTopic};
use crate::config::BrokerConfig;
use crate::disk_work::StoredPartition;
use crate::partitions::{Hosted, Partitions, Slot};
use crate::producer_ids::ProducerIds;
use crate::question::Question;
use crate::response::Response;
use crate::waits::Waiter;

/// How many topics are asked for at once because clients named them.
const CATALOG_COMMANDS_MAX: usize = 100;

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
    pub(crate) catalog_commands: Vec<CatalogCommand>,
    /// What the coordinators of transactions are asked.
    pub(crate) questions: Vec<Question>,
    /// Answers to requests that waited.
    pub(crate) replies: Vec<(Waiter, Response)>,
    last_ticket: u64,
}

impl Node {
    pub(crate) fn new(
        config: BrokerConfig,
        topic_defaults: PartitionConfig,
        cluster_id: String,
        stored: Vec<StoredPartition>,
    ) -> Self {
        Self {
            partitions: Partitions::new(config.node_id, stored),
            config,
            cluster_id,
            topic_defaults,
            catalog: Catalog::default(),
            producer_ids: ProducerIds::default(),
            catalog_commands: Vec::new(),
            questions: Vec::new(),
            replies: Vec::new(),
            last_ticket: 0,
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
    pub(crate) fn make_topic(&mut self, new: NewTopic) {
        let command = CatalogCommand::Create(new, None);
        let is_asked = self.catalog_commands.contains(&command);
        if !is_asked && self.catalog_commands.len() < CATALOG_COMMANDS_MAX {
            self.catalog_commands.push(command);
        }
    }

    /// At most so many producer ids that nobody has; none until the council has given some.
    pub(crate) fn take_producer_ids(&mut self, count: i64) -> Range<i64> {
        let ids = self.producer_ids.take(count);
        if self.producer_ids.wants_more() {
            self.catalog_commands.push(CatalogCommand::ProducerIds);
        }
        ids
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
