//! The connections of one thread: frames in, frames out, and each request to the broker.
//!
//! Requests of a connection are handled in order. Produce requests whose batches are appended do not hold up the next request;
//! behind any other request that waits, the next one waits too, as with Kafka. Answers leave in the order of the requests.

mod connection;
mod dispatch;

use base::Now;
use log_wire::{Frame, next_frame};
use net_event_loop::{Ask, ConnId, Frontend, Input, Output, SocketDriver, SocketsByConn};

use crate::broker::Broker;
use crate::call::Handled;
use crate::response::Response;
use crate::segment_reader::SegmentReader;
use crate::waits::Waiter;
use connection::Connection;
pub use dispatch::Unanswerable;

/// What drives the thread gives the frontend besides sockets.
pub trait BrokerDriver: SocketDriver {
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

    /// The address of a peer, without its port.
    fn host(peer: &Self::Peer) -> String;

    /// Reads batches.
    fn segments(&mut self) -> &mut impl SegmentReader<File = Self::File>;
}

struct Place<F> {
    generation: u32,
    connection: Option<Connection<F>>,
}

/// The connections of one thread. See the module.
pub struct Front<F> {
    shard: u16,
    places: Vec<Place<F>>,
    free: Vec<u32>,
    dirty: Vec<ConnId>,
    asks: Vec<Ask>,
    gone: Vec<ConnId>,
    /// Paused because too much is on its way to the disk.
    congested: Vec<ConnId>,
    /// Answers that are there but not written.
    answers: Vec<(Waiter, Response)>,
    fetch_bytes_max: usize,
    request_bytes_max: usize,
    in_flight_max: usize,
    needs_tick: bool,
}

impl<F> Front<F> {
    /// Of the shard of that number.
    #[must_use]
    pub fn new(shard: u16, config: &crate::BrokerConfig) -> Self {
        Self {
            shard,
            places: Vec::new(),
            free: Vec::new(),
            dirty: Vec::new(),
            asks: Vec::new(),
            gone: Vec::new(),
            congested: Vec::new(),
            answers: Vec::new(),
            fetch_bytes_max: config.fetch_bytes_max,
            request_bytes_max: config.request_bytes_max,
            in_flight_max: config.requests_in_flight_max,
            needs_tick: false,
        }
    }

    fn get(&mut self, conn: ConnId) -> Option<&mut Connection<F>> {
        let place = self.places.get_mut(conn.slot as usize)?;
        if place.generation == conn.generation { place.connection.as_mut() } else { None }
    }

    fn peek(&self, conn: ConnId) -> Option<&Connection<F>> {
        let place = self.places.get(conn.slot as usize)?;
        if place.generation == conn.generation { place.connection.as_ref() } else { None }
    }

    /// Handles whole requests at the beginning of `bytes`. Gives how many bytes they are.
    fn receive(&mut self, broker: &mut Broker, conn: ConnId, bytes: &[u8], now: Now) -> usize {
        let mut rest = bytes;
        loop {
            let in_flight_max = self.in_flight_max;
            let Some(connection) = self.get(conn).filter(|connection| !connection.is_ending) else {
                return bytes.len();
            };
            let congested = broker.is_congested();
            if connection.is_blocked() || connection.waiting() >= in_flight_max || congested {
                connection.is_paused = true;
                self.asks.push(Ask::PauseReading(conn));
                self.congested.extend(congested.then_some(conn));
                break;
            }
            match next_frame(rest, self.request_bytes_max) {
                Frame::Whole { content, rest: behind } => {
                    self.handle(broker, conn, content, now);
                    rest = behind;
                }
                Frame::Partial { .. } => break,
                Frame::TooLong => {
                    self.end(conn);
                    return bytes.len();
                }
            }
        }
        bytes.len() - rest.len()
    }

    fn handle(&mut self, broker: &mut Broker, conn: ConnId, frame: &[u8], now: Now) {
        let shard = self.shard;
        let Some(connection) = self.get(conn) else { return };
        let waiter = Waiter { shard, conn, request: connection.next_request() };
        let Ok((head, handled)) = broker.request(frame, waiter, &connection.host, now) else {
            return self.end(conn);
        };
        connection.begin(head);
        match handled {
            Handled::Pipelined => {}
            Handled::Waits => connection.blocked_by = Some(waiter.request),
            Handled::Silent => connection.no_answer(waiter.request),
            Handled::Done(response) => self.answers.push((waiter, response)),
        }
    }

    /// Closes a connection once what is answered is sent.
    fn end(&mut self, conn: ConnId) {
        if let Some(connection) = self.get(conn) {
            connection.is_ending = true;
            self.asks.push(Ask::Close { conn, after_output: true });
        }
    }

    /// Writes answers that are there, and lets connections go on that waited for them.
    fn write_answers<D: BrokerDriver<File = F>>(&mut self, driver: &mut D) {
        driver.take_answers(&mut self.answers);
        for (waiter, response) in std::mem::take(&mut self.answers) {
            self.write_answer(driver.segments(), waiter, &response);
        }
    }

    fn write_answer(
        &mut self,
        reader: &mut impl SegmentReader<File = F>,
        waiter: Waiter,
        response: &Response,
    ) {
        let (conn, bytes_max) = (waiter.conn, self.fetch_bytes_max);
        let Some(connection) = self.get(conn) else { return };
        let Some(exchange) = connection.exchange(waiter.request) else { return };
        let head = exchange.head;
        match response {
            Response::Close => {
                connection.no_answer(waiter.request);
                return self.end(conn);
            }
            Response::Nothing => connection.no_answer(waiter.request),
            response => {
                connection.answer(waiter.request, |out| response.write(head, reader, out, bytes_max));
            }
        }
        self.dirty.push(conn);
        self.resume(conn);
    }

    /// Reads on from a connection that was paused, if nothing holds it up any more.
    fn resume(&mut self, conn: ConnId) {
        let in_flight_max = self.in_flight_max;
        let Some(connection) = self.get(conn).filter(|connection| connection.is_paused) else { return };
        if !connection.is_blocked() && connection.waiting() < in_flight_max {
            connection.is_paused = false;
            self.asks.push(Ask::ResumeReading(conn));
        }
    }
}

/// Coordinators that have just come to live here read their partitions. The broker is free while the disk is read.
fn load_coordinators<D: BrokerDriver>(driver: &mut D, now: Now) {
    loop {
        let Some(load) = driver.broker().next_load() else { return };
        let read = load.read(driver.segments());
        driver.broker().loaded(&load, read, now);
    }
}

impl<D: BrokerDriver> Frontend<D> for Front<D::File> {
    fn accept(&mut self, peer: D::Peer, _now: Now) -> ConnId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, connection: None });
            self.places.len() as u32 - 1
        });
        let mut generation = 0;
        if let Some(place) = self.places.get_mut(slot as usize) {
            place.generation = place.generation.wrapping_add(1);
            place.connection = Some(Connection::of(format!("/{}", D::host(&peer))));
            generation = place.generation;
        }
        ConnId { slot, generation }
    }

    fn evaluate(&mut self, driver: &mut D, input: &mut Input<'_, D::Socket>, now: Now) {
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
        }
        load_coordinators(driver, now);
        driver.hand_on(now);
        self.write_answers(driver);
    }

    fn send(&mut self, driver: &mut D, now: Now) {
        driver.hand_on(now);
    }

    fn output(&self, conn: ConnId) -> Output<'_, D::File> {
        self.peek(conn).map_or(Output::bytes(&[]), Connection::output)
    }

    fn unsent(&self, conn: ConnId) -> usize {
        self.peek(conn).map_or(0, Connection::unsent)
    }

    fn sent(&mut self, conn: ConnId, count: usize) {
        if let Some(connection) = self.get(conn) {
            connection.sent(count);
        }
    }

    fn take_dirty(&mut self, into: &mut Vec<ConnId>) {
        into.append(&mut self.dirty);
    }

    fn asks(&mut self, _driver: &mut D, _sockets: &mut SocketsByConn<'_, D::Socket>, into: &mut Vec<Ask>) {
        into.append(&mut self.asks);
    }

    fn disconnected(&mut self, conn: ConnId) {
        if let Some(place) = self.places.get_mut(conn.slot as usize)
            && place.generation == conn.generation
            && place.connection.take().is_some()
        {
            self.free.push(conn.slot);
            self.gone.push(conn);
        }
    }

    fn is_answered(&self) -> bool {
        self.places
            .iter()
            .filter_map(|place| place.connection.as_ref())
            .all(|connection| connection.waiting() == 0)
    }

    fn sweep(&mut self) {}

    fn tick(&mut self, _now: Now) {
        self.needs_tick = true;
    }
}
