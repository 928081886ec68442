//! The links to the other brokers, as the shards use them: what the broker tells goes out in the order in which it told it, and
//! what came is taken by the first shard.
//!
//! Invariants:
//! - *In order.* Who takes messages from the broker has [`Sending`] before the broker is free for others.
//! - *Bounded.* The broker stops making batches for a broker that takes none ([`Broker::peer_is_full`]); what it had told by then
//!   waits here and goes first.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::Now;
use bytes::Bytes;
use log_broker::{Announced, Broker, PeerMessage};
use log_links::{Lane, LinkEvent, LinkSettings, Links, NotSent, Peer};
use log_metadata::EndpointNode;
use node_metrics::Sample;
use node_threads::{Supervisor, ThreadWaker};
use parking_lot::{Mutex, MutexGuard};
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;

use crate::config::PeerListener;
use crate::error::StartError;
use crate::metrics;

/// Where other brokers connect if nobody says where: so far above the port of the first listener.
const PORTS_ABOVE: u16 = 10_000;

/// See the module.
pub(crate) struct Peers {
    links: Links,
    /// What the links did not take, for each broker and connection.
    waiting: Mutex<Waiting>,
    has_events: Arc<AtomicBool>,
}

type Waiting = BTreeMap<(ReplicaId, bool), VecDeque<Bytes>>;

/// The right to send what was taken from the broker.
pub(crate) struct Sending<'p> {
    links: &'p Links,
    waiting: MutexGuard<'p, Waiting>,
}

/// The port for other brokers, and where they find it.
pub(crate) struct PeerPort {
    listener: TcpListener,
    pub(crate) announced: EndpointNode,
}

impl PeerPort {
    /// Takes the port that is asked for. If none is, it is that of the first listener and 10,000 more, or any that is free.
    ///
    /// # Errors
    /// It cannot be had.
    pub(crate) fn open(
        config: &PeerListener,
        (first, first_host): (SocketAddr, &str),
    ) -> Result<Self, StartError> {
        let (listener, host) = match config {
            PeerListener::At { host, port } => {
                let ip = config.address().map_err(|source| no_peer_port(host, *port, source))?;
                let listener = bind(ip, *port).map_err(|source| no_peer_port(host, *port, source))?;
                let host = if ip.is_unspecified() { first_host } else { host.as_str() };
                (listener, host)
            }
            PeerListener::BesideClients => {
                let usual = first.port().checked_add(PORTS_ABOVE).unwrap_or(0);
                let listener = bind(first.ip(), usual).or_else(|error| {
                    tracing::info!(
                        port = usual,
                        %error,
                        "the usual port for other brokers cannot be had: any free one is taken; hint: `diwan.peer.listener=HOST:PORT`"
                    );
                    bind(first.ip(), 0)
                });
                (listener.map_err(|source| no_peer_port(first_host, usual, source))?, first_host)
            }
        };
        let port = listener.local_addr().map_err(|source| no_peer_port(host, 0, source))?.port();
        tracing::info!(host, port, "other brokers connect here");
        Ok(Self { announced: EndpointNode { host: host.to_owned(), port }, listener })
    }
}

fn bind(ip: IpAddr, port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((ip, port))
}

fn no_peer_port(host: &str, port: u16, source: io::Error) -> StartError {
    StartError::PeerPort { host: host.to_owned(), port, source }
}

impl Peers {
    /// Begins to answer other brokers. `waker` is that of the thread of the first shard.
    ///
    /// # Errors
    /// The system refuses a thread or a poll.
    pub(crate) fn start(
        settings: LinkSettings,
        port: PeerPort,
        waker: Arc<ThreadWaker>,
        supervisor: &Arc<Supervisor>,
    ) -> Result<Self, StartError> {
        let has_events = Arc::new(AtomicBool::new(false));
        let wake = {
            let has_events = Arc::clone(&has_events);
            move || {
                has_events.store(true, Ordering::SeqCst);
                waker.wake();
            }
        };
        let links = Links::start(settings, port.listener, wake, supervisor).map_err(StartError::Links)?;
        Ok(Self { links, waiting: Mutex::new(Waiting::new()), has_events })
    }

    /// Whether [`Self::hear`] is to be called.
    pub(crate) fn has_events(&self) -> bool {
        self.has_events.load(Ordering::SeqCst)
    }

    /// Tells the broker what came. To be called by the first shard only.
    pub(crate) fn hear(&self, broker: &Mutex<Broker>, events: &mut Vec<LinkEvent>, now: Now) {
        if !self.has_events.swap(false, Ordering::SeqCst) {
            return;
        }
        self.links.take(events);
        let mut broker = broker.lock();
        for event in events.drain(..) {
            match event {
                LinkEvent::Connected { from, .. } => broker.peer_connected(number(from), now),
                LinkEvent::Message { from, bytes } => {
                    if let Err(bad) = broker.peer_message(number(from), &bytes, now) {
                        tracing::warn!(
                            broker = from.0,
                            %bad,
                            "the connection to another broker is closed: what it has sent cannot be used; hint: is it of another build?"
                        );
                        self.links.refuse(from, "it has sent what cannot be used");
                    }
                }
                LinkEvent::Heard { from } => broker.peer_heard(number(from), now),
                LinkEvent::Silent { from } => {
                    tracing::warn!(
                        broker = from.0,
                        "nothing is heard of another broker: others are to lead what it leads"
                    );
                    broker.peer_silent(number(from), now);
                }
                LinkEvent::Broken { from } => {
                    self.waiting.lock().retain(|(to, _), _| *to != from);
                    broker.peer_broken(number(from), now);
                }
                LinkEvent::Room { to, lane } => {
                    let is_full = self.begin().go_on(to, lane);
                    broker.peer_is_full(number(to), is_full);
                }
            }
        }
    }

    /// These are the other brokers from now on.
    pub(crate) fn set_announced(&self, announced: Vec<Announced>) {
        let peer = |Announced { id, endpoint, incarnation }: Announced| Peer {
            id: ReplicaId(id.cast_unsigned()),
            host: endpoint.host,
            port: endpoint.port,
            incarnation: Incarnation(incarnation),
        };
        if let Err(error) = self.links.set_peers(announced.into_iter().map(peer).collect()) {
            tracing::error!(%error, "not all brokers of the cluster can be connected to");
        }
    }

    /// To be called before the broker is free for others.
    pub(crate) fn begin(&self) -> Sending<'_> {
        Sending { links: &self.links, waiting: self.waiting.lock() }
    }

    /// Figures of the links, for metrics.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        metrics::of_links(&self.links.figures(), self.links.refusals())
    }

    /// Reads keys and certificates again. What cannot be used is told in the log, and what was read before stays in force.
    pub(crate) fn reload(&self) {
        match self.links.reload() {
            Ok(true) => tracing::info!("certificates for other brokers were read again"),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(%error, "certificates for other brokers were not read again: those before stay in use");
            }
        }
    }

    pub(crate) fn stop(&self) {
        self.links.stop();
    }
}

impl Sending<'_> {
    /// Sends these. Gives the brokers that did not take all.
    pub(crate) fn send(&mut self, messages: Vec<PeerMessage>) -> Vec<i32> {
        let mut full = Vec::new();
        for PeerMessage { to, is_bulky, bytes } in messages {
            let id = ReplicaId(to.cast_unsigned());
            let bytes = Bytes::from(bytes);
            let waits = self.waiting.get_mut(&(id, is_bulky)).filter(|waiting| !waiting.is_empty());
            if let Some(waiting) = waits {
                waiting.push_back(bytes);
            } else if self.links.send(id, lane_of(is_bulky), bytes.clone()) == Err(NotSent::Full) {
                self.waiting.entry((id, is_bulky)).or_default().push_back(bytes);
                full.push(to);
            }
        }
        full
    }

    /// There is room again: what waits goes on. Gives whether something waits still.
    fn go_on(&mut self, to: ReplicaId, lane: Lane) -> bool {
        let is_bulky = lane == Lane::Bulk;
        let Some(waiting) = self.waiting.get_mut(&(to, is_bulky)) else { return false };
        while let Some(bytes) = waiting.front() {
            if self.links.send(to, lane, bytes.clone()) == Err(NotSent::Full) {
                return true;
            }
            waiting.pop_front();
        }
        self.waiting.remove(&(to, is_bulky));
        false
    }
}

const fn lane_of(is_bulky: bool) -> Lane {
    if is_bulky { Lane::Bulk } else { Lane::Control }
}

const fn number(id: ReplicaId) -> i32 {
    id.0.cast_signed()
}
