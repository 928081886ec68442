//! One turn of a thread that serves connections: the order of its steps, what it reads and writes and how much of it,
//! and how connections end. A [`Frontend`] knows the protocol.
//!
//! A turn reads from every ready socket once. Then the frontend evaluates what was read, with whatever else is due, and
//! sends what other threads are to know. Then the turn writes to each socket that has output once, and does what the
//! frontend asks for. A [`SocketDriver`] polls and moves bytes; a thread over `epoll` and a simulator are two of them.
//!
//! Invariants:
//! - *Bounded.* No socket reads or writes more than its share in a turn, and all reads together fill one arena.
//! - *In order.* Bytes of a connection reach the frontend in order, each once, and what it has not consumed comes again
//!   before what is read later.
//! - *No lost reply.* A connection that ends is closed only once its output is sent, or a deadline has passed.
//!
//! Refuses to know sockets, encryption, threads, locks, clocks and the log.
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

mod admission;
mod closing;
mod conn_id;
mod driver;
mod frontend;
mod graceful_shutdown;
mod input;
mod output;
mod reading;
mod sockets;
mod writing;

use std::collections::{BTreeSet, VecDeque};

use base::{MonoTime, Now};

pub use admission::{Admission, Full};
pub use conn_id::ConnId;
pub use driver::{Broken, ReadOutcome, Readiness, SocketDriver};
pub use frontend::{Ask, Frontend};
pub use input::Input;
pub use output::{FilePart, NoFile, Output};
pub use sockets::SocketsByConn;

use graceful_shutdown::GracefulShutdown;
use input::Piece;
use sockets::{Sockets, Stage, enqueue};

/// Bytes read in a turn before anything is evaluated.
const ARENA_BYTES: usize = 512 << 10;
/// Bytes read from one socket in a turn.
const READ_BYTES_MAX: usize = 64 << 10;
/// Bytes written to one socket in a turn.
const WRITE_BYTES_MAX: usize = 256 << 10;
/// The longest sleep: the frontend's deadlines are looked at this often, milliseconds.
pub const TICK_MS: u64 = 250;

/// The connections of one thread and one protocol, over sockets of the driver's type `S`. See the module.
pub struct EventLoop<S> {
    sockets: Sockets<S>,
    /// Sockets that may have something to be read, in the order in which they are read.
    ready: VecDeque<u32>,
    /// What was read in this turn.
    pieces: Vec<Piece>,
    /// Sockets whose peer ended in this turn.
    ended: Vec<u32>,
    arena: Box<[u8]>,
    /// Deadlines of sockets that open or close.
    timers: BTreeSet<(MonoTime, u32, u32)>,
    ticked: MonoTime,
    farewell: GracefulShutdown,
    /// Connections whose sockets have room for output again.
    writable: Vec<ConnId>,
    /// Connections that used up their share of the turn, and may have more to write.
    unfinished: Vec<ConnId>,
    asks: Vec<Ask>,
}

impl<S> Default for EventLoop<S> {
    fn default() -> Self {
        Self {
            sockets: Sockets::default(),
            ready: VecDeque::new(),
            pieces: Vec::new(),
            ended: Vec::new(),
            arena: vec![0; ARENA_BYTES].into_boxed_slice(),
            timers: BTreeSet::new(),
            ticked: MonoTime::ZERO,
            farewell: GracefulShutdown::No,
            writable: Vec::new(),
            unfinished: Vec::new(),
            asks: Vec::new(),
        }
    }
}

impl<S> EventLoop<S> {
    /// Takes in a new connection. One that is not open at once, for its encryption has to be agreed on, has
    /// `opening_ms` to open.
    pub fn accept<D, F>(&mut self, driver: &mut D, front: &mut F, socket: S, opening_ms: u64, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let token = self.sockets.insert(socket);
        let Some(socket) = self.sockets.get(token) else { return };
        if driver.watch(&mut socket.io, token).is_err() {
            self.drop_socket(driver, front, token);
            return;
        }
        if !self.try_open(driver, front, token, now) {
            self.set_timer(token, now.mono().plus_ms(opening_ms));
        }
    }

    /// The poll has reported an event of the socket that is registered under this token.
    pub fn announced(&mut self, token: u32, readiness: Readiness) {
        let Some(socket) = self.sockets.get(token) else { return };
        if readiness.writable {
            if socket.blocked
                && let Some(conn) = socket.conn
            {
                self.writable.push(conn);
            }
            socket.blocked = false;
        }
        if readiness.readable || readiness.hung_up {
            socket.readable = true;
            socket.hung_up |= readiness.hung_up;
        }
        if socket.readable || socket.stage == Stage::Opening {
            enqueue(&mut self.ready, token, socket);
        }
    }

    /// One turn.
    pub fn turn<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        if self.farewell.reads() {
            self.gather(driver, front, now);
        }
        self.evaluate(driver, front, now);
        front.send(driver, now);
        self.write_all(driver, front, now);
        self.close_ended(driver, front);
        self.do_asks(driver, front, now);
        front.sweep();
        if now.mono() >= self.ticked.plus_ms(TICK_MS) {
            self.tick(driver, front, now);
        }
        self.continue_shutdown(driver, front, now);
        self.writable.append(&mut self.unfinished);
    }

    /// Closes everything at once, at the end of the thread.
    pub fn close_all<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        for token in self.sockets.tokens() {
            if let Some(socket) = self.sockets.get(token) {
                driver.say_goodbye(&mut socket.io);
            }
            self.drop_socket(driver, front, token);
        }
        front.send(driver, now);
    }

    /// How long the driver may wait for the poll before the next turn, if no message comes from another thread.
    /// Milliseconds. `has_work` says whether the frontend could go on at once.
    #[must_use]
    pub fn wait_max_ms(&self, has_work: bool) -> u64 {
        let reads = self.farewell.reads() && !self.ready.is_empty();
        match reads || has_work || !self.writable.is_empty() {
            true => 0,
            false => self.farewell.tick_ms(),
        }
    }

    fn evaluate<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let mut input = Input { pieces: &mut self.pieces, arena: &self.arena, sockets: &mut self.sockets };
        front.evaluate(driver, &mut input, now);
        // What the frontend did not look at is kept: the arena is used again.
        input.receive(|_, _| 0);
    }

    /// Does what the frontend asks for, and what follows from that.
    fn do_asks<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let mut asks = core::mem::take(&mut self.asks);
        loop {
            front.asks(driver, &mut SocketsByConn(&mut self.sockets), &mut asks);
            if asks.is_empty() {
                break;
            }
            for ask in asks.drain(..) {
                self.do_ask(driver, front, ask, now);
            }
            // What was asked for may have produced output.
            self.write_all(driver, front, now);
        }
        self.asks = asks;
        front.send(driver, now);
    }

    fn do_ask<D, F>(&mut self, driver: &mut D, front: &mut F, ask: Ask, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some((token, socket)) = self.sockets.of_conn(ask.conn()) else { return };
        match ask {
            Ask::Close { after_output, .. } => self.close(driver, front, token, after_output, now),
            Ask::PauseReading(_) => socket.paused = true,
            Ask::ResumeReading(_) => {
                socket.paused = false;
                socket.backlog = !socket.partial.is_empty();
                enqueue(&mut self.ready, token, socket);
            }
            Ask::AwaitAnswer(_) => socket.awaits_answer = true,
        }
    }

    fn tick<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        self.ticked = now.mono();
        front.tick(now);
        self.close_overdue(driver, front, now);
        self.do_asks(driver, front, now);
    }
}
