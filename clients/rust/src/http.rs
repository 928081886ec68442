//! HTTP/1.1 over connections that stay open: as much of it as the objects need. `httparse` reads the heads.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::tls::{Tls, Wire};
use crate::wait::Cancel;

const CONNECT: Duration = Duration::from_secs(2);
const IDLE_PER_MEMBER_MAX: usize = 64;
const HEAD_BYTES_MAX: usize = 64 << 10;
const FIELDS_MAX: usize = 64;
const BODY_BYTES_MAX: usize = 64 << 20;

/// Fields of a request: names and values.
pub(crate) type Fields = Vec<(&'static str, String)>;

/// A request, written once to one member.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) fields: &'a Fields,
    pub(crate) body: &'a [u8],
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) position: Option<u64>,
    pub(crate) leader: Option<String>,
    stays: bool,
}

/// The open connections to all members.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    idle: Mutex<BTreeMap<String, Vec<Wire>>>,
    tls: Option<Tls>,
}

impl Connections {
    /// Encrypted, if it is said how.
    pub(crate) fn new(tls: Option<Tls>) -> Self {
        Self { idle: Mutex::default(), tls }
    }

    /// Sends a request to a member, and reads the response. A call that does not come to its end closes its connection.
    pub(crate) fn request(
        &self,
        member: &str,
        asked: &Asked<'_>,
        deadline: Instant,
        cancel: &Cancel,
    ) -> io::Result<Response> {
        let mut stream = self.take(member, deadline)?;
        let guard = cancel.guard(stream.socket())?;
        let response = converse(&mut stream, member, asked, deadline)?;
        drop(guard);
        if response.stays && !cancel.is_cancelled() {
            self.put(member, stream);
        }
        Ok(response)
    }

    /// A connection to a member that is at rest, or a new one.
    fn take(&self, member: &str, deadline: Instant) -> io::Result<Wire> {
        loop {
            let idle = self.idle().get_mut(member).and_then(Vec::pop);
            match idle {
                Some(stream) if is_open(stream.socket()) => return Ok(stream),
                Some(_) => {}
                None => return Wire::over(connect(member, deadline)?, self.tls.as_ref(), member, deadline),
            }
        }
    }

    fn put(&self, member: &str, stream: Wire) {
        let mut all = self.idle();
        let idle = all.entry(member.to_owned()).or_default();
        if idle.len() < IDLE_PER_MEMBER_MAX {
            idle.push(stream);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<Wire>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self) {
        self.idle().clear();
    }
}

/// Whether the other side has closed it, or sent what nobody asked for.
fn is_open(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| stream.peek(&mut [0]));
    stream.set_nonblocking(false).is_ok() && peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn connect(member: &str, deadline: Instant) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::NotFound, format!("`{member}` has no address"));
    for address in member.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(deadline)?.min(CONNECT)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

pub(crate) fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn converse(stream: &mut Wire, member: &str, asked: &Asked<'_>, deadline: Instant) -> io::Result<Response> {
    stream.socket().set_write_timeout(Some(left(deadline)?))?;
    let sent = stream.write_all(&written(member, asked)).and_then(|()| stream.flush());
    sent.map_err(|unsent| stream.why(unsent))?;
    let mut bytes = Vec::new();
    let (mut response, start, framing) = loop {
        if let Some(head) = head(&bytes)? {
            break head;
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(broken("a head that is too long"));
        }
        more(stream, &mut bytes, deadline)?;
    };
    bytes.drain(..start);
    response.body = match framing {
        Framing::Length(length) if length > BODY_BYTES_MAX => return Err(broken("a body that is too long")),
        Framing::Length(length) => {
            while bytes.len() < length {
                more(stream, &mut bytes, deadline)?;
            }
            bytes.truncate(length);
            bytes
        }
        Framing::Chunked => chunks(stream, bytes, deadline)?,
    };
    Ok(response)
}

fn written(member: &str, asked: &Asked<'_>) -> Vec<u8> {
    let Asked { method, target, fields, body } = asked;
    let mut lines = vec![format!("{method} {target} HTTP/1.1"), format!("Host: {member}")];
    lines.extend(fields.iter().map(|(name, value)| format!("{name}: {value}")));
    if !body.is_empty() {
        lines.push("Content-Type: application/json".into());
    }
    if !body.is_empty() || *method == "POST" || *method == "PUT" {
        lines.push(format!("Content-Length: {}", body.len()));
    }
    let mut bytes = (lines.join("\r\n") + "\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

enum Framing {
    Length(usize),
    Chunked,
}

/// The head of a response, how long it is, and what is behind it; nothing if it has not come yet.
fn head(bytes: &[u8]) -> io::Result<Option<(Response, usize, Framing)>> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut parsed = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(start) =
        parsed.parse(bytes).map_err(|error| broken(&error.to_string()))?
    else {
        return Ok(None);
    };
    let field = |name: &str| {
        let found = parsed.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok()
    };
    let framing = match (field("transfer-encoding"), field("content-length")) {
        (Some(coding), _) if coding.eq_ignore_ascii_case("chunked") => Framing::Chunked,
        (_, Some(length)) => {
            Framing::Length(length.trim().parse().map_err(|_| broken("a length that is none"))?)
        }
        _ => Framing::Length(0),
    };
    let response = Response {
        status: parsed.code.unwrap_or(0),
        body: Vec::new(),
        position: field("diwan-position").and_then(|position| position.parse().ok()),
        leader: field("diwan-leader").map(str::to_owned),
        stays: !field("connection").is_some_and(|said| said.eq_ignore_ascii_case("close")),
    };
    Ok(Some((response, start, framing)))
}

fn chunks(stream: &mut Wire, mut bytes: Vec<u8>, deadline: Instant) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        match httparse::parse_chunk_size(&bytes) {
            Err(_) => return Err(broken("a chunk that is none")),
            Ok(httparse::Status::Partial) => more(stream, &mut bytes, deadline)?,
            Ok(httparse::Status::Complete((start, size))) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                if size > BODY_BYTES_MAX - body.len() {
                    return Err(broken("a body that is too long"));
                }
                while bytes.len() < start + size + 2 {
                    more(stream, &mut bytes, deadline)?;
                }
                body.extend_from_slice(&bytes[start..start + size]);
                bytes.drain(..start + size + 2);
                if size == 0 {
                    return Ok(body);
                }
            }
        }
    }
}

/// Reads what has come.
fn more(stream: &mut Wire, bytes: &mut Vec<u8>, deadline: Instant) -> io::Result<()> {
    stream.socket().set_read_timeout(Some(left(deadline)?))?;
    let mut part = [0; 8 << 10];
    loop {
        match stream.read(&mut part) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes.extend_from_slice(&part[..count]);
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}
