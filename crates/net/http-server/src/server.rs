//! A server: its listener, its threads, started and stopped.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use net_reactor::{
    Accepted, ConnectionLimiter, LimitNames, LimiterGate, Listener, ListenerConfig, ListeningSocket,
    NetworkMetrics, Polling, Reactor, Sockets, SocketsConfig, TlsHints, Turns, bind,
};
use net_tls::TlsContext;
use node_threads::{Clock, Descriptors, Mailbox, Supervisor, spawn};
use socket2::TcpKeepalive;

use crate::connection::Budgets;
use crate::front::Front;
use crate::handler::Handler;
use crate::limits::HttpLimits;
use crate::shard::{Order, Shard};

/// How a server is set up.
#[derive(Clone)]
pub struct HttpConfig {
    /// Where it listens; port 0 is any free one.
    pub address: SocketAddr,
    /// Threads that serve connections: one at least.
    pub threads: u16,
    /// What it allows each connection.
    pub limits: HttpLimits,
    /// Connections in all; 0 is no limit.
    pub connections_max: u32,
    /// Connections from one address; 0 is no limit.
    pub per_address_max: u32,
    /// How those two are called in the configuration, for log lines.
    pub names: LimitNames,
    /// Which descriptors connections may use.
    pub descriptors: Descriptors,
    /// How connections are encrypted. With it, all of them are.
    pub tls: Option<HttpTls>,
    /// How the settings of encryption are called in the configuration, for log lines.
    pub hints: TlsHints,
    /// The names of its threads: of those that serve, and of the one that accepts.
    pub thread_names: (&'static str, &'static str),
}

/// How the connections of a server are encrypted.
#[derive(Clone)]
pub struct HttpTls {
    /// What clients are offered.
    pub context: Arc<TlsContext>,
    /// Handshakes that may be under way, on all threads together. Those beyond are refused.
    pub handshakes_max: u64,
    /// What a client is told that speaks plain text: a whole response of HTTP.
    pub plain_refusal: &'static [u8],
}

/// Sends a shard's handler mail from any thread.
pub struct ShardMail<M> {
    mail: Arc<Mailbox<M>>,
}

impl<M> Clone for ShardMail<M> {
    fn clone(&self) -> Self {
        Self { mail: Arc::clone(&self.mail) }
    }
}

impl<M> ShardMail<M> {
    /// Sends one item, and wakes the shard.
    pub fn put(&self, item: M) {
        self.mail.put(item);
    }

    /// Sends a batch in order, and wakes the shard once; `batch` is left empty.
    pub fn put_all(&self, batch: &mut Vec<M>) {
        self.mail.put_all(batch);
    }

    /// Sends a batch without waking the shard: for a caller that takes its [turn](Turns::take_or_wake).
    pub fn put_all_quietly(&self, batch: &mut Vec<M>) {
        self.mail.put_all_quietly(batch);
    }
}

/// A server that holds its port and has mailboxes, but no handlers yet: they and whoever writes to them need each other.
pub struct PreparedServer<M> {
    config: HttpConfig,
    socket: mio::net::TcpListener,
    address: SocketAddr,
    polls: Vec<Polling>,
    mail: Vec<ShardMail<M>>,
}

impl<M: Send + 'static> PreparedServer<M> {
    /// Takes the port.
    ///
    /// # Errors
    /// The port cannot be had, or the system refuses a poll.
    pub fn new(config: HttpConfig) -> io::Result<Self> {
        let socket = bind(config.address, None)?;
        // Connections inherit it from the socket that accepts them. A host that vanished is asked whether it is there, for a
        // connection may say nothing for long: its request waits.
        let unacknowledged_max = config.limits.unacknowledged_max();
        let asked_after = (unacknowledged_max / 2).max(Duration::from_secs(1));
        let keepalive = TcpKeepalive::new().with_time(asked_after).with_interval(asked_after);
        let options = socket2::SockRef::from(&socket);
        options.set_tcp_user_timeout(Some(unacknowledged_max))?;
        options.set_tcp_keepalive(&keepalive)?;
        let address = socket.local_addr()?;
        let polls = (0..config.threads.max(1)).map(|_| Polling::new()).collect::<io::Result<Vec<_>>>()?;
        let of_poll = |poll: &Polling| ShardMail { mail: Arc::new(Mailbox::new(Arc::clone(poll.waker()))) };
        let mail = polls.iter().map(of_poll).collect();
        Ok(Self { config, socket, address, polls, mail })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The mailboxes of the handlers, one for each thread.
    #[must_use]
    pub fn mail(&self) -> &[ShardMail<M>] {
        &self.mail
    }

    /// Starts the threads. `handler` makes the handler of each, from 0 up.
    ///
    /// # Errors
    /// The system refuses a thread. Those that run end with the process.
    pub fn start<H>(
        self,
        clock: Clock,
        supervisor: &Arc<Supervisor>,
        mut handler: impl FnMut(u16) -> H,
    ) -> io::Result<HttpServer>
    where
        H: Handler<Mail = M> + 'static,
    {
        let Self { config, socket, address, polls, mail } = self;
        let metrics = Arc::new(NetworkMetrics::default());
        let budgets = Budgets::new(&config.limits);
        let mut shards = Vec::with_capacity(polls.len());
        for ((number, poll), mail) in (0..).zip(polls).zip(mail) {
            let orders = Arc::new(Mailbox::new(Arc::clone(poll.waker())));
            let sockets = Sockets::new(sockets_config(&config, &metrics), poll.watcher(0)?);
            let front = Front::new(handler(number), config.limits, budgets.clone(), clock.now());
            let shard = Shard::new(sockets, front, (Arc::clone(&orders), mail.mail));
            let reactor = Reactor::new(poll, clock, vec![Box::new(shard)]);
            let turns = Arc::clone(reactor.turns());
            let thread = spawn(config.thread_names.0, supervisor, move || reactor.run())?;
            shards.push(RunningShard { orders, turns, thread: Some(thread) });
        }
        let limiter =
            ConnectionLimiter::new(config.connections_max, config.per_address_max, config.descriptors);
        let orders = shards.iter().map(|shard| Arc::clone(&shard.orders)).collect();
        let accepting = accept(&config, socket, orders, (&limiter, &metrics), (clock, supervisor))?;
        Ok(HttpServer { address, shards, accepting: Some(accepting), limiter, metrics })
    }
}

fn sockets_config(config: &HttpConfig, metrics: &Arc<NetworkMetrics>) -> SocketsConfig {
    let tls = config.tls.as_ref();
    SocketsConfig {
        tls: tls.map(|tls| Arc::clone(&tls.context)),
        plain_takes_tls: false,
        plain_refusal: tls.map(|tls| tls.plain_refusal),
        handshakes_max: tls.map_or(0, |tls| tls.handshakes_max),
        hints: config.hints,
        metrics: Arc::clone(metrics),
    }
}

struct RunningShard {
    orders: Arc<Mailbox<Order>>,
    turns: Arc<Turns>,
    thread: Option<JoinHandle<()>>,
}

struct Accepting {
    stopping: Arc<AtomicBool>,
    waker: mio::Waker,
    thread: JoinHandle<()>,
}

fn accept(
    config: &HttpConfig,
    socket: mio::net::TcpListener,
    orders: Vec<Arc<Mailbox<Order>>>,
    (limiter, metrics): (&Arc<ConnectionLimiter>, &Arc<NetworkMetrics>),
    (clock, supervisor): (Clock, &Arc<Supervisor>),
) -> io::Result<Accepting> {
    let sockets = vec![ListeningSocket { socket, number: 0, secure: config.tls.is_some() }];
    let now = clock.now().mono();
    let gate = LimiterGate::new(Arc::clone(limiter), None, config.names, Arc::clone(metrics), now);
    let shards = orders.len();
    let hand_on = move |shard: usize, accepted: Accepted| {
        if let Some(orders) = orders.get(shard) {
            orders.put(Order::Accepted(accepted));
        }
    };
    let listening = ListenerConfig { keep_alive: true };
    let (listener, waker) = Listener::new(sockets, listening, (shards, hand_on), gate, clock)?;
    let stopping = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stopping);
    let thread = spawn(config.thread_names.1, supervisor, move || {
        listener.run(&flag);
        Ok::<_, Infallible>(())
    })?;
    Ok(Accepting { stopping, waker, thread })
}

/// A running server. Dropping it stops it.
pub struct HttpServer {
    address: SocketAddr,
    shards: Vec<RunningShard>,
    accepting: Option<Accepting>,
    limiter: Arc<ConnectionLimiter>,
    metrics: Arc<NetworkMetrics>,
}

impl HttpServer {
    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Through which another thread takes a turn of each shard's.
    pub fn turns(&self) -> impl Iterator<Item = &Arc<Turns>> {
        self.shards.iter().map(|shard| &shard.turns)
    }

    /// Connections that were refused.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.limiter.rejected.load(Ordering::Relaxed)
    }

    /// What is counted of its sockets.
    #[must_use]
    pub const fn metrics(&self) -> &Arc<NetworkMetrics> {
        &self.metrics
    }

    /// Stops: accepts nothing more, answers what was read, closes all connections. Takes two seconds at the most.
    pub fn stop(&mut self) {
        if let Some(Accepting { stopping, waker, thread }) = self.accepting.take() {
            stopping.store(true, Ordering::SeqCst);
            let _ = waker.wake();
            let _ = thread.join();
        }
        self.shards.iter().for_each(|shard| shard.orders.put(Order::Stop));
        for shard in &mut self.shards {
            if let Some(thread) = shard.thread.take() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop();
    }
}
