//! The program that plays the seeds of one world: its options, and what it prints. Prints what the runs reached, and for a
//! seed that fails what is wrong, its story, and the one command that plays it again.
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a program's clock")]

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::faults::Without;
use crate::judged::{Floor, below_floor};
use crate::run::{Seeds, Tally, run};
use crate::shrink::shrink;
use crate::world::{Plan, Report, World};

/// Runs that making one smaller may take.
const SHRINK_RUNS_MAX: u64 = 500;
/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(20);
/// Lines of the story of a seed that fails, if it is one of many.
const LINES: usize = 25;

const HELP: &str =
    "usage: sim [--seeds N] [--from SEED] [--seed SEED] [--seconds N] [--for SECONDS] [--stop] [--trace]
           [--without FAULTS] [--shrink] [--light] [--threads N]

  --seeds N      number of seeds to run (100)
  --from SEED    first seed (0)
  --seed SEED    runs this seed alone and prints all its events
  --seconds N    simulated seconds with faults in each run (60)
  --for SECONDS  starts no new run after this many seconds
  --stop         starts no new run after a run that fails
  --trace        prints a hash of all steps, once in each simulated second
  --without F    leaves out faults, by the numbers that the events show or by kind of message fault: 3-17,20,loss
  --shrink       reduces each run that fails to less time and fewer faults that break the same rule
  --threads N    number of runs at the same time (1); the output does not depend on it
  --light        ";

#[derive(Debug)]
struct Options {
    seeds: Seeds,
    alone: bool,
    shrink: bool,
}

/// The program: reads its arguments, plays, and gives its exit status.
#[must_use]
pub fn main<W: World>() -> ExitCode {
    main_with::<W>(std::env::args().skip(1).collect())
}

/// As [`main`], with these arguments.
#[must_use]
pub fn main_with<W: World>(words: Vec<String>) -> ExitCode {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("{}", help::<W>());
        return ExitCode::SUCCESS;
    }
    match options::<W>(words) {
        Ok(options) if play_all::<W>(&options) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn help<W: World>() -> String {
    format!("{HELP}{}\n{}", W::LIGHT, W::OWN_OPTION).trim_end().into()
}

fn options<W: World>(words: Vec<String>) -> Result<Options, String> {
    let without = Without::default();
    let seeds = Seeds {
        from: 0,
        count: 100,
        seconds: 60,
        without,
        light: false,
        stop: false,
        limit: None,
        threads: 1,
        hashes: None,
    };
    let mut options = Options { seeds, alone: false, shrink: false };
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let seeds = &mut options.seeds;
        if word == "--without" {
            seeds.without = words.next().ok_or("`--without` needs a list of faults")?.parse()?;
            continue;
        }
        let mut number = || {
            let value = words.next().ok_or_else(|| format!("`{word}` needs a number"))?;
            value.parse::<u64>().map_err(|error| format!("`{word} {value}`: {error}"))
        };
        match word.as_str() {
            "--seeds" => seeds.count = number()?,
            "--from" => seeds.from = number()?,
            "--seed" => (seeds.from, seeds.count, options.alone) = (number()?, 1, true),
            "--seconds" => seeds.seconds = number()?,
            "--for" => seeds.limit = Some(Duration::from_secs(number()?)),
            "--threads" => seeds.threads = number()? as usize,
            "--stop" => seeds.stop = true,
            "--trace" => seeds.hashes = Some(|second, hash| println!("{second:>6} s  {hash:016x}")),
            "--shrink" => options.shrink = true,
            "--light" => seeds.light = true,
            _ => return Err(format!("there is no option `{word}`\n{}", help::<W>())),
        }
    }
    Ok(options)
}

/// Plays, tells, and says whether all is well.
fn play_all<W: World>(options: &Options) -> bool {
    // A broken invariant is told with its run, not on its own.
    if !options.alone || options.shrink {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let (began, mut told) = (Instant::now(), Instant::now());
    let tally = run::<W>(&options.seeds, |plan, report, tally| {
        let failed = !report.wrongs.is_empty();
        if options.shrink && failed {
            tell_shrunk::<W>(plan, report);
        } else if options.alone || failed {
            tell::<W>(plan, options.alone, report);
        }
        if told.elapsed() > PROGRESS {
            told = Instant::now();
            let rate = tally.simulated_ms as f64 / 1000.0 / began.elapsed().as_secs_f64();
            let failed = tally.failed.len();
            eprintln!("{} seeds, {failed} failed, {rate:.0} simulated seconds a second", tally.seeds);
        }
    });
    tell_tally::<W>(options, &tally, began.elapsed())
}

/// What all runs reached. Gives whether all is well.
fn tell_tally<W: World>(options: &Options, tally: &Tally, took: Duration) -> bool {
    let seconds = took.as_secs_f64();
    let simulated = tally.simulated_ms as f64 / 1000.0;
    println!("events:");
    for (what, count) in &tally.happened {
        println!("  {count:>10}  {what}");
    }
    let idle = if options.seeds.light { Vec::new() } else { tell_judged::<W>(tally, options.seeds.seconds) };
    let missing = tally.not_reached::<W>();
    if !missing.is_empty() && !options.alone {
        println!("events that never happened: {missing:?}");
    }
    let seeds = tally.seeds;
    println!(
        "{seeds} seeds of {:.1} simulated seconds on average; {:.0} simulated seconds in each second of {seconds:.1} s",
        simulated / seeds.max(1) as f64,
        simulated / seconds
    );
    let failed = &tally.failed;
    println!("{} passed, {} failed {failed:?}", seeds - failed.len() as u64, failed.len());
    failed.is_empty() && idle.is_empty()
}

/// How much each rule judged. Gives what was judged too seldom, which is told as well.
fn tell_judged<W: World>(tally: &Tally, seconds: u64) -> Vec<(Floor, u64)> {
    println!("checked by each rule:");
    for (rule, all) in &tally.judged {
        let all: Vec<_> = all.iter().map(|(what, count)| format!("{count} {what}")).collect();
        println!("  rule {rule:>2}: {}", all.join(", "));
    }
    let seeds = tally.seeds;
    let idle = below_floor(W::FLOORS, &tally.judged, seeds, seconds);
    for ((rule, what, least), count) in &idle {
        println!(
            "rule {rule} checked {count} {what} in {seeds} seeds; it must check at least {least} in 100 seeds"
        );
    }
    idle
}

/// A run's story: what it was set to, what happened, what is wrong, and how to see it again.
fn tell<W: World>(plan: &Plan, whole: bool, report: &Report) {
    let seed = plan.seed;
    println!("seed {seed}: {}", report.setting);
    let lines = if whole { report.story.len() } else { LINES };
    for (at_ms, words) in report.story.iter().skip(report.story.len().saturating_sub(lines)) {
        println!("  {:>8.3} s  {words}", *at_ms as f64 / 1000.0);
    }
    for wrong in &report.wrongs {
        println!("seed {seed}: {wrong}");
    }
    println!("seed {seed}: {} steps, hash {:016x}", report.steps, report.hash);
    if !report.wrongs.is_empty() {
        println!("run it again: {}", again::<W>(plan));
    }
}

/// The command that plays a plan.
pub fn again<W: World>(plan: &Plan) -> String {
    let mut command = format!("{} --seed {} --seconds {}", W::COMMAND, plan.seed, plan.faulty_ms / 1000);
    if !plan.without.is_nothing() {
        command += &format!(" --without {}", plan.without);
    }
    if plan.light {
        command += " --light";
    }
    command
}

/// A run that fails, made smaller.
fn tell_shrunk<W: World>(plan: &Plan, report: &Report) {
    let broken =
        |report: &Report| -> BTreeSet<String> { report.wrongs.iter().map(|wrong| kind_of(wrong)).collect() };
    let before = broken(report);
    let fails = |report: &Report| !broken(report).is_disjoint(&before);
    let Some(shrunk) = shrink::<W>(plan, SHRINK_RUNS_MAX, fails) else {
        println!("seed {}: does not fail when it runs again", plan.seed);
        return;
    };
    tell::<W>(&shrunk.plan, true, &shrunk.report);
    println!(
        "reduced in {} runs: {} of {} ms with faults, {} of {} faults",
        shrunk.runs,
        shrunk.plan.faulty_ms,
        plan.faulty_ms,
        shrunk.faults().len(),
        report.struck
    );
}

/// The rule that is broken, or what else is wrong.
fn kind_of(wrong: &str) -> String {
    wrong.split(':').next().unwrap_or_default().to_owned()
}
