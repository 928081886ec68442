//! Snapshots beside batches: neither starves the other, chunks are paced, failures are told once.

use super::*;
use consensus_raft::{LogIndex, MemberId};

#[test]
fn each_turn_flushes_what_waits_and_does_one_step_of_a_snapshot() {
    let mut rig = Rig::at_rest();
    rig.feed(JournalRequest::SnapshotBegin);
    (0..5).for_each(|_| rig.chunk(100, false));
    for turn in 0..6 {
        rig.persist();
        rig.turn();
        assert_eq!(rig.persisted().last(), Some(&rig.batches), "turn {turn}");
        assert_eq!(rig.chunks_written(), turn, "the first turn begins the snapshot");
    }
}

#[test]
fn batches_overtake_steps_of_a_snapshot() {
    let mut rig = Rig::at_rest();
    rig.persist();
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(100, false);
    rig.persist();
    rig.finish(1, false);
    rig.persist();
    rig.turn();
    assert_eq!((rig.persisted(), rig.chunks_written()), (vec![3], 0), "one flush covers all of them");
    rig.rest();
    assert_eq!((rig.chunks_written(), rig.saved()), (1, vec![LogIndex(1)]));
}

#[test]
fn batches_behind_a_snapshot_that_replaces_the_log_wait_until_it_is_saved() {
    let mut rig = Rig::at_rest();
    rig.persist();
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(100, false);
    rig.persist();
    rig.finish(100, true);
    // It would not follow the log as it is.
    rig.batches = 100;
    rig.persist();
    while rig.saved().is_empty() {
        assert_ne!(rig.turn(), Next::Sleep { until_us: None });
        assert!(rig.persisted().iter().all(|number| *number <= 2));
    }
    rig.rest();
    assert_eq!(rig.persisted(), [2, 101]);
    assert_eq!(last_index(&rig.disk), LogIndex(101));
}

#[test]
fn snapshot_that_replaces_the_log_overtakes_no_batch() {
    let mut rig = Rig::at_rest();
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(100, false);
    rig.turn();
    // These come after the turn has looked for batches, and before it does other work.
    rig.persist();
    rig.step();
    rig.persist();
    rig.finish(100, true);
    rig.rest();
    assert_eq!((rig.persisted(), rig.saved()), (vec![1, 2], vec![LogIndex(100)]));
}

#[test]
fn chunks_are_answered_no_faster_than_the_rate() {
    let mut rig = Rig::with_rate(1_000_000);
    rig.feed(JournalRequest::SnapshotBegin);
    (0..2).for_each(|_| rig.chunk(10_000, false));
    assert_eq!((rig.rest(), rig.chunks_written()), (Some(10_000), 0));
    rig.now_us = 9_999;
    assert_eq!((rig.rest(), rig.chunks_written()), (Some(10_000), 0));
    rig.now_us = 10_000;
    assert_eq!((rig.rest(), rig.chunks_written()), (Some(20_000), 1));
    rig.now_us = 20_000;
    assert_eq!((rig.rest(), rig.chunks_written()), (None, 2), "each once");
    // In the meantime, batches are not held up.
    rig.chunk(10_000_000, false);
    rig.persist();
    rig.rest();
    assert_eq!((rig.persisted(), rig.chunks_written()), (vec![1], 2));
}

#[test]
fn time_of_a_chunk_counts_from_when_it_is_written() {
    let mut rig = Rig::with_rate(1_000_000);
    rig.feed(JournalRequest::SnapshotBegin);
    rig.turn();
    rig.chunk(10_000, false);
    while rig.step() == Next::Step {
        // The disk is slow.
        rig.now_us += 1_000_000;
    }
    assert_eq!(rig.rest(), Some(rig.now_us + 10_000));
}

#[test]
fn chunk_in_a_hurry_is_answered_at_once() {
    let mut rig = Rig::with_rate(1);
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(10_000, true);
    assert_eq!((rig.rest(), rig.chunks_written()), (None, 1));
}

#[test]
fn snapshot_that_fails_is_told_once_and_what_comes_of_it_is_passed_over() {
    let mut rig = Rig::at_rest();
    rig.persist();
    rig.rest();
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(100, false);
    rig.rest();
    assert_eq!(rig.chunks_written(), 1);
    rig.disk.leave_room(1_000);
    (0..3).for_each(|_| rig.chunk(5_000, false));
    rig.finish(1, false);
    rig.rest();
    assert_eq!((rig.snapshots_failed(), rig.chunks_written(), rig.saved()), (1, 1, vec![]));
    let told = |notice: &&JournalNotice| matches!(notice, JournalNotice::SnapshotFailed { .. });
    assert_eq!(rig.notices().filter(told).count(), 1);
    // The next one succeeds.
    rig.disk.leave_room(1 << 20);
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(5_000, false);
    rig.finish(1, false);
    rig.rest();
    assert_eq!((rig.snapshots_failed(), rig.saved()), (1, vec![LogIndex(1)]));
}

/// The core was told and will stop. What it has sent meanwhile has no place in this log.
#[test]
fn machine_halts_behind_a_snapshot_that_was_to_replace_the_log_and_failed() {
    let mut rig = Rig::at_rest();
    rig.persist();
    rig.rest();
    rig.disk.leave_room(1_000);
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(5_000, false);
    rig.finish(100, true);
    rig.batches = 100;
    rig.persist();
    assert_eq!(rig.rest(), None);
    rig.disk.leave_room(1 << 20);
    rig.now_us += 10_000_000;
    rig.persist();
    assert_eq!(rig.rest(), None);
    assert_eq!((rig.snapshots_failed(), rig.persisted(), rig.saved()), (1, vec![1], vec![]));
    assert!(rig.executor.is_drained());
    let disk = rig.executor.close().expect("the disk is well");
    assert_eq!(last_index(&disk), LogIndex(1));
}

#[test]
fn saved_snapshot_is_read_in_order_and_another_one_is_not_there() {
    let mut rig = Rig::at_rest();
    rig.persist();
    rig.feed(JournalRequest::SnapshotBegin);
    (0..6).for_each(|_| rig.chunk(100, false));
    rig.finish(1, false);
    for first in [0, 4] {
        rig.feed(JournalRequest::SnapshotRead { peer: MemberId(2), index: LogIndex(1), first });
    }
    rig.feed(JournalRequest::SnapshotRead { peer: MemberId(2), index: LogIndex(9), first: 0 });
    rig.rest();
    let read = |event: &JournalEvent| match event {
        JournalEvent::SnapshotRead { index, first, read, .. } => {
            let read = read.as_ref().map(|(chunks, end)| (chunks.len(), end.is_some()));
            Some((*index, *first, read))
        }
        _ => None,
    };
    let reads: Vec<_> = rig.events().filter_map(read).collect();
    assert_eq!(
        reads,
        [(LogIndex(1), 0, Some((4, false))), (LogIndex(1), 4, Some((2, true))), (LogIndex(9), 0, None)]
    );
}
