//! `diwan log`: a broker as a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use log_broker::BrokerConfig;
use log_partition::PartitionConfig;
use log_service::{LogConfig, LogServer};
use log_storage::StoreConfig;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::config;
use crate::files;
use crate::logging::Log;

pub(crate) const HELP: &str = "\
The broker keeps its topics in the council and its records in its own directory. Kafka's clients connect as they are.

  diwan serve
  diwan log --council 127.0.0.1:2181
  diwan log --council zk1:2181,zk2:2181/kafka --listen 0.0.0.0:9092 --advertise broker1.example.com";

/// What a broker is told on the command line.
#[derive(Debug, Args)]
pub(crate) struct BrokerArguments {
    /// The servers of the council, or of an Apache ZooKeeper, with the path below which the broker keeps its own.
    #[arg(short = 's', long, value_name = "HOST:PORT,..[/PATH]", default_value = "127.0.0.1:2181")]
    council: String,

    /// Where clients connect.
    #[arg(short, long, value_name = "ADDRESS", default_value = "127.0.0.1:9092")]
    listen: SocketAddr,

    /// The host under which clients find this broker [default: the address it listens at].
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,

    /// Where the records lie.
    #[arg(short, long, value_name = "DIRECTORY", default_value = "diwan-data/log")]
    data_dir: PathBuf,

    /// The number of this broker, which no other has.
    #[arg(long, value_name = "N", default_value_t = 1)]
    node_id: i32,

    /// How many threads serve connections.
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: u16,
}

impl BrokerArguments {
    fn config(self) -> LogConfig {
        let broker = BrokerConfig {
            node_id: self.node_id,
            advertised_host: self.advertise.unwrap_or_else(|| self.listen.ip().to_string()),
            advertised_port: self.listen.port(),
            ..BrokerConfig::default()
        };
        LogConfig {
            listen: self.listen,
            directory: self.data_dir,
            council: self.council,
            threads: self.threads,
            connections: (0, 0),
            broker,
            topics: PartitionConfig::default(),
            compaction_bytes_per_second_max: None,
            store: StoreConfig::default(),
        }
    }
}

/// Runs a broker until a signal or a fault ends it.
pub(crate) fn run(arguments: BrokerArguments) -> ExitCode {
    match serve(arguments.config()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn serve(config: LogConfig) -> Result<(), String> {
    files::make_private();
    let _log = Log::start(config::LogConfig::default());
    files::raise_limit();
    // Before the threads begin, so that none of them gets a signal.
    let mut signals =
        Signals::new([SIGTERM, SIGINT]).map_err(|error| format!("signals cannot be caught: {error}"))?;
    let data = config.directory.clone();
    let server = Arc::new(LogServer::start(config).map_err(|error| error.to_string())?);
    let running = Arc::downgrade(&server);
    std::thread::spawn(move || {
        let first = signals.forever().next();
        tracing::info!(signal = first, "asked to stop");
        if let Some(server) = running.upgrade() {
            server.stop();
        }
    });
    tracing::info!(address = %server.address(), data = %data.display(), "ready");
    server.wait().map_err(|fault| fault.to_string())
}
