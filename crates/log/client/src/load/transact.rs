//! Read-process-write transactions, as a client with `transaction.version` 2 makes them (KIP-890): what was read is written
//! together with the offset behind it, and the first Produce of a transaction begins it at the coordinator.
//!
//! Each client is a thread, which waits for each answer: a transaction is one Fetch, Produce, TxnOffsetCommit and EndTxn.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use log_wire::messages::data::{
    FetchBody, FetchBodyPartition, FetchBodyTopic, FetchResponse, ProduceBody, ProduceBodyPartition,
    ProduceBodyTopic, ProduceResponse,
};
use log_wire::messages::groups::{FindCoordinatorRequest, FindCoordinatorResponse};
use log_wire::messages::transactions::{
    EndTxnRequest, EndTxnResponse, InitProducerIdRequest, TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic, TxnOffsetCommitResponse,
};
use log_wire::messages::{Blob, Field};
use log_wire::{ApiKey, Attributes, BatchBuilder, ErrorCode, Malformed, Producer, Reader, Writer};

use super::measured::{Measured, thread_cpu};
use crate::call::Call;
use crate::connection::Connection;
use crate::error::is_retriable;
use crate::record::read_batches;

/// A batch whose records belong to a transaction.
const TRANSACTIONAL: i16 = 0x10;
/// The kinds of keys of FindCoordinator.
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const TIMEOUT_MS: i32 = 60_000;
/// How long something that may go well soon is asked for again, and how long between two tries.
const PATIENCE: Duration = Duration::from_secs(60);
const REST: Duration = Duration::from_millis(2);

/// Clients of transactions.
#[derive(Clone, Debug)]
pub struct Transact {
    /// The broker.
    pub address: SocketAddr,
    /// What is read: its batches hold as many messages as a transaction has. It has a partition for each client.
    pub input: String,
    /// What is written. It has a partition for each client.
    pub output: String,
    /// How many clients.
    pub clients: i32,
}

/// Before, while, and behind what is measured.
const WARM_UP: u8 = 0;
const MEASURED: u8 = 1;
const OVER: u8 = 2;

/// Runs transactions for `warm_up` without counting, then for `duration`. Calls `edge` at both ends of the latter. A latency is
/// that of a transaction, from its Fetch to the answer to its EndTxn; those that end within the duration count. A client that is
/// at the end of its partition begins again.
///
/// # Errors
/// A connection failed or was closed, or a request was answered with an error that does not pass.
pub fn transact(
    load: &Transact,
    warm_up: Duration,
    duration: Duration,
    mut edge: impl FnMut(),
) -> io::Result<Measured> {
    let mut clients = Vec::new();
    for number in 0..load.clients {
        clients.push(Client::start(load, number)?);
    }
    let time = AtomicU8::new(WARM_UP);
    let (elapsed, each) = thread::scope(|scope| {
        let running: Vec<_> = clients.into_iter().map(|client| scope.spawn(|| client.run(&time))).collect();
        // How long each lasts is what was asked for.
        thread::sleep(warm_up);
        edge();
        time.store(MEASURED, Ordering::Relaxed);
        let began = Instant::now();
        thread::sleep(duration);
        time.store(OVER, Ordering::Relaxed);
        let elapsed = began.elapsed();
        edge();
        let joined = running
            .into_iter()
            .map(|client| client.join().unwrap_or_else(|_| Err(io::Error::other("a client has panicked"))));
        (elapsed, joined.collect::<io::Result<Vec<_>>>())
    });
    let mut all = Measured::none();
    for one in each? {
        all.messages += one.messages;
        all.requests += one.requests;
        all.bytes += one.bytes;
        all.cpu += one.cpu;
        all.total += one.total;
        // Of the same form.
        let _ = all.latency.add(&one.latency);
    }
    Ok(Measured { elapsed, ..all })
}

struct Client {
    connection: Connection,
    input: String,
    output: String,
    partition: i32,
    transactional_id: String,
    group: String,
    producer: (i64, i16),
    sequence: i32,
    offset: i64,
}

impl Client {
    fn start(load: &Transact, partition: i32) -> io::Result<Self> {
        let mut client = Self {
            connection: Connection::open(&load.address.to_string(), "log-load", None)
                .map_err(io::Error::other)?,
            input: load.input.clone(),
            output: load.output.clone(),
            partition,
            transactional_id: format!("{}-{partition}", load.output),
            group: format!("{}-{partition}", load.input),
            producer: (-1, -1),
            sequence: 0,
            offset: 0,
        };
        client.find(GROUP)?;
        client.find(TRANSACTION)?;
        let request = InitProducerIdRequest {
            transactional_id: Some(client.transactional_id.clone()),
            transaction_timeout_ms: TIMEOUT_MS,
            ..InitProducerIdRequest::default()
        };
        let given = client.ask(&request, |answer| answer.error_code)?;
        client.producer = (given.producer_id, given.producer_epoch);
        Ok(client)
    }

    /// Waits until there is a coordinator.
    fn find(&mut self, kind: i8) -> io::Result<()> {
        let key = if kind == GROUP { &self.group } else { &self.transactional_id };
        let request = FindCoordinatorRequest {
            key_type: kind,
            coordinator_keys: vec![key.clone()],
            ..FindCoordinatorRequest::default()
        };
        let code = |answer: &FindCoordinatorResponse| {
            answer.coordinators.first().map_or(0, |coordinator| coordinator.error_code)
        };
        self.ask(&request, code).map(drop)
    }

    fn run(mut self, time: &AtomicU8) -> io::Result<Measured> {
        let mut measured = Measured::none();
        let mut cpu = None;
        loop {
            let now = time.load(Ordering::Relaxed);
            if now == OVER {
                return Ok(measured);
            }
            let before = *cpu.get_or_insert_with(thread_cpu);
            let began = Instant::now();
            let (messages, bytes) = self.transaction()?;
            measured.total += messages;
            let after = thread_cpu();
            cpu = Some(after);
            if now == MEASURED && time.load(Ordering::Relaxed) == MEASURED {
                measured.note(began.elapsed(), 1);
                measured.requests += 1;
                measured.messages += messages;
                measured.bytes += bytes;
                measured.cpu += after.saturating_sub(before);
            }
        }
    }

    /// One transaction. Gives its messages, and the bytes of its batch.
    fn transaction(&mut self) -> io::Result<(u64, u64)> {
        let values = self.read()?;
        let (messages, bytes) = (values.len() as u64, self.write(&values)?);
        self.commit_offset()?;
        let (producer_id, producer_epoch) = self.producer;
        let end = EndTransaction(EndTxnRequest {
            transactional_id: self.transactional_id.clone(),
            producer_id,
            producer_epoch,
            committed: true,
        });
        let ended = self.ask(&end, |answer| answer.error_code)?;
        // Each transaction has an epoch of its own; sequence numbers begin again with it.
        if ended.producer_id >= 0 {
            self.producer = (ended.producer_id, ended.producer_epoch);
            self.sequence = 0;
        }
        Ok((messages, bytes))
    }

    /// The values of the next batch; those of the first one at the end of the partition.
    fn read(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let partition = FetchBodyPartition {
            partition: self.partition,
            fetch_offset: self.offset,
            // The first batch comes whole, however long it is.
            partition_max_bytes: 1,
            ..FetchBodyPartition::default()
        };
        let topic =
            FetchBodyTopic { topic: self.input.clone(), partitions: vec![partition], ..Default::default() };
        let request = FetchBody {
            max_wait_ms: 500,
            min_bytes: 1,
            isolation_level: 1,
            max_bytes: 1,
            topics: vec![topic],
            ..FetchBody::default()
        };
        let answer = self.ask(&request, |answer: &FetchResponse| {
            let partition = answer.responses.iter().flat_map(|topic| &topic.partitions).next();
            if answer.error_code == 0 { partition.map_or(0, |of| of.error_code) } else { answer.error_code }
        })?;
        let partition = answer.responses.into_iter().flat_map(|topic| topic.partitions).next();
        let partition =
            partition.ok_or_else(|| io::Error::other("an answer to Fetch without a partition"))?;
        let mut records = Vec::new();
        let from = (self.input.as_str(), self.partition);
        let end = read_batches(from, &partition.records.0, self.offset, &mut records);
        let next = end.map_err(io::Error::other)?.unwrap_or(partition.high_watermark);
        self.offset = if next >= partition.high_watermark { 0 } else { next };
        let values: Vec<_> = records.into_iter().filter_map(|record| record.value).collect();
        if values.is_empty() {
            return Err(io::Error::other("there is nothing to read"));
        }
        Ok(values)
    }

    /// Writes a batch, and gives its length in bytes.
    fn write(&mut self, values: &[Vec<u8>]) -> io::Result<u64> {
        let (id, epoch) = self.producer;
        let producer = Producer { id, epoch, base_sequence: self.sequence };
        let mut batch = BatchBuilder::new(Attributes(TRANSACTIONAL), producer);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.map_or(0, |since| since.as_millis() as i64);
        values.iter().for_each(|value| batch.push(now, None, Some(value), &[]));
        let batch = batch.finish();
        let bytes = batch.len() as u64;
        let partition = ProduceBodyPartition { index: self.partition, records: Blob(batch) };
        let topic = ProduceBodyTopic {
            name: self.output.clone(),
            partition_data: vec![partition],
            ..Default::default()
        };
        let request = ProduceInTransaction(ProduceBody {
            transactional_id: Some(self.transactional_id.clone()),
            acks: -1,
            timeout_ms: TIMEOUT_MS,
            topic_data: vec![topic],
        });
        self.ask(&request, |answer: &ProduceResponse| {
            let partition = answer.responses.iter().flat_map(|topic| &topic.partition_responses).next();
            partition.map_or(0, |of| of.error_code)
        })?;
        self.sequence += values.len() as i32;
        Ok(bytes)
    }

    fn commit_offset(&mut self) -> io::Result<()> {
        let partition = TxnOffsetCommitRequestPartition {
            partition_index: self.partition,
            committed_offset: self.offset,
            ..Default::default()
        };
        let topic = TxnOffsetCommitRequestTopic { name: self.input.clone(), partitions: vec![partition] };
        let request = CommitOffsets(TxnOffsetCommitRequest {
            transactional_id: self.transactional_id.clone(),
            group_id: self.group.clone(),
            producer_id: self.producer.0,
            producer_epoch: self.producer.1,
            topics: vec![topic],
            ..TxnOffsetCommitRequest::default()
        });
        let code = |answer: &TxnOffsetCommitResponse| {
            let partition = answer.topics.iter().flat_map(|topic| &topic.partitions).next();
            partition.map_or(0, |of| of.error_code)
        };
        self.ask(&request, code).map(drop)
    }

    /// Asks until the answer is no error that passes.
    fn ask<C: Call>(&mut self, request: &C, code: impl Fn(&C::Response) -> i16) -> io::Result<C::Response> {
        let began = Instant::now();
        loop {
            let answer = self.connection.call(request).map_err(io::Error::other)?;
            let passes = |code| is_retriable(code) || code == ErrorCode::ConcurrentTransactions.code();
            match code(&answer) {
                0 => return Ok(answer),
                code if passes(code) && began.elapsed() < PATIENCE => thread::sleep(REST),
                code => {
                    let what = format!("{:?} was answered with the error code {code}", C::KEY);
                    return Err(io::Error::other(what));
                }
            }
        }
    }
}

/// Requests in the versions that begin and end transactions as KIP-890 has them.
macro_rules! in_version {
    ($($name:ident($request:ty), $version:literal => $key:ident, $response:ty;)+) => {$(
        struct $name($request);

        impl Field for $name {
            fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self, Malformed> {
                <$request>::read(reader, version).map(Self)
            }

            fn write(&self, writer: &mut Writer<'_>, version: i16) {
                self.0.write(writer, version);
            }
        }

        impl Call for $name {
            const KEY: ApiKey = ApiKey::$key;
            const VERSION: i16 = $version;
            type Response = $response;
        }
    )+};
}

in_version! {
    ProduceInTransaction(ProduceBody), 12 => Produce, ProduceResponse;
    CommitOffsets(TxnOffsetCommitRequest), 5 => TxnOffsetCommit, TxnOffsetCommitResponse;
    EndTransaction(EndTxnRequest), 5 => EndTxn, EndTxnResponse;
}
