//! Flushes that fail: the journal never tries again, and a restart finds what is really there.

use crate::model::behind_snapshot;
use crate::world::World;
use base::{LogIndex, Term};
use sim_council::disk::Loss;
use sim_council::random::seeds;
use storage_raft_log::{DiskError, JournalConfig};

#[test]
fn a_failed_flush_poisons_for_good_and_a_restart_finds_what_is_there() {
    for seed in seeds(8) {
        let mut world = World::new(seed);
        world.open().unwrap();
        world.play(60).unwrap();
        let flushes = world.disk.flushes();
        for flush in 1..=flushes {
            let mut world = World::new(seed);
            world.disk.fail_flush(flush);
            if world.open().is_err() {
                // It failed while the directory was being made or recovered.
                world.power_loss(Loss::Some, None);
                continue;
            }
            if world.play(60).is_ok() {
                // It went otherwise this time, and no flush failed: all that was said to be flushed is there.
                world.power_loss(Loss::All, None);
                continue;
            }
            refuses_everything(&mut world);
            world.power_loss(Loss::Some, None);
            assert!(world.play(10).is_ok());
            world.power_loss(Loss::All, None);
        }
    }
}

/// Every call that would write answers with the first fault, even though the disk would work again.
fn refuses_everything(world: &mut World) {
    let Some(journal) = world.journal.as_mut() else { return };
    let Err(fault) = journal.flush() else { panic!("a poisoned journal flushed") };
    assert!(matches!(fault.error, DiskError::Other(_)), "{fault}");
    let operations = world.disk.operations();
    assert_eq!(journal.settle(), Err(fault.clone()));
    assert_eq!(journal.prepare(), Err(fault.clone()));
    assert_eq!(journal.try_reserve(), Err(fault.clone()));
    assert_eq!(journal.compact(Default::default()), Err(fault.clone()));
    assert_eq!(journal.snapshot_begin(), Err(fault.clone().into()));
    assert_eq!(journal.append(&Default::default()), Err(fault.clone().into()));
    assert_eq!(world.disk.operations(), operations);
}

#[test]
fn a_batch_of_many_megabytes_keeps_a_beginning_of_its_entries() {
    use sim_council::disk::SimDisk;
    use storage_raft_log::{Batch, Entry, EntryKind, HardState, Journal};
    let config = JournalConfig {
        segment_bytes: 5 << 20,
        first_segment_bytes: 5 << 20,
        reserve_bytes: 4096,
        ..crate::world::config()
    };
    let entry = |index: u64| Entry {
        index: LogIndex(index),
        term: Term(1),
        kind: EntryKind::Normal,
        data: vec![index as u8; 300 << 10].into(),
    };
    let hard_state = Some(HardState { term: Term(1), vote: Some(base::MemberId(1)), commit: LogIndex(12) });
    let batch = Batch { hard_state, membership: None, entries: (1..=12).map(entry).collect() };
    let mut kept = [false; 13];
    for seed in 0..10 {
        let disk = SimDisk::new(seed);
        let (mut journal, _) = Journal::open(disk.clone(), config.clone()).unwrap();
        journal.append(&batch).unwrap();
        drop(journal);
        disk.crash(Loss::Some);
        let (mut journal, recovered) = Journal::open(disk, config.clone()).unwrap();
        let entries = behind_snapshot(&mut journal, &recovered, 1 << 20).unwrap();
        let count = entries.len();
        kept[count] = true;
        assert_eq!(entries, batch.entries[..count]);
        assert!(recovered.hard_state.commit <= recovered.last_index);
        assert!(count == 0 || recovered.hard_state.term == Term(1));
    }
    assert!(kept.iter().filter(|kept| **kept).count() > 2, "{kept:?}");
}
