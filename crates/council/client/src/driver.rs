//! The thread that owns the connection: finds a server, moves bytes, watches the clock.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use council_wire::{FRAME_HEADER, Frame, next_frame};
use mio::{Events, Interest, Poll, Token};
use rustls::ClientConfig;

use crate::Error;
use crate::attempt::{Attempt, ConnectFailure, TLS_ALERT};
use crate::client::{Command, Mailbox};
use crate::hosts::{Hosts, Next};
use crate::link::Link;
use crate::options::Options;
use crate::sasl::entropy;
use crate::session::{Session, Submission};
use crate::status::Status;

/// The token of a wake-up by a handle.
pub(crate) const WAKE: Token = Token(0);
const SOCKET: Token = Token(1);

/// How long the server may take to say that the session is closed.
const CLOSE_TIME: Duration = Duration::from_secs(2);
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
    tls: Option<Arc<ClientConfig>>,
    link: Option<Link>,
    scratch: Vec<u8>,
    /// When a server is looked for again.
    retry_at: Instant,
    close_at: Option<Instant>,
}

/// Why a connection is of no more use.
struct Broken(ConnectFailure);

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self(ConnectFailure::of_io(&error))
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
            tls: options.access.tls.clone(),
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
            if events.iter().any(|event| event.token() == SOCKET)
                && let Err(Broken(failure)) = self.receive()
            {
                self.lose(failure);
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
            Some(link) if now >= self.link_deadline(link) => self.lose(ConnectFailure::TimedOut),
            Some(link) if self.session.is_up() && now >= link.sent + self.ping_time() => self.session.ping(),
            _ => {}
        }
        if let Err(Broken(failure)) = self.flush() {
            self.lose(failure);
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Submit(submission) => self.session.submit(submission),
            Command::AddAuth { scheme, credentials, completer } => {
                self.session.add_auth(scheme, credentials, completer);
            }
            Command::Local(action) => action(self.session.context()),
            Command::Disconnect => self.lose(ConnectFailure::Closed),
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
            opcode: council_wire::OpCode::CloseSession,
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
        match self.hosts.next() {
            Next::RoundOver => {
                self.session.unreachable();
                self.status.round_over();
                self.retry_at = Instant::now() + self.hosts.new_round();
            }
            Next::Unresolved(host, port, failure) => {
                self.status.failed(Attempt { host, port, address: None, failure });
            }
            Next::Dial(target) => {
                let attempt = |failure| Attempt {
                    host: target.host.clone(),
                    port: target.port,
                    address: Some(target.address),
                    failure,
                };
                let interest = Interest::READABLE | Interest::WRITABLE;
                let dialled = Link::dial(target.clone(), self.tls.as_ref()).and_then(|mut link| {
                    self.poll.registry().register(link.stream.socket(), SOCKET, interest)?;
                    Ok(link)
                });
                match dialled {
                    Ok(link) => self.link = Some(link),
                    Err(error) => self.status.failed(attempt(ConnectFailure::of_io(&error))),
                }
            }
        }
    }

    fn lose(&mut self, failure: ConnectFailure) {
        let Some(link) = self.link.take() else { return };
        let failure = match failure {
            ConnectFailure::Closed if link.stream.is_handshaking() && link.open => {
                ConnectFailure::ClosedInHandshake
            }
            other => other,
        };
        let was_up = self.session.is_up();
        self.status.server(None);
        self.session.lost();
        let now = Instant::now();
        let lasted = now >= link.since + LASTING;
        self.retry_at = if link.open && !lasted { now + self.hosts.pause() } else { now };
        if lasted {
            self.hosts.lasted();
        }
        if !was_up {
            let (host, port, address) = (link.target.host, link.target.port, Some(link.target.address));
            self.status.failed(Attempt { host, port, address, failure });
        }
    }

    fn receive(&mut self) -> Result<(), Broken> {
        let Some(link) = &mut self.link else { return Ok(()) };
        if !link.open {
            if !link.has_opened()? {
                return Ok(());
            }
            self.status.server(Some(link.target.address));
            self.session.begin(entropy()?);
        }
        loop {
            match link.stream.read(&mut self.scratch) {
                Ok(0) => return Err(Broken(ConnectFailure::Closed)),
                Ok(count) => {
                    link.input.extend_from_slice(self.scratch.get(..count).unwrap_or_default());
                    link.heard = Instant::now();
                    let is_alert = link.stream.is_plain() && link.input.starts_with(&TLS_ALERT);
                    if is_alert && !self.session.is_up() {
                        return Err(Broken(ConnectFailure::ExpectsTls));
                    }
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
        link.stream.flush()?;
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
                session.receive(frame).map_err(|_| Broken(ConnectFailure::Malformed))?;
            }
            Frame::Partial(_) => break,
            Frame::Refused(_) => return Err(Broken(ConnectFailure::Malformed)),
        }
    }
    input.drain(..used);
    Ok(())
}
