//! `differential`: plays generated scripts to two servers and fails on the first reply or event that differs.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tools_differential::capture::capture;
use tools_differential::compare::Ours;
use tools_differential::pair::{self, Contestants};
use tools_differential::run::{Plan, Tally, run, seeds_for};
use tools_differential::script::Profile;
use tools_differential::table::TABLE;
use tools_testbed::peer::{default_cache, diwan, zookeeper};
use tools_testbed::{PeerError, Software};

const USAGE: &str = "\
differential: the same script to a real Apache ZooKeeper 3.9 and to Diwan, compared byte for byte

  --seeds A..B | A,B,C   play these seeds (default: from 1 on, until --operations is reached, and one fresh seed)
  --fresh                play a new seed, and print it
  --operations N         how many operations the default seeds hold at least (default 12000)
  --blocks A,B,C         play only these blocks of each script
  --left NAME            zookeeper or diwan (default zookeeper)
  --right NAME           zookeeper or diwan (default diwan)
  --diwan PATH           the binary to test (default: the one beside this program)
  --cache PATH           where real servers are kept (default: `peers` in the build folder)
  --deadline SECONDS     how long a server may take to answer (default 10)
  --keep-going           do not stop at the first failure
  --capture FOLDER       write the bytes of every operation of the left server to small text files, and play nothing
  --show SEED            print the script of a seed and play nothing
  --help                 print this

Exit status 0: all equal; 1: a difference or an empty cell of the coverage table; 2: wrong usage; 77: something is missing here.";

struct Options {
    help: bool,
    seeds: Vec<u64>,
    /// Only the full default run must fill the coverage table.
    gate: bool,
    blocks: Option<Vec<usize>>,
    names: [String; 2],
    diwan: Option<PathBuf>,
    cache: Option<PathBuf>,
    deadline: Duration,
    keep_going: bool,
    show: Option<u64>,
    capture: Option<PathBuf>,
}

fn main() -> ExitCode {
    if let Err(error) = tools_process::kill_groups_on_signal() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let options = match options(env::args().skip(1)) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.help {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if let Some(seed) = options.show {
        // The reader has closed the pipe.
        let _ = show(seed);
        return ExitCode::SUCCESS;
    }
    if let Some(folder) = &options.capture {
        return captured(&options, folder);
    }
    match compete(&options) {
        Ok(tally) => verdict(&options, &tally),
        Err(PeerError::Missing(what)) => {
            println!("skipped: {what}\n0 passed, 0 failed, {} skipped", options.seeds.len());
            ExitCode::from(77)
        }
        Err(error) => {
            println!("{error}\n0 passed, 1 failed, 0 skipped");
            ExitCode::FAILURE
        }
    }
}

fn compete(options: &Options) -> Result<Tally, PeerError> {
    let [left, right] = [software(&options.names[0], options)?, software(&options.names[1], options)?];
    let folder = env::temp_dir().join(format!("differential-{}", std::process::id()));
    let ours = match (&left, &right) {
        (Software::Diwan(_), Software::ZooKeeper(_)) => Ours::Left,
        (Software::ZooKeeper(_), Software::Diwan(_)) => Ours::Right,
        _ => Ours::Neither,
    };
    let [left_name, right_name] = &options.names;
    let command = format!(
        "cargo run --release -p tools-differential --bin differential -- --left {left_name} --right {right_name}"
    );
    let plan = Plan {
        seeds: options.seeds.clone(),
        blocks: options.blocks.clone(),
        keep_going: options.keep_going,
        ours,
        command,
    };
    let contestants = Contestants { left, right, folder: folder.clone(), deadline: options.deadline };
    let tally = run(&plan, &contestants, &mut |text| println!("{text}\n"));
    // The servers' data is not needed: a failure is replayed from its seed.
    let _ = std::fs::remove_dir_all(folder);
    tally
}

fn captured(options: &Options, folder: &Path) -> ExitCode {
    let data = env::temp_dir().join(format!("capture-{}", std::process::id()));
    let files = software(&options.names[0], options).and_then(|software| {
        let (_server, addresses) = pair::start(&software, data.clone(), Profile::Full)?;
        capture(addresses.client, folder, options.deadline)
            .map_err(|source| PeerError::Io { what: folder.to_owned(), source })
    });
    let _ = std::fs::remove_dir_all(data);
    match files {
        Ok(count) => {
            println!("{count} files in `{}`", folder.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn software(name: &str, options: &Options) -> Result<Software, PeerError> {
    if name == "zookeeper" {
        let cache = options.cache.clone().unwrap_or_else(default_cache);
        return zookeeper::Distribution::find(&cache).map(Software::ZooKeeper);
    }
    options.diwan.clone().map_or_else(diwan::find, Ok).map(Software::Diwan)
}

fn verdict(options: &Options, tally: &Tally) -> ExitCode {
    println!("operation and code: how often\n{}", tally.coverage.table());
    let unexpected = tally.coverage.unexpected();
    if !unexpected.is_empty() {
        println!("unexpected codes: {}", unexpected.join(", "));
    }
    println!("differences on purpose:");
    let none = BTreeMap::new();
    let counts = if tally.on_purpose.is_empty() { &none } else { &tally.on_purpose };
    for entry in TABLE {
        println!("  {:>5}  {}: {}", counts.get(entry.name).copied().unwrap_or(0), entry.name, entry.reason);
    }
    let missing = tally.coverage.missing();
    let tame = options.gate && !missing.is_empty();
    if tame {
        println!("never seen, so the scripts are too tame: {}", missing.join(", "));
    }
    println!("{} operations", tally.operations);
    let failed = tally.failed + usize::from(tame);
    println!("{} passed, {failed} failed, 0 skipped", tally.passed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn show(seed: u64) -> io::Result<()> {
    let script = tools_differential::generate::script(seed);
    let mut out = io::stdout().lock();
    writeln!(out, "seed {seed}, profile {:?}, {} operations", script.profile, script.operations())?;
    for (index, block) in script.blocks.iter().enumerate() {
        let purpose = block.purpose.map_or(String::new(), |entry| format!(" (on purpose: {entry})"));
        writeln!(out, "[{index}] {}{purpose}", block.scene)?;
        for step in &block.steps {
            writeln!(out, "    {step}")?;
        }
    }
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "a list of options")]
fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut seeds = Vec::new();
    let mut operations = 12_000;
    let mut options = Options {
        help: false,
        seeds: Vec::new(),
        gate: false,
        blocks: None,
        names: ["zookeeper".into(), "diwan".into()],
        diwan: None,
        cache: None,
        deadline: Duration::from_secs(10),
        keep_going: false,
        show: None,
        capture: None,
    };
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("`{flag}` wants a value"));
        match flag.as_str() {
            "--seeds" => seeds.extend(numbers(&value()?)?),
            "--fresh" => seeds.push(fresh_seed()),
            "--operations" => operations = number(&value()?)?,
            "--blocks" => {
                options.blocks = Some(numbers(&value()?)?.into_iter().map(|block| block as usize).collect())
            }
            "--left" => options.names[0] = name(value()?)?,
            "--right" => options.names[1] = name(value()?)?,
            "--diwan" => options.diwan = Some(value()?.into()),
            "--cache" => options.cache = Some(value()?.into()),
            "--deadline" => options.deadline = Duration::from_secs(number(&value()?)? as u64),
            "--keep-going" => options.keep_going = true,
            "--capture" => options.capture = Some(value()?.into()),
            "--help" | "-h" => return Ok(Options { help: true, ..options }),
            "--show" => options.show = Some(number(&value()?)? as u64),
            _ => return Err(format!("unknown argument `{flag}`")),
        }
    }
    if seeds.is_empty() && options.capture.is_none() && options.show.is_none() {
        seeds = seeds_for(operations);
        seeds.push(fresh_seed());
        options.gate = operations >= 10_000;
    }
    options.seeds = seeds;
    Ok(options)
}

fn name(text: String) -> Result<String, String> {
    if matches!(text.as_str(), "zookeeper" | "diwan") {
        Ok(text)
    } else {
        Err(format!("`{text}` is neither zookeeper nor diwan"))
    }
}

/// `A..B` (both included) or `A,B,C`.
fn numbers(text: &str) -> Result<Vec<u64>, String> {
    if let Some((first, last)) = text.split_once("..") {
        return Ok((number(first)? as u64..=number(last)? as u64).collect());
    }
    text.split(',').map(|part| number(part).map(|number| number as u64)).collect()
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// A seed from the clock, short enough to be typed.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = 1_000_000 + (now.as_millis() as u64) % 1_000_000_000;
    println!("fresh seed: {seed}");
    seed
}
