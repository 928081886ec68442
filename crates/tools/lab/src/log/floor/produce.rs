//! The floor under a broker that takes messages: it writes what it gets to a file, with a system call for each request, and
//! answers.

use std::fs::{self, File};
use std::io;
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;

use super::{Header, send_all};

/// Behind so many bytes a file is written from its beginning again: they stay in the page cache, as with a broker.
pub(super) const FILE_BYTES: u64 = 64 << 20;
/// In a Produce of version 7, before the topic: no transaction, acks, timeout, one topic.
const BEFORE_TOPIC: usize = 2 + 2 + 4 + 4;
/// Between topic and batch: one partition, its number, the length of the batch.
const BEFORE_BATCH: usize = 4 + 4 + 4;

/// The file of a connection.
pub(super) struct Appended {
    file: File,
    end: u64,
}

impl Appended {
    /// An empty one.
    pub(super) fn create(port: u16, number: u64) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("lab-bare-{port}-{number}"));
        let file = File::create(&path);
        let _ = fs::remove_file(&path);
        Ok(Self { file: file?, end: 0 })
    }

    /// Answers a Produce of one batch for one partition.
    pub(super) fn answer(&mut self, stream: &TcpStream, header: Header, request: &[u8]) -> io::Result<()> {
        let (answer, batch) = taken(header, request, self.end).ok_or(io::ErrorKind::InvalidData)?;
        if self.end > FILE_BYTES {
            self.end = 0;
        }
        self.file.write_all_at(batch, self.end)?;
        self.end += batch.len() as u64;
        send_all(stream, &answer, rustix::net::SendFlags::empty())
    }
}

/// All of the answer to a Produce of one batch that is kept at `end`, and the batch.
pub(super) fn taken(header: Header, request: &[u8], end: u64) -> Option<(Vec<u8>, &[u8])> {
    let topic_at = header.body_at + BEFORE_TOPIC;
    let topic_bytes = usize::from(u16::from_be_bytes(*request.get(topic_at..)?.first_chunk()?));
    let batch_at = topic_at + 2 + topic_bytes + BEFORE_BATCH;
    let mut answer = vec![0; 4];
    answer.extend(header.correlation_id);
    // One topic with one partition, which has no error.
    answer.extend(1u32.to_be_bytes());
    answer.extend(request.get(topic_at..batch_at - 4)?);
    answer.extend([0; 2]);
    answer.extend(end.to_be_bytes());
    // No time, log start, throttling.
    answer.extend((-1i64).to_be_bytes());
    answer.extend([0; 8 + 4]);
    let length = u32::try_from(answer.len() - 4).ok()?;
    answer.get_mut(..4)?.copy_from_slice(&length.to_be_bytes());
    Some((answer, request.get(batch_at..)?))
}

/// Answers an InitProducerId of version 1.
pub(super) fn answer_producer(stream: &TcpStream, header: Header, id: u64) -> io::Result<()> {
    send_all(stream, &producer_answer(header, id), rustix::net::SendFlags::empty())
}

/// The answer to it.
pub(super) fn producer_answer(header: Header, id: u64) -> Vec<u8> {
    let mut answer = (4u32 + 4 + 2 + 8 + 2).to_be_bytes().to_vec();
    answer.extend(header.correlation_id);
    answer.extend([0; 4 + 2]);
    answer.extend(id.to_be_bytes());
    answer.extend([0; 2]);
    answer
}
