//! Brokers under faults, judged by the rules of the log: a fixed set of seeds, those that once found something, and fresh ones
//! for a while.

use std::time::{Duration, Instant, SystemTime};

use sim_kit::command_line::again;
use sim_kit::random::regressions;
use sim_kit::{Plan, Report, Tally, World, below_floor, play};
use sim_log::{LogWorld, LoneWorld};

/// Seeds that are always played, and how many more may be until everything has happened: some of it is rare.
const SEEDS: u64 = 60;
const MORE_SEEDS_MAX: u64 = 120;
/// Simulated seconds under faults in each.
const FAULTY_SECONDS: u64 = 60;
/// For how long fresh seeds are played.
const FRESH: Duration = Duration::from_secs(8);

fn tell(tally: &Tally) {
    let seconds = tally.simulated_ms / 1000 / tally.seeds.max(1);
    println!("{} seeds of {seconds} simulated seconds each: {:?}", tally.seeds, tally.happened);
}

fn clean<W: World>(seed: u64) -> Report {
    let plan = Plan::of(seed, FAULTY_SECONDS * 1000);
    let report = play::<W>(&plan, None);
    let again = again::<W>(&plan);
    assert!(report.wrongs.is_empty(), "seed {seed}: {}\nagain: {again}", report.wrongs.join("\n"));
    assert!(report.simulated_ms >= FAULTY_SECONDS * 1000);
    report
}

#[test]
fn a_fixed_set_of_seeds_runs_clean_and_reaches_everything() {
    let mut tally = Tally::default();
    (0..SEEDS).for_each(|seed| tally.add(seed, &clean::<LogWorld>(seed)));
    for seed in SEEDS..SEEDS + MORE_SEEDS_MAX {
        if tally.not_reached::<LogWorld>().is_empty() {
            break;
        }
        tally.add(seed, &clean::<LogWorld>(seed));
    }
    tell(&tally);
    assert!(tally.not_reached::<LogWorld>().is_empty(), "not reached: {:?}", tally.not_reached::<LogWorld>());
    let floors = LogWorld::FLOORS;
    assert_eq!(below_floor(floors, &tally.judged, tally.seeds, FAULTY_SECONDS), []);
}

#[test]
fn seeds_that_once_found_something_run_clean() {
    for seed in regressions(include_str!("../seeds.txt")) {
        clean::<LogWorld>(seed);
    }
    for seed in regressions(include_str!("../seeds-lone.txt")) {
        clean::<LoneWorld>(seed);
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
        tally.add(seed, &clean::<LogWorld>(seed));
    }
    println!("from {first} on:");
    tell(&tally);
}

#[test]
fn the_same_seed_takes_the_same_steps_here_and_in_another_process() {
    for seed in [3, 5, 8] {
        let plan = Plan::of(seed, 10_000);
        let (one, other) = (play::<LogWorld>(&plan, None), play::<LogWorld>(&plan, None));
        assert_eq!((one.steps, one.hash), (other.steps, other.hash), "seed {seed}");
        let elsewhere = std::process::Command::new(env!("CARGO_BIN_EXE_sim-log"))
            .args(["--seed", &seed.to_string(), "--seconds", "10"])
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&elsewhere.stdout).into_owned();
        let line = format!("seed {seed}: {} steps, hash {:016x}", one.steps, one.hash);
        assert!(told.contains(&line), "`{line}` is not in {told}");
    }
    let hash = |seed| play::<LogWorld>(&Plan::of(seed, 2_000), None).hash;
    assert_ne!(hash(1), hash(2));
}
