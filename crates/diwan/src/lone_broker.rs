//! `diwan log`: a broker as a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Weak};

use clap::Args;
use log_config::properties::Property;
use log_service::{LogConfig, LogServer};
use net_http::HttpListener;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::broker::{BrokerSetup, Defaults, option, plaintext, plaintext_at, read_properties, serve_pages};
use crate::config::{self, Problem};
use crate::files;
use crate::logging::Log;

pub(crate) const HELP: &str = "\
The broker keeps its topics in the council and its records in its own directory. Kafka's clients connect as they are.

  diwan serve
  diwan log --council 127.0.0.1:2181
  diwan log --config server.properties
  diwan log --council zk1:2181,zk2:2181/kafka --listen 0.0.0.0:9092 --advertise broker1.example.com";

/// The council, if no source names one.
const COUNCIL: &str = "127.0.0.1:2181";
/// Where clients connect, if no source says where.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9092);
/// Where the records lie, if no source says where.
const DIRECTORY: &str = "diwan-data/log";

/// Where metrics are served, if the command line does not say where.
const METRICS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7001);

/// Where metrics are served.
#[derive(Clone, Copy, Debug)]
enum MetricsPlace {
    At(SocketAddr),
    Off,
}

fn metrics_place(text: &str) -> Result<MetricsPlace, String> {
    match text {
        "off" => Ok(MetricsPlace::Off),
        address => address.parse().map(MetricsPlace::At).map_err(|_| "not `HOST:PORT` or `off`".into()),
    }
}

/// What a broker is told on the command line.
#[derive(Debug, Args)]
pub(crate) struct BrokerArguments {
    /// A `server.properties` of Kafka, taken as it is.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The servers of the council, or of an Apache ZooKeeper, with the path below which the broker keeps its own
    /// [default: 127.0.0.1:2181].
    #[arg(short = 's', long, value_name = "HOST:PORT,..[/PATH]")]
    council: Option<String>,

    /// Where clients connect [default: 127.0.0.1:9092].
    #[arg(short, long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// The host under which clients find this broker, or HOST:PORT [default: the address it listens at].
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,

    /// Where the records lie [default: diwan-data/log].
    #[arg(short, long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    /// The number of this broker, which no other has [default: 1].
    #[arg(long, value_name = "N")]
    node_id: Option<i32>,

    /// How many threads serve connections [default: 1].
    #[arg(long, value_name = "N")]
    threads: Option<u16>,

    /// Where metrics and probes are served over HTTP, or `off` [default: 127.0.0.1:7001, if it is free].
    #[arg(long, value_name = "ADDRESS", value_parser = metrics_place)]
    metrics: Option<MetricsPlace>,

    /// Set one of Kafka's keys.
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    properties: Vec<String>,
}

impl BrokerArguments {
    fn setup(self) -> Result<BrokerSetup, Vec<Problem>> {
        let one = |problem| vec![problem];
        let mut properties: Vec<Property> = Vec::new();
        if let Some(file) = &self.config {
            properties = read_properties(file).map_err(one)?;
        }
        let listen = if self.config.is_some() { None } else { Some(LISTEN) };
        properties.extend(self.options().map_err(one)?);
        BrokerSetup::of(properties, &Defaults { listen, directory: DIRECTORY.into() })
    }

    /// The options as keys of Kafka's.
    fn options(self) -> Result<Vec<Property>, Problem> {
        let mut options = Vec::new();
        for property in &self.properties {
            let (key, value) = property.split_once('=').ok_or_else(|| {
                Problem::new(format!("`-D {property}` has no `=`")).hint("write `-D KEY=VALUE`")
            })?;
            options.push(option(key.trim(), value.trim()));
        }
        if let Some(listen) = self.listen {
            options.push(option("listeners", plaintext(listen)));
        }
        if let Some(advertise) = &self.advertise {
            let has_port =
                advertise.rsplit_once(':').filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
            let (host, port) = match has_port.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
                Some((host, port)) => (host, port),
                None => (advertise.as_str(), self.listen.map_or(0, |listen| listen.port())),
            };
            options.push(option("advertised.listeners", plaintext_at(host, port)));
        }
        let data_dir = self.data_dir.map(|directory| directory.display().to_string());
        let others = [
            ("zookeeper.connect", self.council),
            ("log.dirs", data_dir),
            ("node.id", self.node_id.map(|id| id.to_string())),
            ("num.network.threads", self.threads.map(|threads| threads.to_string())),
        ];
        options.extend(others.into_iter().filter_map(|(key, value)| Some(option(key, value?))));
        Ok(options)
    }
}

/// Runs a broker until a signal or a fault ends it.
pub(crate) fn run(arguments: BrokerArguments) -> ExitCode {
    let metrics = arguments.metrics;
    let setup = match arguments.setup() {
        Ok(setup) => setup,
        Err(problems) => {
            problems.iter().for_each(|problem| eprintln!("error: {problem}"));
            return ExitCode::FAILURE;
        }
    };
    match serve(setup, metrics) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn serve(setup: BrokerSetup, metrics: Option<MetricsPlace>) -> Result<(), String> {
    files::make_private();
    let log = Log::start(config::LogConfig::default());
    setup.warnings.iter().for_each(|warning| tracing::warn!("configuration: {warning}"));
    files::raise_limit();
    // Before the threads begin, so that none of them gets a signal.
    let signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| format!("signals cannot be caught: {error}"))?;
    let data = setup.config.directory.clone();
    let council = setup.council.unwrap_or_else(|| COUNCIL.into());
    let mut config = LogConfig { council, ..setup.config };
    log.of_broker(&mut config);
    let server = LogServer::start(config);
    let server = Arc::new(server.map_err(|error| error.to_string())?);
    let running = Arc::downgrade(&server);
    std::thread::spawn(move || heed(signals, &running));
    let page = metrics_page(metrics, &server)?;
    let metrics = page.as_ref().map(|page| page.address().to_string());
    tracing::info!(address = %server.address(), metrics, data = %data.display(), "ready");
    server.wait().map_err(|fault| fault.to_string())
}

/// Serves the figures. That nobody asked for a port which is taken is no reason to stop.
fn metrics_page(
    place: Option<MetricsPlace>,
    server: &Arc<LogServer>,
) -> Result<Option<HttpListener>, String> {
    let (address, is_asked) = match place {
        Some(MetricsPlace::Off) => return Ok(None),
        Some(MetricsPlace::At(address)) => (address, true),
        None => (METRICS, false),
    };
    match serve_pages(address, server) {
        Ok(page) => Ok(Some(page)),
        Err(error) if is_asked => Err(format!("{address} cannot be listened at for metrics: {error}")),
        Err(error) => {
            tracing::info!(
                %address,
                %error,
                "metrics are not served: the address that is taken when none is named is in use; hint: `--metrics ADDRESS`"
            );
            Ok(None)
        }
    }
}

/// Stops the broker at a signal, and the process at a second one. `SIGHUP` has keys and certificates read again.
fn heed(mut signals: Signals, broker: &Weak<LogServer>) {
    let mut stopping = false;
    for signal in signals.forever() {
        let Some(server) = broker.upgrade() else { return };
        match signal {
            SIGHUP => {
                tracing::info!(signal, "asked to read keys and certificates again");
                server.reload();
            }
            // 128 + signal is what a shell makes of a process that a signal ended.
            _ if stopping => std::process::exit(128 + signal),
            _ => {
                tracing::info!(signal, "asked to stop");
                stopping = true;
                // On a thread of its own: the second signal must find this one listening.
                std::thread::spawn(move || server.stop());
            }
        }
    }
}
