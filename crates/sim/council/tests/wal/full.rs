//! A full disk: met when the next segment is made ready, with room kept for what must go on.

use crate::world::{World, config};
use sim_council::disk::Loss;
use storage_wal::{AppendError, Class, LogId, Progress, Space, record_bytes_max};

/// Fills the disk until an ordinary group is refused.
fn fill(world: &mut World) {
    world.disk.set_capacity(world.disk.used() + 15_000);
    for _ in 0..1000 {
        if !world.append().unwrap() {
            return;
        }
        world.flush().unwrap();
        while world.wal().prepare().unwrap() == Progress::More {}
    }
    panic!("the disk did not fill up");
}

#[test]
fn full_disk_is_told_early_and_reserved_records_of_every_log_find_room() {
    for seed in 0..40 {
        let (mut world, logs) = World::with_logs(seed, 3);
        fill(&mut world);
        assert_eq!(world.wal().space(), Space::Full);
        for log in &logs {
            assert!(world.append_these(&[(*log, 10)], Class::Reserved).unwrap());
            world.flush().unwrap();
        }
        assert_eq!(world.wal().try_preallocate().unwrap(), Space::Full);
        world.power_loss(Loss::Some, None);
    }
}

#[test]
fn dropping_a_log_makes_room_on_a_full_disk() {
    for seed in 0..40 {
        let (mut world, logs) = World::with_logs(seed, 3);
        fill(&mut world);
        for log in &logs[1..] {
            let flushed = world.model.flushed_records(*log);
            world.release_until(*log, flushed);
        }
        assert!(world.drop_log(logs[0]).unwrap(), "no room to drop a log");
        world.flush().unwrap();
        world.wal().recycle().unwrap();
        assert_eq!(world.wal().try_preallocate().unwrap(), Space::Plenty, "seed {seed}");
        world.play(10).unwrap();
        world.power_loss(Loss::All, None);
    }
}

#[test]
fn writes_go_on_when_there_is_room_again() {
    for seed in 0..40 {
        let (mut world, _) = World::with_logs(seed, 3);
        fill(&mut world);
        world.disk.set_capacity(u64::MAX);
        assert_eq!(world.wal().try_preallocate().unwrap(), Space::Plenty);
        world.play(30).unwrap();
        world.power_loss(Loss::All, None);
    }
}

#[test]
fn refused_group_and_refused_log_leave_nothing_behind() {
    let (mut world, logs) = World::with_logs(4, 2);
    fill(&mut world);
    let end = world.wal().end();
    assert!(!world.append_these(&[(logs[0], 10), (logs[1], 5000)], Class::Ordinary).unwrap());
    while world.create().unwrap().is_some() {}
    let logs = world.wal().logs().count();
    assert_eq!(logs, world.owners.0.len());
    assert!(world.wal().end() >= end, "what was there is gone");
    world.flush().unwrap();
    world.power_loss(Loss::All, None);
    assert_eq!(world.wal().logs().count(), logs);
}

/// Whoever holds to what the log says it has room for is never refused, however full the disk is.
#[test]
fn groups_within_the_room_that_was_told_are_never_refused() {
    let mut refused = 0;
    for seed in 0..60 {
        let (mut world, logs) = World::with_logs(seed, 4);
        world.disk.set_capacity(world.disk.used() + world.random.below(40_000));
        for _ in 0..300 {
            let owners = world.owners.clone();
            let mut left = world.wal().room(&owners);
            for _ in 0..3 {
                let log = logs[world.random.below(4) as usize];
                let length = world.random.below(500) as usize;
                // The owner appends a stamp of eight bytes.
                let bytes = record_bytes_max(length + 8);
                if bytes > left {
                    break;
                }
                left -= bytes;
                assert!(
                    world.append_these(&[(log, length)], Class::Ordinary).unwrap(),
                    "there was said to be room"
                );
            }
            world.flush().unwrap();
            world.wal().keep_ahead().unwrap();
            if world.wal().space() == Space::Full {
                refused += 1;
                break;
            }
        }
        world.power_loss(Loss::All, None);
    }
    assert!(refused > 30, "the disk was full only {refused} times");
}

#[test]
fn record_larger_than_a_segment_gets_one_of_its_size() {
    let (mut world, logs) = World::with_logs(5, 2);
    world.play(20).unwrap();
    let log = world.owners.0.keys().next().copied().unwrap_or(logs[0]);
    let length = 3 * config().segment_bytes as usize;
    assert!(world.append_these(&[(log, length), (log, 10)], Class::Ordinary).unwrap());
    world.flush().unwrap();
    world.power_loss(Loss::All, None);
    world.play(30).unwrap();
    world.power_loss(Loss::Some, None);
}

#[test]
fn group_larger_than_any_segment_is_refused() {
    let (mut world, _) = World::with_logs(5, 1);
    let owners = world.owners.clone();
    let refused = world.wal().group(u64::from(u32::MAX), Class::Ordinary, &owners).map(drop);
    assert_eq!(refused, Err(AppendError::TooLarge { bytes: u64::from(u32::MAX) }));
    assert_eq!(world.wal().logs().collect::<Vec<_>>(), [LogId::FIRST]);
}
