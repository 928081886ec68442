//! Many connections on one poll.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use council_wire::OpCode;
use mio::{Events, Interest, Poll, Token};

use super::alarm::Alarm;
use super::connection::{Connection, Heard};
use super::limits;
use super::script::append;
use super::servers::Servers;

/// How long a server may be silent while it owes an answer, unless told otherwise.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How long a server may be silent, and whether the user has stopped the load.
#[derive(Clone, Debug)]
pub struct Patience {
    /// While a server owes an answer.
    pub silence: Duration,
    /// Set when all is to end at once.
    pub stop: Arc<AtomicBool>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { silence: PATIENCE, stop: Arc::default() }
    }
}

impl Patience {
    /// Whether to go on.
    ///
    /// # Errors
    /// The user has stopped the load.
    pub fn check(&self) -> io::Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(io::Error::other("stopped")),
            false => Ok(()),
        }
    }
}

/// Connections opened before their sessions are waited for: servers close those that ask for none within ten seconds.
const CONNECTING_MAX: usize = 250;
/// The alarm's token: no connection's.
const ALARM: Token = Token(usize::MAX - 1);
/// A longer wait may be cut to the poll's milliseconds.
const FINE_WAIT_MAX: Duration = Duration::from_millis(100);

/// Connections, each with its session.
pub struct Runner {
    poll: Poll,
    events: Events,
    alarm: Alarm,
    patience: Patience,
    /// The connections, in the order in which they were opened.
    pub connections: Vec<Connection>,
    buffer: Vec<u8>,
}

impl Runner {
    /// Opens connections, to each address in turn, and waits until each has its session.
    ///
    /// # Errors
    /// A connection failed or was closed.
    pub fn connect(addresses: &[SocketAddr], connections: usize) -> io::Result<Self> {
        Self::connect_patient(&addresses.into(), connections, &Patience::default())
    }

    /// Opens connections, to each server in turn, and waits until each has its session and is authenticated.
    ///
    /// # Errors
    /// A connection failed or was closed, a server refused the user, or `patience` is at its end.
    pub fn connect_patient(servers: &Servers, connections: usize, patience: &Patience) -> io::Result<Self> {
        limits::allow_sockets(connections)?;
        let poll = Poll::new()?;
        let alarm = Alarm::new(poll.registry(), ALARM)?;
        let mut runner = Self {
            poll,
            events: Events::with_capacity(1024),
            alarm,
            patience: patience.clone(),
            connections: Vec::with_capacity(connections),
            buffer: vec![0; 256 << 10],
        };
        while runner.connections.len() < connections {
            let from = runner.connections.len();
            for place in from..connections.min(from + CONNECTING_MAX) {
                let server = &servers.list[place % servers.list.len()];
                let mut connection = Connection::open(server, &servers.access)?;
                let interest = Interest::READABLE | Interest::WRITABLE;
                runner.poll.registry().register(connection.stream.socket(), Token(place), interest)?;
                connection.send()?;
                runner.connections.push(connection);
            }
            runner.welcomed(from)?;
        }
        Ok(runner)
    }

    /// Waits until the connections from this one on have their sessions.
    fn welcomed(&mut self, from: usize) -> io::Result<()> {
        let began = Instant::now();
        let lacks = |runner: &Self| runner.connections[from..].iter().any(|connection| !connection.is_open());
        while lacks(self) {
            self.turn(Duration::from_millis(100), |_, _, _| {})?;
            if began.elapsed() > self.patience.silence {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server gave no session"));
            }
        }
        Ok(())
    }

    /// Takes turns until `done` says so.
    ///
    /// # Errors
    /// A connection failed or was closed, or patience is at its end.
    pub fn until(&mut self, done: impl FnMut(&mut Self) -> io::Result<bool>) -> io::Result<()> {
        self.until_heard(done, |_, _, _| {})
    }

    /// As [`Self::until`], handing over what comes: to which connection, what, and when.
    ///
    /// # Errors
    /// A connection failed or was closed, or patience is at its end.
    pub fn until_heard(
        &mut self,
        mut done: impl FnMut(&mut Self) -> io::Result<bool>,
        mut heard: impl FnMut(usize, Heard<'_>, Instant),
    ) -> io::Result<()> {
        let mut last = Instant::now();
        while !done(self)? {
            for connection in &mut self.connections {
                connection.send()?;
            }
            let mut any = false;
            self.turn(Duration::from_millis(100), |place, what, now| {
                any = true;
                heard(place, what, now);
            })?;
            if any {
                last = Instant::now();
            }
            if last.elapsed() > self.patience.silence {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the server did not answer"));
            }
        }
        Ok(())
    }

    /// Waits for something to come, no longer than `wait`, and hands over what came, and to which connection.
    ///
    /// # Errors
    /// A connection failed or was closed, or nothing is to go on.
    pub fn turn(
        &mut self,
        wait: Duration,
        mut heard: impl FnMut(usize, Heard<'_>, Instant),
    ) -> io::Result<()> {
        self.patience.check()?;
        if !wait.is_zero() && wait < FINE_WAIT_MAX {
            self.alarm.set(wait)?;
        }
        match self.poll.poll(&mut self.events, Some(wait)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            other => other?,
        }
        let now = Instant::now();
        for event in &self.events {
            let Some(connection) = self.connections.get_mut(event.token().0) else { continue };
            if event.is_writable() {
                connection.send()?;
            }
            if event.is_readable() {
                connection.receive(&mut self.buffer, |what| heard(event.token().0, what, now))?;
            }
        }
        Ok(())
    }

    /// Whether anything is still to be answered.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.connections.iter().any(|connection| connection.outstanding() > 0)
    }

    /// Closes all sessions, so that none expires in the middle of a later measurement.
    ///
    /// # Errors
    /// A connection failed or was closed.
    pub fn close(mut self) -> io::Result<()> {
        let now = Instant::now();
        for connection in &mut self.connections {
            connection.ask(now, |xid, out| append(out, xid, OpCode::CloseSession, |_| {}));
            connection.ending = true;
        }
        self.until(|runner| Ok(!runner.is_owed()))
    }
}
