//! The command line: commands, options, and their help.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use council_connect::{ConnectArguments, Connection, TlsArguments};

use crate::certificates::{self, Holder, Order};
use crate::config::{CheckOptions, Checked, Sources};
use crate::council::{self, DataCommand};
use crate::digest::{self, DigestArguments};
use crate::log::{ClusterCommand, LogCommand};
use crate::lone_broker::{self, BrokerArguments};
use crate::member::Wish;
use crate::object::{self, ObjectCommand};
use crate::shell::ShellOptions;
use crate::status::StatusOptions;
use crate::up::UpOptions;

const SERVE_HELP: &str = "\
Without any of these, ZooKeeper's clients connect to 127.0.0.1:2181, Kafka's to 127.0.0.1:9092, those of live objects to
127.0.0.1:7180, and data lies in `./diwan-data`.
`diwan config keys` lists every key; `diwan config check FILE` says what a file means.

  diwan serve
  diwan serve --config zoo.cfg
  diwan serve --config server.properties
  diwan serve --listen 0.0.0.0:2181 --data-dir /var/lib/diwan -D extendedTypesEnabled=true";

const SHELL_HELP: &str = "\
Without COMMAND a terminal gets a prompt with completion, and a pipe is read line by line. \
One COMMAND that leaves a watch (`get -w`, `addWatch`) stays and shows its events.

  diwan shell ls /
  diwan shell create -e -s /lock/member- alice
  diwan shell --server zk1:2181,zk2:2181/app get -s /config
  diwan shell --tls-ca ca.pem --server zk1:2281 --auth digest:alice ls /
  diwan shell help            lists the commands
zkCli's own way, `-server HOST:PORT`, is taken too, and so are `-client-configuration FILE` and CLIENT_JVMFLAGS.";

const UP_HELP: &str = "\
Each member is a process; their connections to each other are authenticated and encrypted. A member that \
ends is started again. Runs until ctrl-c, which stops all; the next run uses the same data.

  diwan up
  diwan up --members 5 --dir /tmp/five --client-port 3181
  diwan up --client-port 0 --peer-port 0 --http-port 0     any free ports";

const STATUS_HELP: &str = "\
One member that answers is enough to see all; those that do not are shown as such. \
The status is 0 when there is a leader, otherwise 1.

  diwan status                             what runs here at the usual ports
  diwan status --server zk1:8080,zk2:8080  the AdminServers' addresses, not those for clients
  diwan status --server zk1:8443 --tls-ca ca.pem  if a TLS proxy is before the AdminServers
  diwan status --json";

const CERTIFICATES_HELP: &str = "\
Makes an authority (`ca.pem`, `ca-key.pem`) and for each member a file with its key and certificate \
(`member-N.pem`), and prints the lines for each zoo.cfg. Files that are there are never replaced; an \
authority that is there signs for further members.

  diwan certificates --dir certs --member 1=zk1.example.com --member 2=zk2.example.com,10.0.0.2";

const MEMBER_HELP: &str = "\
Needs `reconfigEnabled=true` in each member's configuration, and an identity that may write \
`/zookeeper/config`.

  diwan member list
  diwan member add '4=zk4.example.com:2888;2181' --dry-run
  diwan member add '4=zk4.example.com:2888;2181' --auth digest:super
  diwan member remove 2 --auth-file super.auth --tls-ca ca.pem

`--auth digest:super` asks for the password.";

const FORCE_HELP: &str = "\
For when a majority of the members has lost its disks for good, so nothing can be written any more. \
If a majority can be brought back, bring it back instead.

  diwan force-new-ensemble --config zoo.cfg
  diwan force-new-ensemble --config zoo.cfg --yes";

/// Where `diwan up` serves objects, unless told otherwise.
const OBJECTS_PORT: u16 = 7180;
/// Where `diwan up` answers queries for names, unless told otherwise.
const DNS_PORT: u16 = 5300;

/// Coordination by ZooKeeper's protocol, and a log by Kafka's.
#[derive(Debug, Parser)]
#[command(name = "diwan", version, max_term_width = 110, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Parses the command line; ends the process if it is wrong or asks for help.
pub(crate) fn parse() -> Cli {
    Cli::parse_from(with_zkcli_options(std::env::args_os()))
}

/// Options of the shell that take a value.
const WITH_VALUE: [&str; 9] = [
    "--server",
    "--timeout",
    "--auth",
    "--auth-file",
    "--client-configuration",
    "--sasl-user",
    "--sasl-password-file",
    "--tls-ca",
    "--tls-cert",
];
/// And those that do not.
const WITHOUT_VALUE: [&str; 1] = ["--waitforconnection"];
const SHORT_WITH_VALUE: [&str; 4] = ["-s", "-t", "-a", "-D"];

/// zkCli's own options have one dash: they are accepted, for users and scripts that say `-server host:port`. Applies
/// only to options before the shell's command.
fn with_zkcli_options(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let service = usize::from(arguments.get(1).is_some_and(|word| word == "council"));
    if arguments.get(1 + service).is_none_or(|word| word != "shell") {
        return arguments;
    }
    let mut place = 2 + service;
    while let Some(word) = arguments.get_mut(place) {
        let Some(text) = word.to_str().filter(|text| text.starts_with('-')) else { break };
        let single = |long: &&&str| long.strip_prefix("--") == text.strip_prefix('-');
        let doubled = WITH_VALUE.iter().chain(&WITHOUT_VALUE).find(single).copied();
        let takes_value = |option: &str| WITH_VALUE.contains(&option) || SHORT_WITH_VALUE.contains(&option);
        if takes_value(text) || doubled.is_some_and(takes_value) {
            place += 1;
        }
        if let Some(doubled) = doubled {
            *word = OsString::from(doubled);
        }
        place += 1;
    }
    arguments
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server.
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArguments),
    /// Run a whole ensemble on this machine, for trying it out.
    #[command(after_help = UP_HELP)]
    Up(UpArguments),
    /// Run a broker that speaks Kafka's protocol, on a council or an Apache ZooKeeper.
    #[command(after_help = lone_broker::HELP)]
    Log(LogArguments),
    #[command(flatten)]
    Records(LogCommand),
    /// Live objects: list, inspect, call, delete.
    #[command(subcommand, after_help = object::HELP)]
    Object(ObjectCommand),
    /// Make keys and certificates with which members authenticate and encrypt their connections to each other.
    #[command(after_help = CERTIFICATES_HELP)]
    Certificates(CertificatesArguments),
    /// The coordination service: shell, status, members, backups.
    #[command(subcommand, after_help = council::HELP)]
    Council(CouncilCommand),
    #[command(flatten)]
    Short(ShortCommand),
    /// Repeat the published experiments on Diwan and on its peers, side by side, and draw them.
    #[command(disable_help_flag = true)]
    Lab {
        /// Arguments for `diwan-lab`; `diwan lab --help` lists its commands.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// Look at configuration files.
    #[command(subcommand)]
    Config(ConfigCommand),
}

/// What members of `diwan up` serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum UpService {
    /// The coordination service: always.
    Council,
    /// The log, for Kafka's clients.
    Log,
    /// Live objects, over HTTP.
    Objects,
}

/// A broker, or a look at all of them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LogArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ClusterCommand>,

    #[command(flatten)]
    pub(crate) broker: BrokerArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CouncilCommand {
    #[command(flatten)]
    Short(ShortCommand),
    #[command(flatten)]
    Data(DataCommand),
}

/// Commands of the council that may also stand alone: no other service has such.
#[derive(Debug, Subcommand)]
pub(crate) enum ShortCommand {
    /// Talk to a server with zkCli's commands: one from the command line, or many at a prompt or from a pipe.
    #[command(after_help = SHELL_HELP)]
    Shell(ShellArguments),
    /// Show the members of a running ensemble: roles, lag, sessions, snapshots.
    #[command(after_help = STATUS_HELP)]
    Status(StatusArguments),
    /// Show or change the membership of a running ensemble.
    #[command(after_help = MEMBER_HELP)]
    Member(MemberArguments),
    /// Make the line of a configuration that names the super user.
    #[command(after_help = digest::HELP)]
    Digest(DigestArguments),
    /// Make a new ensemble from one survivor of a lost majority. The server must be stopped.
    #[command(after_help = FORCE_HELP)]
    ForceNewEnsemble(ForceArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say what each line of a file means here, and whether a server would start with it. Changes nothing.
    Check(CheckArguments),
    /// List every key, by Diwan's name and by ZooKeeper's.
    Keys {
        /// As tables for a document.
        #[arg(long)]
        markdown: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// A `diwan.toml`, or a `zoo.cfg` of ZooKeeper or a `server.properties` of Kafka, taken as they are.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where the data lies [default: `./diwan-data`].
    #[arg(short, long, value_name = "DIRECTORY")]
    data_dir: Option<String>,

    /// Where clients connect, or `off` [default: 127.0.0.1:2181].
    #[arg(short, long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// Where Kafka's clients connect, or `off` [default: 127.0.0.1:9092].
    #[arg(long, value_name = "ADDRESS")]
    log: Option<String>,

    /// Where clients of live objects connect by HTTP, or `off` [default: 127.0.0.1:7180].
    #[arg(long, value_name = "ADDRESS")]
    objects: Option<String>,

    /// Where queries for names of objects are answered, by UDP and TCP, or `off` [default: off].
    #[arg(long, value_name = "ADDRESS")]
    dns: Option<String>,

    /// Where metrics are served over HTTP, or `off` [default: 127.0.0.1:7000].
    #[arg(short, long, value_name = "ADDRESS")]
    metrics: Option<String>,

    /// Where the AdminServer's commands are served over HTTP, or `off` [default: 127.0.0.1:7000].
    #[arg(short, long, value_name = "ADDRESS")]
    admin: Option<String>,

    /// Set a key, by ZooKeeper's name (with or without `zookeeper.`) or Diwan's own; Kafka's begin with `log.`.
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    properties: Vec<String>,

    /// What is logged: `error`, `warn`, `info`, `debug` or `trace` [default: info].
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,

    /// How it is logged: `text` or `json` [default: text].
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,

    /// Stop when the standard input ends: the process that started this server is gone then.
    #[arg(long, hide = true)]
    pub(crate) until_input_ends: bool,
}

impl ServeArguments {
    /// Where the configuration comes from.
    pub(crate) fn sources(self) -> Sources {
        let flags = [
            ("node.data-dir", self.data_dir),
            ("council.listen.client", self.listen),
            ("log.listen", self.log),
            ("objects.listen", self.objects),
            ("dns.listen", self.dns),
            ("metrics.listen", self.metrics),
            ("admin.listen", self.admin),
            ("logging.level", self.log_level),
            ("logging.format", self.log_format),
        ];
        let flags = flags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        Sources { file: self.config, properties: self.properties, flags }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ShellArguments {
    /// The session timeout to ask for, and how long to wait for a server.
    #[arg(short, long, value_name = "MS", default_value_t = 30_000)]
    timeout: u64,

    /// Allow connecting to a read-only server.
    #[arg(short, long)]
    read_only: bool,

    /// zkCli has this option; here the shell always waits.
    #[arg(long = "waitforconnection", hide = true)]
    wait_for_connection: bool,

    /// One command and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,

    #[command(flatten)]
    connect: ConnectArguments,
}

impl ShellArguments {
    /// The shell's options, and its command.
    pub(crate) fn split(self) -> Checked<(ShellOptions, Vec<String>)> {
        let options = ShellOptions {
            connection: self.connect.resolve()?,
            timeout: Duration::from_millis(self.timeout),
            read_only: self.read_only,
        };
        Ok((options, self.command))
    }
}

#[derive(Debug, Args)]
pub(crate) struct UpArguments {
    /// How many members [default: as many as the directory has, else 3].
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=9))]
    members: Option<u8>,

    /// Where data, logs and certificates of all members lie.
    #[arg(short, long, value_name = "DIRECTORY", default_value = "diwan-up")]
    dir: PathBuf,

    /// The address of all members.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: std::net::IpAddr,

    /// Where clients of the first member connect; the ports of the others follow, 0 takes free ones.
    #[arg(short, long, value_name = "PORT", default_value_t = 2181)]
    client_port: u16,

    /// Where other members connect to the first.
    #[arg(long, value_name = "PORT", default_value_t = 2888)]
    peer_port: u16,

    /// Where the first member's metrics and commands are served over HTTP.
    #[arg(long, value_name = "PORT", default_value_t = 7001)]
    http_port: u16,

    /// What each member serves. With the log, its topics have up to three replicas.
    #[arg(
        long,
        value_name = "SERVICE,..",
        value_enum,
        value_delimiter = ',',
        default_value = "council,objects"
    )]
    services: Vec<UpService>,

    /// Where Kafka's clients of the first member connect, if the log is served.
    #[arg(long, value_name = "PORT", default_value_t = 9092)]
    log_port: u16,

    /// Where clients of live objects of the first member connect [default: 7180; any free port with `--client-port 0`].
    #[arg(long, value_name = "PORT")]
    objects_port: Option<u16>,

    /// Where queries for names of objects are answered by the first member, by UDP and TCP [default: 5300; any free port with
    /// `--client-port 0` or `--objects-port`].
    #[arg(long, value_name = "PORT")]
    dns_port: Option<u16>,

    /// Do not restart a member that ends.
    #[arg(long)]
    no_restart: bool,

    /// Set a key for every member, by ZooKeeper's name or Diwan's own.
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    properties: Vec<String>,
}

impl UpArguments {
    /// What is to be started.
    pub(crate) fn options(self) -> UpOptions {
        let serves_objects = self.services.contains(&UpService::Objects);
        let is_own = self.client_port != 0 && self.objects_port.is_none();
        UpOptions {
            dns_port: serves_objects.then(|| self.dns_port.unwrap_or(if is_own { DNS_PORT } else { 0 })),
            members: self.members,
            directory: self.dir,
            host: self.host,
            client_port: self.client_port,
            peer_port: self.peer_port,
            http_port: self.http_port,
            log_port: self.services.contains(&UpService::Log).then_some(self.log_port),
            objects_port: serves_objects
                .then(|| self.objects_port.unwrap_or(if self.client_port == 0 { 0 } else { OBJECTS_PORT })),
            restart: !self.no_restart,
            properties: self.properties,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct MemberArguments {
    #[command(subcommand)]
    wish: MemberCommand,

    /// Show the membership that would result and whether this identity may do it, and change nothing.
    #[arg(long, global = true)]
    dry_run: bool,

    #[command(flatten)]
    connect: ConnectArguments,
}

#[derive(Debug, Subcommand)]
enum MemberCommand {
    /// Show the members.
    List,
    /// Add a member, or change its address: start a new one with an empty data directory.
    Add {
        /// Its number and its address.
        #[arg(value_name = "N=HOST:PORT[:PORT][:observer][;[HOST:]CLIENT-PORT]")]
        member: String,
    },
    /// Remove a member.
    Remove {
        /// Its number.
        #[arg(value_name = "N")]
        number: u64,
    },
    /// Make an observer a voter.
    Promote {
        /// Its number.
        #[arg(value_name = "N")]
        number: u64,
    },
}

impl MemberArguments {
    /// The servers, the command, and whether it is a dry run.
    pub(crate) fn split(self) -> Checked<(Connection, Wish, bool)> {
        let wish = match self.wish {
            MemberCommand::List => Wish::List,
            MemberCommand::Add { member } => Wish::Add(member),
            MemberCommand::Remove { number } => Wish::Remove(number),
            MemberCommand::Promote { number } => Wish::Promote(number),
        };
        Ok((self.connect.resolve()?, wish, self.dry_run))
    }
}

#[derive(Debug, Args)]
pub(crate) struct ForceArguments {
    /// The configuration of the survivor: a `diwan.toml`, or a `zoo.cfg` taken as it is.
    #[arg(short, long, value_name = "FILE")]
    config: PathBuf,

    /// Set a key, by ZooKeeper's name or Diwan's own.
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    properties: Vec<String>,

    /// Make the change. Without this option the command says what would be lost, and changes nothing.
    #[arg(long)]
    yes: bool,
}

impl ForceArguments {
    /// Where the configuration comes from, and whether `--yes` is given.
    pub(crate) fn split(self) -> (Sources, bool) {
        (Sources { file: Some(self.config), properties: self.properties, flags: Vec::new() }, self.yes)
    }
}

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// AdminServers of one member or more [default: the usual ports of this machine].
    #[arg(short, long, value_name = "HOST:PORT[,..]", value_delimiter = ',')]
    server: Vec<String>,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    tls: TlsArguments,
}

impl StatusArguments {
    /// The servers to ask.
    ///
    /// # Errors
    /// When a file or a property is of no use.
    pub(crate) fn options(self) -> Checked<StatusOptions> {
        Ok(StatusOptions { servers: self.server, json: self.json, tls: self.tls.resolve()? })
    }
}

#[derive(Debug, Args)]
pub(crate) struct CertificatesArguments {
    /// Where the files are written.
    #[arg(short, long, value_name = "DIRECTORY")]
    dir: PathBuf,

    /// A member's number, and the names or addresses that `server.N` lines have for it.
    #[arg(short, long = "member", value_name = "N=HOST[,HOST..]", required = true)]
    members: Vec<Holder>,

    /// For how many days the certificates hold.
    #[arg(long, value_name = "DAYS", default_value_t = certificates::DAYS, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

impl CertificatesArguments {
    /// What is to be made.
    pub(crate) fn order(self) -> Order {
        Order { directory: self.dir, members: self.members, days: self.days }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// A `diwan.toml`, or a `zoo.cfg` taken as it is.
    file: PathBuf,

    /// Set a key, by ZooKeeper's name or Diwan's own.
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    properties: Vec<String>,

    /// A server with this configuration may be running: leave its ports and its data alone.
    #[arg(long)]
    running: bool,

    /// As JSON.
    #[arg(long)]
    json: bool,
}

impl CheckArguments {
    /// What is to be checked, and how the answer is given.
    pub(crate) fn split(self) -> (Sources, CheckOptions) {
        let sources = Sources { file: Some(self.file), properties: self.properties, flags: Vec::new() };
        (sources, CheckOptions { running: self.running, json: self.json })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> (ShellOptions, Vec<String>) {
        let words = line.split(' ').map(OsString::from);
        match Cli::try_parse_from(with_zkcli_options(words)).unwrap().command {
            Command::Short(ShortCommand::Shell(arguments))
            | Command::Council(CouncilCommand::Short(ShortCommand::Shell(arguments))) => {
                arguments.split().unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_shell_takes_zkcli_s_options_too() {
        for line in [
            "diwan shell -timeout 5000 -server h:1 -r ls -s /",
            "diwan shell --timeout 5000 --server h:1 -r ls -s /",
            "diwan shell -t 5000 -r -s h:1 ls -s /",
            "diwan council shell -timeout 5000 -server h:1 -r ls -s /",
            "diwan shell -D sasl.client=false -waitforconnection -timeout 5000 -r -s h:1 ls -s /",
        ] {
            let (options, command) = shell(line);
            assert_eq!(
                (options.connection.servers.as_str(), options.timeout.as_millis()),
                ("h:1", 5000),
                "{line}"
            );
            assert!(options.read_only);
            assert_eq!(command, ["ls", "-s", "/"]);
        }
    }

    #[test]
    fn what_belongs_to_the_command_is_left_to_it() {
        let (options, command) = shell("diwan shell create /a -server");
        assert_eq!(options.connection.servers, "localhost:2181");
        assert_eq!(command, ["create", "/a", "-server"]);
    }
}
