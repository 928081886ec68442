//! A client that never gives up: one write at a time; when its connection breaks it takes its session to the next
//! server at once and sends the write again.
//!
//! It notes the latency of each write as a waiting caller would see it: from the first attempt to the acknowledgement.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use council_client::load::Nodes;
use council_wire::{ConnectRequest, ConnectResponse, OpCode, Reader, ReplyHeader, RequestHeader, Writer};
use tools_testbed::wire::{Received, Wire, framed};

use super::Failure;

/// The session it asks for. It looks for another server after two thirds of it without an answer, as clients do.
pub(super) const SESSION: Duration = Duration::from_secs(6);
const GIVE_UP: Duration = Duration::from_secs(4);
/// How long a connection may take: a stopped server accepts none.
const CONNECT_MAX: Duration = Duration::from_secs(1);
/// Between two writes, and before all servers are tried once more: how much load there is.
const THINK: Duration = Duration::from_millis(1);
/// How long an ensemble may give no answer before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes of a value.
const VALUE: usize = 1024;

/// A write that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) began: Instant,
    pub(super) done: Instant,
    /// How often it was sent.
    pub(super) sent: u32,
}

#[derive(Debug, Default)]
struct Noted {
    writes: Vec<Write>,
    expired: usize,
    refused: usize,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    noted: Mutex<Noted>,
}

/// See the module. Dropping it ends it.
pub(super) struct Patient {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Patient {
    /// Starts it on the first of these servers; the others follow in turn. It writes node `number` of those prepared.
    pub(super) fn start(addresses: Vec<SocketAddr>, number: u32) -> Self {
        let shared = Arc::new(Shared::default());
        let mut client = Client {
            addresses,
            place: 0,
            path: Nodes::path(number),
            session: (0, vec![0; 16]),
            wire: None,
            xid: 0,
            shared: Arc::clone(&shared),
        };
        let thread = thread::spawn(move || {
            while !client.is_stopped() {
                client.write();
                thread::sleep(THINK);
            }
        });
        Self { shared, thread: Some(thread) }
    }

    /// Waits for the first write that was sent after `since` to be acknowledged; when that was.
    pub(super) fn next_write(&self, since: Instant) -> Result<Instant, Failure> {
        loop {
            let found = self
                .noted()
                .writes
                .iter()
                .find(|write| write.began >= since || write.crosses(since))
                .copied();
            if let Some(write) = found {
                return Ok(write.done);
            }
            if since.elapsed() > PATIENCE {
                return Err(Failure(format!("no write was acknowledged for {PATIENCE:?}")));
            }
            thread::sleep(THINK);
        }
    }

    /// The writes that were acknowledged after `since`.
    pub(super) fn writes(&self, since: Instant) -> Vec<Write> {
        self.noted().writes.iter().filter(|write| write.done >= since).copied().collect()
    }

    /// Sessions that it lost.
    pub(super) fn expired(&self) -> usize {
        self.noted().expired
    }

    /// Writes that a server answered with an error.
    pub(super) fn refused(&self) -> usize {
        self.noted().refused
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        lock(&self.shared)
    }
}

impl Drop for Patient {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // It has nothing to say but what it has noted.
            let _ = thread.join();
        }
    }
}

impl Write {
    /// It was under way at that moment, and was sent once more afterwards.
    fn crosses(&self, moment: Instant) -> bool {
        self.sent > 1 && self.done > moment
    }

    pub(super) fn took(&self) -> Duration {
        self.done - self.began
    }
}

struct Client {
    addresses: Vec<SocketAddr>,
    place: usize,
    path: String,
    session: (i64, Vec<u8>),
    wire: Option<Wire>,
    xid: i32,
    shared: Arc<Shared>,
}

impl Client {
    fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::SeqCst)
    }

    /// One write, sent until it is acknowledged.
    fn write(&mut self) {
        let began = Instant::now();
        let mut sent = 0;
        while !self.is_stopped() {
            if self.wire.is_none() && self.connect().is_err() {
                self.next_server();
                continue;
            }
            sent += 1;
            match self.attempt() {
                Some(0) => {
                    let write = Write { began, done: Instant::now(), sent };
                    return lock(&self.shared).writes.push(write);
                }
                Some(_) => lock(&self.shared).refused += 1,
                None => {
                    self.wire = None;
                    self.next_server();
                }
            }
        }
    }

    fn next_server(&mut self) {
        self.place = (self.place + 1) % self.addresses.len();
        if self.place == 0 {
            thread::sleep(THINK);
        }
    }

    fn connect(&mut self) -> io::Result<()> {
        let mut wire = Wire::connect(self.addresses[self.place], CONNECT_MAX)?;
        let (session_id, password) = &self.session;
        let mut body = Vec::new();
        ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: 0,
            timeout_ms: i32::try_from(SESSION.as_millis()).map_err(io::Error::other)?,
            session_id: *session_id,
            password: Some(password),
            read_only: Some(false),
        }
        .write(&mut Writer::new(&mut body));
        wire.send(&framed(&body))?;
        let frame = self.receive(&mut wire, CONNECT_MAX).ok_or(io::ErrorKind::TimedOut)?;
        let response = ConnectResponse::read(&mut Reader::new(&frame)).map_err(io::Error::other)?;
        if response.timeout_ms <= 0 {
            lock(&self.shared).expired += 1;
            self.session = (0, vec![0; 16]);
            return Err(io::ErrorKind::NotConnected.into());
        }
        self.session = (response.session_id, response.password.unwrap_or_default().to_vec());
        self.wire = Some(wire);
        Ok(())
    }

    /// Sends the write; the answer's code, or nothing when there was none.
    fn attempt(&mut self) -> Option<i32> {
        let mut wire = self.wire.take()?;
        self.xid = self.xid.wrapping_add(1).max(1);
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        RequestHeader { xid: self.xid, operation: OpCode::SetData.code() }.write(&mut writer);
        writer.text(&self.path).buffer(Some(&[b'p'; VALUE])).i32(-1);
        wire.send(&framed(&body)).ok()?;
        let frame = self.receive(&mut wire, GIVE_UP)?;
        let header = ReplyHeader::read(&mut Reader::new(&frame)).ok()?;
        self.wire = Some(wire);
        Some(header.err)
    }

    /// The next frame, unless it does not come in time or the client is stopped first.
    fn receive(&self, wire: &mut Wire, longest: Duration) -> Option<Vec<u8>> {
        let until = Instant::now() + longest;
        loop {
            match wire.receive(Duration::from_millis(100).min(longest)) {
                Received::Frame(frame) => return Some(frame),
                Received::Silence if Instant::now() < until && !self.is_stopped() => {}
                _ => return None,
            }
        }
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Noted> {
    shared.noted.lock().unwrap_or_else(PoisonError::into_inner)
}
