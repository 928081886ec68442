//! A broker in this process: its threads, put together, started and stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use log_broker::{Broker, DiskEvent, DiskExecutor, Front};
use log_metadata::{BrokerNode, id_text};
use net_reactor::{
    ConnectionLimiter, LimitNames, Listener, ListenerConfig, NetworkMetrics, Polling, Reactor, Sockets,
    SocketsConfig, TlsHints, bind,
};
use node_threads::{Clock, Descriptors, Mailbox, Supervisor, ThreadWaker, spawn};
use parking_lot::Mutex;
use storage_dir_disk::DirDisk;

use crate::compaction::Compaction;
use crate::config::LogConfig;
use crate::council::Council;
use crate::disk_loop::SharedDisk;
use crate::error::{LogFault, StartError};
use crate::mail::ShardMail;
use crate::shard::{Shard, ShardLinks};

/// How messages of shared parts call Kafka's settings.
const TLS_HINTS: TlsHints = TlsHints {
    plain_port: "listeners",
    client_auth: "ssl.client.auth",
    trust_store: "ssl.truststore.location",
};
const LIMIT_NAMES: LimitNames =
    LimitNames { connections_max: "max.connections", per_ip_max: "max.connections.per.ip" };

/// A running broker. Dropping it stops it.
pub struct LogServer {
    address: SocketAddr,
    supervisor: Arc<Supervisor>,
    running: Mutex<Option<Running>>,
}

struct Running {
    accepting: Option<(Arc<AtomicBool>, mio::Waker, JoinHandle<()>)>,
    shards: Vec<(Arc<Mailbox<ShardMail>>, JoinHandle<()>)>,
    council: Arc<Council>,
    disk: (Arc<SharedDisk<DirDisk>>, JoinHandle<()>),
    compaction: (Arc<Compaction>, JoinHandle<()>),
}

/// The mailboxes of all threads, made before any of them.
struct Post {
    polls: Vec<Polling>,
    shards: Vec<Arc<Mailbox<ShardMail>>>,
    disk_events: Arc<Mailbox<DiskEvent>>,
}

impl Post {
    fn new(threads: u16) -> io::Result<Self> {
        let polls = (0..threads.max(1)).map(|_| Polling::new()).collect::<io::Result<Vec<_>>>()?;
        let first = polls.first().map(|poll| Arc::clone(poll.waker()));
        Ok(Self {
            shards: polls.iter().map(|poll| Arc::new(Mailbox::new(Arc::clone(poll.waker())))).collect(),
            disk_events: Arc::new(Mailbox::new(first.unwrap_or_else(ThreadWaker::of_parking))),
            polls,
        })
    }
}

fn system(action: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { action, source }
}

fn random() -> Result<[u8; 16], StartError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::System { action: "read randomness", source: error.into() })?;
    Ok(bytes)
}

impl LogServer {
    /// Starts a broker: its data is loaded, its port is open, its topics are being read from the council.
    ///
    /// # Errors
    /// [`StartError`], with everything undone that had begun.
    pub fn start(mut config: LogConfig) -> Result<Self, StartError> {
        let clock = Clock::start();
        let address = config.listen;
        let listener =
            bind(address, config.backlog).map_err(|source| StartError::Listen { address, source })?;
        let address = listener.local_addr().map_err(system("read the port"))?;
        if config.broker.advertised_port == 0 {
            config.broker.advertised_port = address.port();
        }
        let supervisor = Arc::new(Supervisor::default());
        let council = Arc::new(Council::connect(&config.council, config.council_session, &supervisor)?);
        let ((executor, companion, stored), cluster_id) =
            council.join(config.broker.node_id, random()?, |cluster| {
                let opened = open(&config, cluster)?;
                let node = broker_node(&config, &opened.0.directory_id());
                Ok((opened, node))
            })?;
        let mut post = Post::new(config.threads).map_err(system("make a poll"))?;
        let seed = u64::from_le_bytes(random()?.first_chunk().copied().unwrap_or_default());
        let broker_config = log_broker::BrokerConfig { seed, ..config.broker.clone() };
        let broker = Arc::new(Mutex::new(Broker::new(broker_config, cluster_id, stored)));
        let disk = SharedDisk::new(executor, Arc::clone(&post.disk_events), clock);
        let disk_thread = start_disk(&disk, &supervisor)?;
        let compaction = Compaction::new();
        let shared = (&broker, &disk, &council, &compaction);
        let shards = start_shards(&mut post, &config, shared, &supervisor, clock)?;
        let compacting = start_compaction(&compaction, companion, &post, &config, &supervisor)?;
        if let Some(first) = post.shards.first() {
            council.begin(Arc::clone(first));
        }
        let accepting = start_accepting(listener, &post, &config, &supervisor, clock)?;
        let (disk, compaction) = ((disk, disk_thread), (compaction, compacting));
        let running = Running { accepting: Some(accepting), shards, council, disk, compaction };
        Ok(Self { address, supervisor, running: Mutex::new(Some(running)) })
    }

    /// Where clients connect.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the broker stops.
    ///
    /// # Errors
    /// The fault that stopped it.
    pub fn wait(&self) -> Result<(), LogFault> {
        self.supervisor.wait()
    }

    /// Stops the broker: connections are closed, and everything that was appended is written.
    pub fn stop(&self) {
        let Some(mut running) = self.running.lock().take() else { return };
        if let Some((stopping, waker, thread)) = running.accepting.take() {
            stopping.store(true, Ordering::SeqCst);
            let _ = waker.wake();
            let _ = thread.join();
        }
        running.shards.iter().for_each(|(mail, _)| mail.put(ShardMail::Stop));
        running.shards.into_iter().for_each(|(_, thread)| drop(thread.join()));
        running.council.close();
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

fn broker_node(config: &LogConfig, directory: &[u8; 16]) -> BrokerNode {
    let broker = &config.broker;
    BrokerNode {
        directory: id_text(directory),
        host: broker.advertised_host.clone(),
        port: broker.advertised_port,
        rack: broker.rack.clone(),
    }
}

fn start_disk(
    disk: &Arc<SharedDisk<DirDisk>>,
    supervisor: &Arc<Supervisor>,
) -> Result<JoinHandle<()>, StartError> {
    let disk = Arc::clone(disk);
    spawn("log-disk", supervisor, move || disk.run()).map_err(system("start a thread"))
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

/// What all shards share.
type SharedParts<'s> =
    (&'s Arc<Mutex<Broker>>, &'s Arc<SharedDisk<DirDisk>>, &'s Arc<Council>, &'s Arc<Compaction>);

fn start_shards(
    post: &mut Post,
    config: &LogConfig,
    (broker, disk, council, compaction): SharedParts<'_>,
    supervisor: &Arc<Supervisor>,
    clock: Clock,
) -> Result<Shards, StartError> {
    let metrics = Arc::new(NetworkMetrics::default());
    let polls = std::mem::take(&mut post.polls);
    let mut shards = Vec::with_capacity(polls.len());
    for ((number, poll), mail) in (0..).zip(polls).zip(&post.shards) {
        let links = ShardLinks {
            broker: Arc::clone(broker),
            mail: post.shards.clone(),
            disk: Arc::clone(disk),
            disk_events: (number == 0).then(|| Arc::clone(&post.disk_events)),
            council: Arc::clone(council),
            compaction: Arc::clone(compaction),
        };
        let sockets = SocketsConfig {
            tls: None,
            plain_takes_tls: false,
            hints: TLS_HINTS,
            metrics: Arc::clone(&metrics),
        };
        let sockets = Sockets::new(sockets, poll.watcher(0).map_err(system("share a poll"))?);
        let front = Front::new(number, &config.broker);
        let shard = Shard::new(number, links, sockets, front, &config.directory);
        let reactor = Reactor::new(poll, clock, vec![Box::new(shard)]);
        let thread =
            spawn("log-shard", supervisor, move || reactor.run()).map_err(system("start a thread"))?;
        shards.push((Arc::clone(mail), thread));
    }
    Ok(shards)
}

fn start_accepting(
    listener: mio::net::TcpListener,
    post: &Post,
    config: &LogConfig,
    supervisor: &Arc<Supervisor>,
    clock: Clock,
) -> Result<(Arc<AtomicBool>, mio::Waker, JoinHandle<()>), StartError> {
    let gate = ConnectionLimiter::new(config.connections.0, config.connections.1, Descriptors::of_process(0));
    let shards = post.shards.clone();
    let count = shards.len();
    let hand_on = move |shard: usize, accepted| {
        if let Some(mail) = shards.get(shard) {
            mail.put(ShardMail::Accepted(accepted));
        }
    };
    let listening = ListenerConfig { throttle: None, keep_alive: true, names: LIMIT_NAMES };
    let metrics = Arc::new(NetworkMetrics::default());
    let (listener, waker) =
        Listener::new((Some(listener), None), listening, (count, hand_on), gate, clock, metrics)
            .map_err(system("make a poll"))?;
    let stopping = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stopping);
    let run = move || {
        listener.run(&flag);
        Ok::<_, std::convert::Infallible>(())
    };
    let thread = spawn("log-listener", supervisor, run).map_err(system("start a thread"))?;
    Ok((stopping, waker, thread))
}
