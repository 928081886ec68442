//! The connections of one thread: frames in, frames out, and each request to the broker.
//!
//! Requests of a connection are handled in order. Produce requests whose batches are appended do not hold up the next request;
//! behind any other request that waits, the next one waits too, as with Kafka. Answers leave in the order of the requests.
//!
//! A connection is not read from while something holds it up: a request of it waits, it has too many of them or too much that is
//! not sent, there is no room for what it sends, or it has used more than its quota.

mod answering;
mod connection;
mod dispatch;
mod places;
mod receiving;
mod refusal;
mod throttling;
mod timers;
mod unfinished;
mod unsent;

use std::collections::VecDeque;
use std::sync::Arc;

use base::{MonoTime, Now};
use net_event_loop::{Ask, ConnId, Frontend, Input, Output, SocketDriver, SocketsByConn};

use crate::authentication::Session;
use crate::broker::Broker;
use crate::client::{Client, Peer};
use crate::config::BrokerConfig;
use crate::listener::BrokerListener;
use crate::response::Response;
use crate::segment_reader::{SegmentFault, SegmentReader};
use crate::waits::Waiter;
use connection::Connection;
pub use dispatch::Unanswerable;
pub(crate) use dispatch::served;
use places::Places;
pub use refusal::Refusal;
use timers::{Due, Timers};
use unfinished::UnfinishedRequests;
use unsent::UnsentAnswers;

/// What drives the thread gives the frontend besides sockets.
pub trait BrokerDriver: SocketDriver<Peer = Peer> {
    /// The broker, for this thread alone until it is dropped.
    type Guard<'g>: core::ops::DerefMut<Target = Broker>
    where
        Self: 'g;

    /// Waits until no other thread has the broker.
    fn broker(&mut self) -> Self::Guard<'_>;

    /// Takes answers for connections of this thread.
    fn take_answers(&mut self, into: &mut Vec<(Waiter, Response)>);

    /// Hands on what the broker wants done and said: to the disk, to the council, to other threads.
    fn hand_on(&mut self, now: Now);

    /// The client of a connection has proved who it is.
    fn authenticated(&mut self, socket: &Self::Socket);

    /// A client is refused, and its connection is closed. `why` is for the log.
    fn refused(&mut self, client: &Client, refusal: Refusal, why: &'static str);

    /// Reads batches.
    fn segments(&mut self) -> &mut impl SegmentReader<File = Self::File>;
}

/// The limits of one thread.
#[derive(Clone, Copy, Debug)]
struct FrontLimits {
    authentication_ms_max: u64,
    failure_delay_ms: u64,
    fetch_bytes_max: usize,
    request_bytes_max: usize,
    in_flight_max: usize,
    unsent_bytes_max: usize,
    idle_ms_max: Option<u64>,
}

/// The connections of one thread. See the module.
pub struct Front<F> {
    shard: u16,
    listeners: Vec<BrokerListener>,
    places: Places<F>,
    limits: FrontLimits,
    dirty: Vec<ConnId>,
    asks: Vec<Ask>,
    gone: Vec<ConnId>,
    /// Paused because too much is on its way to the disk.
    congested: Vec<ConnId>,
    /// Answers that are there but not written.
    answers: Vec<(Waiter, Response)>,
    /// The same: they wait until others are sent.
    deferred: VecDeque<(Waiter, Response)>,
    unfinished: UnfinishedRequests,
    unsent: UnsentAnswers,
    timers: Timers,
    refused: Vec<(Arc<Client>, Refusal, &'static str)>,
    /// Connections whose clients have just proved who they are.
    authenticated: Vec<ConnId>,
    needs_tick: bool,
    /// When a request that waits is to be answered, as of when this thread had the broker last.
    broker_due: Option<MonoTime>,
    now: MonoTime,
}

impl<F> Front<F> {
    /// Of the shard of that number, which is one of so many.
    #[must_use]
    pub fn new(shard: u16, shards: u16, config: &BrokerConfig) -> Self {
        let share = |bytes: usize| bytes / usize::from(shards.max(1));
        // One request must always find room.
        let unfinished_bytes_max = share(config.unfinished_bytes_max).max(config.request_bytes_max);
        Self {
            shard,
            places: Places::default(),
            listeners: config.listeners.clone(),
            limits: FrontLimits {
                authentication_ms_max: config.authentication_ms_max,
                failure_delay_ms: config.failed_authentication_delay_ms,
                fetch_bytes_max: config.fetch_bytes_max,
                request_bytes_max: config.request_bytes_max,
                in_flight_max: config.requests_in_flight_max,
                unsent_bytes_max: config.unsent_bytes_per_connection_max,
                idle_ms_max: config.idle_ms_max,
            },
            dirty: Vec::new(),
            asks: Vec::new(),
            gone: Vec::new(),
            congested: Vec::new(),
            answers: Vec::new(),
            deferred: VecDeque::new(),
            unfinished: UnfinishedRequests::new(unfinished_bytes_max),
            unsent: UnsentAnswers::new(share(config.unsent_bytes_max)),
            timers: Timers::default(),
            refused: Vec::new(),
            authenticated: Vec::new(),
            needs_tick: false,
            broker_due: None,
            now: MonoTime::ZERO,
        }
    }

    /// When something is to be done with a connection or with a request that waits, if nothing happens before.
    #[must_use]
    pub fn next_deadline(&self) -> Option<MonoTime> {
        [self.timers.next(), self.broker_due].into_iter().flatten().min()
    }

    /// Refuses a client: closes its connection once what is answered is sent.
    fn end(&mut self, conn: ConnId, refusal: Refusal) {
        if let Some(connection) = self.places.get_mut(conn).filter(|connection| !connection.is_ending) {
            self.refused.push((connection.client.clone(), refusal, refusal.tell()));
            self.finish(conn);
        }
    }

    /// Closes a connection once what is answered is sent.
    fn finish(&mut self, conn: ConnId) {
        if let Some(connection) = self.places.get_mut(conn) {
            connection.is_ending = true;
            self.asks.push(Ask::Close { conn, after_output: true });
        }
    }

    /// Refuses a client: closes its connection at once.
    fn drop_client(&mut self, conn: ConnId, refusal: Refusal) {
        self.unfinished.forget(conn);
        self.unsent.forget(conn);
        if let Some(connection) = self.places.get_mut(conn) {
            connection.is_ending = true;
            self.refused.push((connection.client.clone(), refusal, refusal.tell()));
            self.asks.push(Ask::Close { conn, after_output: false });
        }
    }

    fn pause(&mut self, conn: ConnId) {
        if let Some(connection) = self.places.get_mut(conn) {
            connection.is_paused = true;
            self.asks.push(Ask::PauseReading(conn));
        }
    }

    /// Reads on from a connection that was paused, if nothing holds it up any more.
    fn resume(&mut self, conn: ConnId) {
        let limits = self.limits;
        let paused = self.places.get_mut(conn).filter(|connection| connection.is_paused);
        if let Some(connection) = paused.filter(|connection| !limits.hold_up(connection)) {
            connection.is_paused = false;
            self.asks.push(Ask::ResumeReading(conn));
        }
    }

    /// Does what is due, and makes room.
    fn look_after_connections(&mut self, now: MonoTime) {
        while let Some((conn, due)) = self.timers.pop(now) {
            self.is_due(conn, due, now);
        }
        while let Some(conn) = self.unfinished.overdue(now) {
            self.drop_client(conn, Refusal::SlowRequest);
        }
        while let Some(conn) = self.unsent.overdue(now) {
            self.drop_client(conn, Refusal::SlowReader);
        }
        for conn in self.unfinished.take_ready() {
            if let Some(connection) = self.places.get_mut(conn) {
                connection.waits_for_room = false;
            }
            self.resume(conn);
        }
    }

    fn is_due(&mut self, conn: ConnId, due: Due, now: MonoTime) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        match due {
            Due::Idle => {
                let Some(idle_ms) = self.limits.idle_ms_max else { return };
                let until = connection.active.plus_ms(idle_ms);
                if until <= now && connection.waiting() == 0 {
                    return self.drop_client(conn, Refusal::Idle);
                }
                let at = if until <= now { now.plus_ms(idle_ms) } else { until };
                self.timers.set(conn, &mut connection.deadlines, Due::Idle, at);
            }
            Due::Authentication => self.drop_client(conn, Refusal::SlowAuthentication),
            Due::Failure => self.tell_failure(conn),
            Due::Unmute => {
                connection.muted_until = None;
                self.resume(conn);
            }
        }
    }
}

impl FrontLimits {
    /// Whether the next request of a connection must wait.
    fn hold_up<F>(&self, connection: &Connection<F>) -> bool {
        connection.is_blocked()
            || connection.waits_for_room
            || connection.muted_until.is_some()
            || connection.waiting() >= self.in_flight_max
            || connection.unsent() + connection.queued_bytes > self.unsent_bytes_max
    }
}

/// Coordinators that have just come to live here read their partitions, and share groups read what they give out. The broker is free
/// while the disk is read. Says whether something is gone: that is asked for again in the next turn, for where it is now may depend on
/// what is handed on before.
fn load_coordinators<D: BrokerDriver>(driver: &mut D, now: Now) -> bool {
    loop {
        let Some(load) = driver.broker().next_load() else { return false };
        let read = load.read(driver.segments());
        let is_gone = read == Err(SegmentFault::Gone);
        driver.broker().loaded(&load, read, now);
        if is_gone {
            return true;
        }
    }
}

impl<D: BrokerDriver> Frontend<D> for Front<D::File> {
    fn accept(&mut self, peer: Peer, now: Now) -> ConnId {
        let listener = self.listeners.get(usize::from(peer.listener));
        let session = listener.map_or_else(Session::none, Session::of);
        let conn = self.places.insert(Connection::of(Client::of(&peer), session, now.mono()));
        let Some(connection) = self.places.get_mut(conn) else { return conn };
        let mut due = |due, ms| {
            self.timers.set(conn, &mut connection.deadlines, due, now.mono().plus_ms(ms));
        };
        if let Some(idle_ms) = self.limits.idle_ms_max {
            due(Due::Idle, idle_ms);
        }
        if !connection.session.is_known() {
            due(Due::Authentication, self.limits.authentication_ms_max);
        }
        conn
    }

    fn read_bytes_max(&self, conn: ConnId) -> usize {
        self.unfinished.read_bytes_max(conn)
    }

    fn evaluate(&mut self, driver: &mut D, input: &mut Input<'_, D::Socket>, now: Now) {
        self.now = now.mono();
        self.look_after_connections(now.mono());
        self.needs_tick |= self.broker_due.is_some_and(|due| due <= now.mono());
        if !input.is_empty() || !self.gone.is_empty() || self.needs_tick || !self.congested.is_empty() {
            let mut broker = driver.broker();
            for conn in self.gone.drain(..) {
                broker.disconnected(self.shard, conn);
            }
            if std::mem::take(&mut self.needs_tick) {
                broker.tick(now);
            }
            if !broker.is_congested() {
                std::mem::take(&mut self.congested).into_iter().for_each(|conn| self.resume(conn));
            }
            input.receive(|conn, bytes| self.receive(&mut broker, conn, bytes, now));
            self.broker_due = broker.next_deadline();
        }
        // What the driver writes itself is durable at once, and a share group may read on behind that. Nothing else wakes this thread.
        loop {
            let is_gone = load_coordinators(driver, now);
            driver.hand_on(now);
            if is_gone || driver.broker().next_load().is_none() {
                break;
            }
        }
        self.write_answers(driver);
        for (client, refusal, why) in self.refused.drain(..) {
            driver.refused(&client, refusal, why);
        }
    }

    /// What the broker wanted was handed on when the turn was evaluated. Nothing was asked of it since.
    fn send(&mut self, _: &mut D, _: Now) {}

    fn output(&self, conn: ConnId) -> Output<'_, D::File> {
        self.places.get(conn).map_or(Output::bytes(&[]), Connection::output)
    }

    fn unsent(&self, conn: ConnId) -> usize {
        self.places.get(conn).map_or(0, Connection::unsent)
    }

    fn sent(&mut self, conn: ConnId, count: usize) {
        self.unsent.sent(conn, count);
        let now = self.now;
        if let Some(connection) = self.places.get_mut(conn).filter(|_| count > 0) {
            connection.sent(count);
            connection.active = now;
        }
        self.resume(conn);
    }

    fn take_dirty(&mut self, into: &mut Vec<ConnId>) {
        into.append(&mut self.dirty);
    }

    fn asks(&mut self, driver: &mut D, sockets: &mut SocketsByConn<'_, D::Socket>, into: &mut Vec<Ask>) {
        for conn in self.authenticated.drain(..) {
            if let Some(socket) = sockets.get(conn) {
                driver.authenticated(socket);
            }
        }
        into.append(&mut self.asks);
    }

    fn disconnected(&mut self, conn: ConnId) {
        if let Some(mut connection) = self.places.remove(conn) {
            self.timers.forget(conn, &mut connection.deadlines);
            self.unfinished.forget(conn);
            self.unsent.forget(conn);
            self.gone.push(conn);
        }
    }

    fn is_answered(&self) -> bool {
        self.places.all().all(|connection| connection.waiting() == 0)
    }

    fn sweep(&mut self) {}

    fn tick(&mut self, _now: Now) {
        self.needs_tick = true;
    }
}
