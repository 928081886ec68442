//! Live objects beside their models, and whole members under faults: a fixed set of seeds, those that once found something, and
//! that a seed decides everything.

use sim_kit::command_line::again;
use sim_kit::random::{regressions, seeds};
use sim_kit::{Plan, Report, Tally, World, below_floor, play};
use sim_objects::{MembersWorld, ObjectsWorld};

/// Seeds that are always played, how many more may be until everything has happened (some of it is rare), and simulated seconds of
/// each.
struct Few {
    seeds: u64,
    more_max: u64,
    seconds: u64,
}

const OF_LOG: Few = Few { seeds: 150, more_max: 250, seconds: 10 };
const OF_MEMBERS: Few = Few { seeds: 50, more_max: 300, seconds: 15 };

fn clean<W: World>(seed: u64, seconds: u64) -> Report {
    let plan = Plan::of(seed, seconds * 1000);
    let report = play::<W>(&plan, None);
    let again = again::<W>(&plan);
    assert!(report.wrongs.is_empty(), "seed {seed}: {}\nagain: {again}", report.wrongs.join("\n"));
    report
}

/// They are clean, reach everything, and give each rule enough to judge.
fn play_some<W: World>(few: &Few) {
    let mut tally = Tally::default();
    for seed in seeds(few.seeds) {
        tally.add(seed, &clean::<W>(seed, few.seconds));
    }
    for seed in few.seeds..few.seeds + few.more_max {
        if tally.not_reached::<W>().is_empty() {
            break;
        }
        tally.add(seed, &clean::<W>(seed, few.seconds));
    }
    println!("{} seeds, {:?}", tally.seeds, tally.judged);
    let missing = tally.not_reached::<W>();
    assert!(missing.is_empty(), "in {} seeds never happened: {missing:?}", tally.seeds);
    assert_eq!(below_floor(W::FLOORS, &tally.judged, tally.seeds, few.seconds), []);
}

fn hash<W: World>(seed: u64) -> u64 {
    play::<W>(&Plan::of(seed, 4_000), None).hash
}

#[test]
fn generated_commands_do_what_the_models_say_and_reach_every_outcome() {
    play_some::<ObjectsWorld>(&OF_LOG);
}

#[test]
fn members_under_faults_keep_what_clients_were_told() {
    play_some::<MembersWorld>(&OF_MEMBERS);
}

#[test]
fn seeds_that_once_found_something_run_clean() {
    for seed in regressions(include_str!("../seeds.txt")) {
        clean::<ObjectsWorld>(seed, 60);
    }
}

#[test]
fn members_seeds_that_once_found_something_run_clean() {
    for seed in regressions(include_str!("../members.txt")) {
        clean::<MembersWorld>(seed, 60);
    }
}

#[test]
fn the_same_seed_takes_the_same_steps_again() {
    for seed in [3, 5] {
        assert_eq!(hash::<ObjectsWorld>(seed), hash::<ObjectsWorld>(seed), "seed {seed}");
    }
    assert_ne!(hash::<ObjectsWorld>(1), hash::<ObjectsWorld>(2));
    assert_eq!(hash::<MembersWorld>(3), hash::<MembersWorld>(3));
    assert_ne!(hash::<MembersWorld>(1), hash::<MembersWorld>(2));
}
