use base::{LogIndex, Term};
use std::collections::VecDeque;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use storage_raft_log::{Batch, Entry, EntryKind, JournalConfig, KeepPolicy, Membership, SnapshotMeta};

use super::*;
use crate::test_support::MemoryDisk;

struct Rig {
    disk: MemoryDisk,
    mail: Arc<Mailbox<JournalMail>>,
    answers: Arc<Mailbox<JournalEvent>>,
    waker: Arc<ThreadWaker>,
    journal: Arc<SharedJournal<MemoryDisk>>,
    metrics: Arc<JournalCounters>,
    thread: JoinHandle<Result<MemoryDisk, Fault>>,
    persisted: u64,
    unread: VecDeque<JournalEvent>,
}

fn settings(snapshot_bytes_per_second: u64) -> JournalSettings {
    JournalSettings {
        log_directory: PathBuf::from("/"),
        executor: ExecutorConfig {
            snapshot_bytes_per_second,
            chunks_per_read: CHUNKS_PER_READ,
            keep: KeepPolicy::default(),
        },
        flush_warning: Duration::from_secs(60),
    }
}

impl Rig {
    fn new(snapshot_bytes_per_second: u64) -> Self {
        let disk = MemoryDisk::default();
        let config = JournalConfig {
            segment_bytes: 64 << 10,
            first_segment_bytes: 64 << 10,
            reserve_bytes: 8 << 10,
            ..JournalConfig::default()
        };
        let (journal, _) = Journal::open(disk.clone(), config).expect("a journal");
        let (waker, own) = (ThreadWaker::of_parking(), ThreadWaker::of_parking());
        let mail = Arc::new(Mailbox::new(Arc::clone(&waker)));
        let answers = Arc::new(Mailbox::new(Arc::clone(&own)));
        let metrics = Arc::new(JournalCounters::default());
        let links = JournalLinks {
            mail: Arc::clone(&mail),
            waker,
            answers: Arc::clone(&answers),
            metrics: Arc::clone(&metrics),
            snapshots: None,
        };
        let journal = SharedJournal::new(journal, settings(snapshot_bytes_per_second), links, Clock::start());
        let lent = Arc::clone(&journal);
        let thread = thread::spawn(move || lent.run());
        Self {
            disk,
            mail,
            answers,
            waker: own,
            journal,
            metrics,
            thread,
            persisted: 0,
            unread: VecDeque::new(),
        }
    }

    fn persist(&mut self, bytes: usize) {
        self.persisted += 1;
        let index = self.persisted;
        let data = Bytes::from(vec![7; bytes]);
        let entries = vec![Entry { index: LogIndex(index), term: Term(1), kind: EntryKind::Normal, data }];
        let batch = Batch { entries, ..Batch::default() };
        self.effect(JournalRequest::Persist { number: index, batch, reserved: false, commands: 1 });
    }

    /// As the core's thread does with a lone write; whether it was flushed here, and what was answered.
    fn flush_here(&mut self) -> Result<(bool, Vec<JournalEvent>), Fault> {
        self.persisted += 1;
        let index = self.persisted;
        let entry =
            Entry { index: LogIndex(index), term: Term(1), kind: EntryKind::Normal, data: Bytes::new() };
        let batch = Batch { entries: vec![entry], ..Batch::default() };
        let request = JournalRequest::Persist { number: index, batch, reserved: false, commands: 1 };
        assert!(request.is_small_batch());
        self.mail.put_all_quietly_at(&mut vec![JournalMail::Effect(request)], 0);
        let here = self.journal.flush_here()?;
        let mut answers = Vec::new();
        self.answers.take_all(&mut answers);
        Ok((here, answers))
    }

    fn effect(&self, effect: JournalRequest) {
        self.mail.put(JournalMail::Effect(effect));
    }

    /// Waits for the answer that `is_it` knows; false when the thread ends without it.
    fn answer(&mut self, mut is_it: impl FnMut(&JournalEvent) -> bool) -> bool {
        loop {
            let ended = self.thread.is_finished();
            let mut answers = Vec::new();
            self.answers.take_all(&mut answers);
            self.unread.extend(answers);
            while let Some(answer) = self.unread.pop_front() {
                if is_it(&answer) {
                    return true;
                }
            }
            if ended {
                return false;
            }
            self.waker.park(Some(Duration::from_millis(20)), || !self.answers.is_empty());
        }
    }

    fn stop(self) -> Result<MemoryDisk, Fault> {
        self.mail.put(JournalMail::Stop);
        self.thread.join().expect("no panic")
    }
}

#[test]
fn everything_that_waits_is_flushed_and_the_last_is_answered() {
    let mut rig = Rig::new(1 << 30);
    for _ in 0..500 {
        rig.persist(100);
    }
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: 500 })));
    let flushes = rig.metrics.flush_us.snapshot().count;
    assert!(flushes <= 500, "{flushes}");
    let disk = rig.stop().expect("a clean end");
    let (_, recovered) = Journal::open(disk, JournalConfig::default()).expect("reopened");
    assert_eq!(recovered.last_index, LogIndex(500));
}

#[test]
fn a_failed_flush_ends_the_thread_with_the_fault() {
    let mut rig = Rig::new(1 << 30);
    rig.persist(10);
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: 1 })));
    rig.disk.switches.broken.store(true, std::sync::atomic::Ordering::SeqCst);
    rig.persist(10);
    assert!(!rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: 2 })));
    let fault = rig.stop().err().expect("a fault");
    assert!(fault.to_string().contains("the disk is broken"), "{fault}");
}

#[test]
fn a_full_disk_is_told_before_anything_is_refused_and_told_again_when_there_is_room() {
    let mut rig = Rig::new(1 << 30);
    rig.disk.switches.full.store(true, std::sync::atomic::Ordering::SeqCst);
    let mut told = false;
    while !told {
        rig.persist(1000);
        let number = rig.persisted;
        assert!(rig.answer(|answer| match answer {
            JournalEvent::Space(space) => {
                told = *space == Space::Full;
                false
            }
            JournalEvent::Persisted { number: done } => *done == number,
            _ => false,
        }));
    }
    assert!(rig.metrics.is_full());
    // What is under way when it is told still finds its place.
    rig.persist(1000);
    let number = rig.persisted;
    assert!(
        rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: done } if *done == number))
    );
    rig.disk.switches.full.store(false, std::sync::atomic::Ordering::SeqCst);
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Space(Space::Plenty))));
    assert!(rig.stop().is_ok());
}

#[test]
fn a_stop_does_not_wait_for_room() {
    let mut rig = Rig::new(1 << 30);
    rig.disk.switches.full.store(true, std::sync::atomic::Ordering::SeqCst);
    for _ in 0..200 {
        rig.persist(1000);
    }
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Space(Space::Full))));
    assert!(rig.stop().is_ok());
}

#[test]
fn chunks_of_a_snapshot_are_answered_no_faster_than_the_rate_and_not_before_writes() {
    let mut rig = Rig::new(100_000);
    rig.persist(100);
    rig.effect(JournalRequest::SnapshotBegin);
    let began = Clock::start();
    for _ in 0..2 {
        rig.effect(JournalRequest::SnapshotChunk { bytes: vec![1; 10_000], hurry: false });
    }
    rig.persist(100);
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: 2 })));
    let mut written = 0;
    assert!(rig.answer(|answer| {
        written += u32::from(matches!(answer, JournalEvent::SnapshotChunkWritten { .. }));
        written == 2
    }));
    assert!(began.mono_us() >= 200_000, "20,000 bytes take 0.2 s at 100,000 a second");
    let meta = SnapshotMeta {
        index: LogIndex(1),
        term: Term(1),
        membership: Membership::default(),
        ..SnapshotMeta::default()
    };
    rig.effect(JournalRequest::SnapshotFinish { meta, replaces: false });
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::SnapshotSaved { index: LogIndex(1) })));
    assert!(rig.stop().is_ok());
}

#[test]
fn a_write_that_finds_no_room_in_place_is_answered_once_there_is_room() {
    let mut rig = Rig::new(1 << 30);
    rig.persist(100);
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: 1 })));
    rig.disk.switches.write_full.store(true, std::sync::atomic::Ordering::SeqCst);
    rig.persist(100);
    assert!(rig.answer(|answer| {
        assert!(!matches!(answer, JournalEvent::Persisted { .. }), "it is not durable");
        matches!(answer, JournalEvent::Space(Space::Full))
    }));
    rig.persist(100);
    rig.disk.switches.write_full.store(false, std::sync::atomic::Ordering::SeqCst);
    let mut persisted = 0;
    assert!(rig.answer(|answer| {
        if let JournalEvent::Persisted { number } = answer {
            persisted = *number;
        }
        matches!(answer, JournalEvent::Space(Space::Plenty))
    }));
    assert!(persisted >= 2, "{persisted}");
    assert!(persisted == 3 || rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: 3 })));
    let disk = rig.stop().expect("a clean end");
    let (_, recovered) = Journal::open(disk, JournalConfig::default()).expect("reopened");
    assert_eq!(recovered.last_index, LogIndex(3));
}

#[test]
fn a_stop_with_no_room_in_place_keeps_what_was_answered() {
    let mut rig = Rig::new(1 << 30);
    rig.persist(100);
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Persisted { number: 1 })));
    let switches = Arc::clone(&rig.disk.switches);
    switches.write_full.store(true, std::sync::atomic::Ordering::SeqCst);
    rig.persist(100);
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Space(Space::Full))));
    let disk = rig.stop().expect("it is no fault");
    switches.write_full.store(false, std::sync::atomic::Ordering::SeqCst);
    let (_, recovered) = Journal::open(disk, JournalConfig::default()).expect("reopened");
    assert_eq!(recovered.last_index, LogIndex(1));
}

#[test]
fn without_a_descriptor_for_the_next_segment_writes_are_refused_and_come_back() {
    let mut rig = Rig::new(1 << 30);
    rig.disk.switches.no_descriptor.store(true, std::sync::atomic::Ordering::SeqCst);
    let mut told = false;
    while !told {
        rig.persist(1000);
        let number = rig.persisted;
        assert!(rig.answer(|answer| {
            told |= matches!(answer, JournalEvent::Space(Space::Full));
            matches!(answer, JournalEvent::Persisted { number: done } if *done == number)
        }));
    }
    rig.disk.switches.no_descriptor.store(false, std::sync::atomic::Ordering::SeqCst);
    assert!(rig.answer(|answer| matches!(answer, JournalEvent::Space(Space::Plenty))));
    assert!(rig.stop().is_ok());
}

#[test]
fn a_lone_write_is_durable_when_the_calling_thread_comes_back() {
    let mut rig = Rig::new(1 << 30);
    let (mut here, mut number) = (0, 0);
    // The journal's thread may have the journal for a moment.
    while here < 10 {
        let (done, answers) = rig.flush_here().expect("no fault");
        number += 1;
        if done {
            here += 1;
            let last = answers.iter().rev().find_map(|answer| match answer {
                JournalEvent::Persisted { number } => Some(*number),
                _ => None,
            });
            assert_eq!(last, Some(number));
        } else {
            rig.mail.wake();
            assert!(rig.answer(
                |answer| matches!(answer, JournalEvent::Persisted { number: done } if *done == number)
            ));
        }
    }
    let disk = rig.stop().expect("a clean end");
    let (_, recovered) = Journal::open(disk, JournalConfig::default()).expect("reopened");
    assert_eq!(recovered.last_index, LogIndex(number));
}

#[test]
fn a_flush_that_fails_on_the_calling_thread_is_its_fault_and_the_journals() {
    let mut rig = Rig::new(1 << 30);
    rig.disk.switches.broken.store(true, std::sync::atomic::Ordering::SeqCst);
    let fault = loop {
        match rig.flush_here() {
            Err(fault) => break fault,
            Ok((here, answers)) => {
                assert!(!here, "it is not durable");
                assert!(!answers.iter().any(|answer| matches!(answer, JournalEvent::Persisted { .. })));
            }
        }
    };
    assert!(fault.to_string().contains("the disk is broken"), "{fault}");
    assert!(rig.stop().is_err());
}
