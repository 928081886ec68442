//! A connection to the server of names: messages behind their lengths, several under way at once (RFC 7766).
//!
//! It is bounded in what it may have under way and unsent: beyond, it is not read until answers are out. It is closed when it
//! is silent, when it sends what nobody asks, and when it does not take its answers.

use std::io::{self, Read as _, Write as _};

use base::MonoTime;
use mio::net::TcpStream;

/// Longer queries are not read: the connection is closed.
const QUERY_BYTES_MAX: usize = 4_096;
/// Queries under way.
const UNDER_WAY_MAX: usize = 16;
/// Bytes of answers that are not sent.
const UNSENT_BYTES_MAX: usize = 256 << 10;
/// How long it may be without a whole query, or without taking anything of an answer, milliseconds.
pub(super) const IDLE_MS: u64 = 10_000;

/// It is to be closed.
pub(super) struct Closed;

/// See the module.
pub(super) struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    output: Vec<u8>,
    under_way: usize,
    /// When something whole came, or went, last.
    alive: MonoTime,
    /// The client sends no more; what it asked is answered.
    ended: bool,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, now: MonoTime) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        Self { stream, input, output, under_way: 0, alive: now, ended: false }
    }

    pub(super) const fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    pub(super) const fn deadline(&self) -> MonoTime {
        self.alive.plus_ms(IDLE_MS)
    }

    /// Reads what has come, and gives the queries in it.
    pub(super) fn read(&mut self, now: MonoTime) -> Result<Vec<Vec<u8>>, Closed> {
        let mut queries = Vec::new();
        loop {
            self.cut(&mut queries, now)?;
            if self.is_full(queries.len()) || self.ended {
                break;
            }
            let mut bytes = [0; 2_048];
            match self.stream.read(&mut bytes) {
                Ok(0) => self.ended = true,
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Closed),
            }
        }
        self.under_way += queries.len();
        self.unless_done().map(|()| queries)
    }

    /// An answer goes out as soon as it can.
    pub(super) fn answer(&mut self, answer: &[u8], now: MonoTime) -> Result<(), Closed> {
        self.under_way = self.under_way.saturating_sub(1);
        // Every answer is shorter: the codec's longest is this.
        let length = u16::try_from(answer.len()).map_err(|_| Closed)?;
        self.output.extend_from_slice(&length.to_be_bytes());
        self.output.extend_from_slice(answer);
        self.write(now)
    }

    /// Sends what waits.
    pub(super) fn write(&mut self, now: MonoTime) -> Result<(), Closed> {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(0) => return Err(Closed),
                Ok(count) => {
                    self.output.drain(..count);
                    self.alive = now;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Closed),
            }
        }
        self.unless_done()
    }

    /// Takes whole queries from what has come.
    fn cut(&mut self, queries: &mut Vec<Vec<u8>>, now: MonoTime) -> Result<(), Closed> {
        while !self.is_full(queries.len())
            && let Some((length, behind)) = self.input.split_first_chunk::<2>()
        {
            let length = usize::from(u16::from_be_bytes(*length));
            if length == 0 || length > QUERY_BYTES_MAX {
                return Err(Closed);
            }
            let Some(query) = behind.get(..length) else { break };
            queries.push(query.to_vec());
            self.input.drain(..2 + length);
            self.alive = now;
        }
        Ok(())
    }

    fn is_full(&self, more: usize) -> bool {
        self.under_way + more >= UNDER_WAY_MAX || self.output.len() >= UNSENT_BYTES_MAX
    }

    /// Nothing is left to be done for a client that sends no more. A query that is cut off does not count.
    fn unless_done(&self) -> Result<(), Closed> {
        let has_whole = self
            .input
            .split_first_chunk::<2>()
            .is_some_and(|(length, behind)| behind.len() >= usize::from(u16::from_be_bytes(*length)));
        let is_done = self.ended && self.under_way == 0 && self.output.is_empty() && !has_whole;
        if is_done { Err(Closed) } else { Ok(()) }
    }
}
