//! The thread that accepts clients and deals them out to the shards in turn.
//!
//! Admission is decided here, for all shards together, before a connection costs anything. Running out of
//! descriptors pauses accepting; it ends nothing that is open.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use front::{Admission, Full};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::Mutex;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use super::shard::ShardMail;
use crate::clock::Clock;
use crate::config::{ConnectionThrottle, ListenConfig};
use crate::mailbox::Mailbox;
use crate::metrics::network::NetworkMetrics;
use crate::rate_limit::RateLimit;

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

/// Who may come in, counted over all shards.
#[derive(Debug)]
pub(crate) struct Gate {
    admission: Mutex<Admission>,
    pub(crate) rejected: AtomicU64,
    pub(crate) throttled: AtomicU64,
}

impl Gate {
    pub(crate) fn new(connections_max: u32, per_ip_max: u32) -> Arc<Self> {
        let admission = Mutex::new(Admission::new(connections_max, per_ip_max));
        Arc::new(Self { admission, rejected: AtomicU64::new(0), throttled: AtomicU64::new(0) })
    }

    fn admit(self: &Arc<Self>, ip: IpAddr) -> Result<Place, Full> {
        match self.admission.lock().admit(ip) {
            Ok(()) => Ok(Place { ip, gate: Arc::clone(self) }),
            Err(full) => {
                self.rejected.fetch_add(1, Ordering::Relaxed);
                Err(full)
            }
        }
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
        let place = match self.gate.admit(peer.ip()) {
            Ok(place) => place,
            Err(full) => return self.tell_refused(peer, full),
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

    fn tell_refused(&self, peer: SocketAddr, full: Full) {
        if self.refusals.allow(Instant::now(), REFUSALS_TOLD) {
            let refused = self.gate.rejected.load(Ordering::Relaxed);
            tracing::warn!(%peer, refused, "a connection is refused: there are {full}; the log says so every ten seconds at most");
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
        let gate = Gate::new(0, 1);
        let ip = IpAddr::from([127, 0, 0, 1]);
        let place = gate.admit(ip);
        assert!(place.is_ok());
        assert_eq!(gate.admit(ip).unwrap_err(), Full::Address(1));
        assert_eq!(gate.rejected.load(Ordering::Relaxed), 1);
        drop(place);
        assert!(gate.admit(ip).is_ok());
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
