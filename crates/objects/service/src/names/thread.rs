//! The thread of packets: reads queries, refuses what needs no state, asks the core's thread for the rest, and sends
//! answers.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, Ordering::Relaxed};
use std::time::Duration;

use base::MonoTime;
use mio::{Events, Interest, Poll, Token, Waker};
use node_threads::{Clock, Mailbox, ThreadWaker};
use objects_names::{Limiter, Query, Rate, Received, Transport, Verdict, encode, receive, truncated};

use super::connection::{Closed, Connection};
use super::desk::{Asked, NamesDesk, Peer, Told};
use super::sockets::Sockets;
use crate::standing::Standing;

const DATAGRAMS: Token = Token(0);
const LISTENER: Token = Token(1);
const WAKER: Token = Token(2);
/// The first connection's number.
const FIRST: usize = 3;

/// Longer datagrams are cut off, and refused for their length.
const DATAGRAM_BYTES_MAX: usize = 4_200;
/// Datagrams that are read before answers are sent.
const DATAGRAMS_IN_A_ROW: usize = 64;
/// Queries that the core's thread may have before it; further datagrams are dropped.
const AT_CORE_MAX: usize = 256;
const CONNECTIONS_MAX: usize = 256;
const CONNECTIONS_PER_ADDRESS: usize = 32;
/// What a network may ask.
const RATE: Rate = Rate { per_second: 2_000, burst: 4_000 };
/// How often connections are looked at.
const TICK_MS: u64 = 500;
const TICK: Duration = Duration::from_millis(TICK_MS);

/// See the module.
pub(super) struct NamesThread {
    poll: Poll,
    sockets: Sockets,
    connections: BTreeMap<usize, (Connection, IpAddr)>,
    /// Connections that may have something to be read or sent.
    busy: BTreeSet<usize>,
    next: usize,
    limiter: Limiter,
    desk: Arc<NamesDesk>,
    standing: Arc<Standing>,
    told: Arc<Mailbox<Told>>,
    waker: Arc<ThreadWaker>,
    at_core: usize,
    /// Whether datagrams may wait.
    is_ready: bool,
    looked: MonoTime,
    clock: Clock,
    stopping: Arc<AtomicBool>,
}

impl NamesThread {
    pub(super) fn new(
        mut sockets: Sockets,
        (desk, standing): (Arc<NamesDesk>, Arc<Standing>),
        clock: Clock,
        stopping: Arc<AtomicBool>,
    ) -> io::Result<(Self, Arc<ThreadWaker>)> {
        let poll = Poll::new()?;
        poll.registry().register(&mut sockets.datagrams, DATAGRAMS, Interest::READABLE)?;
        poll.registry().register(&mut sockets.listener, LISTENER, Interest::READABLE)?;
        let waker = ThreadWaker::of_poll(Waker::new(poll.registry(), WAKER)?);
        let told = Arc::new(Mailbox::new(Arc::clone(&waker)));
        let told = Arc::clone(desk.told.get_or_init(|| told));
        let thread = Self {
            poll,
            sockets,
            connections: BTreeMap::new(),
            busy: BTreeSet::new(),
            next: FIRST,
            limiter: Limiter::new(RATE),
            desk,
            standing,
            told,
            waker: Arc::clone(&waker),
            at_core: 0,
            is_ready: true,
            looked: MonoTime::ZERO,
            clock,
            stopping,
        };
        Ok((thread, waker))
    }

    /// Runs until it is stopped.
    ///
    /// # Errors
    /// The system's poll has failed.
    pub(super) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        while !self.stopping.load(Ordering::SeqCst) {
            self.waker.fall_asleep();
            let timeout = if self.has_work() { Duration::ZERO } else { TICK };
            let outcome = self.poll.poll(&mut events, Some(timeout));
            self.waker.wake_up();
            match outcome {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => self.turn(&events),
            }
        }
        Ok(())
    }

    fn has_work(&self) -> bool {
        let is_stopping = self.stopping.load(Ordering::SeqCst);
        self.is_ready || !self.busy.is_empty() || !self.told.is_empty() || is_stopping
    }

    fn turn(&mut self, events: &Events) {
        let now = self.clock.mono();
        self.tell(now);
        for event in events {
            match event.token() {
                DATAGRAMS => self.is_ready = true,
                LISTENER => self.accept(now),
                WAKER => {}
                Token(number) => drop(self.busy.insert(number)),
            }
        }
        // What is answered meanwhile makes its connection busy again: for the next turn.
        for number in std::mem::take(&mut self.busy) {
            self.serve(number, now);
        }
        self.read_datagrams(now);
        if now.since(self.looked) >= TICK_MS {
            self.looked = now;
            self.close_silent(now);
            // Those that found no descriptor.
            self.accept(now);
        }
        self.desk.counts.connections.store(self.connections.len() as u64, Relaxed);
    }

    /// Sends what the core's thread has found.
    fn tell(&mut self, now: MonoTime) {
        let mut told = Vec::new();
        self.told.take_all(&mut told);
        self.at_core = self.at_core.saturating_sub(told.len());
        for Told { to, query, found } in told {
            let transport = match to {
                Peer::Datagram(_) => Transport::Udp,
                Peer::Connection(_) => Transport::Tcp,
            };
            self.send(to, &encode(&query, found, transport), now);
        }
    }

    fn send(&mut self, to: Peer, answer: &[u8], now: MonoTime) {
        match to {
            // What the system does not take at once is lost, as any datagram may be.
            Peer::Datagram(address) => drop(self.sockets.datagrams.send_to(answer, address)),
            Peer::Connection(number) => {
                let Some((connection, _)) = self.connections.get_mut(&number) else { return };
                match connection.answer(answer, now) {
                    // What waited behind the limit can be read now.
                    Ok(()) => drop(self.busy.insert(number)),
                    Err(Closed) => self.close(number),
                }
            }
        }
    }

    fn read_datagrams(&mut self, now: MonoTime) {
        let mut bytes = [0; DATAGRAM_BYTES_MAX];
        for _ in 0..DATAGRAMS_IN_A_ROW {
            if !self.is_ready {
                return;
            }
            match self.sockets.datagrams.recv_from(&mut bytes) {
                Ok((length, from)) => self.take(Peer::Datagram(from), from, &bytes[..length], now),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.is_ready = false,
                // An earlier answer that nobody took comes back as an error.
                Err(_) => {}
            }
        }
    }

    /// A query has come.
    fn take(&mut self, to: Peer, from: SocketAddr, bytes: &[u8], now: MonoTime) {
        let verdict = self.limiter.judge(from.ip(), now);
        let is_datagram = matches!(to, Peer::Datagram(_));
        let is_over = self.at_core >= AT_CORE_MAX && is_datagram;
        if verdict == Verdict::Drop || is_over {
            self.desk.counts.dropped.fetch_add(1, Relaxed);
            return self.give_up(to);
        }
        match receive(&self.desk.config.zone, bytes) {
            Received::Silence => self.give_up(to),
            Received::Answer(answer) => {
                self.desk.counts.refused.fetch_add(1, Relaxed);
                self.send(to, &answer, now);
            }
            Received::Question(query) if verdict == Verdict::Truncate => {
                self.desk.counts.dropped.fetch_add(1, Relaxed);
                match to {
                    Peer::Datagram(_) => self.send(to, &truncated(&query), now),
                    Peer::Connection(_) => self.give_up(to),
                }
            }
            Received::Question(query) => self.ask(to, query, now),
        }
    }

    fn ask(&mut self, to: Peer, query: Query, now: MonoTime) {
        self.desk.counts.queries.fetch_add(1, Relaxed);
        if self.standing.is_serving() {
            self.at_core += 1;
            return self.desk.asked.put(Asked { to, query });
        }
        self.desk.counts.refused.fetch_add(1, Relaxed);
        let found = self.desk.refusal(&query);
        let transport = if matches!(to, Peer::Datagram(_)) { Transport::Udp } else { Transport::Tcp };
        self.send(to, &encode(&query, found, transport), now);
    }

    /// What is not answered ends its connection, whose client would wait.
    fn give_up(&mut self, to: Peer) {
        if let Peer::Connection(number) = to {
            self.close(number);
        }
    }

    fn accept(&mut self, now: MonoTime) {
        loop {
            let (mut stream, from) = match self.sockets.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_of_one_connection(&error) => continue,
                // No descriptor is left: those that wait are accepted when the next one comes.
                Err(_) => return,
            };
            let from = from.ip().to_canonical();
            let same = self.connections.values().filter(|(_, address)| *address == from).count();
            let is_full = self.connections.len() >= CONNECTIONS_MAX || same >= CONNECTIONS_PER_ADDRESS;
            let interest = Interest::READABLE | Interest::WRITABLE;
            let number = self.next;
            if is_full || self.poll.registry().register(&mut stream, Token(number), interest).is_err() {
                self.desk.counts.dropped.fetch_add(1, Relaxed);
                continue;
            }
            self.next += 1;
            self.connections.insert(number, (Connection::new(stream, now), from));
            self.busy.insert(number);
        }
    }

    /// Sends and reads what a connection has.
    fn serve(&mut self, number: usize, now: MonoTime) {
        let Some((connection, from)) = self.connections.get_mut(&number) else { return };
        let from = SocketAddr::new(*from, 0);
        let queries = match connection.write(now).and_then(|()| connection.read(now)) {
            Ok(queries) => queries,
            Err(Closed) => return self.close(number),
        };
        for query in queries {
            self.take(Peer::Connection(number), from, &query, now);
        }
    }

    fn close(&mut self, number: usize) {
        if let Some((mut connection, _)) = self.connections.remove(&number) {
            // It is closed right after.
            let _ = self.poll.registry().deregister(connection.stream());
        }
    }

    fn close_silent(&mut self, now: MonoTime) {
        let is_silent = |(number, (connection, _)): (&usize, &(Connection, IpAddr))| {
            (now >= connection.deadline()).then_some(*number)
        };
        let silent: Vec<_> = self.connections.iter().filter_map(is_silent).collect();
        silent.into_iter().for_each(|number| self.close(number));
    }
}

/// Whether only the connection that was to be accepted is gone.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}
