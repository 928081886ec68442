//! A floor for many producers: one thread that rests, and then takes all requests that came meanwhile at once. It writes them
//! to one file with one system call, and answers each connection once. Each request waits for its rest. As in a log, what is
//! written is new: a file that is full is followed by an empty one, and its bytes are kept for a while.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileExt as _;
use std::thread;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::produce::{self, FILE_BYTES};
use super::{Header, INIT_PRODUCER_ID, PRODUCE, REQUEST_BYTES_MAX};

/// From the end of a turn to the next.
const REST: Duration = Duration::from_micros(500);
/// What is read from a connection in a turn.
const READ_BYTES: usize = 256 << 10;
/// Of files that are full: about as much as the load of a point sends.
const FILES_KEPT: usize = 32;

struct Connection {
    stream: TcpStream,
    /// What was read and is not a whole request yet.
    input: Vec<u8>,
    /// More may be there than was read.
    is_readable: bool,
}

/// Serves until standard input ends; gives its address to `listening` first.
///
/// # Errors
/// The address is taken, or the file cannot be made.
pub fn serve(address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let kept = Kept::create(address.port())?;
    let mut server = Resting { kept, connections: Vec::new(), poll: Poll::new()?, listener };
    listening(address);
    thread::spawn(move || -> io::Result<()> {
        let (mut events, mut buffer) = (Events::with_capacity(1024), vec![0; READ_BYTES]);
        loop {
            server.turn(&mut events, &mut buffer)?;
            thread::sleep(REST);
        }
    });
    io::stdin().read_to_end(&mut Vec::new()).map(drop)
}

/// What was written last, in files that are removed already: they end with the last handle.
struct Kept {
    port: u16,
    full: VecDeque<File>,
    file: File,
    /// Where the next bytes go in `file`.
    end: u64,
}

impl Kept {
    fn create(port: u16) -> io::Result<Self> {
        Ok(Self { port, full: VecDeque::new(), file: Self::empty(port)?, end: 0 })
    }

    fn empty(port: u16) -> io::Result<File> {
        let path = std::env::temp_dir().join(format!("lab-resting-{port}"));
        let file = File::create(&path);
        let _ = fs::remove_file(&path);
        file
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.end > FILE_BYTES {
            self.full.push_back(std::mem::replace(&mut self.file, Self::empty(self.port)?));
            self.end = 0;
            if self.full.len() > FILES_KEPT {
                self.full.pop_front();
            }
        }
        self.file.write_all_at(bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }
}

struct Resting {
    kept: Kept,
    connections: Vec<Option<Connection>>,
    poll: Poll,
    listener: TcpListener,
}

impl Resting {
    fn turn(&mut self, events: &mut Events, buffer: &mut [u8]) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let mut stream = TcpStream::from_std(stream);
            self.poll.registry().register(&mut stream, Token(self.connections.len()), Interest::READABLE)?;
            self.connections.push(Some(Connection { stream, input: Vec::new(), is_readable: true }));
        }
        self.poll.poll(events, Some(Duration::ZERO))?;
        for event in &*events {
            if let Some(Some(connection)) = self.connections.get_mut(event.token().0) {
                connection.is_readable = true;
            }
        }
        let (mut batches, mut answers) = (Vec::new(), Vec::new());
        for (number, place) in self.connections.iter_mut().enumerate() {
            let Some(connection) = place.as_mut().filter(|connection| connection.is_readable) else {
                continue;
            };
            let mut answer = Vec::new();
            let end = self.kept.end + batches.len() as u64;
            match connection.take(buffer, end, number as u64, &mut batches, &mut answer) {
                // It is closed, or says what this server does not know.
                Err(_) => *place = None,
                Ok(()) => answers.push((number, answer)),
            }
        }
        self.kept.append(&batches)?;
        for (number, answer) in answers {
            if let Some(Some(connection)) = self.connections.get_mut(number) {
                super::send_all(&connection.stream, &answer, rustix::net::SendFlags::empty())?;
            }
        }
        Ok(())
    }
}

impl Connection {
    /// Reads once, and takes the whole requests: their batches to be written at `end`, and their answers.
    fn take(
        &mut self,
        buffer: &mut [u8],
        end: u64,
        id: u64,
        batches: &mut Vec<u8>,
        answers: &mut Vec<u8>,
    ) -> io::Result<()> {
        let read = match self.stream.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        self.is_readable = read == buffer.len();
        self.input.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let mut taken = 0;
        while let Some(request) = whole_request(self.input.get(taken..).unwrap_or_default())? {
            let header = Header::read(request).ok_or(io::ErrorKind::InvalidData)?;
            match header.api {
                INIT_PRODUCER_ID => answers.extend(produce::producer_answer(header, id)),
                PRODUCE => {
                    let known = produce::taken(header, request, end).ok_or(io::ErrorKind::InvalidData)?;
                    answers.extend(known.0);
                    batches.extend_from_slice(known.1);
                }
                _ => return Err(io::ErrorKind::Unsupported.into()),
            }
            taken += 4 + request.len();
        }
        self.input.drain(..taken);
        Ok(())
    }
}

/// The first request without its length, if it is whole.
fn whole_request(input: &[u8]) -> io::Result<Option<&[u8]>> {
    let Some(length) = input.first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if length > REQUEST_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(input.get(4..4 + length))
}
