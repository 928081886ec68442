//! Consumers.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::measured::{Measured, thread_cpu};
use super::poll::Sockets;
use super::requests::{FetchRequest, count, read_fetched};

/// Consumers of one topic.
#[derive(Clone, Debug)]
pub struct Consume {
    /// The broker.
    pub address: SocketAddr,
    /// The topic, which must hold something.
    pub topic: String,
    /// Its partitions: connection `n` reads partition `n` modulo this.
    pub partitions: i32,
    /// Connections, each a consumer.
    pub connections: usize,
    /// Bytes of batches in an answer.
    pub fetch_bytes: i32,
}

/// Reads for `warm_up` without counting, then for `duration`; whoever is at the end of a partition begins again. Calls `edge`
/// at both ends of the latter.
///
/// # Errors
/// A connection failed or was closed, or a request was answered with an error.
pub fn consume(
    load: &Consume,
    warm_up: Duration,
    duration: Duration,
    mut edge: impl FnMut(),
) -> io::Result<Measured> {
    let mut consumers = Consumers::start(load)?;
    consumers.drive(warm_up)?;
    edge();
    consumers.measured = Measured::none();
    let (began, cpu) = (Instant::now(), thread_cpu());
    consumers.drive(duration)?;
    let (elapsed, cpu) = (began.elapsed(), thread_cpu().saturating_sub(cpu));
    edge();
    Ok(Measured { elapsed, cpu, ..consumers.measured })
}

struct Consumers {
    sockets: Sockets,
    each: Vec<Reading>,
    measured: Measured,
}

struct Reading {
    request: FetchRequest,
    sent: Instant,
}

impl Consumers {
    /// Connects, and sends the first request of each.
    fn start(load: &Consume) -> io::Result<Self> {
        let mut sockets = Sockets::connect(load.address, load.connections)?;
        let mut each = Vec::new();
        for number in 0..load.connections {
            let partition = i32::try_from(number).unwrap_or(0) % load.partitions.max(1);
            let mut request = FetchRequest::new((&load.topic, partition), load.fetch_bytes, 0);
            let socket = sockets.at(number)?;
            request.send(0, socket.output());
            socket.flush()?;
            each.push(Reading { request, sent: Instant::now() });
        }
        Ok(Self { sockets, each, measured: Measured::none() })
    }

    fn drive(&mut self, duration: Duration) -> io::Result<()> {
        let (until, mut readable) = (Instant::now() + duration, Vec::new());
        while Instant::now() < until {
            self.sockets.wait(Some(until), &mut readable)?;
            for number in readable.iter().copied() {
                self.read(number)?;
            }
        }
        Ok(())
    }

    /// Counts one answer, and asks for what follows it.
    fn read(&mut self, number: usize) -> io::Result<()> {
        let socket = self.sockets.at(number)?;
        let (Some(frame), Some(reading)) = (socket.next_frame(), self.each.get_mut(number)) else {
            return Ok(());
        };
        let batches = read_fetched(frame)?.unwrap_or_default();
        let held = count(batches, |_| ());
        let now = Instant::now();
        self.measured.requests += 1;
        self.measured.messages += held.messages;
        self.measured.bytes += batches.len() as u64;
        self.measured.note(now.saturating_duration_since(reading.sent), 1);
        reading.sent = now;
        reading.request.send(held.end.unwrap_or(0), socket.output());
        socket.flush()
    }
}
