//! Rotten bits and lost files: reported with file and place, never silently cut.

use crate::model::Model;
use crate::world::{World, config};
use sim_council::disk::SimDisk;
use sim_council::random::Random;
use storage_raft_log::{Journal, KeepPolicy, OpenError};

/// A journal that was worked on and closed in order, and what it must hold.
fn closed(seed: u64) -> (SimDisk, Model) {
    let mut world = World::new(seed);
    world.open().unwrap();
    world.play(80).unwrap();
    world.settle().unwrap();
    (world.disk, world.model)
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything was recovered.
    Whole,
    /// The start was refused, naming this place.
    Refused(String, u64),
}

/// Opens a copy of the disk after something was done to it. What is recovered must be everything.
fn open_after(disk: &SimDisk, model: &Model, harm: impl FnOnce(&SimDisk)) -> Outcome {
    let disk = disk.fork(1);
    harm(&disk);
    let before: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
    match Journal::open(disk.clone(), config()) {
        Ok((mut journal, recovered)) => {
            let mut model = model.clone();
            model.check(&recovered, &mut journal).unwrap_or_else(|wrong| panic!("{wrong}"));
            Outcome::Whole
        }
        Err(OpenError::Corrupt(corruption)) => {
            let after: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
            assert_eq!(before, after, "a refused start changed something");
            Outcome::Refused(corruption.file, corruption.offset)
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_rotten_bit_anywhere_is_reported_or_does_no_harm() {
    let (mut whole, mut refused) = (0, 0);
    for seed in 0..40 {
        let (disk, model) = closed(seed);
        let mut random = Random::new(seed);
        for path in disk.paths() {
            let bits = disk.content(&path).unwrap().len() as u64 * 8;
            for _ in 0..60 {
                let bit = random.below(bits);
                match open_after(&disk, &model, |disk| disk.flip(&path, bit)) {
                    Outcome::Whole => whole += 1,
                    Outcome::Refused(file, offset) => {
                        refused += 1;
                        assert_eq!(file, path, "seed {seed}, bit {bit}");
                        assert!(offset <= bit / 8, "seed {seed}, {path}: {offset} for byte {}", bit / 8);
                    }
                }
            }
        }
    }
    assert!(whole > 500 && refused > 500, "{whole} whole, {refused} refused");
}

#[test]
fn every_bit_of_a_flushed_entry_is_guarded() {
    let mut world = World::new(0);
    world.open().unwrap();
    let mut places = Vec::new();
    for _ in 0..8 {
        let batch = world.batch();
        world.model.append(&batch);
        world.journal().append(&batch).unwrap();
        world.flush().unwrap();
        places.extend(batch.entries.into_iter().map(|entry| entry.data));
    }
    world.settle().unwrap();
    let path = "log/0000000000000001.seg";
    let content = world.disk.content(path).unwrap();
    let mut flipped = 0;
    for data in places.iter().filter(|data| data.len() > 30) {
        let found = content.windows(data.len()).position(|window| window == &data[..]);
        let Some(start) = found else { continue };
        for bit in (start * 8..(start + data.len()) * 8).step_by(7) {
            let outcome = open_after(&world.disk, &world.model, |disk| disk.flip(path, bit as u64));
            let Outcome::Refused(file, offset) = outcome else { panic!("bit {bit} went unnoticed") };
            assert_eq!(file, path);
            assert!(offset as usize <= start && start - offset as usize <= 4096);
            flipped += 1;
        }
    }
    assert!(flipped > 100, "{flipped}");
}

/// The one thing that cannot be told: nothing was written behind the last flush, so that nothing vouches for it. A
/// member that goes on, is idle, is closed or opened again writes what does.
#[test]
fn damage_to_the_very_last_flush_is_a_torn_tail_until_something_vouches_for_it() {
    let mut world = World::new(0);
    world.open().unwrap();
    for _ in 0..4 {
        let batch = world.uniform_batch();
        world.model.append(&batch);
        world.journal().append(&batch).unwrap();
        world.journal().flush().unwrap();
    }
    let path = "log/0000000000000001.seg";
    let content = world.disk.content(path).unwrap();
    let last = content.iter().rposition(|byte| *byte != 0).unwrap() as u64;
    let disk = world.disk.fork(1);
    disk.flip(path, last * 8);
    let (_, recovered) = Journal::open(disk, config()).unwrap();
    assert_eq!(recovered.torn_tail.map(|torn| torn.file), Some(path.to_string()));

    world.journal().settle().unwrap();
    world.disk.flip(path, last * 8);
    assert!(matches!(Journal::open(world.disk, config()), Err(OpenError::Corrupt(_))));
}

#[test]
fn a_lost_file_is_noticed_or_not_needed() {
    let mut refused = 0;
    for seed in 0..150 {
        let (disk, model) = closed(seed);
        let paths = disk.paths();
        let segments = paths.iter().filter(|path| path.ends_with(".seg"));
        // The last segment, when no other was made ready behind it, leaves no trace of having been there.
        let traceless = segments.max().cloned();
        // Without its newest snapshot a member falls back to an older one.
        let newest = paths.iter().rfind(|path| path.ends_with(".snap"));
        for path in paths.iter().filter(|path| Some(*path) != traceless.as_ref() && Some(*path) != newest) {
            refused += i32::from(open_after(&disk, &model, |disk| disk.take_away(path)) != Outcome::Whole);
        }
    }
    assert!(refused > 150, "{refused}");
}

/// As many entries, each flushed, as it takes for the log to have this many segments, and a few more.
fn with_segments(segments: u64, more: usize) -> World {
    let mut world = World::new(segments);
    world.open().unwrap();
    let mut left = more;
    while left > 0 {
        let batch = world.batch();
        world.model.append(&batch);
        world.journal().append(&batch).unwrap();
        world.flush().unwrap();
        if world.journal().stats().segments >= segments {
            left -= 1;
        }
    }
    world
}

#[test]
fn a_missing_newest_segment_is_noticed_from_its_first_byte_on() {
    for segments in 2..5 {
        for more in 1..6 {
            let mut world = with_segments(segments, more);
            // The power fails: nothing but what was flushed is there.
            drop(world.journal.take());
            world.disk.restart();
            let begins = |path: &String| world.disk.content(path).is_some_and(|bytes| bytes[..64] != [0; 64]);
            let logs = world.disk.paths().into_iter().filter(|path| path.ends_with(".seg"));
            let newest = logs.filter(begins).max().expect("there is a log");
            assert_eq!(newest, format!("log/{segments:016x}.seg"));
            let outcome = open_after(&world.disk, &world.model, |disk| disk.take_away(&newest));
            assert_eq!(outcome, Outcome::Refused(newest, 0), "{more} entries in segment {segments}");
        }
    }
}

#[test]
fn a_damaged_snapshot_is_passed_over_when_the_log_reaches_back_far_enough() {
    let (mut passed_over, mut refused) = (0, 0);
    for seed in 0..150 {
        let (disk, model) = closed(seed);
        let Some(newest) = disk.paths().into_iter().rfind(|path| path.ends_with(".snap")) else { continue };
        let half = disk.content(&newest).unwrap().len() as u64 * 4;
        match open_after(&disk, &model, |disk| disk.flip(&newest, half)) {
            Outcome::Whole => passed_over += 1,
            Outcome::Refused(file, _) => {
                assert_eq!(file, newest);
                refused += 1;
            }
        }
    }
    assert!(passed_over > 10 && refused > 10, "{passed_over} passed over, {refused} refused");
}

#[test]
fn a_segment_cut_short_is_refused_or_does_no_harm() {
    let mut refused = 0;
    for seed in 0..40 {
        let (disk, model) = closed(seed);
        let mut random = Random::new(seed);
        for path in disk.paths().iter().filter(|path| path.ends_with(".seg")) {
            let mut content = disk.content(path).unwrap();
            content.truncate(random.below(content.len() as u64) as usize);
            let length = content.len() as u64;
            if let Outcome::Refused(file, offset) = open_after(&disk, &model, |disk| disk.put(path, content))
            {
                assert_eq!((&file, offset <= length), (path, true));
                refused += 1;
            }
        }
    }
    assert!(refused > 40, "{refused}");
}

#[test]
fn as_many_snapshots_as_are_kept_can_be_fallen_back_on() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        world.open().unwrap();
        let mut made = 0;
        while made < 4 {
            world.play(15).unwrap();
            world.flush().unwrap();
            made += i32::from(world.own_snapshot().unwrap());
            world.journal().compact(KeepPolicy { snapshots: 2, entries: 0 }).unwrap();
        }
        world.play_without_snapshots(20).unwrap();
        world.settle().unwrap();
        let newest = world.disk.paths().into_iter().rfind(|path| path.ends_with(".snap")).unwrap();
        let outcome = open_after(&world.disk, &world.model, |disk| disk.flip(&newest, 8 * 30));
        assert_eq!(outcome, Outcome::Whole, "seed {seed}");
    }
}
