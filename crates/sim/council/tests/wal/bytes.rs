//! Recovery from any bytes: it may refuse, it never panics, and what it accepts it accepts again.

use crate::owners::{Given, Owners, Restoring};
use crate::world::{INCARNATION, World, config};
use sim_council::disk::{Loss, SimDisk};
use sim_council::random::{Random, seeds};
use std::collections::BTreeMap;
use storage_wal::meta::{self, Names};
use storage_wal::{Class, LogId, Replayed, Wal, record_bytes_max};

/// Changes a file in one of the ways that files go wrong, or that somebody makes them go wrong.
fn garble(disk: &SimDisk, path: &str, random: &mut Random) {
    let mut content = disk.content(path).unwrap();
    let length = content.len() as u64;
    let at = random.below(length) as usize / 8 * 8;
    match random.below(5) {
        0 => content.truncate(at),
        1 => content.extend((0..random.below(5000)).map(|_| random.number() as u8)),
        2 => content.iter_mut().skip(at).take(300).for_each(|byte| *byte = random.number() as u8),
        3 => content.iter_mut().skip(at).take(512).for_each(|byte| *byte = 0),
        _ => {
            let to = random.below(length) as usize / 8 * 8;
            let count = (random.below(700) as usize).min(content.len() - at.max(to));
            content.copy_within(at..at + count, to);
        }
    }
    disk.put(path, content);
}

type Restored = BTreeMap<LogId, Given>;

fn open(disk: &SimDisk, floors: &BTreeMap<LogId, u64>) -> Option<(Wal<SimDisk>, Restored, Owners)> {
    let mut disk = disk.clone();
    meta::open(&mut disk, Names { directories: &[], harmless: &[] }).ok()??;
    let mut restoring = Restoring::new(floors);
    let replayed = Replayed::read(disk, config(), INCARNATION, &mut restoring).ok()?;
    let (mut wal, _) = replayed.resume().ok()?;
    wal.mark_clean().ok()?;
    let owners = restoring.owners();
    Some((wal, restoring.given, owners))
}

/// Whether the disk could be opened. If so, it can be used, and a second recovery finds what the first did.
fn open_and_use(disk: &SimDisk, floors: &BTreeMap<LogId, u64>) -> bool {
    let Some((mut wal, given, _)) = open(disk, floors) else { return false };
    for (log, given) in &given {
        for (at, payload) in &given.records {
            assert_eq!(wal.read(*log, *at).as_ref(), Ok(payload), "what was verified can be read");
        }
    }
    drop(wal);
    disk.crash(Loss::All);
    let (mut wal, again, owners) = open(disk, floors).expect("it opened before");
    let records = |given: &Given| given.records.clone();
    assert!(again.values().map(records).eq(given.values().map(records)));
    for log in given.keys() {
        let mut group = wal.group(record_bytes_max(3), Class::Ordinary, &owners).unwrap();
        group.append(*log, 3, &owners, |out| out.extend_from_slice(b"new")).unwrap();
    }
    wal.flush().unwrap();
    true
}

#[test]
fn any_bytes_are_refused_or_recovered_without_a_panic() {
    let (mut opened, mut refused) = (0, 0);
    for seed in seeds(40) {
        let mut world = World::new(seed);
        world.open().unwrap();
        world.play(60).unwrap();
        for round in 0..40 {
            let mut random = Random::new(seed << 16 | round);
            let disk = world.disk.fork(round);
            let paths = disk.paths();
            for _ in 0..1 + random.below(3) {
                let path = &paths[random.below(paths.len() as u64) as usize];
                match random.below(8) {
                    0 => disk.take_away(path),
                    1 => disk.put(path, world.disk.content(&paths[0]).unwrap()),
                    _ if disk.content(path).is_some_and(|content| !content.is_empty()) => {
                        garble(&disk, path, &mut random);
                    }
                    _ => (),
                }
            }
            match open_and_use(&disk, &world.model.floors) {
                true => opened += 1,
                false => refused += 1,
            }
        }
    }
    assert!(opened > 100 && refused > 100, "{opened} opened, {refused} refused");
}
