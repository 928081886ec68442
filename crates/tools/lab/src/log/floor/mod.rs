//! The floor under a broker: a server that takes the load's requests for what they are, and knows nothing else of the protocol.
//! It does what cannot be left out: it receives, moves the bytes, and answers.

mod fetch;
mod produce;
mod resting;

use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use fetch::Batches;
use produce::Appended;

pub use resting::serve as serve_resting;

const PRODUCE: u16 = 0;
const FETCH: u16 = 1;
const INIT_PRODUCER_ID: u16 = 22;
const REQUEST_BYTES_MAX: usize = 1 << 20;

/// What every request begins with.
#[derive(Clone, Copy)]
struct Header {
    api: u16,
    correlation_id: [u8; 4],
    /// Where the client's name ends.
    body_at: usize,
}

impl Header {
    fn read(request: &[u8]) -> Option<Self> {
        let api = u16::from_be_bytes(*request.first_chunk()?);
        let correlation_id = *request.get(4..)?.first_chunk()?;
        let client = usize::from(u16::from_be_bytes(*request.get(8..)?.first_chunk()?));
        Some(Self { api, correlation_id, body_at: 10 + client })
    }
}

/// Serves until standard input ends; gives its address to `listening` first.
///
/// # Errors
/// The address is taken, or the file cannot be written.
pub fn serve(address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let port = address.port();
    let batches = Arc::new(Batches::write(port)?);
    listening(address);
    thread::spawn(move || {
        for (number, stream) in (0..).zip(listener.incoming().flatten()) {
            let batches = Arc::clone(&batches);
            // One that fails or is closed is at its end.
            thread::spawn(move || answer(stream, &batches, (port, number)));
        }
    });
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

fn answer(mut stream: TcpStream, batches: &Batches, (port, number): (u16, u64)) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut request, mut appended) = (Vec::new(), None);
    loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > REQUEST_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        request.resize(length, 0);
        stream.read_exact(&mut request)?;
        let header = Header::read(&request).ok_or(io::ErrorKind::InvalidData)?;
        match header.api {
            FETCH => batches.answer(&stream, header, &request)?,
            INIT_PRODUCER_ID => produce::answer_producer(&stream, header, number)?,
            PRODUCE => match &mut appended {
                Some(appended) => Appended::answer(appended, &stream, header, &request)?,
                None => appended.insert(Appended::create(port, number)?).answer(&stream, header, &request)?,
            },
            _ => return Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Sends all of it.
fn send_all(stream: impl std::os::fd::AsFd, bytes: &[u8], flags: rustix::net::SendFlags) -> io::Result<()> {
    let mut sent = 0;
    while sent < bytes.len() {
        sent += rustix::net::send(&stream, bytes.get(sent..).unwrap_or_default(), flags)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use log_client::load::{Consume, Pace, Produce, consume, produce};

    use super::fetch::BATCH_MESSAGES;
    use super::*;

    /// It ends with this program: standard input of tests may have ended already, and the listener serves on.
    fn served(is_resting: bool) -> SocketAddr {
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let (address, listening) =
                ("127.0.0.1:0".parse().expect("an address"), |at| tell.send(at).expect("heard"));
            if is_resting { serve_resting(address, listening) } else { serve(address, listening) }
        });
        told.recv_timeout(Duration::from_secs(20)).expect("it serves")
    }

    #[test]
    fn bare_servers_take_what_the_load_sends() {
        for is_resting in [false, true] {
            take_what_the_load_sends(served(is_resting));
        }
    }

    fn take_what_the_load_sends(address: SocketAddr) {
        let load = Produce {
            address,
            follows_leaders: false,
            topic: String::from("t"),
            partitions: 3,
            connections: 3,
            pace: Pace::Closed { outstanding: 5 },
            batch: 7,
            message_bytes: 100,
            acks: -1,
            is_idempotent: true,
        };
        let measured = produce(&load, Duration::ZERO, Duration::from_millis(50), || ()).expect("it answers");
        assert!(measured.total > 0);
        assert_eq!(measured.total % 7, 0);
    }

    #[test]
    fn bare_server_gives_the_load_whole_batches() {
        let load = Consume {
            address: served(false),
            topic: String::from("t"),
            partitions: 1,
            connections: 1,
            fetch_bytes: 200_000,
        };
        let measure =
            || consume(&load, Duration::ZERO, Duration::from_millis(50), || ()).expect("it answers");
        // On a machine that has much else to do nothing may come in that time.
        let measured = std::iter::repeat_with(measure).take(200).find(|measured| measured.requests > 0);
        let measured = measured.expect("it answers within ten seconds");
        assert_eq!(measured.messages % BATCH_MESSAGES, 0);
        assert!(measured.bytes <= measured.requests * 200_000);
    }
}
