//! One thread over one poll: it sleeps until a socket or a mailbox has something, and then lets each service have a turn.
//! The clock is read once a turn. While many clients send something, it may [rest](crate::rest): then it sleeps until a mailbox
//! has something.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mio::event::Event;
use mio::{Events, Poll, Registry, Token, Waker};
use node_threads::{Clock, ThreadWaker};

use crate::rest::Rest;
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
    rest: Rest,
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
        Self { poll, turns: Arc::new(Turns::new(waker, clock, services)), rest: Rest::new(0) }
    }

    /// While many clients send something, their sockets are left alone for at most so many microseconds after each look at them,
    /// so that one turn serves several. Mail is read at once all the same.
    #[must_use]
    pub fn resting(self, us_max: u64) -> Self {
        Self { rest: Rest::new(us_max), ..self }
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
        loop {
            let rest_us = self.rest.left_us(self.turns.now_us());
            if rest_us > 0 {
                events.clear();
                self.turns.rest(Duration::from_micros(rest_us));
            } else {
                let Some(timeout) = self.turns.fall_asleep() else { break };
                match self.poll.poll(&mut events, Some(timeout)) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => events.clear(),
                    other => other?,
                }
                let sockets = events.iter().map(Event::token).filter(|token| *token != WAKER);
                self.rest.looked(self.turns.now_us(), sockets.map(|token| token.0));
            }
            self.turns.wake_up(&events);
        }
        self.turns.end()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use base::Now;
    use net_event_loop::Readiness;

    use super::*;

    /// Counts the sockets that are announced, and the turns in which some are.
    struct Announced {
        sockets: Arc<AtomicUsize>,
        turns: Arc<AtomicUsize>,
        streams: Vec<mio::net::TcpStream>,
        ready: Vec<u32>,
    }

    impl Service for Announced {
        fn has_mail(&self) -> bool {
            false
        }

        fn read_mail(&mut self, _: Now) {}

        fn announced(&mut self, token: u32, _: Readiness) {
            self.ready.push(token);
        }

        fn turn(&mut self, _: Now) {
            self.turns.fetch_add(usize::from(!self.ready.is_empty()), Ordering::SeqCst);
            for token in self.ready.drain(..) {
                let Some(stream) = self.streams.get_mut(token as usize) else { continue };
                while let Ok(read @ 1..) = stream.read(&mut [0; 100]) {
                    self.sockets.fetch_add(read, Ordering::SeqCst);
                }
            }
        }

        fn wait_max_ms(&self) -> u64 {
            60_000
        }

        fn is_done(&self) -> bool {
            self.sockets.load(Ordering::SeqCst) >= SENT
        }

        fn end(&mut self, _: Now) -> io::Result<()> {
            Ok(())
        }
    }

    /// Bytes, one at a time.
    const SENT: usize = 3_000;
    const CLIENTS: u32 = 120;

    #[test]
    fn what_many_clients_send_is_taken_several_at_a_time() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let polling = Polling::new().expect("a poll");
        let watcher = polling.watcher(0).expect("a handle of the poll");
        let (mut clients, mut streams) = (Vec::new(), Vec::new());
        for token in 0..CLIENTS {
            clients.push(TcpStream::connect(listener.local_addr().expect("bound")).expect("accepted"));
            let (stream, _) = listener.accept().expect("a client");
            stream.set_nonblocking(true).expect("a socket");
            let mut stream = mio::net::TcpStream::from_std(stream);
            watcher.watch(&mut stream, token).expect("polled");
            streams.push(stream);
        }
        let (sockets, turns) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (counts, ready) = ((Arc::clone(&sockets), Arc::clone(&turns)), Vec::new());
        let service = Announced { sockets: counts.0, turns: counts.1, streams, ready };
        let reactor = Reactor::new(polling, Clock::start(), vec![Box::new(service)]).resting(1_000);
        let thread = thread::spawn(move || reactor.run());
        for sent in 0..SENT {
            clients[sent % CLIENTS as usize].write_all(&[1]).expect("sent");
            thread::sleep(Duration::from_micros(100));
        }
        thread.join().expect("no panic").expect("no failure");
        let (sockets, turns) = (sockets.load(Ordering::SeqCst), turns.load(Ordering::SeqCst));
        assert!(sockets == SENT && turns < SENT / 4, "{sockets} in {turns} turns");
    }
}
