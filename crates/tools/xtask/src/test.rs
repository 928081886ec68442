//! `cargo xtask test`: every test there is, and one line that counts them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::bail;

use crate::differential;
use crate::faults;
use crate::fuzz;
use crate::guests;
use crate::interop::{self, Among, Flavor, Runner};
use crate::lanes::{self, Job};
use crate::log_faults;
use crate::rust_tests;
use crate::tally::Tally;
use crate::workspace::Workspace;

/// The name by which `--only` and `--require` know the tests of the Rust workspace.
const RUST: &str = "rust";

/// A suite without tests of what must hold while members are killed.
const WITHOUT_DEATHS: &str = "kafka";
/// Suites with tests of an ensemble's members.
const WITH_MEMBERS: [&str; 3] = ["curator", "java", "kazoo"];
/// The suite of the log that is played on a broker whose council is a real ZooKeeper, too: it kills and restarts the broker.
const ON_ZOOKEEPER: &str = "log-librdkafka";
/// The suite of the log that is played on three brokers that die in turn, too.
const ON_BROKERS: &str = "log-java";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these: `rust`, `fuzz`, `faults`, `log-faults`, `guests`, `differential`, `log-differential`, or names of interop suites
    #[arg(long, value_name = "SUITE,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave out the suites that need other languages' runtimes
    #[arg(long)]
    no_interop: bool,
    /// How many test programs and suites run at the same time
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=16))]
    lanes: u8,
    #[command(flatten)]
    interop: interop::Options,
}

impl Args {
    fn chosen(&self, suite: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == suite)
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    let mut known = interop::names(workspace)?;
    known.extend([RUST, fuzz::NAME, faults::NAME, log_faults::NAME, guests::NAME].map(String::from));
    let differentials = differential::SUITES.into_iter().filter(|suite| suite.exists(workspace));
    let differentials: Vec<differential::Suite> = differentials.collect();
    known.extend(differentials.iter().map(|suite| String::from(suite.name)));
    if let Some(unknown) = args.only.iter().find(|name| !known.contains(name)) {
        bail!("there is no suite `{unknown}`; there are: {}", known.join(", "));
    }
    let started = Instant::now();
    let mut tally = missing(&known, args);
    // One build for all programs, with both cores.
    let rust = if args.chosen(RUST) { rust_tests::jobs(workspace) } else { Ok(Vec::new()) };
    let diwan = interop::diwan_binary(workspace, &args.interop)?;
    println!("== built after {:.0} s", started.elapsed().as_secs_f64());
    let runner = interop::Runner::new(workspace, Flavor::Diwan, &args.interop, |_| true)?;
    let mut jobs = rust.unwrap_or_else(|error| {
        tally.fail(format!("{RUST}: {error:#}"));
        Vec::new()
    });
    // The longest first.
    let of_the_council = |name: &String| args.chosen(name) && is_of_the_council(name);
    if !args.no_interop && interop::names(workspace)?.iter().any(of_the_council) {
        jobs.push(council_suites(args, &runner));
    }
    jobs.extend(programs_of_ours(workspace, args, &diwan));
    if !args.no_interop {
        jobs.extend(other_suites(workspace, args, &runner)?);
        let chosen = differentials.iter().filter(|suite| args.chosen(suite.name));
        jobs.extend(chosen.map(|suite| beside_a_peer(workspace, args, suite, &diwan)));
    }
    if args.chosen(fuzz::NAME) {
        jobs.push(Job::new("the fuzz targets, briefly", || fuzz::run_briefly(workspace)));
    }
    tally.add(lanes::run(jobs, args.lanes.into()));
    println!("== all in {:.0} s", started.elapsed().as_secs_f64());
    tally.print();
    Ok(tally.failed == 0)
}

/// Programs of ours that play faults, and types of users.
fn programs_of_ours<'a>(workspace: &'a Workspace, args: &Args, diwan: &'a Path) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    if args.chosen(faults::NAME) {
        jobs.push(Job::new("ensembles under faults", || faults::run(workspace, diwan)));
    }
    if args.chosen(log_faults::NAME) {
        jobs.push(Job::new("brokers under faults", || log_faults::run(workspace, diwan)));
    }
    if args.chosen(guests::NAME) {
        jobs.push(Job::new("types of live objects in other languages", || {
            guests::run(workspace, diwan, &guests::Args::default())
        }));
    }
    jobs
}

fn is_of_the_council(name: &str) -> bool {
    !interop::is_of_the_log(name) && !interop::is_of_the_objects(name)
}

/// The suites of the council, each alone and then among members that die or change: one job, for a suite's folder is shared.
fn council_suites<'a>(args: &'a Args, runner: &'a Runner<'a>) -> Job<'a> {
    let chosen = |name: &str| args.chosen(name) && is_of_the_council(name);
    let alone = move || runner.run(&Among::ALONE, chosen);
    let dying = move || runner.run(&Among::dying(), |name| chosen(name) && name != WITHOUT_DEATHS);
    let changing = move || {
        let mut tally = Tally::default();
        for among in Among::changing() {
            tally.add(runner.run(&among, |name| chosen(name) && WITH_MEMBERS.contains(&name))?);
        }
        Ok(tally)
    };
    let all = move || {
        let mut tally = Job::new("the interop suites of the council", alone).done();
        tally.add(Job::new("the interop suites, while members die", dying).done());
        tally.add(Job::new("the interop suites, whose members change", changing).done());
        Ok(tally)
    };
    Job::new("the council's suites", all)
}

/// Each suite of the log, and of live objects, is a job of its own.
fn other_suites<'a>(
    workspace: &'a Workspace,
    args: &'a Args,
    runner: &'a Runner<'a>,
) -> anyhow::Result<impl Iterator<Item = Job<'a>>> {
    let names = interop::names(workspace)?.into_iter();
    let chosen = names.filter(|name| args.chosen(name) && !is_of_the_council(name));
    Ok(chosen.map(move |suite| {
        Job::new(format!("interop suite {suite}"), move || {
            let mut tally = runner.run(&Among::ALONE, |name| name == suite)?;
            if suite == ON_ZOOKEEPER {
                tally.add(on_zookeeper(workspace, args)?);
            }
            if suite == ON_BROKERS {
                for among in Among::dying_brokers() {
                    tally.add(runner.run(&among, |name| name == suite)?);
                }
            }
            Ok(tally)
        })
    }))
}

/// A broker of ours whose council is a real ZooKeeper.
fn on_zookeeper(workspace: &Workspace, args: &Args) -> anyhow::Result<Tally> {
    // It comes through Maven.
    let has_maven = Command::new("mvn").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !has_maven.is_ok_and(|status| status.success()) {
        let mut tally = Tally::default();
        tally.skip(format!("{ON_ZOOKEEPER} on a real ZooKeeper: mvn (Maven) is missing"));
        return Ok(tally);
    }
    let runner =
        interop::Runner::new(workspace, Flavor::Zookeeper, &args.interop, |name| name == ON_ZOOKEEPER)?;
    runner.run(&Among::ALONE, |name| name == ON_ZOOKEEPER)
}

fn beside_a_peer<'a>(
    workspace: &'a Workspace,
    args: &'a Args,
    suite: &'a differential::Suite,
    diwan: &'a Path,
) -> Job<'a> {
    Job::new(suite.name, move || {
        let mut tally = suite.run(workspace, diwan)?;
        if args.interop.requires(suite.name) {
            tally.skips_fail();
        }
        Ok(tally)
    })
}

/// A required suite that does not exist, or is not chosen, is a failure: a typing error must not pass.
fn missing(known: &[String], args: &Args) -> Tally {
    let own = [RUST, fuzz::NAME, faults::NAME, log_faults::NAME, guests::NAME];
    let mut tally = Tally::default();
    for required in args.interop.required() {
        if !known.contains(required) {
            tally.fail(format!("{required}: required, but there is no such suite"));
        } else if !args.chosen(required) || (args.no_interop && !own.contains(&required.as_str())) {
            tally.fail(format!("{required}: required, but left out"));
        }
    }
    tally
}
