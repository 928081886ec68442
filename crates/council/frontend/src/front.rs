//! A shard's connections as its driver sees them: bytes in, messages in, bytes out, messages out.

use std::collections::VecDeque;

use council_tree::Tree;
use council_wire::Zxid;
use net_event_loop::{Admission, ConnId};

use crate::config::FrontConfig;
use crate::connection::{Connection, Connections, Peer, Stage};
use crate::event::{CloseReason, FrontEvent};
use crate::history::History;
use crate::message::ToCore;
use crate::shard_state::ShardState;
use crate::stats::{ConnectionStats, FrontStats};
use crate::tally::Tally;
use base::{MonoTime, Now};

/// Watches that one piece of sweeping removes: a few milliseconds, for which others wait.
const SWEPT_AT_ONCE: usize = 4096;

/// All connections of one shard.
///
/// The driver holds a read guard on the tree, passes the core's stream to [`Front::deliver`] as far as it has come,
/// and only then the bytes of its readable connections to [`Front::receive`], and calls [`Front::go_on`]: so no read
/// sees a state whose events have not been queued. Then, without the guard, it sends what [`Front::dirty`] names, passes [`Front::to_core`]
/// on and does what [`Front::events`] says.
#[derive(Debug)]
pub struct Front {
    pub(crate) connections: Connections,
    pub(crate) common: ShardState,
    pub(crate) round: MonoTime,
    admission: Admission,
    /// Connections that have yet to open a session, oldest first, with the time by which they must.
    deadlines: VecDeque<(MonoTime, ConnId)>,
}

impl Front {
    /// The front of shard number `shard`, without connections.
    #[must_use]
    pub fn new(config: FrontConfig, shard: u16) -> Self {
        Self {
            admission: Admission::new(config.connections_max, config.connections_per_ip_max),
            connections: Connections::default(),
            common: ShardState::new(config, shard),
            round: MonoTime::ZERO,
            deadlines: VecDeque::new(),
        }
    }

    /// What changed before this shard began, so that clients that come back can be told of it too. To be called
    /// before anything is delivered.
    pub fn remember(&mut self, history: History) {
        self.common.watching.history = history;
    }

    /// A new connection. One too many gets an id too, and is closed by the next event.
    pub fn accept(&mut self, peer: Peer, now: Now) -> ConnId {
        self.common.now = now;
        let admitted = self.admission.admit(peer.ip).is_ok();
        let config = &self.common.config;
        let conn = self.connections.insert(|id| {
            let mut connection = Connection::new(id, peer, ConnectionStats::new(now.wall));
            connection.identify(config);
            connection
        });
        self.common.stats.connections_accepted += 1;
        let Some(connection) = self.connections.get_mut(conn) else { return conn };
        connection.counted = admitted;
        if admitted {
            let deadline = now.mono().plus_ms(u64::from(self.common.config.handshake_timeout_ms));
            self.deadlines.push_back((deadline, conn));
        } else {
            self.common.stats.connections_refused += 1;
            self.common.close(connection, CloseReason::ConnectionLimit, false);
        }
        conn
    }

    /// Whether any client watches anything, or is about to.
    #[must_use]
    pub fn has_watches(&self) -> bool {
        !self.common.watching.is_empty()
    }

    /// Bytes of one connection, in order, those that were not consumed before at their head. Says how many were
    /// consumed; the rest is the driver's to keep until there is more, or until [`FrontEvent::ResumeReading`].
    pub fn receive(&mut self, conn: ConnId, input: &[u8], tree: &Tree, now: Now) -> usize {
        self.common.observe(tree, now);
        let Some(connection) = self.connections.get_mut(conn) else { return input.len() };
        self.common.turn.begin();
        let consumed = self.common.receive(connection, input, tree);
        self.common.stats.bytes_received += consumed as u64;
        consumed
    }

    /// Does a piece of each request that takes more than one turn, as far as this round has work left. To be called in
    /// every round, behind what else needs the tree, and again without waiting while [`Front::has_long`].
    pub fn go_on(&mut self, tree: &Tree, now: Now) {
        if self.common.lines.ready.is_empty() {
            return;
        }
        self.common.observe(tree, now);
        for _ in 0..self.common.lines.ready.len() {
            if self.common.turn.is_round_over() {
                break;
            }
            let Some(conn) = self.common.lines.ready.pop_front() else { break };
            self.common.turn.begin();
            match self.connections.get_mut(conn) {
                Some(connection) => self.common.go_on(connection, tree),
                None => self.common.lines.leave(conn),
            }
        }
    }

    /// Whether a request that takes more than one turn could go on.
    #[must_use]
    pub fn has_long(&self) -> bool {
        !self.common.lines.ready.is_empty()
    }

    /// The text that answers a four-letter word, in pieces if need be; with the `last`, the connection is closed.
    pub fn word_reply(&mut self, conn: ConnId, text: &[u8], last: bool) {
        let Some(connection) = self.connections.get_mut(conn) else { return };
        connection.output.buffer(&mut self.common.buffers).extend_from_slice(text);
        self.common.stats.unsent_bytes += connection.output.newly_written();
        self.common.touch(connection);
        if last {
            self.common.stats.packets_sent += 1;
            self.common.close(connection, CloseReason::InfoProbe, true);
        }
    }

    /// The next bytes that wait to be sent to a connection: when all of them are [`Front::sent`], there may be more.
    #[must_use]
    pub fn output(&self, conn: ConnId) -> &[u8] {
        self.connections.get(conn).map_or(&[], |connection| connection.output.pending())
    }

    /// How many bytes wait to be sent to a connection in all.
    #[must_use]
    pub fn unsent(&self, conn: ConnId) -> usize {
        self.connections.get(conn).map_or(0, |connection| connection.output.len())
    }

    /// The first `count` of those bytes have been handed to the socket.
    pub fn sent(&mut self, conn: ConnId, count: usize) {
        let Some(connection) = self.connections.get_mut(conn) else { return };
        self.common.take_off(connection, count);
        self.common.stats.bytes_sent += count as u64;
    }

    /// Connections with bytes to send that were not there when they were last named here. What a socket did not
    /// take then is the driver's to remember.
    pub fn dirty(&mut self) -> impl Iterator<Item = ConnId> + '_ {
        for conn in &self.common.dirty {
            if let Some(connection) = self.connections.get_mut(*conn) {
                connection.dirty = false;
            }
        }
        self.common.dirty.drain(..)
    }

    /// Messages for the core, to be drained and sent in this order.
    pub fn to_core(&mut self) -> &mut Vec<ToCore> {
        &mut self.common.to_core
    }

    /// What the driver is to do, in this order. Call it after sending too: a client that has read may go on.
    pub fn events(&mut self) -> impl Iterator<Item = FrontEvent> + '_ {
        self.common.turn.begin_round();
        self.resume();
        self.common.events.drain(..)
    }

    /// The socket is gone, by whosever doing. The connection is forgotten.
    pub fn disconnected(&mut self, conn: ConnId) {
        let Some(mut connection) = self.connections.remove(conn) else { return };
        self.common.stats.connections_lost += u64::from(connection.stage != Stage::Closing);
        self.common.detach(&mut connection);
        let rest = connection.output.len();
        self.common.take_off(&mut connection, rest);
        if connection.counted {
            self.admission.release(connection.peer.ip);
        }
    }

    /// Time passes: closes connections that have not opened a session in time. To be called every now and then.
    pub fn tick(&mut self, now: Now) {
        self.common.now = now;
        while let Some((deadline, conn)) = self.deadlines.front().copied() {
            if deadline > now.mono() {
                break;
            }
            self.deadlines.pop_front();
            if let Some(connection) = self.connections.get_mut(conn)
                && connection.stage == Stage::Fresh
            {
                self.common.close(connection, CloseReason::HandshakeTimeout, false);
            }
        }
    }

    /// This shard stood still for `stall_ms` until now: the time of each client's last message is moved forward by as
    /// much, but not beyond now. The core is told all of these with the next round, the earlier ones than the round before
    /// too.
    pub(crate) fn forgive(&mut self, stall_ms: u64, now: Now) {
        self.round = MonoTime::ZERO;
        for connection in self.connections.iter_mut() {
            if matches!(connection.stage, Stage::Live | Stage::Ending) {
                let heard = connection.heard.plus_ms(stall_ms).min(now.mono());
                connection.heard = heard.max(connection.heard);
            }
        }
    }

    /// Works off a bounded piece of what connections that are gone have left behind; whether there is more of it. To
    /// be called in every round, and again when there is nothing else to do.
    pub fn sweep(&mut self) -> bool {
        self.common.watching.table.sweep(SWEPT_AT_ONCE)
    }

    /// Requests that wait for an answer of the core.
    #[must_use]
    pub(crate) const fn outstanding(&self) -> usize {
        self.common.stats.outstanding
    }

    /// Counters and sizes as of now.
    #[must_use]
    pub fn stats(&self) -> FrontStats {
        let common = &self.common;
        let mut stats = common.stats.clone();
        let counts = common.watching.table.counts();
        stats.connections = self.connections.len();
        stats.sessions = common.sessions.len();
        stats.watch_count = counts.data + counts.child;
        stats.watched_paths = common.watching.table.path_count();
        stats.watch_bytes = common.watching.table.bytes();
        stats.history_bytes = common.watching.history.bytes();
        stats
    }

    /// Sets the counters to 0 that the word `srst` resets: packets and latencies.
    pub fn reset_stats(&mut self) {
        let stats = &mut self.common.stats;
        stats.packets_received = 0;
        stats.packets_sent = 0;
        stats.responses = Default::default();
        stats.latencies.fill(Tally::default());
    }

    /// Sets the counters of every connection to 0, as the word `crst` does.
    pub fn reset_connection_stats(&mut self) {
        for connection in self.connections.iter_mut() {
            connection.stats.reset();
        }
    }

    /// The last transaction that this shard has seen.
    #[must_use]
    pub const fn applied(&self) -> Zxid {
        self.common.applied
    }

    /// Lets connections go on that need be paused no longer.
    fn resume(&mut self) {
        let (connections, common) = (&mut self.connections, &mut self.common);
        let mut waiting = core::mem::take(&mut common.lines.waiting);
        waiting.retain(|conn| {
            let goes_on = connections.get(*conn).is_none_or(|connection| common.may_go_on(connection));
            if goes_on {
                common.lines.ready.push_back(*conn);
            }
            !goes_on
        });
        common.lines.waiting = waiting;
        let mut pauses = core::mem::take(&mut common.pauses);
        pauses.retain(|conn| {
            let Some(connection) = connections.get_mut(*conn) else { return false };
            if connection.stage != Stage::Live {
                return false;
            }
            if common.must_pause(connection) {
                return true;
            }
            connection.paused = false;
            common.events.push(FrontEvent::ResumeReading(*conn));
            false
        });
        common.pauses = pauses;
    }
}
