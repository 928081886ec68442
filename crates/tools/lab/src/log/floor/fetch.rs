//! The floor under a broker that gives out messages: it finds a place in a file and sends the bytes from there to the socket,
//! by `sendfile`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::net::TcpStream;
use std::path::Path;

use log_wire::{Attributes, Batch, BatchBuilder, Producer};

use super::{Header, send_all};
use crate::log::job::MESSAGE_BYTES;

/// What its file holds.
const BATCHES: u64 = 10_000;
pub(super) const BATCH_MESSAGES: u64 = 50;
/// Behind the partition's offset in a Fetch of version 11: log start, bytes, nothing forgotten, no rack.
const BEHIND_OFFSET: usize = 8 + 4 + 4 + 2;

/// A file full of batches.
pub(super) struct Batches {
    file: File,
    batch_bytes: u64,
}

impl Batches {
    /// Writes all of them, for the server of that port.
    pub(super) fn write(port: u16) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("lab-bare-{port}"));
        let written = write(&path);
        let batches = written.and_then(|batch_bytes| Ok(Self { file: File::open(&path)?, batch_bytes }));
        // Its bytes stay until it is closed.
        let _ = fs::remove_file(&path);
        batches
    }

    /// Answers a Fetch.
    pub(super) fn answer(&self, stream: &TcpStream, header: Header, request: &[u8]) -> io::Result<()> {
        let (from, bytes) = asked(request, self.batch_bytes).ok_or(io::ErrorKind::InvalidData)?;
        let head = head(header, request, bytes).ok_or(io::ErrorKind::InvalidData)?;
        let more = rustix::net::SendFlags::MORE;
        send_all(stream, &head, if bytes > 0 { more } else { rustix::net::SendFlags::empty() })?;
        let (mut at, end) = (from, from + bytes);
        while at < end {
            let left = (end - at) as usize;
            let sent = rustix::fs::sendfile(stream, &self.file, Some(&mut at), left)?;
            if sent == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

/// Writes all batches; gives the bytes of one.
fn write(path: &Path) -> io::Result<u64> {
    let mut batch = BatchBuilder::new(Attributes(0), Producer::NONE);
    let value = [b'x'; MESSAGE_BYTES];
    (0..BATCH_MESSAGES).for_each(|_| batch.push(0, None, Some(&value), &[]));
    let mut batch = batch.finish();
    let mut file = BufWriter::new(File::create(path)?);
    for number in 0..BATCHES {
        Batch::assign(&mut batch, (number * BATCH_MESSAGES) as i64, 0);
        file.write_all(&batch)?;
    }
    file.into_inner()?.sync_all()?;
    Ok(batch.len() as u64)
}

/// What a request asks for: from which byte, and how many.
fn asked(request: &[u8], batch_bytes: u64) -> Option<(u64, u64)> {
    let at = request.len().checked_sub(BEHIND_OFFSET + 8)?;
    let (offset, rest) = request.get(at..)?.split_first_chunk::<8>()?;
    let most = rest.get(8..)?.first_chunk::<4>()?;
    let batch = u64::from_be_bytes(*offset) / BATCH_MESSAGES;
    let batches = u64::from(u32::from_be_bytes(*most)) / batch_bytes;
    let count = batches.max(1).min(BATCHES.saturating_sub(batch));
    Some((batch.min(BATCHES) * batch_bytes, count * batch_bytes))
}

/// All of an answer to Fetch, version 11, before the batches.
fn head(header: Header, request: &[u8], bytes: u64) -> Option<Vec<u8>> {
    // The fields before the topic.
    let topic_at = header.body_at + 4 + 4 + 4 + 4 + 1 + 4 + 4 + 4;
    let topic_bytes = usize::from(u16::from_be_bytes(*request.get(topic_at..)?.first_chunk()?));
    let topic = request.get(topic_at..topic_at + 2 + topic_bytes)?;
    let mut head = vec![0; 4];
    head.extend(header.correlation_id);
    // Throttling, error, session, one topic.
    head.extend([0; 4 + 2 + 4]);
    head.extend(1u32.to_be_bytes());
    head.extend(topic);
    // One partition, which is 0 and has no error.
    head.extend(1u32.to_be_bytes());
    head.extend([0; 4 + 2]);
    let end = BATCHES * BATCH_MESSAGES;
    head.extend(end.to_be_bytes());
    head.extend(end.to_be_bytes());
    head.extend(0u64.to_be_bytes());
    // Nothing aborted, no other replica.
    head.extend(0u32.to_be_bytes());
    head.extend((-1i32).to_be_bytes());
    head.extend(u32::try_from(bytes).ok()?.to_be_bytes());
    let length = u32::try_from(head.len() as u64 - 4 + bytes).ok()?;
    head.get_mut(..4)?.copy_from_slice(&length.to_be_bytes());
    Some(head)
}
