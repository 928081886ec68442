//! The interop suites: programs over real clients' libraries, each run against a server of its own.
//!
//! A suite is a folder `interop/NAME` with an executable `run`; `interop/README.md` has the contract. This runner knows
//! no client and no language: it starts servers and counts lines. A suite whose name begins with `log-` is given a broker;
//! one whose name begins with `objects-`, three members that serve live objects; any other, a council.

pub(crate) mod broker;
pub(crate) mod control;
mod diwan;
mod servers;
mod suite;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ValueEnum as _;
use tools_process::ports::Ports;

use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use broker::{Brokers, ServedBrokers};
use diwan::ServerPorts;
use suite::{Availability, Suite};
pub(crate) use suite::{is_of_the_log, is_of_the_objects};

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Flavor {
    /// A fresh Diwan server for each suite
    Diwan,
    /// A fresh Apache ZooKeeper for each suite, fetched through Maven; a broker of Diwan on it for the suites of the log
    Zookeeper,
    /// A fresh Apache Kafka for each suite of the log, fetched through Maven
    Kafka,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Suites to run (all, if none is named)
    suites: Vec<String>,
    /// The server the suites are run against
    #[arg(long, value_enum, default_value = "diwan")]
    against: Flavor,
    /// How many servers there are: with more than one, an ensemble of Diwan, whose first member suites connect to
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    ensemble: u8,
    /// How many brokers a suite of the log gets; with several, topics have up to three replicas
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    brokers: u8,
    /// How the configuration of an ensemble names its members
    #[arg(long, value_enum, default_value = "zoo", requires = "ensemble")]
    form: diwan::Form,
    /// Kill members one after the other meanwhile; with several brokers, those instead
    #[arg(long, value_enum)]
    deaths: Option<servers::Doomed>,
    /// Milliseconds from when all members run until the next is killed
    #[arg(long, value_name = "MS", default_value_t = 1500, requires = "deaths")]
    between: u64,
    /// Only tests whose names contain one of these
    #[arg(long, value_name = "PART,...", value_delimiter = ',')]
    tests: Vec<String>,
    /// How often the tests of `log-java` and `log-streams` about deaths kill the broker, and the application, and those of live
    /// objects the leader; a suite may take a minute longer for each
    #[arg(long, value_name = "N")]
    kills: Option<u16>,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
pub(crate) struct Options {
    /// First port for the servers under test (a free one is found from here on)
    #[arg(long, value_name = "PORT")]
    ports: Option<u16>,
    /// Seconds a suite may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    deadline: u64,
    /// A Diwan binary to run the suites against, instead of building one
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Suites that must not be skipped
    #[arg(long, value_name = "SUITE,...", value_delimiter = ',')]
    require: Vec<String>,
}

impl Options {
    pub(crate) fn requires(&self, suite: &str) -> bool {
        self.require.iter().any(|required| required == suite)
    }

    pub(crate) fn required(&self) -> &[String] {
        &self.require
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    let known = names(workspace)?;
    for name in args.suites.iter().chain(args.options.required()) {
        if !known.contains(name) {
            bail!("there is no suite `{name}`; there are: {}", known.join(", "));
        }
    }
    if args.ensemble > 1 && args.against != Flavor::Diwan {
        bail!("only ensembles of Diwan can be started here");
    }
    if args.deaths.is_some() && args.ensemble == 1 && args.brokers == 1 {
        bail!("of one server none can die and the others go on; hint: `--ensemble 3`, or `--brokers 3`");
    }
    let between = Duration::from_millis(args.between);
    let deaths = args.deaths.map(|of| servers::Deaths { of, between });
    let (members, form) = (usize::from(args.ensemble), args.form);
    let brokers = usize::from(args.brokers);
    let among = Among { members, brokers, form, deaths, tests: args.tests.clone(), kills: args.kills };
    if let Some(suite) =
        args.suites.iter().find(|suite| args.against == Flavor::Kafka && !is_of_the_log(suite))
    {
        bail!("the suite `{suite}` needs a council, so it does not run against Kafka");
    }
    if args.against != Flavor::Diwan && args.suites.iter().any(|suite| is_of_the_objects(suite)) {
        bail!("live objects are served by Diwan alone");
    }
    let chosen = |name: &str| {
        let fits = match args.against {
            Flavor::Diwan => true,
            Flavor::Zookeeper => !is_of_the_objects(name),
            Flavor::Kafka => is_of_the_log(name),
        };
        (args.suites.is_empty() && fits) || args.suites.iter().any(|suite| suite == name)
    };
    let tally = Runner::new(workspace, args.against, &args.options, chosen)?.run(&among, chosen)?;
    tally.print();
    Ok(tally.failed == 0)
}

/// The names of all suites there are.
pub(crate) fn names(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    Ok(suite::discover(workspace)?.into_iter().map(|suite| suite.name).collect())
}

/// Runs suites against servers of one flavor; several threads may share it.
pub(crate) struct Runner<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
    server: Server,
    ports: Mutex<Ports>,
}

impl<'a> Runner<'a> {
    /// Builds what the servers need.
    pub(crate) fn new(
        workspace: &'a Workspace,
        against: Flavor,
        options: &'a Options,
        chosen: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Self> {
        let needs_broker = names(workspace)?.iter().any(|name| chosen(name) && is_of_the_log(name));
        let server = Server::new(workspace, against, options, needs_broker)?;
        Ok(Self { workspace, options, server, ports: Mutex::new(Ports::from(options.ports)) })
    }

    /// Runs the chosen suites one after another.
    pub(crate) fn run(&self, among: &Among, chosen: impl Fn(&str) -> bool) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        for suite in suite::discover(self.workspace)?.iter().filter(|suite| chosen(&suite.name)) {
            let started = Instant::now();
            println!("== {} against {}", suite.name, self.server.name());
            let part = match suite.check()? {
                Availability::Ready => {
                    let (members, brokers) = self.ports(among)?;
                    run_one(suite, &self.server, self.options, (&members, &brokers), among)
                }
                Availability::Missing(reason) => unavailable(&suite.name, &reason, self.options),
            };
            println!("== {}: {part} in {:.0} s", suite.name, started.elapsed().as_secs_f64());
            tally.add(part);
        }
        Ok(tally)
    }

    /// Ports for the servers of one suite.
    fn ports(&self, among: &Among) -> anyhow::Result<(Vec<ServerPorts>, Vec<u16>)> {
        let mut ports = self.ports.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let of_member = |_| {
            let (plain, secure, peer) = (ports.free()?, ports.free()?, ports.free()?);
            // ZooKeeper's lines name a port behind that.
            ports.free()?;
            Ok(ServerPorts { plain, secure, peer })
        };
        let members = (0..among.members).map(of_member).collect::<anyhow::Result<Vec<_>>>()?;
        let brokers = (0..among.brokers).map(|_| Ok(ports.free()?)).collect::<anyhow::Result<Vec<_>>>()?;
        Ok((members, brokers))
    }
}

fn unavailable(name: &str, reason: &str, options: &Options) -> Tally {
    let mut tally = Tally::default();
    tally.skip(format!("{name}: {reason}"));
    if options.requires(name) {
        tally.skips_fail();
    }
    tally
}

/// A suite that cannot be run is a failure of that suite, not the end of the run.
fn run_one(
    suite: &Suite,
    server: &Server,
    options: &Options,
    (members, brokers): (&[ServerPorts], &[u16]),
    among: &Among,
) -> Tally {
    let ports = members[0];
    let deadline = among.deadline(options);
    let attempt = suite.prepare().and_then(|()| match server {
        Server::Zookeeper { script, binary } => {
            let mut command = beside_zookeeper(suite, (script, binary.as_deref()), ports, brokers, among)?;
            suite.run(command.arg(&suite.program).args(&among.tests), deadline, None)
        }
        Server::Kafka(script) => {
            let mut command = Command::new(script);
            command.envs(among.environment()).arg(ports.plain.to_string());
            command.arg(&suite.program).args(&among.tests);
            suite.run(&mut command, deadline, None)
        }
        Server::Diwan { binary, objects, .. } if suite.is_of_the_objects() => {
            let mut command = Command::new(objects);
            command.envs(among.environment()).env("OBJECTS_PROGRAM", binary);
            suite.run(command.arg(&suite.program).args(&among.tests), deadline, None)
        }
        Server::Diwan { binary, keys, .. } => {
            let servers = servers::Servers::new(keys, binary, &suite.work, members, among.form)?;
            // What dies are the brokers, if there are several.
            let deaths = among.deaths.filter(|_| !(suite.is_of_the_log() && among.brokers > 1));
            let served = control::Served::start(servers, deaths)?;
            run_on(suite, &served, (binary, brokers), options, among)
        }
    });
    attempt.unwrap_or_else(|error| {
        let mut tally = Tally::default();
        tally.fail(format!("{}: {error:#}", suite.name));
        tally
    })
}

/// The command that runs what follows it beside a real ZooKeeper, and for a suite of the log beside a broker of ours, too.
fn beside_zookeeper(
    suite: &Suite,
    (script, binary): (&Path, Option<&Path>),
    ports: ServerPorts,
    brokers: &[u16],
    among: &Among,
) -> anyhow::Result<Command> {
    let mut command = Command::new(script);
    command
        .envs(among.environment())
        .env("SECURE_PORT", ports.secure.to_string())
        .arg(ports.plain.to_string());
    if let (Some(binary), true) = (binary, suite.is_of_the_log()) {
        let ourselves = std::env::current_exe().context("cannot find this program's own file")?;
        command.arg(ourselves).arg("broker").arg("--binary").arg(binary).arg("--work").arg(&suite.work);
        command.args(["--port", &brokers[0].to_string(), "--"]);
    }
    Ok(command)
}

/// Runs a suite on a council that serves; a suite of the log, on a broker that is started there.
fn run_on(
    suite: &Suite,
    council: &control::Served,
    (binary, ports): (&Path, &[u16]),
    options: &Options,
    among: &Among,
) -> anyhow::Result<Tally> {
    let deadline = among.deadline(options);
    let mut command = Command::new(&suite.program);
    command.args(&among.tests).envs(among.environment());
    if !suite.is_of_the_log() {
        return suite.run(command.envs(council.environment()), deadline, Some(council.log()));
    }
    let brokers = Brokers::new(binary, &suite.work, ports, council.connect_string())?;
    let served = ServedBrokers::start(brokers, among.deaths.filter(|_| among.brokers > 1))?;
    suite.run(command.envs(served.environment()), deadline, Some(served.log()))
}

/// How many servers belong together, which faults they have, and under which tests.
pub(crate) struct Among {
    members: usize,
    /// For suites of the log.
    brokers: usize,
    form: diwan::Form,
    deaths: Option<servers::Deaths>,
    /// Parts of names; none for all tests.
    tests: Vec<String>,
    /// How often tests about deaths kill; nothing for as often as a suite does by itself.
    kills: Option<u16>,
}

impl Among {
    /// One server, which only its suite treats badly.
    pub(crate) const ALONE: Self =
        Self { members: 1, brokers: 1, form: diwan::Form::Zoo, deaths: None, tests: Vec::new(), kills: None };

    /// Three, each killed in turn, and what must hold through that.
    pub(crate) fn dying() -> Self {
        let tests = ["deaths.", "Deaths."].map(String::from).to_vec();
        let deaths = servers::Deaths { of: servers::Doomed::All, between: Duration::from_millis(1500) };
        Self { members: 3, brokers: 1, form: diwan::Form::Zoo, deaths: Some(deaths), tests, kills: None }
    }

    /// One server with three brokers, each of which is killed in turn, and what clients must not notice.
    pub(crate) fn dying_brokers() -> [Self; 2] {
        // Left out: records, which may be lost with `acks=1`. A member of a group waits for others until their sessions end, which
        // each coordinator grants in full: deaths that are as frequent as that keep groups from sharing their partitions.
        let every = |seconds, features: &[&str]| {
            let deaths = servers::Deaths { of: servers::Doomed::All, between: Duration::from_secs(seconds) };
            let tests = features.iter().copied().map(String::from).collect();
            Self { members: 1, brokers: 3, form: diwan::Form::Zoo, deaths: Some(deaths), tests, kills: None }
        };
        [every(2, &["transactions.", "idempotence."]), every(10, &["groups.", "consumerProtocol."])]
    }

    /// How long a suite may take: a minute more for each kill.
    fn deadline(&self, options: &Options) -> Duration {
        Duration::from_secs(options.deadline + 60 * u64::from(self.kills.unwrap_or(0)))
    }

    /// What suites are told beside where the server is.
    fn environment(&self) -> Option<(&'static str, String)> {
        self.kills.map(|kills| ("KILLS", kills.to_string()))
    }

    /// Three, with clients that read and change the membership, once for each way in which a configuration names
    /// members.
    pub(crate) fn changing() -> impl Iterator<Item = Self> {
        diwan::Form::value_variants().iter().map(|form| {
            let tests = ["Members.", "Ensemble.", "members."].map(String::from).to_vec();
            Self { members: 3, brokers: 1, form: *form, deaths: None, tests, kills: None }
        })
    }
}

/// What a suite is run against.
enum Server {
    /// The built binary, the program that makes keys, and the script that runs a command beside members that serve objects.
    Diwan { binary: PathBuf, keys: PathBuf, objects: PathBuf },
    /// The script that runs a command beside a real ZooKeeper, and the built binary if there is a suite of the log.
    Zookeeper { script: PathBuf, binary: Option<PathBuf> },
    /// The script that runs a command beside a real Kafka.
    Kafka(PathBuf),
}

impl Server {
    fn new(
        workspace: &Workspace,
        against: Flavor,
        options: &Options,
        needs_broker: bool,
    ) -> anyhow::Result<Self> {
        let interop = workspace.root.join("interop");
        Ok(match against {
            Flavor::Diwan => Server::Diwan {
                binary: diwan_binary(workspace, options)?,
                keys: built(workspace, "tools-testbed", "keys")?,
                objects: interop.join("with-objects"),
            },
            Flavor::Zookeeper => Server::Zookeeper {
                script: interop.join("with-zookeeper"),
                binary: needs_broker.then(|| diwan_binary(workspace, options)).transpose()?,
            },
            Flavor::Kafka => Server::Kafka(interop.join("with-kafka")),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Server::Diwan { .. } => "diwan",
            Server::Zookeeper { .. } => "zookeeper",
            Server::Kafka(_) => "kafka",
        }
    }
}

/// The binary under test: the given one, or one built in the profile of the Rust tests: their build has
/// left most of it done, and its assertions and overflow checks are on.
pub(crate) fn diwan_binary(workspace: &Workspace, options: &Options) -> anyhow::Result<PathBuf> {
    if let Some(binary) = &options.binary {
        return std::path::absolute(binary).context("cannot find the binary");
    }
    built(workspace, "diwan", "diwan")
}

/// A binary of ours, built.
pub(crate) fn built(workspace: &Workspace, package: &str, binary: &str) -> anyhow::Result<PathBuf> {
    let status = cargo()
        .args(["build", "--quiet", "--package", package, "--bin", binary, "--profile", "test"])
        .current_dir(&workspace.root)
        .status()
        .context("cannot run `cargo build`")?;
    if !status.success() {
        bail!("{binary} does not build");
    }
    Ok(workspace.target.join("debug").join(binary))
}

/// A fresh, empty folder.
fn fresh(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("cannot empty `{}`", folder.display()))?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))
}

/// An environment for a command.
type Environment = Vec<(&'static str, OsString)>;
