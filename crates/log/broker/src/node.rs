//! What every handler of requests uses: the settings of this broker, the topics that there are, the partitions that live
//! here, producer ids, and the ways out: to clients, to the council, and to the coordinators of transactions.

use core::ops::Range;

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{Now, Random};
use log_balance::Report;
use log_config::{Overrides, TopicConfig};
use log_coordinators::Ticket;
use log_metadata::access::ClusterSecret;
use log_metadata::{Decision, Found, paths};
use log_partition::{NewBatch, PartitionConfig};
use log_wire::{ErrorCode, TopicName};
use replication_appointed::ReplicaId;

use crate::access::Access;
use crate::brokers::Brokers;
use crate::catalog::{Catalog, NewTopic, change};
use crate::cluster_loads::ClusterLoads;
use crate::config::BrokerConfig;
use crate::config_layers::Configs;
use crate::council::{Changes, Purpose};
use crate::disk_work::{StoredPartition, Volume};
use crate::in_sync::InSync;
use crate::internal_topics::{self, InternalTopic};
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
    /// What is set: here, for all brokers, for groups.
    pub(crate) configs: Configs,
    pub(crate) catalog: Catalog,
    pub(crate) brokers: Brokers,
    pub(crate) partitions: Partitions,
    pub(crate) in_sync: InSync,
    pub(crate) access: Access,
    pub(crate) producer_ids: ProducerIds,
    /// What the council is asked for.
    pub(crate) council: Changes,
    /// What the coordinators of transactions are asked.
    pub(crate) questions: Vec<Question>,
    /// The share groups that there are, with their states.
    pub(crate) share_groups: BTreeMap<Arc<str>, &'static str>,
    /// Share groups that are to be deleted.
    pub(crate) share_deletions: Vec<(Ticket, String)>,
    /// Answers to requests that waited.
    pub(crate) replies: Vec<(Waiter, Response)>,
    /// What the operator should know.
    pub(crate) notices: Vec<Notice>,
    /// What brokers have told of their loads, if this one is the controller.
    pub(crate) loads: ClusterLoads,
    /// What the controller has balanced, and why.
    pub(crate) balance_report: Report,
    /// What is known of the disk's size.
    pub(crate) volume: Option<Volume>,
    last_ticket: u64,
    random: Random,
}

impl Node {
    pub(crate) fn new(config: BrokerConfig, cluster_id: String, stored: Vec<StoredPartition>) -> Self {
        let seed = config.seed ^ SEED_OF_IDS;
        Self {
            partitions: Partitions::new(config.node_id, stored),
            in_sync: InSync::new(config.leaders.lag_ms),
            access: Access::new(&config),
            configs: Configs::new(config.node_id, config.properties.clone(), &config.log_level),
            brokers: Brokers::new(config.node_id, config.listeners.clone(), config.rack.clone()),
            config,
            cluster_id,
            catalog: Catalog::default(),
            producer_ids: ProducerIds::default(),
            council: Changes::default(),
            questions: Vec::new(),
            share_groups: BTreeMap::new(),
            share_deletions: Vec::new(),
            replies: Vec::new(),
            notices: Vec::new(),
            loads: ClusterLoads::default(),
            balance_report: Report::default(),
            volume: None,
            last_ticket: 0,
            random: Random::new(seed),
        }
    }

    /// Gives the cluster a secret, if it has none: what all its brokers know and nobody else.
    pub(crate) fn claim_secret(&mut self) {
        if self.access.authentication.is_secret_known {
            return;
        }
        let secret = ClusterSecret(self.config.secrets.cluster).bytes();
        self.council.ask(paths::SECRET.into(), Purpose::Secret, move |found: Found<'_>| {
            found.data.map_or_else(|| Decision::Write(secret.clone()), |_| Decision::Keep)
        });
    }

    /// A ticket that nothing else has.
    pub(crate) const fn ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    /// What is in force for a topic that sets this.
    pub(crate) fn topic_config(&self, settings: &Overrides) -> TopicConfig {
        TopicConfig::of(&self.configs.topic(settings))
    }

    /// What its partitions act on.
    pub(crate) fn partition_config(&self, settings: &Overrides) -> PartitionConfig {
        let config = self.topic_config(settings).partition_config(self.config.producers);
        let segment_bytes = config.segment_bytes.min(self.config.segment_bytes_max);
        PartitionConfig { segment_bytes, ..config }
    }

    /// The partitions of a topic act on what is in force by now.
    pub(crate) fn configure(&mut self, name: &str) {
        let Ok(topic) = self.catalog.find(TopicName::Name(name)) else { return };
        let config = self.partition_config(&topic.settings);
        if config != topic.config
            && let Some(topic) = self.catalog.configure(name, config)
        {
            self.partitions.configure(topic);
        }
    }

    /// Answers a request that waited.
    pub(crate) fn reply(&mut self, waiter: Waiter, response: Response) {
        self.replies.push((waiter, response));
    }

    /// At most so many producer ids that nobody has; none until the council has given some.
    pub(crate) fn take_producer_ids(&mut self, count: i64) -> Range<i64> {
        let ids = self.producer_ids.take(count);
        if self.producer_ids.wants_more() {
            self.council.ask_to_count(paths::PRODUCER_IDS.into(), Purpose::ProducerIds, take_block);
        }
        ids
    }

    /// Asks the council for a topic that a client has named, or that brokers keep their state in. No request waits for it: if the
    /// council has much to do already, the client asks again later.
    pub(crate) fn make_topic_by_name(&mut self, name: &str) {
        self.make_topic_with(name, Overrides::new());
    }

    /// The same, with settings unless it is an internal topic.
    pub(crate) fn make_topic_with(&mut self, name: &str, settings: Overrides) {
        let purpose = Purpose::Topic(name.into());
        if self.council.len() >= CHANGES_FOR_NAMES_MAX || self.council.has(&purpose) {
            return;
        }
        let (partitions, factor, settings) = match internal_topics::of(name, &self.config) {
            Some(InternalTopic { partitions, replicas, settings }) => {
                let live = i16::try_from(self.brokers.that_take_replicas().count()).unwrap_or(i16::MAX);
                (partitions, replicas.min(live), settings)
            }
            None if self.catalog.check_name(name).is_ok() => {
                (self.config.partitions, self.config.replication_factor, settings)
            }
            None => return,
        };
        // With too few brokers it is not made for now: a client asks again.
        if let Some(replicas) = self.place_one(partitions.into(), factor) {
            let new = NewTopic { name: name.into(), replicas, settings };
            let compute = change::create(&new, self.draw_id());
            self.council.ask(paths::topic(name), purpose, compute);
        }
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

    /// Whether a broker is this one, or is connected to it.
    pub(crate) fn is_reached(&self, broker: i32) -> bool {
        broker == self.config.node_id || self.in_sync.reaches(ReplicaId(broker.cast_unsigned()))
    }

    /// Sends a batch that was appended to the disk.
    pub(crate) fn store(&mut self, slot: Slot, new: NewBatch, now: Now) {
        self.partitions.store(slot, new, now);
    }

    /// Whether nothing of a topic is still to be served here: all of it is, or the topic is gone.
    pub(crate) fn serves(&self, topic: &str) -> bool {
        let found = self.catalog.find(TopicName::Name(topic));
        found.map_or(true, |topic| self.partitions.serves(topic))
    }

    /// The partition of a request, if it is served here.
    ///
    /// # Errors
    /// As [`Partitions::find`].
    pub(crate) fn find(&self, topic: TopicName<'_>, index: i32) -> Result<(Slot, &Hosted), ErrorCode> {
        self.partitions.find(&self.catalog, topic, index)
    }
}
