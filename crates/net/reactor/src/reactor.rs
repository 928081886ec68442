//! One thread over one poll: it sleeps until a socket or a mailbox has something, and then lets each service have a turn.
//! The clock is read once a round.

use std::io;
use std::sync::Arc;

use mio::{Events, Poll, Registry, Token, Waker};
use node_threads::{Clock, ThreadWaker};

use crate::service::Service;
use crate::turns::{Turns, WAKER};

/// Events taken from the poll at once.
const EVENTS: usize = 1024;

/// A poll and its waker, made before the mailboxes that ring it.
pub struct Polling {
    poll: Poll,
    waker: Arc<ThreadWaker>,
}

/// See the module.
pub struct Reactor {
    poll: Poll,
    turns: Arc<Turns>,
}

impl Polling {
    /// # Errors
    /// The system refuses a poll.
    pub fn new() -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = ThreadWaker::of_poll(Waker::new(poll.registry(), WAKER)?);
        Ok(Self { poll, waker })
    }

    /// What wakes the reactor: for all mailboxes of its services.
    #[must_use]
    pub const fn waker(&self) -> &Arc<ThreadWaker> {
        &self.waker
    }

    /// What the service of that number registers its sockets with.
    ///
    /// # Errors
    /// The system refuses another handle of the poll.
    pub fn watcher(&self, service: u16) -> io::Result<Watcher> {
        Ok(Watcher { registry: self.poll.registry().try_clone()?, service })
    }
}

/// Registers the sockets of one service with the poll of its reactor.
pub struct Watcher {
    registry: Registry,
    service: u16,
}

impl Watcher {
    /// Registers a socket with the poll, for the service, under this token.
    ///
    /// # Errors
    /// It cannot be polled.
    pub(crate) fn watch(&self, socket: &mut mio::net::TcpStream, token: u32) -> io::Result<()> {
        let interest = mio::Interest::READABLE | mio::Interest::WRITABLE;
        let token = Token(usize::from(self.service) << u32::BITS | token as usize);
        self.registry.register(socket, token, interest)
    }
}

impl Reactor {
    /// A reactor of these services, in the order of the numbers under which their sockets are watched.
    #[must_use]
    pub fn new(polling: Polling, clock: Clock, services: Vec<Box<dyn Service + Send>>) -> Self {
        let Polling { poll, waker } = polling;
        Self { poll, turns: Arc::new(Turns::new(waker, clock, services)) }
    }

    /// Through which another thread takes a turn of this reactor's.
    #[must_use]
    pub const fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    /// Runs until all services are done.
    ///
    /// # Errors
    /// The poll or a service failed.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while let Some(timeout) = self.turns.fall_asleep() {
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
                other => other?,
            }
            self.turns.wake_up(&events);
        }
        self.turns.end()
    }
}
