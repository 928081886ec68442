//! What one shard does in a round: the order of its steps, what it reads and writes and how much of it, and how
//! connections end.
//!
//! A round reads from every ready socket once, without any lock. Then it takes one view of the tree: under it, it
//! delivers the core's stream, cuts all clients if the lease is past, evaluates what was read, and does a piece of each
//! long request. Without the view it then sends the core its messages, writes to each socket that has output once, and
//! does what the front asks for. The driver polls, moves bytes, takes locks and reads clocks; a thread over `epoll` and
//! the simulator are two of them.
//!
//! Generic over any request protocol: `socket`, `reading`, `writing`, `closing`, `farewell` and
//! [`driver::SocketDriver`]. Of the front they use `accept`, `output`, `sent`, `dirty` and `disconnected` alone.
//! ZooKeeper's: `evaluate`, `events`, `word` and [`driver::ShardDriver`].
//!
//! Refuses to know sockets, TLS, threads, locks, clocks and the log.

mod closing;
mod driver;
mod evaluate;
mod events;
mod farewell;
mod reading;
mod socket;
mod word;
mod writing;

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use crate::connection::ConnId;
use crate::event::FrontEvent;
use crate::front::Front;
use crate::message::FromCore;
use crate::time::Now;

pub use driver::{Arrival, Broken, Readiness, ShardDriver, SocketDriver, View};

use farewell::Farewell;
use socket::{Sockets, Stage, enqueue};

/// Bytes read in a round before anything is evaluated.
const ARENA_BYTES: usize = 512 << 10;
/// Bytes read from one socket in a round.
const READ_BYTES_MAX: usize = 64 << 10;
/// Bytes written to one socket in a round.
const WRITE_BYTES_MAX: usize = 256 << 10;
/// The longest sleep: the front's deadlines are looked at this often.
const TICK_MS: u64 = 250;
/// By how much a round may be late before the shard is taken to have stood still.
const STALL_MS: u64 = 250;

/// Bytes that were read in this round.
struct Input {
    token: u32,
    /// Where in the arena; `None` when they stand in the socket's own buffer.
    arena: Option<Range<usize>>,
}

/// The rounds of one shard over sockets of the driver's type `S`. See the module.
pub struct ShardRound<S> {
    front: Front,
    sockets: Sockets<S>,
    /// Sockets that may have something to be read, in the order in which they are read.
    ready: VecDeque<u32>,
    inputs: Vec<Input>,
    /// Sockets whose peer ended in this round.
    ended: Vec<u32>,
    arena: Box<[u8]>,
    /// Deadlines of sockets that open or close.
    timers: BTreeSet<(u64, u32, u32)>,
    ticked_ms: u64,
    /// When the last round began.
    turned_ms: u64,
    /// Whether the front has more to sweep.
    sweeping: bool,
    farewell: Farewell,
    stream: Vec<FromCore>,
    /// Connections whose sockets have room for output again.
    writable: Vec<ConnId>,
    /// Connections that used up their share of the round, and may have more to write.
    unfinished: Vec<ConnId>,
    events: Vec<FrontEvent>,
}

impl<S> ShardRound<S> {
    /// The rounds of a shard without connections.
    #[must_use]
    pub fn new(front: Front) -> Self {
        Self {
            front,
            sockets: Sockets::default(),
            ready: VecDeque::new(),
            inputs: Vec::new(),
            ended: Vec::new(),
            arena: vec![0; ARENA_BYTES].into_boxed_slice(),
            timers: BTreeSet::new(),
            ticked_ms: 0,
            turned_ms: 0,
            sweeping: false,
            farewell: Farewell::No,
            stream: Vec::new(),
            writable: Vec::new(),
            unfinished: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Takes in a new connection. One that is not open at once, for its encryption has to be agreed on, has
    /// `opening_ms` to open.
    pub fn accept<D>(&mut self, driver: &mut D, socket: S, opening_ms: u64, now: Now)
    where
        D: SocketDriver<Socket = S>,
    {
        let token = self.sockets.insert(socket);
        let Some(socket) = self.sockets.get(token) else { return };
        if driver.watch(&mut socket.io, token).is_err() {
            self.drop_socket(driver, token);
            return;
        }
        if !self.try_open(driver, token, now) {
            self.set_timer(token, now.mono_ms().saturating_add(opening_ms));
        }
    }

    /// The poll has told something of the socket that was watched under this token.
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

    /// One round.
    pub fn turn<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        self.forgive_stall(now);
        if self.farewell.reads() {
            self.gather(driver, now);
        }
        self.evaluate(driver, now);
        driver.send(self.front.to_core(), now);
        self.write_all(driver, now);
        self.close_ended(driver);
        self.handle_events(driver, now);
        self.sweeping = self.front.sweep();
        if now.mono_ms() >= self.ticked_ms + TICK_MS {
            self.tick(driver, now);
        }
        self.go_on_with_farewell(driver, now);
        self.writable.append(&mut self.unfinished);
    }

    /// Closes everything at once, at the end of the shard.
    pub fn close_all<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        for token in self.sockets.tokens() {
            if let Some(socket) = self.sockets.get(token) {
                driver.say_goodbye(&mut socket.io);
            }
            self.drop_socket(driver, token);
        }
        driver.send(self.front.to_core(), now);
    }

    /// The front, to be asked or told something.
    pub const fn front(&mut self) -> &mut Front {
        &mut self.front
    }

    /// How long the driver may wait for the poll before the next round, if neither a message nor the core's stream
    /// comes. Milliseconds.
    #[must_use]
    pub fn wait_max_ms(&self) -> u64 {
        let reads = self.farewell.reads() && !self.ready.is_empty();
        let goes_on = self.sweeping || self.front.has_long() || !self.writable.is_empty();
        match reads || goes_on {
            true => 0,
            false => self.farewell.tick_ms(),
        }
    }

    /// This shard stood still (a starved thread): that time counts against no client. What clients sent meanwhile may
    /// be read only after the core is told whom this shard has heard of.
    fn forgive_stall(&mut self, now: Now) {
        let turned_ms = core::mem::replace(&mut self.turned_ms, now.mono_ms());
        let elapsed_ms = now.mono_ms().saturating_sub(turned_ms);
        if elapsed_ms > TICK_MS + STALL_MS {
            self.front.forgive(elapsed_ms, now);
        }
    }

    fn tick<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        self.ticked_ms = now.mono_ms();
        self.front.tick(now);
        self.close_overdue(driver, now);
        self.handle_events(driver, now);
    }
}
