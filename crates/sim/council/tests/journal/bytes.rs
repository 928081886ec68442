//! Recovery from any bytes: it may refuse, it never panics, and what it accepts it accepts again.

use crate::model::behind_snapshot;
use crate::world::{World, config};
use sim_council::disk::{Loss, SimDisk};
use sim_council::random::{Random, seeds};
use storage_raft_log::{Journal, KeepPolicy};

/// Changes a file in one of the ways that files go wrong, or that somebody makes them go wrong.
fn garble(disk: &SimDisk, path: &str, random: &mut Random) {
    let mut content = disk.content(path).unwrap();
    let length = content.len() as u64;
    match random.below(7) {
        0 => content.truncate(random.below(length + 1) as usize),
        1 => content.extend((0..random.below(5000)).map(|_| random.number() as u8)),
        2 => {
            let from = random.below(length) as usize;
            let count = random.below(600) as usize;
            content.iter_mut().skip(from).take(count).for_each(|byte| *byte = random.number() as u8);
        }
        3 => {
            let from = (random.below(length) / 8 * 8) as usize;
            content.iter_mut().skip(from).take(512).for_each(|byte| *byte = 0);
        }
        4 => {
            let (from, to) = (random.below(length) as usize / 8 * 8, random.below(length) as usize / 8 * 8);
            let count = (random.below(700) as usize).min(content.len() - from.max(to));
            content.copy_within(from..from + count, to);
        }
        5 => {
            // Numbers at the ends of their ranges, where lengths and places are.
            let at = (random.below(length) / 4 * 4) as usize;
            let value = [u32::MAX, 0, 1 << 31, 7][random.below(4) as usize];
            let place = content.iter_mut().skip(at);
            place.zip(value.to_le_bytes()).for_each(|(byte, new)| *byte = new);
        }
        _ => content = (0..random.below(4000)).map(|_| random.number() as u8).collect(),
    }
    disk.put(path, content);
}

#[test]
fn any_bytes_are_refused_or_recovered_without_a_panic() {
    let (mut opened, mut refused) = (0, 0);
    for seed in seeds(60) {
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
            match open_and_use(&disk) {
                true => opened += 1,
                false => refused += 1,
            }
        }
    }
    assert!(opened > 100 && refused > 100, "{opened} opened, {refused} refused");
}

/// Whether the disk could be opened. If so, it can be used, and a second recovery finds what the first did.
fn open_and_use(disk: &SimDisk) -> bool {
    let Ok((mut journal, recovered)) = Journal::open(disk.clone(), config()) else { return false };
    let entries = behind_snapshot(&mut journal, &recovered, 1000).expect("what was verified can be read");
    let (first, last) = (journal.first_index(), journal.last_index());
    if let Ok(entries) = journal.entries(first, last.next(), u64::MAX) {
        assert_eq!(entries.len() as u64, last.next().since(first));
    }
    if let Ok(Some(mut reader)) = journal.open_snapshot() {
        while journal.read_snapshot(&mut reader).is_ok_and(|chunk| chunk.is_some()) {}
    }
    drop(journal);
    disk.crash(Loss::All);
    let (mut journal, again) = Journal::open(disk.clone(), config()).expect("it opened before");
    assert_eq!(behind_snapshot(&mut journal, &again, 0), Ok(entries));
    assert_eq!((again.hard_state, &again.snapshot), (recovered.hard_state, &recovered.snapshot));
    assert_eq!(journal.compact(KeepPolicy { snapshots: 1, entries: 0 }), Ok(()));
    true
}
