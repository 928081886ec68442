//! A broker of a test: its links, and what it was told.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use log_links::{
    EnsembleSecret, Lane, LinkEvent, LinkLimits, LinkSettings, LinkTiming, Links, NotSent, Peer,
};
use node_threads::Supervisor;
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;

/// How long anything may take that must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Broker {
    pub(crate) id: ReplicaId,
    pub(crate) incarnation: Incarnation,
    pub(crate) port: u16,
    pub(crate) links: Links,
    woken: Receiver<()>,
    events: VecDeque<LinkEvent>,
}

pub(crate) fn settings(id: u32, incarnation: u64) -> LinkSettings {
    LinkSettings {
        id: ReplicaId(id),
        incarnation: Incarnation(incarnation),
        cluster: [9; 16],
        secret: EnsembleSecret::new(&[7; 32]).expect("long enough"),
        tls: None,
        source: None,
        limits: LinkLimits::default(),
        timing: LinkTiming::default(),
    }
}

pub(crate) fn listener(port: u16) -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("a port")
}

/// A message of the replicas' kind with that number behind its head.
pub(crate) fn numbered(number: u64, length: usize) -> Vec<u8> {
    let mut message = vec![replication_wire::VERSION, 1];
    message.extend_from_slice(&number.to_le_bytes());
    message.resize(length.max(message.len()), number as u8);
    message
}

/// The number of such a message.
pub(crate) fn number_of(message: &[u8]) -> u64 {
    u64::from_le_bytes(message[2..10].try_into().expect("eight bytes"))
}

impl Broker {
    pub(crate) fn new(id: u32, incarnation: u64) -> Self {
        Self::with(settings(id, incarnation), listener(0))
    }

    pub(crate) fn with(settings: LinkSettings, listener: TcpListener) -> Self {
        let (id, incarnation) = (settings.id, settings.incarnation);
        let port = listener.local_addr().expect("bound").port();
        let (wake, woken) = channel();
        let wake = move || wake.send(()).unwrap_or_default();
        let links =
            Links::start(settings, listener, wake, &Arc::new(Supervisor::default())).expect("started");
        Self { id, incarnation, port, links, woken, events: VecDeque::new() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// As the coordination service announces it.
    pub(crate) fn announced(&self) -> Peer {
        Peer { id: self.id, host: String::from("127.0.0.1"), port: self.port, incarnation: self.incarnation }
    }

    pub(crate) fn knows(&self, others: &[&Self]) {
        self.links.set_peers(others.iter().map(|other| other.announced()).collect()).expect("few");
    }

    /// The next event; nothing if none comes within that time.
    pub(crate) fn next_within(&mut self, time: Duration) -> Option<LinkEvent> {
        let until = Instant::now() + time;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let mut taken = Vec::new();
            self.links.take(&mut taken);
            self.events.extend(taken);
            if self.events.is_empty() {
                let left = until.checked_duration_since(Instant::now())?;
                let _ = self.woken.recv_timeout(left);
            }
        }
    }

    /// The next event that is neither a sign of life nor its absence.
    pub(crate) fn next(&mut self) -> LinkEvent {
        loop {
            match self.next_within(PATIENCE).expect("an event") {
                LinkEvent::Heard { .. } | LinkEvent::Silent { .. } => {}
                event => return event,
            }
        }
    }

    /// Waits for a link to that process, over whatever comes before it.
    pub(crate) fn connected_to(&mut self, other: &Self) {
        let expected = LinkEvent::Connected { from: other.id, incarnation: other.incarnation };
        while self.next() != expected {}
    }

    pub(crate) fn send(&self, to: &Self, lane: Lane, message: Vec<u8>) -> Result<(), NotSent> {
        self.links.send(to.id, lane, message)
    }

    /// The next message, which must be of that broker.
    pub(crate) fn message_of(&mut self, other: &Self) -> Vec<u8> {
        match self.next() {
            LinkEvent::Message { from, bytes } if from == other.id => bytes.to_vec(),
            event => panic!("{event:?}"),
        }
    }
}

/// Two brokers with a link.
pub(crate) fn pair() -> (Broker, Broker) {
    let (mut one, mut two) = (Broker::new(1, 1), Broker::new(2, 1));
    one.knows(&[&two]);
    two.knows(&[&one]);
    one.connected_to(&two);
    two.connected_to(&one);
    (one, two)
}

/// Waits until that holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
