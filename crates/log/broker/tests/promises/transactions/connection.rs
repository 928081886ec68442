//! Requests that follow each other on one connection without waiting for answers, as clients send them.

use base::Now;
use bytes::Bytes;
use kafka_protocol::messages::{ProduceRequest, ProduceResponse};
use kafka_protocol::protocol::Request;
use log_broker::{Broker, BrokerConfig, BrokerDriver, Front, Peer, Refusal, Response, SegmentReader, Waiter};
use net_event_loop::{Broken, EventLoop, FilePart, NoFile, ReadOutcome, Readiness, SocketDriver};

use super::client::{Client, Protocol, outcome, read};
use super::requests;
use super::serving;
use crate::bench::{Bench, NoSegments, decoded, frame, peer};

/// The only connection, from outside, with a broker behind it.
struct Wire {
    bench: Bench,
    answers: Vec<(Waiter, Response)>,
    segments: NoSegments,
    token: u32,
    input: Vec<u8>,
    output: Vec<u8>,
    is_ended: bool,
}

impl SocketDriver for Wire {
    type Socket = ();
    type Peer = Peer;
    type File = NoFile;

    fn watch(&mut self, (): &mut (), token: u32) -> Result<(), Broken> {
        self.token = token;
        Ok(())
    }

    fn prepare(&mut self, (): &mut ()) -> Result<bool, Broken> {
        Ok(true)
    }

    fn open(&mut self, (): &mut ()) -> Result<Option<Peer>, Broken> {
        Ok(Some(peer()))
    }

    fn read(&mut self, (): &mut (), buffer: &mut [u8]) -> Result<ReadOutcome, Broken> {
        let length = self.input.len().min(buffer.len());
        if length == 0 {
            return Ok(ReadOutcome::Nothing);
        }
        buffer[..length].copy_from_slice(&self.input[..length]);
        self.input.drain(..length);
        Ok(ReadOutcome::Bytes { length, drained: self.input.is_empty() })
    }

    fn write(&mut self, (): &mut (), bytes: &[u8]) -> Result<usize, Broken> {
        self.output.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_with_file(
        &mut self,
        (): &mut (),
        _: &[u8],
        part: FilePart<'_, NoFile>,
    ) -> Result<usize, Broken> {
        match *part.file {}
    }

    fn wants_write(&self, (): &()) -> bool {
        false
    }

    fn say_goodbye(&mut self, (): &mut ()) {
        self.is_ended = true;
    }

    fn close(&mut self, (): (), _: usize) {}
}

impl BrokerDriver for Wire {
    type Guard<'g> = &'g mut Broker;

    fn broker(&mut self) -> &mut Broker {
        &mut self.bench.broker
    }

    fn take_answers(&mut self, into: &mut Vec<(Waiter, Response)>) {
        into.append(&mut self.answers);
    }

    fn hand_on(&mut self, _: Now) {
        self.answers.append(&mut self.bench.broker.take_done());
    }

    fn authenticated(&mut self, (): &()) {}

    fn refused(&mut self, _: &log_broker::Client, refusal: Refusal, why: &'static str) {
        panic!("the client is refused: {refusal:?}, {why}");
    }

    fn segments(&mut self) -> &mut impl SegmentReader<File = NoFile> {
        &mut self.segments
    }
}

struct Connection {
    wire: Wire,
    connections: EventLoop<()>,
    front: Front<NoFile>,
}

impl Connection {
    fn new(bench: Bench) -> Self {
        let (answers, input, output) = (Vec::new(), Vec::new(), Vec::new());
        let wire = Wire { bench, answers, segments: NoSegments, token: 0, input, output, is_ended: false };
        let front = Front::new(3, 4, &BrokerConfig::default());
        let mut connection = Self { wire, connections: EventLoop::default(), front };
        let now = connection.wire.bench.now;
        connection.connections.accept(&mut connection.wire, &mut connection.front, (), 5_000, now);
        connection.turn();
        connection
    }

    fn send<R: Request>(&mut self, version: i16, request: &R) {
        let frame = frame(version, request);
        self.wire.input.extend_from_slice(&(frame.len() as i32).to_be_bytes());
        self.wire.input.extend_from_slice(&frame);
    }

    fn turn(&mut self) {
        let now = self.wire.bench.now;
        self.connections.announced(self.wire.token, Readiness { readable: true, ..Readiness::default() });
        for _ in 0..4 {
            self.connections.turn(&mut self.wire, &mut self.front, now);
        }
    }

    /// Takes the answers to Produce that have come, in their order.
    fn answers(&mut self, version: i16) -> Vec<ProduceResponse> {
        let mut answers = Vec::new();
        let mut rest = Bytes::from(std::mem::take(&mut self.wire.output));
        while !rest.is_empty() {
            let length = rest.split_to(4);
            let mut body = rest.split_to(i32::from_be_bytes(length[..].try_into().expect("four")) as usize);
            // A correlation id, and no tagged fields.
            drop(body.split_to(5));
            answers.push(decoded::<ProduceRequest>(body, version));
        }
        answers
    }

    fn outcomes(&mut self, version: i16) -> Vec<(i16, i64)> {
        self.answers(version).iter().map(outcome).collect()
    }
}

fn connected() -> (Connection, Client) {
    let mut bench = serving();
    let client = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    (Connection::new(bench), client)
}

#[test]
fn batches_of_a_connection_keep_their_order_while_the_first_waits_for_its_transaction() {
    let (mut connection, mut client) = connected();
    for value in ["one", "two", "three"] {
        let (version, request) = client.record(0, value);
        connection.send(version, &request);
    }
    connection.turn();
    assert_eq!(connection.wire.bench.take().len(), 1, "the partition is added, and nothing is appended");
    connection.wire.bench.flush();
    connection.turn();
    assert_eq!(connection.outcomes(12), [], "the first is appended");
    connection.wire.bench.flush();
    connection.turn();
    assert_eq!(connection.outcomes(12), [(0, 0)]);
    connection.wire.bench.flush();
    connection.turn();
    assert_eq!(connection.outcomes(12), [(0, 1), (0, 2)], "the others go together");
}

#[test]
fn batches_without_an_answer_keep_their_order_too() {
    let (mut connection, mut client) = connected();
    for (value, acks) in [("one", 0), ("two", 0), ("three", -1)] {
        let (version, request) = client.record(0, value);
        connection.send(version, &request.with_acks(acks));
    }
    for _ in 0..4 {
        connection.turn();
        connection.wire.bench.flush();
    }
    connection.turn();
    assert_eq!(connection.outcomes(12), [(0, 2)]);
    let mut bench = connection.wire.bench;
    client.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["one", "two", "three"]);
}

#[test]
fn refused_batch_without_an_answer_closes_its_connection() {
    let (mut connection, client) = connected();
    let old = requests::batch((client.producer.0, 7), 0, &["wrong"]);
    connection.send(12, &requests::produce(Some("a"), &[(0, old)]).with_acks(0));
    for _ in 0..3 {
        connection.turn();
        connection.wire.bench.flush();
    }
    connection.turn();
    assert!(connection.wire.is_ended);
}
