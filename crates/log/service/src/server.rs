//! A broker in this process: its threads, put together, started and stopped.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use log_broker::{Broker, BrokerListener, BrokerSecrets, DiskEvent, DiskExecutor, Front};
use log_links::{EnsembleSecret, LinkLimits, LinkSettings, LinkTiming, PeerTlsConfig};
use log_metadata::{BrokerNode, EndpointNode, id_of, id_text};
use net_reactor::{Accepted, NetworkMetrics, Polling, Reactor, Sockets};
use node_metrics::Sample;
use node_threads::{Clock, Mailbox, Supervisor, ThreadWaker, spawn};
use parking_lot::Mutex;
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;
use storage_dir_disk::DirDisk;

use crate::compaction::Compaction;
use crate::config::LogConfig;
use crate::council::{Council, Joined};
use crate::disk_loop::SharedDisk;
use crate::error::{LogFault, StartError};
use crate::hand_over::hand_over;
use crate::listener::{Listeners, Listening};
use crate::mail::ShardMail;
use crate::metrics;
use crate::peers::{PeerPort, Peers};
use crate::refusals::Refusals;
use crate::shard::{Shard, ShardLinks, ShardListener};

/// A running broker. Dropping it stops it.
pub struct LogServer {
    addresses: Vec<SocketAddr>,
    supervisor: Arc<Supervisor>,
    running: Mutex<Option<Running>>,
}

struct Running {
    broker: Arc<Mutex<Broker>>,
    listeners: Listeners,
    shards: Vec<(Arc<Mailbox<ShardMail>>, JoinHandle<()>)>,
    council: Arc<Council>,
    peers: Arc<Peers>,
    disk: (Arc<SharedDisk<DirDisk>>, JoinHandle<()>),
    compaction: (Arc<Compaction>, JoinHandle<()>),
}

/// The mailboxes of all threads, made before any of them.
struct Post {
    polls: Vec<Polling>,
    shards: Vec<Arc<Mailbox<ShardMail>>>,
    disk_events: Arc<Mailbox<DiskEvent>>,
    first: Arc<ThreadWaker>,
}

impl Post {
    fn new(threads: u16) -> io::Result<Self> {
        let polls = (0..threads.max(1)).map(|_| Polling::new()).collect::<io::Result<Vec<_>>>()?;
        let first =
            polls.first().map(|poll| Arc::clone(poll.waker())).unwrap_or_else(ThreadWaker::of_parking);
        Ok(Self {
            shards: polls.iter().map(|poll| Arc::new(Mailbox::new(Arc::clone(poll.waker())))).collect(),
            disk_events: Arc::new(Mailbox::new(Arc::clone(&first))),
            first,
            polls,
        })
    }

    /// That of the first shard's thread.
    fn waker(&self) -> Arc<ThreadWaker> {
        Arc::clone(&self.first)
    }
}

fn system(action: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { action, source }
}

fn random<const N: usize>() -> Result<[u8; N], StartError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::System { action: "read randomness", source: error.into() })?;
    Ok(bytes)
}

impl LogServer {
    /// Starts a broker: its data is loaded, its port is open, its topics are being read from the council.
    ///
    /// # Errors
    /// [`StartError`], with everything undone that had begun.
    pub fn start(config: LogConfig) -> Result<Self, StartError> {
        let clock = Clock::start();
        let listening = listen(&config)?;
        let supervisor = Arc::new(Supervisor::default());
        let council = Arc::new(Council::connect(&config.council, config.council_session, &supervisor)?);
        let Membership { opened: (executor, companion, stored), joined, port } =
            join(&config, &council, &listening, clock)?;
        let mut post = Post::new(config.threads).map_err(system("make a poll"))?;
        let own = broker_config(&config, &listening, joined.incarnation)?;
        let secret = council.links_secret(random()?)?;
        let settings = link_settings((&own, config.peer_tls.clone()), &joined.cluster, secret)?;
        let peers = Arc::new(Peers::start(settings, port, post.waker(), &supervisor)?);
        let broker = Arc::new(Mutex::new(Broker::new(own, joined.cluster, stored)));
        let refusals = Arc::new(Refusals::default());
        let disk = SharedDisk::new(executor, Arc::clone(&post.disk_events), clock);
        let disk_thread = start_disk(&disk, &supervisor)?;
        let compaction = Compaction::new();
        let shared = Shared {
            broker: &broker,
            disk: &disk,
            council: &council,
            compaction: &compaction,
            refusals: &refusals,
            listening: &listening,
            peers: &peers,
        };
        let shards = start_shards(&mut post, &config, &shared, &supervisor, clock)?;
        let compacting = start_compaction(&compaction, companion, &post, &config, &supervisor)?;
        if let Some(first) = post.shards.first() {
            council.begin(Arc::clone(first));
        }
        let mut listeners = Listeners::new(&listening, &config.connections, (&broker, &refusals));
        let addresses = listeners.addresses().to_vec();
        let accept = (post.shards.len(), hand_on(&post));
        listeners.start(listening, accept, &supervisor, clock).map_err(system("accept connections"))?;
        let (disk, compaction) = ((disk, disk_thread), (compaction, compacting));
        let running = Running { broker, listeners, shards, council, peers, disk, compaction };
        Ok(Self { addresses, supervisor, running: Mutex::new(Some(running)) })
    }

    /// Where clients connect: the first listener.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.addresses.first().copied().unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    /// Where clients connect, in the order of the listeners.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Reads the keys and certificates of all listeners, and of the links between brokers, again. What cannot be used is told in the log, and what was read before
    /// stays in force.
    pub fn reload(&self) {
        if let Some(running) = self.running.lock().as_ref() {
            running.listeners.reload();
            running.peers.reload();
        }
    }

    /// Figures of this moment, for metrics; none once it was stopped.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let running = self.running.lock();
        let Some(Running { broker, listeners, disk, peers, .. }) = running.as_ref() else {
            return Vec::new();
        };
        let figures = broker.lock().figures();
        let mut samples = listeners.samples();
        samples.extend(peers.samples());
        samples.extend(metrics::samples(&figures, disk.0.turns()));
        samples
    }

    /// Waits until the broker stops.
    ///
    /// # Errors
    /// The fault that stopped it.
    pub fn wait(&self) -> Result<(), LogFault> {
        self.supervisor.wait()
    }

    /// Stops the broker: others lead what it led, connections are closed, and everything that was appended is written. Takes ten
    /// seconds more at most if others do not take over.
    pub fn stop(&self) {
        let Some(mut running) = self.running.lock().take() else { return };
        if let Some((first, _)) = running.shards.first() {
            hand_over(&running.broker, first, &self.supervisor);
        }
        running.listeners.stop();
        running.shards.iter().for_each(|(mail, _)| mail.put(ShardMail::Stop));
        running.shards.into_iter().for_each(|(_, thread)| drop(thread.join()));
        running.council.close();
        running.peers.stop();
        running.compaction.0.stop();
        let _ = running.compaction.1.join();
        running.disk.0.stop();
        let _ = running.disk.1.join();
        self.supervisor.stopped();
    }
}

impl Drop for LogServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Takes all ports, before anything else: one that is in use costs nothing then.
fn listen(config: &LogConfig) -> Result<Vec<Listening>, StartError> {
    let listeners = config.listeners.iter().cloned();
    listeners.map(|listener| Listening::open(listener, config.backlog)).collect()
}

/// Deals connections out to the shards.
fn hand_on(post: &Post) -> impl FnMut(usize, Accepted) + Clone + use<> {
    let shards = post.shards.clone();
    move |shard, accepted| {
        if let Some(mail) = shards.get(shard) {
            mail.put(ShardMail::Accepted(accepted));
        }
    }
}

type Opened = (DiskExecutor<DirDisk>, DirDisk, Vec<log_broker::StoredPartition>);

fn open(config: &LogConfig, cluster: &str) -> Result<Opened, StartError> {
    let directory = &config.directory;
    let unusable = |reason: String| StartError::Data { directory: directory.clone(), reason };
    storage_dir_disk::private::create_directories(directory).map_err(|error| unusable(error.to_string()))?;
    let disk = DirDisk::open(directory).map_err(|error| unusable(error.to_string()))?;
    let companion = disk.companion();
    let opened = DiskExecutor::open(disk, config.store, (random()?, cluster));
    let (executor, stored) = opened.map_err(|error| unusable(error.to_string()))?;
    Ok((executor, companion, stored))
}

/// What a broker has once it has joined its cluster.
struct Membership {
    opened: Opened,
    joined: Joined,
    port: PeerPort,
}

fn join(
    config: &LogConfig,
    council: &Council,
    listening: &[Listening],
    clock: Clock,
) -> Result<Membership, StartError> {
    let port = peer_port(config, listening)?;
    let started = (random()?, clock.now().wall.ms().cast_unsigned());
    let (opened, joined) = council.join(config.broker.node_id, started, |cluster| {
        let opened = open(config, cluster)?;
        let node = broker_node(config, (listening, &port), &opened.0.directory_id());
        Ok((opened, node))
    })?;
    Ok(Membership { opened, joined, port })
}

/// What the broker of this process is started with.
fn broker_config(
    config: &LogConfig,
    listening: &[Listening],
    incarnation: u64,
) -> Result<log_broker::BrokerConfig, StartError> {
    let seed = u64::from_le_bytes(random()?);
    let listeners: Vec<BrokerListener> = listening.iter().map(Listening::advertised).collect();
    let secrets = BrokerSecrets { cluster: random()?, start: random()? };
    let broker = config.broker.clone();
    Ok(log_broker::BrokerConfig { incarnation, seed, listeners, secrets, worked_ns, ..broker })
}

fn peer_port(config: &LogConfig, listening: &[Listening]) -> Result<PeerPort, StartError> {
    let first = listening.first();
    let address = first.map_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)), |first| first.address);
    let host = first.map(Listening::advertised).unwrap_or_default().advertised_host;
    PeerPort::open(&config.peers, (address, &host))
}

fn broker_node(
    config: &LogConfig,
    (listening, port): (&[Listening], &PeerPort),
    directory: &[u8; 16],
) -> BrokerNode {
    let all = listening.iter().map(Listening::advertised);
    let of_name = |listener: BrokerListener| {
        let place = EndpointNode { host: listener.advertised_host, port: listener.advertised_port };
        (listener.name, place)
    };
    let listeners: BTreeMap<String, EndpointNode> = all.map(of_name).collect();
    let first = listening.first().map(Listening::advertised).unwrap_or_default();
    BrokerNode {
        directory: id_text(directory),
        host: first.advertised_host,
        port: first.advertised_port,
        rack: config.broker.rack.clone(),
        peers: Some(port.announced.clone()),
        listeners: if listeners.len() > 1 { listeners } else { BTreeMap::new() },
        ..BrokerNode::default()
    }
}

fn link_settings(
    (broker, tls): (&log_broker::BrokerConfig, Option<PeerTlsConfig>),
    cluster: &str,
    secret: [u8; 32],
) -> Result<LinkSettings, StartError> {
    let unknown = || StartError::Council(format!("the id of the cluster is none: `{cluster}`"));
    let secret = EnsembleSecret::new(&secret).ok_or_else(unknown)?;
    Ok(LinkSettings {
        id: ReplicaId(broker.node_id.cast_unsigned()),
        incarnation: Incarnation(broker.incarnation),
        cluster: id_of(cluster).ok_or_else(unknown)?,
        secret,
        tls,
        source: None,
        limits: LinkLimits::default(),
        timing: LinkTiming::default(),
    })
}

fn start_disk(
    disk: &Arc<SharedDisk<DirDisk>>,
    supervisor: &Arc<Supervisor>,
) -> Result<JoinHandle<()>, StartError> {
    let disk = Arc::clone(disk);
    spawn("log-disk", supervisor, move || disk.run()).map_err(system("start a thread"))
}

/// The processor time of the calling thread, nanoseconds.
fn worked_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn start_compaction(
    compaction: &Arc<Compaction>,
    disk: DirDisk,
    post: &Post,
    config: &LogConfig,
    supervisor: &Arc<Supervisor>,
) -> Result<JoinHandle<()>, StartError> {
    let (compaction, rate) = (Arc::clone(compaction), config.compaction_bytes_per_second_max);
    let broker = post.shards.first().map(Arc::clone);
    let broker = broker.unwrap_or_else(|| Arc::new(Mailbox::new(ThreadWaker::of_parking())));
    let run = move || {
        compaction.run(disk, &broker, rate);
        Ok::<_, std::convert::Infallible>(())
    };
    spawn("log-compaction", supervisor, run).map_err(system("start a thread"))
}

type Shards = Vec<(Arc<Mailbox<ShardMail>>, JoinHandle<()>)>;

/// What the shards share.
struct Shared<'s> {
    broker: &'s Arc<Mutex<Broker>>,
    disk: &'s Arc<SharedDisk<DirDisk>>,
    council: &'s Arc<Council>,
    compaction: &'s Arc<Compaction>,
    refusals: &'s Arc<Refusals>,
    listening: &'s [Listening],
    peers: &'s Arc<Peers>,
}

fn start_shards(
    post: &mut Post,
    config: &LogConfig,
    shared: &Shared<'_>,
    supervisor: &Arc<Supervisor>,
    clock: Clock,
) -> Result<Shards, StartError> {
    let metrics = Arc::new(NetworkMetrics::default());
    let polls = std::mem::take(&mut post.polls);
    let count = u16::try_from(polls.len()).unwrap_or(u16::MAX);
    let mut shards = Vec::with_capacity(polls.len());
    let listeners: Vec<BrokerListener> = shared.listening.iter().map(Listening::advertised).collect();
    let front_config = log_broker::BrokerConfig { listeners, ..config.broker.clone() };
    for ((number, poll), mail) in (0..).zip(polls).zip(&post.shards) {
        let links = ShardLinks {
            broker: Arc::clone(shared.broker),
            mail: post.shards.clone(),
            disk: Arc::clone(shared.disk),
            disk_events: (number == 0).then(|| Arc::clone(&post.disk_events)),
            council: Arc::clone(shared.council),
            compaction: Arc::clone(shared.compaction),
            refusals: Arc::clone(shared.refusals),
            peers: Arc::clone(shared.peers),
            set_log_level: config.set_log_level.clone(),
        };
        let of_listener = |listening: &Listening| -> io::Result<ShardListener> {
            let sockets = Sockets::new(listening.sockets(&metrics), poll.watcher(0)?);
            Ok(ShardListener { sockets, clients: listening.clients() })
        };
        let listeners = shared.listening.iter().map(of_listener).collect::<io::Result<Vec<_>>>();
        let listeners = listeners.map_err(system("share a poll"))?;
        let front = Front::new(number, count, &front_config);
        let shard = Shard::new(number, links, listeners, front, &config.directory);
        let reactor = Reactor::new(poll, clock, vec![Box::new(shard)]).resting(config.rest_us_max);
        let thread =
            spawn("log-shard", supervisor, move || reactor.run()).map_err(system("start a thread"))?;
        shards.push((Arc::clone(mail), thread));
    }
    Ok(shards)
}
