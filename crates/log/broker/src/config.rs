//! The settings of a broker, under Kafka's names.

use log_coordinators::{GroupLimits, TransactionLimits};

/// See the module.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// `node.id`.
    pub node_id: i32,
    /// `advertised.listeners`: where clients find this broker.
    pub advertised_host: String,
    /// The same: its port.
    pub advertised_port: u16,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// `auto.create.topics.enable`.
    pub auto_create_topics: bool,
    /// `num.partitions`.
    pub partitions: i32,
    /// `offsets.topic.num.partitions`.
    pub offsets_partitions: i32,
    /// Groups: `group.*` and `offset.*`.
    pub groups: GroupLimits,
    /// `transaction.state.log.num.partitions`.
    pub transactions_partitions: i32,
    /// Transactions: `transaction.*` and `transactional.*`.
    pub transactions: TransactionLimits,
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
    /// Bytes of a request other than Produce.
    pub body_bytes_max: usize,
    /// Requests of one connection that wait for their answers.
    pub requests_in_flight_max: usize,
    /// Fetches that wait, of all connections: above it, they are answered at once.
    pub waiting_fetches_max: usize,
    /// Bytes of batches that are appended and not durable, or that wait for the coordinator of their transaction: above it,
    /// producers are read more slowly.
    pub unflushed_bytes_max: usize,
    /// `log.cleaner.enable`.
    pub compacts: bool,
    /// `log.cleaner.dedupe.buffer.size`: bytes of the map of keys.
    pub compaction_map_bytes_max: usize,
    /// `log.cleaner.backoff.ms`: how often it is looked for a partition to compact, milliseconds.
    pub compaction_check_ms: u64,
}

impl Default for BrokerConfig {
    fn default() -> Self {
        Self {
            node_id: 1,
            advertised_host: String::from("127.0.0.1"),
            advertised_port: 9092,
            rack: None,
            auto_create_topics: true,
            partitions: 1,
            offsets_partitions: 50,
            groups: GroupLimits::default(),
            transactions_partitions: 50,
            transactions: TransactionLimits::default(),
            seed: 0,
            retention_check_ms: 300_000,
            request_bytes_max: 104_857_600,
            fetch_bytes_max: 16 << 20,
            fetch_sessions_max: 1_000,
            body_bytes_max: 16 << 20,
            requests_in_flight_max: 1_000,
            waiting_fetches_max: 100_000,
            unflushed_bytes_max: 64 << 20,
            compacts: true,
            compaction_map_bytes_max: 128 << 20,
            compaction_check_ms: 15_000,
        }
    }
}
