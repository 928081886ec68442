//! The broker, its disk, the network and the time, and what is checked all along.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::Random;
use kafka_protocol::messages::{FetchRequest, FetchResponse, OffsetFetchRequest, OffsetFetchResponse};
use log_broker::{BrokerConfig, InternalTopic};
use log_coordinators::TransactionLimits;
use net_event_loop::ConnId;

use super::super::client::find_coordinator;
use super::super::requests::{self, FETCH, GROUP, OFFSET_FETCH, TOPIC};
use super::super::{CONCURRENT, NOT_AVAILABLE, UNSTABLE};
use super::ask::{Answer, Ask};
use super::client::{Client, NAMES, Op};
use super::network::Network;
use super::oracle::{Attempt, Oracle, value};
use super::{COORDINATOR, IDS, LEADER, PARTITIONS};
use crate::bench::{Bench, ROOM, decoded, topic};

/// After so many epochs a producer id is used up: tests come to that sooner than clients do.
const EPOCH_MAX: i16 = 7;
const STORAGE_ERROR: i16 = 56;

/// See the module.
pub(crate) struct World {
    pub(crate) bench: Bench,
    pub(crate) random: Random,
    pub(crate) step: u64,
    pub(crate) oracle: Oracle,
    pub(crate) attempts: u64,
    pub(crate) counts: BTreeSet<&'static str>,
    network: Network,
    healed: bool,
    last_number: u64,
    values: u64,
    /// Requests that the broker has, and their connections.
    asked: BTreeMap<u64, (u32, Ask)>,
    answers: VecDeque<(u64, Answer)>,
    /// How many InitProducerIds of each id the broker was given, and which each of them was.
    inits: [u64; IDS],
    init_of: BTreeMap<u64, (usize, u64)>,
    /// Reads of offsets on their way: the id, and what was known to be committed when it was asked for.
    offset_reads: BTreeMap<u64, (usize, u64)>,
    /// Where the consumer of each partition stands, and the last stable offset that it was told.
    positions: [(i64, i64); PARTITIONS as usize],
    /// For each producer id: below which offset of each partition everything of epochs below that stands (L42).
    pub(super) fences: Vec<(i64, i16, Vec<i64>)>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let transactions =
            TransactionLimits { producer_epoch_max: EPOCH_MAX, ..TransactionLimits::default() };
        let config = BrokerConfig {
            offsets_topic: InternalTopic { partitions: 2, ..InternalTopic::default() },
            transactions_topic: InternalTopic { partitions: 2, ..InternalTopic::default() },
            transactions,
            seed,
            ..BrokerConfig::default()
        };
        let mut bench = Bench::serving_with(config, &[topic(TOPIC, 1, PARTITIONS as usize, 0)]);
        for (kind, key) in [(0, GROUP), (1, NAMES[0])] {
            bench.call(4, &find_coordinator(kind, key));
            bench.settle();
        }
        Self {
            bench,
            random: Random::new(seed),
            step: 0,
            oracle: Oracle::default(),
            attempts: 0,
            counts: BTreeSet::new(),
            network: Network::default(),
            healed: false,
            last_number: 0,
            values: 0,
            asked: BTreeMap::new(),
            answers: VecDeque::new(),
            inits: [0; IDS],
            init_of: BTreeMap::new(),
            offset_reads: BTreeMap::new(),
            positions: [(0, 0); PARTITIONS as usize],
            fences: Vec::new(),
        }
    }

    pub(crate) fn begin_attempt(&mut self, id: usize) -> u64 {
        self.attempts += 1;
        self.oracle.attempts.insert(self.attempts, Attempt { id, ..Attempt::default() });
        self.attempts
    }

    pub(crate) fn new_values(&mut self, attempt: u64, partition: i32, count: u64) -> Vec<String> {
        let values = (0..count).map(|_| {
            self.values += 1;
            let value = value(attempt, self.values);
            self.oracle.attempt(attempt).sent.push((partition, value.clone()));
            value
        });
        values.collect()
    }

    /// Which InitProducerId of its id this was.
    pub(crate) fn init_of(&self, number: u64) -> u64 {
        self.init_of[&number].1
    }

    pub(crate) const fn last_init(&self, id: usize) -> u64 {
        self.inits[id]
    }

    /// Sends what is not acknowledged of the present step, in order.
    pub(crate) fn send_records(&mut self, client: &mut Client) {
        for at in 0..client.records.len() {
            if !client.records[at].acked {
                let ask = client.ask_record(&client.records[at]);
                client.records[at].request = Some(self.send(client, LEADER, ask));
            }
        }
    }

    pub(crate) fn send_step(&mut self, client: &mut Client, op: Op) {
        if let (Op::End(true), Some(attempt)) = (op, client.attempt) {
            self.oracle.attempt(attempt).commit_sent = true;
        }
        let ask = client.ask(op);
        client.waits = Some(self.send(client, COORDINATOR, ask));
    }

    /// Sends a request by one of the client's connections.
    pub(crate) fn send(&mut self, client: &mut Client, way: usize, ask: Ask) -> u64 {
        self.last_number += 1;
        let number = self.last_number;
        if client.connections[way].is_none_or(|connection| !self.network.is_open(connection)) {
            client.connections[way] = Some(self.network.connect());
        }
        if matches!(ask, Ask::Init(_)) {
            self.init_of.insert(number, (client.id, 0));
        }
        let connection = client.connections[way].expect("it is open");
        let due = self.step + self.delay();
        self.network.send(connection, number, ask, due);
        number
    }

    /// Most requests arrive at once, some late, and a few when nobody waits any more.
    fn delay(&mut self) -> u64 {
        match self.random.below(20) {
            _ if self.healed => 0,
            0 => self.random.below(120),
            1..=4 => self.random.below(8),
            _ => 0,
        }
    }

    /// The broker gets what has arrived.
    pub(crate) fn deliver(&mut self) {
        while let Some((connection, sent)) = self.network.next_due(self.step, &mut self.random) {
            let number = sent.number;
            if let Some((id, init)) = self.init_of.get_mut(&number) {
                self.inits[*id] += 1;
                *init = self.inits[*id];
            }
            self.bench.conn = connection;
            match sent.ask.deliver(&mut self.bench, number) {
                Some(answer) => self.answered(number, &sent.ask, answer),
                None => {
                    if self.bench.blocks(number) {
                        self.network.block(connection, number);
                        if matches!(sent.ask, Ask::Produce(..)) {
                            self.counts.insert("the next one waited");
                        }
                    }
                    self.asked.insert(number, (connection, sent.ask));
                }
            }
        }
    }

    fn answered(&mut self, number: u64, ask: &Ask, answer: Answer) {
        if matches!((ask, answer.code), (Ask::Init(_), 0)) {
            let ends = (0..PARTITIONS).map(|partition| self.high_watermark(partition)).collect();
            self.fences.push((answer.producer.0, answer.producer.1, ends));
        }
        let is_lost = !self.healed && self.random.chance(4);
        if !is_lost {
            self.answers.push_back((number, answer));
        }
    }

    pub(crate) fn next_answer(&mut self) -> Option<(u64, Answer)> {
        self.answers.pop_front()
    }

    pub(crate) fn retried(&mut self, code: i16) {
        match code {
            CONCURRENT => self.counts.insert("the transaction before was ending"),
            STORAGE_ERROR | NOT_AVAILABLE => self.counts.insert("a full disk refused"),
            _ => false,
        };
    }

    /// The disk and the council go on by some steps.
    pub(crate) fn work(&mut self) {
        self.bench.serve_council();
        self.bench.take();
        let durable = self.bench.disk.durable();
        let left = self.bench.disk.given - durable;
        if self.healed {
            self.bench.flush();
        } else if left > 0 && self.random.chance(60) {
            let more = 1 + self.random.below(left);
            self.bench.durable(durable + more);
        }
        if self.healed || self.random.chance(50) {
            self.bench.load();
        }
        self.gather();
    }

    fn gather(&mut self) {
        for (number, body) in self.bench.take_answered() {
            self.network.answered(number);
            let body = body.expect("it has an answer");
            if let Some((id, known)) = self.offset_reads.remove(&number) {
                self.read_of_offset(id, known, &decoded::<OffsetFetchRequest>(body, OFFSET_FETCH));
            } else if let Some((_, ask)) = self.asked.remove(&number) {
                let answer = ask.answer(body);
                self.answered(number, &ask, answer);
            }
        }
    }

    pub(crate) fn pass(&mut self, ms: u64) {
        self.bench.pass(ms);
        self.gather();
    }

    /// So much time passes that transactions time out. The broker is awake all the while: otherwise it would not count.
    pub(crate) fn pass_long(&mut self, ms: u64) {
        for _ in 0..ms / 500 {
            self.pass(500);
            self.work();
        }
    }

    pub(crate) fn crash(&mut self) {
        self.counts.insert("died");
        self.bench.take();
        let left = self.bench.disk.given - self.bench.disk.durable();
        let more = self.random.below(left + 1);
        self.bench.crash(more);
        self.network.close_all();
        self.asked.clear();
        self.offset_reads.clear();
    }

    /// The disk is full, or has room again.
    pub(crate) fn fill_disk(&mut self) {
        let room = if self.random.chance(50) { self.random.below(600) } else { ROOM };
        self.bench.room(room);
    }

    pub(crate) fn break_connection(&mut self) {
        if let Some(connection) = self.network.any(&mut self.random) {
            self.close(connection);
        }
    }

    /// A connection is gone, with what is on its way in either direction.
    pub(crate) fn close(&mut self, connection: u32) {
        self.network.close(connection);
        self.asked.retain(|_, (of, _)| *of != connection);
        self.bench.broker.disconnected(0, ConnId { slot: connection, generation: 1 });
    }

    /// Somebody asks for the offset of an id.
    pub(crate) fn read_offset(&mut self, id: usize) {
        self.last_number += 1;
        let (number, known) = (self.last_number, self.oracle.offset_known.get(&id).copied().unwrap_or(0));
        self.bench.conn = 0;
        match self.bench.ask(number, OFFSET_FETCH, &requests::fetch_offset(id as i32)) {
            Some(answer) => self.read_of_offset(id, known, &answer),
            None => drop(self.offset_reads.insert(number, (id, known))),
        }
    }

    pub(super) fn read_of_offset(&mut self, id: usize, known: u64, answer: &OffsetFetchResponse) {
        match requests::offset_of(answer) {
            (0, 0, offset) => self.oracle.reads_offset(id, known, offset),
            (0, UNSTABLE, _) => drop(self.counts.insert("unstable")),
            _ => {}
        }
    }

    pub(super) fn fetch(&mut self, partition: i32, from: i64, committed: bool) -> FetchResponse {
        self.last_number += 1;
        self.bench.conn = 0;
        let request = requests::fetch(partition, from, committed);
        self.bench.ask::<FetchRequest>(self.last_number, FETCH, &request).expect("it does not wait")
    }

    /// The end of what is committed; the highest of all offsets for a partition that does not say.
    fn high_watermark(&mut self, partition: i32) -> i64 {
        let answer = self.fetch(partition, 0, false);
        let of = &answer.responses[0].partitions[0];
        if of.error_code == 0 { of.high_watermark } else { i64::MAX }
    }

    /// The consumers of all partitions read on.
    pub(crate) fn read(&mut self) {
        for partition in 0..PARTITIONS {
            let (from, stable) = self.positions[partition as usize];
            let answer = self.fetch(partition, from, true);
            let of = &answer.responses[0].partitions[0];
            if of.error_code != 0 {
                continue;
            }
            assert!(of.last_stable_offset >= stable, "the last stable offset goes back (L38)");
            assert!(of.last_stable_offset <= of.high_watermark);
            let (records, next) = requests::seen(&answer, from);
            records.iter().for_each(|record| self.oracle.reads(partition, record));
            self.positions[partition as usize] = (next, of.last_stable_offset);
        }
    }

    pub(crate) fn heal(&mut self) {
        self.healed = true;
        self.bench.room(ROOM);
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.network.is_empty() && self.asked.is_empty() && self.answers.is_empty()
    }
}
