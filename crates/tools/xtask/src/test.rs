//! `cargo xtask test`: every test there is, and one line that counts them.

use std::time::Instant;

use anyhow::bail;

use crate::differential;
use crate::faults;
use crate::fuzz;
use crate::interop::{self, Among, Flavor};
use crate::rust_tests;
use crate::tally::Tally;
use crate::workspace::Workspace;

/// The name by which `--only` and `--require` know the tests of the Rust workspace.
const RUST: &str = "rust";

/// A suite without tests of what must hold while members are killed; those of the log have none either.
const WITHOUT_DEATHS: &str = "kafka";
/// Suites with tests of an ensemble's members.
const WITH_MEMBERS: [&str; 3] = ["curator", "java", "kazoo"];
/// The suite of the log that is played on a broker whose council is a real ZooKeeper, too: it kills and restarts the broker.
const ON_ZOOKEEPER: &str = "log-librdkafka";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these: `rust`, `fuzz`, `faults`, `differential`, `log-differential`, or names of interop suites
    #[arg(long, value_name = "SUITE,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Leave out the suites that need other languages' runtimes
    #[arg(long)]
    no_interop: bool,
    #[command(flatten)]
    interop: interop::Options,
}

impl Args {
    fn chosen(&self, suite: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == suite)
    }
}

#[expect(clippy::too_many_lines, reason = "one group of tests after the other")]
pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<bool> {
    let mut known = interop::names(workspace)?;
    known.extend([RUST, fuzz::NAME, faults::NAME].map(String::from));
    let differentials = differential::SUITES.into_iter().filter(|suite| suite.exists(workspace));
    let differentials: Vec<differential::Suite> = differentials.collect();
    known.extend(differentials.iter().map(|suite| String::from(suite.name)));
    if let Some(unknown) = args.only.iter().find(|name| !known.contains(name)) {
        bail!("there is no suite `{unknown}`; there are: {}", known.join(", "));
    }
    let started = Instant::now();
    let mut tally = missing(&known, args);
    if args.chosen(RUST) {
        tally.add(part("the Rust tests", || rust_tests::run(workspace)));
    }
    if args.chosen(fuzz::NAME) {
        tally.add(part("the fuzz targets, briefly", || fuzz::run_briefly(workspace)));
    }
    if args.chosen(faults::NAME) {
        tally.add(part("ensembles under faults", || {
            faults::run(workspace, &interop::diwan_binary(workspace, &args.interop)?)
        }));
    }
    let suites = interop::names(workspace)?;
    if !args.no_interop && suites.iter().any(|suite| args.chosen(suite)) {
        tally.add(part("the interop suites", || {
            interop::run_suites(workspace, Flavor::Diwan, &Among::ALONE, &args.interop, |name| {
                args.chosen(name)
            })
        }));
        tally.add(part("a broker on a real ZooKeeper", || {
            interop::run_suites(workspace, Flavor::Zookeeper, &Among::ALONE, &args.interop, |name| {
                args.chosen(name) && name == ON_ZOOKEEPER
            })
        }));
        tally.add(part("the interop suites, while members die", || {
            interop::run_suites(workspace, Flavor::Diwan, &Among::dying(), &args.interop, |name| {
                args.chosen(name) && name != WITHOUT_DEATHS && !interop::is_of_the_log(name)
            })
        }));
        tally.add(part("the interop suites, whose members change", || {
            let mut tally = Tally::default();
            for among in Among::changing() {
                let chosen = |name: &str| args.chosen(name) && WITH_MEMBERS.contains(&name);
                tally.add(interop::run_suites(workspace, Flavor::Diwan, &among, &args.interop, chosen)?);
            }
            Ok(tally)
        }));
    }
    for suite in differentials.iter().filter(|suite| !args.no_interop && args.chosen(suite.name)) {
        tally.add(part(suite.name, || {
            let mut tally = suite.run(workspace, &interop::diwan_binary(workspace, &args.interop)?)?;
            if args.interop.requires(suite.name) {
                tally.skips_fail();
            }
            Ok(tally)
        }));
    }
    println!("== all in {:.0} s", started.elapsed().as_secs_f64());
    tally.print();
    Ok(tally.failed == 0)
}

/// A required suite that does not exist, or is not chosen, is a failure: a typing error must not pass.
fn missing(known: &[String], args: &Args) -> Tally {
    let own = [RUST, fuzz::NAME, faults::NAME];
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

/// A part that cannot be run at all is one failure; the others still run.
fn part(name: &str, run: impl FnOnce() -> anyhow::Result<Tally>) -> Tally {
    let started = Instant::now();
    println!("== {name}");
    let tally = run().unwrap_or_else(|error| {
        let mut tally = Tally::default();
        tally.fail(format!("{name}: {error:#}"));
        tally
    });
    println!("== {name}: {tally} in {:.0} s", started.elapsed().as_secs_f64());
    tally
}
