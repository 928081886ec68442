//! Rotten bits and lost files: reported with file and place, never silently cut.

use crate::model::Model;
use crate::owners::Restoring;
use crate::world::{INCARNATION, World, config};
use sim_council::disk::SimDisk;
use sim_council::random::Random;
use storage_wal::meta::{self, Names};
use storage_wal::{Class, OpenError, Replayed, Wal};

/// A log that was worked on and closed in order, and what it must hold.
fn closed(seed: u64) -> (SimDisk, Model) {
    let mut world = World::new(seed);
    world.open().unwrap();
    world.play(90).unwrap();
    world.mark_clean().unwrap();
    (world.disk, world.model)
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Everything was recovered.
    Whole,
    /// The start was refused, naming this place.
    Refused(String, u64),
}

fn open<'f>(disk: &SimDisk, model: &'f Model) -> Result<(Wal<SimDisk>, Restoring<'f>), OpenError> {
    let mut disk = disk.clone();
    assert!(meta::open(&mut disk, Names { directories: &[], harmless: &[] })?.is_some());
    let mut restoring = Restoring::new(&model.floors);
    let replayed = Replayed::read(disk, config(), INCARNATION, &mut restoring)?;
    Ok((replayed.resume()?.0, restoring))
}

/// Opens a copy of the disk after something was done to it. What is recovered must be everything.
fn open_after(disk: &SimDisk, model: &Model, harm: impl FnOnce(&SimDisk)) -> Outcome {
    let disk = disk.fork(1);
    harm(&disk);
    let before: Vec<_> = disk.paths().iter().map(|path| disk.content(path)).collect();
    match open(&disk, model) {
        Ok((mut wal, restoring)) => {
            let checked = model.clone().check(&restoring, &mut wal);
            checked.unwrap_or_else(|wrong| panic!("{wrong}"));
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
fn rotten_bit_anywhere_is_reported_or_does_no_harm() {
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
fn every_bit_of_a_flushed_record_of_any_log_is_guarded() {
    let (mut world, logs) = World::with_logs(2, 3);
    for log in logs.iter().cycle().take(9) {
        assert!(world.append_these(&[(*log, 40)], Class::Ordinary).unwrap());
        world.flush().unwrap();
    }
    world.mark_clean().unwrap();
    assert_eq!(world.wal().end().sequence, 1);
    let path = "log/0000000000000001.seg";
    let mut flipped = 0;
    for log in &logs {
        for number in 0..3 {
            let place = world.owners.0[log].places.1[number as usize];
            let bytes = 16 + 1 + world.model.record(*log, number).len() as u64;
            for bit in place.offset * 8..(place.offset + bytes) * 8 {
                let outcome = open_after(&world.disk, &world.model, |disk| disk.flip(path, bit));
                assert_eq!(outcome, Outcome::Refused(path.into(), place.offset), "bit {bit}");
                flipped += 1;
            }
        }
    }
    assert!(flipped > 1000, "{flipped}");
}

#[test]
fn damage_to_the_very_last_flush_is_a_torn_tail_until_something_vouches_for_it() {
    let (mut world, logs) = World::with_logs(6, 2);
    for log in &logs {
        assert!(world.append_these(&[(*log, 40)], Class::Ordinary).unwrap());
        world.wal().flush().unwrap();
    }
    let path = "log/0000000000000001.seg";
    let last = world.owners.0[&logs[1]].places.1[0].offset + 20;
    let outcome = open_after(&world.disk, &world.model, |disk| disk.flip(path, last * 8));
    assert_eq!(outcome, Outcome::Whole, "the last record is cut, as if it had never been flushed");
    world.mark_clean().unwrap();
    let outcome = open_after(&world.disk, &world.model, |disk| disk.flip(path, last * 8));
    assert!(matches!(outcome, Outcome::Refused(file, _) if file == path));
}

#[test]
fn lost_segment_is_noticed_or_not_needed() {
    let mut refused = 0;
    for seed in 0..150 {
        let (disk, model) = closed(seed);
        let paths = disk.paths();
        let segments: Vec<&String> = paths.iter().filter(|path| path.ends_with(".seg")).collect();
        // The last one, when no other was made ready behind it and it was not named yet, leaves no trace of having been
        // there.
        for path in segments.iter().take(segments.len() - 1) {
            refused += i32::from(open_after(&disk, &model, |disk| disk.take_away(path)) != Outcome::Whole);
        }
    }
    assert!(refused > 150, "{refused}");
}

#[test]
fn segment_cut_short_is_refused_or_does_no_harm() {
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
