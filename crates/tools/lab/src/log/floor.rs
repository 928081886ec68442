//! The floor under a broker that gives out messages: a server that finds a place in a file and sends the bytes from there to
//! the socket, by `sendfile`. It takes the load's Fetch requests for what they are, and knows nothing else of the protocol.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use log_wire::{Attributes, Batch, BatchBuilder, Producer};

use super::job::MESSAGE_BYTES;

/// What its file holds.
const BATCHES: u64 = 10_000;
const BATCH_MESSAGES: u64 = 50;
/// Behind the partition's offset in a Fetch of version 11: log start, bytes, nothing forgotten, no rack.
const BEHIND_OFFSET: usize = 8 + 4 + 4 + 2;
const REQUEST_BYTES_MAX: usize = 1 << 16;

/// Serves until standard input ends; gives its address to `listening` first.
///
/// # Errors
/// The address is taken, or the file cannot be written.
pub fn serve(address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let path = std::env::temp_dir().join(format!("lab-sendfile-{}", std::process::id()));
    let written = write(&path);
    let file = written.and_then(|batch_bytes| Ok((File::open(&path)?, batch_bytes)));
    // Its bytes stay until it is closed.
    let _ = fs::remove_file(&path);
    let (file, batch_bytes) = file?;
    let listener = TcpListener::bind(address)?;
    listening(listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Ok(file) = file.try_clone() else { continue };
            // One that fails or is closed is at its end.
            thread::spawn(move || answer(stream, &file, batch_bytes));
        }
    });
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

/// Writes all batches; gives the bytes of one.
fn write(path: &std::path::Path) -> io::Result<u64> {
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
fn head(request: &[u8], bytes: u64) -> Option<Vec<u8>> {
    // API, version, correlation id, client, and then the fields before the topic.
    let correlation_id = request.get(4..8)?;
    let client = usize::from(u16::from_be_bytes(*request.get(8..)?.first_chunk()?));
    let topic_at = 10 + client + 4 + 4 + 4 + 4 + 1 + 4 + 4 + 4;
    let topic_bytes = usize::from(u16::from_be_bytes(*request.get(topic_at..)?.first_chunk()?));
    let topic = request.get(topic_at..topic_at + 2 + topic_bytes)?;
    let mut head = vec![0; 4];
    head.extend(correlation_id);
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

fn answer(mut stream: TcpStream, file: &File, batch_bytes: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        request.resize(length, 0);
        stream.read_exact(&mut request)?;
        let (from, bytes) = asked(&request, batch_bytes).ok_or(io::ErrorKind::InvalidData)?;
        let head = head(&request, bytes).ok_or(io::ErrorKind::InvalidData)?;
        let more = rustix::net::SendFlags::MORE;
        let flags = if bytes > 0 { more } else { rustix::net::SendFlags::empty() };
        let mut sent = 0;
        while sent < head.len() {
            sent += rustix::net::send(&stream, head.get(sent..).unwrap_or_default(), flags)?;
        }
        let (mut at, end) = (from, from + bytes);
        while at < end {
            let left = (end - at) as usize;
            let sent = rustix::fs::sendfile(&stream, file, Some(&mut at), left)?;
            if sent == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use log_client::load::{Consume, consume};

    use super::*;

    #[test]
    fn bare_server_gives_the_load_whole_batches() {
        let (tell, told) = std::sync::mpsc::channel();
        // It ends with this program: standard input of tests may have ended already, and the listener serves on.
        thread::spawn(move || {
            serve("127.0.0.1:0".parse().expect("an address"), |at| tell.send(at).expect("heard"))
        });
        let address = told.recv_timeout(Duration::from_secs(20)).expect("it serves");
        let load = Consume {
            address,
            topic: String::from("t"),
            partitions: 1,
            connections: 1,
            fetch_bytes: 200_000,
        };
        let measured = consume(&load, Duration::ZERO, Duration::from_millis(50), || ()).expect("it answers");
        assert!(measured.requests > 0);
        assert_eq!(measured.messages % BATCH_MESSAGES, 0);
        assert!(measured.bytes <= measured.requests * 200_000);
    }
}
