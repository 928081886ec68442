//! Crashes at every operation that changes something on the disk, and flushes that fail.

use crate::world::World;
use sim_council::disk::Loss;
use sim_council::random::seeds;
use storage_wal::{Class, LogId};

const STEPS: usize = 70;

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
    assert!(operations > 30, "seed {seed} does too little");
    for operation in 1..=operations {
        let run = std::panic::AssertUnwindSafe(|| then(&mut play(seed, Some(operation))));
        if let Err(cause) = std::panic::catch_unwind(run) {
            eprintln!("seed {seed}, operation {operation}");
            std::panic::resume_unwind(cause);
        }
    }
}

/// Works on for a while; then what was flushed must survive a loss of power, twice.
fn go_on(world: &mut World) {
    assert!(world.play(15).is_ok());
    world.power_loss(Loss::All, None);
    world.power_loss(Loss::All, None);
}

#[test]
fn crash_at_any_operation_loses_nothing_flushed_of_any_log() {
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
fn crash_during_recovery_changes_nothing_about_that() {
    for seed in seeds(30) {
        stop_everywhere(1000 + seed, |world| {
            let after = 1 + world.random.below(8);
            world.power_loss(Loss::Some, Some(after));
            go_on(world);
        });
    }
}

#[test]
fn records_of_a_killed_process_are_durable_once_they_were_recovered() {
    for seed in seeds(30) {
        stop_everywhere(2000 + seed, |world| {
            world.kill();
            world.power_loss(Loss::All, None);
            go_on(world);
        });
    }
}

#[test]
fn failed_flush_poisons_all_logs_and_a_restart_finds_what_is_there() {
    for seed in seeds(8) {
        let flushes = play(seed, None).disk.flushes();
        for flush in 1..=flushes {
            let mut world = World::new(seed);
            world.disk.fail_flush(flush);
            let worked = world.open().is_ok() && world.play(STEPS).is_ok();
            if let Some(wal) = world.wal.as_mut().filter(|_| !worked) {
                let fault = wal.flush().expect_err("a poisoned log flushed");
                let operations = world.disk.operations();
                assert_eq!(wal.mark_clean(), Err(fault.clone()));
                assert_eq!(wal.prepare(), Err(fault.clone()));
                assert_eq!(wal.recycle(), Err(fault.clone()));
                assert_eq!(wal.try_preallocate(), Err(fault.clone()));
                assert!(wal.group(0, Class::Reserved, &world.owners).is_err());
                assert_eq!(world.disk.operations(), operations);
            }
            world.power_loss(Loss::Some, None);
            assert!(world.play(10).is_ok());
            world.power_loss(Loss::All, None);
        }
    }
}

#[test]
fn one_flush_makes_records_of_all_logs_durable() {
    let (mut world, logs) = World::with_logs(1, 5);
    let (flushes, operations) = (world.disk.flushes(), world.disk.operations());
    let records: Vec<(LogId, usize)> = logs.iter().cycle().take(10).map(|log| (*log, 20)).collect();
    assert!(world.append_these(&records, Class::Ordinary).unwrap());
    world.flush().unwrap();
    assert_eq!((world.disk.flushes() - flushes, world.disk.operations() - operations), (1, 2));
    world.power_loss(Loss::All, None);
    for log in logs {
        assert_eq!(world.owners.0[&log].summary.records, 2);
    }
}

#[test]
fn same_seed_gives_the_same_disk() {
    let trace = |seed| {
        let world = play(seed, Some(60));
        world.disk.crash(Loss::Some);
        let paths = world.disk.paths();
        paths.into_iter().map(|path| (world.disk.content(&path), path)).collect::<Vec<_>>()
    };
    assert_eq!(trace(5), trace(5));
    assert_ne!(trace(5), trace(6));
}
