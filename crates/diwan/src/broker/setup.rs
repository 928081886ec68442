//! What a broker is started with: Kafka's own keys, from a `server.properties`, a `diwan.toml` or the command line, become one
//! [`LogConfig`].

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use log_broker::{BrokerConfig, ServerProperties};
use log_config::properties::Property;
use log_config::{Council, Given, Listener, LogMaintenance, NetworkLimits, Overrides, StaticConfig};
use log_service::LogConfig;
use log_storage::StoreConfig;
use node_config::Problem;

use super::address;

/// What security brokers of this program have. What a file asks for besides refuses the start.
const GIVEN: Given<'static> = Given { tls: false, sasl_mechanisms: &[], acls: false };

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
        let (listen, advertised) = the_listener(&read.listeners).map_err(|problem| vec![problem])?;
        let network = NetworkLimits::of(&values);
        let broker = BrokerConfig {
            advertised_host: advertised.0,
            advertised_port: advertised.1,
            properties: ServerProperties::from(read.file.clone()),
            ..BrokerConfig::of(&values)
        };
        let limit = |count: Option<u64>| count.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX));
        let session = read.council.as_ref().and_then(|council| council.session_timeout_ms);
        let config = LogConfig {
            listen,
            directory: read.directory.as_ref().map_or_else(|| defaults.directory.clone(), PathBuf::from),
            council: String::new(),
            council_session: session.map_or(SESSION, |ms| Duration::from_millis(ms.into())),
            backlog: u32::try_from(network.backlog).ok(),
            threads: u16::try_from(network.threads).unwrap_or(u16::MAX),
            connections: (limit(network.connections_max), limit(network.connections_per_address_max)),
            broker,
            compaction_bytes_per_second_max: LogMaintenance::of(&values).bytes_per_second_max,
            store: StoreConfig::default(),
        };
        let council = read.council.as_ref().map(servers);
        Ok(Self { config, council, warnings: read.warnings })
    }
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

/// Where to listen, and where clients are told to connect; port 0 is the one that is listened at.
fn the_listener(listeners: &[Listener]) -> Result<(SocketAddr, (String, u16)), Problem> {
    let advertised: Vec<&Listener> = listeners.iter().filter(|own| own.advertised.is_some()).collect();
    let [listener] = advertised[..] else {
        return Err(Problem::new(format!("`listeners` names {} for clients", advertised.len()))
            .hint("name one: this broker does not serve several yet"));
    };
    let address = address::of(listener.host.as_deref(), listener.port).map_err(|error| {
        let host = listener.host.as_deref().unwrap_or_default();
        Problem::new(format!("`listeners` names `{host}`, which has no address here: {error}"))
            .hint("name an address of this machine, or none for all of them")
    })?;
    let told = listener.advertised.as_ref();
    let host = told.and_then(|told| told.host.clone()).unwrap_or_else(address::own_name);
    Ok((address, (host, told.and_then(|told| told.port).unwrap_or(0))))
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
        let BrokerSetup { config, council, warnings } = setup("").expect("it is fine");
        assert_eq!((config.listen.port(), config.threads, config.backlog), (9092, 1, Some(50)));
        assert!(config.listen.ip().is_unspecified() && council.is_none() && warnings.is_empty());
        assert!(config.directory.is_absolute() && config.directory.ends_with("d/log"));
        assert_eq!(config.connections, (0, 0));
        assert_eq!((config.broker.node_id, config.broker.advertised_port), (1, 9092));
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
        let BrokerSetup { config, council, warnings } = setup(file).expect("it is fine");
        assert_eq!((config.listen.to_string().as_str(), config.broker.node_id), ("127.0.0.1:9192", 4));
        let advertised = (config.broker.advertised_host.as_str(), config.broker.advertised_port);
        assert_eq!(advertised, ("broker.example.com", 9292));
        assert_eq!((config.directory, config.broker.partitions), ("/var/lib/log".into(), 3));
        assert_eq!(council.as_deref(), Some("a:2181,b:2182/kafka"));
        assert_eq!(config.council_session, Duration::from_secs(7));
        assert!(warnings.iter().any(|warning| warning.contains("num.io.threads")), "{warnings:?}");
    }

    #[test]
    fn what_cannot_be_given_is_refused_with_a_hint() {
        for (file, part) in [
            ("listeners=SSL://:9092", "TLS"),
            ("listeners=PLAINTEXT://no.such.host.invalid:9092", "no.such.host.invalid"),
            (
                "listeners=PLAINTEXT://:1,OTHER://:2\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT",
                "2 for clients",
            ),
            ("log.dirs=/a,/b", "2 directories"),
        ] {
            let problems = setup(file).expect_err(file);
            let told = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            assert!(told.contains(part) && told.contains("hint: "), "{told}");
        }
    }
}
