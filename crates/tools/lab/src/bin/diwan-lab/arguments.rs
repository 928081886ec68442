//! The arguments of `diwan lab`, and what they mean.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use council_client::load::Servers;
use council_connect::AccessArguments;
use tools_lab::conduct::Options;
use tools_lab::experiment::{self, Capacity, Experiment, Scale};
use tools_lab::log::{Contestant, named_broker};
use tools_lab::measure::{Sources, System, named_addresses};
use tools_testbed::peer::{default_cache, diwan};

use super::command;

const HELP: &str = "\
Peers are fetched once: ZooKeeper and Kafka through Maven, etcd through Go. One that cannot be had is left out, and the \
report says why.

  diwan lab run                                all experiments, all systems, in less than two hours
  diwan lab run Z1 C5 --systems diwan,etcd     some
  diwan lab run log --quick                    those on the log, as a trial of a few minutes
  diwan lab run K1,K2,K3 --repetitions 5       some of the log; `council` names all of the council
  diwan lab run recipes                        live objects beside the recipes of peers
  diwan lab run --resume                       goes on with what was broken off
  diwan lab run Z1 --address mine=zk1:2181     another server that speaks ZooKeeper's protocol
  diwan lab run Z1 --address mine=zk1:2281 --tls-ca ca.pem --sasl-user bob
  diwan lab run Z1 --against /old/diwan        another build beside this one
  diwan lab compare before after               status 1 if something moved beyond noise
  diwan lab compare run:other run:diwan        two systems of one run";

/// Where a run is kept by default.
const FOLDER: &str = "diwan-lab";

/// Repeat the published experiments on Diwan and on its peers, side by side, and draw them.
#[derive(Debug, Parser)]
#[command(name = "diwan-lab", bin_name = "diwan lab", version, after_help = HELP)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// List the experiments.
    List,
    /// Measure, and write the report.
    Run(Box<RunArguments>),
    /// Write the report of a run again: HTML, and Markdown with SVG.
    Report {
        /// What `run` wrote.
        #[arg(default_value = FOLDER)]
        folder: PathBuf,
    },
    /// The bare server that experiments on the log, or on queries of live objects, stand on.
    #[command(hide = true)]
    Floor {
        /// `bare` or `resting` for the log, `http` for objects.
        #[arg(value_parser = ["bare", "resting", "http"])]
        kind: String,
        /// Where it listens.
        address: std::net::SocketAddr,
    },
    /// Say which figures of B moved beyond noise against A; the status is 1 then.
    Compare(CompareArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// A run's folder; with `:SYSTEM` behind it, one system of it.
    pub(crate) a: String,

    /// Another, or another system.
    pub(crate) b: String,

    /// Less than so many percent counts as noise, however sure.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    pub(crate) noise: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScaleName {
    /// What finishes on a small machine: the council within an hour, the log within another.
    Small,
    /// As published.
    Paper,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Which experiments; `council`, `log` and `recipes` name all of one kind [default: all but the five longest of the log, and
    /// recipes].
    #[arg(value_name = "EXPERIMENT", value_parser = some, value_delimiter = ',')]
    experiments: Vec<Chosen>,

    /// Where the run is kept.
    #[arg(short, long, value_name = "DIRECTORY", default_value = FOLDER)]
    dir: PathBuf,

    /// Go on with a run that was broken off.
    #[arg(long)]
    resume: bool,

    /// How much of everything.
    #[arg(long, value_enum, default_value = "small")]
    scale: ScaleName,

    /// Which systems, besides those of `--address` and `--against` [default: diwan,objects,zookeeper,etcd,concoord for the council,
    /// diwan,kafka,bare for the log; objects,curator,curator-diwan,etcd,hazelcast,redis
    /// for recipes].
    #[arg(long, value_name = "NAME[,..]", value_delimiter = ',')]
    systems: Vec<String>,

    /// Further servers that speak ZooKeeper's protocol; the lab's nodes on them are removed.
    #[arg(long = "address", value_name = "NAME=HOST:PORT[,..]", value_parser = named_addresses)]
    addresses: Vec<(String, Servers)>,

    /// A further broker that speaks Kafka's protocol; topics whose names begin with `lab-` are made and deleted on it.
    #[arg(long = "broker", value_name = "NAME=HOST:PORT", value_parser = named_broker)]
    brokers: Vec<(String, std::net::SocketAddr)>,

    /// Another build of Diwan, measured beside this one as `other`.
    #[arg(long, value_name = "PROGRAM")]
    against: Option<PathBuf>,

    /// Only to see that everything works: half a second a point, once, and small sizes.
    #[arg(long, conflicts_with = "scale")]
    quick: bool,

    /// How often each point is measured [default: 2, or once with `--quick`].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    repetitions: Option<u32>,

    /// How long a point is measured [default: 2, or 30 at the scale of the papers]. Less than 1 also makes sizes smaller.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<f64>,

    /// One more rate of log-replicas in page cache mode, messages a second: half of what a peer reached in a run before, to
    /// compare tails there. With `--resume`, the point is added to that run.
    #[arg(long, value_name = "MESSAGES", value_parser = clap::value_parser!(u32).range(50..))]
    rate: Option<u32>,

    /// What everything random is drawn from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How long servers may be silent before a point is given up.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    patience: f64,

    /// Where peers are kept once they are fetched.
    #[arg(long, value_name = "DIRECTORY")]
    cache: Option<PathBuf>,

    /// Where servers keep their data while they run [default: the system's folder for temporary files].
    #[arg(long, value_name = "DIRECTORY")]
    data: Option<PathBuf>,

    /// Of the servers of `--address`; the lab's own servers have neither TLS nor users.
    #[command(flatten)]
    access: AccessArguments,
}

/// How long a point is measured with `--quick`.
const QUICK_SECONDS: f64 = 0.5;

/// What the build of `--against` is called.
const OTHER: &str = "other";

/// What one word names.
#[derive(Clone, Debug)]
struct Chosen(Vec<&'static Experiment>);

fn some(name: &str) -> Result<Chosen, String> {
    match experiment::all_named(name) {
        none if none.is_empty() => {
            Err(String::from("there is no such experiment; `diwan lab list` lists them all"))
        }
        named => Ok(Chosen(named)),
    }
}

/// Each once, in the order of the papers.
fn chosen(words: Vec<Chosen>) -> Vec<&'static Experiment> {
    if words.is_empty() {
        return experiment::by_default().collect();
    }
    let named: Vec<_> = words.into_iter().flat_map(|word| word.0).collect();
    let is_named = |one: &&Experiment| named.iter().any(|other| other.about.id == one.about.id);
    experiment::ALL.into_iter().filter(is_named).collect()
}

/// What takes part if nothing is named: peers of recipes only in experiments on them, and nobody else if there are no others.
fn default_systems(experiments: &[&'static Experiment]) -> impl Iterator<Item = &'static str> {
    let has_recipes = experiments.iter().any(|experiment| experiment.is_on_recipes());
    let has_others = experiments.iter().any(|experiment| !experiment.is_on_recipes());
    let others = System::NAMES.into_iter().chain(Contestant::NAMES).filter(move |_| has_others);
    let of_recipes = System::OF_RECIPES.into_iter().chain(System::FLOORS_OF_RECIPES);
    others.chain(of_recipes.filter(move |_| has_recipes))
}

/// Servers with what lets clients in.
fn let_in(
    mut addresses: Vec<(String, Servers)>,
    arguments: AccessArguments,
) -> Result<Vec<(String, Servers)>, String> {
    if addresses.is_empty() {
        return match arguments.is_empty() {
            true => Ok(addresses),
            false => Err(String::from(
                "options for TLS, SASL and identities without `--address`; \
                 hint: the lab's own servers need none; name others with `--address NAME=HOST:PORT`",
            )),
        };
    }
    let access = arguments.resolve().map_err(|problem| problem.to_string())?;
    for (_, servers) in &mut addresses {
        servers.access = access.clone();
    }
    Ok(addresses)
}

impl RunArguments {
    /// What is to be run.
    #[expect(clippy::too_many_lines, reason = "a list of options")]
    pub(super) fn options(self) -> Result<Options, String> {
        let scale = match self.scale {
            ScaleName::Small => Scale::small(),
            ScaleName::Paper => Scale::paper(),
        };
        let lasting = |seconds: f64| match Duration::try_from_secs_f64(seconds) {
            Ok(time) if !time.is_zero() => Ok(time),
            _ => Err(format!("{seconds} s is no time")),
        };
        let scale = scale.on(Capacity::here()).at_rate(self.rate);
        let scale = match self.seconds.or(self.quick.then_some(QUICK_SECONDS)) {
            Some(seconds) => scale.lasting(lasting(seconds)?),
            None => scale,
        };
        let once_or_more = if self.quick { 1 } else { Scale::REPETITIONS };
        let diwan = diwan::find().map_err(|error| error.to_string())?;
        let experiments = chosen(self.experiments);
        let mut systems = self.systems;
        if systems.is_empty() {
            for name in default_systems(&experiments).filter(|name| *name != OTHER).map(String::from) {
                if !systems.contains(&name) {
                    systems.push(name);
                }
            }
        }
        let brokers = self.brokers.iter().map(|(name, _)| name.clone());
        let further = self.addresses.iter().map(|(name, _)| name.clone()).chain(brokers);
        for name in self.against.iter().map(|_| OTHER.to_owned()).chain(further) {
            if !systems.contains(&name) {
                systems.push(name);
            }
        }
        let sources = Sources {
            diwan,
            other: self.against,
            cache: self.cache.unwrap_or_else(default_cache),
            addresses: let_in(self.addresses, self.access)?,
            brokers: self.brokers,
        };
        Ok(Options {
            experiments,
            systems,
            sources,
            scale,
            seed: self.seed,
            repetitions: self.repetitions.unwrap_or(once_or_more),
            folder: self.dir,
            resume: self.resume,
            data: self.data.unwrap_or_else(env::temp_dir),
            patience: lasting(self.patience)?,
            command: format!("diwan lab {}", command::shown(env::args().skip(1))),
            begun: jiff::Timestamp::now().to_string(),
        })
    }
}
