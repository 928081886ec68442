//! Reads all of a topic, and counts what is there: what a load was told is compared with it.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use log_wire::Batch;

use super::leaders::leaders;
use super::poll::Sockets;
use super::requests::{FetchRequest, read_fetched};
use crate::cluster::Cluster;
use crate::topics::End;

const FETCH_BYTES: i32 = 4 << 20;

/// What a topic holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recounted {
    /// Records, without those of control batches.
    pub messages: u64,
    /// Batches, control batches among them.
    pub batches: u64,
    /// Bytes of all batches.
    pub bytes: u64,
}

/// Reads the partitions of a topic from their beginning to their end, one after the other, each from its leader. Each batch must follow the one
/// before it, and have the checksum that it says. Records that no transaction has committed count, too.
///
/// # Errors
/// A connection failed, an answer was an error, nothing came for `patience`, or a batch is not what it must be.
pub fn recount(bootstrap: &str, topic: &str, partitions: i32, patience: Duration) -> io::Result<Recounted> {
    let mut cluster = Cluster::connect(bootstrap, "log-load").map_err(io::Error::other)?;
    cluster.topic(topic, false).map_err(io::Error::other)?;
    let all: Vec<i32> = (0..partitions).collect();
    let ends = cluster.offsets(topic, &all, End::Latest).map_err(io::Error::other)?;
    let leaders = leaders(&cluster, topic, partitions)?;
    let distinct: BTreeSet<_> = leaders.iter().copied().collect();
    let mut reading = Reading {
        sockets: Sockets::connect_each(distinct.iter().copied())?,
        request: FetchRequest::new((topic, 0), FETCH_BYTES, 0),
        patience,
        counted: Recounted::default(),
    };
    for (partition, leader) in all.into_iter().zip(leaders) {
        let socket = distinct.iter().position(|known| *known == leader).unwrap_or(usize::MAX);
        reading.partition((partition, socket), ends.get(&partition).copied().unwrap_or(0))?;
    }
    Ok(reading.counted)
}

struct Reading {
    /// One for each broker that leads.
    sockets: Sockets,
    request: FetchRequest,
    patience: Duration,
    counted: Recounted,
}

impl Reading {
    fn partition(&mut self, (partition, number): (i32, usize), end: i64) -> io::Result<()> {
        self.request.set_partition(partition);
        let mut offset = 0;
        let mut since = Instant::now();
        while offset < end {
            let (from, patience) = (offset, self.patience);
            let socket = self.sockets.at(number)?;
            self.request.send(offset, socket.output());
            socket.flush()?;
            let frame = next_frame(&mut self.sockets, number, since + patience)?;
            let gone = || io::Error::other(format!("offset {from} of partition {partition} is gone"));
            let batches = read_fetched(frame)?.ok_or_else(gone)?;
            offset = count(batches, offset, &mut self.counted)
                .map_err(|what| io::Error::other(format!("partition {partition}: {what}")))?;
            if offset > from {
                since = Instant::now();
            } else if since.elapsed() >= patience {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("partition {partition} ends at {end}, and nothing is read at {offset}"),
                ));
            }
        }
        Ok(())
    }
}

fn next_frame(sockets: &mut Sockets, number: usize, until: Instant) -> io::Result<&[u8]> {
    let mut readable = Vec::new();
    while !sockets.at(number)?.has_frame() {
        if Instant::now() >= until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the broker does not answer"));
        }
        sockets.wait(Some(until), &mut readable)?;
    }
    sockets.at(number)?.next_frame().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Counts whole batches from that offset on; the first may begin before it. Gives the offset behind the last one.
fn count(mut bytes: &[u8], from: i64, counted: &mut Recounted) -> Result<i64, String> {
    let mut next = from;
    // What follows the last whole batch was cut off by the limit of the answer.
    while let Ok((batch, rest)) = Batch::read(bytes) {
        batch.verify().map_err(|error| format!("the batch at {}: {error:?}", batch.base_offset()))?;
        if batch.base_offset() != next {
            return Err(format!("a batch begins at {} instead of {next}", batch.base_offset()));
        }
        next = batch.last_offset() + 1;
        counted.batches += 1;
        counted.bytes += (bytes.len() - rest.len()) as u64;
        if !batch.attributes().is_control() {
            counted.messages += u64::from(batch.count().unsigned_abs());
        }
        bytes = rest;
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use log_wire::{Attributes, BatchBuilder, Producer};

    use super::*;

    fn batch(offset: i64, messages: usize, attributes: i16) -> Vec<u8> {
        let mut builder = BatchBuilder::new(Attributes(attributes), Producer::NONE);
        (0..messages).for_each(|_| builder.push(1, None, Some(b"value"), &[]));
        let mut bytes = builder.finish();
        Batch::assign(&mut bytes, offset, 0);
        bytes
    }

    #[test]
    fn recount_counts_records_and_not_control_batches() {
        let bytes = [batch(7, 3, 0), batch(10, 1, 0x30), batch(11, 2, 0)].concat();
        let mut counted = Recounted::default();
        assert_eq!(count(&bytes[..bytes.len() - 1], 7, &mut counted), Ok(11), "the last one was cut off");
        assert_eq!((counted.messages, counted.batches), (3, 2));
        assert_eq!(count(&batch(11, 2, 0), 11, &mut counted), Ok(13));
        assert_eq!(counted.bytes, bytes.len() as u64);
    }

    #[test]
    fn recount_finds_gaps_and_damaged_batches() {
        let gap = [batch(0, 2, 0), batch(3, 1, 0)].concat();
        assert!(count(&gap, 0, &mut Recounted::default()).is_err_and(|what| what.contains("instead of 2")));
        let mut damaged = batch(0, 2, 0);
        *damaged.last_mut().expect("a byte") ^= 1;
        assert!(count(&damaged, 0, &mut Recounted::default()).is_err());
    }
}
