//! `sim`: plays seeds, tells what they reached, and for a seed that fails what went wrong, its story, and the one command
//! that plays it again.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sim_council::ensemble::Without;
use sim_council::rules::{Floor, Judged, below_floor};
use sim_council::run::{Plan, REACHED, Report, play, quiet};
use sim_council::shrink::shrink;

/// Runs that making one smaller may take.
const SHRINK_RUNS_MAX: u64 = 500;

const HELP: &str =
    "usage: sim [--seeds N] [--from SEED] [--seed SEED] [--seconds N] [--for SECONDS] [--stop] [--trace]
           [--without FAULTS] [--shrink] [--light]

  --seeds N      how many seeds to play (100)
  --from SEED    the first of them (0)
  --seed SEED    this one alone, with its whole story
  --seconds N    simulated seconds under faults, in each (60)
  --for SECONDS  begin no seed after so many seconds
  --stop         begin no seed after one that fails
  --trace        a hash of all steps so far, once a simulated second
  --without F    without these faults, by the numbers that the story gives them, or of all messages: 3-17,20,loss
  --shrink       makes each seed that fails smaller: less time and fewer faults, as long as the same rule breaks
  --light        three members under light load, and nothing goes wrong: how fast the simulator is";

struct Options {
    from: u64,
    seeds: u64,
    alone: bool,
    seconds: u64,
    limit: Option<Duration>,
    stop: bool,
    trace: bool,
    without: Without,
    shrink: bool,
    light: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        from: 0,
        seeds: 100,
        alone: false,
        seconds: 60,
        limit: None,
        stop: false,
        trace: false,
        without: Without::default(),
        shrink: false,
        light: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--without" {
            options.without = words.next().ok_or("`--without` wants faults")?.parse()?;
            continue;
        }
        let mut number = || {
            let value = words.next().ok_or_else(|| format!("`{word}` wants a number"))?;
            value.parse::<u64>().map_err(|error| format!("`{word} {value}`: {error}"))
        };
        match word.as_str() {
            "--seeds" => options.seeds = number()?,
            "--from" => options.from = number()?,
            "--seed" => (options.from, options.seeds, options.alone) = (number()?, 1, true),
            "--seconds" => options.seconds = number()?,
            "--for" => options.limit = Some(Duration::from_secs(number()?)),
            "--stop" => options.stop = true,
            "--trace" => options.trace = true,
            "--shrink" => options.shrink = true,
            "--light" => options.light = true,
            _ => return Err(format!("there is no option `{word}`\n{HELP}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--help" || word == "-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match options() {
        Ok(options) => run(&options),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::too_many_lines, reason = "the program from its first seed to its exit status")]
fn run(options: &Options) -> ExitCode {
    // A broken invariant is told with its run, not on its own.
    if !options.alone || options.shrink {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let (began, mut told) = (Instant::now(), Instant::now());
    let (mut simulated_ms, mut played, mut failed) = (0, 0_u32, BTreeSet::new());
    let mut happened: BTreeMap<&str, u64> = BTreeMap::new();
    let mut judged: BTreeMap<u32, Judged> = BTreeMap::new();
    for seed in options.from..options.from + options.seeds {
        let failed_once = options.stop && !failed.is_empty();
        if failed_once || options.limit.is_some_and(|limit| began.elapsed() > limit) {
            break;
        }
        let hashes: fn(u64, u64) = |second, hash| println!("{second:>6} s  {hash:016x}");
        let faulty_ms = options.seconds * 1000;
        let plan = Plan { seed, faulty_ms, without: options.without.clone() };
        let report = match options.light {
            true => quiet(3, seed, Duration::from_secs(options.seconds)),
            false => play(&plan, options.trace.then_some(hashes)),
        };
        played += 1;
        simulated_ms += report.simulated_ms;
        for (what, count) in &report.happened {
            *happened.entry(what).or_default() += count;
        }
        for (rule, all) in &report.judged {
            for (what, count) in all {
                *judged.entry(*rule).or_default().entry(what).or_default() += count;
            }
        }
        if !report.wrongs.is_empty() {
            failed.insert(seed);
        }
        if options.shrink && !report.wrongs.is_empty() {
            tell_shrunk(&plan, &report);
        } else if options.alone || !report.wrongs.is_empty() {
            tell(&plan, options.alone, &report);
        }
        if told.elapsed() > Duration::from_secs(20) {
            told = Instant::now();
            let rate = simulated_ms as f64 / 1000.0 / began.elapsed().as_secs_f64();
            eprintln!("{played} seeds, {} failed, {rate:.0} simulated seconds a second", failed.len());
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let simulated = simulated_ms as f64 / 1000.0;
    println!("reached:");
    for (what, count) in &happened {
        println!("  {count:>10}  {what}");
    }
    let idle = if options.light { Vec::new() } else { tell_judged(&judged, u64::from(played), options) };
    let missing: Vec<_> = REACHED.iter().filter(|what| !happened.contains_key(**what)).collect();
    if !missing.is_empty() && !options.alone {
        println!("not reached: {missing:?}");
    }
    println!(
        "{played} seeds of {:.1} simulated seconds each on average, {:.0} simulated seconds for each of {seconds:.1} s",
        simulated / f64::from(played.max(1)),
        simulated / seconds
    );
    println!("{} passed, {} failed {failed:?}", u64::from(played) - failed.len() as u64, failed.len());
    if failed.is_empty() && idle.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How much each rule judged. Gives what was judged too seldom, which is told as well.
fn tell_judged(judged: &BTreeMap<u32, Judged>, seeds: u64, options: &Options) -> Vec<(Floor, u64)> {
    println!("judged:");
    for (rule, all) in judged {
        let all: Vec<_> = all.iter().map(|(what, count)| format!("{count} {what}")).collect();
        println!("  rule {rule:>2}: {}", all.join(", "));
    }
    let idle = below_floor(judged, seeds, options.seconds);
    for ((rule, what, least), count) in &idle {
        println!(
            "rule {rule} judged {count} {what} in {seeds} seeds; in 100 it should be {least} at the least"
        );
    }
    idle
}

/// A run's story: what it was set to, what happened, what is wrong, and how to see it again.
fn tell(plan: &Plan, whole: bool, report: &Report) {
    let seed = plan.seed;
    println!("seed {seed}: {}", report.setting);
    let lines = if whole { report.story.len() } else { 25 };
    for (at_ms, words) in report.story.iter().skip(report.story.len().saturating_sub(lines)) {
        println!("  {:>8.3} s  {words}", *at_ms as f64 / 1000.0);
    }
    for wrong in &report.wrongs {
        println!("seed {seed}: {wrong}");
    }
    println!("seed {seed}: {} steps, hash {:016x}", report.steps, report.hash);
    if !report.wrongs.is_empty() {
        println!("again: cargo xtask sim --seed {seed} --seconds {}{}", plan.faulty_ms / 1000, without(plan));
    }
}

fn without(plan: &Plan) -> String {
    if plan.without.is_nothing() { String::new() } else { format!(" --without {}", plan.without) }
}

/// A run that fails, made smaller.
fn tell_shrunk(plan: &Plan, report: &Report) {
    let broken =
        |report: &Report| -> BTreeSet<String> { report.wrongs.iter().map(|wrong| kind_of(wrong)).collect() };
    let before = broken(report);
    let Some(shrunk) = shrink(plan, SHRINK_RUNS_MAX, |report| !broken(report).is_disjoint(&before)) else {
        println!("seed {}: it does not fail when it is played again", plan.seed);
        return;
    };
    tell(&shrunk.plan, true, &shrunk.report);
    println!(
        "shrunk in {} runs: {} of {} ms under faults, {} of {} faults",
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
