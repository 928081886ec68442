//! The thread that accepts clients and deals them out to the shards in turn.
//!
//! Admission is decided here, for all shards together, before a connection costs anything. Connections leave a reserve
//! of the process's descriptors alone (`descriptors`); should there be none left all the same, accepting pauses.

use net_event_loop::{Admission, Full};
use node_threads::{Clock, Descriptors, Mailbox, RateLimit};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use super::shard::ShardMail;
use crate::config::{ConnectionThrottle, ListenConfig};
use crate::metrics::network::NetworkMetrics;

const PLAIN: Token = Token(0);
const SECURE: Token = Token(1);
const STOP: Token = Token(2);
/// The system's maximum (`net.core.somaxconn`) cuts this down.
const BACKLOG: i32 = 4096;
/// How long accepting pauses when there is no descriptor left.
const OUT_OF_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(100);
/// Whoever is refused tries again at once: how often the log says so.
const REFUSALS_TOLD: Duration = Duration::from_secs(10);

/// A connection on its way to a shard. Its place among all is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) secure: bool,
    pub(crate) place: Place,
}

/// A place among the connections that may be.
#[derive(Debug)]
pub(crate) struct Place {
    ip: IpAddr,
    gate: Arc<Gate>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gate.admission.lock().release(self.ip);
    }
}

/// Why a connection is refused.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    /// A limit of the configuration.
    Full(Full),
    /// The process's limit of open files.
    NoDescriptor(u64),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(Full::Everybody(max)) => {
                write!(f, "there are {max} connections in all, as `maxCnxns` allows")
            }
            Self::Full(Full::Address(max)) => {
                write!(f, "there are {max} connections from this address, as `maxClientCnxns` allows")
            }
            Self::NoDescriptor(limit) => write!(
                f,
                "the limit of {limit} open files is nearly reached; hint: raise it (`ulimit -n`, `LimitNOFILE`)"
            ),
        }
    }
}

/// Who may come in, counted over all shards.
#[derive(Debug)]
pub(crate) struct Gate {
    admission: Mutex<Admission>,
    descriptors: Descriptors,
    pub(crate) rejected: AtomicU64,
    pub(crate) throttled: AtomicU64,
    /// Of those rejected, those for want of a descriptor.
    pub(crate) without_descriptor: AtomicU64,
}

impl Gate {
    pub(crate) fn new(connections_max: u32, per_ip_max: u32, descriptors: Descriptors) -> Arc<Self> {
        Arc::new(Self {
            admission: Mutex::new(Admission::new(connections_max, per_ip_max)),
            descriptors,
            rejected: AtomicU64::new(0),
            throttled: AtomicU64::new(0),
            without_descriptor: AtomicU64::new(0),
        })
    }

    fn admit(self: &Arc<Self>, ip: IpAddr, descriptor: BorrowedFd<'_>) -> Result<Place, Refusal> {
        let refusal = if self.descriptors.admit_client(descriptor) {
            match self.admission.lock().admit(ip) {
                Ok(()) => return Ok(Place { ip, gate: Arc::clone(self) }),
                Err(full) => Refusal::Full(full),
            }
        } else {
            self.without_descriptor.fetch_add(1, Ordering::Relaxed);
            Refusal::NoDescriptor(self.descriptors.limit)
        };
        self.rejected.fetch_add(1, Ordering::Relaxed);
        Err(refusal)
    }
}

/// Takes an address without listening at it yet for clients: whoever has it already makes this fail.
pub(crate) fn bind(address: SocketAddr, config: &ListenConfig) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // As Java does: one socket for both families.
        socket.set_only_v6(false)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(config.backlog.map_or(BACKLOG, |backlog| i32::try_from(backlog).unwrap_or(i32::MAX)))?;
    Ok(TcpListener::from_std(socket.into()))
}

/// Accepts until told to stop.
pub(crate) struct Listener {
    poll: Poll,
    plain: Option<TcpListener>,
    secure: Option<TcpListener>,
    shards: Vec<Arc<Mailbox<ShardMail>>>,
    next: usize,
    gate: Arc<Gate>,
    bucket: Option<TokenBucket>,
    refusals: RateLimit,
    keep_alive: bool,
    clock: Clock,
    metrics: Arc<NetworkMetrics>,
}

impl Listener {
    /// A listener and what stops it.
    pub(crate) fn new(
        sockets: (Option<TcpListener>, Option<TcpListener>),
        config: &ListenConfig,
        throttle: Option<ConnectionThrottle>,
        shards: Vec<Arc<Mailbox<ShardMail>>>,
        gate: Arc<Gate>,
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
        let keep_alive = config.keep_alive;
        let bucket = throttle.map(|throttle| TokenBucket::new(throttle, clock.now().mono_ms()));
        let refusals = RateLimit::default();
        let listener =
            Self { poll, plain, secure, shards, next: 0, gate, bucket, refusals, keep_alive, clock, metrics };
        Ok((listener, waker))
    }

    /// Runs until the waker wakes it with `stopping` set.
    pub(crate) fn run(mut self, stopping: &AtomicBool) {
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
            // Edge-triggered: whatever woke us, both are emptied.
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
            && !bucket.take(self.clock.now().mono_ms())
        {
            self.gate.throttled.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let place = match self.gate.admit(peer.ip(), stream.as_fd()) {
            Ok(place) => place,
            Err(refusal) => return self.tell_refused(peer, &refusal),
        };
        self.metrics.token_deficit.record(self.bucket.as_ref().map_or(0, TokenBucket::deficit));
        // Both fail only for a socket that is already gone, which its first read will tell.
        let _ = stream.set_nodelay(true);
        if self.keep_alive {
            let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new());
        }
        let shard = self.next % self.shards.len().max(1);
        self.next = self.next.wrapping_add(1);
        if let Some(shard) = self.shards.get(shard) {
            shard.put(ShardMail::Accepted(Accepted { stream, peer, secure, place }));
        }
    }

    fn tell_refused(&self, peer: SocketAddr, refusal: &Refusal) {
        if self.refusals.allow(Instant::now(), REFUSALS_TOLD) {
            let refused = self.gate.rejected.load(Ordering::Relaxed);
            tracing::warn!(%peer, refused, "a connection is refused (the log says so every ten seconds at most): {refusal}");
        }
    }
}

/// Errors of one connection that died in the queue, not of the listener.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

/// Tokens for new connections, refilled over time.
struct TokenBucket {
    config: ConnectionThrottle,
    tokens: u32,
    filled_ms: u64,
}

impl TokenBucket {
    fn new(config: ConnectionThrottle, now_ms: u64) -> Self {
        Self { config, tokens: config.tokens, filled_ms: now_ms }
    }

    fn take(&mut self, now_ms: u64) -> bool {
        let interval = u64::from(self.config.fill_interval_ms.max(1));
        let fills = now_ms.saturating_sub(self.filled_ms) / interval;
        self.filled_ms += fills * interval;
        let filled = u64::from(self.tokens) + fills.saturating_mul(u64::from(self.config.fill_count));
        self.tokens = u32::try_from(filled.min(u64::from(self.config.tokens))).unwrap_or(u32::MAX);
        let has_one = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        has_one
    }

    /// How many tokens the bucket has room for.
    fn deficit(&self) -> u64 {
        u64::from(self.config.tokens.saturating_sub(self.tokens))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_once_its_holder_is_gone() {
        let gate = Gate::new(0, 1, Descriptors::new(u64::MAX, 0));
        let (ip, file) = (IpAddr::from([127, 0, 0, 1]), std::fs::File::open("/dev/null").expect("opened"));
        let admit = || gate.admit(ip, file.as_fd());
        let place = admit();
        assert!(place.is_ok());
        assert_eq!(admit().unwrap_err(), Refusal::Full(Full::Address(1)));
        assert_eq!(gate.rejected.load(Ordering::Relaxed), 1);
        drop(place);
        assert!(admit().is_ok());
        assert_eq!(gate.without_descriptor.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_connection_in_the_reserve_of_descriptors_is_refused_and_counted() {
        let gate = Gate::new(0, 0, Descriptors::new(24, 0));
        let file = std::fs::File::open("/dev/null").expect("opened");
        let refusal = gate.admit(IpAddr::from([127, 0, 0, 1]), file.as_fd()).unwrap_err();
        assert_eq!(refusal, Refusal::NoDescriptor(24));
        assert!(refusal.to_string().contains("ulimit -n"), "{refusal}");
        let counts = (&gate.rejected, &gate.without_descriptor);
        assert_eq!((counts.0.load(Ordering::Relaxed), counts.1.load(Ordering::Relaxed)), (1, 1));
    }

    #[test]
    fn tokens_come_back_over_time_up_to_the_bucket() {
        let config = ConnectionThrottle { tokens: 2, fill_interval_ms: 10, fill_count: 1 };
        let mut bucket = TokenBucket::new(config, 0);
        assert!(bucket.take(0) && bucket.take(0) && !bucket.take(9));
        assert_eq!(bucket.deficit(), 2);
        assert!(bucket.take(10) && !bucket.take(19));
        assert!(bucket.take(1000) && bucket.take(1000) && !bucket.take(1000));
    }
}
