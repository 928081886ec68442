//! What a broker acts on: the configurations under Kafka's names, and limits of our own.
//!
//! What stands in `server.properties` is kept besides, as it is written ([`ServerProperties`]): of it and of what is set while
//! the broker runs comes what is in force, and what is shown.

use core::fmt;
use std::sync::Arc;

use log_access::AuthorizerConfig;
use log_access::quota::QuotaWindows;
use log_config::{
    BalanceSettings, GroupSettings, GroupTime, InternalTopic, LeaderSettings, LogMaintenance, NetworkLimits,
    Overrides, TopicCreation, TransactionSettings, Values,
};
use log_coordinators::{Assignor, ConsumerLimits, GroupLimits, MigrationPolicy, TransactionLimits};
use log_partition::ProducerLimits;
use net_auth::AttemptLimits;

use crate::listener::BrokerListener;

/// See the module.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// `node.id`.
    pub node_id: i32,
    /// Rises with each start.
    pub incarnation: u64,
    /// `listeners`, `advertised.listeners`, `listener.security.protocol.map`: there is at least one.
    pub listeners: Vec<BrokerListener>,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// Who leads, and which replicas are in sync: `leader.imbalance.*`, `replica.lag.time.max.ms`.
    pub leaders: LeaderSettings,
    /// `server.properties`.
    pub properties: ServerProperties,
    /// `auto.create.topics.enable`.
    pub auto_create_topics: bool,
    /// `delete.topic.enable`.
    pub delete_topics: bool,
    /// `num.partitions`.
    pub partitions: i32,
    /// `default.replication.factor`.
    pub replication_factor: i16,
    /// `offsets.topic.*`.
    pub offsets_topic: InternalTopic,
    /// Groups: `group.*` and `offset.*`.
    pub groups: GroupLimits,
    /// Share groups.
    pub share: ShareConfig,
    /// Dead letters of share groups.
    pub dead_letters: DeadLetterConfig,
    /// `transaction.state.log.*`.
    pub transactions_topic: InternalTopic,
    /// Transactions: `transaction.*` and `transactional.*`.
    pub transactions: TransactionLimits,
    /// `producer.id.expiration.ms`, and how many producers a partition knows.
    pub producers: ProducerLimits,
    /// Drawn once for each start: ids of members come of it.
    pub seed: u64,
    /// `log.retention.check.interval.ms`.
    pub retention_check_ms: u64,
    /// `socket.request.max.bytes`.
    pub request_bytes_max: usize,
    /// `fetch.max.bytes`: of one response.
    pub fetch_bytes_max: usize,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_sessions_max: usize,
    /// `max.request.partition.size.limit`: partitions in one answer to DescribeTopicPartitions.
    pub described_partitions_max: i32,
    /// Bytes of a segment of any partition, whatever its topic says.
    pub segment_bytes_max: u64,
    /// Bytes of a request other than Produce.
    pub body_bytes_max: usize,
    /// Requests of one connection that wait for their answers.
    pub requests_in_flight_max: usize,
    /// Fetches that wait, of all connections: above it, they are answered at once.
    pub waiting_fetches_max: usize,
    /// Bytes that were read of requests that are not handled yet, of all connections: `queued.max.request.bytes`.
    pub unfinished_bytes_max: usize,
    /// Bytes of answers that are not sent yet, of all connections: above it, large answers wait.
    pub unsent_bytes_max: usize,
    /// Bytes of answers of one connection that are not sent yet: above it, its next request waits.
    pub unsent_bytes_per_connection_max: usize,
    /// `connections.max.idle.ms`; nothing if a silent connection is never closed.
    pub idle_ms_max: Option<u64>,
    /// `authorizer.class.name`, `super.users`, `allow.everyone.if.no.acl.found`; nothing if everybody may do everything.
    pub authorizer: Option<AuthorizerConfig>,
    /// How long a client may take to prove who it is, milliseconds.
    pub authentication_ms_max: u64,
    /// `connection.failed.authentication.delay.ms`.
    pub failed_authentication_delay_ms: u64,
    /// How often clients of an address may fail to authenticate.
    pub attempts: AttemptLimits,
    /// What nobody else knows.
    pub secrets: BrokerSecrets,
    /// `quota.window.*`, `controller.quota.window.*`.
    pub quota_windows: QuotaWindows,
    /// The time that the calling thread has worked, nanoseconds since some start: read around a request if its client has a
    /// quota of `request_percentage`. By default it stands still, and no request counts.
    pub worked_ns: fn() -> u64,
    /// Bytes of batches that are appended and not durable, or that wait for the coordinator of their transaction: above it,
    /// producers are read more slowly.
    pub unflushed_bytes_max: usize,
    /// `log.cleaner.enable`.
    pub compacts: bool,
    /// `log.cleaner.dedupe.buffer.size`: bytes of the map of keys.
    pub compaction_map_bytes_max: usize,
    /// What the driver logs from: the level of the root logger, as Kafka writes it.
    pub log_level: String,
    /// How fast copies are made that a throttle names.
    pub replication_rates: ReplicationRates,
    /// `diwan.balance.*`.
    pub balance: BalanceSettings,
    /// `log.cleaner.backoff.ms`: how often it is looked for a partition to compact, milliseconds.
    pub compaction_check_ms: u64,
}

impl Default for BrokerConfig {
    #[expect(clippy::too_many_lines, reason = "a list: a line for each value")]
    fn default() -> Self {
        Self {
            node_id: 1,
            incarnation: 1,
            listeners: vec![BrokerListener::default()],
            rack: None,
            leaders: LeaderSettings::default(),
            properties: ServerProperties::default(),
            auto_create_topics: true,
            delete_topics: true,
            partitions: 1,
            replication_factor: 1,
            offsets_topic: InternalTopic::default(),
            groups: GroupLimits::default(),
            share: ShareConfig::default(),
            dead_letters: DeadLetterConfig::default(),
            transactions_topic: InternalTopic::default(),
            transactions: TransactionLimits::default(),
            producers: ProducerLimits::default(),
            seed: 0,
            retention_check_ms: 300_000,
            request_bytes_max: 104_857_600,
            fetch_bytes_max: 57_671_680,
            fetch_sessions_max: 1_000,
            described_partitions_max: 2_000,
            segment_bytes_max: u64::MAX,
            body_bytes_max: 4 << 20,
            requests_in_flight_max: 1_000,
            waiting_fetches_max: 100_000,
            unfinished_bytes_max: 256 << 20,
            unsent_bytes_max: 256 << 20,
            unsent_bytes_per_connection_max: 256 << 10,
            idle_ms_max: Some(600_000),
            authorizer: None,
            authentication_ms_max: 10_000,
            failed_authentication_delay_ms: 100,
            attempts: AttemptLimits { attempts_max: 100, refill_ms: 200 },
            secrets: BrokerSecrets::default(),
            quota_windows: QuotaWindows::default(),
            worked_ns: || 0,
            unflushed_bytes_max: 64 << 20,
            compacts: true,
            compaction_map_bytes_max: 128 << 20,
            log_level: String::from("INFO"),
            replication_rates: ReplicationRates::default(),
            balance: BalanceSettings::default(),
            compaction_check_ms: 15_000,
        }
    }
}

/// Bytes a second, or nothing for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicationRates {
    /// `leader.replication.throttled.rate`: of everything that this broker sends under a throttle.
    pub leader: Option<u64>,
    /// `follower.replication.throttled.rate`: of what it sends to one follower.
    pub follower: Option<u64>,
}

/// Share groups: what holds for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareConfig {
    /// `group.share.max.size`.
    pub size_max: usize,
    /// `group.share.max.share.sessions`.
    pub sessions_max: usize,
    /// `share.coordinator.state.topic.*`.
    pub state_topic: InternalTopic,
    /// `share.coordinator.snapshot.update.records.per.snapshot`.
    pub updates_per_snapshot: i32,
}

impl Default for ShareConfig {
    fn default() -> Self {
        Self {
            size_max: 200,
            sessions_max: 2_000,
            state_topic: InternalTopic::default(),
            updates_per_snapshot: 500,
        }
    }
}

impl ShareConfig {
    fn of(values: &impl Values, of: &GroupSettings) -> Self {
        let whole = |name: &str| values.whole(name).unwrap_or_default();
        let count = |name: &str| i32::try_from(whole(name)).unwrap_or(i32::MAX);
        Self {
            size_max: of.share_size_max,
            sessions_max: of.share_sessions_max,
            state_topic: of.share_topic,
            updates_per_snapshot: count("share.coordinator.snapshot.update.records.per.snapshot"),
        }
    }
}

/// Dead letters of share groups (KIP-1191).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterConfig {
    /// `errors.deadletterqueue.topic.name.prefix`.
    pub prefix: String,
    /// `errors.deadletterqueue.auto.create.topics.enable`, or `auto.create.topics.enable`.
    pub creates_topics: bool,
}

impl Default for DeadLetterConfig {
    fn default() -> Self {
        Self { prefix: String::from("dlq."), creates_topics: true }
    }
}

impl DeadLetterConfig {
    fn of(values: &impl Values) -> Self {
        let creates =
            ["errors.deadletterqueue.auto.create.topics.enable", "auto.create.topics.enable"].iter();
        Self {
            prefix: values.text("errors.deadletterqueue.topic.name.prefix").unwrap_or_default(),
            creates_topics: creates.into_iter().any(|name| values.is_true(name)),
        }
    }
}

/// What nobody else knows: random bytes, drawn once for each start.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct BrokerSecrets {
    /// What becomes the secret of the cluster if it has none yet.
    pub cluster: [u8; 32],
    /// What only this process knows.
    pub start: [u8; 32],
}

impl fmt::Debug for BrokerSecrets {
    /// Nothing of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrokerSecrets(..)")
    }
}

impl BrokerConfig {
    /// With what is in force under Kafka's names, and limits of our own as they are by default.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        let mut config = Self::default();
        config.take(values);
        config
    }

    /// Takes what is in force under Kafka's names: at the start, and when it has changed while the broker runs.
    pub(crate) fn take(&mut self, values: &impl Values) {
        let (creation, network) = (TopicCreation::of(values), NetworkLimits::of(values));
        if let Some(id) = values.whole("node.id").and_then(|id| i32::try_from(id).ok()) {
            self.node_id = id;
        }
        self.rack = values.text("broker.rack");
        self.leaders = LeaderSettings::of(values);
        self.auto_create_topics = creation.creates_when_asked;
        self.delete_topics = creation.may_delete;
        self.partitions = creation.partitions;
        self.replication_factor = creation.replication_factor;
        let maintenance = LogMaintenance::of(values);
        self.retention_check_ms = maintenance.retention_check_ms;
        self.compacts = maintenance.compacts;
        self.compaction_map_bytes_max = maintenance.key_bytes_max;
        self.compaction_check_ms = maintenance.compaction_check_ms;
        self.request_bytes_max = network.request_bytes_max;
        self.fetch_bytes_max = network.fetch_bytes_max;
        self.fetch_sessions_max = network.fetch_sessions_max;
        self.described_partitions_max = network.described_partitions_max;
        self.take_transactions(&TransactionSettings::of(values));
        let groups = GroupSettings::of(values);
        self.take_groups(&groups);
        self.share = ShareConfig::of(values, &groups);
        self.dead_letters = DeadLetterConfig::of(values);
        self.balance = BalanceSettings::of(values);
        let rates = log_config::QuotaWindows::of(values);
        self.replication_rates = ReplicationRates {
            leader: rates.leader_bytes_per_second,
            follower: rates.follower_bytes_per_second,
        };
    }

    const fn take_transactions(&mut self, of: &TransactionSettings) {
        self.producers.expiration_ms = of.producer_expiration_ms;
        self.groups.producer_expiration_ms = of.producer_expiration_ms;
        let transactions = &mut self.transactions;
        transactions.transaction_timeout_max_ms = of.timeout_max_ms;
        transactions.transactional_id_expiration_ms = of.id_expiration_ms;
        transactions.expiration_check_ms = of.expiration_check_ms;
        self.transactions_topic = of.topic;
    }

    fn take_groups(&mut self, of: &GroupSettings) {
        let groups = &mut self.groups;
        groups.session_timeout_min_ms = of.session_timeout_min_ms;
        groups.session_timeout_max_ms = of.session_timeout_max_ms;
        groups.initial_rebalance_delay_ms = of.initial_rebalance_delay_ms;
        let size_max = of.classic_size_max.and_then(|size| usize::try_from(size).ok());
        groups.group_size_max = size_max.unwrap_or_else(|| GroupLimits::default().group_size_max);
        groups.offset_metadata_bytes_max = of.offset_metadata_bytes_max;
        groups.offsets_retention_ms = of.offsets_retention_ms;
        groups.retention_check_ms = of.offsets_retention_check_ms;
        self.take_consumer_groups(of);
        self.offsets_topic = of.offsets_topic;
    }
}

impl BrokerConfig {
    fn take_consumer_groups(&mut self, of: &GroupSettings) {
        let consumer = &mut self.groups.consumer;
        let GroupTime { default_ms, min_ms, max_ms } = of.consumer_session_timeout;
        consumer.session_timeout_ms = default_ms;
        (consumer.session_timeout_min_ms, consumer.session_timeout_max_ms) = (min_ms, max_ms);
        let GroupTime { default_ms, min_ms, max_ms } = of.consumer_heartbeat_interval;
        consumer.heartbeat_interval_ms = default_ms;
        (consumer.heartbeat_interval_min_ms, consumer.heartbeat_interval_max_ms) = (min_ms, max_ms);
        let GroupTime { default_ms, min_ms, max_ms } = of.consumer_assignment_interval;
        consumer.assignment_interval_ms = default_ms;
        (consumer.assignment_interval_min_ms, consumer.assignment_interval_max_ms) = (min_ms, max_ms);
        let size_max = of.consumer_size_max.and_then(|size| usize::try_from(size).ok());
        consumer.group_size_max = size_max.unwrap_or_else(|| ConsumerLimits::default().group_size_max);
        let known: Vec<_> = of.consumer_assignors.iter().filter_map(|name| Assignor::named(name)).collect();
        if !known.is_empty() {
            consumer.assignors = known;
        }
        consumer.migration_policy = match (of.migration.to_consumer, of.migration.to_classic) {
            (true, true) => MigrationPolicy::Bidirectional,
            (true, false) => MigrationPolicy::Upgrade,
            (false, true) => MigrationPolicy::Downgrade,
            (false, false) => MigrationPolicy::Disabled,
        };
        consumer.regex_refresh_max_ms = of.regex_refresh_ms;
    }
}

/// Keys and values as `server.properties` has them. Values may be secrets: only keys are shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerProperties(pub Arc<Overrides>);

impl From<Overrides> for ServerProperties {
    fn from(properties: Overrides) -> Self {
        Self(Arc::new(properties))
    }
}

impl fmt::Debug for ServerProperties {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use log_config::BrokerLayers;

    use super::*;

    fn config(file: &[(&str, &str)]) -> BrokerConfig {
        let file = file.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let nothing = Overrides::new();
        BrokerConfig::of(&BrokerLayers { broker: &nothing, cluster: &nothing, file: &file })
    }

    #[test]
    fn defaults_are_those_of_kafka() {
        assert_eq!(format!("{:?}", config(&[])), format!("{:?}", BrokerConfig::default()));
    }

    #[test]
    fn values_of_the_file_are_in_force() {
        let set = config(&[
            ("node.id", "7"),
            ("num.partitions", "3"),
            ("group.max.size", "20000"),
            ("offsets.retention.minutes", "2"),
            ("producer.id.expiration.ms", "5"),
            ("log.retention.check.interval.ms", "9"),
        ]);
        assert_eq!((set.node_id, set.partitions, set.groups.group_size_max), (7, 3, 20_000));
        assert_eq!((set.groups.offsets_retention_ms, set.producers.expiration_ms), (120_000, 5));
        assert_eq!((set.groups.producer_expiration_ms, set.retention_check_ms), (5, 9));
    }

    #[test]
    fn secrets_are_not_shown() {
        let properties = Overrides::from([("ssl.key.password".into(), "hunter2".into())]);
        let shown = format!("{:?}", ServerProperties::from(properties));
        assert!(shown.contains("ssl.key.password") && !shown.contains("hunter2"), "{shown}");
    }
}
