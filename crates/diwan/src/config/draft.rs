//! A configuration while its settings come in, in any order, and the checks that need more than one of them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use council_service::ServerConfig;
use council_service::config::{
    ClientAuth, ConnectionThrottle, KeyStoreKind, MemberConfig, Secret, TlsProtocol,
};
use log_config::properties::Property;
use objects_service::Zone;
use tracing_subscriber::filter::LevelFilter;

/// Settings as they came in.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// What can be stored at once.
    pub(crate) config: ServerConfig,
    /// Whether the file is a `zoo.cfg`: then ZooKeeper's defaults hold.
    pub(crate) zoo: bool,
    pub(crate) client_port_said: bool,
    pub(crate) data_dir_said: bool,
    pub(crate) client: Endpoint,
    pub(crate) secure: Endpoint,
    pub(crate) tick_ms: Option<u32>,
    pub(crate) timeout_min_ms: Option<u32>,
    pub(crate) timeout_max_ms: Option<u32>,
    pub(crate) throttle: Option<ConnectionThrottle>,
    pub(crate) metrics: MetricsDraft,
    pub(crate) admin: AdminDraft,
    pub(crate) enforce: EnforceDraft,
    pub(crate) sasl: SaslDraft,
    pub(crate) tls: TlsDraft,
    pub(crate) ensemble_provider: bool,
    pub(crate) ensemble_names: Vec<String>,
    pub(crate) ensemble: EnsembleDraft,
    pub(crate) dynamic_file: Option<PathBuf>,
    pub(crate) read_only_mode: bool,
    pub(crate) log: LogConfig,
    pub(crate) broker: BrokerDraft,
    pub(crate) objects: ObjectsDraft,
    /// Which services the file speaks of.
    pub(crate) file: FileKind,
    /// What is odd about the setting that came in last.
    warnings: Vec<String>,
}

/// A port and the address that it is bound to.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    pub(crate) port: Option<u16>,
    pub(crate) host: Option<String>,
    /// Its address stands in the configuration already.
    pub(crate) said: bool,
}

#[derive(Debug)]
pub(crate) struct EnsembleDraft {
    pub(crate) number: Option<u64>,
    pub(crate) members: Vec<MemberConfig>,
    pub(crate) listen_on_all_addresses: bool,
    pub(crate) bind_retries: u32,
    pub(crate) tls: bool,
    pub(crate) key_store: StoreDraft,
    pub(crate) trust_store: StoreDraft,
    pub(crate) verify_hostname: bool,
    pub(crate) verify_client_hostname: bool,
    pub(crate) protocol: Option<TlsProtocol>,
    pub(crate) protocols: Option<Vec<TlsProtocol>>,
    pub(crate) cipher_suites: Option<Vec<String>>,
    pub(crate) revocation_lists: Vec<PathBuf>,
    pub(crate) secret_file: Option<PathBuf>,
    pub(crate) election_tick_ms: u32,
    pub(crate) lease_ms: u32,
}

impl EnsembleDraft {
    /// Takes a member; a later line for the same number takes the place of an earlier one.
    pub(crate) fn take(&mut self, member: MemberConfig) {
        self.members.retain(|known| known.number != member.number);
        self.members.push(member);
        self.members.sort_by_key(|member| member.number);
    }
}

impl Default for EnsembleDraft {
    fn default() -> Self {
        Self {
            number: None,
            members: Vec::new(),
            listen_on_all_addresses: false,
            bind_retries: 3,
            tls: false,
            key_store: StoreDraft::default(),
            trust_store: StoreDraft::default(),
            verify_hostname: true,
            verify_client_hostname: true,
            protocol: None,
            protocols: None,
            cipher_suites: None,
            revocation_lists: Vec::new(),
            secret_file: None,
            election_tick_ms: 50,
            lease_ms: 2_000,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct MetricsDraft {
    pub(crate) prometheus: bool,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    /// Its address stands in the configuration already.
    pub(crate) said: bool,
}

#[derive(Debug, Default)]
pub(crate) struct AdminDraft {
    pub(crate) enabled: Option<bool>,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    /// Its address stands in the configuration already.
    pub(crate) said: bool,
}

#[derive(Debug, Default)]
pub(crate) struct EnforceDraft {
    pub(crate) enabled: bool,
    pub(crate) schemes: Vec<String>,
    pub(crate) sasl: bool,
}

#[derive(Debug)]
pub(crate) struct SaslDraft {
    pub(crate) file: Option<PathBuf>,
    pub(crate) section: String,
    pub(crate) super_users: Vec<String>,
    pub(crate) super_password: Option<Secret>,
    pub(crate) allow_failed_clients: bool,
}

impl Default for SaslDraft {
    fn default() -> Self {
        Self {
            file: None,
            section: String::from("Server"),
            super_users: Vec::new(),
            super_password: None,
            allow_failed_clients: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct TlsDraft {
    pub(crate) key_store: StoreDraft,
    pub(crate) trust_store: StoreDraft,
    pub(crate) client_auth: Option<ClientAuth>,
    pub(crate) protocol: Option<TlsProtocol>,
    pub(crate) protocols: Option<Vec<TlsProtocol>>,
    pub(crate) cipher_suites: Option<Vec<String>>,
    pub(crate) verify_hostname: bool,
    pub(crate) verify_client_hostname: bool,
    pub(crate) revocation_lists: Vec<PathBuf>,
    pub(crate) reload: bool,
    pub(crate) handshake_timeout_ms: u32,
}

impl Default for TlsDraft {
    fn default() -> Self {
        Self {
            key_store: StoreDraft::default(),
            trust_store: StoreDraft::default(),
            client_auth: None,
            protocol: None,
            protocols: None,
            cipher_suites: None,
            verify_hostname: true,
            verify_client_hostname: false,
            revocation_lists: Vec::new(),
            reload: false,
            handshake_timeout_ms: 5000,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct StoreDraft {
    pub(crate) path: Option<PathBuf>,
    pub(crate) password: Option<Secret>,
    pub(crate) password_path: Option<PathBuf>,
    pub(crate) kind: Option<KeyStoreKind>,
}

/// What is logged and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogConfig {
    pub(crate) level: LevelFilter,
    pub(crate) format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: LevelFilter::INFO, format: LogFormat::Text }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What kind of file the settings come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// There is none.
    #[default]
    None,
    /// A `diwan.toml`, and whether it has settings of the council.
    Toml {
        /// It has.
        council: bool,
    },
    /// A `zoo.cfg`.
    Zoo,
    /// A `server.properties`.
    Broker,
}

/// Settings of the broker.
#[derive(Debug, Default)]
pub(crate) struct BrokerDraft {
    /// Whether any source speaks of it.
    pub(crate) said: bool,
    /// `log.listen`: the address, or nothing for none.
    pub(crate) listen: Option<Option<SocketAddr>>,
    /// `log.data-dir`.
    pub(crate) data_dir: Option<PathBuf>,
    /// `log.council`.
    pub(crate) council: Option<String>,
    /// Keys of a `server.properties`, and behind them Kafka's keys from elsewhere, which count more.
    pub(crate) file: Vec<Property>,
    pub(crate) options: Vec<Property>,
}

/// Settings of live objects.
#[derive(Debug)]
pub(crate) struct ObjectsDraft {
    /// Whether any source speaks of them.
    pub(crate) said: bool,
    /// `objects.listen`: the address, or nothing for none.
    pub(crate) listen: Option<Option<SocketAddr>>,
    /// `objects.announce`.
    pub(crate) announce: Option<String>,
    /// `objects.data-dir`.
    pub(crate) data_dir: Option<PathBuf>,
    /// `objects.create-on-use`.
    pub(crate) create_on_use: bool,
    /// `objects.tls.*`.
    pub(crate) tls: TlsDraft,
    /// `objects.root-token-file`.
    pub(crate) root_token_file: Option<PathBuf>,
    /// Of names of objects.
    pub(crate) names: NamesDraft,
}

/// Settings of names of objects.
#[derive(Debug, Default)]
pub(crate) struct NamesDraft {
    /// `dns.listen`.
    pub(crate) listen: Option<SocketAddr>,
    /// `dns.zone`.
    pub(crate) zone: Option<Zone>,
    /// `dns.announce`.
    pub(crate) announce: Option<IpAddr>,
}

impl Default for ObjectsDraft {
    fn default() -> Self {
        let tls = TlsDraft { reload: true, ..TlsDraft::default() };
        Self {
            said: false,
            listen: None,
            announce: None,
            data_dir: None,
            create_on_use: true,
            tls,
            root_token_file: None,
            names: NamesDraft::default(),
        }
    }
}

impl Draft {
    /// Notes what is odd about the setting that just comes in.
    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// What was odd since the last time.
    pub(crate) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
