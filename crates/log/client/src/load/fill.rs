//! A number of records in a topic, as fast as the broker takes them.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use log_wire::Producer;

use super::poll::Sockets;
use super::requests::{ProduceRequest, read_produced};

/// Requests that each connection keeps outstanding.
const OUTSTANDING: usize = 16;
const CONNECTIONS: usize = 4;

/// What a topic is to hold.
#[derive(Clone, Debug)]
pub struct Fill {
    /// The broker.
    pub address: SocketAddr,
    /// The topic, which must be there.
    pub topic: String,
    /// Its partitions, which take turns.
    pub partitions: i32,
    /// Batches of all partitions together.
    pub batches: u64,
    /// Messages of a batch; each batch is a request.
    pub batch: usize,
    /// Bytes of a message.
    pub message_bytes: usize,
}

/// Writes all batches, acknowledged by the leader. Gives how many messages were acknowledged, which are all.
///
/// # Errors
/// A connection failed or was closed, a request was answered with an error, or none was answered for `patience`.
pub fn fill(load: &Fill, patience: Duration) -> io::Result<u64> {
    let mut sockets = Sockets::connect(load.address, CONNECTIONS)?;
    let request = ProduceRequest::new((&load.topic, 0), 1, (load.batch, load.message_bytes), Producer::NONE);
    let mut run = Run { load, request, sent: 0, outstanding: [0; CONNECTIONS] };
    for number in 0..CONNECTIONS {
        run.send(number, &mut sockets)?;
    }
    let (mut readable, mut last, mut acknowledged) = (Vec::new(), Instant::now(), 0);
    while acknowledged < load.batches {
        sockets.wait(Some(last + patience), &mut readable)?;
        if readable.is_empty() && last.elapsed() >= patience {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the broker does not answer"));
        }
        for number in readable.iter().copied() {
            while let Some(frame) = sockets.at(number)?.next_frame() {
                read_produced(frame)?;
                acknowledged += 1;
                last = Instant::now();
                if let Some(outstanding) = run.outstanding.get_mut(number) {
                    *outstanding -= 1;
                }
            }
            run.send(number, &mut sockets)?;
        }
    }
    Ok(acknowledged * load.batch as u64)
}

struct Run<'l> {
    load: &'l Fill,
    request: ProduceRequest,
    /// Batches.
    sent: u64,
    /// Of each connection.
    outstanding: [usize; CONNECTIONS],
}

impl Run<'_> {
    /// Sends as many batches as may be outstanding. Their partitions follow one another.
    fn send(&mut self, number: usize, sockets: &mut Sockets) -> io::Result<()> {
        let Some(outstanding) = self.outstanding.get_mut(number) else { return Ok(()) };
        let socket = sockets.at(number)?;
        while *outstanding < OUTSTANDING && self.sent < self.load.batches {
            let partition = self.sent % u64::from(self.load.partitions.max(1).unsigned_abs());
            self.request.set_partition(i32::try_from(partition).unwrap_or(0));
            self.request.send(0, socket.output());
            *outstanding += 1;
            self.sent += 1;
        }
        socket.flush()
    }
}
