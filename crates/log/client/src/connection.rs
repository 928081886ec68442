//! One connection with a broker: requests go out, answers come back in their order.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use log_wire::messages::Field as _;
use log_wire::{Api, Malformed, Reader, Writer, end_frame, start_frame};
use rustls::ClientConfig;

use crate::call::Call;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// How long a connection is waited for, and each step of what it begins with.
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer is waited for beyond the time that a request gives the broker.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);
/// The longest answer that is taken, in bytes.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// At most so much is read at a time.
const READ_BYTES: usize = 64 << 10;

/// See the module.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    address: String,
    client_id: String,
    next: i32,
    /// How long an answer is waited for.
    patience: Duration,
    /// What came of the next answer, as long as that is not whole.
    partial: Vec<u8>,
}

impl Connection {
    /// Connects with a broker at `HOST:PORT`, encrypted if that is asked for.
    ///
    /// # Errors
    /// There is no such host, or it does not answer.
    pub fn open(address: &str, client_id: &str, tls: Option<&Arc<ClientConfig>>) -> Result<Self> {
        let failed = |source| Error::Connection { address: address.into(), source };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for resolved in address.to_socket_addrs().map_err(failed)? {
            match TcpStream::connect_timeout(&resolved, CONNECT) {
                Ok(socket) => {
                    socket.set_nodelay(true).map_err(failed)?;
                    socket.set_read_timeout(Some(CONNECT)).map_err(failed)?;
                    let stream = Stream::over(socket, address, tls).map_err(failed)?;
                    stream.set_read_timeout(ANSWER).map_err(failed)?;
                    let (address, client_id) = (address.into(), client_id.into());
                    let (patience, partial) = (ANSWER, Vec::new());
                    return Ok(Self { stream, address, client_id, next: 0, patience, partial });
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The connection fails, or the answer cannot be read.
    pub fn call<C: Call>(&mut self, request: &C) -> Result<C::Response> {
        self.send(request)?;
        self.receive::<C>()
    }

    /// Sends a request. Its answer is behind those of the requests before it.
    ///
    /// # Errors
    /// The connection fails.
    pub fn send<C: Call>(&mut self, request: &C) -> Result<()> {
        let mut frame = Vec::new();
        encode(request, (self.next, &self.client_id), &mut frame);
        self.next = self.next.wrapping_add(1);
        let sent = self.stream.write_all(&frame).and_then(|()| self.stream.flush());
        sent.map_err(|source| self.failed(source))
    }

    /// Waits for the next answer, to a request of that kind.
    ///
    /// # Errors
    /// The connection fails, or the answer cannot be read.
    pub fn receive<C: Call>(&mut self) -> Result<C::Response> {
        let answer = self.frame().map_err(|source| self.failed(source))?;
        self.read::<C>(answer.as_deref())
    }

    /// Waits for the next answer, no longer than that. Nothing if it is not there by then: it can be waited for again.
    ///
    /// # Errors
    /// The connection fails, or the answer cannot be read.
    pub fn receive_within<C: Call>(&mut self, within: Duration) -> Result<Option<C::Response>> {
        let patience = self.patience;
        self.set_patience(within.min(patience))?;
        let frame = self.frame();
        self.set_patience(patience)?;
        match frame {
            Ok(answer) => self.read::<C>(answer.as_deref()).map(Some),
            Err(error) if is_timeout(&error) => Ok(None),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// The bytes of the next answer; nothing if it would be too long. If that fails because of the time, what has come by then is
    /// kept.
    fn frame(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.fill(4)?;
        let length = self.partial.first_chunk().map_or(-1, |length| i32::from_be_bytes(*length));
        let length = usize::try_from(length).ok().filter(|length| *length <= ANSWER_BYTES_MAX);
        let Some(length) = length else { return Ok(None) };
        self.fill(4 + length)?;
        Ok(Some(std::mem::take(&mut self.partial).split_off(4)))
    }

    /// Reads until so much of the next answer is there.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        while self.partial.len() < length {
            let had = self.partial.len();
            self.partial.resize(length.min(had + READ_BYTES), 0);
            let read = self.stream.read(self.partial.get_mut(had..).unwrap_or_default());
            self.partial.truncate(had + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn read<C: Call>(&self, answer: Option<&[u8]>) -> Result<C::Response> {
        let answer = answer.ok_or_else(|| self.malformed("it is too long"))?;
        decode::<C>(answer).map_err(|malformed| self.malformed(malformed.0))
    }

    /// How long an answer is waited for from now on.
    ///
    /// # Errors
    /// The system refuses.
    pub fn set_patience(&mut self, patience: Duration) -> Result<()> {
        self.patience = patience.max(Duration::from_millis(1));
        self.stream.set_read_timeout(self.patience).map_err(|source| self.failed(source))
    }

    pub(crate) fn failed(&self, source: io::Error) -> Error {
        let source = match source.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(io::ErrorKind::ConnectionReset, "the broker has closed it without an answer")
            }
            _ if is_timeout(&source) => io::Error::new(io::ErrorKind::TimedOut, "there is no answer"),
            _ => source,
        };
        Error::Connection { address: self.address.clone(), source }
    }

    fn malformed(&self, what: &'static str) -> Error {
        Error::Malformed { address: self.address.clone(), what }
    }
}

/// Appends a request as a frame with that correlation id and name of the client.
pub(crate) fn encode<C: Call>(request: &C, (correlation_id, client_id): (i32, &str), out: &mut Vec<u8>) {
    let flexible = is_flexible::<C>();
    let start = start_frame(out);
    let mut header = Writer::new(out, false);
    header.i16(C::KEY as i16).i16(C::VERSION).i32(correlation_id).text(client_id);
    if flexible {
        Writer::new(out, true).no_tagged_fields();
    }
    request.write(&mut Writer::new(out, flexible), C::VERSION);
    end_frame(out, start);
}

/// Reads the content of a frame as the answer to a request of that kind.
pub(crate) fn decode<C: Call>(answer: &[u8]) -> std::result::Result<C::Response, Malformed> {
    let flexible = is_flexible::<C>();
    let mut header = Reader::new(answer, flexible);
    header.i32()?;
    header.tagged_fields()?;
    C::Response::read(&mut Reader::new(header.rest(), flexible), C::VERSION)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn is_flexible<C: Call>() -> bool {
    Api::find(C::KEY as i16).is_some_and(|api| api.is_flexible(C::VERSION))
}
