//! One connection of the load: what it still has to send, and what it waits for.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use jute::{ConnectRequest, Frame, Reader, ReplyHeader, Writer, end_frame, next_frame, start_frame, xid};
use mio::net::TcpStream;

/// A reply may be as large as the largest value plus a header.
const FRAME_MAX: usize = 64 << 20;

/// One of a [`Runner`](super::Runner)'s connections, with its session.
pub struct Connection {
    pub(super) stream: TcpStream,
    unsent: Vec<u8>,
    partial: Vec<u8>,
    waiting: VecDeque<(i32, u64, Instant)>,
    next_xid: i32,
    pub(super) connected: bool,
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
    /// What whoever asked wants to be reminded of.
    pub tag: u64,
    /// What is behind the header.
    pub body: &'a [u8],
}

impl Connection {
    /// Connects and asks for a session of a minute and a half, which is longer than any load is silent.
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::from_std({
            let stream = std::net::TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            stream
        });
        let mut unsent = Vec::new();
        let at = start_frame(&mut unsent);
        ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout_ms: 90_000,
            session_id: 0,
            password: Some(&[0; 16]),
            read_only: Some(false),
        }
        .write(&mut Writer::new(&mut unsent));
        end_frame(&mut unsent, at);
        Ok(Self {
            stream,
            unsent,
            partial: Vec::new(),
            waiting: VecDeque::new(),
            next_xid: 1,
            connected: false,
            ending: false,
        })
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
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what there is and hands over each answer.
    pub(super) fn receive(&mut self, buffer: &mut [u8], mut heard: impl FnMut(Heard<'_>)) -> io::Result<()> {
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
                    self.partial.extend_from_slice(&buffer[..count]);
                    self.answers(&mut heard)?;
                    if count < buffer.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn answers(&mut self, heard: &mut impl FnMut(Heard<'_>)) -> io::Result<()> {
        let mut used = 0;
        loop {
            match next_frame(&self.partial[used..], FRAME_MAX) {
                Frame::Partial(_) => break,
                Frame::Refused(length) => return Err(io::Error::other(format!("a frame of {length} bytes"))),
                Frame::Whole(frame) => {
                    used += jute::FRAME_HEADER + frame.len();
                    if !self.connected {
                        self.connected = true;
                        continue;
                    }
                    let mut reader = Reader::new(frame);
                    let header = ReplyHeader::read(&mut reader).map_err(io::Error::other)?;
                    if header.xid == xid::NOTIFICATION {
                        heard(Heard::Event(reader.rest()));
                        continue;
                    }
                    match self.waiting.pop_front() {
                        Some((xid, tag, asked)) if xid == header.xid => {
                            let body = reader.rest();
                            heard(Heard::Answer(Answer { asked, error: header.err, tag, body }));
                        }
                        other => {
                            return Err(io::Error::other(format!(
                                "reply {} came, {other:?} was next",
                                header.xid
                            )));
                        }
                    }
                }
            }
        }
        self.partial.drain(..used);
        Ok(())
    }
}
