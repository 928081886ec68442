//! A full disk: what is proposed waits and is answered when it is durable, and what gives room goes on.

use super::*;
use consensus_raft::{LogIndex, MemberId};

/// Feeds batches until one finds no room. Gives its number.
fn fill(rig: &mut Rig) -> u64 {
    for _ in 0..1_000 {
        rig.persist_of(BATCH_BYTES);
        rig.rest();
        if rig.persisted().last() != Some(&rig.batches) {
            return rig.batches;
        }
    }
    panic!("there is always room");
}

#[test]
fn space_is_told_before_a_batch_finds_no_room_and_again_when_there_is_room() {
    let mut rig = Rig::at_rest();
    rig.disk.leave_room(0);
    while rig.spaces().is_empty() {
        rig.persist_of(BATCH_BYTES);
        rig.rest();
        assert_eq!(rig.persisted().last(), Some(&rig.batches));
    }
    assert_eq!(rig.spaces(), [Space::Full]);
    let shortage = rig.notices().find_map(|notice| match notice {
        JournalNotice::SpaceChanged { space: Space::Full, shortage } => shortage.clone(),
        _ => None,
    });
    assert!(shortage.is_some_and(|(fault, bytes)| fault.error == DiskError::Full && bytes > 0));
    rig.persist_of(BATCH_BYTES);
    rig.rest();
    assert_eq!(rig.persisted().last(), Some(&rig.batches), "what is under way finds its place");
    rig.disk.leave_room(1 << 20);
    rig.now_us += FULL_RETRY_US;
    rig.rest();
    assert_eq!(rig.spaces(), [Space::Full, Space::Plenty]);
    let told = rig.events().last();
    assert!(matches!(told, Some(JournalEvent::Room { .. })), "and how much: {told:?}");
}

#[test]
fn batch_without_room_waits_and_is_answered_when_it_is_flushed() {
    let mut rig = Rig::at_rest();
    rig.disk.leave_room(0);
    let refused = fill(&mut rig);
    // It is tried again from time to time, and what comes behind it waits, too.
    rig.persist_of(BATCH_BYTES);
    for _ in 0..3 {
        assert_eq!(rig.rest(), Some(rig.now_us + FULL_RETRY_US));
        rig.now_us += FULL_RETRY_US;
    }
    assert_eq!(rig.persisted().last(), Some(&(refused - 1)));
    assert!(rig.executor.is_drained(), "a stop does not wait for room");
    rig.disk.leave_room(1 << 20);
    rig.now_us += FULL_RETRY_US;
    rig.rest();
    assert_eq!(rig.persisted().last(), Some(&(refused + 1)));
    assert_eq!(last_index(&rig.disk), LogIndex(refused + 1));
}

#[test]
fn batch_that_finds_no_room_in_place_is_answered_once_it_is_flushed() {
    let mut rig = Rig::at_rest();
    rig.persist();
    rig.turn();
    rig.disk.fill_in_place(true);
    rig.persist();
    assert_eq!(rig.rest(), Some(rig.now_us + FULL_RETRY_US));
    assert_eq!((rig.persisted(), rig.spaces()), (vec![1], vec![Space::Full]));
    rig.disk.fill_in_place(false);
    rig.now_us += FULL_RETRY_US;
    rig.rest();
    assert_eq!((rig.persisted(), rig.spaces()), (vec![1, 2], vec![Space::Full, Space::Plenty]));
}

#[test]
fn batch_that_finds_no_room_in_place_is_answered_with_the_next_flush_that_succeeds() {
    let mut rig = Rig::at_rest();
    rig.disk.fill_in_place(true);
    rig.persist();
    rig.rest();
    rig.disk.fill_in_place(false);
    rig.persist();
    rig.turn();
    assert_eq!(rig.persisted(), [2]);
}

/// A snapshot that replaces the log flushes what was written before it.
#[test]
fn batch_that_became_durable_with_other_work_is_answered() {
    let mut rig = Rig::new();
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(100, false);
    while rig.chunks_written() == 0 {
        rig.turn();
    }
    rig.disk.fill_in_place(true);
    rig.persist();
    while rig.spaces().is_empty() {
        rig.step();
    }
    rig.disk.fill_in_place(false);
    rig.finish(100, true);
    while rig.saved().is_empty() {
        rig.step();
    }
    rig.rest();
    assert_eq!(rig.persisted(), [1]);
}

/// The log needs a whole segment, a snapshot much less: once it is saved, segments of the log are free.
#[test]
fn snapshot_goes_on_while_a_batch_waits_for_room_and_gives_it() {
    let mut rig = Rig::at_rest();
    // Two segments are in use, and there is no room for another one.
    while rig.batches < 80 {
        rig.persist_of(BATCH_BYTES);
        rig.rest();
    }
    rig.disk.leave_room(10_000);
    let refused = fill(&mut rig);
    rig.feed(JournalRequest::SnapshotBegin);
    (0..2).for_each(|_| rig.chunk(1_000, false));
    rig.finish(refused - 1, false);
    rig.feed(JournalRequest::SnapshotRead { peer: MemberId(2), index: LogIndex(refused - 1), first: 0 });
    rig.rest();
    assert_eq!(rig.saved(), [LogIndex(refused - 1)]);
    assert!(rig.events().any(|event| matches!(event, JournalEvent::SnapshotRead { read: Some(_), .. })));
    assert_eq!(rig.persisted().last(), Some(&refused), "without any room given from outside");
}

/// Its batches belong to the log that the snapshot replaces.
#[test]
fn snapshot_that_replaces_the_log_waits_behind_a_batch_without_room() {
    let mut rig = Rig::at_rest();
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(100, false);
    rig.rest();
    rig.disk.leave_room(2_000);
    let refused = fill(&mut rig);
    rig.finish(1_000, true);
    rig.rest();
    assert_eq!(rig.saved(), []);
    rig.disk.leave_room(1 << 20);
    rig.now_us += FULL_RETRY_US;
    rig.rest();
    assert_eq!((rig.persisted().last(), rig.saved()), (Some(&refused), vec![LogIndex(1_000)]));
}

#[test]
fn chunks_are_answered_while_a_batch_waits_for_room() {
    let mut rig = Rig::with_rate(1_000_000);
    rig.rest();
    rig.disk.leave_room(10_000);
    fill(&mut rig);
    rig.feed(JournalRequest::SnapshotBegin);
    rig.chunk(1_000, false);
    rig.rest();
    rig.now_us += FULL_RETRY_US;
    rig.rest();
    assert_eq!(rig.chunks_written(), 1);
}
