//! A little of what the program does: enough to notice a change that breaks replication.

use sim_appointed::{controlled, explore, walk, worlds};

#[test]
fn no_order_of_steps_shows_what_must_not_be() {
    for (name, bounds) in worlds::small() {
        let explored = explore(bounds, 60_000);
        assert_eq!(explored.found, None, "{name}");
        assert!(explored.depth >= 8, "{name}: {} steps", explored.depth);
    }
}

#[test]
fn long_orders_end_with_equal_logs_and_with_entries_committed() {
    let (mut committed, mut confirmed) = (0, 0);
    for seed in 1..=1_500 {
        match walk(worlds::large(seed), seed) {
            Ok(world) => {
                committed += world.committed_count();
                confirmed += world.confirmed_count();
            }
            Err((violation, way)) => panic!("seed {seed}: {violation} after {way:?}"),
        }
    }
    assert!(committed > 30_000, "{committed} entries");
    assert!(confirmed > 3_000, "{confirmed} confirmations");
}

#[test]
fn controllers_give_each_partition_its_leader_and_its_replicas_in_the_end() {
    let (mut committed, mut epochs, mut changes) = (0, 0, 0);
    let mut figures = controlled::Figures::default();
    for seed in 1..=400 {
        match controlled::walk(seed) {
            Ok(walked) => {
                committed += walked.committed;
                epochs += walked.epochs;
                changes += walked.changes;
                figures.add(&walked.figures);
            }
            Err((violation, story)) => {
                let last = story.len().saturating_sub(60);
                panic!("seed {seed}: {violation} after {:#?}", &story[last..]);
            }
        }
    }
    assert!(committed > 12_000, "{committed} entries");
    assert!(epochs > 3_000, "{epochs} epochs");
    assert!(changes > 1_000, "{changes} changes of replicas");
    // Rules for what never happens are not tested.
    for (name, count) in figures.all() {
        assert!(count > 0, "{count} {name}");
    }
}

#[test]
fn controllers_do_the_same_again_for_the_same_seed() {
    let walk = |seed| controlled::walk(seed).map(|walked| format!("{walked:?}")).expect("nothing is found");
    assert_eq!(walk(7), walk(7));
}
