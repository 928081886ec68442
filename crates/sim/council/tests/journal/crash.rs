//! Crashes at every operation that changes something on the disk.

use crate::model::behind_snapshot;
use crate::world::{World, config};
use base::{LogIndex, Term};
use sim_council::disk::{Loss, SimDisk};
use sim_council::random::seeds;
use storage_raft_log::{Batch, Entry, EntryKind, HardState, Journal, JournalConfig};

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

/// A torn record before a whole one of the same flush: what is written next ends where that one begins, and is all that
/// there is.
#[test]
fn what_a_torn_flush_left_does_not_come_to_life() {
    // What is written wipes out the rest of its block, so the whole one has to begin with a block.
    let some = 4_000;
    let disk = SimDisk::new(0);
    let mut journal = with_a_term(&disk);
    journal.append(&of_one_entry(1, some)).unwrap();
    journal.flush().unwrap();
    let bytes = some + 8_192 - end_of_log(&disk);
    let mut torn = 0;
    for seed in 0..100 {
        // With and without the mark that a start may write.
        for mark_bytes in [0, 16] {
            let disk = SimDisk::new(seed);
            let mut journal = with_a_term(&disk);
            journal.append(&of_one_entry(1, bytes)).unwrap();
            journal.append(&of_one_entry(2, 100)).unwrap();
            // It is written, and the flush fails.
            disk.crash_at(disk.operations() + 2);
            journal.flush().unwrap_err();
            disk.crash(Loss::Some);
            let (mut journal, recovered) = Journal::open(disk.clone(), roomy()).unwrap();
            if recovered.last_index > LogIndex::ZERO {
                continue;
            }
            torn += 1;
            let next = of_one_entry(1, bytes - mark_bytes);
            journal.append(&next).unwrap();
            journal.flush().unwrap();
            drop(journal);
            disk.crash(Loss::All);
            let (mut journal, recovered) = Journal::open(disk, roomy()).unwrap();
            let found = behind_snapshot(&mut journal, &recovered, 1 << 20).unwrap();
            assert_eq!(found, next.entries, "seed {seed}");
        }
    }
    assert!(torn > 50, "only {torn} were torn");
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

/// Room for all in one segment, and in one write.
fn roomy() -> JournalConfig {
    JournalConfig {
        segment_bytes: 32 << 10,
        first_segment_bytes: 32 << 10,
        write_buffer_bytes: 32 << 10,
        ..config()
    }
}

fn with_a_term(disk: &SimDisk) -> Journal<SimDisk> {
    let (mut journal, _) = Journal::open(disk.clone(), roomy()).unwrap();
    let hard_state = Some(HardState { term: Term(1), vote: Some(base::MemberId(1)), commit: LogIndex::ZERO });
    journal.append(&Batch { hard_state, ..Batch::default() }).unwrap();
    journal.flush().unwrap();
    journal
}

fn of_one_entry(index: u64, bytes: usize) -> Batch {
    let data = vec![index as u8; bytes].into();
    let entry = Entry { index: LogIndex(index), term: Term(1), kind: EntryKind::Normal, data };
    Batch { entries: vec![entry], ..Batch::default() }
}

/// Where the last record ends, if it ends with something: records lie at multiples of 8.
fn end_of_log(disk: &SimDisk) -> usize {
    let logs = disk.paths().into_iter().filter(|path| path.starts_with("log/"));
    let contents = logs.filter_map(|path| disk.content(&path));
    let ends = contents.filter_map(|content| content.iter().rposition(|byte| *byte != 0));
    ends.max().map_or(0, |last| (last + 1).next_multiple_of(8))
}
