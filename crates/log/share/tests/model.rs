//! A share partition and its durable state beside a plain model: one entry for each record. Members take, say, are lost;
//! appends become durable late; the process dies at any record of the state's log and reads it again.

use std::collections::{BTreeMap, VecDeque};

use base::{Now, Random};
use log_coordinators::{Record, Seq, Ticket};
use log_share::{
    Acknowledgement, AcquireTerms, Fate, LogBatch, Release, ShareCoordinator, ShareKey, ShareLimits,
    SharePartition, ShareState, StateAnswer, StateEffect, StateRequest,
};

const RECORDS: i64 = 60;
const LIMITS: ShareLimits = ShareLimits {
    lock_ms: 50,
    delivery_count_max: 4,
    locks_max: 17,
    delayed_max: 0,
    has_dead_letters: false,
};

/// What the model knows of a record.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Who has it, and until when.
    owner: Option<(usize, u64)>,
    delivered: i16,
    /// Nobody may get it: it is accepted, rejected, or was delivered too often.
    finished: bool,
    /// The same, and a member was told so: a crash does not change it.
    finished_for_good: bool,
}

struct World {
    random: Random,
    ms: u64,
    log: Vec<Record>,
    /// Appends that are not durable: their number, records, and the records of the partition that they finish.
    appends: VecDeque<(Seq, Vec<Record>)>,
    coordinator: ShareCoordinator,
    partition: SharePartition,
    told: Vec<Told>,
    /// What each write finishes, when its answer comes.
    finishes: BTreeMap<Ticket, Vec<i64>>,
    ticket: u64,
    epoch: i32,
    delivered_after_crash: usize,
}

fn key() -> ShareKey {
    ShareKey { group: "g".into(), topic: [3; 16], partition: 0 }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut coordinator = ShareCoordinator::new(3);
        coordinator.loaded(Now::of_ms(0, 0));
        coordinator.handle(StateRequest::Initialize { key: key(), start: 0 }, Ticket(0));
        let mut world = Self {
            random: Random::new(seed),
            ms: 0,
            log: Vec::new(),
            appends: VecDeque::new(),
            coordinator,
            partition: SharePartition::new(&ShareState::new(0, 0), LIMITS),
            told: vec![Told::default(); usize::try_from(RECORDS).expect("it is small")],
            finishes: BTreeMap::new(),
            ticket: 0,
            epoch: 0,
            delivered_after_crash: 0,
        };
        world.take_effects();
        world.flush(usize::MAX);
        world
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random.number() % below
    }

    const fn now(&self) -> Now {
        Now::of_ms(self.ms, 0)
    }

    fn record(&mut self, offset: i64) -> &mut Told {
        &mut self.told[usize::try_from(offset).expect("it is small")]
    }

    /// Offsets that are multiples of 7 are markers.
    fn batches(from: i64) -> Vec<LogBatch> {
        let batches = (from..RECORDS.min(from + 9)).map(|offset| LogBatch {
            first: offset,
            last: offset,
            fate: if offset % 7 == 0 { Fate::Skipped } else { Fate::Delivered },
        });
        batches.collect()
    }

    fn acquire(&mut self) {
        let member = usize::try_from(self.draw(4)).expect("it is small");
        let Some(from) = self.partition.next_offset() else { return };
        let batches = Self::batches(from);
        let until = batches.last().map_or(from, |batch| batch.last + 1);
        let records_max = usize::try_from(1 + self.draw(8)).expect("it is small");
        let terms = AcquireTerms { records_max, is_strict: self.draw(2) == 0, batch_size: 3 };
        let name = format!("m{member}").into();
        let now = self.now();
        let acquired = self.partition.acquire(&name, (from, until), &batches, terms, now);
        for of in acquired {
            for offset in of.first..=of.last {
                let ms = self.ms;
                let told = self.record(offset);
                assert!(!told.finished && told.owner.is_none(), "{offset} is nobody's to take: {told:?}");
                told.delivered += 1;
                assert_eq!(of.delivery_count, told.delivered, "{offset}");
                told.owner = Some((member, ms + LIMITS.lock_ms));
            }
        }
    }

    fn acknowledge(&mut self) {
        let own: Vec<(i64, usize)> = (0..RECORDS)
            .filter_map(|offset| {
                Some((offset, self.told[usize::try_from(offset).expect("it is small")].owner?.0))
            })
            .collect();
        if own.is_empty() {
            return;
        }
        let at = usize::try_from(self.draw(own.len() as u64)).expect("it is small");
        let (first, member) = own[at];
        let mut last = first;
        while last + 1 < RECORDS && self.record(last + 1).owner.is_some_and(|(owner, _)| owner == member) {
            last += 1;
        }
        let kinds: Vec<i8> = (first..=last)
            .map(|_| [1, 1, 1, 2, 3, 4][usize::try_from(self.random.number() % 6).expect("it is small")])
            .collect();
        let of = Acknowledgement { first, last, types: kinds.clone() };
        let name = format!("m{member}");
        let now = self.now();
        self.partition.acknowledge(&name, &[of], true, now).expect("it has them");
        let mut finishes = Vec::new();
        for (offset, kind) in (first..=last).zip(kinds) {
            let ms = self.ms;
            let told = self.record(offset);
            match kind {
                4 => told.owner = Some((member, ms + LIMITS.lock_ms)),
                2 if told.delivered < 4 => told.owner = None,
                _ => {
                    (told.owner, told.finished) = (None, true);
                    finishes.push(offset);
                }
            }
        }
        self.write(finishes);
    }

    fn lose(&mut self) {
        let member = usize::try_from(self.draw(4)).expect("it is small");
        self.partition.release(&format!("m{member}"), Release::Lost);
        let mut finishes = Vec::new();
        for offset in 0..RECORDS {
            let told = self.record(offset);
            if told.owner.is_some_and(|(owner, _)| owner == member) {
                told.owner = None;
                told.finished = told.delivered >= 4;
                if told.finished {
                    finishes.push(offset);
                }
            }
        }
        self.write(finishes);
    }

    fn pass_time(&mut self) {
        self.ms += self.draw(30);
        let now = self.now();
        self.partition.tick(now);
        let mut finishes = Vec::new();
        for offset in 0..RECORDS {
            let ms = self.ms;
            let told = self.record(offset);
            if told.owner.is_some_and(|(_, until)| until <= ms) {
                told.owner = None;
                told.finished = told.delivered >= 4;
                if told.finished {
                    finishes.push(offset);
                }
            }
        }
        self.write(finishes);
    }

    fn write(&mut self, finishes: Vec<i64>) {
        let Some(update) = self.partition.take_update() else { return };
        self.ticket += 1;
        self.finishes.insert(Ticket(self.ticket), finishes);
        let (state_epoch, leader_epoch) = (0, self.epoch);
        let request = StateRequest::Write { key: key(), state_epoch, leader_epoch, update };
        self.coordinator.handle(request, Ticket(self.ticket));
        self.take_effects();
    }

    fn take_effects(&mut self) {
        for effect in self.coordinator.take_effects() {
            match effect {
                StateEffect::Append { seq, records } => self.appends.push_back((seq, records)),
                StateEffect::Confirm => {}
                StateEffect::Reply { ticket, answer: StateAnswer::Done } => {
                    for offset in self.finishes.remove(&ticket).unwrap_or_default() {
                        self.record(offset).finished_for_good = true;
                    }
                }
                StateEffect::Reply { .. } => {}
            }
        }
    }

    fn flush(&mut self, most: usize) {
        for _ in 0..most {
            let Some((seq, records)) = self.appends.pop_front() else { return };
            self.log.extend(records);
            let now = self.now();
            self.coordinator.persisted(seq, now);
            self.take_effects();
        }
    }

    /// The process ends. Some of what was on its way is in the log.
    fn crash(&mut self) {
        let survive = usize::try_from(self.draw(self.appends.len() as u64 + 1)).expect("it is small");
        let survivors: Vec<Record> = self.appends.drain(..survive).flat_map(|(_, records)| records).collect();
        self.log.extend(survivors);
        self.appends.clear();
        self.finishes.clear();
        let now = self.now();
        let mut coordinator = ShareCoordinator::new(3);
        for record in &self.log {
            coordinator.load(&record.key, record.value.as_deref()).expect("it was written here");
        }
        coordinator.loaded(now);
        self.epoch += 1;
        coordinator.handle(StateRequest::Read { key: key(), leader_epoch: self.epoch }, Ticket(u64::MAX));
        self.coordinator = coordinator;
        self.take_effects();
        self.flush(usize::MAX);
        let state = self.coordinator.states(None).next().expect("it is there").1.clone();
        self.partition = SharePartition::new(&state, LIMITS);
        self.reload(&state);
    }

    /// The model goes on with what the log says, which must hold all that was told.
    fn reload(&mut self, state: &ShareState) {
        let known: Vec<_> = state.batches().collect();
        for offset in 0..RECORDS {
            let batch = known.iter().find(|batch| (batch.first..=batch.last).contains(&offset)).copied();
            let told = self.record(offset);
            let is_finished = offset < state.start
                || batch.is_some_and(|batch| batch.state != log_share::DeliveryState::Available);
            assert!(is_finished || !told.finished_for_good, "{offset} comes back: {told:?}");
            assert!(!is_finished || told.finished || offset % 7 == 0, "{offset} is lost: {told:?}");
            let delivered = batch.map_or(0, |batch| batch.delivery_count);
            assert!(is_finished || delivered <= told.delivered, "{offset}: {delivered} of {told:?}");
            *told = Told {
                owner: None,
                delivered,
                finished: is_finished,
                finished_for_good: told.finished_for_good,
            };
        }
        self.delivered_after_crash += 1;
    }

    fn step(&mut self) {
        match self.draw(20) {
            0..=6 => self.acquire(),
            7..=12 => self.acknowledge(),
            13 => self.lose(),
            14..=15 => self.pass_time(),
            16 => self.crash(),
            _ => {
                let most = usize::try_from(self.draw(3)).expect("it is small");
                self.flush(most);
            }
        }
    }
}

#[test]
fn every_record_is_delivered_until_it_is_finished_and_then_never_again() {
    let mut crashes = 0;
    for seed in 0..300 {
        let mut world = World::new(seed);
        for _ in 0..200 {
            world.step();
        }
        // Then nothing goes wrong any more: all is delivered.
        for _ in 0..2_000 {
            world.acquire();
            world.acknowledge();
            world.ms += 10;
            world.pass_time();
            world.flush(usize::MAX);
        }
        for (offset, told) in world.told.iter().enumerate() {
            assert!(told.finished || offset % 7 == 0, "seed {seed}: {offset} was never finished: {told:?}");
        }
        assert_eq!(world.partition.start(), RECORDS, "seed {seed}");
        crashes += world.delivered_after_crash;
    }
    assert!(crashes > 1_000, "only {crashes} crashes");
}
