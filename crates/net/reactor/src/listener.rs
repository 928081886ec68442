//! The thread that accepts clients and deals them out to the reactors in turn.
//!
//! If no descriptor is left in spite of the reserve, accepting pauses. A [`Gate`] decides about each connection.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::MonoTime;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use node_threads::Clock;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use crate::gate::{ConnectionPermit, Gate, Verdict};

const STOP: Token = Token(usize::MAX);
/// The system's maximum (`net.core.somaxconn`) cuts this down.
const BACKLOG: i32 = 4096;
/// How long accepting pauses when there is no descriptor left, milliseconds.
const OUT_OF_DESCRIPTORS_MS: u64 = 100;
/// How many connections are kept that are to be closed later; further ones are closed at once.
const CLOSED_LATER_MAX: usize = 1_000;

/// A connection on its way to a reactor. Its place among all is given back when it is dropped.
pub struct Accepted {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) listener: u16,
    pub(crate) secure: bool,
    pub(crate) place: ConnectionPermit,
}

impl Accepted {
    /// The number of the socket that accepted it.
    #[must_use]
    pub const fn listener(&self) -> u16 {
        self.listener
    }
}

/// Binds an address without accepting yet; fails if another socket has it. `backlog` is how many connections the system
/// queues, its own maximum if not said.
///
/// # Errors
/// The address cannot be had.
pub fn bind(address: SocketAddr, backlog: Option<u32>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // As Java does: one socket for both families.
        socket.set_only_v6(false)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(backlog.map_or(BACKLOG, |backlog| i32::try_from(backlog).unwrap_or(i32::MAX)))?;
    Ok(TcpListener::from_std(socket.into()))
}

/// A socket that accepts.
pub struct ListeningSocket {
    /// The socket.
    pub socket: TcpListener,
    /// Its number: connections say by it where they came in.
    pub number: u16,
    /// Whether its connections are encrypted.
    pub secure: bool,
}

/// How a listener treats connections that it accepts.
#[derive(Clone, Copy, Debug)]
pub struct ListenerConfig {
    /// Whether TCP probes silent connections.
    pub keep_alive: bool,
}

/// Accepts until it is stopped, and hands each connection on with the number of the reactor whose turn it is.
pub struct Listener<F, G> {
    poll: Poll,
    sockets: Vec<ListeningSocket>,
    reactors: usize,
    hand_on: F,
    next: usize,
    gate: G,
    config: ListenerConfig,
    clock: Clock,
    /// A connection that waits, with its socket's place among the sockets.
    waiting: Option<(TcpStream, SocketAddr, usize)>,
    closing: VecDeque<(MonoTime, TcpStream)>,
}

/// Why accepting pauses.
enum Pause {
    /// Nothing is left to be accepted.
    Idle,
    /// For so many milliseconds.
    ForMs(u64),
    /// No descriptor is left.
    Starved,
}

impl<F: FnMut(usize, Accepted), G: Gate> Listener<F, G> {
    /// A listener at these sockets, and what stops it. `hand_on` gets connections for reactors 0 up to `reactors`.
    ///
    /// # Errors
    /// The system refuses a poll.
    pub fn new(
        mut sockets: Vec<ListeningSocket>,
        config: ListenerConfig,
        (reactors, hand_on): (usize, F),
        gate: G,
        clock: Clock,
    ) -> io::Result<(Self, Waker)> {
        let poll = Poll::new()?;
        for (place, listening) in sockets.iter_mut().enumerate() {
            poll.registry().register(&mut listening.socket, Token(place), Interest::READABLE)?;
        }
        let waker = Waker::new(poll.registry(), STOP)?;
        let (waiting, closing) = (None, VecDeque::new());
        let listener =
            Self { poll, sockets, reactors, hand_on, next: 0, gate, config, clock, waiting, closing };
        Ok((listener, waker))
    }

    /// Runs until the waker wakes it with `stopping` set.
    pub fn run(mut self, stopping: &AtomicBool) {
        let mut events = Events::with_capacity(8);
        let mut pause = Pause::Idle;
        while !stopping.load(Ordering::SeqCst) {
            let timeout = self.timeout(&pause);
            if let Err(error) = self.poll.poll(&mut events, timeout)
                && error.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!(%error, "accepting connections ends: the poll failed");
                return;
            }
            self.close_overdue();
            let was_starved = matches!(pause, Pause::Starved);
            pause = self.accept_all(was_starved);
            if was_starved && !matches!(pause, Pause::Starved) {
                tracing::info!("connections are accepted again");
            }
        }
    }

    /// How long the poll may take.
    fn timeout(&self, pause: &Pause) -> Option<Duration> {
        let paused_ms = match pause {
            Pause::Idle => None,
            Pause::ForMs(ms) => Some((*ms).max(1)),
            Pause::Starved => Some(OUT_OF_DESCRIPTORS_MS),
        };
        let now = self.clock.now().mono();
        let closing_ms = self.closing.front().map(|(at, _)| at.since(now) + 1);
        paused_ms.into_iter().chain(closing_ms).min().map(Duration::from_millis)
    }

    /// Accepts what waits. The poll announces each socket only once: all are emptied, no matter which of them woke us.
    fn accept_all(&mut self, told: bool) -> Pause {
        if let Some((stream, peer, place)) = self.waiting.take()
            && let Some(ms) = self.admit(stream, peer, place)
        {
            return Pause::ForMs(ms);
        }
        for place in 0..self.sockets.len() {
            match self.accept_from(place, told) {
                Pause::Idle => {}
                pause => return pause,
            }
        }
        Pause::Idle
    }

    fn accept_from(&mut self, place: usize, told: bool) -> Pause {
        loop {
            let Some(listening) = self.sockets.get(place) else { return Pause::Idle };
            match listening.socket.accept() {
                Ok((stream, peer)) => {
                    // A socket for both families shows IPv4 clients in IPv6's clothes.
                    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                    if let Some(ms) = self.admit(stream, peer, place) {
                        return Pause::ForMs(ms);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Pause::Idle,
                Err(error) if is_transient(&error) => {}
                Err(error) => {
                    if !told {
                        tracing::warn!(%error, "connections cannot be accepted for now; those that are open go on");
                    }
                    return Pause::Starved;
                }
            }
        }
    }

    /// Gives how long to wait, if the connection must wait.
    fn admit(&mut self, stream: TcpStream, peer: SocketAddr, place: usize) -> Option<u64> {
        let now = self.clock.now().mono();
        match self.gate.admit(peer.ip(), stream.as_fd(), now) {
            Verdict::Admitted(permit) => self.deal_out(stream, peer, place, permit),
            Verdict::Refused => {}
            Verdict::ClosedLater(ms) => {
                if self.closing.len() < CLOSED_LATER_MAX {
                    let at = now.plus_ms(ms);
                    let behind = self.closing.partition_point(|(other, _)| *other <= at);
                    self.closing.insert(behind, (at, stream));
                }
            }
            Verdict::Waits(ms) => {
                self.waiting = Some((stream, peer, place));
                return Some(ms);
            }
        }
        None
    }

    fn deal_out(&mut self, stream: TcpStream, peer: SocketAddr, place: usize, permit: ConnectionPermit) {
        let Some(listening) = self.sockets.get(place) else { return };
        // Both fail only for a socket that is already gone, which its first read will show.
        let _ = stream.set_nodelay(true);
        if self.config.keep_alive {
            let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new());
        }
        let reactor = self.next % self.reactors.max(1);
        self.next = self.next.wrapping_add(1);
        let (listener, secure) = (listening.number, listening.secure);
        (self.hand_on)(reactor, Accepted { stream, peer, listener, secure, place: permit });
    }

    fn close_overdue(&mut self) {
        let now = self.clock.now().mono();
        while self.closing.pop_front_if(|(at, _)| *at <= now).is_some() {}
    }
}

/// Errors of one connection that was closed in the queue, not of the listener.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}
