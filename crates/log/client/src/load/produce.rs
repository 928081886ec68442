//! Producers.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use log_wire::Producer;

use super::leaders::leaders;
use super::measured::{Measured, thread_cpu};
use super::poll::Sockets;
use super::requests::{ProduceRequest, init_producer_id, read_produced, read_producer};
use crate::cluster::Cluster;

/// How long the broker may take to answer what is outstanding at the end.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Each connection keeps so many requests outstanding.
    Closed {
        /// How many.
        outstanding: usize,
    },
    /// So many requests a second of all connections together, each in its turn, whether or not earlier ones were answered.
    Open {
        /// How many.
        per_second: f64,
    },
}

/// Producers of one topic.
#[derive(Clone, Debug)]
pub struct Produce {
    /// The broker, or one of them.
    pub address: SocketAddr,
    /// Whether each connection goes to the leader of its partition, as Metadata says at the beginning. Otherwise all go to
    /// `address`.
    pub follows_leaders: bool,
    /// The topic, which must be there.
    pub topic: String,
    /// Its partitions: connection `n` produces to partition `n` modulo this.
    pub partitions: i32,
    /// Connections, each a producer.
    pub connections: usize,
    /// When requests are sent.
    pub pace: Pace,
    /// Messages of a request, which are one batch.
    pub batch: usize,
    /// Bytes of a message.
    pub message_bytes: usize,
    /// 0 is not allowed: every request is answered.
    pub acks: i16,
    /// Producers have ids, and number their messages.
    pub is_idempotent: bool,
}

struct Connection {
    request: ProduceRequest,
    /// When each outstanding request was sent, or due.
    outstanding: VecDeque<Instant>,
    next: i32,
}

/// Runs a load for `warm_up` without counting, then for `duration`. Calls `edge` at both ends of the latter, to take what else
/// is measured. At the end it waits until every request is answered, so that the total is exact.
///
/// # Errors
/// A connection failed or was closed, or a request was answered with an error.
pub fn produce(
    load: &Produce,
    warm_up: Duration,
    duration: Duration,
    mut edge: impl FnMut(),
) -> io::Result<Measured> {
    let mut sockets = Sockets::connect_each(addresses(load)?)?;
    let mut connections = Vec::with_capacity(sockets.len());
    for number in 0..sockets.len() {
        let partition = i32::try_from(number).unwrap_or(0) % load.partitions.max(1);
        let to = (load.topic.as_str(), partition);
        let mut request =
            ProduceRequest::new(to, load.acks, (load.batch, load.message_bytes), Producer::NONE);
        if load.is_idempotent {
            let (id, epoch) = ask_producer(&mut sockets, number)?;
            request.set_producer(id, epoch);
        }
        connections.push(Connection { request, outstanding: VecDeque::new(), next: 0 });
    }
    let mut run = Run { load, sockets, connections, turn: 0, measured: Measured::none(), acknowledged: 0 };
    run.drive(warm_up)?;
    edge();
    run.measured = Measured::none();
    let (began, cpu) = (Instant::now(), thread_cpu());
    run.drive(duration)?;
    let (elapsed, cpu) = (began.elapsed(), thread_cpu().saturating_sub(cpu));
    edge();
    let measured = std::mem::replace(&mut run.measured, Measured::none());
    run.drain()?;
    Ok(Measured { elapsed, cpu, total: run.acknowledged, ..measured })
}

/// Where each connection goes.
fn addresses(load: &Produce) -> io::Result<Vec<SocketAddr>> {
    if !load.follows_leaders {
        return Ok(vec![load.address; load.connections]);
    }
    let mut cluster = Cluster::connect(&load.address.to_string(), "log-load").map_err(io::Error::other)?;
    cluster.topic(&load.topic, false).map_err(io::Error::other)?;
    let leaders = leaders(&cluster, &load.topic, load.partitions)?;
    Ok(leaders.into_iter().cycle().take(load.connections).collect())
}

fn ask_producer(sockets: &mut Sockets, number: usize) -> io::Result<(i64, i16)> {
    let mut readable = Vec::new();
    loop {
        init_producer_id().send(0, sockets.at(number)?.output());
        sockets.at(number)?.flush()?;
        let producer = loop {
            sockets.wait(None, &mut readable)?;
            if let Some(frame) = sockets.at(number)?.next_frame() {
                break read_producer(frame)?;
            }
        };
        if let Some(producer) = producer {
            return Ok(producer);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

struct Run<'l> {
    load: &'l Produce,
    sockets: Sockets,
    connections: Vec<Connection>,
    /// Whose turn it is in an open load.
    turn: usize,
    measured: Measured,
    /// Messages since the load began.
    acknowledged: u64,
}

impl Run<'_> {
    fn drive(&mut self, duration: Duration) -> io::Result<()> {
        let began = Instant::now();
        let (until, mut readable, mut due) = (began + duration, Vec::new(), began);
        if let Pace::Closed { outstanding } = self.load.pace {
            for number in 0..self.connections.len() {
                self.fill(number, outstanding)?;
            }
        }
        while Instant::now() < until {
            if let Pace::Open { per_second } = self.load.pace {
                due = self.send_due(due, Duration::from_secs_f64(1.0 / per_second))?;
            }
            let is_open = matches!(self.load.pace, Pace::Open { .. });
            self.sockets.wait(Some(if is_open { due.min(until) } else { until }), &mut readable)?;
            for number in &readable {
                self.take(*number)?;
                if let Pace::Closed { outstanding } = self.load.pace {
                    self.fill(*number, outstanding)?;
                }
            }
        }
        Ok(())
    }

    /// Waits until every request is answered.
    fn drain(&mut self) -> io::Result<()> {
        let (until, mut readable) = (Instant::now() + ANSWERED_WITHIN, Vec::new());
        while self.connections.iter().any(|connection| !connection.outstanding.is_empty()) {
            if Instant::now() >= until {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "requests were not answered"));
            }
            self.sockets.wait(Some(until), &mut readable)?;
            for number in &readable {
                self.take(*number)?;
            }
        }
        Ok(())
    }

    /// Sends all requests that are due by now. Gives when the next one is.
    fn send_due(&mut self, mut due: Instant, every: Duration) -> io::Result<Instant> {
        let now = Instant::now();
        while due <= now {
            let number = self.turn % self.connections.len();
            self.turn += 1;
            self.send(number, due)?;
            self.sockets.at(number)?.flush()?;
            due += every;
        }
        Ok(due)
    }

    fn fill(&mut self, number: usize, outstanding: usize) -> io::Result<()> {
        while self.connections.get(number).is_some_and(|of| of.outstanding.len() < outstanding) {
            self.send(number, Instant::now())?;
        }
        self.sockets.at(number)?.flush()
    }

    fn send(&mut self, number: usize, at: Instant) -> io::Result<()> {
        let Some(connection) = self.connections.get_mut(number) else { return Ok(()) };
        connection.request.send(connection.next, self.sockets.at(number)?.output());
        connection.next = connection.next.wrapping_add(1);
        connection.outstanding.push_back(at);
        Ok(())
    }

    fn take(&mut self, number: usize) -> io::Result<()> {
        let now = Instant::now();
        let Some(connection) = self.connections.get_mut(number) else { return Ok(()) };
        let socket = self.sockets.at(number)?;
        while let Some(frame) = socket.next_frame() {
            let expected = connection.next.wrapping_sub(connection.outstanding.len() as i32);
            if read_produced(frame)? != expected {
                return Err(io::Error::other("the broker has answered out of order"));
            }
            let Some(sent) = connection.outstanding.pop_front() else { break };
            self.measured.note(now.saturating_duration_since(sent), 1);
            self.measured.requests += 1;
            self.measured.messages += self.load.batch as u64;
            self.acknowledged += self.load.batch as u64;
            self.measured.bytes += connection.request.batch_bytes() as u64;
        }
        Ok(())
    }
}
