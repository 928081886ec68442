//! Compaction, whole: a log is compacted while clients write to it and delete from it, while the disk is full, and with a crash
//! at any operation of the disk. What a reader finds is compared with all that was ever written.

mod history;
mod world;

use log_partition::Compaction;

use world::{Crashed, Process, Setup, World};

const RETENTION_MS: i64 = 5_000;

fn setup(seed: u64) -> Setup {
    let compaction = Compaction {
        lag_min_ms: if seed.is_multiple_of(4) { 2_000 } else { 0 },
        lag_max_ms: if seed.is_multiple_of(3) { 4_000 } else { i64::MAX },
        dirty_ratio_min: 0.3,
        delete_retention_ms: RETENTION_MS,
    };
    let map_bytes = if seed.is_multiple_of(2) { 0 } else { 1 << 20 };
    Setup { seed, keys: 30 + seed % 90, map_bytes, segment_bytes: 2_500, compaction }
}

/// One thing that may happen.
fn act(world: &mut World, process: &mut Process) -> Result<(), Crashed> {
    world.now_ms += world.random.below(40) as i64;
    match world.random.below(40) {
        0..=12 => world.append(process),
        13..=15 => world.end_transaction(process),
        16..=18 => world.flush(process),
        19..=22 => world.write(process, false),
        23 => world.write(process, true),
        24 if world.random.chance(10) => world.delete(process),
        25 if world.random.chance(10) => {
            let room = world.random.below(6_000);
            world.disk.set_capacity(world.disk.used() + room);
            Ok(())
        }
        26 => world.give_room(process),
        27 if world.random.chance(15) => {
            world.now_ms += RETENTION_MS;
            Ok(())
        }
        28 if world.random.chance(20) => {
            world.check(process);
            Ok(())
        }
        _ => world.compact(process),
    }
}

fn run(world: &mut World) -> Result<(), Crashed> {
    let mut process = world.start()?;
    world.check(&process);
    for _ in 0..500 {
        act(world, &mut process)?;
        if world.disk.crashed() {
            return Err(Crashed);
        }
    }
    world.check(&process);
    Ok(())
}

#[test]
fn compacted_log_says_the_same_wherever_a_crash_comes() {
    let (mut replaced, mut passes, mut refused, mut full) = (0, 0, 0, 0);
    for seed in 0..250 {
        let mut world = World::new(setup(seed));
        for _ in 0..5 {
            if world.random.chance(70) {
                let operation = world.disk.operations() + 1 + world.random.below(600);
                world.disk.crash_at(operation);
            }
            let _ = run(&mut world);
            let power = world.random.chance(80);
            world.crash(power);
        }
        let process = world.start().expect("the disk is well");
        world.check(&process);
        replaced += world.replaced;
        passes += world.passes;
        refused += world.refused;
        full += world.full;
    }
    assert!(replaced > 2_000 && passes > 1_000, "{replaced} replacements in {passes} passes");
    assert!(refused > 10 && full > 100, "{refused} were refused, the disk was full {full} times");
}

/// Until nothing is left to compact.
fn compact_all(world: &mut World, process: &mut Process) {
    world.give_room(process).expect("the disk is well");
    world.write(process, true).expect("the disk is well");
    for _ in 0..100_000 {
        world.compact(process).expect("the disk is well");
        if !process.works {
            return;
        }
    }
    panic!("a pass does not end");
}

#[test]
fn pass_leaves_each_key_once_and_in_time_neither_tombstones_nor_ends_of_transactions() {
    for seed in 0..60 {
        let mut setup = setup(seed);
        (setup.compaction.dirty_ratio_min, setup.compaction.lag_min_ms) = (0.0, 0);
        let mut world = World::new(setup);
        let mut process = world.start().expect("the disk is well");
        for _ in 0..300 {
            world.now_ms += 10;
            world.append(&mut process).expect("the disk is well");
            if world.random.chance(40) {
                world.end_transaction(&mut process).expect("the disk is well");
            }
            if world.random.chance(20) {
                world.write(&mut process, true).expect("the disk is well");
            }
        }
        for _ in 0..100 {
            world.end_transaction(&mut process).expect("the disk is well");
        }
        // With a small map it takes several passes.
        for _ in 0..10 {
            compact_all(&mut world, &mut process);
        }
        let found = world.check(&process);
        let sealed = process.partition.segments().last().expect("there is one").base().0;
        world.history.check_is_compact(&found, sealed);
        let ends = found.markers.range(..sealed).count();
        assert!(found.records.range(..sealed).any(|(_, record)| record.value.is_none()), "tombstones wait");
        assert!(ends > 0, "so do ends of transactions");
        // When the time is over they go, though nothing is written any more.
        for _ in 0..3 {
            world.now_ms += RETENTION_MS;
            compact_all(&mut world, &mut process);
        }
        let found = world.check(&process);
        assert!(!found.records.range(..sealed).any(|(_, record)| record.value.is_none()), "seed {seed}");
        world.history.check_ends(&found, sealed);
    }
}
