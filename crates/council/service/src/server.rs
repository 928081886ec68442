//! The server: its threads, put together, started and stopped.

use crate::certificate_ends::CertificateEnds;
use node_threads::{Clock, Descriptors, Mailbox, ThreadWaker};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use base::MemberNumber;
use council_frontend::Front;
use parking_lot::Mutex;

use crate::boot::{self, Boot, Parts};
use crate::config::ServerConfig;
use crate::core_loop::{CoreLinks, CouncilTurns};
use crate::counters::{CoreCounters, JournalCounters};
use crate::error::{ServerFault, StartError};
use crate::four_letter_worker;
use crate::http::admin::AdminServer;
use crate::inspect::Inspect;
use crate::introspection::Introspection;
use crate::listeners::{self, Addresses, Page, Sockets};
use crate::messages::CoreMail;
use crate::messages::{ShardMail, WordQueue};
use crate::net::shard::{Shard, ShardConfig, ShardLinks};
use crate::peers;
use crate::prepare::{Prepared, prepare};
use crate::restore::RestoreRequests;
use crate::snapshot_requests::SnapshotRequests;
use crate::{audit, config_mapping, random};
use net_http::{Hosts, HttpListener};
use net_peers::{
    Acceptor, Credentials, Diallers, Established, LocalIdentity, Means, OtherEnsembles, PeerConnections,
    SharedPort,
};
use net_reactor::NetworkMetrics;
use net_reactor::{
    ConnectionLimiter, LimitNames, LimiterGate, Listener, ListenerConfig, ListeningSocket, Polling, Reactor,
    Sockets as ClientSockets, SocketsConfig, TlsHints, Turns,
};
use net_tls::TlsContext;
use node_group::JournalMail;
use node_pages::{Pages, Registry};
use node_threads::{Supervisor, spawn};

/// How messages of shared parts call ZooKeeper's settings.
const TLS_HINTS: TlsHints = TlsHints {
    plain_at_tls: "plain clients connect to `clientPort`",
    tls_at_plain: "clients with TLS connect to `secureClientPort`, or set `client.portUnification`",
    client_auth: "ssl.clientAuth",
    trust_store: "ssl.trustStore.location",
};
const LIMIT_NAMES: LimitNames = LimitNames { connections_max: "maxCnxns", per_ip_max: "maxClientCnxns" };

/// How long a leader that stops waits for another to lead.
const STEPPING_ASIDE_MAX: Duration = Duration::from_secs(1);

/// A running server. Dropping it stops it.
pub struct Server {
    addresses: Addresses,
    supervisor: Arc<Supervisor>,
    running: Mutex<Option<Running>>,
    overview: Arc<Introspection>,
    registry: Registry,
    tls: Option<Arc<TlsContext>>,
    /// Among other members: their port.
    port: Option<SharedPort>,
}

/// What is there to be stopped, in the order of stopping.
#[derive(Default)]
struct Running {
    accepting: Option<(Arc<AtomicBool>, mio::Waker, JoinHandle<()>)>,
    http: Vec<HttpListener>,
    shards: Vec<(Arc<Mailbox<ShardMail>>, JoinHandle<()>)>,
    four_letter_worker: Option<(Arc<WordQueue>, JoinHandle<()>)>,
    acceptor: Option<(mio::Waker, JoinHandle<()>)>,
    core: Option<(Arc<Mailbox<CoreMail>>, JoinHandle<()>)>,
}

/// The mailboxes of all threads, made before any of them.
struct Post {
    polls: Vec<Polling>,
    shards: Vec<Arc<Mailbox<ShardMail>>>,
    streams: Vec<Arc<Mailbox<council_frontend::FromCore>>>,
    turns: Vec<Arc<Turns>>,
    watches: Vec<Arc<AtomicBool>>,
    to_core: Vec<Arc<Mailbox<council_frontend::ToCore>>>,
    core_waker: Arc<ThreadWaker>,
    core_turns: Arc<CouncilTurns>,
    /// In an ensemble the core sleeps where its peers' connections are polled.
    core_poll: Option<mio::Poll>,
    core: Arc<Mailbox<CoreMail>>,
    established: Arc<Mailbox<Established>>,
    from_journal: Arc<Mailbox<consensus_replica::JournalEvent>>,
    journal_waker: Arc<ThreadWaker>,
    journal: Arc<Mailbox<JournalMail>>,
}

impl Post {
    fn new(shards: u16, among_others: bool, clock: Clock) -> io::Result<Self> {
        let polls = (0..shards).map(|_| Polling::new()).collect::<io::Result<Vec<_>>>()?;
        let (core_poll, core_waker) = match among_others {
            true => PeerConnections::poll().map(|(poll, waker)| (Some(poll), waker))?,
            false => (None, ThreadWaker::of_parking()),
        };
        let journal_waker = ThreadWaker::of_parking();
        Ok(Self {
            shards: polls.iter().map(|poll| Arc::new(Mailbox::new(Arc::clone(poll.waker())))).collect(),
            streams: polls.iter().map(|poll| Arc::new(Mailbox::new(Arc::clone(poll.waker())))).collect(),
            turns: Vec::new(),
            watches: polls.iter().map(|_| Arc::default()).collect(),
            to_core: polls.iter().map(|_| Arc::new(Mailbox::new(Arc::clone(&core_waker)))).collect(),
            core: Arc::new(Mailbox::new(Arc::clone(&core_waker))),
            established: Arc::new(Mailbox::new(Arc::clone(&core_waker))),
            from_journal: Arc::new(Mailbox::new(Arc::clone(&core_waker))),
            journal: Arc::new(Mailbox::new(Arc::clone(&journal_waker))),
            polls,
            core_turns: CouncilTurns::new(Arc::clone(&core_waker), clock),
            core_waker,
            core_poll,
            journal_waker,
        })
    }
}

fn system(action: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { action, source }
}

/// What the pages see of a server that is about to start.
fn overview(
    config: ServerConfig,
    post: &Post,
    gate: &Arc<ConnectionLimiter>,
    other_ensembles: Option<Arc<OtherEnsembles>>,
    tls: Option<&Arc<TlsContext>>,
    clock: Clock,
) -> Arc<Introspection> {
    Arc::new(Introspection {
        shards: post.shards.clone(),
        core: Arc::clone(&post.core),
        tree: boot::empty_tree(),
        gate: Arc::clone(gate),
        journal_metrics: Arc::new(JournalCounters::default()),
        core_metrics: Arc::new(CoreCounters::default()),
        leadership: Arc::default(),
        other_ensembles: other_ensembles.unwrap_or_default(),
        network_metrics: Arc::new(NetworkMetrics::default()),
        snapshots: Arc::new(SnapshotRequests::default()),
        restore: RestoreRequests::default(),
        session_clients: Arc::default(),
        attempts: Mutex::default(),
        refusal_lines: Default::default(),
        act_lines: Default::default(),
        lists: Default::default(),
        clock,
        start: OnceLock::new(),
        first_snapshot: Mutex::default(),
        ports: OnceLock::new(),
        standing: Arc::default(),
        trace_mask: Introspection::initial_trace_mask(),
        unanswered: Default::default(),
        certificates: CertificateEnds::new(tls.cloned()),
        config,
    })
}

impl Server {
    /// Starts a server and returns once it serves clients: its data is loaded, its addresses are listened at. A member
    /// of an ensemble returns at once: it serves as soon as a majority is there ([`Self::is_serving`]).
    ///
    /// # Errors
    /// [`StartError`], with everything undone that had begun.
    pub fn start(config: ServerConfig) -> Result<Self, StartError> {
        let clock = Clock::start();
        let prepared = prepare(&config, clock)?;
        for warning in prepared.warnings(clock) {
            tracing::warn!("{warning}");
        }
        let Prepared { tls, mut sockets, credentials } = prepared;
        let tls = tls.map(Arc::new);
        let shards = config_mapping::shard_count(config.listen.shards);
        let mut post = Post::new(shards, config.ensemble.is_some(), clock).map_err(system("make a poll"))?;
        let limits = &config.limits;
        let others = config.ensemble.as_ref().map_or(0, |ensemble| ensemble.members.len().saturating_sub(1));
        let descriptors = Descriptors::of_process(others);
        let gate = ConnectionLimiter::new(limits.connections_max, limits.connections_per_ip_max, descriptors);
        let other_ensembles = credentials.as_ref().map(|known| Arc::clone(&known.other_ensembles));
        let overview = overview(config, &post, &gate, other_ensembles, tls.as_ref(), clock);
        let mut server = Self {
            addresses: sockets.addresses(),
            supervisor: Arc::new(Supervisor::default()),
            running: Mutex::new(Some(Running::default())),
            overview,
            registry: Registry::default(),
            tls: tls.clone(),
            port: None,
        };
        // From here on, dropping the server on an error stops what has begun.
        server.start_http(descriptors)?;
        let ports = (server.addresses.client, server.addresses.secure);
        let _ = server.overview.ports.set((ports.0.map(|at| at.port()), ports.1.map(|at| at.port())));
        server.start_shards(&mut post, tls.as_ref())?;
        let peers = server.start_peers(&mut post, sockets.peers.take(), credentials, descriptors)?;
        let alone = peers.is_none();
        let news = server.start_core(&post, peers)?;
        if alone {
            server.supervisor.wait_until(&news)??;
        }
        server.start_accepting(sockets, &post, gate)?;
        if server.overview.config.audit.enabled {
            audit::server("serverStart", "success");
        }
        Ok(server)
    }

    fn running(&mut self) -> &mut Running {
        self.running.get_mut().get_or_insert_default()
    }

    /// The pages come first: a probe may ask while data is being loaded.
    fn start_http(&mut self, descriptors: Descriptors) -> Result<(), StartError> {
        self.registry.register(Arc::clone(&self.overview) as Arc<dyn node_pages::Source>);
        let command_url = self.overview.config.admin.command_url.trim_end_matches('/').to_owned();
        let hosts = self.overview.config.admin.hosts.clone();
        for Page { purpose, address, optional, metrics, commands } in listeners::pages(&self.overview.config)
        {
            let mut pages = Pages::default();
            if metrics {
                let overview = Arc::clone(&self.overview);
                pages = pages.metrics(self.registry.clone()).ready(move || overview.standing.is_serving());
            }
            if commands {
                let names = Hosts::new(address, hosts.iter().cloned().chain(net_http::own_name()));
                let server = AdminServer::new(Arc::clone(&self.overview) as Arc<dyn Inspect>, &command_url);
                pages = pages.section(&command_url, names, Arc::new(server));
            }
            match HttpListener::start(address, "http", Arc::new(pages), descriptors) {
                Ok(listener) => {
                    let at = Some(listener.address());
                    self.running().http.push(listener);
                    self.addresses.http = at.filter(|_| metrics).or(self.addresses.http);
                    self.addresses.admin = at.filter(|_| commands).or(self.addresses.admin);
                }
                Err(source) if optional => {
                    // Nobody asked for it, and a second server on a machine is nothing unusual.
                    tracing::info!(
                        %address,
                        %source,
                        "{purpose}: not served over HTTP, for the address that is taken when none is named is in use; hint: \
                         set `metrics.listen` and `admin.listen` to another address, or to `off`"
                    );
                }
                Err(source) => return Err(StartError::Listen { address, purpose, source }),
            }
        }
        Ok(())
    }

    /// Has the core's thread take its seat and load the data. Gives what is told once it serves.
    fn start_core(
        &mut self,
        post: &Post,
        peers: Option<(PeerConnections, Arc<LocalIdentity>)>,
    ) -> Result<Receiver<Result<(), StartError>>, StartError> {
        let links = CoreLinks {
            mail: Arc::clone(&post.core),
            established: Arc::clone(&post.established),
            from_shards: post.to_core.clone(),
            to_shards: post.streams.clone(),
            turns: post.turns.clone(),
            watches: post.watches.clone(),
            shard_mail: post.shards.clone(),
            from_journal: Arc::clone(&post.from_journal),
            to_journal: Arc::clone(&post.journal),
            tree: Arc::clone(&self.overview.tree),
            session_clients: Arc::clone(&self.overview.session_clients),
        };
        let boot = Boot::new(Parts {
            overview: Arc::clone(&self.overview),
            supervisor: Arc::clone(&self.supervisor),
            links,
            journal: Arc::clone(&post.journal),
            journal_waker: Arc::clone(&post.journal_waker),
            turns: Arc::clone(&post.core_turns),
            peers,
        })?;
        let (started, news) = mpsc::channel();
        let thread =
            spawn("core", &self.supervisor, move || boot.run(&started)).map_err(system("start a thread"))?;
        self.running().core = Some((Arc::clone(&post.core), thread));
        Ok(news)
    }

    /// Answers other members and dials them.
    fn start_peers(
        &mut self,
        post: &mut Post,
        listener: Option<TcpListener>,
        credentials: Option<Credentials>,
        descriptors: Descriptors,
    ) -> Result<Option<(PeerConnections, Arc<LocalIdentity>)>, StartError> {
        let (Some(credentials), Some(listener), Some(poll)) = (credentials, listener, post.core_poll.take())
        else {
            return Ok(None);
        };
        let credentials = Arc::new(credentials);
        self.overview.certificates.set_members(credentials.tls().and_then(|tls| tls.own.not_after));
        let source = listener.local_addr().map(|at| at.ip()).ok().filter(|ip| !ip.is_unspecified());
        let (acceptor, waker) =
            Acceptor::new(listener, Arc::clone(&credentials), Arc::clone(&post.established), descriptors)
                .map_err(system("poll the members' port"))?;
        let further = Arc::clone(acceptor.further_groups());
        self.port = Some(SharedPort { credentials: Arc::clone(&credentials), further, source });
        let thread =
            spawn("acceptor", &self.supervisor, move || acceptor.run()).map_err(system("start a thread"))?;
        self.running().acceptor = Some((waker, thread));
        let means = Means {
            credentials: Arc::clone(&credentials),
            source,
            established: Arc::clone(&post.established),
            supervisor: Arc::clone(&self.supervisor),
        };
        let channel = peers::channel(self.overview.config.limits.request_bytes_max);
        let (waker, identity) = (Arc::clone(&post.core_waker), Arc::clone(&credentials.identity));
        let switchboard = PeerConnections::new(credentials, (poll, waker), Diallers::new(means), &[channel])
            .map_err(system("share a poll"))?;
        Ok(Some((switchboard, identity)))
    }

    fn start_shards(&mut self, post: &mut Post, tls: Option<&Arc<TlsContext>>) -> Result<(), StartError> {
        let (word_queue, requests) = WordQueue::new();
        let (overview, context, shards) = (Arc::clone(&self.overview), tls.cloned(), post.shards.clone());
        let answer = move || {
            four_letter_worker::run(&requests, overview.as_ref(), &shards, context.as_deref());
            Ok::<_, Infallible>(())
        };
        let thread = spawn("four-letter", &self.supervisor, answer).map_err(system("start a thread"))?;
        self.running().four_letter_worker = Some((Arc::clone(&word_queue), thread));
        let config = &self.overview.config;
        let count = u16::try_from(post.shards.len()).unwrap_or(u16::MAX);
        let front_config = config_mapping::front(config, count, random::bytes()?)?;
        let shard_config = ShardConfig { words: config.words.clone(), audit: config.audit.enabled };
        let sockets_config = SocketsConfig {
            tls: tls.cloned(),
            plain_takes_tls: config.listen.client_takes_tls,
            plain_refusal: None,
            handshakes_max: u64::MAX,
            hints: TLS_HINTS,
            metrics: Arc::clone(&self.overview.network_metrics),
        };
        for (number, poll) in (0..count).zip(std::mem::take(&mut post.polls)) {
            let place = usize::from(number);
            let links = self.shard_links(post, place, Arc::clone(&word_queue));
            let watcher = poll.watcher(0).map_err(system("make a poll"))?;
            let sockets = ClientSockets::new(sockets_config.clone(), watcher);
            let front = Front::new(front_config.clone(), number);
            let shard = Shard::new(number, shard_config.clone(), links, sockets, front);
            let reactor = Reactor::new(poll, self.overview.clock, vec![Box::new(shard)]);
            post.turns.push(Arc::clone(reactor.turns()));
            let thread =
                spawn("shard", &self.supervisor, move || reactor.run()).map_err(system("start a thread"))?;
            self.running().shards.push((Arc::clone(&post.shards[place]), thread));
        }
        Ok(())
    }

    fn shard_links(&self, post: &Post, place: usize, word_queue: Arc<WordQueue>) -> ShardLinks {
        ShardLinks {
            mail: Arc::clone(&post.shards[place]),
            stream: Arc::clone(&post.streams[place]),
            watches: Arc::clone(&post.watches[place]),
            to_core: Arc::clone(&post.to_core[place]),
            core_turns: Arc::clone(&post.core_turns),
            tree: Arc::clone(&self.overview.tree),
            session_clients: Arc::clone(&self.overview.session_clients),
            standing: Arc::clone(&self.overview.standing),
            word_queue,
            clock: self.overview.clock,
        }
    }

    fn start_accepting(
        &mut self,
        sockets: Sockets,
        post: &Post,
        gate: Arc<ConnectionLimiter>,
    ) -> Result<(), StartError> {
        let config = &self.overview.config;
        let (throttle, clock) = (config.limits.connection_throttle, self.overview.clock);
        let metrics = Arc::clone(&self.overview.network_metrics);
        let gate = LimiterGate::new(gate, throttle, LIMIT_NAMES, metrics, clock.now().mono());
        let listening = |(number, secure), socket| ListeningSocket { socket, number, secure };
        let plain = sockets.client.map(|socket| listening((0, false), socket));
        let secure = sockets.secure.map(|socket| listening((1, true), socket));
        let shards = post.shards.clone();
        let hand_on = move |shard: usize, accepted| {
            if let Some(shard) = shards.get(shard) {
                shard.put(ShardMail::Accepted(accepted));
            }
        };
        let (listener, waker) = Listener::new(
            plain.into_iter().chain(secure).collect(),
            ListenerConfig { keep_alive: config.listen.keep_alive },
            (post.shards.len(), hand_on),
            gate,
            clock,
        )
        .map_err(system("poll the client port"))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stopping);
        let run = move || {
            listener.run(&flag);
            Ok::<_, Infallible>(())
        };
        let thread = spawn("accept", &self.supervisor, run).map_err(system("start a thread"))?;
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

    /// The figures on its page of metrics: other services of this process add theirs.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Where the AdminServer's commands are.
    #[must_use]
    pub const fn admin_addr(&self) -> Option<SocketAddr> {
        self.addresses.admin
    }

    /// Whether clients are served.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.overview.standing.is_serving()
    }

    /// Reads the certificates for clients and for other members again. Connections that begin from now on use them; those
    /// that are there notice nothing. What cannot be used is told in the log, and what was read before stays in force.
    pub fn reload(&self) {
        self.reload_for_members();
        let Some(context) = &self.tls else { return };
        match context.reload() {
            Ok(()) => tracing::info!("certificates for clients were read again: new connections use them"),
            Err(error) => tracing::error!(
                %error,
                "certificates for clients cannot be used; those read before stay in force"
            ),
        }
    }

    fn reload_for_members(&self) {
        let Some(SharedPort { credentials, .. }) = &self.port else { return };
        match credentials.reload() {
            Ok(false) => {}
            Ok(true) => {
                let end = credentials.tls().and_then(|tls| tls.own.not_after);
                self.overview.certificates.set_members(end);
                tracing::info!("certificates for members were read again: new connections use them");
            }
            Err(error) => tracing::error!(
                %error,
                "certificates for members cannot be used; those read before stay in force"
            ),
        }
    }

    /// Where other members connect.
    #[must_use]
    pub const fn peer_addr(&self) -> Option<SocketAddr> {
        self.addresses.peers
    }

    /// The port between members, for other groups of this process; nothing for a server that is alone.
    #[must_use]
    pub const fn shared_port(&self) -> Option<&SharedPort> {
        self.port.as_ref()
    }

    /// The numbers of all members of the ensemble, as far as is known here, and whether each is to vote; nothing for a
    /// server that is alone.
    #[must_use]
    pub fn members(&self) -> Vec<(MemberNumber, bool)> {
        let Some(ensemble) = &self.overview.config.ensemble else { return Vec::new() };
        let roster = self.overview.roster(ensemble);
        roster.members().map(|member| (member.number, member.votes)).collect()
    }

    /// Stops: no new connections, output flushed, connections closed, the journal closed cleanly. Returns when all
    /// of that is done; sessions live on until their clients come back or they expire.
    pub fn stop(&self) {
        let running = self.running.lock().take();
        if let Some(running) = running {
            if self.overview.config.audit.enabled {
                audit::server("serverStop", "invoked");
            }
            self.step_aside();
            running.stop();
        }
        self.supervisor.stopped();
    }

    /// Has another member lead before this one goes, so that nobody need find out that it is gone.
    fn step_aside(&self) {
        let began = Instant::now();
        while self.overview.standing.is_leading() && began.elapsed() < STEPPING_ASIDE_MAX {
            self.overview.core.put(CoreMail::Ask(Box::new(council_replica::Core::step_aside)));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the server was stopped, or has to stop because of a fault; then all of it is down.
    ///
    /// # Errors
    /// The fault.
    pub fn wait(&self) -> Result<(), ServerFault> {
        let outcome = self.supervisor.wait();
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
        // A thread that panicked has been reported by the supervisor.
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
        if let Some((requests, thread)) = self.four_letter_worker {
            // The shards' handles are gone with them; with this one the worker ends.
            drop(requests);
            let _ = thread.join();
        }
        if let Some((waker, thread)) = self.acceptor {
            let _ = waker.wake();
            let _ = thread.join();
        }
        if let Some((mail, thread)) = self.core {
            mail.put(CoreMail::Stop);
            let _ = thread.join();
        }
    }
}
