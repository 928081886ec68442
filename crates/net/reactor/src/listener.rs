//! The thread that accepts clients and deals them out to the reactors in turn.
//!
//! If no descriptor is left in spite of the reserve, accepting pauses.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use node_threads::{Clock, RateLimit};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use crate::connection_limiter::{ConnectionLimiter, ConnectionPermit, LimitNames, Refusal};
use crate::metrics::NetworkMetrics;
use crate::token_bucket::{ConnectionThrottle, TokenBucket};

const PLAIN: Token = Token(0);
const SECURE: Token = Token(1);
const STOP: Token = Token(2);
/// The system's maximum (`net.core.somaxconn`) cuts this down.
const BACKLOG: i32 = 4096;
/// How long accepting pauses when there is no descriptor left.
const OUT_OF_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(100);
/// A refused client tries again at once: this limits how often the log says so.
const REFUSALS_TOLD: Duration = Duration::from_secs(10);

/// A connection on its way to a reactor. Its place among all is given back when it is dropped.
#[derive(Debug)]
pub struct Accepted {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) secure: bool,
    pub(crate) place: ConnectionPermit,
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

/// How a listener treats new connections.
#[derive(Clone, Copy, Debug)]
pub struct ListenerConfig {
    /// How fast they may come in.
    pub throttle: Option<ConnectionThrottle>,
    /// Whether TCP probes silent connections.
    pub keep_alive: bool,
    /// How the limits are called, for messages.
    pub names: LimitNames,
}

/// Accepts until it is stopped, and hands each connection on with the number of the reactor whose turn it is.
pub struct Listener<F> {
    poll: Poll,
    plain: Option<TcpListener>,
    secure: Option<TcpListener>,
    reactors: usize,
    hand_on: F,
    next: usize,
    gate: Arc<ConnectionLimiter>,
    bucket: Option<TokenBucket>,
    refusals: RateLimit,
    config: ListenerConfig,
    clock: Clock,
    metrics: Arc<NetworkMetrics>,
}

impl<F: FnMut(usize, Accepted)> Listener<F> {
    /// A listener at a plain and an encrypted port, and what stops it. `hand_on` gets connections for reactors 0 up to
    /// `reactors`.
    ///
    /// # Errors
    /// The system refuses a poll.
    pub fn new(
        sockets: (Option<TcpListener>, Option<TcpListener>),
        config: ListenerConfig,
        (reactors, hand_on): (usize, F),
        gate: Arc<ConnectionLimiter>,
        clock: Clock,
        metrics: Arc<NetworkMetrics>,
    ) -> io::Result<(Self, Waker)> {
        let poll = Poll::new()?;
        let (mut plain, mut secure) = sockets;
        if let Some(listener) = &mut plain {
            poll.registry().register(listener, PLAIN, Interest::READABLE)?;
        }
        if let Some(listener) = &mut secure {
            poll.registry().register(listener, SECURE, Interest::READABLE)?;
        }
        let waker = Waker::new(poll.registry(), STOP)?;
        let bucket = config.throttle.map(|throttle| TokenBucket::new(throttle, clock.now().mono()));
        let refusals = RateLimit::default();
        let listener = Self {
            poll,
            plain,
            secure,
            reactors,
            hand_on,
            next: 0,
            gate,
            bucket,
            refusals,
            config,
            clock,
            metrics,
        };
        Ok((listener, waker))
    }

    /// Runs until the waker wakes it with `stopping` set.
    pub fn run(mut self, stopping: &AtomicBool) {
        let mut events = Events::with_capacity(8);
        let mut starved = false;
        while !stopping.load(Ordering::SeqCst) {
            let timeout = starved.then_some(OUT_OF_DESCRIPTORS_PAUSE);
            if let Err(error) = self.poll.poll(&mut events, timeout)
                && error.kind() != io::ErrorKind::Interrupted
            {
                tracing::error!(%error, "accepting connections ends: the poll failed");
                return;
            }
            // Edge-triggered: both are emptied, no matter which of them woke us.
            let was_starved = starved;
            starved = !(self.accept_all(false, was_starved) & self.accept_all(true, was_starved));
            if was_starved && !starved {
                tracing::info!("connections are accepted again");
            }
        }
    }

    /// Accepts what waits; false when there was no descriptor to take it with.
    fn accept_all(&mut self, secure: bool, told: bool) -> bool {
        loop {
            let listener = if secure { &self.secure } else { &self.plain };
            let Some(listener) = listener else { return true };
            match listener.accept() {
                Ok((stream, peer)) => {
                    // A socket for both families shows IPv4 clients in IPv6's clothes.
                    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                    self.admit(stream, peer, secure);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if is_transient(&error) => {}
                Err(error) => {
                    if !told {
                        tracing::warn!(%error, "connections cannot be accepted for now; those that are open go on");
                    }
                    return false;
                }
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, peer: SocketAddr, secure: bool) {
        if let Some(bucket) = &mut self.bucket
            && !bucket.take(self.clock.now().mono())
        {
            self.gate.throttled.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let place = match self.gate.admit(peer.ip(), stream.as_fd()) {
            Ok(place) => place,
            Err(refusal) => return self.tell_refused(peer, &refusal),
        };
        self.metrics.token_deficit.record(self.bucket.as_ref().map_or(0, TokenBucket::deficit));
        // Both fail only for a socket that is already gone, which its first read will show.
        let _ = stream.set_nodelay(true);
        if self.config.keep_alive {
            let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new());
        }
        let reactor = self.next % self.reactors.max(1);
        self.next = self.next.wrapping_add(1);
        (self.hand_on)(reactor, Accepted { stream, peer, secure, place });
    }

    fn tell_refused(&self, peer: SocketAddr, refusal: &Refusal) {
        if self.refusals.allow(Instant::now(), REFUSALS_TOLD) {
            let refused = self.gate.rejected.load(Ordering::Relaxed);
            let why = refusal.tell(self.config.names);
            tracing::warn!(%peer, refused, "a connection is refused (the log says so every ten seconds at most): {why}");
        }
    }
}

/// Errors of one connection that was closed in the queue, not of the listener.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}
