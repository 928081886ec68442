//! Live objects beside their models: a fixed set of seeds, those that once found something, and that a seed decides everything.

use sim_kit::command_line::again;
use sim_kit::random::{regressions, seeds};
use sim_kit::{Plan, Report, Tally, below_floor, play};
use sim_objects::ObjectsWorld;

/// Seeds that are always played, and how many more may be until everything has happened: some of it is rare.
const SEEDS: u64 = 150;
const MORE_SEEDS_MAX: u64 = 250;
/// Simulated seconds of each.
const SECONDS: u64 = 10;

fn clean(seed: u64, seconds: u64) -> Report {
    let plan = Plan::of(seed, seconds * 1000);
    let report = play::<ObjectsWorld>(&plan, None);
    let again = again::<ObjectsWorld>(&plan);
    assert!(report.wrongs.is_empty(), "seed {seed}: {}\nagain: {again}", report.wrongs.join("\n"));
    report
}

#[test]
fn generated_commands_do_what_the_models_say_and_reach_every_outcome() {
    let mut tally = Tally::default();
    for seed in seeds(SEEDS) {
        tally.add(seed, &clean(seed, SECONDS));
    }
    for seed in SEEDS..SEEDS + MORE_SEEDS_MAX {
        if tally.not_reached::<ObjectsWorld>().is_empty() {
            break;
        }
        tally.add(seed, &clean(seed, SECONDS));
    }
    println!("{} seeds, {:?}", tally.seeds, tally.judged);
    let missing = tally.not_reached::<ObjectsWorld>();
    assert!(missing.is_empty(), "in {} seeds never happened: {missing:?}", tally.seeds);
    let floors = <ObjectsWorld as sim_kit::World>::FLOORS;
    assert_eq!(below_floor(floors, &tally.judged, tally.seeds, SECONDS), []);
}

#[test]
fn seeds_that_once_found_something_run_clean() {
    for seed in regressions(include_str!("../seeds.txt")) {
        clean(seed, 60);
    }
}

#[test]
fn the_same_seed_takes_the_same_steps_again() {
    let hash = |seed| play::<ObjectsWorld>(&Plan::of(seed, 4_000), None).hash;
    for seed in [3, 5] {
        assert_eq!(hash(seed), hash(seed), "seed {seed}");
    }
    assert_ne!(hash(1), hash(2));
}
