//! The server: its threads, put together, started and stopped.

use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use front::{Front, History};
use member::Core;
use parking_lot::{Mutex, RwLock};
use tree::Tree;

use crate::board::{Board, spawn};
use crate::clerk::{self, Clerk};
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::core_loop::{CoreLinks, CoreLoop, CoreMail};
use crate::error::{ServerFault, StartError};
use crate::http::listener::HttpListener;
use crate::http::router::Router;
use crate::journal_loop::{JournalLinks, JournalLoop, JournalMail, JournalSettings};
use crate::mailbox::{Doorbell, Mailbox};
use crate::metrics::network::NetworkMetrics;
use crate::metrics::{CoreMetrics, JournalMetrics};
use crate::net::listener::{self, Gate, Listener};
use crate::net::shard::{Shard, ShardConfig, ShardLinks, ShardMail};
use crate::net::tls::context::TlsContext;
use crate::overview::Overview;
use crate::snapshots::SnapshotDesk;
use crate::{audit, recovery, settings};

/// A running server. Dropping it stops it.
pub struct Server {
    addresses: Addresses,
    board: Arc<Board>,
    running: Mutex<Option<Running>>,
    overview: Arc<Overview>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Addresses {
    client: Option<SocketAddr>,
    secure: Option<SocketAddr>,
    http: Option<SocketAddr>,
    admin: Option<SocketAddr>,
}

/// What is there to be stopped, in the order of stopping.
#[derive(Default)]
struct Running {
    accepting: Option<(Arc<AtomicBool>, mio::Waker, JoinHandle<()>)>,
    http: Vec<HttpListener>,
    shards: Vec<(Arc<Mailbox<ShardMail>>, JoinHandle<()>)>,
    clerk: Option<(Arc<Clerk>, JoinHandle<()>)>,
    core: Option<(Arc<Mailbox<CoreMail>>, JoinHandle<()>)>,
    journal: Option<(Arc<Mailbox<JournalMail>>, JoinHandle<()>)>,
}

/// The mailboxes of all threads, made before any of them.
struct Post {
    polls: Vec<(mio::Poll, Arc<Doorbell>)>,
    shards: Vec<Arc<Mailbox<ShardMail>>>,
    streams: Vec<Arc<Mailbox<front::FromCore>>>,
    to_core: Vec<Arc<Mailbox<front::ToCore>>>,
    core_bell: Arc<Doorbell>,
    core: Arc<Mailbox<CoreMail>>,
    from_journal: Arc<Mailbox<member::JournalEvent>>,
    journal_bell: Arc<Doorbell>,
    journal: Arc<Mailbox<JournalMail>>,
}

impl Post {
    fn new(shards: u16) -> io::Result<Self> {
        let polls = (0..shards).map(|_| Shard::poll()).collect::<io::Result<Vec<_>>>()?;
        let core_bell = Doorbell::of_parking();
        let journal_bell = Doorbell::of_parking();
        Ok(Self {
            shards: polls.iter().map(|(_, bell)| Arc::new(Mailbox::new(Arc::clone(bell)))).collect(),
            streams: polls.iter().map(|(_, bell)| Arc::new(Mailbox::new(Arc::clone(bell)))).collect(),
            to_core: polls.iter().map(|_| Arc::new(Mailbox::new(Arc::clone(&core_bell)))).collect(),
            core: Arc::new(Mailbox::new(Arc::clone(&core_bell))),
            from_journal: Arc::new(Mailbox::new(Arc::clone(&core_bell))),
            journal: Arc::new(Mailbox::new(Arc::clone(&journal_bell))),
            polls,
            core_bell,
            journal_bell,
        })
    }
}

fn system(action: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { action, source }
}

/// Bytes that nobody can guess.
fn entropy() -> Result<[u8; 32], StartError> {
    let mut bytes = [0; 32];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(system("read randomness"))?;
    Ok(bytes)
}

impl Server {
    /// Starts a server and returns once it serves clients: its data is loaded, its addresses are listened at.
    ///
    /// # Errors
    /// [`StartError`], with everything undone that had begun.
    pub fn start(config: ServerConfig) -> Result<Self, StartError> {
        let clock = Clock::start();
        let tls = config.tls.clone().map(TlsContext::new).transpose()?.map(Arc::new);
        let sockets = Sockets::bind(&config)?;
        let shards = settings::shard_count(config.listen.shards);
        let mut post = Post::new(shards).map_err(system("make a poll"))?;
        let limits = &config.limits;
        let gate = Gate::new(limits.connections_max, limits.connections_per_ip_max);
        let overview = Arc::new(Overview {
            shards: post.shards.clone(),
            core: Arc::clone(&post.core),
            tree: Arc::new(RwLock::new(Tree::new())),
            gate: Arc::clone(&gate),
            journal_metrics: Arc::new(JournalMetrics::default()),
            core_metrics: Arc::new(CoreMetrics::default()),
            network_metrics: Arc::new(NetworkMetrics::default()),
            snapshots: Arc::new(SnapshotDesk::default()),
            clock,
            start: OnceLock::new(),
            first_snapshot: OnceLock::new(),
            ports: OnceLock::new(),
            serving: AtomicBool::new(false),
            trace_mask: Overview::initial_trace_mask(),
            unanswered: Default::default(),
            config,
        });
        let mut server = Self {
            addresses: sockets.addresses(),
            board: Arc::new(Board::default()),
            running: Mutex::new(Some(Running::default())),
            overview,
        };
        // From here on, dropping the server on an error stops what has begun.
        server.start_http()?;
        let history = server.start_core(&post)?;
        server.start_shards(&mut post, tls.as_ref(), &history)?;
        server.start_accepting(sockets, &post, gate)?;
        let ports = (server.addresses.client, server.addresses.secure);
        let _ = server.overview.ports.set((ports.0.map(|at| at.port()), ports.1.map(|at| at.port())));
        server.overview.serving.store(true, Ordering::SeqCst);
        if server.overview.config.audit.enabled {
            audit::server("serverStart", "success");
        }
        Ok(server)
    }

    fn running(&mut self) -> &mut Running {
        self.running.get_mut().get_or_insert_default()
    }

    /// The pages come first: a probe may ask while data is being loaded.
    fn start_http(&mut self) -> Result<(), StartError> {
        let (metrics, admin) = (&self.overview.config.metrics, &self.overview.config.admin);
        let command_url = admin.command_url.trim_end_matches('/').to_owned();
        let router = |metrics: bool, commands: Option<String>| Router {
            server: Arc::clone(&self.overview) as Arc<dyn crate::inspect::Inspect>,
            metrics,
            commands,
        };
        let shared = metrics.address.is_some() && metrics.address == admin.address;
        let mut wanted = Vec::new();
        if let Some(address) = metrics.address {
            let optional = metrics.optional && (!shared || admin.optional);
            let commands = shared.then(|| command_url.clone());
            wanted.push(("metrics", address, optional, router(true, commands)));
        }
        if let Some(address) = admin.address.filter(|_| !shared) {
            wanted.push(("the AdminServer", address, admin.optional, router(false, Some(command_url))));
        }
        for (purpose, address, optional, router) in wanted {
            let (has_metrics, has_commands) = (router.metrics, router.commands.is_some());
            match HttpListener::start(address, "http", router) {
                Ok(listener) => {
                    let at = Some(listener.address());
                    self.running().http.push(listener);
                    self.addresses.http = at.filter(|_| has_metrics).or(self.addresses.http);
                    self.addresses.admin = at.filter(|_| has_commands).or(self.addresses.admin);
                }
                Err(source) if optional => {
                    tracing::warn!(%address, %source, "{purpose}: not served over HTTP, for this address cannot be had");
                }
                Err(source) => return Err(StartError::Listen { address, purpose, source }),
            }
        }
        Ok(())
    }

    /// Loads the data and runs the core until it serves. Gives what lately changed.
    fn start_core(&mut self, post: &Post) -> Result<History, StartError> {
        let overview = Arc::clone(&self.overview);
        let (clock, config) = (overview.clock, &overview.config);
        let opened = recovery::open(&config.storage, config.beyond.history_bytes_max, entropy()?, clock)?;
        let opened_us = clock.mono_us();
        let shards = u16::try_from(post.shards.len()).unwrap_or(u16::MAX);
        let core_config = settings::core(config, shards);
        let core = Core::new(core_config, opened.seat, &opened.tree, entropy()?, clock.now().for_core());
        *overview.tree.write() = opened.tree;
        if let Some((saved, seconds)) = opened.snapshot {
            let _ = overview.first_snapshot.set((saved.zxid, seconds));
            overview.snapshots.saved(saved);
        }
        self.start_journal(post, opened.journal)?;
        let links = CoreLinks {
            bell: Arc::clone(&post.core_bell),
            mail: Arc::clone(&post.core),
            from_shards: post.to_core.clone(),
            to_shards: post.streams.clone(),
            from_journal: Arc::clone(&post.from_journal),
            to_journal: Arc::clone(&post.journal),
            tree: Arc::clone(&overview.tree),
        };
        let (serves, serving) = mpsc::channel();
        let core_loop = CoreLoop::new(core, links, Arc::clone(&overview.core_metrics), clock, serves);
        let thread = spawn("core", &self.board, move || core_loop.run().map_err(|fault| fault.0))
            .map_err(system("start a thread"))?;
        self.running().core = Some((Arc::clone(&post.core), thread));
        self.board.wait_until(&serving)?;
        let figures = crate::metrics::StartMetrics {
            log_load_ms: opened.figures.log_load_ms + (clock.mono_us() - opened_us) / 1000,
            total_ms: clock.mono_us() / 1000,
            ..opened.figures
        };
        let _ = overview.start.set(figures);
        tracing::info!(
            snapshot_ms = figures.snapshot_load_ms,
            log_ms = figures.log_load_ms,
            entries = figures.entries_loaded,
            "the data is loaded"
        );
        Ok(opened.history)
    }

    fn start_journal(
        &mut self,
        post: &Post,
        journal: journal::Journal<crate::disk::DirDisk>,
    ) -> Result<(), StartError> {
        let storage = &self.overview.config.storage;
        let settings = JournalSettings {
            snapshot_bytes_per_second: storage.snapshot_bytes_per_second,
            keep: recovery::keep(storage),
            flush_warning: Duration::from_millis(u64::from(storage.flush_warning_ms)),
        };
        let links = JournalLinks {
            mail: Arc::clone(&post.journal),
            bell: Arc::clone(&post.journal_bell),
            answers: Arc::clone(&post.from_journal),
            metrics: Arc::clone(&self.overview.journal_metrics),
            desk: Arc::clone(&self.overview.snapshots),
        };
        let journal_loop = JournalLoop::new(journal, settings, links, self.overview.clock);
        let run = move || journal_loop.run().map(drop).map_err(|fault| fault.to_string());
        let thread = spawn("journal", &self.board, run).map_err(system("start a thread"))?;
        self.running().journal = Some((Arc::clone(&post.journal), thread));
        Ok(())
    }

    fn start_shards(
        &mut self,
        post: &mut Post,
        tls: Option<&Arc<TlsContext>>,
        history: &History,
    ) -> Result<(), StartError> {
        let (desk, requests) = Clerk::new();
        let (overview, context, shards) = (Arc::clone(&self.overview), tls.cloned(), post.shards.clone());
        let answer = move || {
            clerk::run(&requests, overview.as_ref(), &shards, context.as_deref());
            Ok(())
        };
        let thread = spawn("clerk", &self.board, answer).map_err(system("start a thread"))?;
        self.running().clerk = Some((Arc::clone(&desk), thread));
        let config = &self.overview.config;
        let count = u16::try_from(post.shards.len()).unwrap_or(u16::MAX);
        let front_config = settings::front(config, count, entropy()?)?;
        let shard_config = ShardConfig {
            words: config.words.clone(),
            plain_takes_tls: config.listen.client_takes_tls,
            audit: config.audit.enabled,
        };
        for (number, poll) in (0..count).zip(post.polls.drain(..)) {
            let place = usize::from(number);
            let links = ShardLinks {
                mail: Arc::clone(&post.shards[place]),
                stream: Arc::clone(&post.streams[place]),
                to_core: Arc::clone(&post.to_core[place]),
                tree: Arc::clone(&self.overview.tree),
                clerk: Arc::clone(&desk),
                tls: tls.cloned(),
                clock: self.overview.clock,
                metrics: Arc::clone(&self.overview.network_metrics),
            };
            let mut front = Front::new(front_config.clone(), number);
            front.remember(history.clone());
            let shard = Shard::new(number, shard_config.clone(), links, poll, front);
            let run = move || shard.run().map_err(|error| error.to_string());
            let thread = spawn("shard", &self.board, run).map_err(system("start a thread"))?;
            self.running().shards.push((Arc::clone(&post.shards[place]), thread));
        }
        Ok(())
    }

    fn start_accepting(&mut self, sockets: Sockets, post: &Post, gate: Arc<Gate>) -> Result<(), StartError> {
        let config = &self.overview.config;
        let (listener, waker) = Listener::new(
            (sockets.client, sockets.secure),
            &config.listen,
            config.limits.connection_throttle,
            post.shards.clone(),
            gate,
            self.overview.clock,
            Arc::clone(&self.overview.network_metrics),
        )
        .map_err(system("poll the client port"))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopping);
        let run = move || {
            listener.run(&flag);
            Ok(())
        };
        let thread = spawn("accept", &self.board, run).map_err(system("start a thread"))?;
        self.running().accepting = Some((stopping, waker, thread));
        Ok(())
    }

    /// Where plain clients connect.
    #[must_use]
    pub const fn client_addr(&self) -> Option<SocketAddr> {
        self.addresses.client
    }

    /// Where clients connect encrypted.
    #[must_use]
    pub const fn secure_addr(&self) -> Option<SocketAddr> {
        self.addresses.secure
    }

    /// Where the metrics are.
    #[must_use]
    pub const fn http_addr(&self) -> Option<SocketAddr> {
        self.addresses.http
    }

    /// Where the AdminServer's commands are.
    #[must_use]
    pub const fn admin_addr(&self) -> Option<SocketAddr> {
        self.addresses.admin
    }

    /// Stops: no new connections, output flushed, connections closed, the journal closed cleanly. Returns when all
    /// of that is done; sessions live on until their clients come back or they expire.
    pub fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(running) = running {
            self.overview.serving.store(false, Ordering::SeqCst);
            if self.overview.config.audit.enabled {
                audit::server("serverStop", "invoked");
            }
            running.stop();
        }
        self.board.stopped();
    }

    /// Waits until the server was stopped, or has to stop because of a fault; then all of it is down.
    ///
    /// # Errors
    /// The fault.
    pub fn wait(&self) -> Result<(), ServerFault> {
        let outcome = self.board.wait();
        self.stop();
        outcome
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Running {
    fn stop(self) {
        // A thread that panicked has been reported by the board.
        if let Some((flag, waker, thread)) = self.accepting {
            flag.store(true, Ordering::SeqCst);
            let _ = waker.wake();
            let _ = thread.join();
        }
        for mut listener in self.http {
            listener.stop();
        }
        for (mail, _) in &self.shards {
            mail.put(ShardMail::Stop);
        }
        for (_, thread) in self.shards {
            let _ = thread.join();
        }
        if let Some((desk, thread)) = self.clerk {
            // The shards' desks are gone with them; with this one the clerk ends.
            drop(desk);
            let _ = thread.join();
        }
        if let Some((mail, thread)) = self.core {
            mail.put(CoreMail::Stop);
            let _ = thread.join();
        }
        if let Some((mail, thread)) = self.journal {
            mail.put(JournalMail::Stop);
            let _ = thread.join();
        }
    }
}

/// The client ports, taken before anything else so that a port in use costs nothing.
struct Sockets {
    client: Option<mio::net::TcpListener>,
    secure: Option<mio::net::TcpListener>,
}

impl Sockets {
    fn bind(config: &ServerConfig) -> Result<Self, StartError> {
        if config.listen.client.is_none() && config.listen.secure.is_none() {
            return Err(StartError::Unsupported(String::from(
                "there is no address for clients to connect to",
            )));
        }
        if (config.listen.secure.is_some() || config.listen.client_takes_tls) && config.tls.is_none() {
            return Err(StartError::Unsupported(String::from(
                "encrypted connections are asked for without a key\nhint: set `ssl.keyStore.location`",
            )));
        }
        let bind = |address: Option<SocketAddr>, purpose| {
            let bound = address.map(|address| {
                listener::bind(address, &config.listen).map_err(|source| StartError::Listen {
                    address,
                    purpose,
                    source,
                })
            });
            bound.transpose()
        };
        Ok(Self {
            client: bind(config.listen.client, "clients")?,
            secure: bind(config.listen.secure, "encrypted clients")?,
        })
    }

    fn addresses(&self) -> Addresses {
        let address = |listener: &Option<mio::net::TcpListener>| listener.as_ref()?.local_addr().ok();
        Addresses { client: address(&self.client), secure: address(&self.secure), ..Addresses::default() }
    }
}
