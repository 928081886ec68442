//! One connection of the load: what it still has to send, and what it waits for.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use council_client_core::TLS_ALERT;
use council_wire::{ErrorCode, Frame, Reader, ReplyHeader, next_frame, xid};
use mio::net::TcpStream;

use super::opening::Opening;
use super::servers::Server;
use crate::stream::Stream;
use crate::{Access, ConnectFailure};

/// A reply may be as large as the largest value plus a header.
const FRAME_MAX: usize = 64 << 20;

/// One of a [`Runner`](super::Runner)'s connections, with its session.
pub struct Connection {
    pub(super) stream: Stream,
    unsent: Vec<u8>,
    partial: Vec<u8>,
    waiting: VecDeque<(i32, u64, Instant)>,
    next_xid: i32,
    /// What is left to be done before requests are sent.
    opening: Option<Box<Opening>>,
    /// It has asked for the end of its session: the server may close it once it owes nothing.
    pub(super) ending: bool,
}

/// What came.
pub enum Heard<'a> {
    /// A reply.
    Answer(Answer<'a>),
    /// A watch event, behind its header.
    Event(&'a [u8]),
}

/// A reply that came.
pub struct Answer<'a> {
    /// From when it counts.
    pub asked: Instant,
    /// The code of an error, 0 if there was none.
    pub error: i32,
    /// The caller's tag of the request.
    pub tag: u64,
    /// What is behind the header.
    pub body: &'a [u8],
}

impl Connection {
    /// Connects, and begins to open a session.
    pub(super) fn open(server: &Server, access: &Access) -> io::Result<Self> {
        let mut unsent = Vec::new();
        let opening = Opening::begin(server, access, &mut unsent)?;
        let stream = connect(server, access).map_err(|error| opening.failed(&error, false))?;
        Ok(Self {
            stream,
            unsent,
            partial: Vec::new(),
            waiting: VecDeque::new(),
            next_xid: 1,
            opening: Some(Box::new(opening)),
            ending: false,
        })
    }

    /// Whether it has its session and is authenticated.
    pub(super) const fn is_open(&self) -> bool {
        self.opening.is_none()
    }

    /// Queues a request that counts from `asked`; `request` appends it, under the number that it is given ([`append`]).
    ///
    /// [`append`]: super::append
    pub fn ask(&mut self, asked: Instant, request: impl FnOnce(i32, &mut Vec<u8>)) {
        self.ask_tagged(asked, 0, request);
    }

    /// As [`Self::ask`], with something that comes back with the answer.
    pub fn ask_tagged(&mut self, asked: Instant, tag: u64, request: impl FnOnce(i32, &mut Vec<u8>)) {
        let xid = self.next_xid;
        self.next_xid = xid.wrapping_add(1).max(1);
        request(xid, &mut self.unsent);
        self.waiting.push_back((xid, tag, asked));
    }

    /// Queues a request under a number that is not the connection's own.
    pub(super) fn ask_as(&mut self, xid: i32, asked: Instant, request: impl FnOnce(&mut Vec<u8>)) {
        request(&mut self.unsent);
        self.waiting.push_back((xid, 0, asked));
    }

    /// How many requests are not answered yet.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.waiting.len()
    }

    /// Takes `room` to queue into, if nothing is queued; called again after sending, gives it back if all was sent. Many
    /// connections that share their room stay within the processor's cache.
    pub(super) fn share(&mut self, room: &mut Vec<u8>) {
        if self.unsent.is_empty() {
            std::mem::swap(&mut self.unsent, room);
        }
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// The connection failed.
    pub fn send(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(sent) => {
                    self.unsent.drain(..sent);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // Encrypted bytes may wait even if nothing is queued.
        self.stream.flush()
    }

    /// Reads what there is and hands over each answer.
    pub(super) fn receive(&mut self, buffer: &mut [u8], mut heard: impl FnMut(Heard<'_>)) -> io::Result<()> {
        if self.is_open() {
            return self.receive_all(buffer, &mut heard);
        }
        // What was received may be due an answer: TLS is agreed upon, or SASL takes another step.
        let outcome = self.receive_all(buffer, &mut heard).and_then(|()| self.send());
        outcome.map_err(|error| match &self.opening {
            Some(opening) => opening.failed(&error, self.stream.is_handshaking()),
            None => error,
        })
    }

    fn receive_all(&mut self, buffer: &mut [u8], heard: &mut impl FnMut(Heard<'_>)) -> io::Result<()> {
        loop {
            match self.stream.read(buffer) {
                Ok(0) if self.ending && self.waiting.is_empty() => return Ok(()),
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the server closed a connection",
                    ));
                }
                Ok(count) => {
                    self.take(&buffer[..count], heard)?;
                    // Of what is encrypted more may have arrived: records come one by one.
                    if count < buffer.len() && self.stream.is_plain() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Hands over the frames in what came, where it lies: only a frame that was cut is copied, until its rest is there.
    fn take(&mut self, mut bytes: &[u8], heard: &mut impl FnMut(Heard<'_>)) -> io::Result<()> {
        while !self.partial.is_empty() && !bytes.is_empty() {
            let whole = match next_frame(&self.partial, FRAME_MAX) {
                Frame::Partial(length) => length.max(council_wire::FRAME_HEADER),
                Frame::Whole(frame) => council_wire::FRAME_HEADER + frame.len(),
                Frame::Refused(length) => return Err(self.refused(length)),
            };
            let (more, rest) = bytes.split_at(bytes.len().min(whole - self.partial.len()));
            self.partial.extend_from_slice(more);
            bytes = rest;
            let mut partial = std::mem::take(&mut self.partial);
            if let Frame::Whole(frame) = next_frame(&partial, FRAME_MAX) {
                self.frame(frame, heard)?;
                partial.clear();
            }
            self.partial = partial;
        }
        loop {
            match next_frame(bytes, FRAME_MAX) {
                Frame::Whole(frame) => {
                    bytes = &bytes[council_wire::FRAME_HEADER + frame.len()..];
                    self.frame(frame, heard)?;
                }
                Frame::Partial(_) => {
                    self.partial.extend_from_slice(bytes);
                    return Ok(());
                }
                Frame::Refused(length) => return Err(self.refused(length)),
            }
        }
    }

    fn frame(&mut self, frame: &[u8], heard: &mut impl FnMut(Heard<'_>)) -> io::Result<()> {
        if let Some(opening) = &mut self.opening {
            if opening.frame(frame, &mut self.unsent)? {
                self.opening = None;
            }
            return Ok(());
        }
        let mut reader = Reader::new(frame);
        let header = ReplyHeader::read(&mut reader).map_err(io::Error::other)?;
        if header.xid == xid::NOTIFICATION {
            heard(Heard::Event(reader.rest()));
            return Ok(());
        }
        if header.err != 0 && demands_user(header.err) {
            return Err(io::Error::other(ConnectFailure::Unauthenticated));
        }
        match self.waiting.pop_front() {
            Some((xid, tag, asked)) if xid == header.xid => {
                heard(Heard::Answer(Answer { asked, error: header.err, tag, body: reader.rest() }));
                Ok(())
            }
            other => Err(io::Error::other(format!("reply {} came, {other:?} was next", header.xid))),
        }
    }

    fn refused(&self, length: i32) -> io::Error {
        if self.is_open() {
            return io::Error::other(format!("a frame of {length} bytes"));
        }
        let is_alert = self.stream.is_plain() && length.to_be_bytes().starts_with(&TLS_ALERT);
        io::Error::other(if is_alert { ConnectFailure::ExpectsTls } else { ConnectFailure::Malformed })
    }
}

/// Whether an error says that the server serves no client that has not authenticated. It closes the connection, too.
fn demands_user(error: i32) -> bool {
    [ErrorCode::SessionClosedRequireSaslAuth, ErrorCode::AuthFailed].iter().any(|code| code.code() == error)
}

fn connect(server: &Server, access: &Access) -> io::Result<Stream> {
    let socket = std::net::TcpStream::connect(server.address)?;
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    Stream::new(TcpStream::from_std(socket), &server.host, access.tls.as_ref())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use council_wire::{Writer, end_frame, start_frame};

    use super::*;

    fn frame(xid: i32, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let at = start_frame(&mut out);
        ReplyHeader { xid, zxid: 1, err: 0 }.write(&mut Writer::new(&mut out));
        out.extend_from_slice(body);
        end_frame(&mut out, at);
        out
    }

    /// A connection that has its session.
    fn open(listener: &TcpListener) -> Connection {
        let server = Server::from(listener.local_addr().unwrap());
        let mut connection = Connection::open(&server, &Access::default()).unwrap();
        connection.opening = None;
        connection
    }

    #[test]
    fn answers_are_the_same_wherever_what_comes_is_cut() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bytes = [frame(1, b"one"), frame(xid::NOTIFICATION, b"event"), frame(2, b""), frame(3, b"three")]
            .concat();
        for size in 1..=bytes.len() {
            let mut connection = open(&listener);
            (1..=3).for_each(|tag| connection.ask_tagged(Instant::now(), tag, |_, _| {}));
            let mut came = Vec::new();
            for piece in bytes.chunks(size) {
                let heard = &mut |what: Heard<'_>| match what {
                    Heard::Answer(answer) => came.push((answer.tag, answer.body.to_vec())),
                    Heard::Event(body) => came.push((0, body.to_vec())),
                };
                connection.take(piece, heard).unwrap();
            }
            let all = [(1, &b"one"[..]), (0, b"event"), (2, b""), (3, b"three")];
            assert_eq!(came, all.map(|(tag, body)| (tag, body.to_vec())), "{size}");
            assert!(connection.outstanding() == 0 && connection.partial.is_empty());
        }
        let mut connection = open(&listener);
        assert!(connection.take(&[255], &mut |_| {}).is_ok());
        assert!(connection.take(&[0, 0, 0, 0], &mut |_| {}).is_err(), "a negative length, cut");
    }

    #[test]
    fn reply_that_demands_a_user_is_told_as_such() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        for (err, is_demand) in [(-124, true), (-115, true), (-101, false)] {
            let mut connection = open(&listener);
            connection.ask(Instant::now(), |_, _| {});
            let mut out = Vec::new();
            let at = start_frame(&mut out);
            ReplyHeader { xid: 1, zxid: 1, err }.write(&mut Writer::new(&mut out));
            end_frame(&mut out, at);
            let outcome = connection.take(&out, &mut |_| {});
            let text = outcome.map_or_else(|error| error.to_string(), |()| String::new());
            assert_eq!(text.contains("demands that clients authenticate"), is_demand, "{err}: {text}");
        }
    }
}
