//! Crashes at every operation that changes something on the disk.

use crate::world::World;
use sim::disk::Loss;
use sim::random::seeds;

const STEPS: usize = 60;

/// Plays a seed until it is through or the disk stops at an operation.
fn play(seed: u64, crash_at: Option<u64>) -> World {
    let mut world = World::new(seed);
    if let Some(operation) = crash_at {
        world.disk.crash_at(operation);
    }
    let opened = world.open();
    assert!(opened.is_ok() || world.disk.crashed(), "{opened:?}");
    if opened.is_ok() && world.play(STEPS).is_err() {
        assert!(world.disk.crashed());
    }
    world
}

/// Plays a seed once for each operation at which it may stop, and then goes on as `then` says.
fn stop_everywhere(seed: u64, then: impl Fn(&mut World)) {
    let operations = play(seed, None).disk.operations();
    assert!(operations > 50, "seed {seed} does too little");
    for operation in 1..=operations {
        let mut world = play(seed, Some(operation));
        let run = std::panic::AssertUnwindSafe(|| then(&mut world));
        if let Err(cause) = std::panic::catch_unwind(run) {
            eprintln!("seed {seed}, operation {operation}");
            std::panic::resume_unwind(cause);
        }
    }
}

/// Works on for a while; then what was flushed must survive a loss of power, twice.
fn go_on(world: &mut World) {
    assert!(world.play(12).is_ok());
    world.power_loss(Loss::All, None);
    world.power_loss(Loss::All, None);
}

#[test]
fn a_crash_at_any_operation_loses_nothing_flushed_and_invents_nothing() {
    for seed in seeds(30) {
        for loss in [Loss::All, Loss::Nothing, Loss::Some, Loss::Some] {
            stop_everywhere(seed, |world| {
                world.power_loss(loss, None);
                go_on(world);
            });
        }
    }
}

#[test]
fn a_crash_during_recovery_changes_nothing_about_that() {
    for seed in seeds(30) {
        stop_everywhere(1000 + seed, |world| {
            let after = 1 + world.random.below(8);
            world.power_loss(Loss::Some, Some(after));
            go_on(world);
        });
    }
}

#[test]
fn what_a_killed_process_wrote_is_durable_once_it_was_recovered() {
    for seed in seeds(30) {
        stop_everywhere(2000 + seed, |world| {
            world.kill();
            world.power_loss(Loss::All, None);
            go_on(world);
        });
    }
}

/// Each seed here has found something once.
#[test]
fn what_seeds_have_found_stays_mended() {
    // A snapshot made all earlier segments superfluous while the first record of the current one, which replaces
    // them, was not yet flushed.
    stop_everywhere(60, |world| world.power_loss(Loss::Some, None));
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let trace = |seed| {
        let world = play(seed, Some(120));
        world.disk.crash(Loss::Some);
        let paths = world.disk.paths();
        paths.into_iter().map(|path| (world.disk.content(&path), path)).collect::<Vec<_>>()
    };
    assert_eq!(trace(5), trace(5));
    assert_ne!(trace(5), trace(6));
}
