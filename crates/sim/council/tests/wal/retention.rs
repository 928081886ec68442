//! Which segments go: those that no log needs, and only when what makes them superfluous is durable.

use crate::world::World;
use sim_council::disk::Loss;
use sim_council::random::seeds;
use storage_wal::{Class, LogId};

/// Appends to a log, and flushes, until so many more segments were begun.
fn roll(world: &mut World, log: LogId, segments: u64) {
    let until = world.wal().end().sequence + segments;
    while world.wal().end().sequence < until {
        assert!(world.append_these(&[(log, 200)], Class::Ordinary).unwrap());
        world.flush().unwrap();
        world.wal().keep_ahead().unwrap();
    }
}

/// An owner needs nothing of what it has flushed.
fn release_all(world: &mut World, log: LogId) {
    let flushed = world.model.flushed_records(log);
    world.release_until(log, flushed);
    world.wal().recycle().unwrap();
}

#[test]
fn segment_stays_as_long_as_one_log_needs_it() {
    for seed in 0..20 {
        let (mut world, logs) = World::with_logs(seed, 3);
        for log in &logs {
            assert!(world.append_these(&[(*log, 50)], Class::Ordinary).unwrap());
        }
        world.flush().unwrap();
        roll(&mut world, logs[0], 5);
        // The busy log and one that is idle need nothing, the third one needs its single record.
        release_all(&mut world, logs[0]);
        release_all(&mut world, logs[1]);
        assert_eq!(world.wal().first_sequence(), 1);
        world.power_loss(Loss::All, None);
        assert_eq!(world.owners.0[&logs[2]].places.1.len(), 1, "the record is not given");
        // After a start every log needs everything until its owner says otherwise.
        release_all(&mut world, logs[0]);
        release_all(&mut world, logs[1]);
        assert_eq!(world.wal().first_sequence(), 1);
        release_all(&mut world, logs[2]);
        assert_eq!(world.wal().first_sequence(), world.wal().end().sequence);
        world.power_loss(Loss::All, None);
        assert_eq!(world.owners.0.len(), 3);
    }
}

#[test]
fn number_of_segments_is_bounded_while_owners_release_what_they_have() {
    let (mut world, logs) = World::with_logs(3, 3);
    for round in 0..100 {
        for log in &logs {
            roll(&mut world, *log, 1);
        }
        for log in &logs {
            release_all(&mut world, *log);
        }
        assert_eq!(world.wal().stats().segments, 1, "round {round}");
        let files = world.disk.paths().into_iter().filter(|path| path.ends_with(".seg")).count();
        // The current one, the next one, and those that wait to be used again.
        assert!(files <= 4, "{files} files in round {round}");
    }
    assert!(world.wal().stats().segments_recycled > 100);
    world.power_loss(Loss::All, None);
}

#[test]
fn segments_that_a_dropped_log_needed_go_only_when_it_is_dropped_for_good() {
    for seed in seeds(40) {
        let (mut world, logs) = World::with_logs(seed, 2);
        assert!(world.append_these(&[(logs[1], 50)], Class::Ordinary).unwrap());
        roll(&mut world, logs[0], 3);
        release_all(&mut world, logs[0]);
        assert_eq!(world.wal().first_sequence(), 1, "the second log needs its record");
        assert!(world.drop_log(logs[1]).unwrap());
        let before = world.disk.operations();
        world.disk.crash_at(before + 1 + world.random.below(4));
        let recycled = world.wal().recycle();
        if recycled.is_ok() {
            world.model.flush();
            assert_eq!(world.wal().first_sequence(), world.wal().end().sequence);
        }
        world.power_loss(Loss::Some, None);
        roll(&mut world, logs[0], 2);
        world.power_loss(Loss::All, None);
    }
}

/// The newest segment lists a log that was dropped in it, and what that log needed is gone.
#[test]
fn dropped_log_that_the_newest_segment_lists_needs_nothing() {
    let (mut world, logs) = World::with_logs(7, 2);
    assert!(world.append_these(&[(logs[1], 50)], Class::Ordinary).unwrap());
    roll(&mut world, logs[0], 4);
    release_all(&mut world, logs[0]);
    assert!(world.drop_log(logs[1]).unwrap());
    world.wal().recycle().unwrap();
    world.model.flush();
    assert_eq!(world.wal().first_sequence(), world.wal().end().sequence);
    world.power_loss(Loss::All, None);
    assert_eq!(world.owners.0.keys().collect::<Vec<_>>(), [&logs[0]]);
}

#[test]
fn id_of_a_dropped_log_is_never_given_again() {
    let (mut world, logs) = World::with_logs(9, 3);
    for log in &logs[1..] {
        assert!(world.drop_log(*log).unwrap());
    }
    world.flush().unwrap();
    roll(&mut world, logs[0], 3);
    release_all(&mut world, logs[0]);
    world.power_loss(Loss::All, None);
    let created = world.create().unwrap();
    assert_eq!(created, Some(LogId(4)));
}
