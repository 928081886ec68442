//! A full disk: met when the next segment is made ready, with room kept for what must go on.

use crate::world::{World, config};
use base::{LogIndex, Term};
use sim_council::disk::Loss;
use storage_raft_log::{
    AppendError, Batch, HardState, KeepPolicy, Progress, SnapshotError, SnapshotMeta, Space,
};

/// Fills the disk until an ordinary batch is refused.
fn fill(world: &mut World) {
    world.open().unwrap();
    world.disk.set_capacity(world.disk.used() + 15_000);
    for _ in 0..1000 {
        let batch = world.batch();
        match world.journal().append(&batch) {
            Ok(()) => world.model.append(&batch),
            Err(AppendError::Full) => return,
            Err(other) => panic!("{other}"),
        }
        world.flush().unwrap();
        while world.journal().prepare().unwrap() == Progress::More {}
    }
    panic!("the disk did not fill up");
}

fn vote(world: &mut World) -> Batch {
    let HardState { term, commit, .. } = world.model.present().hard_state;
    Batch {
        hard_state: Some(HardState { term: term.next(), vote: Some(base::MemberId(2)), commit }),
        ..Batch::default()
    }
}

#[test]
fn it_is_said_early_and_votes_still_find_room() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        fill(&mut world);
        assert_eq!(world.journal().space(), Space::Full);
        for _ in 0..5 {
            let vote = vote(&mut world);
            world.model.append(&vote);
            world.journal().append_reserved(&vote).unwrap();
            world.flush().unwrap();
        }
        assert_eq!(world.journal().try_reserve().unwrap(), Space::Full);
        world.power_loss(Loss::Some, None);
    }
}

#[test]
fn the_reserve_has_an_end_and_nothing_breaks_there() {
    let mut world = World::new(1);
    fill(&mut world);
    let refused = (0..1000).any(|_| {
        let vote = vote(&mut world);
        match world.journal().append_reserved(&vote) {
            Ok(()) => world.model.append(&vote),
            Err(AppendError::Full) => return true,
            Err(other) => panic!("{other}"),
        }
        world.flush().unwrap();
        false
    });
    assert!(refused);
    world.power_loss(Loss::All, None);
}

#[test]
fn writes_go_on_when_there_is_room_again() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        fill(&mut world);
        world.disk.set_capacity(u64::MAX);
        assert_eq!(world.journal().try_reserve().unwrap(), Space::Plenty);
        world.play(30).unwrap();
        world.power_loss(Loss::All, None);
    }
}

#[test]
fn a_snapshot_makes_room_by_itself() {
    let mut freed = 0;
    for seed in 0..40 {
        let mut world = World::new(seed);
        fill(&mut world);
        let state = world.model.present().clone();
        let index = state.hard_state.commit;
        let Some(term) = state.term(index).filter(|_| index > LogIndex::ZERO) else { continue };
        let meta = SnapshotMeta { index, term, ..SnapshotMeta::default() };
        world.model.snapshot_begun((meta.clone(), vec![vec![1; 10]]));
        world.journal().snapshot_begin().unwrap();
        world.journal().snapshot_chunk(&[1; 10]).unwrap();
        world.journal().snapshot_finish(meta.clone()).unwrap();
        world.model.snapshot_done(&meta);
        world.journal().compact(KeepPolicy { snapshots: 1, entries: 0 }).unwrap();
        freed += i32::from(world.journal().try_reserve().unwrap() == Space::Plenty);
        world.power_loss(Loss::All, None);
    }
    assert!(freed > 20, "{freed}");
}

#[test]
fn a_snapshot_without_room_is_given_up_and_the_journal_lives() {
    let mut world = World::new(3);
    fill(&mut world);
    world.journal().snapshot_begin().unwrap();
    assert_eq!(world.journal().snapshot_chunk(&[0; 30_000]), Err(SnapshotError::Full));
    assert_eq!(world.journal().snapshot_chunk(&[0; 10]), Err(SnapshotError::NotBegun));
    assert!(!world.disk.paths().iter().any(|path| path.contains("tmp")));
    world.disk.set_capacity(u64::MAX);
    world.journal().try_reserve().unwrap();
    world.play(30).unwrap();
    world.power_loss(Loss::All, None);
}

#[test]
fn an_entry_larger_than_a_segment_gets_one_of_its_size() {
    let mut world = World::new(5);
    world.open().unwrap();
    world.play(20).unwrap();
    let mut batch = world.batch();
    batch.entries.truncate(0);
    let index = world.model.present().last_index().next();
    let term = world.model.present().hard_state.term;
    let data = vec![5; 3 * config().segment_bytes as usize].into();
    batch = Batch {
        entries: vec![storage_raft_log::Entry {
            index,
            term,
            kind: storage_raft_log::EntryKind::Normal,
            data,
        }],
        ..Batch::default()
    };
    world.model.append(&batch);
    world.journal().append(&batch).unwrap();
    world.flush().unwrap();
    world.power_loss(Loss::All, None);
    world.play(30).unwrap();
    world.power_loss(Loss::Some, None);
}

#[test]
fn under_load_the_next_segment_is_ready_when_it_is_needed() {
    use sim_council::disk::SimDisk;
    use storage_raft_log::{Journal, JournalConfig};
    for flush_bytes in [1000, 10_000, 40_000] {
        let config = JournalConfig {
            segment_bytes: 1 << 20,
            first_segment_bytes: 1 << 18,
            reserve_bytes: 20_000,
            prepare_step_bytes: 20_000,
            ..config()
        };
        let (mut journal, _) = Journal::open(SimDisk::new(1), config).unwrap();
        let entry = |index| {
            let data = vec![1; flush_bytes].into();
            storage_raft_log::Entry {
                index,
                term: Term::ZERO,
                kind: storage_raft_log::EntryKind::Normal,
                data,
            }
        };
        let mut index = 0;
        while journal.stats().segments < 4 {
            index += 1;
            let made = journal.stats().zero_bytes_written;
            journal.append(&Batch { entries: vec![entry(LogIndex(index))], ..Batch::default() }).unwrap();
            journal.flush().unwrap();
            assert_eq!(journal.stats().zero_bytes_written, made, "entry {index} had to wait");
            journal.keep_ahead().unwrap();
        }
    }
}

/// The next segment is ready, but too small for what comes, and the disk has no room for a larger one.
#[test]
fn a_batch_for_which_the_ready_segment_is_too_small_meets_a_full_disk_as_any_other() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        world.open().unwrap();
        world.play(10).unwrap();
        while world.journal().prepare().unwrap() == Progress::More {}
        world.disk.set_capacity(world.disk.used());
        let state = world.model.present();
        let (index, term) = (state.last_index().next(), state.hard_state.term);
        let data = vec![5; 3 * config().segment_bytes as usize].into();
        let entry = storage_raft_log::Entry { index, term, kind: storage_raft_log::EntryKind::Normal, data };
        let large = Batch { entries: vec![entry], ..Batch::default() };
        assert_eq!(world.journal().append(&large), Err(AppendError::Full));
        assert_eq!(world.journal().space(), Space::Full, "nobody was told");
        assert_eq!(world.journal().try_reserve().unwrap(), Space::Full);
        world.disk.set_capacity(u64::MAX);
        assert_eq!(world.journal().try_reserve().unwrap(), Space::Plenty);
        world.model.append(&large);
        world.journal().append(&large).unwrap();
        world.flush().unwrap();
        world.power_loss(Loss::All, None);
    }
}

/// Whoever holds to what the journal says it has room for is never refused, however full the disk is.
#[test]
fn batches_within_the_room_that_was_told_are_never_refused() {
    let mut refused = 0;
    for seed in 0..60 {
        let mut world = World::new(seed);
        world.open().unwrap();
        world.disk.set_capacity(world.disk.used() + world.random.below(40_000));
        for _ in 0..200 {
            let mut left = world.journal().room();
            // Several are handed over on the strength of one figure.
            for _ in 0..3 {
                let batch = world.batch();
                let content = batch.entries.iter().map(|entry| entry.data.len()).sum();
                let bytes = storage_raft_log::log_bytes_max(batch.entries.len(), content);
                if batch.membership.is_some() || bytes > left {
                    break;
                }
                left -= bytes;
                world.journal().append(&batch).expect("there was said to be room");
                world.model.append(&batch);
            }
            world.flush().unwrap();
            world.journal().keep_ahead().unwrap();
            if world.journal().space() == Space::Full {
                refused += 1;
                break;
            }
        }
        world.power_loss(Loss::All, None);
    }
    assert!(refused > 30, "the disk was full only {refused} times");
}

/// Segments that are no larger than the reserve still take ordinary batches.
#[test]
fn segments_smaller_than_the_reserve_take_batches_until_the_disk_is_full() {
    use sim_council::disk::SimDisk;
    use storage_raft_log::{Journal, JournalConfig};
    let (segment_bytes, reserve_bytes) = (1 << 16, 1 << 20);
    let config =
        JournalConfig { segment_bytes, first_segment_bytes: segment_bytes, reserve_bytes, ..config() };
    let disk = SimDisk::new(1);
    let (mut journal, _) = Journal::open(disk.clone(), config).unwrap();
    disk.set_capacity(disk.used());
    let entry = |index| storage_raft_log::Entry {
        index,
        term: Term::ZERO,
        kind: storage_raft_log::EntryKind::Normal,
        data: vec![1; 900].into(),
    };
    let mut index = 0;
    while journal.space() == Space::Plenty {
        index += 1;
        journal.append(&Batch { entries: vec![entry(LogIndex(index))], ..Batch::default() }).unwrap();
        journal.flush().unwrap();
        journal.keep_ahead().unwrap();
    }
    assert!(journal.room() > 10_000, "what is under way finds no place");
    assert_eq!(journal.stats().segments, 1);
}
