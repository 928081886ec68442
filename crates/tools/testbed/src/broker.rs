//! One broker that speaks Kafka's protocol: a real Apache Kafka, ours beside a council of its own, or ours as most people
//! start it, with the council in the same process.

use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tools_process::{Service, ports};

use crate::peer::kafka::Distribution;
use crate::wire::{Received, Wire, framed};
use crate::{Config, PeerError, Server, Software};

/// How long a broker may take until it answers: a cold JVM on a busy machine with two cores needs most of it.
const START_DEADLINE: Duration = Duration::from_secs(90);
/// The same for each broker of a cluster: they start together.
pub(crate) const CLUSTER_DEADLINE: Duration = Duration::from_secs(180);
const ANSWER_DEADLINE: Duration = Duration::from_secs(1);
/// Any sixteen bytes, as Kafka writes them.
const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qg";
/// ApiVersions of version 0 from nobody: the one request that every broker answers before all others.
const API_VERSIONS: [u8; 10] = [0, 18, 0, 0, 0, 0, 0, 1, 255, 255];
/// The module that checks names and passwords.
const PLAIN_MODULE: &str = "org.apache.kafka.common.security.plain.PlainLoginModule";
/// The rules of access that are kept in the log of the controllers, or in our council.
const AUTHORIZER: &str = "org.apache.kafka.metadata.authorizer.StandardAuthorizer";
/// How many replicas Kafka's internal topics have, if no key says otherwise.
const INTERNAL_REPLICAS: usize = 3;
/// What a broker logs: warnings, to standard output.
const LOG4J: &str = "status = error\n\
    appender.c.type = Console\n\
    appender.c.name = c\n\
    appender.c.layout.type = PatternLayout\n\
    appender.c.layout.pattern = %d %p %c{1} %m%n\n\
    rootLogger.level = warn\n\
    rootLogger.appenderRef.c.ref = c\n";

/// Which program serves.
#[derive(Clone, Debug)]
pub enum BrokerSoftware {
    /// A real Apache Kafka in KRaft mode, broker and controller in one process.
    Kafka(Distribution),
    /// Diwan, by the path of its binary: `diwan log`, and a council as another process.
    Diwan(PathBuf),
    /// Diwan, by the path of its binary: `diwan serve`, council and log in one process.
    Whole(PathBuf),
}

/// How one broker is set up.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// Names and passwords of those who may connect (SASL PLAIN). If there are any, each request is checked by rules of access,
    /// and the first of them may do everything. Without, everybody may.
    pub users: Vec<(String, String)>,
    /// Its folder: holds configuration, data and logs. Made if absent.
    pub folder: PathBuf,
    /// The heap limit of a JVM, in MiB; Diwan has none.
    pub heap_mb: u32,
    /// Further keys of Kafka's `server.properties`; `diwan log` is given none.
    pub settings: Vec<(String, String)>,
    /// Further arguments: of the JVM for Kafka, of `diwan log` for Diwan.
    pub flags: Vec<String>,
}

/// Where one node of a Kafka in KRaft mode, broker and controller in one process, listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// For clients and other brokers.
    pub(crate) client: SocketAddr,
    /// For brokers and other controllers.
    pub(crate) controller: SocketAddr,
}

/// A running broker. Dropping it kills its processes.
#[derive(Debug)]
pub struct Broker {
    address: SocketAddr,
    service: Service,
    /// Ours keeps its topics there.
    _council: Option<Server>,
}

impl BrokerSoftware {
    /// The name for reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kafka(_) => "kafka",
            Self::Diwan(_) | Self::Whole(_) => "diwan",
        }
    }
}

impl Broker {
    /// Prepares the folder, starts the program and waits until it answers. What a broker answers "not yet" for a while after
    /// its start is for the caller to wait out.
    ///
    /// # Errors
    /// The files cannot be written, or a program ends or stays silent.
    pub fn start(software: &BrokerSoftware, config: &BrokerConfig) -> Result<Self, PeerError> {
        fs::create_dir_all(&config.folder).map_err(PeerError::io(&config.folder))?;
        let [client, controller, council] = ports::free().map_err(PeerError::io("a port"))?;
        let local = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let (command, council) = match software {
            BrokerSoftware::Kafka(distribution) => {
                let node = Node { client: local(client), controller: local(controller) };
                (kafka(distribution, config, 1, (&[node], 1))?, None)
            }
            BrokerSoftware::Diwan(binary) => {
                let server = start_council(binary, &config.folder, local(council))?;
                (diwan(binary, config, local(client), local(council)), Some(server))
            }
            BrokerSoftware::Whole(binary) => (whole(binary, config, local(client), local(council)), None),
        };
        let launched = Self::launch(software, command, local(client), &config.folder)?;
        let mut broker = Self { _council: council, ..launched };
        broker.wait_until_serving(START_DEADLINE)?;
        Ok(broker)
    }

    /// Starts a program that will serve clients at that address; what it says goes to a file in `folder`.
    pub(crate) fn launch(
        software: &BrokerSoftware,
        command: Command,
        address: SocketAddr,
        folder: &Path,
    ) -> Result<Self, PeerError> {
        let service = Service::start(software.name(), command, &folder.join("log"))?;
        Ok(Self { address, service, _council: None })
    }

    /// SIGKILL, then waits until the process is gone. A council lives on.
    ///
    /// # Errors
    /// The host could not.
    pub fn kill(&mut self) -> Result<(), PeerError> {
        Ok(self.service.kill()?)
    }

    /// SIGTERM, then waits until the process is gone. A council lives on.
    ///
    /// # Errors
    /// The host could not.
    pub fn stop(&mut self) -> Result<(), PeerError> {
        Ok(self.service.stop()?)
    }

    /// Sends SIGSTOP, then waits until all its threads are stopped; its sockets stay open.
    ///
    /// # Errors
    /// The host could not.
    pub fn pause(&mut self) -> Result<(), PeerError> {
        Ok(self.service.pause()?)
    }

    /// SIGCONT.
    ///
    /// # Errors
    /// The host could not.
    pub fn resume(&mut self) -> Result<(), PeerError> {
        Ok(self.service.resume()?)
    }

    /// Starts the program again over the same folder and port; it must have been killed or stopped.
    ///
    /// # Errors
    /// As [`Broker::start`].
    pub fn restart(&mut self) -> Result<(), PeerError> {
        self.service.start_again()?;
        self.wait_until_serving(START_DEADLINE)
    }

    /// As [`Broker::restart`], and does not wait until it answers: how long that takes is what the caller measures.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn launch_again(&mut self) -> Result<(), PeerError> {
        Ok(self.service.start_again()?)
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process id; a council has another one.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.service.id()
    }

    /// Whether the process has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.service.has_ended()
    }

    /// The last lines of the broker's log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.service.log_tail()
    }

    pub(crate) fn wait_until_serving(&mut self, deadline: Duration) -> Result<(), PeerError> {
        let address = self.address;
        Ok(self.service.wait_until(deadline, || serves(address))?)
    }
}

/// Whether a broker at that address answers.
fn serves(address: SocketAddr) -> bool {
    let Ok(mut wire) = Wire::connect(address, ANSWER_DEADLINE) else { return false };
    let asked = wire.send(&framed(&API_VERSIONS)).is_ok();
    asked && matches!(wire.receive(ANSWER_DEADLINE), Received::Frame(_))
}

/// Writes the configuration of the node of that number, from 1 on, formats its folder, and returns what starts it. The first
/// `controllers` of the nodes are controllers, too.
pub(crate) fn kafka(
    distribution: &Distribution,
    config: &BrokerConfig,
    number: usize,
    (nodes, controllers): (&[Node], usize),
) -> Result<Command, PeerError> {
    let properties = config.folder.join("server.properties");
    fs::write(&properties, server_properties(config, number, (nodes, controllers)))
        .map_err(PeerError::io(&properties))?;
    let logging = config.folder.join("log4j2.properties");
    fs::write(&logging, LOG4J).map_err(PeerError::io(&logging))?;
    if !config.folder.join("data").join("meta.properties").exists() {
        let mut format = distribution.format(CLUSTER_ID, &properties);
        let output = format.stdin(Stdio::null()).output().map_err(PeerError::io("java"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let source = std::io::Error::other(format!("Kafka cannot format it: {said}"));
            return Err(PeerError::Io { what: config.folder.join("data"), source });
        }
    }
    let mut flags = vec![format!("-Dlog4j2.configurationFile={}", logging.display())];
    flags.extend(config.flags.iter().cloned());
    Ok(distribution.broker(config.heap_mb, &flags, &properties))
}

fn server_properties(config: &BrokerConfig, number: usize, (nodes, controllers): (&[Node], usize)) -> String {
    let Node { client, controller } = nodes[number - 1];
    let voter = |(number, node): (usize, &Node)| format!("{number}@{}", node.controller);
    let voters: Vec<_> = (1..).zip(nodes).take(controllers).map(voter).collect();
    let (roles, others) = match number <= controllers {
        true => ("broker,controller", format!(",CONTROLLER://{controller}")),
        false => ("broker", String::new()),
    };
    let mut text = format!(
        "process.roles={roles}\n\
         node.id={number}\n\
         controller.quorum.voters={}\n\
         controller.listener.names=CONTROLLER\n\
         log.dirs={}\n",
        voters.join(","),
        config.folder.join("data").display()
    );
    for (key, value) in listener(config, client, &others) {
        let _ = writeln!(text, "{key}={value}");
    }
    if !config.users.is_empty() {
        // It asks its own controller, which takes the broker for nobody in particular.
        text.push_str("inter.broker.listener.name=CLIENT\nsasl.mechanism.inter.broker.protocol=PLAIN\n");
    }
    // Kafka's own topics have three replicas by default; fewer brokers have no room for them.
    if nodes.len() < INTERNAL_REPLICAS {
        for topic in ["offsets.topic", "transaction.state.log", "share.coordinator.state.topic"] {
            let _ = writeln!(text, "{topic}.replication.factor={}", nodes.len());
        }
        for topic in ["transaction.state.log", "share.coordinator.state.topic"] {
            let _ = writeln!(text, "{topic}.min.isr=1");
        }
    }
    for (key, value) in &config.settings {
        let _ = writeln!(text, "{key}={value}");
    }
    text
}

/// The keys that say where clients connect, and who they may be. `others` are further listeners of Kafka's.
fn listener(config: &BrokerConfig, client: SocketAddr, others: &str) -> Vec<(String, String)> {
    let key = |key: &str, value: String| (key.to_owned(), value);
    let Some((first, password)) = config.users.first() else {
        return vec![
            key("listeners", format!("PLAINTEXT://{client}{others}")),
            key("advertised.listeners", format!("PLAINTEXT://{client}")),
            key("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT".into()),
        ];
    };
    let mut jaas = format!("{PLAIN_MODULE} required username=\"{first}\" password=\"{password}\"");
    for (name, password) in &config.users {
        let _ = write!(jaas, " user_{name}=\"{password}\"");
    }
    vec![
        key("listeners", format!("CLIENT://{client}{others}")),
        key("advertised.listeners", format!("CLIENT://{client}")),
        key("listener.security.protocol.map", "CLIENT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT".into()),
        key("sasl.enabled.mechanisms", "PLAIN".into()),
        key("listener.name.client.plain.sasl.jaas.config", format!("{jaas};")),
        key("authorizer.class.name", AUTHORIZER.into()),
        key("super.users", format!("User:{first};User:ANONYMOUS")),
    ]
}

pub(crate) fn start_council(binary: &Path, folder: &Path, client: SocketAddr) -> Result<Server, PeerError> {
    let config = Config {
        folder: folder.join("council"),
        client,
        namespace: None,
        heap_mb: 0,
        keys: Vec::new(),
        flags: ["-D", "metrics.listen=off"].map(String::from).to_vec(),
        environment: Vec::new(),
    };
    Server::start(&Software::Diwan(binary.to_owned()), config)
}

fn diwan(binary: &Path, config: &BrokerConfig, client: SocketAddr, council: SocketAddr) -> Command {
    let mut command = Command::new(binary);
    command.args(["log", "--council", &council.to_string(), "--data-dir"]);
    command.arg(config.folder.join("data")).args(&config.flags);
    for (key, value) in listener(config, client, "").iter().chain(&config.settings) {
        command.arg("-D").arg(format!("{key}={value}"));
    }
    command
}

/// Council and log in one process, each in a directory of its own below `data`.
fn whole(binary: &Path, config: &BrokerConfig, client: SocketAddr, council: SocketAddr) -> Command {
    let mut command = Command::new(binary);
    command.args([
        "serve",
        "--objects",
        "off",
        "--listen",
        &council.to_string(),
        "--log",
        &client.to_string(),
    ]);
    command.arg("--data-dir");
    command.arg(config.folder.join("data")).args([
        "-D",
        "metrics.listen=off",
        "-D",
        "admin.enableServer=false",
    ]);
    for (key, value) in &config.settings {
        command.arg("-D").arg(format!("log.{key}={value}"));
    }
    command.args(&config.flags);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(client: u16, controller: u16) -> Node {
        let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Node { client: at(client), controller: at(controller) }
    }

    fn config() -> BrokerConfig {
        BrokerConfig {
            folder: PathBuf::from("/somewhere"),
            users: Vec::new(),
            heap_mb: 256,
            settings: vec![(String::from("num.partitions"), String::from("3"))],
            flags: Vec::new(),
        }
    }

    #[test]
    fn properties_of_a_node_name_all_voters_and_leave_internal_topics_their_three_replicas() {
        let text = server_properties(&config(), 2, (&[node(21, 22), node(23, 24), node(25, 26)], 3));
        assert!(text.contains("node.id=2\n"));
        assert!(text.contains("controller.quorum.voters=1@127.0.0.1:22,2@127.0.0.1:24,3@127.0.0.1:26\n"));
        assert!(text.contains("listeners=PLAINTEXT://127.0.0.1:23,CONTROLLER://127.0.0.1:24\n"));
        assert!(!text.contains("replication.factor") && !text.contains("min.isr"));
    }

    #[test]
    fn node_that_is_no_controller_is_no_voter_and_has_no_listener_for_controllers() {
        let nodes = [node(21, 22), node(23, 24), node(25, 26)];
        let text = server_properties(&config(), 2, (&nodes, 1));
        assert!(text.contains("process.roles=broker\n"));
        assert!(text.contains("controller.quorum.voters=1@127.0.0.1:22\n"));
        assert!(text.contains("listeners=PLAINTEXT://127.0.0.1:23\n"));
        let text = server_properties(&config(), 1, (&nodes, 1));
        assert!(
            text.contains("process.roles=broker,controller\n")
                && text.contains(",CONTROLLER://127.0.0.1:22\n")
        );
    }

    #[test]
    fn properties_name_both_listeners_and_end_with_the_given_settings() {
        let config = config();
        let alone = [node(21, 22)];
        let text = server_properties(&config, 1, (&alone, 1));
        assert!(text.contains("listeners=PLAINTEXT://127.0.0.1:21,CONTROLLER://127.0.0.1:22\n"));
        assert!(text.contains("controller.quorum.voters=1@127.0.0.1:22\n"));
        assert!(text.contains("log.dirs=/somewhere/data\n") && text.ends_with("num.partitions=3\n"));
        assert!(!text.contains("sasl") && !text.contains("authorizer"));
        let users = [("root", "r"), ("alice", "a")].map(|(name, word)| (name.to_owned(), word.to_owned()));
        let text = server_properties(&BrokerConfig { users: users.to_vec(), ..config }, 1, (&alone, 1));
        assert!(text.contains("listeners=CLIENT://127.0.0.1:21,CONTROLLER://127.0.0.1:22\n"));
        assert!(text.contains("user_root=\"r\" user_alice=\"a\";\n"));
        assert!(text.contains("super.users=User:root;User:ANONYMOUS\n"));
    }
}
