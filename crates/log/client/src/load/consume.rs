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
    let mut sockets = Sockets::connect(load.address, load.connections)?;
    let partition = |number| i32::try_from(number).unwrap_or(0) % load.partitions.max(1);
    let mut requests: Vec<FetchRequest> = (0..load.connections)
        .map(|number| FetchRequest::new((&load.topic, partition(number)), load.fetch_bytes, 0))
        .collect();
    let mut sent = vec![Instant::now(); load.connections];
    for (number, request) in requests.iter_mut().enumerate() {
        request.send(0, sockets.at(number)?.output());
        sockets.at(number)?.flush()?;
    }
    let mut measured = Measured::none();
    let mut drive = |duration: Duration, measured: &mut Measured| {
        let (until, mut readable) = (Instant::now() + duration, Vec::new());
        while Instant::now() < until {
            sockets.wait(Some(until), &mut readable)?;
            for number in readable.iter().copied() {
                let socket = sockets.at(number)?;
                let Some(frame) = socket.next_frame() else { continue };
                let batches = read_fetched(frame)?.unwrap_or_default();
                let held = count(batches, |_| ());
                let (now, bytes) = (Instant::now(), batches.len());
                measured.requests += 1;
                measured.messages += held.messages;
                measured.bytes += bytes as u64;
                if let (Some(request), Some(sent)) = (requests.get_mut(number), sent.get_mut(number)) {
                    measured.note(now.saturating_duration_since(*sent), 1);
                    *sent = now;
                    request.send(held.end.unwrap_or(0), socket.output());
                    socket.flush()?;
                }
            }
        }
        Ok::<_, io::Error>(())
    };
    drive(warm_up, &mut measured)?;
    edge();
    measured = Measured::none();
    let (began, cpu) = (Instant::now(), thread_cpu());
    drive(duration, &mut measured)?;
    let (elapsed, cpu) = (began.elapsed(), thread_cpu().saturating_sub(cpu));
    edge();
    Ok(Measured { elapsed, cpu, ..measured })
}
