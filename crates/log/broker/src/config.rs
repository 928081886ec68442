//! The settings of a broker, under Kafka's names.

use log_access::AuthorizerConfig;
use log_access::quota::QuotaWindows;
use log_coordinators::GroupLimits;
use net_auth::AttemptLimits;

use crate::listener::BrokerListener;

/// See the module.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// `node.id`.
    pub node_id: i32,
    /// `listeners`, `advertised.listeners`, `listener.security.protocol.map`: there is at least one.
    pub listeners: Vec<BrokerListener>,
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
    /// Drawn once for each start: ids of members come of it.
    pub seed: u64,
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
    /// Bytes of batches that are appended and not durable: above it, producers are read more slowly.
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
            listeners: vec![BrokerListener::default()],
            rack: None,
            auto_create_topics: true,
            partitions: 1,
            offsets_partitions: 50,
            groups: GroupLimits::default(),
            seed: 0,
            request_bytes_max: 104_857_600,
            fetch_bytes_max: 16 << 20,
            fetch_sessions_max: 1_000,
            body_bytes_max: 16 << 20,
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
            unflushed_bytes_max: 64 << 20,
            compacts: true,
            compaction_map_bytes_max: 128 << 20,
            compaction_check_ms: 15_000,
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

impl core::fmt::Debug for BrokerSecrets {
    /// Nothing of them.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BrokerSecrets(..)")
    }
}
