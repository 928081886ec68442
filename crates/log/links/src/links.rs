//! The links of a broker, as its other threads have them.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use mio::Waker;
use net_peers::{
    Acceptor, Channel, Credentials, Diallers, Established, Hints, Lane, Means, PeerConnections, PeerNumber,
    RefusalCounts, Roster, Settings, Timing,
};
use node_threads::{Clock, Descriptors, Mailbox, Supervisor, spawn};
use parking_lot::Mutex;
use replication_appointed::ReplicaId;

use crate::driver::{CHANNEL, Driver, NUMBERING};
use crate::error::{LinkError, TooManyPeers};
use crate::event::{LinkEvent, NotSent, Peer};
use crate::exchange::Exchange;
use crate::figures::LinkFigures;
use crate::settings::{LinkLimits, LinkSettings, LinkTiming};

/// What hints in the log call things.
const HINTS: Hints = Hints {
    secret: "the secret of the cluster, which the coordination service keeps",
    tls: "TLS between brokers",
    foreign: "is it a client, or a broker of another build?",
};
/// All builds so far.
const LEVEL: u32 = 1;

/// See the crate. Dropping it ends all links.
pub struct Links {
    exchange: Arc<Exchange>,
    credentials: Arc<Credentials>,
    peers_max: usize,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    links: JoinHandle<()>,
    acceptor: (Waker, JoinHandle<()>),
}

impl Links {
    /// Begins to answer at `listener`; nobody is dialled before [`Self::set_peers`]. `wake` is called when the first event
    /// comes behind a [`Self::take`]: it must not block. The supervisor is told of a thread that fails.
    ///
    /// # Errors
    /// Keys and certificates do not fit together, or the system refuses a thread or a poll.
    pub fn start(
        settings: LinkSettings,
        listener: TcpListener,
        wake: impl Fn() + Send + Sync + 'static,
        supervisor: &Arc<Supervisor>,
    ) -> Result<Self, LinkError> {
        let (limits, timing, source) = (settings.limits, settings.timing, settings.source);
        let credentials = Arc::new(credentials(settings)?);
        let (poll, waker) = PeerConnections::poll().map_err(system("make a poll"))?;
        let established: Arc<Mailbox<Established>> = Arc::new(Mailbox::new(Arc::clone(&waker)));
        let exchange = Arc::new(Exchange::new(Arc::clone(&waker), wake, limits));
        let acceptor = start_acceptor(listener, &credentials, &established, limits.peers_max, supervisor)?;
        let means = Means {
            credentials: Arc::clone(&credentials),
            source,
            established: Arc::clone(&established),
            supervisor: Arc::clone(supervisor),
        };
        let channels = [channel(limits)];
        let mut connections =
            PeerConnections::new(Arc::clone(&credentials), (poll, waker), Diallers::new(means), &channels)
                .map_err(system("share a poll"))?;
        connections.begin_anew(true);
        let shared = Arc::clone(&exchange);
        let driver = Driver::new(connections, established, shared, Clock::start(), timing);
        let links = spawn("links", supervisor, move || driver.run()).map_err(system("start a thread"));
        let links = links.inspect_err(|_| drop(acceptor.0.wake()))?;
        let threads = Mutex::new(Some(Threads { links, acceptor }));
        Ok(Self { exchange, credentials, peers_max: limits.peers_max, threads })
    }

    /// The other brokers are these from now on, as the coordination service announces them. Links to all others end, and
    /// so do those to an earlier process than the announced one.
    ///
    /// # Errors
    /// There are too many; nothing changes then.
    pub fn set_peers(&self, mut peers: Vec<Peer>) -> Result<(), TooManyPeers> {
        let own = self.credentials.identity.number;
        peers.retain(|peer| PeerNumber(peer.id.0) != own);
        if peers.len() > self.peers_max {
            return Err(TooManyPeers { announced: peers.len(), max: self.peers_max });
        }
        self.exchange.set_peers(peers);
        Ok(())
    }

    /// Sends a message of [`replication_wire`] to a broker. Messages on one lane arrive in the order of these calls, or not
    /// at all from some point on; then [`LinkEvent::Broken`] tells of it.
    ///
    /// # Errors
    /// It is not sent: [`NotSent`].
    pub fn send(&self, to: ReplicaId, lane: Lane, message: impl Into<Bytes>) -> Result<(), NotSent> {
        self.exchange.send(to, lane, message.into())
    }

    /// Appends all that has become of the links, in order. To be called by one thread: the owner.
    pub fn take(&self, into: &mut Vec<LinkEvent>) {
        self.exchange.take(into);
    }

    /// A message of that broker cannot be decoded: its link ends, and what else came over it is dropped.
    pub fn refuse(&self, from: ReplicaId, why: &str) {
        self.exchange.refuse(from, String::from(why));
    }

    /// What has gone over the link to each announced broker.
    #[must_use]
    pub fn figures(&self) -> Vec<LinkFigures> {
        self.exchange.figures()
    }

    /// How many connections were refused, of strangers and of brokers, and why.
    #[must_use]
    pub fn refusals(&self) -> RefusalCounts {
        self.credentials.refusals.counts()
    }

    /// Reads keys and certificates again; links that stand stay. False without TLS.
    ///
    /// # Errors
    /// They cannot be used; what was read before stays in force.
    pub fn reload(&self) -> Result<bool, LinkError> {
        Ok(self.credentials.reload()?)
    }

    /// Ends all links.
    pub fn stop(&self) {
        let Some(Threads { links, acceptor: (waker, acceptor) }) = self.threads.lock().take() else { return };
        self.exchange.stop();
        // It fails only where the poll is gone, and the thread with it.
        let _ = waker.wake();
        // The supervisor was told how they ended.
        let _ = (links.join(), acceptor.join());
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.stop();
    }
}

fn system(action: &'static str) -> impl Fn(io::Error) -> LinkError {
    move |source| LinkError::System { action, source }
}

fn credentials(settings: LinkSettings) -> Result<Credentials, LinkError> {
    let LinkSettings { id, incarnation, cluster, secret, tls, timing, .. } = settings;
    let number = PeerNumber(id.0);
    let credentials = Credentials::new(Settings {
        number,
        numbering: NUMBERING,
        timing: pair_timing(timing),
        process: incarnation.0,
        level: LEVEL,
        roster: Roster::default(),
        // Brokers learn of each other from the coordination service alone.
        read_roster: |_| None,
        tls,
        secret: Some(secret),
        hints: HINTS,
    })?;
    if let Some(own) = NUMBERING.id(number) {
        credentials.identity.begin_membership(own, cluster);
    }
    Ok(credentials)
}

fn pair_timing(LinkTiming { heartbeat, broken, .. }: LinkTiming) -> Timing {
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Timing { ping_ms: ms(heartbeat), silence_ms: ms(broken), ..Timing::DEFAULT }
}

fn channel(limits: LinkLimits) -> Channel {
    Channel {
        number: CHANNEL,
        message_bytes_max: replication_wire::message_bytes_max,
        request_bytes_max: limits.request_bytes_max,
    }
}

fn start_acceptor(
    listener: TcpListener,
    credentials: &Arc<Credentials>,
    established: &Arc<Mailbox<Established>>,
    peers_max: usize,
    supervisor: &Arc<Supervisor>,
) -> Result<(Waker, JoinHandle<()>), LinkError> {
    let descriptors = Descriptors::of_process(peers_max);
    let acceptor = Acceptor::new(listener, Arc::clone(credentials), Arc::clone(established), descriptors);
    let (acceptor, waker) = acceptor.map_err(system("poll the port"))?;
    let thread = spawn("links-acceptor", supervisor, move || acceptor.run());
    Ok((waker, thread.map_err(system("start a thread"))?))
}
