//! The thread that owns the connection: finds a server, moves bytes, watches the clock.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jute::{FRAME_HEADER, Frame, next_frame};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::Error;
use crate::client::{Command, Mailbox, Status};
use crate::options::Options;
use crate::session::{Session, Submission};

/// The token of a wake-up by a handle.
pub(crate) const WAKE: Token = Token(0);
const SOCKET: Token = Token(1);

/// How long the server may take to say that the session is closed.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// The pause after all servers were tried once, doubled each time ...
const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// ... up to this.
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// A ping is sent at least this often.
const PING_MAX: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 64 * 1024;
/// A connection that was lost sooner counts as one more failure, so that a server that lets go of whoever comes is
/// not asked without a pause.
const LASTING: Duration = Duration::from_secs(1);

pub(crate) struct Driver {
    poll: Poll,
    mailbox: Arc<Mailbox>,
    session: Session,
    hosts: Hosts,
    connect_time: Duration,
    frame_bytes_max: usize,
    status: Status,
    link: Option<Link>,
    scratch: Vec<u8>,
    /// When a server is looked for again.
    retry_at: Instant,
    close_at: Option<Instant>,
}

/// One connection.
struct Link {
    stream: TcpStream,
    address: SocketAddr,
    /// Whether TCP has connected.
    open: bool,
    input: Vec<u8>,
    since: Instant,
    heard: Instant,
    sent: Instant,
}

/// The servers, tried one after the other.
struct Hosts {
    names: Vec<(String, u16)>,
    next: usize,
    addresses: Vec<SocketAddr>,
    tried: usize,
    backoff: Duration,
}

/// Why a connection is of no more use.
struct Broken;

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl Driver {
    pub(crate) fn new(
        poll: Poll,
        mailbox: Arc<Mailbox>,
        session: Session,
        names: Vec<(String, u16)>,
        options: &Options,
        status: Status,
    ) -> Self {
        let servers = u32::try_from(names.len()).unwrap_or(u32::MAX).max(1);
        Self {
            poll,
            mailbox,
            session,
            connect_time: (options.session_timeout / servers).max(Duration::from_secs(1)),
            hosts: Hosts::new(names),
            frame_bytes_max: options.frame_bytes_max,
            status,
            link: None,
            scratch: vec![0; READ_BYTES],
            retry_at: Instant::now(),
            close_at: None,
        }
    }

    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(8);
        while self.session.over().is_none() {
            let wait = self.deadline().saturating_duration_since(Instant::now());
            if let Err(error) = self.poll.poll(&mut events, Some(wait))
                && error.kind() != io::ErrorKind::Interrupted
            {
                break;
            }
            for command in self.mailbox.take() {
                self.command(command);
            }
            if events.iter().any(|event| event.token() == SOCKET) && self.receive().is_err() {
                self.lose();
            }
            self.turn();
        }
        self.session.end(Error::Closed);
        self.status.server(None);
        let error = self.session.over().cloned().unwrap_or(Error::Closed);
        for command in self.mailbox.finish(error) {
            self.command(command);
        }
    }

    /// What is due now.
    fn turn(&mut self) {
        let now = Instant::now();
        if self.session.over().is_some() {
            // The last words (a refused identity) are read; nothing is to be sent.
            return;
        }
        if self.close_at.is_some_and(|at| now >= at || self.link.is_none()) {
            return self.session.end(Error::Closed);
        }
        match &self.link {
            None if now >= self.retry_at => self.find(),
            Some(link) if now >= self.link_deadline(link) => self.lose(),
            Some(link) if self.session.is_up() && now >= link.sent + self.ping_time() => self.session.ping(),
            _ => {}
        }
        if self.flush().is_err() {
            self.lose();
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Submit(submission) => self.session.submit(submission),
            Command::AddAuth { scheme, credentials, completer } => {
                self.session.add_auth(scheme, credentials, completer);
            }
            Command::Local(action) => action(self.session.context()),
            Command::Disconnect => self.lose(),
            Command::Abandon => self.session.end(Error::Closed),
            Command::Close => self.close(),
        }
    }

    fn close(&mut self) {
        if !self.session.is_up() {
            return self.session.end(Error::Closed);
        }
        self.close_at = Some(Instant::now() + CLOSE_TIME);
        self.session.submit(Submission {
            opcode: jute::OpCode::CloseSession,
            body: Vec::new(),
            sink: Box::new(|_, context| context.closed = true),
        });
    }

    fn deadline(&self) -> Instant {
        let next = match &self.link {
            None => self.retry_at,
            Some(link) if self.session.is_up() => self.link_deadline(link).min(link.sent + self.ping_time()),
            Some(link) => self.link_deadline(link),
        };
        self.close_at.map_or(next, |at| at.min(next))
    }

    /// When a silent connection is given up: before a session is there, and while it is.
    fn link_deadline(&self, link: &Link) -> Instant {
        if self.session.is_up() {
            link.heard + self.session_time() * 2 / 3
        } else {
            link.since + self.connect_time
        }
    }

    fn session_time(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.session.timeout_ms()).unwrap_or(0))
    }

    fn ping_time(&self) -> Duration {
        (self.session_time() / 3).min(PING_MAX)
    }

    /// Begins to connect to the next server.
    fn find(&mut self) {
        let now = Instant::now();
        let Some(address) = self.hosts.next() else {
            self.session.unreachable();
            self.retry_at = now + self.hosts.new_round();
            return;
        };
        let Ok(mut stream) = TcpStream::connect(address) else { return };
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut stream, SOCKET, interest).is_ok() {
            let input = Vec::new();
            self.link = Some(Link { stream, address, open: false, input, since: now, heard: now, sent: now });
        }
    }

    fn lose(&mut self) {
        if let Some(link) = self.link.take() {
            self.status.server(None);
            self.session.lost();
            let now = Instant::now();
            if link.open && now < link.since + LASTING {
                self.retry_at = now + self.hosts.pause();
            } else {
                self.retry_at = now;
            }
            if now >= link.since + LASTING {
                self.hosts.backoff = BACKOFF_MIN;
            }
        }
    }

    fn receive(&mut self) -> Result<(), Broken> {
        let Some(link) = &mut self.link else { return Ok(()) };
        if !link.open {
            if let Some(error) = link.stream.take_error()? {
                return Err(error.into());
            }
            match link.stream.peer_addr() {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(()),
                Err(error) => return Err(error.into()),
            }
            // Small requests must not wait for each other.
            link.stream.set_nodelay(true)?;
            link.open = true;
            self.status.server(Some(link.address));
            self.session.begin();
        }
        loop {
            match link.stream.read(&mut self.scratch) {
                Ok(0) => return Err(Broken),
                Ok(count) => {
                    link.input.extend_from_slice(self.scratch.get(..count).unwrap_or_default());
                    link.heard = Instant::now();
                    consume(&mut self.session, &mut link.input, self.frame_bytes_max)?;
                    if self.session.is_up() {
                        self.hosts.found();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flush(&mut self) -> Result<(), Broken> {
        let Some(link) = self.link.as_mut().filter(|link| link.open) else { return Ok(()) };
        let out = self.session.out();
        let mut written = 0;
        let result = loop {
            let Some(rest) = out.get(written..).filter(|rest| !rest.is_empty()) else { break Ok(()) };
            match link.stream.write(rest) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error.into()),
            }
        };
        if written > 0 {
            out.drain(..written);
            link.sent = Instant::now();
        }
        result
    }
}

/// Hands all whole frames to the session.
fn consume(session: &mut Session, input: &mut Vec<u8>, limit: usize) -> Result<(), Broken> {
    let mut used = 0;
    loop {
        match next_frame(&input[used..], limit) {
            Frame::Whole(frame) => {
                used += FRAME_HEADER + frame.len();
                session.receive(frame).map_err(|_| Broken)?;
            }
            Frame::Partial(_) => break,
            Frame::Refused(_) => return Err(Broken),
        }
    }
    input.drain(..used);
    Ok(())
}

impl Hosts {
    fn new(names: Vec<(String, u16)>) -> Self {
        // Clients that start together should not all begin with the same server.
        let start = std::process::id() as usize % names.len().max(1);
        Self { names, next: start, addresses: Vec::new(), tried: 0, backoff: BACKOFF_MIN }
    }

    /// The next address of this round, if there is one.
    fn next(&mut self) -> Option<SocketAddr> {
        loop {
            if let Some(address) = self.addresses.pop() {
                return Some(address);
            }
            if self.tried == self.names.len() {
                return None;
            }
            self.tried += 1;
            let (name, port) = self.names.get(self.next)?;
            self.next = (self.next + 1) % self.names.len();
            let mut found: Vec<SocketAddr> =
                (name.as_str(), *port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
            // They are taken from the end.
            found.reverse();
            self.addresses = found;
        }
    }

    /// Nobody could be reached; how long to wait.
    fn new_round(&mut self) -> Duration {
        self.tried = 0;
        self.pause()
    }

    /// How long to wait after one more failure.
    fn pause(&mut self) -> Duration {
        let wait = self.backoff;
        self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
        wait
    }

    /// Somebody was reached.
    fn found(&mut self) {
        self.tried = 0;
        self.addresses.clear();
    }
}
