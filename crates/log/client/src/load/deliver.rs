//! From producer to consumer: how long a record takes.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use log_wire::Producer;

use super::measured::{Measured, thread_cpu};
use super::poll::Sockets;
use super::produce::ANSWERED_WITHIN;
use super::requests::{FetchRequest, ProduceRequest, count, read_fetched, read_produced};

/// One producer and one consumer of partition 0 of a topic.
#[derive(Clone, Debug)]
pub struct Deliver {
    /// The broker.
    pub address: SocketAddr,
    /// The topic, which must be there, and empty.
    pub topic: String,
    /// Messages a second.
    pub per_second: f64,
    /// Messages of a request.
    pub batch: usize,
    /// Bytes of a message.
    pub message_bytes: usize,
    /// Who acknowledges: -1 or 1.
    pub acks: i16,
}

const PRODUCER: usize = 0;
const CONSUMER: usize = 1;
const FETCH_BYTES: i32 = 1 << 20;
const FETCH_WAIT_MS: i32 = 500;

/// Runs a load for `warm_up` without counting, then for `duration`. Calls `edge` at both ends of the latter. A latency is that
/// of a message, from when it was due to be sent until the consumer had read it.
///
/// # Errors
/// A connection failed or was closed, or a request was answered with an error.
pub fn deliver(
    load: &Deliver,
    warm_up: Duration,
    duration: Duration,
    mut edge: impl FnMut(),
) -> io::Result<Measured> {
    let to = (load.topic.as_str(), 0);
    let mut run = Run {
        sockets: Sockets::connect(load.address, 2)?,
        produce: ProduceRequest::new(to, load.acks, (load.batch, load.message_bytes), Producer::NONE),
        fetch: FetchRequest::new(to, FETCH_BYTES, FETCH_WAIT_MS),
        due: VecDeque::new(),
        next: 0,
        batch: load.batch as u64,
        measured: Measured::none(),
        acknowledged: 0,
    };
    run.ask(0)?;
    let every = Duration::from_secs_f64(load.batch as f64 / load.per_second);
    run.drive(warm_up, every)?;
    edge();
    run.measured = Measured::none();
    let (began, cpu) = (Instant::now(), thread_cpu());
    run.drive(duration, every)?;
    let (elapsed, cpu) = (began.elapsed(), thread_cpu().saturating_sub(cpu));
    edge();
    let measured = std::mem::replace(&mut run.measured, Measured::none());
    run.drain()?;
    Ok(Measured { elapsed, cpu, total: run.acknowledged, ..measured })
}

struct Run {
    sockets: Sockets,
    produce: ProduceRequest,
    fetch: FetchRequest,
    /// When each batch was due that the consumer does not have yet.
    due: VecDeque<Instant>,
    next: i32,
    batch: u64,
    measured: Measured,
    /// Messages since the load began.
    acknowledged: u64,
}

impl Run {
    fn drive(&mut self, duration: Duration, every: Duration) -> io::Result<()> {
        let (mut due, mut readable) = (Instant::now(), Vec::new());
        let until = due + duration;
        while Instant::now() < until {
            while due <= Instant::now() {
                self.produce.send(self.next, self.sockets.at(PRODUCER)?.output());
                self.sockets.at(PRODUCER)?.flush()?;
                self.next = self.next.wrapping_add(1);
                self.due.push_back(due);
                due += every;
            }
            self.sockets.wait(Some(due.min(until)), &mut readable)?;
            self.take(&readable)?;
        }
        Ok(())
    }

    /// Waits until the consumer has every record, and the producer every answer.
    fn drain(&mut self) -> io::Result<()> {
        let (until, mut readable) = (Instant::now() + ANSWERED_WITHIN, Vec::new());
        let sent = u64::from(self.next.unsigned_abs()) * self.batch;
        while !self.due.is_empty() || self.acknowledged < sent {
            if Instant::now() >= until {
                let what = format!("{} batches did not reach the consumer", self.due.len());
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            self.sockets.wait(Some(until), &mut readable)?;
            self.take(&readable)?;
        }
        Ok(())
    }

    fn take(&mut self, readable: &[usize]) -> io::Result<()> {
        for number in readable.iter().copied() {
            if number == PRODUCER {
                while let Some(frame) = self.sockets.at(PRODUCER)?.next_frame() {
                    read_produced(frame)?;
                    self.acknowledged += self.batch;
                }
            } else {
                self.receive()?;
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        let Some(frame) = self.sockets.at(CONSUMER)?.next_frame() else { return Ok(()) };
        let batches = read_fetched(frame)?.unwrap_or_default();
        let (now, bytes, mut arrived) = (Instant::now(), batches.len(), 0);
        let held = count(batches, |_| arrived += 1);
        self.measured.requests += 1;
        self.measured.messages += held.messages;
        self.measured.bytes += bytes as u64;
        for _ in 0..arrived {
            let Some(due) = self.due.pop_front() else { break };
            self.measured.note(now.saturating_duration_since(due), self.batch);
        }
        match held.end {
            Some(end) => self.ask(end),
            None => self.ask_again(),
        }
    }

    fn ask(&mut self, offset: i64) -> io::Result<()> {
        self.fetch.send(offset, self.sockets.at(CONSUMER)?.output());
        self.sockets.at(CONSUMER)?.flush()
    }

    /// The same once more: nothing had come.
    fn ask_again(&mut self) -> io::Result<()> {
        self.fetch.send_again(self.sockets.at(CONSUMER)?.output());
        self.sockets.at(CONSUMER)?.flush()
    }
}
