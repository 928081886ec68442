//! A broker of ours under test, on a council that runs already: its start, and the rough things done to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use tools_process::Service;

use super::control::{Control, Handled};
use super::{Environment, fresh};

/// A broker that does not serve, or does not end, within this is broken.
const PATIENCE: Duration = Duration::from_secs(30);
/// Its configuration, in its folder.
const PROPERTIES: &str = "server.properties";
/// What a real Kafka is given, too.
const SETTINGS: &str = include_str!("../../../../../interop/jars/broker.properties");

/// A broker in a folder of its own, running or not.
pub(super) struct Broker {
    binary: PathBuf,
    folder: PathBuf,
    port: u16,
    council: String,
    running: Option<Service>,
}

impl Broker {
    /// Nothing is started yet. `council` is a connect string.
    pub(super) fn new(binary: &Path, work: &Path, port: u16, council: &str) -> anyhow::Result<Self> {
        let folder = work.join("broker");
        fresh(&folder)?;
        Ok(Self { binary: binary.to_owned(), folder, port, council: council.to_owned(), running: None })
    }

    /// Writes the configuration. The last line of a key counts, so a start's own settings go over those that are always there.
    fn configure(&self, settings: &[&str]) -> anyhow::Result<()> {
        // Several threads for connections, however few cores there are.
        let text = format!(
            "node.id=1\nlisteners=PLAINTEXT://{}\nlog.dirs=data\nnum.network.threads=2\nzookeeper.connect={}\n\
             offsets.topic.num.partitions=4\ntransaction.state.log.num.partitions=4\n{SETTINGS}\n{}\n",
            self.address(),
            self.council,
            settings.join("\n")
        );
        std::fs::write(self.folder.join(PROPERTIES), text)
            .with_context(|| format!("cannot write `{PROPERTIES}`"))
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn service(&mut self) -> anyhow::Result<&mut Service> {
        self.running.as_mut().context("the broker is not running")
    }
}

impl Handled for Broker {
    /// A broker that runs is left alone.
    fn start(&mut self, settings: &[&str]) -> anyhow::Result<()> {
        if self.running.as_mut().is_none_or(Service::has_ended) {
            self.configure(settings)?;
            let mut command = Command::new(&self.binary);
            command.args(["log", "--config", PROPERTIES]).current_dir(&self.folder);
            self.running = Some(Service::start("the broker", command, &self.log())?);
        }
        let port = self.port;
        Ok(self.service()?.wait_until(PATIENCE, || serves(port))?)
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        self.running.take().map_or(Ok(()), |mut service| Ok(service.kill()?))
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        let Some(mut service) = self.running.take() else { return Ok(()) };
        service.ask_to_stop()?;
        Ok(service.wait_until_ended(PATIENCE)?)
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        Ok(self.service()?.pause()?)
    }

    fn resume(&mut self) -> anyhow::Result<()> {
        Ok(self.service()?.resume()?)
    }
}

/// Whether the broker answers ApiVersions, version 0.
fn serves(port: u16) -> bool {
    const REQUEST: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff];
    let ask = || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(&REQUEST)?;
        stream.read_exact(&mut [0; 4])
    };
    ask().is_ok()
}

/// A running broker that a suite can treat badly; killed when this is dropped.
pub(super) struct ServedBroker {
    _control: Control,
    log: PathBuf,
    environment: Environment,
}

impl ServedBroker {
    pub(super) fn start(mut broker: Broker) -> anyhow::Result<Self> {
        broker.start(&[])?;
        let (log, folder, port, address) =
            (broker.log(), broker.folder.clone(), broker.port, broker.address());
        let program = broker.binary.clone();
        let control = Control::open(&folder, port, std::sync::Arc::new(std::sync::Mutex::new(broker)))?;
        let environment: Environment = vec![
            ("KAFKA_CONNECT", address.into()),
            ("KAFKA_CONTROL", control.script().into()),
            ("KAFKA_FLAVOR", "diwan".into()),
            ("KAFKA_PROGRAM", program.into()),
        ];
        Ok(Self { _control: control, log, environment })
    }

    pub(super) fn environment(&self) -> Environment {
        self.environment.clone()
    }

    pub(super) fn log(&self) -> &Path {
        &self.log
    }
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The program under test
    #[arg(long)]
    binary: PathBuf,
    /// Where the broker's files go
    #[arg(long)]
    work: PathBuf,
    #[arg(long)]
    port: u16,
    /// The command that gets the broker's environment
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Runs a command beside a broker on the council that ZK_CONNECT names, which may be a real ZooKeeper.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let council = std::env::var("ZK_CONNECT").context("ZK_CONNECT names no council")?;
    let broker = Broker::new(&args.binary, &args.work, args.port, &council)?;
    let served = ServedBroker::start(broker)?;
    let Some((program, words)) = args.command.split_first() else { bail!("there is no command") };
    let status = Command::new(program).args(words).envs(served.environment()).status();
    Ok(status.with_context(|| format!("cannot run `{program}`"))?.success())
}
