//! A producer with a transactional id that does everything in its turn, and a consumer.

use std::collections::BTreeMap;

use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, FetchRequest, InitProducerIdRequest,
    OffsetFetchRequest, ProduceRequest, ProduceResponse, TxnOffsetCommitRequest,
};

use super::requests::{self, FETCH, Id, OFFSET_FETCH, Seen};
use crate::bench::Bench;

/// How the requests of a transaction are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// A client adds partitions itself, and keeps its epoch.
    Classic,
    /// Partitions are added by what is written to them, and each transaction has an epoch of its own (KIP-890).
    EpochPerTransaction,
}

pub(crate) const BOTH: [Protocol; 2] = [Protocol::Classic, Protocol::EpochPerTransaction];

impl Protocol {
    pub(crate) const fn produce(self) -> i16 {
        if matches!(self, Self::Classic) { 11 } else { 12 }
    }

    pub(crate) const fn end(self) -> i16 {
        if matches!(self, Self::Classic) { 4 } else { 5 }
    }

    pub(crate) const fn offsets(self) -> i16 {
        if matches!(self, Self::Classic) { 4 } else { 5 }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) id: &'static str,
    pub(crate) protocol: Protocol,
    pub(crate) producer: Id,
    /// The next sequence number, by partition.
    pub(crate) sequences: BTreeMap<i32, i32>,
}

pub(crate) const TIMEOUT_MS: i32 = 60_000;

/// The error and the base offset of the first partition.
pub(crate) fn outcome(answer: &ProduceResponse) -> (i16, i64) {
    let first = &answer.responses[0].partition_responses[0];
    (first.error_code, first.base_offset)
}

impl Client {
    /// One that has got its producer id.
    pub(crate) fn new(bench: &mut Bench, id: &'static str, protocol: Protocol) -> Self {
        let mut client = Self { id, protocol, producer: (-1, -1), sequences: BTreeMap::new() };
        client.init(bench, None);
        client
    }

    pub(crate) fn init(&mut self, bench: &mut Bench, producer: Option<Id>) {
        let request = requests::init(self.id, TIMEOUT_MS, producer);
        for _ in 0..50 {
            let answer = bench.call::<InitProducerIdRequest>(5, &request);
            match answer.error_code {
                0 => {
                    self.producer = (answer.producer_id.0, answer.producer_epoch);
                    return self.sequences.clear();
                }
                14 | 15 | 16 | 51 => bench.pass(100),
                error => panic!("InitProducerId is refused with {error}"),
            }
            bench.settle();
            bench.serve_council();
            // A client that is told of no coordinator asks for one.
            bench.call(4, &find_coordinator(1, self.id));
        }
        panic!("the client does not get a producer id");
    }

    pub(crate) fn add(&self, bench: &mut Bench, partitions: &[i32]) -> i16 {
        let request = requests::add(self.id, self.producer, partitions);
        let answer = bench.call::<AddPartitionsToTxnRequest>(3, &request);
        answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
    }

    /// The request that sends a record next, in a version of Produce.
    pub(crate) fn record(&mut self, partition: i32, value: &str) -> (i16, ProduceRequest) {
        let sequence = self.sequences.entry(partition).or_default();
        let batch = requests::batch(self.producer, *sequence, &[value]);
        *sequence += 1;
        (self.protocol.produce(), requests::produce(Some(self.id), &[(partition, batch)]))
    }

    /// Sends a record without anything before. Gives its error and offset.
    pub(crate) fn send(&mut self, bench: &mut Bench, partition: i32, value: &str) -> (i16, i64) {
        let (version, request) = self.record(partition, value);
        outcome(&bench.call(version, &request))
    }

    /// Sends a record into the transaction, of which it is the first to this partition perhaps.
    pub(crate) fn produce(&mut self, bench: &mut Bench, partition: i32, value: &str) -> i64 {
        if self.protocol == Protocol::Classic {
            self.retried(bench, |client, bench| client.add(bench, &[partition]));
        }
        let (version, request) = self.record(partition, value);
        let mut offset = -1;
        self.retried(bench, |_, bench| {
            let (error, base) = outcome(&bench.call(version, &request));
            offset = base;
            error
        });
        offset
    }

    pub(crate) fn commit_offset(&mut self, bench: &mut Bench, partition: i32, offset: i64) {
        if self.protocol == Protocol::Classic {
            let request = requests::add_offsets(self.id, self.producer);
            self.retried(bench, |_, bench| bench.call::<AddOffsetsToTxnRequest>(3, &request).error_code);
        }
        self.retried(bench, |client, bench| client.send_offset(bench, partition, offset));
    }

    /// Sends an offset without anything before.
    pub(crate) fn send_offset(&self, bench: &mut Bench, partition: i32, offset: i64) -> i16 {
        let request = requests::offsets(self.id, self.producer, &[(partition, offset)]);
        let answer = bench.call::<TxnOffsetCommitRequest>(self.protocol.offsets(), &request);
        answer.topics[0].partitions[0].error_code
    }

    /// Ends the transaction. Gives the error.
    pub(crate) fn end(&mut self, bench: &mut Bench, commit: bool) -> i16 {
        let request = requests::end(self.id, self.producer, commit);
        let answer = bench.call::<EndTxnRequest>(self.protocol.end(), &request);
        if answer.error_code == 0 && self.protocol == Protocol::EpochPerTransaction {
            self.producer = (answer.producer_id.0, answer.producer_epoch);
            self.sequences.clear();
        }
        answer.error_code
    }

    pub(crate) fn commit(&mut self, bench: &mut Bench) {
        assert_eq!(self.end(bench, true), 0);
    }

    pub(crate) fn abort(&mut self, bench: &mut Bench) {
        assert_eq!(self.end(bench, false), 0);
    }

    fn retried(&mut self, bench: &mut Bench, mut ask: impl FnMut(&mut Self, &mut Bench) -> i16) {
        for _ in 0..50 {
            match ask(self, bench) {
                0 => return,
                14 | 15 | 16 | 19 | 51 => bench.pass(100),
                error => panic!("a step of a transaction is refused with {error}"),
            }
            bench.call(4, &find_coordinator(0, requests::GROUP));
            bench.call(4, &find_coordinator(1, self.id));
        }
        panic!("a step of a transaction does not come to its end");
    }
}

pub(crate) fn find_coordinator(kind: i8, key: &str) -> kafka_protocol::messages::FindCoordinatorRequest {
    let keys = vec![crate::bench::text(key)];
    kafka_protocol::messages::FindCoordinatorRequest::default()
        .with_key_type(kind)
        .with_coordinator_keys(keys)
}

/// All that a consumer sees of a partition.
pub(crate) fn read(bench: &mut Bench, partition: i32, committed: bool) -> Vec<String> {
    let (mut from, mut all) = (0, Vec::new());
    loop {
        let answer = bench.call::<FetchRequest>(FETCH, &requests::fetch(partition, from, committed));
        let of = &answer.responses[0].partitions[0];
        assert_eq!(of.error_code, 0);
        assert!(of.last_stable_offset <= of.high_watermark);
        let (records, next) = requests::seen(&answer, from);
        all.extend(records.into_iter().map(|Seen { value, .. }| value));
        if next == from {
            return all;
        }
        from = next;
    }
}

/// The offset of the group for a partition, as one reads it who wants none that may still change: an error, or that offset.
pub(crate) fn committed_offset(bench: &mut Bench, partition: i32) -> Result<i64, i16> {
    let answer = bench.call::<OffsetFetchRequest>(OFFSET_FETCH, &requests::fetch_offset(partition));
    match requests::offset_of(&answer) {
        (0, 0, offset) => Ok(offset),
        (0, error, _) | (error, ..) => Err(error),
    }
}
