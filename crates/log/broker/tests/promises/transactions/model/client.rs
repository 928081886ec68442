//! A client with a transactional id: it begins transactions, retries what is not answered, and goes on after errors as the
//! protocol's clients do. Two clients share each id and fence each other.

use std::collections::BTreeMap;

use base::Random;

use super::super::client::Protocol;
use super::super::requests::{self, Id};
use super::super::*;
use super::ask::Ask;
use super::{IDS, PARTITIONS};

pub(crate) const TRANSACTION_MS: i32 = 10_000;

/// A step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Init,
    Add(i32),
    AddOffsets,
    /// So many records to a partition, one behind the other.
    Records(i32, u64),
    Offset,
    End(bool),
}

/// A record on its way.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) partition: i32,
    pub(crate) sequence: i32,
    pub(crate) value: String,
    pub(crate) acked: bool,
    /// The request that carries it.
    pub(crate) request: Option<u64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: usize,
    pub(crate) protocol: Protocol,
    pub(crate) producer: Option<Id>,
    /// It has to raise its own epoch before it begins again (KIP-360).
    pub(crate) raise: bool,
    pub(crate) attempt: Option<u64>,
    pub(crate) plan: Vec<Op>,
    /// Records of the present step.
    pub(crate) records: Vec<Record>,
    pub(crate) sequences: BTreeMap<i32, i32>,
    /// The request of the present step that it waits for.
    pub(crate) waits: Option<u64>,
    pub(crate) asked_at: u64,
    pub(crate) silent_until: u64,
    /// The number of the InitProducerId that gave it its producer.
    pub(crate) since: u64,
    /// Its connections: to the leaders of partitions, and to coordinators.
    pub(crate) connections: [Option<u32>; 2],
}

/// What an answer means to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Done,
    Retry,
    /// Only this transaction is lost.
    Abort,
    /// Another client has the id.
    Fenced,
}

pub(crate) const NAMES: [&str; IDS] = ["id-0", "id-1", "id-2"];

impl Client {
    pub(crate) const fn new(id: usize, protocol: Protocol) -> Self {
        Self {
            id,
            protocol,
            producer: None,
            raise: false,
            attempt: None,
            plan: Vec::new(),
            records: Vec::new(),
            sequences: BTreeMap::new(),
            waits: None,
            asked_at: 0,
            silent_until: 0,
            since: 0,
            connections: [None; 2],
        }
    }

    pub(crate) fn is_classic(&self) -> bool {
        self.protocol == Protocol::Classic
    }

    pub(crate) fn name(&self) -> &'static str {
        NAMES[self.id]
    }

    /// The steps of a transaction, the last one first.
    pub(crate) fn plan(&mut self, attempt: u64, random: &mut Random) {
        let mut steps = Vec::new();
        let mut added = [false; PARTITIONS as usize + 1];
        for _ in 0..=random.below(4) {
            let at = random.below(PARTITIONS as u64 + 1) as usize;
            let adds = self.is_classic() && !std::mem::replace(&mut added[at], true);
            if at == PARTITIONS as usize {
                steps.extend(adds.then_some(Op::AddOffsets));
                steps.push(Op::Offset);
            } else {
                steps.extend(adds.then_some(Op::Add(at as i32)));
                steps.push(Op::Records(at as i32, 1 + random.below(3)));
            }
        }
        steps.push(Op::End(random.chance(75)));
        steps.reverse();
        (self.plan, self.attempt) = (steps, Some(attempt));
    }

    pub(crate) fn next(&self) -> Option<Op> {
        if self.producer.is_none() || (self.raise && self.attempt.is_none()) {
            return Some(Op::Init);
        }
        self.plan.last().copied()
    }

    /// The request of a step, but for records.
    pub(crate) fn ask(&self, op: Op) -> Ask {
        let (name, producer) = (self.name(), self.producer.unwrap_or((-1, -1)));
        match op {
            Op::Init => Ask::Init(requests::init(name, TRANSACTION_MS, self.producer)),
            Op::Add(partition) => Ask::Add(requests::add(name, producer, &[partition])),
            Op::AddOffsets => Ask::AddOffsets(requests::add_offsets(name, producer)),
            Op::Offset => {
                let offset = self.attempt.expect("it has a transaction") as i64;
                let request = requests::offsets(name, producer, &[(self.id as i32, offset)]);
                Ask::Commit(self.protocol.offsets(), request)
            }
            Op::End(commit) => Ask::End(self.protocol.end(), requests::end(name, producer, commit)),
            Op::Records(..) => panic!("records are asked for one by one"),
        }
    }

    /// The request that carries a record.
    pub(crate) fn ask_record(&self, record: &Record) -> Ask {
        let producer = self.producer.expect("it was given one");
        let batch = requests::batch(producer, record.sequence, &[&record.value]);
        Ask::Produce(
            self.protocol.produce(),
            requests::produce(Some(self.name()), &[(record.partition, batch)]),
        )
    }

    /// The next records of the present step, with the numbers that come next in their partition.
    pub(crate) fn prepare(&mut self, partition: i32, values: Vec<String>) {
        for value in values {
            let sequence = self.sequences.entry(partition).or_default();
            let record = Record { partition, sequence: *sequence, value, acked: false, request: None };
            self.records.push(record);
            *sequence += 1;
        }
    }

    /// It goes on under another producer, or under another epoch.
    pub(crate) fn become_producer(&mut self, producer: Id) {
        if self.producer != Some(producer) {
            self.sequences.clear();
        }
        self.producer = Some(producer);
    }

    /// The transaction is lost: what is left is to abort it.
    pub(crate) fn lose(&mut self) {
        self.plan = vec![Op::End(false)];
        self.records.clear();
        self.raise |= self.is_classic();
    }

    /// It no longer waits for what it has asked for, and asks again by other connections. Gives those of before that must not
    /// bring anything any more: a classic client's transactions share an epoch, so a request of one that is late counts in the
    /// next (which is why KIP-890 gives each an epoch of its own).
    pub(crate) fn give_up_waiting(&mut self) -> Vec<u32> {
        self.waits = None;
        self.records.iter_mut().for_each(|record| record.request = None);
        let connections = std::mem::take(&mut self.connections);
        connections.into_iter().flatten().filter(|_| self.is_classic()).collect()
    }
}

const NOT_LEADER: i16 = 6;
const TIMED_OUT: i16 = 7;
const NOT_COORDINATOR: i16 = 16;
const STORAGE_ERROR: i16 = 56;

/// What the answer to a step means. `is_first` says of a record that none before it is open.
pub(crate) fn meaning(op: Op, code: i16, is_first: bool) -> Meaning {
    match code {
        0 => Meaning::Done,
        LOADING | NOT_AVAILABLE | NOT_COORDINATOR | CONCURRENT | UNKNOWN_TOPIC => Meaning::Retry,
        NOT_LEADER | TIMED_OUT | NOT_ENOUGH_REPLICAS | STORAGE_ERROR if matches!(op, Op::Records(..)) => {
            Meaning::Retry
        }
        OUT_OF_ORDER if !is_first => Meaning::Retry,
        ABORTABLE | NO_PRODUCER | OUT_OF_ORDER => Meaning::Abort,
        WRONG_STATE | OLD_EPOCH if matches!(op, Op::Records(..) | Op::Offset) => Meaning::Abort,
        FENCED | OTHER_PRODUCER => Meaning::Fenced,
        // A client that adds partitions cannot know whether its transaction ever began.
        WRONG_STATE if op == Op::End(false) => Meaning::Done,
        code => panic!("{op:?} is answered with {code}"),
    }
}
