//! The broker: its parts, and how what happens to one reaches the others.
//!
//! One for all threads that serve connections: a thread has it for itself for the requests of one turn.

use base::{MonoTime, Now};
use log_coordinators::Participant;
use log_partition::{Damage, PartitionConfig, PartitionId};
use log_wire::ErrorCode;
use net_event_loop::ConnId;

use crate::catalog::{CatalogCommand, TopicImage, TopicTicket};
use crate::config::BrokerConfig;
use crate::coordinators::{CoordinatorLoad, LoadOf};
use crate::disk_work::{DiskCommand, DiskEvent, StoredPartition};
use crate::fetch::Fetches;
use crate::groups::Groups;
use crate::node::Node;
use crate::partitions::PartitionEvent;
use crate::produce::Produces;
use crate::question::Asker;
use crate::response::Response;
use crate::topics::TopicCalls;
use crate::transactions::{TransactionEvent, Transactions};
use crate::waits::Waiter;

/// See the module.
#[derive(Debug)]
pub struct Broker {
    pub(crate) node: Node,
    pub(crate) produces: Produces,
    pub(crate) fetches: Fetches,
    pub(crate) topic_calls: TopicCalls,
    pub(crate) groups: Groups,
    pub(crate) transactions: Transactions,
    retention_due: MonoTime,
}

/// How often retention is looked after, milliseconds: `log.retention.check.interval.ms`.
const RETENTION_MS: u64 = 300_000;

impl Broker {
    /// A broker with what its disk held.
    #[must_use]
    pub fn new(
        config: BrokerConfig,
        topic_defaults: PartitionConfig,
        cluster_id: String,
        stored: Vec<StoredPartition>,
    ) -> Self {
        Self {
            produces: Produces::default(),
            fetches: Fetches::new(config.fetch_sessions_max, config.seed),
            topic_calls: TopicCalls::default(),
            groups: Groups::new(),
            transactions: Transactions::new(),
            retention_due: MonoTime::ZERO,
            node: Node::new(config, topic_defaults, cluster_id, stored),
        }
    }

    /// The council has committed this of a topic.
    ///
    /// # Errors
    /// What the disk holds of a partition cannot be used: it is not served, nor are those of the topic behind it until the
    /// topic is named again.
    pub fn topic_changed(&mut self, topic: TopicImage, now: Now) -> Result<(), (PartitionId, Damage)> {
        if let Some(before) = self.node.catalog.put(topic.clone()).filter(|before| before.id != topic.id) {
            self.node.partitions.drop_topic(&before);
        }
        let changed = self.node.partitions.topic_changed(&topic);
        self.after_partitions(now);
        changed
    }

    /// The topic is gone, with its records.
    pub fn topic_deleted(&mut self, name: &str, now: Now) {
        if let Some(gone) = self.node.catalog.remove(name) {
            self.node.partitions.drop_topic(&gone);
            self.after_partitions(now);
        }
    }

    /// The council has done a part of a client's request, or refused it; with the id of a new topic.
    pub fn topic_done(&mut self, ticket: TopicTicket, error: ErrorCode, id: [u8; 16]) {
        self.topic_calls.done(&mut self.node, ticket, error, id);
    }

    /// The council has given a block of producer ids to this broker, and gives it to nobody else.
    pub fn producer_ids_given(&mut self, block: core::ops::Range<i64>, now: Now) {
        self.node.producer_ids.given(block);
        self.transactions.producer_ids_given(&mut self.node, now);
        self.settle(now);
    }

    /// Every topic of the council was named. Gives the partitions on the disk whose topics it does not know. They are kept: a
    /// council may have been brought back from a backup that is older than they are.
    #[must_use]
    pub fn catalog_complete(&mut self) -> Vec<PartitionId> {
        self.node.catalog.complete();
        self.node.partitions.unclaimed()
    }

    /// Takes what the disk is to do, in order.
    pub fn take_disk_commands(&mut self) -> Vec<DiskCommand> {
        self.node.partitions.take_disk_commands()
    }

    /// Takes what the council is asked for.
    pub fn take_catalog_commands(&mut self) -> Vec<CatalogCommand> {
        std::mem::take(&mut self.node.catalog_commands)
    }

    /// Takes answers to requests that waited.
    pub fn take_done(&mut self) -> Vec<(Waiter, Response)> {
        std::mem::take(&mut self.node.replies)
    }

    /// Something happened on the disk.
    pub fn disk_event(&mut self, event: DiskEvent, now: Now) {
        let Node { partitions, catalog, topic_defaults, .. } = &mut self.node;
        partitions.disk_event(event, catalog, *topic_defaults);
        self.after_partitions(now);
    }

    /// Time passes.
    pub fn tick(&mut self, now: Now) {
        self.produces.expire(&mut self.node, now);
        self.fetches.expire(&mut self.node, now);
        self.topic_calls.expire(&mut self.node, now);
        self.groups.tick(&mut self.node, now);
        self.transactions.tick(&mut self.node, now);
        self.settle(now);
        if self.retention_due <= now.mono() {
            self.retention_due = now.mono().plus_ms(RETENTION_MS);
            self.node.partitions.retain(now);
            self.after_partitions(now);
        }
    }

    /// When to call [`Self::tick`], if nothing happens before.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        let deadlines = [
            self.produces.next_deadline(),
            self.fetches.next_deadline(),
            self.topic_calls.next_deadline(),
            self.groups.next_deadline(),
            self.transactions.next_deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// A connection is gone: nothing waits for it any more.
    pub fn disconnected(&mut self, shard: u16, conn: ConnId) {
        self.produces.disconnected(shard, conn);
        self.fetches.disconnected(shard, conn);
        self.topic_calls.disconnected(shard, conn);
        self.groups.disconnected(shard, conn);
        self.transactions.disconnected(shard, conn);
        self.node.replies.retain(|(waiter, _)| waiter.shard != shard || waiter.conn != conn);
    }

    /// Whether so much is on its way to the disk that no more should be read from producers.
    #[must_use]
    pub const fn is_congested(&self) -> bool {
        let bytes = self.node.partitions.unflushed_bytes() + self.produces.held_bytes();
        bytes > self.node.config.unflushed_bytes_max
    }

    /// What a coordinator wants to read next. It is answered with [`Self::loaded`].
    #[must_use]
    pub fn next_load(&self) -> Option<CoordinatorLoad> {
        let of_groups = self.groups.coordinators.next_load(&self.node, LoadOf::Groups);
        of_groups.or_else(|| self.transactions.next_load(&self.node))
    }

    /// A coordinator gets what was read.
    pub fn loaded(&mut self, load: &CoordinatorLoad, bytes: &[u8], now: Now) {
        match load.of {
            LoadOf::Groups => self.groups.coordinators.loaded(&self.node, load, bytes, now),
            LoadOf::Transactions => self.transactions.loaded(&mut self.node, load, bytes, now),
        }
        self.settle(now);
    }

    /// What happened to partitions reaches who waits for it.
    fn after_partitions(&mut self, now: Now) {
        for event in self.node.partitions.take_events() {
            match event {
                PartitionEvent::Ready(slot) => {
                    self.groups.ready(&self.node, slot);
                    self.transactions.ready(&self.node, slot);
                }
                PartitionEvent::Committed(slot, bytes) => {
                    self.produces.committed(&mut self.node, slot);
                    self.fetches.committed(&mut self.node, slot, bytes);
                    self.groups.committed(&mut self.node, slot, now);
                    self.transactions.committed(&mut self.node, slot, now);
                }
                PartitionEvent::Gone(slot) => {
                    self.produces.gone(&mut self.node, slot);
                    self.fetches.changed(&mut self.node, slot);
                    self.groups.gone(&mut self.node, slot);
                    self.transactions.gone(&mut self.node, slot, now);
                }
            }
        }
        self.settle(now);
    }

    /// What areas ask of each other is done, in order, until nothing is left.
    pub(crate) fn settle(&mut self, now: Now) {
        loop {
            for question in std::mem::take(&mut self.node.questions) {
                self.transactions.ask(&mut self.node, question, now);
            }
            for (ticket, answer) in self.groups.take_ended() {
                self.transactions.offsets_marker_done(&mut self.node, ticket, &answer, now);
            }
            let Some(event) = self.transactions.next_event() else { return };
            self.do_for_transactions(event, now);
        }
    }

    fn do_for_transactions(&mut self, event: TransactionEvent, now: Now) {
        let Self { node, transactions, groups, produces, .. } = self;
        match event {
            TransactionEvent::Answered(Asker::Produce(waiter), verdict) => {
                produces.verified(node, waiter, &verdict, now);
            }
            TransactionEvent::Answered(Asker::Offsets(waiter), verdict) => {
                groups.verified(node, waiter, &verdict, now);
            }
            TransactionEvent::Marker(ticket, Participant::Partition(topic, index), marker) => {
                transactions.write_marker(node, ticket, (&topic, index), &marker, now);
            }
            TransactionEvent::Marker(ticket, Participant::Offsets(partition), marker) => {
                groups.end_transaction(node, ticket, partition, marker, now);
            }
        }
    }
}
