//! Each invariant of the machine, over a disk in memory and a clock that does as it is told.

mod disk;
mod full;
mod snapshots;

use bytes::Bytes;
use consensus_raft::{LogIndex, Term};
use storage_raft_log::{Batch, Entry, EntryKind, JournalConfig, Membership, SnapshotMeta};

use self::disk::FakeDisk;
use super::*;

/// No batch of these tests is more than this.
const BATCH_BYTES: usize = 1_000;

struct Rig {
    disk: FakeDisk,
    executor: JournalExecutor<FakeDisk>,
    now_us: u64,
    /// Batches that were fed, each of one entry.
    batches: u64,
    /// What came of the steps and was not looked at.
    outputs: Vec<JournalOutput>,
    last: Next,
}

fn small() -> JournalConfig {
    JournalConfig {
        segment_bytes: 64 << 10,
        first_segment_bytes: 64 << 10,
        reserve_bytes: 8 << 10,
        ..JournalConfig::default()
    }
}

fn last_index(disk: &FakeDisk) -> LogIndex {
    Journal::open(disk.crashed(), small()).expect("what was flushed is whole").1.last_index
}

impl Rig {
    fn new() -> Self {
        Self::with_rate(u64::MAX)
    }

    fn with_rate(snapshot_bytes_per_second: u64) -> Self {
        let disk = FakeDisk::new();
        let (journal, _) = Journal::open(disk.clone(), small()).expect("a blank disk");
        let keep = KeepPolicy { snapshots: 1, entries: 0 };
        let config = ExecutorConfig { snapshot_bytes_per_second, chunks_per_read: 4, keep };
        let executor = JournalExecutor::new(journal, &config);
        let outputs = Vec::new();
        Self { disk, executor, now_us: 0, batches: 0, outputs, last: Next::Feed }
    }

    /// One that has made the next segment ready and rests.
    fn at_rest() -> Self {
        let mut rig = Self::new();
        rig.rest();
        rig.outputs.clear();
        rig
    }

    fn persist(&mut self) {
        self.persist_of(10);
    }

    fn persist_of(&mut self, bytes: usize) {
        self.batches += 1;
        let index = self.batches;
        let entry = Entry {
            index: LogIndex(index),
            term: Term(1),
            kind: EntryKind::Normal,
            data: Bytes::from(vec![7; bytes]),
        };
        let batch = Batch { entries: vec![entry], ..Batch::default() };
        self.feed(JournalRequest::Persist { number: index, batch, reserved: false, commands: 2 });
    }

    fn feed(&mut self, effect: JournalRequest) {
        self.executor.feed(effect);
    }

    fn chunk(&mut self, bytes: usize, hurry: bool) {
        self.feed(JournalRequest::SnapshotChunk { bytes: vec![1; bytes], hurry });
    }

    fn finish(&mut self, index: u64, replaces: bool) {
        let membership = Membership { voters: vec![base::MemberId(1)], ..Membership::default() };
        let meta =
            SnapshotMeta { index: LogIndex(index), term: Term(1), membership, ..SnapshotMeta::default() };
        self.feed(JournalRequest::SnapshotFinish { meta, replaces });
    }

    /// Takes one step. Every answer that a batch is durable is held to what a crash would leave.
    fn step(&mut self) -> Next {
        self.last = self.executor.step(self.now_us).expect("the disk is well");
        let new = self.outputs.len();
        self.outputs.append(self.executor.outputs());
        for output in &self.outputs[new..] {
            if let JournalOutput::Event(JournalEvent::Persisted { number }) = output {
                let kept = last_index(&self.disk);
                assert!(kept >= LogIndex(*number), "batch {number} is answered, and a crash leaves {kept}");
            }
        }
        self.last
    }

    /// Takes the steps of a turn. Gives what the driver does next.
    fn turn(&mut self) -> Next {
        while self.step() == Next::Step {}
        self.last
    }

    /// Goes on until there is nothing left to do, without any time to pass.
    fn rest(&mut self) -> Option<u64> {
        for _ in 0..1_000 {
            if let Next::Sleep { until_us } = self.step() {
                return until_us;
            }
        }
        panic!("it does not come to rest");
    }

    fn events(&self) -> impl Iterator<Item = &JournalEvent> {
        self.outputs.iter().filter_map(|output| match output {
            JournalOutput::Event(event) => Some(event),
            JournalOutput::Notice(_) => None,
        })
    }

    fn notices(&self) -> impl Iterator<Item = &JournalNotice> {
        self.outputs.iter().filter_map(|output| match output {
            JournalOutput::Event(_) => None,
            JournalOutput::Notice(notice) => Some(notice),
        })
    }

    /// The numbers of the batches that were answered.
    fn persisted(&self) -> Vec<u64> {
        let number = |event: &JournalEvent| match event {
            JournalEvent::Persisted { number } => Some(*number),
            _ => None,
        };
        self.events().filter_map(number).collect()
    }

    fn chunks_written(&self) -> usize {
        self.events().filter(|event| matches!(event, JournalEvent::SnapshotChunkWritten { .. })).count()
    }

    fn saved(&self) -> Vec<LogIndex> {
        let index = |event: &JournalEvent| match event {
            JournalEvent::SnapshotSaved { index } => Some(*index),
            _ => None,
        };
        self.events().filter_map(index).collect()
    }

    fn snapshots_failed(&self) -> usize {
        self.events().filter(|event| matches!(event, JournalEvent::SnapshotFailed(_))).count()
    }

    fn spaces(&self) -> Vec<Space> {
        let space = |event: &JournalEvent| match event {
            JournalEvent::Space(space) => Some(*space),
            _ => None,
        };
        self.events().filter_map(space).collect()
    }
}

#[test]
fn batches_that_wait_are_flushed_once_and_the_last_is_answered_once() {
    let mut rig = Rig::at_rest();
    let flushes = rig.disk.log_flushes();
    for _ in 0..50 {
        rig.persist();
    }
    rig.turn();
    assert_eq!((rig.persisted(), rig.disk.log_flushes() - flushes), (vec![50], 1));
}

#[test]
fn batches_are_appended_then_flushed_then_answered_each_in_a_step() {
    let mut rig = Rig::at_rest();
    rig.persist();
    let (operations, flushes) = (rig.disk.operations(), rig.disk.log_flushes());
    assert_eq!((rig.step(), rig.executor.is_flush_due()), (Next::Step, true));
    assert_eq!((rig.disk.operations(), rig.persisted()), (operations, vec![]));
    assert_eq!((rig.step(), rig.executor.is_flush_due()), (Next::Step, false));
    assert_eq!((rig.disk.log_flushes(), rig.persisted()), (flushes + 1, vec![]));
    assert_eq!((rig.step(), rig.persisted()), (Next::Step, vec![1]));
}

#[test]
fn batch_that_comes_while_others_are_flushed_is_answered_by_the_next_flush() {
    for step in 0..4 {
        let mut rig = Rig::at_rest();
        rig.persist();
        for _ in 0..step {
            rig.step();
        }
        rig.persist();
        rig.rest();
        let answered = if step == 0 { vec![2] } else { vec![1, 2] };
        assert_eq!(rig.persisted(), answered, "fed behind step {step}");
    }
}

#[test]
fn times_and_numbers_of_a_flush_are_told() {
    let mut rig = Rig::at_rest();
    (0..3).for_each(|_| rig.persist_of(100));
    rig.chunk(10, false);
    for _ in 0..4 {
        rig.now_us += 1_000;
        rig.step();
    }
    let told = rig.notices().find_map(|notice| match notice {
        JournalNotice::Flushed(flushed) => Some(*flushed),
        _ => None,
    });
    let expected = Flushed {
        waiting: 4,
        batches: 3,
        commands: 6,
        entries: 3,
        bytes: 300,
        began_us: 1_000,
        appended_us: 2_000,
        flushed_us: 3_000,
    };
    assert_eq!(told, Some(expected));
}

#[test]
fn failed_flush_answers_nothing_and_ends_the_machine() {
    let mut rig = Rig::at_rest();
    rig.persist();
    rig.turn();
    rig.outputs.clear();
    rig.disk.break_down();
    rig.persist();
    assert_eq!(rig.step(), Next::Step);
    let fault = rig.executor.step(0).expect_err("the flush fails");
    assert!(fault.to_string().contains("the disk is broken"), "{fault}");
    let operations = rig.disk.operations();
    for _ in 0..10 {
        assert_eq!(rig.executor.step(1_000_000), Err(fault.clone()));
    }
    assert!(rig.executor.outputs().is_empty());
    assert_eq!(rig.disk.operations(), operations, "nothing is tried again");
}

#[test]
fn machine_at_rest_leaves_the_disk_alone() {
    let mut rig = Rig::at_rest();
    let operations = rig.disk.operations();
    for _ in 0..10 {
        rig.now_us += 10_000_000;
        assert_eq!(rig.step(), Next::Sleep { until_us: None });
    }
    assert_eq!((rig.disk.operations(), rig.outputs.len()), (operations, 0));
}

#[test]
fn last_flush_is_noted_in_the_log_once_nothing_has_come_for_a_while() {
    let mut rig = Rig::at_rest();
    rig.persist();
    let until_us = rig.rest();
    let flushes = rig.disk.log_flushes();
    assert_eq!(until_us, Some(REST_US));
    // What comes meanwhile puts it off.
    rig.now_us = REST_US - 1;
    rig.feed(JournalRequest::MakeRoom { bytes: 1 });
    assert_eq!((rig.rest(), rig.disk.log_flushes()), (Some(2 * REST_US - 1), flushes));
    rig.now_us = 2 * REST_US - 1;
    assert_eq!((rig.rest(), rig.disk.log_flushes()), (None, flushes + 1));
    rig.now_us += 10 * REST_US;
    assert_eq!((rig.rest(), rig.disk.log_flushes()), (None, flushes + 1), "once");
}

#[test]
fn next_segment_is_prepared_a_step_a_turn_and_batches_come_between() {
    let mut rig = Rig::new();
    // Past the eighth of a segment from which on the next one is prepared.
    (0..20).for_each(|_| rig.persist_of(BATCH_BYTES));
    rig.turn();
    let prepared =
        |rig: &Rig| rig.notices().filter(|notice| matches!(notice, JournalNotice::Prepared)).count();
    for _ in 0..2 {
        let before = prepared(&rig);
        assert_eq!(rig.turn(), Next::Feed);
        assert_eq!(prepared(&rig), before + 1);
        rig.persist();
        rig.turn();
        assert_eq!(rig.persisted().last(), Some(&rig.batches));
    }
    rig.rest();
}

#[test]
fn room_is_told_at_the_start_and_with_each_answer() {
    let mut rig = Rig::new();
    rig.step();
    let rooms = |rig: &Rig| -> Vec<(u64, u64)> {
        let room = |event: &JournalEvent| match event {
            JournalEvent::Room { after, bytes } => Some((*after, *bytes)),
            _ => None,
        };
        rig.events().filter_map(room).collect()
    };
    let [(0, first)] = rooms(&rig)[..] else { panic!("{:?}", rooms(&rig)) };
    rig.persist_of(BATCH_BYTES);
    rig.turn();
    let (after, bytes) = rooms(&rig)[1];
    assert!(after == 1 && bytes + BATCH_BYTES as u64 <= first, "{after} {bytes} {first}");
}

#[test]
fn core_that_asks_for_room_is_answered_also_where_it_has_been_told() {
    let mut rig = Rig::at_rest();
    for _ in 0..2 {
        rig.outputs.clear();
        rig.feed(JournalRequest::MakeRoom { bytes: 1 });
        rig.turn();
        assert!(
            rig.events().any(|event| matches!(event, JournalEvent::Room { after: 0, bytes } if *bytes > 1))
        );
    }
}

#[test]
fn driver_may_stop_when_nothing_waits() {
    let mut rig = Rig::at_rest();
    assert!(rig.executor.is_drained());
    rig.persist();
    assert!(!rig.executor.is_drained());
    rig.turn();
    assert!(rig.executor.is_drained());
    let disk = rig.executor.close().expect("the disk is well");
    assert_eq!(last_index(&disk), LogIndex(1));
}
