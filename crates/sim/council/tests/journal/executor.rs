//! The machine that orders a journal's work, asked for things as a core would ask, on a disk that is full, crashes, or
//! fails at any moment. Whatever comes: what is answered stands for good, each thing is answered once and in time, and
//! nothing is forgotten or put off for ever.

use base::{LogIndex, MemberId, Term};
use consensus_replica::{JournalEvent, JournalRequest};
use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;
use consensus_replica::journal_executor::{
    ExecutorConfig, JournalExecutor, JournalNotice, JournalOutput, Next,
};
use sim_council::disk::{Loss, SimDisk};
use sim_council::random::{Random, seeds};
use storage_raft_log::{
    Batch, Entry, EntryKind, HardState, Journal, JournalConfig, KeepPolicy, Membership, SnapshotMeta, Space,
};

use crate::world::config;

const MOMENTS: usize = 400;
/// How long all may take when nothing is wrong any more, and how many steps.
const REST_US: u64 = 60_000_000;
const REST_STEPS: usize = 100_000;
/// A question that waits is answered within so many turns, however many batches come.
const TURNS_MAX: u32 = 12;
/// Chunks of a snapshot that a core sends before it hears of the first.
const CHUNKS_AHEAD: usize = 2;

fn of_segments() -> JournalConfig {
    JournalConfig {
        segment_bytes: 12 << 10,
        first_segment_bytes: 6 << 10,
        reserve_bytes: 2 << 10,
        ..config()
    }
}

/// A snapshot that is on its way.
struct Snapshot {
    index: LogIndex,
    replaces: bool,
    began_us: u64,
    /// Chunks still to be sent.
    left: u64,
    /// Those that were sent and not answered: their lengths, and whether they were in a hurry.
    unanswered: VecDeque<(u64, bool)>,
    /// Bytes that were answered, but for those in a hurry.
    answered_bytes: u64,
    finishing: bool,
}

struct World {
    random: Random,
    disk: SimDisk,
    executor: JournalExecutor<SimDisk>,
    rate: u64,
    now_us: u64,
    rests_until_us: Option<u64>,
    space: Space,
    /// The last entry of each batch that was fed and not answered, by number.
    unanswered: VecDeque<(u64, LogIndex)>,
    number: u64,
    last_index: LogIndex,
    /// The last entry of the last batch that was answered.
    durable_index: LogIndex,
    snapshot: Option<Snapshot>,
    saved_index: LogIndex,
    /// Chunks that were sent. No two are of the same length.
    chunks: u64,
    /// Those of snapshots that are over, which may still be answered.
    stale: BTreeSet<u64>,
    /// Since how many turns the machine was asked for room and did not answer.
    asked: Option<u32>,
    /// How many turns more the next step of a snapshot may take, on a disk that has room and with nothing to pace it.
    patience: u32,
    /// Flushes of batches that were told, and answers to batches.
    flushed: u64,
    answers: u64,
    /// A snapshot that was to replace the log failed: the core stops.
    over: bool,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let disk = SimDisk::new(random.number());
        let rate = [u64::MAX, 1_000_000, 20_000][random.below(3) as usize];
        let config = ExecutorConfig {
            snapshot_bytes_per_second: rate,
            chunks_per_read: 2,
            keep: KeepPolicy { snapshots: 1, entries: 0 },
        };
        let (journal, _) = Journal::open(disk.clone(), of_segments()).unwrap();
        Self {
            random,
            disk,
            executor: JournalExecutor::new(journal, &config),
            rate,
            now_us: 1_000,
            rests_until_us: None,
            space: Space::Plenty,
            unanswered: VecDeque::new(),
            number: 0,
            last_index: LogIndex::ZERO,
            durable_index: LogIndex::ZERO,
            snapshot: None,
            saved_index: LogIndex::ZERO,
            chunks: 0,
            stale: BTreeSet::new(),
            asked: None,
            patience: TURNS_MAX,
            flushed: 0,
            answers: 0,
            over: false,
        }
    }

    fn feed(&mut self, effect: JournalRequest) {
        self.executor.feed(effect);
        self.rests_until_us = None;
    }

    fn persist(&mut self) {
        let count = self.random.below(4);
        let entries: Vec<_> = (1..=count)
            .map(|place| Entry {
                index: self.last_index.plus(place),
                term: Term(1),
                kind: EntryKind::Normal,
                data: Bytes::from(vec![self.random.number() as u8; self.random.below(700) as usize]),
            })
            .collect();
        self.last_index = self.last_index.plus(count);
        self.number += 1;
        self.unanswered.push_back((self.number, self.last_index));
        let hard_state =
            HardState { term: Term(1), vote: Some(base::MemberId(1)), commit: self.durable_index };
        let batch = Batch { hard_state: Some(hard_state), entries, ..Batch::default() };
        let reserved = self.space == Space::Full;
        self.feed(JournalRequest::Persist { number: self.number, batch, reserved, commands: count });
    }

    /// The next step of a snapshot.
    fn snapshot(&mut self) {
        let Some(mut snapshot) = self.snapshot.take() else { return self.begin_snapshot() };
        if snapshot.finishing || snapshot.unanswered.len() >= CHUNKS_AHEAD {
            self.snapshot = Some(snapshot);
            return;
        }
        if snapshot.left > 0 {
            snapshot.left -= 1;
            self.chunks += 1;
            let (length, hurry) = (500 + self.chunks, self.random.chance(10));
            snapshot.unanswered.push_back((length, hurry));
            self.snapshot = Some(snapshot);
            return self.feed(JournalRequest::SnapshotChunk { bytes: vec![7; length as usize], hurry });
        }
        snapshot.finishing = true;
        let (index, replaces) = (snapshot.index, snapshot.replaces);
        if replaces {
            self.last_index = index;
        }
        self.snapshot = Some(snapshot);
        let membership = Membership { voters: vec![base::MemberId(1)], ..Membership::default() };
        let meta = SnapshotMeta { index, term: Term(1), membership, ..SnapshotMeta::default() };
        self.feed(JournalRequest::SnapshotFinish { meta, replaces });
    }

    fn begin_snapshot(&mut self) {
        let replaces = self.random.chance(20);
        let index = if replaces { self.last_index.plus(1_000) } else { self.durable_index };
        if index <= self.saved_index {
            return;
        }
        self.snapshot = Some(Snapshot {
            index,
            replaces,
            began_us: self.now_us,
            left: self.random.below(6),
            unanswered: VecDeque::new(),
            answered_bytes: 0,
            finishing: false,
        });
        self.feed(JournalRequest::SnapshotBegin);
    }

    /// Takes a step, unless it rests. False when the disk has failed.
    fn step(&mut self) -> bool {
        if self.rests_until_us.is_some_and(|until_us| self.now_us < until_us) {
            return true;
        }
        let next = self.executor.step(self.now_us);
        let outputs = std::mem::take(self.executor.outputs());
        outputs.into_iter().for_each(|output| self.heed(output));
        match next {
            Err(_) => return false,
            Ok(Next::Step) => {}
            Ok(Next::Feed) => self.end_turn(),
            Ok(Next::Sleep { until_us }) => {
                self.end_turn();
                assert!(until_us.is_none_or(|until_us| until_us > self.now_us), "it would never sleep");
                let waits = !self.unanswered.is_empty() || self.asked.is_some();
                assert!(!waits || self.space == Space::Full || self.over, "it forgets what waits");
                self.rests_until_us = Some(until_us.unwrap_or(u64::MAX));
            }
        }
        true
    }

    fn end_turn(&mut self) {
        let waits = |snapshot: &Snapshot| snapshot.finishing || !snapshot.unanswered.is_empty();
        let is_held_up = self.space == Space::Full || self.rate != u64::MAX || self.over;
        if is_held_up || !self.snapshot.as_ref().is_some_and(waits) {
            self.patience = TURNS_MAX;
        } else {
            assert!(self.patience > 0, "batches starve a snapshot");
            self.patience -= 1;
        }
        if let Some(turns) = &mut self.asked {
            *turns += 1;
            assert!(*turns <= TURNS_MAX || self.over, "batches starve all else");
        }
    }

    fn heed(&mut self, output: JournalOutput) {
        match output {
            JournalOutput::Event(event) => self.hear(event),
            JournalOutput::Notice(JournalNotice::Flushed(flushed)) => {
                assert!(flushed.batches > 0 && flushed.began_us <= flushed.appended_us);
                assert!(flushed.appended_us <= flushed.flushed_us);
                self.flushed += 1;
            }
            JournalOutput::Notice(_) => {}
        }
    }

    fn hear(&mut self, event: JournalEvent) {
        match event {
            JournalEvent::Persisted { number } => self.hear_persisted(number),
            JournalEvent::Room { .. } => self.asked = None,
            JournalEvent::Space(space) => {
                assert_ne!(self.space, space, "told twice");
                (self.space, self.asked) = (space, None);
            }
            JournalEvent::SnapshotChunkWritten { bytes } => self.hear_chunk(bytes),
            JournalEvent::SnapshotSaved { index } => {
                let snapshot = self.snapshot.take().expect("one is on its way");
                assert!(snapshot.finishing && snapshot.index == index);
                self.stale.extend(snapshot.unanswered.iter().map(|(length, _)| *length));
                self.saved_index = index;
                let (journal, _) = self.after_crash();
                assert_eq!(journal.newest_snapshot().map(|meta| meta.index), Some(index));
            }
            JournalEvent::SnapshotFailed(reason) => {
                let snapshot = self.snapshot.take().unwrap_or_else(|| panic!("none is on its way: {reason}"));
                // Those that were written before are answered, the others never.
                self.stale.extend(snapshot.unanswered.iter().map(|(length, _)| *length));
                self.over |= snapshot.replaces && snapshot.finishing;
            }
            JournalEvent::SnapshotRead { .. } => {}
        }
    }

    fn hear_persisted(&mut self, number: u64) {
        self.answers += 1;
        let (first, _) = *self.unanswered.front().expect("what was answered waited");
        assert!(first <= number, "batch {number} is answered twice");
        while let Some((_, index)) = self.unanswered.pop_front_if(|(waits, _)| *waits <= number) {
            self.durable_index = index;
        }
        let (_, kept) = self.after_crash();
        assert!(
            kept >= self.durable_index,
            "batch {number} up to {} is answered, and a crash leaves {kept}",
            self.durable_index
        );
    }

    fn hear_chunk(&mut self, bytes: u64) {
        if self.stale.remove(&bytes) {
            return;
        }
        let snapshot = self.snapshot.as_mut().expect("a chunk is answered once");
        let (length, hurry) = snapshot.unanswered.pop_front().expect("a chunk is answered once");
        assert_eq!(length, bytes, "in order, each once");
        snapshot.answered_bytes += if hurry { 0 } else { length };
        self.patience = TURNS_MAX;
        let took_us = (self.now_us - snapshot.began_us) as u128;
        let least_us = u128::from(snapshot.answered_bytes) * 1_000_000 / u128::from(self.rate);
        assert!(took_us + 1_000 >= least_us, "faster than the rate");
    }

    /// What a crash would leave that loses all that was not flushed.
    fn after_crash(&mut self) -> (Journal<SimDisk>, LogIndex) {
        let disk = self.disk.fork(0);
        disk.repair();
        disk.crash(Loss::All);
        let (journal, recovered) = Journal::open(disk, of_segments()).expect("what was flushed is whole");
        let last =
            recovered.last_index.max(journal.newest_snapshot().map_or(LogIndex::ZERO, |meta| meta.index));
        (journal, last)
    }

    /// Something happens. False when the disk has failed.
    fn moment(&mut self) -> bool {
        match self.random.below(100) {
            0..30 => self.persist(),
            30..45 => self.snapshot(),
            // A core that knows of no room waits until it is told of some.
            45..47 if self.asked.is_none() && self.space == Space::Plenty => {
                self.asked = Some(0);
                let bytes = 1 + self.random.below(3_000);
                self.patience += 1;
                self.feed(JournalRequest::MakeRoom { bytes });
            }
            47..49 => {
                let (peer, index) = (MemberId(2), self.saved_index);
                self.patience += 1;
                self.feed(JournalRequest::SnapshotRead { peer, index, first: 0 });
            }
            49..51 => {
                self.disk.set_capacity(self.disk.used() + self.random.below(10_000));
                self.disk.copy_on_write(self.random.chance(30));
            }
            51..54 => self.disk.repair(),
            54..60 => self.now_us += [10, 1_000, 60_000, 700_000][self.random.below(4) as usize],
            _ => return self.step(),
        }
        true
    }

    /// Nothing is wrong any more: everything is done.
    fn rest(&mut self) {
        self.disk.repair();
        self.asked = None;
        let until_us = self.now_us + REST_US;
        for _ in 0..REST_STEPS {
            match self.rests_until_us {
                Some(rests_us) if rests_us > until_us => break,
                Some(rests_us) => self.now_us = self.now_us.max(rests_us),
                None => {}
            }
            assert!(self.step(), "the disk is well");
        }
        if self.over {
            return;
        }
        assert!(self.rests_until_us.is_some(), "it never rests");
        assert!(self.unanswered.is_empty(), "forgotten: {:?}", self.unanswered);
        assert_eq!(self.space, Space::Plenty, "there is room, and the core does not know");
        if let Some(snapshot) = &self.snapshot {
            assert!(!snapshot.finishing, "a snapshot is forgotten");
            assert!(snapshot.unanswered.is_empty(), "a chunk is forgotten");
        }
        let (_, kept) = self.after_crash();
        assert!(kept >= self.last_index);
    }
}

#[test]
fn journal_executor_keeps_what_it_answers_and_answers_everything_once_whatever_the_disk_does() {
    let (mut flushed, mut answers) = (0, 0);
    for seed in seeds(200) {
        let mut world = World::new(seed);
        let goes_on = (0..MOMENTS).all(|_| !world.over && world.moment());
        if goes_on {
            world.rest();
        }
        (flushed, answers) = (flushed + world.flushed, answers + world.answers);
        // A batch that waited for room may be answered without a flush of its own.
        assert!(world.flushed <= world.answers, "seed {seed}");
    }
    assert!(answers - flushed < answers / 10, "most answers are of a flush: {flushed} of {answers}");
}

#[test]
fn journal_executor_answers_nothing_that_a_crash_takes_away() {
    for seed in seeds(200) {
        let mut world = World::new(seed);
        let (moments, operations) = (world.random.below(MOMENTS as u64), world.random.below(200));
        match world.random.below(3) {
            0 => world.disk.crash_at(world.disk.operations() + operations),
            1 => world.disk.fail_flush(world.disk.flushes() + 1 + operations / 4),
            _ => {}
        }
        let _ = (0..moments).all(|_| !world.over && world.moment());
        let loss = [Loss::All, Loss::Nothing, Loss::Some][world.random.below(3) as usize];
        world.disk.crash(loss);
        world.disk.repair();
        let (journal, recovered) = Journal::open(world.disk.clone(), of_segments()).unwrap();
        let newest = journal.newest_snapshot().map_or(LogIndex::ZERO, |meta| meta.index);
        assert!(
            recovered.last_index.max(newest) >= world.durable_index,
            "seed {seed}: an answer is taken back"
        );
        assert!(newest >= world.saved_index, "seed {seed}: a snapshot is taken back");
    }
}
