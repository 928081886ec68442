//! The settings of a front: limits, schemes, switches. Every limit has a name, and reaching it is an output. Knows no
//! file and no flag.

use council_tree::{CostLimits, Policy};
use net_auth::AttemptLimits;

use crate::auth::{DigestAlgorithm, SaslConfig};

/// Everything that the connections of one shard obey.
#[derive(Clone, Debug)]
pub struct FrontConfig {
    /// Randomness of this process: seeds hash tables and SASL nonces. Must differ from start to start and must not be
    /// guessable, except in simulations.
    pub seed: [u8; 32],
    /// What travels with each write, and which schemes exist.
    pub policy: Policy,
    /// How clients may authenticate.
    pub auth: AuthConfig,
    /// The shortest session timeout granted (`minSessionTimeout`).
    pub timeout_min_ms: i32,
    /// The longest session timeout granted (`maxSessionTimeout`).
    pub timeout_max_ms: i32,
    /// How long a connection may take to open a session (`nio.sessionlessCnxnTimeout`).
    pub handshake_timeout_ms: u32,
    /// Connections of this shard; 0 is no limit (`maxCnxns`). With several shards, an [`net_event_loop::Admission`] before
    /// them counts for all.
    pub connections_max: u32,
    /// Connections of one address in this shard; 0 is no limit (`maxClientCnxns`).
    pub connections_per_ip_max: u32,
    /// Bytes of a request's frame (`jute.maxbuffer`).
    pub request_bytes_max: usize,
    /// A longer frame up to this many bytes is skipped and refused in order; a connection that sends one beyond it
    /// is closed.
    pub request_skip_bytes_max: usize,
    /// Requests of this shard that wait for an answer before connections that already wait are paused
    /// (`globalOutstandingLimit`). Also bounds the queue of replies of one connection.
    pub outstanding_max: usize,
    /// Reads of one connection that wait behind a write of its own before it is paused: their replies come all at once.
    /// None of them has much more than 64 KiB; a read that takes more waits here until its write is done.
    pub waiting_reads_max: u32,
    /// Bytes of requests of this shard under way before connections that already wait are paused
    /// (`largeRequestMaxBytes`).
    pub in_flight_bytes_max: usize,
    /// Paths that one connection may watch; beyond it a request for a watch is refused.
    pub watches_per_connection_max: usize,
    /// Memory of all watches of this shard; beyond it a request for a watch is refused.
    pub watch_bytes_max: usize,
    /// Bytes of one reply, below 1 GiB: a read that takes more is refused, and of a multiRead what is beyond it.
    pub reply_bytes_max: usize,
    /// Unsent bytes of one connection at which it is read from no more, until the client has read.
    pub output_bytes_max: usize,
    /// Unsent bytes of one connection at which it is closed: events pile up for a client that does not read.
    pub output_bytes_close_max: usize,
    /// Unsent bytes of all connections of this shard at which those with more than their share of it are read from no
    /// more; at twice as many they are closed when an event comes for them. A share is never less than 64 KiB.
    pub output_bytes_all_max: usize,
    /// Bytes of all identities that one connection may collect; beyond it, authentication fails.
    pub identity_bytes_max: usize,
    /// Identities that one connection may collect; beyond it, authentication fails.
    pub identities_max: usize,
    /// What one write may cost to apply; beyond it, the write is refused before it reaches the log.
    pub cost: CostLimits,
    /// Bytes of changes remembered for clients that come back, shared between shards; 0 remembers none.
    pub history_bytes_max: usize,
    /// Whether persistent watches catch up after a reconnection, and exists watches learn of nodes that came and
    /// went meanwhile: more than ZooKeeper does.
    pub catch_up: bool,
    /// Whether [`crate::FrontEvent::Audit`] is produced (`audit.enable`).
    pub audit: bool,
}

/// How clients may authenticate.
#[derive(Clone, Debug, Default)]
pub struct AuthConfig {
    /// How `digest` hashes `user:password` (`DigestAuthenticationProvider.digestAlg`).
    pub digest_algorithm: DigestAlgorithm,
    /// The digest id that is super user (`DigestAuthenticationProvider.superDigest`).
    pub super_digest: Option<String>,
    /// How often an address may show this shard a wrong password of that user.
    pub super_attempts: AttemptLimits,
    /// The certificate's subject that is super user (`X509AuthenticationProvider.superUser`).
    pub x509_super_user: Option<String>,
    /// SASL DIGEST-MD5; `None` answers SASL as a server does on which it is not configured.
    pub sasl: Option<SaslConfig>,
    /// The names that scheme `ensemble` accepts (`ensembleAuthName`); `None` leaves the scheme out.
    pub ensemble_names: Option<Vec<String>>,
    /// A client must have an identity of one of these schemes before anything else is answered; empty enforces
    /// nothing (`enforce.auth.enabled` with `enforce.auth.schemes`, `sessionRequireClientSASLAuth`).
    pub enforced_schemes: Vec<String>,
}

impl Default for FrontConfig {
    fn default() -> Self {
        Self {
            seed: [0; 32],
            policy: Policy::standard(),
            auth: AuthConfig::default(),
            timeout_min_ms: 6_000,
            timeout_max_ms: 60_000,
            handshake_timeout_ms: 10_000,
            connections_max: 0,
            connections_per_ip_max: 60,
            request_bytes_max: 0xf_ffff,
            request_skip_bytes_max: 64 << 20,
            outstanding_max: 1000,
            waiting_reads_max: 100,
            in_flight_bytes_max: 100 << 20,
            watches_per_connection_max: 10_000_000,
            watch_bytes_max: 2 << 30,
            reply_bytes_max: 64 << 20,
            output_bytes_max: 16 << 20,
            output_bytes_close_max: 64 << 20,
            output_bytes_all_max: 512 << 20,
            identity_bytes_max: 16 << 10,
            identities_max: 100,
            cost: CostLimits::default(),
            history_bytes_max: 16 << 20,
            catch_up: true,
            audit: false,
        }
    }
}
