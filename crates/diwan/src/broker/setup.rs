//! What a broker is started with: Kafka's own keys, from a `server.properties`, a `diwan.toml` or the command line, become one
//! [`LogConfig`].

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use log_broker::{BrokerConfig, ServerProperties};
use log_config::properties::Property;
use log_config::{Council, LogMaintenance, NetworkLimits, Overrides, StaticConfig, Values};
use log_service::{ListenerConfig, LogConfig, PeerListener, PeerTlsConfig, SetLogLevel};
use log_storage::StoreConfig;
use node_config::Problem;

use super::security::{self, GIVEN};

/// Threads that serve connections, if nobody says how many.
const THREADS: &str = "1";
/// The number of a broker that nobody has given one.
const NODE_ID: &str = "1";
/// How long a session with the council outlives its connection, if nobody says how long.
const SESSION: Duration = Duration::from_secs(30);

/// What holds where no source says anything.
#[derive(Clone, Debug)]
pub(crate) struct Defaults {
    /// Where clients connect; nothing for Kafka's: port 9092 of every address.
    pub(crate) listen: Option<SocketAddr>,
    /// Where the data lies.
    pub(crate) directory: PathBuf,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct BrokerSetup {
    /// What the broker is started with. Its council is empty if `council` is nothing.
    pub(crate) config: LogConfig,
    /// The servers of the council, if a source names them.
    pub(crate) council: Option<String>,
    /// Whether a source says how other brokers are talked to: encrypted or not.
    pub(crate) says_peer_security: bool,
    /// What the operator should know of the sources.
    pub(crate) warnings: Vec<String>,
}

/// A key with its value that comes from no file.
pub(crate) fn option(key: &str, value: impl Into<String>) -> Property {
    Property { key: key.into(), value: value.into(), line: 0 }
}

impl BrokerSetup {
    /// Of Kafka's keys, of which a later one counts.
    ///
    /// # Errors
    /// Every reason not to start.
    pub(crate) fn of(mut properties: Vec<Property>, defaults: &Defaults) -> Result<Self, Vec<Problem>> {
        add_defaults(&mut properties, defaults);
        let read = StaticConfig::of(&properties, &GIVEN);
        let read = read.map_err(|problems| problems.into_iter().map(problem).collect::<Vec<_>>())?;
        let nothing = Overrides::new();
        let values = read.layers(&nothing, &nothing);
        let listeners = security::listeners(&values, &read.listeners, &read.security)?;
        let links = peer_links(&read, &listeners, &values)?;
        let network = NetworkLimits::of(&values);
        let quota_windows = security::quota_windows(&values);
        let connections =
            security::connections(&network, quota_windows.rates).map_err(|problem| vec![problem])?;
        let broker = BrokerConfig {
            authorizer: read.authorizer.as_ref().map(security::authorizer),
            idle_ms_max: network.idle_ms_max,
            failed_authentication_delay_ms: network.failed_authentication_delay_ms,
            quota_windows,
            properties: ServerProperties::from(read.file.clone()),
            ..BrokerConfig::of(&values)
        };
        let session = read.council.as_ref().and_then(|council| council.session_timeout_ms);
        let config = LogConfig {
            listeners,
            peers: links.0,
            peer_tls: links.1,
            directory: read.directory.as_ref().map_or_else(|| defaults.directory.clone(), PathBuf::from),
            council: String::new(),
            council_session: session.map_or(SESSION, |ms| Duration::from_millis(ms.into())),
            backlog: u32::try_from(network.backlog).ok(),
            threads: u16::try_from(network.threads).unwrap_or(u16::MAX),
            rest_us_max: network.rest_us_max,
            connections,
            broker,
            set_log_level: SetLogLevel::default(),
            compaction_bytes_per_second_max: LogMaintenance::of(&values).bytes_per_second_max,
            store: StoreConfig::default(),
        };
        let council = read.council.as_ref().map(servers);
        let says_peer_security = read.between_brokers.is_some();
        Ok(Self { config, council, says_peer_security, warnings: read.warnings })
    }
}

/// Where other brokers connect, and how they are encrypted.
fn peer_links(
    read: &StaticConfig,
    listeners: &[ListenerConfig],
    values: &impl Values,
) -> Result<(PeerListener, Option<PeerTlsConfig>), Vec<Problem>> {
    let of_place = |place: usize| {
        let (named, security) = (read.listeners.get(place)?, read.security.get(place)?);
        Some(security::between_brokers(named, security, listeners.get(place)?))
    };
    let tls = read.between_brokers.and_then(of_place).transpose().map_err(|problem| vec![problem])?;
    Ok((peer_listener(values)?, tls.flatten()))
}

fn peer_listener(values: &impl Values) -> Result<PeerListener, Vec<Problem>> {
    let Some(text) = values.text("diwan.peer.listener") else { return Ok(PeerListener::default()) };
    let bad = || {
        let problem = Problem::new(format!("`diwan.peer.listener`: `{text}` is no place to listen"));
        vec![problem.hint("write `HOST:PORT`")]
    };
    PeerListener::read(&text).ok_or_else(bad)
}

/// What nobody says is said here, so that a client that asks for the configurations is told what holds.
fn add_defaults(properties: &mut Vec<Property>, defaults: &Defaults) {
    let has = |names: &[&str]| properties.iter().any(|property| names.contains(&property.key.as_str()));
    let mut added = Vec::new();
    if !has(&["node.id", "broker.id"]) {
        added.push(option("node.id", NODE_ID));
    }
    if !has(&["log.dirs", "log.dir"]) {
        let directory = std::path::absolute(&defaults.directory);
        let directory = directory.unwrap_or_else(|_| defaults.directory.clone());
        added.push(option("log.dirs", directory.display().to_string()));
    }
    if !has(&["num.network.threads"]) {
        added.push(option("num.network.threads", THREADS));
    }
    if let Some(listen) = defaults.listen.filter(|_| !has(&["listeners"])) {
        added.push(option("listeners", plaintext(listen)));
    }
    properties.extend(added);
}

/// The value of `listeners` for one address.
pub(crate) fn plaintext(address: SocketAddr) -> String {
    format!("PLAINTEXT://{address}")
}

/// The value of `advertised.listeners` for one address.
pub(crate) fn plaintext_at(host: &str, port: u16) -> String {
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.into() };
    format!("PLAINTEXT://{host}:{port}")
}

fn servers(council: &Council) -> String {
    format!("{}{}", council.servers.join(","), council.path.as_deref().unwrap_or_default())
}

fn problem(of: log_config::Problem) -> Problem {
    Problem { what: of.what, hint: of.hint }
}

/// Reads a `server.properties`.
///
/// # Errors
/// It cannot be read, or is not of that form.
pub(crate) fn read_properties(file: &Path) -> Result<Vec<Property>, Problem> {
    let bytes = std::fs::read(file).map_err(|error| {
        Problem::new(format!("cannot read `{}`: {error}", file.display())).hint("name a `server.properties`")
    })?;
    log_config::properties::read(&bytes)
        .map_err(|bad| Problem::new(format!("`{}`, line {}: {}", file.display(), bad.line, bad.what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(text: &str) -> Result<BrokerSetup, Vec<Problem>> {
        let properties = log_config::properties::read(text.as_bytes()).expect("properties");
        BrokerSetup::of(properties, &Defaults { listen: None, directory: "d/log".into() })
    }

    #[test]
    fn nothing_said_is_kafkas_and_is_shown_as_it_holds() {
        let BrokerSetup { config, council, warnings, .. } = setup("").expect("it is fine");
        let listen = config.listeners[0].address;
        assert_eq!((listen.port(), config.threads, config.backlog), (9092, 1, Some(50)));
        assert!(listen.ip().is_unspecified() && council.is_none() && warnings.is_empty());
        assert!(config.directory.is_absolute() && config.directory.ends_with("d/log"));
        let advertised = config.listeners[0].advertised.as_ref().map(|(_, port)| *port);
        assert_eq!((config.broker.node_id, advertised), (1, Some(9092)));
        let BrokerConfig { idle_ms_max, failed_authentication_delay_ms, quota_windows, .. } =
            BrokerConfig::default();
        let broker = &config.broker;
        let own = (broker.idle_ms_max, broker.failed_authentication_delay_ms, broker.quota_windows);
        assert_eq!(own, (idle_ms_max, failed_authentication_delay_ms, quota_windows));
        assert_eq!(config.connections, log_access::ConnectionLimits::default());
        assert!(broker.authorizer.is_none());
        let properties = config.broker.properties.0;
        assert_eq!(properties.get("num.network.threads").map(String::as_str), Some("1"));
        assert!(properties["log.dirs"].ends_with("/d/log"), "{properties:?}");
    }

    #[test]
    fn file_of_a_kraft_broker_is_taken_as_it_is() {
        let file = "process.roles=broker,controller\nnode.id=4\ncontroller.quorum.voters=4@localhost:9093\n\
            listeners=PLAINTEXT://127.0.0.1:9192,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n\
            advertised.listeners=PLAINTEXT://broker.example.com:9292\nlog.dirs=/var/lib/log\nnum.partitions=3\n\
            num.io.threads=16\nzookeeper.connect=a,b:2182/kafka\nzookeeper.session.timeout.ms=7000\n";
        let BrokerSetup { config, council, warnings, .. } = setup(file).expect("it is fine");
        assert_eq!(
            (config.listeners[0].address.to_string().as_str(), config.broker.node_id),
            ("127.0.0.1:9192", 4)
        );
        assert_eq!(config.listeners[0].advertised, Some(("broker.example.com".into(), 9292)));
        assert_eq!((config.directory, config.broker.partitions), ("/var/lib/log".into(), 3));
        assert_eq!(council.as_deref(), Some("a:2181,b:2182/kafka"));
        assert_eq!(config.council_session, Duration::from_secs(7));
        assert!(warnings.iter().any(|warning| warning.contains("num.io.threads")), "{warnings:?}");
    }

    #[test]
    fn what_cannot_be_given_is_refused_with_a_hint() {
        for (file, part) in [
            ("listeners=SSL://:9092", "TLS"),
            ("listeners=SASL_SSL://:9092\nssl.keystore.location=k\nssl.keystore.type=PEM", "GSSAPI"),
            (
                "listeners=SSL://:9092\nssl.keystore.location=k\nssl.keystore.type=PEM\nssl.client.auth=required",
                "nobody is trusted",
            ),
            ("listeners=SSL://:9092\nssl.keystore.type=PEM\nssl.keystore.key=x", "taken from files"),
            (
                "listeners=SASL_PLAINTEXT://:9092\nsasl.enabled.mechanisms=OAUTHBEARER\n\
                sasl.oauthbearer.jwks.endpoint.url=https://keys.example.com",
                "asks no server",
            ),
            ("authorizer.class.name=com.example.Own", "loads none"),
            ("listeners=PLAINTEXT://no.such.host.invalid:9092", "no.such.host.invalid"),
            ("log.dirs=/a,/b", "2 directories"),
            ("diwan.peer.listener=9093", "no place to listen"),
            (
                "listeners=SSL://:9092\nsecurity.inter.broker.protocol=SSL\nssl.keystore.location=k\n\
                ssl.keystore.type=PEM",
                "it has no trust store",
            ),
        ] {
            let problems = setup(file).expect_err(file);
            let told = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            assert!(told.contains(part) && told.contains("hint: "), "{told}");
        }
    }

    #[test]
    fn security_of_a_file_is_that_of_the_broker() {
        let file = "listeners=CLIENTS://127.0.0.1:9092,INSIDE://127.0.0.1:9093\n\
            listener.security.protocol.map=CLIENTS:SASL_SSL,INSIDE:PLAINTEXT\n\
            inter.broker.listener.name=INSIDE\n\
            ssl.keystore.location=/k.p12\nssl.keystore.type=PKCS12\nssl.keystore.password=p\nssl.key.password=p\n\
            sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512\nconnections.max.reauth.ms=5000\n\
            listener.name.clients.plain.sasl.jaas.config=\
            org.apache.kafka.common.security.plain.PlainLoginModule required user_bob=\"x\";\n\
            listener.name.clients.max.connections=7\n\
            max.connections=100\nmax.connections.per.ip=9\nmax.connections.per.ip.overrides=127.0.0.1:3\n\
            max.connection.creation.rate=11\nconnections.max.idle.ms=-1\nquota.window.num=5\n\
            authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n\
            super.users=User:admin;User:CN=broker\nallow.everyone.if.no.acl.found=true\n";
        let BrokerSetup { config, warnings, .. } = setup(file).expect("it is fine");
        let [clients, inside] = &config.listeners[..] else { panic!("two listeners") };
        assert_eq!((clients.name.as_str(), inside.name.as_str()), ("CLIENTS", "INSIDE"));
        let (tls, sasl) = (clients.tls.as_ref().expect("TLS"), clients.sasl.as_ref().expect("SASL"));
        assert_eq!(tls.config.key_store.path, PathBuf::from("/k.p12"));
        let names: Vec<&str> = sasl.mechanisms.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, sasl.reauthentication_ms), (vec!["PLAIN", "SCRAM-SHA-512"], Some(5_000)));
        assert!(inside.tls.is_none() && inside.sasl.is_none() && sasl.mechanisms[0].1.is_some());
        assert_eq!((clients.limits.connections_max, inside.limits.connections_max), (Some(7), None));
        let limits = &config.connections;
        assert_eq!(
            (limits.connections_max, limits.per_ip_max, limits.creation_rate),
            (Some(100), Some(9), Some(11))
        );
        assert_eq!(limits.per_ip_overrides, [([127, 0, 0, 1].into(), 3)].into());
        assert_eq!((config.broker.idle_ms_max, config.broker.quota_windows.rates.count), (None, 5));
        let authorizer = config.broker.authorizer.as_ref().expect("rules are used");
        assert_eq!((authorizer.super_users.len(), authorizer.allow_if_no_rule), (2, true));
        assert!(warnings.is_empty() && config.peer_tls.is_none(), "{warnings:?}");
    }

    #[test]
    fn security_between_brokers_is_that_of_the_listener_named_for_it() {
        let file = "listeners=CLIENTS://127.0.0.1:9092,INSIDE://127.0.0.1:9093\n\
            listener.security.protocol.map=CLIENTS:PLAINTEXT,INSIDE:SSL\n\
            listener.name.inside.ssl.keystore.location=/k.pem\nlistener.name.inside.ssl.keystore.type=PEM\n\
            ssl.truststore.location=/t.pem\nssl.truststore.type=PEM\n";
        let plain = setup(file).expect("it is fine");
        assert!(plain.config.peer_tls.is_none() && !plain.says_peer_security, "nobody asked for it");
        let named = setup(&format!("{file}inter.broker.listener.name=INSIDE")).expect("it is fine");
        assert!(named.warnings.is_empty() && named.says_peer_security, "{:?}", named.warnings);
        let tls = named.config.peer_tls.expect("they are encrypted");
        assert_eq!(
            (tls.key_store.path, tls.trust_store.path),
            (PathBuf::from("/k.pem"), PathBuf::from("/t.pem"))
        );
        assert!(tls.verify_hostname && tls.verify_client_hostname);
        let any_host =
            format!("{file}inter.broker.listener.name=INSIDE\nssl.endpoint.identification.algorithm=");
        let tls = setup(&any_host).expect("it is fine").config.peer_tls.expect("they are encrypted");
        assert!(!tls.verify_hostname && !tls.verify_client_hostname);
        let clients = setup(&format!("{file}inter.broker.listener.name=CLIENTS")).expect("it is fine");
        assert!(clients.config.peer_tls.is_none() && clients.says_peer_security, "plain text is wanted");
    }
}
