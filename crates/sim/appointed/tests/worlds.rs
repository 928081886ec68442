//! A little of what the program does: enough to notice a change that breaks replication.

use sim_appointed::{explore, walk, worlds};

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
    let committed: usize = (1..=1_500)
        .map(|seed| match walk(worlds::large(seed), seed) {
            Ok(world) => world.committed_count(),
            Err((violation, way)) => panic!("seed {seed}: {violation} after {way:?}"),
        })
        .sum();
    assert!(committed > 30_000, "{committed} entries");
}
