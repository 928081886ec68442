//! One thread over one poll: it sleeps until a socket or a mailbox has something, and then lets each service have a turn.
//! The clock is read once a round.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Registry, Token, Waker};
use net_event_loop::Readiness;
use node_threads::{Clock, ThreadWaker};

use crate::service::Service;

/// The token of the waker. A socket's token is its service's number above 32 bits of the service's own.
const WAKER: Token = Token(usize::MAX);

/// Events taken from the poll at once.
const EVENTS: usize = 1024;

/// A poll and its waker, made before the mailboxes that ring it.
pub struct Polling {
    poll: Poll,
    waker: Arc<ThreadWaker>,
}

/// See the module.
pub struct Reactor {
    polling: Polling,
    clock: Clock,
    services: Vec<Box<dyn Service + Send>>,
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
        Self { polling, clock, services }
    }

    /// Runs until all services are done.
    ///
    /// # Errors
    /// The poll or a service failed.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut now = self.clock.now();
        while !self.services.iter().all(|service| service.is_done()) {
            self.wait(&mut events)?;
            now = self.clock.now();
            for event in &events {
                self.announce(event);
            }
            for service in self.services.iter_mut().filter(|service| !service.is_done()) {
                service.read_mail(now);
                service.turn(now);
            }
        }
        self.services.iter_mut().try_for_each(|service| service.end(now))
    }

    fn announce(&mut self, event: &Event) {
        if event.token() == WAKER {
            return;
        }
        let Token(token) = event.token();
        let (number, own) = (token >> u32::BITS, u32::try_from(token & u32::MAX as usize));
        if let (Some(service), Ok(own)) = (self.services.get_mut(number), own) {
            service.announced(own, readiness(event));
        }
    }

    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let Polling { poll, waker } = &mut self.polling;
        waker.fall_asleep();
        let waits = self.services.iter().filter(|service| !service.is_done());
        let mut timeout_ms = waits.map(|service| service.wait_max_ms()).min().unwrap_or(0);
        if timeout_ms > 0 && self.services.iter().any(|service| service.has_mail()) {
            timeout_ms = 0;
        }
        let polled = poll.poll(events, Some(Duration::from_millis(timeout_ms)));
        waker.wake_up();
        match polled {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                events.clear();
                Ok(())
            }
            other => other,
        }
    }
}

fn readiness(event: &Event) -> Readiness {
    Readiness {
        readable: event.is_readable() || event.is_error() || event.is_write_closed(),
        writable: event.is_writable(),
        hung_up: event.is_read_closed(),
    }
}
