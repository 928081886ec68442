//! What a server is told before it starts: plain data, every default here, no file and no flag.
//!
//! How a user says these things (flags, `diwan.toml`, a `zoo.cfg`) is the business of the binary. Durations carry
//! their unit in their name; a limit of 0 means none, as in ZooKeeper, where the field says so.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use node_group::DataConfig;

pub use base::{MemberNumber, Secret};
pub use net_auth::Passwords;
pub use net_reactor::ConnectionThrottle;
pub use net_tls::{ClientAuth, Framing, KeyStore, KeyStoreKind, TlsConfig, TlsProtocol};

/// Everything that a server needs to know.
#[derive(Clone, Debug, Default)]
pub struct ServerConfig {
    /// Where clients connect.
    pub listen: ListenConfig,
    /// Session timeouts.
    pub session: SessionConfig,
    /// What a client may take.
    pub limits: LimitConfig,
    /// Where data lies and how much of it is kept.
    pub storage: StorageConfig,
    /// Which kinds of nodes there are, and their reaper.
    pub nodes: NodeConfig,
    /// Whether quotas refuse writes.
    pub quota: QuotaConfig,
    /// Who may do what.
    pub auth: AuthConfig,
    /// Keys and certificates of the secure port. Present whenever [`ListenConfig::secure`] is, or the plain port
    /// takes TLS too.
    pub tls: Option<TlsConfig>,
    /// Prometheus metrics and the probes, over HTTP.
    pub metrics: MetricsConfig,
    /// The AdminServer's commands, over HTTP.
    pub admin: AdminConfig,
    /// Four-letter words.
    pub words: WordConfig,
    /// The audit log.
    pub audit: AuditConfig,
    /// What the server does beyond ZooKeeper and may be told not to.
    pub beyond: BeyondConfig,
    /// Whether clients may change the members at run time. `reconfigEnabled`.
    pub reconfig_enabled: bool,
    /// The other members and how they are reached; without it the server runs alone.
    pub ensemble: Option<EnsembleConfig>,
    /// Names and values as they were given, secrets left out: only to be shown.
    pub settings: Vec<(String, String)>,
}

/// Where clients connect. At least one of the two addresses is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenConfig {
    /// The plain client port; port 0 lets the system choose. ZooKeeper's `clientPort`, `clientPortAddress`.
    pub client: Option<SocketAddr>,
    /// The TLS client port. `secureClientPort`, `secureClientPortAddress`.
    pub secure: Option<SocketAddr>,
    /// Whether the plain port tells TLS from plain text and takes both. `client.portUnification`.
    pub client_takes_tls: bool,
    /// Connections that the system queues before they are accepted; the system's own maximum if not said.
    /// `clientPortListenBacklog`.
    pub backlog: Option<u32>,
    /// Whether TCP probes silent connections. `clientTcpKeepAlive`.
    pub keep_alive: bool,
    /// Threads that serve connections; 0 takes all cores but one.
    pub shards: usize,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            client: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 2181))),
            secure: None,
            client_takes_tls: false,
            backlog: None,
            keep_alive: false,
            shards: 0,
        }
    }
}

/// Session timeouts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// The unit of expiry: a session ends at the first tick after its timeout. `tickTime`.
    pub tick_ms: u32,
    /// The shortest timeout that a client gets: two ticks unless said. `minSessionTimeout`.
    pub timeout_min_ms: u32,
    /// The longest timeout that a client gets: twenty ticks unless said. `maxSessionTimeout`.
    pub timeout_max_ms: u32,
}

impl SessionConfig {
    /// The timeouts that follow from a tick when nothing else is said.
    #[must_use]
    pub const fn of_tick(tick_ms: u32) -> Self {
        Self {
            tick_ms,
            timeout_min_ms: tick_ms.saturating_mul(2),
            timeout_max_ms: tick_ms.saturating_mul(20),
        }
    }
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self::of_tick(3000)
    }
}

/// What a client may take. Reaching a limit is refused, paused or closed, never grown past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitConfig {
    /// Connections in all; 0 is none. `maxCnxns`.
    pub connections_max: u32,
    /// Connections from one address; 0 is none. `maxClientCnxns`.
    pub connections_per_ip_max: u32,
    /// Bytes of one request, and of the command made from it. `jute.maxbuffer`.
    pub request_bytes_max: usize,
    /// A longer request up to this many bytes is skipped and refused in order; beyond it the connection closes.
    pub request_skip_bytes_max: usize,
    /// Requests that are under way in the whole server before it stops reading. `globalOutstandingLimit`.
    pub outstanding_max: u32,
    /// Bytes of requests under way, counted only for requests longer than the threshold below.
    /// `largeRequestMaxBytes`.
    pub large_request_bytes_max: u64,
    /// From how many bytes a request is large; `None` counts none. `largeRequestThreshold`.
    pub large_request_threshold: Option<u64>,
    /// How long a connection may take to open a session. `nio.sessionlessCnxnTimeout`.
    pub handshake_timeout_ms: u32,
    /// Watches of one connection.
    pub watches_per_connection_max: usize,
    /// Memory of all watches.
    pub watch_bytes_max: usize,
    /// Bytes of one reply, below 1 GiB; a read that takes more is refused.
    pub reply_bytes_max: usize,
    /// Unsent bytes of all connections together before the server stops reading from those with the most.
    pub output_bytes_max: usize,
    /// Unsent bytes of one connection before the server stops reading from it.
    pub output_bytes_per_connection_max: usize,
    /// Identities of one connection.
    pub identities_per_connection_max: usize,
    /// Bytes of the path of a node that is created.
    pub path_bytes_max: usize,
    /// Entries of one ACL, those included that `auth` stands for.
    pub acl_entries_max: usize,
    /// Bytes of the text of a quota.
    pub quota_text_bytes_max: usize,
    /// Ephemeral nodes of one session: they go at once when it ends.
    pub ephemerals_per_session_max: usize,
    /// Bytes of the paths of these.
    pub ephemeral_bytes_per_session_max: usize,
    /// Steps of work that one write may cost, of about ten nanoseconds each, beyond those that grow with its length.
    pub command_steps_max: u64,
    /// Bytes of memory that one write may cost beyond those that grow with its length.
    pub command_bytes_max: usize,
    /// New connections admitted at once and refilled over time; `None` admits all. `connection_throttle_tokens`,
    /// `.._fill_time`, `.._fill_count`.
    pub connection_throttle: Option<ConnectionThrottle>,
}

impl Default for LimitConfig {
    fn default() -> Self {
        Self {
            connections_max: 0,
            connections_per_ip_max: 60,
            request_bytes_max: 0xf_ffff,
            request_skip_bytes_max: 64 << 20,
            outstanding_max: 1000,
            large_request_bytes_max: 100 << 20,
            large_request_threshold: None,
            handshake_timeout_ms: 10_000,
            watches_per_connection_max: 10_000_000,
            watch_bytes_max: 2 << 30,
            reply_bytes_max: 64 << 20,
            output_bytes_max: 512 << 20,
            output_bytes_per_connection_max: 16 << 20,
            identities_per_connection_max: 100,
            path_bytes_max: 8192,
            acl_entries_max: 1000,
            quota_text_bytes_max: 1024,
            ephemerals_per_session_max: 200_000,
            ephemeral_bytes_per_session_max: 64 << 20,
            command_steps_max: 1_000_000,
            command_bytes_max: 64 << 20,
            connection_throttle: None,
        }
    }
}

/// Where data lies and how much of it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageConfig {
    /// The data directory. `dataDir`.
    pub data_dir: PathBuf,
    /// Whether the data directory is made if it is not there. `datadir.autocreate`.
    pub create_dir: bool,
    /// A directory for the log alone, on a disk of its own; the data directory if not said. `dataLogDir`.
    pub log_dir: Option<PathBuf>,
    /// A snapshot is taken after this many transactions, ... `snapCount`.
    pub snapshot_after_transactions: u64,
    /// ... or after this many bytes of log. `snapSizeLimitInKb`.
    pub snapshot_after_bytes: u64,
    /// Bytes of one preallocated segment of the log. `preAllocSize`.
    pub segment_bytes: u64,
    /// Snapshots that are kept, with the log behind the oldest of them. `autopurge.snapRetainCount`.
    pub snapshots_kept: u32,
    /// Bytes a second that a snapshot is written with at the most.
    pub snapshot_bytes_per_second: u64,
    /// A flush that takes longer is logged. `fsync.warningthresholdms`.
    pub flush_warning_ms: u32,
}

impl StorageConfig {
    /// Where the data lies.
    pub(crate) fn directories(&self) -> DataConfig {
        DataConfig { data_dir: self.data_dir.clone(), log_dir: self.log_dir.clone() }
    }
}

impl Default for StorageConfig {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("diwan-data"),
            create_dir: true,
            log_dir: None,
            snapshot_after_transactions: 100_000,
            snapshot_after_bytes: 4 << 30,
            segment_bytes: 64 << 20,
            snapshots_kept: 3,
            snapshot_bytes_per_second: 64 << 20,
            flush_warning_ms: 1000,
        }
    }
}

/// Which kinds of nodes there are, and their reaper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// Whether TTL nodes can be made. `extendedTypesEnabled`.
    pub extended_types: bool,
    /// How often containers and TTL nodes are looked through; 0 never. `znode.container.checkIntervalMs`.
    pub reap_interval_ms: u32,
    /// How many of them are removed in a minute. `znode.container.maxPerMinute`.
    pub reaped_per_minute_max: u32,
    /// How long a container without a single child so far is left alone; 0 for ever.
    /// `znode.container.maxNeverUsedIntervalMs`.
    pub never_used_max_ms: u64,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            extended_types: false,
            reap_interval_ms: 60_000,
            reaped_per_minute_max: 10_000,
            never_used_max_ms: 0,
        }
    }
}

/// Whether quotas refuse writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuotaConfig {
    /// A hard quota that would be exceeded refuses the write; else it is only counted. `enforceQuota`.
    pub enforce: bool,
}

/// Who may do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthConfig {
    /// Nobody's ACL is looked at. `skipACL`.
    pub skip_acl: bool,
    /// The super user of scheme `digest`, as `super:<hash>`. `DigestAuthenticationProvider.superDigest`.
    pub super_digest: Option<Secret>,
    /// How `digest` hashes `user:password`. `DigestAuthenticationProvider.digestAlg`.
    pub digest_algorithm: DigestAlgorithm,
    /// Whether the scheme `digest` exists. `DigestAuthenticationProvider.enabled`.
    pub digest_enabled: bool,
    /// Whether the scheme `x509` exists: as soon as there is a secure port. `authProvider.x509`.
    pub x509_enabled: bool,
    /// The subject that is super user. `X509AuthenticationProvider.superUser`.
    pub x509_super_user: Option<String>,
    /// Whether ACLs may name the scheme `sasl`. `authProvider.*`.
    pub sasl_scheme: bool,
    /// SASL DIGEST-MD5; `None` answers SASL as a server does on which it is not configured.
    pub sasl: Option<SaslConfig>,
    /// The name that the scheme `ensemble` demands of clients; `None` leaves the scheme out. `ensembleAuthName`.
    pub ensemble_names: Option<Vec<String>>,
    /// A client must authenticate by one of these schemes before anything else; `None` lets everybody in.
    /// `enforce.auth.enabled`, `enforce.auth.schemes`, `sessionRequireClientSASLAuth`.
    pub enforced_schemes: Option<Vec<String>>,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            skip_acl: false,
            super_digest: None,
            digest_algorithm: DigestAlgorithm::Sha1,
            digest_enabled: true,
            x509_enabled: false,
            x509_super_user: None,
            sasl_scheme: false,
            sasl: None,
            ensemble_names: None,
            enforced_schemes: None,
        }
    }
}

/// Java's names of the hash functions that the scheme `digest` may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// `SHA1`, the default.
    #[default]
    Sha1,
    /// `SHA-256`.
    Sha256,
    /// `SHA-512`.
    Sha512,
    /// `SHA3-256`.
    Sha3_256,
}

/// Users of SASL DIGEST-MD5, as a `Server` section of a JAAS file names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaslConfig {
    /// Users and their passwords; the user `super` is super user.
    pub users: Passwords,
    /// Other users who are super users. `superUser`, `superUser.*`.
    pub super_users: Vec<String>,
    /// Whether a client whose exchange fails may go on without an identity. `allowSaslFailedClients`.
    pub allow_failed_clients: bool,
}

/// Prometheus metrics and the probes `/livez` and `/readyz`, over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Where; `None` is nowhere. When equal to the AdminServer's address, one listener serves both.
    /// `metricsProvider.httpHost`, `metricsProvider.httpPort`.
    pub address: Option<SocketAddr>,
    /// A port that is taken is only worth a warning: nobody has asked for this one.
    pub optional: bool,
}

impl Default for MetricsConfig {
    fn default() -> Self {
        Self { address: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 7000))), optional: true }
    }
}

/// The AdminServer's commands, over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminConfig {
    /// Where; `None` is nowhere. `admin.enableServer`, `admin.serverAddress`, `admin.serverPort`.
    pub address: Option<SocketAddr>,
    /// A port that is taken is only worth a warning: nobody has asked for this one.
    pub optional: bool,
    /// The path that the commands' names follow. `admin.commandURL`.
    pub command_url: String,
    /// How long an idle connection is kept. `admin.idleTimeout`.
    pub idle_timeout_ms: u32,
    /// Whether the command `snapshot` is there. `admin.snapshot.enabled`.
    pub snapshot_enabled: bool,
    /// Whether the command `restore` is there. `admin.restore.enabled`.
    pub restore_enabled: bool,
    /// How far apart two snapshots by command, or two restorings, must be. `admin.rateLimiterIntervalInMS`.
    pub rate_limit_interval_ms: u32,
    /// Whether commands that read or replace all data are for the super user alone. Otherwise ZooKeeper's rule holds:
    /// every permission on `/`. `council.admin.require-super`.
    pub require_super: bool,
    /// Names under which a command may be asked for at a loopback address, besides `localhost` and this machine's own.
    /// `admin.hosts`.
    pub hosts: Vec<String>,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self {
            address: MetricsConfig::default().address,
            optional: true,
            command_url: String::from("/commands"),
            idle_timeout_ms: 30_000,
            snapshot_enabled: true,
            restore_enabled: true,
            rate_limit_interval_ms: 300_000,
            require_super: true,
            hosts: Vec::new(),
        }
    }
}

/// Which four-letter words are answered. `4lw.commands.whitelist`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordConfig {
    /// Every one.
    All,
    /// These.
    Named(Vec<String>),
}

impl WordConfig {
    /// What a word that may not be answered is answered with.
    pub(crate) fn refusal(&self, letters: [u8; 4]) -> Option<String> {
        let word = String::from_utf8_lossy(&letters).into_owned();
        (!self.allows(&word)).then(|| format!("{word} is not executed because it is not in the whitelist.\n"))
    }

    /// Whether `word` is answered.
    #[must_use]
    pub fn allows(&self, word: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(words) => words.iter().any(|allowed| allowed == word),
        }
    }
}

impl Default for WordConfig {
    fn default() -> Self {
        Self::Named(vec![String::from("srvr")])
    }
}

/// The audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditConfig {
    /// Whether every write, its user and its result are logged. `audit.enable`.
    pub enabled: bool,
}

/// What the server does beyond ZooKeeper and may be told not to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeyondConfig {
    /// Whether persistent watches are told, after a reconnection, what changed meanwhile.
    pub persistent_watch_catch_up: bool,
    /// Bytes of history of changes kept for that, in each shard.
    pub history_bytes_max: usize,
}

impl Default for BeyondConfig {
    fn default() -> Self {
        Self { persistent_watch_catch_up: true, history_bytes_max: 16 << 20 }
    }
}

/// The members of an ensemble, and how this one speaks with the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnsembleConfig {
    /// This member's number: `myid`.
    pub number: MemberNumber,
    /// All members, this one included: `server.N`.
    pub members: Vec<MemberConfig>,
    /// Whether members are answered at every address of this machine. `quorumListenOnAllIPs`.
    pub listen_on_all_addresses: bool,
    /// How often a port for members that is taken is tried again, a second apart. `electionPortBindRetry`.
    pub bind_retries: u32,
    /// Keys and certificates between members; without them they speak in plain text. `sslQuorum`, `ssl.quorum.*`.
    pub tls: Option<PeerTlsConfig>,
    /// What every member must know to be let in, beside what TLS asks for. `diwan.ensembleSecretFile`.
    pub secret: Option<EnsembleSecret>,
    /// The engine's tick, milliseconds: a leader is missed after ten to twenty of them.
    pub election_tick_ms: u32,
    /// For how long a member goes on serving without having heard of a leader, milliseconds.
    pub lease_ms: u32,
}

impl EnsembleConfig {
    /// The members, as `/zookeeper/config` names them.
    #[must_use]
    pub fn roster(&self) -> council_tree::Roster {
        council_tree::Roster::new(self.members.iter().cloned())
    }

    /// This member.
    #[must_use]
    pub fn own(&self) -> Option<&MemberConfig> {
        self.members.iter().find(|member| member.number == self.number)
    }
}

/// One member: what a `server.` line says.
pub use council_tree::Member as MemberConfig;
pub use council_tree::Roster;

pub use net_peers::{EnsembleSecret, PeerTlsConfig};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_follow_the_tick() {
        let session = SessionConfig::of_tick(500);
        assert_eq!((session.timeout_min_ms, session.timeout_max_ms), (1000, 10_000));
    }

    #[test]
    fn only_listed_words_are_answered() {
        assert!(WordConfig::default().allows("srvr"));
        assert!(!WordConfig::default().allows("stat"));
        assert!(WordConfig::All.allows("stat"));
    }

    #[test]
    fn a_word_off_the_list_is_refused_by_name() {
        let config = WordConfig::default();
        assert_eq!(config.refusal(*b"srvr"), None);
        assert_eq!(
            config.refusal(*b"stat").as_deref(),
            Some("stat is not executed because it is not in the whitelist.\n")
        );
        assert_eq!(WordConfig::All.refusal(*b"stat"), None);
    }
}
