//! `log-differential`: plays generated scripts to a real Apache Kafka and to our broker, and fails on what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use tools_log_differential::capture::capture;
use tools_log_differential::faults::OPEN;
use tools_log_differential::pair::{Contestants, Pair};
use tools_log_differential::planted::Planted;
use tools_log_differential::run::{Plan, Tally, run, scripts, scripts_of_a_cluster, trace};
use tools_log_differential::scene::{is_of_a_cluster, is_only_by_name};
use tools_log_differential::schema::Schemas;
use tools_log_differential::script::{Fixture, Script};
use tools_log_differential::served::Served;
use tools_log_differential::story::LeftOut;
use tools_log_differential::table::TABLE;
use tools_testbed::peer::{default_cache, diwan, kafka};
use tools_testbed::{BrokerSoftware, PeerError};

/// Requests of a run that is part of the tests: all cells of the coverage are filled.
const SHORT: usize = 1_500;
/// Requests of a long run.
const LONG: usize = 20_000;
/// Something that is needed is not here.
const SKIPPED: u8 = 77;

/// The same scripts of requests to a real Apache Kafka 4.3 and to Diwan, replies compared field by field.
///
/// Exit status 0: all equal; 1: a difference or an empty cell of the coverage; 77: something is missing here.
#[derive(Parser)]
#[command(name = "log-differential")]
struct Options {
    /// The seed that decides every script; without one, seed 1 and a fresh one are played
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How many requests the scripts of all seeds hold at least; when all scenes have been played twice, only drawn requests follow
    #[arg(long, value_name = "N", default_value_t = SHORT)]
    requests: usize,
    /// 20,000 requests; codes that only drawn requests provoke must have been seen, too
    #[arg(long)]
    long: bool,
    /// Only these scenes
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    scenes: Vec<String>,
    /// Play this script instead: a file that a failing run has written
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Print the scripts and play nothing
    #[arg(long)]
    show: bool,
    /// Print what both brokers show in every step, and compare nothing
    #[arg(long)]
    trace: bool,
    /// How many scripts are played at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    workers: usize,
    /// How many kinds of failures are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    failures: usize,
    /// Show failing scripts as they are, instead of searching for shorter ones
    #[arg(long)]
    no_shrink: bool,
    /// Known faults of ours fail, too
    #[arg(long)]
    strict: bool,
    /// Compare the real broker with itself: what differs is the test's own fault
    #[arg(long)]
    kafka_twice: bool,
    /// Write a request and a reply of the real broker for each API and version to this folder, and compare nothing
    #[arg(long, value_name = "FOLDER")]
    capture: Option<PathBuf>,
    /// The binary to test [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    diwan: Option<PathBuf>,
    /// Where real brokers are kept [default: `peers` in the build folder]
    #[arg(long, value_name = "PATH")]
    cache: Option<PathBuf>,
    /// How long a broker may take to answer, in seconds
    #[arg(long, value_name = "N", default_value_t = 30)]
    deadline: u64,
}

fn main() -> ExitCode {
    if let Err(error) = tools_process::kill_groups_on_signal() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let options = Options::parse();
    // A broker tells where its data lies: what is captured has the same place each time.
    let name = match options.capture {
        Some(_) => String::from("kafka-capture"),
        None => format!("log-differential-{}", std::process::id()),
    };
    let folder = env::temp_dir().join(name);
    let outcome = match &options.capture {
        Some(into) => captured(&options, into, folder.clone()),
        None => compared(&options, folder.clone()),
    };
    // The brokers' data is not needed: a failure is played again from its file.
    let _ = fs::remove_dir_all(folder);
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(PeerError::Missing(what)) => {
            println!("skipped: {what}\n0 passed, 0 failed, 1 skipped");
            ExitCode::from(SKIPPED)
        }
        Err(error) => {
            println!("{error}\n0 passed, 1 failed, 0 skipped");
            ExitCode::FAILURE
        }
    }
}

fn compared(options: &Options, folder: PathBuf) -> Result<bool, PeerError> {
    let contestants = contestants(options, folder)?;
    let is_only_cluster =
        !options.scenes.is_empty() && options.scenes.iter().all(|name| is_of_a_cluster(name));
    let first = if is_only_cluster { Fixture::Cluster } else { Fixture::Alone };
    let mut pair = Pair::start(&contestants, first)?;
    let [its, own] = pair.served();
    let served = its.in_common(own);
    println!("not served by ours, so not played: {}", its.beyond(&served).join(", "));
    let served_by_all = its.all_in_common(own);
    let (all, left_out) = chosen(options, (&served, &served_by_all), &contestants.schemas)?;
    add_fixtures(&mut pair, &contestants, &all)?;
    if options.show || options.trace {
        all.iter().for_each(|script| println!("{}", told(options, &pair, script)));
        return Ok(true);
    }
    let plan = Plan {
        scripts: all,
        workers: options.workers,
        failures_max: options.failures,
        open: if options.strict { &[] } else { OPEN },
        shrinks: !options.no_shrink,
        folder: default_cache().with_file_name("log-differential"),
        command: String::from("cargo xtask log-differential"),
    };
    let tally = run(&plan, &mut pair, &mut |text| println!("{text}\n"))?;
    let untried: BTreeSet<&str> =
        left_out.values().flat_map(|why| why.uses.iter().map(String::as_str)).collect();
    let mut missing = Vec::new();
    if options.is_whole() {
        missing.extend(tally.coverage.missing(&served, &untried, options.requests() >= LONG));
        missing.extend(tally.coverage_of_a_cluster.missing_of_a_cluster(&served_by_all));
    }
    println!("{}", tally.coverage.tables(&served));
    println!("{}", tally.coverage_of_a_cluster.tables_of_a_cluster(&served_by_all));
    Ok(verdict(&tally, &missing, options.is_whole() && !options.strict))
}

/// Starts what the scripts need besides.
fn add_fixtures(pair: &mut Pair, contestants: &Contestants, all: &[Script]) -> Result<(), PeerError> {
    let needs = |fixture| all.iter().any(|script| script.fixture == fixture);
    if needs(Fixture::Secured) {
        pair.add_secured(contestants)?;
    }
    if needs(Fixture::Cluster) {
        pair.add_clusters(contestants)?;
    }
    Ok(())
}

/// The scripts to play, and the scenes that cannot be played.
fn chosen(
    options: &Options,
    (served, served_by_all): (&Served, &Served),
    schemas: &Schemas,
) -> Result<(Vec<Script>, BTreeMap<&'static str, LeftOut>), PeerError> {
    if let Some(file) = &options.script {
        return Ok((vec![script(file)?], BTreeMap::new()));
    }
    let is_chosen =
        |name: &str| options.scenes.is_empty() || options.scenes.iter().any(|scene| scene == name);
    let (mut all, mut left_out) = (Vec::new(), BTreeMap::new());
    let seeds = seeds(options);
    println!("seeds: {}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
    for seed in &seeds {
        let (scripts, lacking) =
            scripts(*seed, options.requests() / seeds.len(), (served, schemas), is_chosen);
        all.extend(scripts);
        left_out.extend(lacking);
        let is_played = |name: &str| is_chosen(name) && !(options.scenes.is_empty() && is_only_by_name(name));
        let (scripts, lacking) = scripts_of_a_cluster(*seed, (served_by_all, schemas), is_played);
        all.extend(scripts);
        left_out.extend(lacking);
    }
    for (scene, why) in &left_out {
        let lacks: Vec<&str> = why.lacks.iter().map(String::as_str).collect();
        println!("left out: {scene}, which needs {}", lacks.join(", "));
    }
    Ok((all, left_out))
}

/// A script for a person, with what both brokers show if it is played.
fn told(options: &Options, pair: &Pair, script: &Script) -> String {
    let mut text = format!("seed {}, script {} ({})\n", script.seed, script.number, script.scene);
    if options.trace {
        text.push_str(&trace(pair, script).unwrap_or_else(|error| error));
        return text;
    }
    for (index, step) in script.steps.iter().enumerate() {
        let _ = writeln!(text, "  [{index}] {step}");
    }
    text
}

fn verdict(tally: &Tally, missing: &[String], is_whole: bool) -> bool {
    let mut unexpected = tally.coverage.unexpected();
    unexpected.extend(tally.coverage_of_a_cluster.unexpected_of_a_cluster());
    if !unexpected.is_empty() {
        println!("codes that nobody expected: {}", unexpected.join(", "));
    }
    excused(tally, is_whole);
    planted(&tally.planted);
    let mut slowest: Vec<_> = tally.slowest.iter().collect();
    slowest.sort_by_key(|(_, took)| std::cmp::Reverse(**took));
    for (scene, took) in slowest.iter().take(5) {
        println!("took {:.1} s: {scene}", took.as_secs_f64());
    }
    println!("{} requests", tally.requests);
    failures(tally, missing);
    let failed = tally.failed + usize::from(!missing.is_empty()) + tally.planted.missed.len();
    println!("{} passed, {failed} failed, 0 skipped", tally.passed);
    failed == 0
}

/// All that failed, at the end, where a whole run of the tests tells it again.
fn failures(tally: &Tally, missing: &[String]) {
    tally.ended.iter().for_each(|ended| println!("{ended}"));
    for (kind, failed) in &tally.kinds {
        println!("failed {:>4} times: {kind}; first in {}", failed.count, failed.first);
    }
    if !missing.is_empty() {
        println!("never seen, so the scripts are too tame: {}", missing.join(", "));
    }
    if !tally.planted.missed.is_empty() {
        println!("planted and not found: {}", tally.planted.missed.join(", "));
    }
}

/// The differences on purpose, and the known faults.
fn excused(tally: &Tally, is_whole: bool) {
    println!("differences on purpose, and how many fields of replies showed them:");
    for entry in TABLE {
        let count = tally.on_purpose.get(entry.name).copied().unwrap_or(0);
        println!("  {count:>5}  {}: {}", entry.name, entry.reason);
    }
    println!("faults of ours that are known and open, and how many fields showed them:");
    for fault in OPEN {
        match tally.faults.get(fault.what) {
            Some(count) => println!("  {count:>5}  {}", fault.what),
            None if is_whole => println!("   gone  {}: take it out of the list", fault.what),
            None => {}
        }
    }
}

fn planted(planted: &Planted) {
    let Planted { found, never_compared, excused, .. } = planted;
    println!("changes planted into replies of ours: {found} found");
    for (field, count) in never_compared {
        println!("  {count:>5}  in `{field}`, which is never compared");
    }
    for (name, count) in excused {
        println!("  {count:>5}  excused: {name}");
    }
}

fn captured(options: &Options, into: &std::path::Path, folder: PathBuf) -> Result<bool, PeerError> {
    let contestants = contestants(options, folder)?;
    let files = capture(&contestants, options.seed.unwrap_or(1), options.workers, into)?;
    println!("{files} files in `{}`", into.display());
    Ok(true)
}

fn contestants(options: &Options, folder: PathBuf) -> Result<Contestants, PeerError> {
    let cache = options.cache.clone().unwrap_or_else(default_cache);
    let distribution = kafka::Distribution::find(&cache)?;
    let messages = distribution.messages();
    let schemas = Schemas::load(&messages).map_err(PeerError::io(messages))?;
    let kafka = BrokerSoftware::Kafka(distribution);
    let ours = match options.kafka_twice || options.capture.is_some() {
        true => kafka.clone(),
        false => BrokerSoftware::Diwan(options.diwan.clone().map_or_else(diwan::find, Ok)?),
    };
    let deadline = Duration::from_secs(options.deadline);
    Ok(Contestants { software: [kafka, ours], schemas, folder, deadline })
}

fn seeds(options: &Options) -> Vec<u64> {
    options.seed.map_or_else(|| vec![1, fresh_seed()], |seed| vec![seed])
}

/// A seed from the clock, short enough to be typed.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    1_000_000 + now.as_secs() / 60 % 1_000_000
}

fn script(file: &std::path::Path) -> Result<Script, PeerError> {
    let text = fs::read_to_string(file).map_err(PeerError::io(file))?;
    serde_json::from_str(&text).map_err(|error| PeerError::Io { what: file.into(), source: error.into() })
}

impl Options {
    /// Whether all scenes are played against ours: only then must the coverage be full, and known faults be met.
    fn is_whole(&self) -> bool {
        self.script.is_none() && self.scenes.is_empty() && !self.kafka_twice
    }

    fn requests(&self) -> usize {
        if self.long { LONG } else { self.requests }
    }
}
