//! Brokers of ours under test, on a council that runs already: their start, and the rough things done to them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail};
use tools_process::Service;

use super::control::{Control, Handled};
use super::servers::{DEAD, Deaths, Mortal, Reaper, ring};
use super::{Environment, fresh};

/// A broker that does not serve, or does not end, within this is broken.
const PATIENCE: Duration = Duration::from_secs(30);
/// Its configuration, in its folder.
const PROPERTIES: &str = "server.properties";
/// What a real Kafka is given, too.
const SETTINGS: &str = include_str!("../../../../../interop/jars/broker.properties");

/// Consumers read the replica in their rack.
const READ_NEAR: &str = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector";

/// A broker in a folder of its own, running or not.
struct Broker {
    binary: PathBuf,
    folder: PathBuf,
    id: usize,
    port: u16,
    council: String,
    /// What all brokers of a cluster are given besides.
    of_cluster: String,
    running: Option<Service>,
}

/// All brokers of a cluster: a suite kills, stops and starts them together.
pub(super) struct Brokers {
    members: Vec<Broker>,
    /// Of the present start.
    settings: Vec<String>,
    paused: bool,
}

impl Broker {
    fn new(
        binary: &Path,
        work: &Path,
        (id, port): (usize, u16),
        (council, of_cluster): (&str, &str),
    ) -> anyhow::Result<Self> {
        let folder = if id == 1 { work.join("broker") } else { work.join(format!("broker{id}")) };
        fresh(&folder)?;
        let (council, of_cluster) = (council.to_owned(), of_cluster.to_owned());
        Ok(Self { binary: binary.to_owned(), folder, id, port, council, of_cluster, running: None })
    }

    /// Writes the configuration. The last line of a key counts, so a start's own settings go over those that are always there.
    fn configure(&self, settings: &[&str]) -> anyhow::Result<()> {
        // Several threads for connections, however few cores there are.
        let id = self.id;
        let text = format!(
            "node.id={id}\nlisteners=PLAINTEXT://{}\nlog.dirs=data\nnum.network.threads=2\nzookeeper.connect={}\n\
             offsets.topic.num.partitions=4\ntransaction.state.log.num.partitions=4\n{SETTINGS}\n{}{}\n",
            self.address(),
            self.council,
            self.of_cluster,
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

impl Broker {
    /// A broker that runs is left alone.
    fn launch(&mut self, settings: &[&str]) -> anyhow::Result<()> {
        if self.running.as_mut().is_none_or(Service::has_ended) {
            self.configure(settings)?;
            let mut command = Command::new(&self.binary);
            command.args(["log", "--config", PROPERTIES]).current_dir(&self.folder);
            self.running = Some(Service::start("the broker", command, &self.log())?);
        }
        Ok(())
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        let port = self.port;
        Ok(self.service()?.wait_until(PATIENCE, || serves(port))?)
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        self.running.take().map_or(Ok(()), |mut service| Ok(service.kill()?))
    }

    fn ask_to_stop(&mut self) -> anyhow::Result<()> {
        self.running.as_mut().map_or(Ok(()), |service| Ok(service.ask_to_stop()?))
    }

    fn stopped(&mut self) -> anyhow::Result<()> {
        self.running.take().map_or(Ok(()), |mut service| Ok(service.wait_until_ended(PATIENCE)?))
    }

    fn is_running(&mut self) -> bool {
        self.running.as_mut().is_some_and(|service| !service.has_ended())
    }
}

impl Brokers {
    /// Nothing is started yet. `council` is a connect string.
    pub(super) fn new(binary: &Path, work: &Path, ports: &[u16], council: &str) -> anyhow::Result<Self> {
        let replicas = ports.len().min(3);
        let of_cluster = format!("default.replication.factor={replicas}\n{READ_NEAR}\n");
        let member = |(id, port): (usize, &u16)| {
            let of_cluster = format!("{of_cluster}broker.rack=rack-{id}\n");
            let of_cluster = if replicas > 1 { of_cluster.as_str() } else { "" };
            Broker::new(binary, work, (id, *port), (council, of_cluster))
        };
        let members = (1..).zip(ports).map(member).collect::<anyhow::Result<_>>()?;
        Ok(Self { members, settings: Vec::new(), paused: false })
    }

    /// Where clients find all of them.
    fn connect_string(&self) -> String {
        self.members.iter().map(Broker::address).collect::<Vec<_>>().join(",")
    }
}

impl Handled for Brokers {
    /// Returns when all serve.
    fn start(&mut self, settings: &[&str]) -> anyhow::Result<()> {
        self.settings = settings.iter().map(|setting| String::from(*setting)).collect();
        self.members.iter_mut().try_for_each(|member| member.launch(settings))?;
        self.members.iter_mut().try_for_each(Broker::wait)
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        self.paused = false;
        self.members.iter_mut().try_for_each(Broker::kill)
    }

    fn stop(&mut self) -> anyhow::Result<()> {
        self.members.iter_mut().try_for_each(Broker::ask_to_stop)?;
        self.members.iter_mut().try_for_each(Broker::stopped)
    }

    fn pause(&mut self) -> anyhow::Result<()> {
        self.paused = true;
        self.members.iter_mut().try_for_each(|member| Ok(member.service()?.pause()?))
    }

    fn resume(&mut self) -> anyhow::Result<()> {
        self.paused = false;
        self.members.iter_mut().try_for_each(|member| Ok(member.service()?.resume()?))
    }
}

impl Mortal for Brokers {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn one_dies(&mut self, place: usize, toll: &Path) -> anyhow::Result<()> {
        if self.paused || !self.members.iter_mut().all(Broker::is_running) {
            return Ok(());
        }
        let settings: Vec<&str> = self.settings.iter().map(String::as_str).collect();
        let member = &mut self.members[place];
        ring(toll)?;
        member.kill()?;
        std::thread::sleep(DEAD);
        member.launch(&settings)?;
        member.wait()?;
        ring(toll)
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

/// Running brokers that a suite can treat badly; killed when this is dropped.
pub(super) struct ServedBrokers {
    // Before the control, which ends the brokers that it holds.
    _reaper: Option<Reaper>,
    _control: Control,
    log: PathBuf,
    environment: Environment,
}

impl ServedBrokers {
    /// With the deaths that the brokers die in turn, meanwhile.
    pub(super) fn start(mut brokers: Brokers, deaths: Option<Deaths>) -> anyhow::Result<Self> {
        brokers.start(&[])?;
        let connect = brokers.connect_string();
        let first = brokers.members.first().context("there is no broker")?;
        let (log, folder, port, program) =
            (first.log(), first.folder.clone(), first.port, first.binary.clone());
        let brokers = Arc::new(Mutex::new(brokers));
        let control = Control::open(&folder, port, Arc::clone(&brokers))?;
        let environment: Environment = vec![
            ("KAFKA_CONNECT", connect.into()),
            ("KAFKA_CONTROL", control.script().into()),
            ("KAFKA_FLAVOR", "diwan".into()),
            ("KAFKA_PROGRAM", program.into()),
        ];
        let reaper = deaths.map(|deaths| Reaper::start(brokers, deaths, folder.join("deaths")));
        Ok(Self { _reaper: reaper, _control: control, log, environment })
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
    let brokers = Brokers::new(&args.binary, &args.work, &[args.port], &council)?;
    let served = ServedBrokers::start(brokers, None)?;
    let Some((program, words)) = args.command.split_first() else { bail!("there is no command") };
    let status = Command::new(program).args(words).envs(served.environment()).status();
    Ok(status.with_context(|| format!("cannot run `{program}`"))?.success())
}
