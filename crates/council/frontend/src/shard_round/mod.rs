//! The rounds of one shard: the loop over its sockets ([`net_event_loop::EventLoop`]) with the front as its protocol.
//!
//! A round takes one view of the tree: under it, it cuts all clients if the lease is past, delivers the core's stream,
//! evaluates what was read, and does a piece of each long request. Without the view it then sends the core its messages,
//! and the loop does the rest. A thread over `epoll` and the simulator drive it.
//!
//! Refuses to know sockets, TLS, threads, locks, clocks and the log.

mod driver;
mod evaluate;
mod requests;

use base::{MonoTime, Now};
use net_event_loop::{Ask, ConnId, EventLoop, Frontend, Input, Output, Readiness, SocketsByConn, TICK_MS};

use crate::connection::Peer;
use crate::front::Front;
use crate::message::FromCore;

pub use driver::{ShardDriver, View};

/// The rounds of one shard over sockets of the driver's type `S`. See the module.
pub struct ShardRound<S> {
    event_loop: EventLoop<S>,
    shard: Shard,
    /// When the last round began.
    turned: MonoTime,
}

/// By how much a round may be late before the shard is taken to have stood still.
const STALL_MS: u64 = 250;

/// The front with what it needs in a round.
struct Shard {
    front: Front,
    stream: Vec<FromCore>,
    /// Whether the front has more to sweep.
    sweeping: bool,
}

impl<S> ShardRound<S> {
    /// The rounds of a shard without connections.
    #[must_use]
    pub fn new(front: Front) -> Self {
        let shard = Shard { front, stream: Vec::new(), sweeping: false };
        Self { event_loop: EventLoop::default(), shard, turned: MonoTime::ZERO }
    }

    /// Takes in a new connection. One that is not open at once, for its encryption has to be agreed on, has
    /// `opening_ms` to open.
    pub fn accept<D>(&mut self, driver: &mut D, socket: S, opening_ms: u64, now: Now)
    where
        D: ShardDriver<Socket = S>,
    {
        self.event_loop.accept(driver, &mut self.shard, socket, opening_ms, now);
    }

    /// The poll has told something of the socket that was watched under this token.
    pub fn announced(&mut self, token: u32, readiness: Readiness) {
        self.event_loop.announced(token, readiness);
    }

    /// One round.
    pub fn turn<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        self.forgive_stall(now);
        self.event_loop.turn(driver, &mut self.shard, now);
    }

    /// This shard stood still (a starved thread): that time counts against no client. What clients sent meanwhile may
    /// be read only after the core knows which sessions were active on this shard.
    fn forgive_stall(&mut self, now: Now) {
        let turned = core::mem::replace(&mut self.turned, now.mono());
        let elapsed_ms = now.mono().since(turned);
        if elapsed_ms > TICK_MS + STALL_MS {
            self.shard.front.forgive(elapsed_ms, now);
        }
    }

    /// Closes everything at once, at the end of the shard.
    pub fn close_all<D: ShardDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        self.event_loop.close_all(driver, &mut self.shard, now);
    }

    /// The parting from all clients begins. One that is under way goes on, and ends the shard if either is to.
    pub fn begin_shutdown(&mut self, ends: bool, now: Now) {
        self.event_loop.begin_shutdown(ends, now);
    }

    /// Whether a parting that was to end the shard is over.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.event_loop.is_done()
    }

    /// The front, to be asked or told something.
    pub const fn front(&mut self) -> &mut Front {
        &mut self.shard.front
    }

    /// How long the driver may wait for the poll before the next round, if neither a message nor the core's stream
    /// comes. Milliseconds.
    #[must_use]
    pub fn wait_max_ms(&self) -> u64 {
        self.event_loop.wait_max_ms(self.shard.sweeping || self.shard.front.has_long())
    }
}

impl<D: ShardDriver> Frontend<D> for Shard {
    fn accept(&mut self, peer: Peer, now: Now) -> ConnId {
        self.front.accept(peer, now)
    }

    fn evaluate(&mut self, driver: &mut D, input: &mut Input<'_, D::Socket>, now: Now) {
        self.evaluate_under_view(driver, input, now);
    }

    fn send(&mut self, driver: &mut D, now: Now) {
        driver.send(self.front.to_core(), now);
    }

    fn output(&self, conn: ConnId) -> Output<'_, D::File> {
        Output::bytes(self.front.output(conn))
    }

    fn unsent(&self, conn: ConnId) -> usize {
        self.front.unsent(conn)
    }

    fn sent(&mut self, conn: ConnId, count: usize) {
        self.front.sent(conn, count);
    }

    fn take_dirty(&mut self, into: &mut Vec<ConnId>) {
        into.extend(self.front.dirty());
    }

    fn asks(&mut self, driver: &mut D, sockets: &mut SocketsByConn<'_, D::Socket>, into: &mut Vec<Ask>) {
        self.take_requests(driver, sockets, into);
    }

    fn disconnected(&mut self, conn: ConnId) {
        self.front.disconnected(conn);
    }

    fn is_answered(&self) -> bool {
        self.front.outstanding() == 0 && !self.front.has_long()
    }

    fn sweep(&mut self) {
        self.sweeping = self.front.sweep();
    }

    fn tick(&mut self, now: Now) {
        self.front.tick(now);
    }
}
