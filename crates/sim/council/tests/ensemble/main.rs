//! Ensembles under faults, judged by the rules of `sim_council::rules`: a fixed set of seeds, those that once found something,
//! and fresh ones for a while.

mod another_disk;
mod cut_off;
mod divergence;
mod false_messages;
mod forced;
mod forwarded;
mod lease;
mod level;
mod moving;
mod old_word;
mod published;
mod quorum_kept;
mod replaced_disk;
mod shrink;
mod snapshots;
mod three;

use std::time::{Duration, Instant, SystemTime};

use sim_council::run::{Plan, Report, Run, play, quiet};
use sim_kit::Tally;
use sim_kit::command_line::again;
use sim_kit::random::regressions;

/// Seeds that are always played, and how many more may be until everything has happened: some of it is rare.
const SEEDS: u64 = 80;
const MORE_SEEDS_MAX: u64 = 160;
/// Seeds beyond those in which something rare happens: a member that lost its membership to another machine.
const RARE: [u64; 1] = [323];
/// Simulated milliseconds under faults in each.
const FAULTY_MS: u64 = 60_000;
/// For how long fresh seeds are played.
const FRESH: Duration = Duration::from_secs(6);

fn tell(tally: &Tally) {
    let seconds = tally.simulated_ms / 1000 / tally.seeds.max(1);
    println!("{} seeds of {seconds} simulated seconds each: {:?}", tally.seeds, tally.happened);
}

fn clean(seed: u64) -> Report {
    let plan = Plan::of(seed, FAULTY_MS);
    let report = play(&plan, None);
    let again = again::<Run>(&plan);
    assert!(report.wrongs.is_empty(), "seed {seed}: {}\nagain: {again}", report.wrongs.join("\n"));
    assert!(report.simulated_ms >= FAULTY_MS);
    report
}

#[test]
fn a_fixed_set_of_seeds_runs_clean_and_reaches_everything() {
    let mut tally = Tally::default();
    (0..SEEDS).chain(RARE).for_each(|seed| tally.add(seed, &clean(seed)));
    for seed in SEEDS..SEEDS + MORE_SEEDS_MAX {
        if tally.not_reached::<Run>().is_empty() {
            break;
        }
        tally.add(seed, &clean(seed));
    }
    tell(&tally);
    assert!(tally.not_reached::<Run>().is_empty(), "not reached: {:?}", tally.not_reached::<Run>());
}

#[test]
fn seeds_that_once_found_something_run_clean() {
    for seed in regressions(include_str!("../../seeds.txt")) {
        clean(seed);
    }
}

#[test]
fn fresh_seeds_run_clean() {
    let began = Instant::now();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
    let first = since.as_secs() * 1000;
    let mut tally = Tally::default();
    for seed in first.. {
        if began.elapsed() > FRESH {
            break;
        }
        tally.add(seed, &clean(seed));
    }
    println!("from {first} on:");
    tell(&tally);
}

#[test]
fn the_same_seed_takes_the_same_steps_here_and_in_another_process() {
    for seed in [3, 5, 8] {
        let plan = Plan::of(seed, 10_000);
        let (one, other) = (play(&plan, None), play(&plan, None));
        assert_eq!((one.steps, one.hash), (other.steps, other.hash), "seed {seed}");
        let elsewhere = std::process::Command::new(env!("CARGO_BIN_EXE_sim"))
            .args(["--seed", &seed.to_string(), "--seconds", "10"])
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&elsewhere.stdout).into_owned();
        let line = format!("seed {seed}: {} steps, hash {:016x}", one.steps, one.hash);
        assert!(told.contains(&line), "`{line}` is not in {told}");
    }
    let hash = |seed| play(&Plan::of(seed, 2_000), None).hash;
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_quiet_ensemble_serves_all_and_elects_once() {
    let report = quiet(3, 1, Duration::from_secs(30));
    assert_eq!(report.wrongs, Vec::<String>::new());
    assert_eq!(report.happened.get("election"), Some(&1), "{:?}", report.happened);
    assert!(report.happened["write acknowledged"] > 200, "{:?}", report.happened);
    assert!(report.happened["read judged"] > 100, "{:?}", report.happened);
}
