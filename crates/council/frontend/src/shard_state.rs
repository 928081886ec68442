//! What the connections of a shard share, and the few steps that all their parts take: queueing a reply,
//! releasing what has become ready, pausing, closing.

use net_auth::{AttemptLimiter, Nonces};
use net_event_loop::ConnId;
use std::collections::BTreeMap;

use council_tree::Tree;
use council_wire::{ErrorCode, FRAME_HEADER, OpCode, ReplyHeader, SessionId, Zxid};

use crate::asker::{Asker, asker};
use crate::config::FrontConfig;
use crate::connection::{Connection, Stage};
use crate::cost::{AT_ONCE_BYTES, LIGHT_BYTES};
use crate::event::{CloseReason, FrontEvent};
use crate::long::Lines;
use crate::message::ToCore;
use crate::output::BufferPool;
use crate::pauses::Pauses;
use crate::replies::{Answered, QueuePool, Reply, Slot, put};
use crate::stats::{FrontStats, operation_index, short_name};
use crate::turn::Turn;
use crate::watch::Watching;
use base::Now;

/// However many connections there are, each may have so many unsent bytes.
const OUTPUT_SHARE_MIN: usize = 64 << 10;

/// What the connections of a shard share.
#[derive(Debug)]
pub(crate) struct ShardState {
    pub(crate) config: FrontConfig,
    pub(crate) now: Now,
    /// The last transaction that the stream or the tree has shown.
    pub(crate) applied: Zxid,
    pub(crate) writable: bool,
    pub(crate) watching: Watching,
    /// The current connection of each session of this shard.
    pub(crate) sessions: BTreeMap<SessionId, ConnId>,
    pub(crate) to_core: Vec<ToCore>,
    pub(crate) events: Vec<FrontEvent>,
    pub(crate) dirty: Vec<ConnId>,
    pub(crate) pauses: Pauses,
    pub(crate) turn: Turn,
    /// Requests that take more than one turn.
    pub(crate) lines: Lines,
    pub(crate) buffers: BufferPool,
    pub(crate) queues: QueuePool,
    pub(crate) stats: FrontStats,
    pub(crate) nonces: Nonces,
    /// Of the super user's password.
    pub(crate) super_attempts: AttemptLimiter,
}

impl ShardState {
    pub(crate) fn new(config: FrontConfig, shard: u16) -> Self {
        let seed = config.seed.first_chunk::<8>().copied().unwrap_or_default();
        Self {
            watching: Watching::new(u64::from_le_bytes(seed), config.history_bytes_max),
            nonces: Nonces::new(config.seed, shard),
            super_attempts: AttemptLimiter::new(config.auth.super_attempts),
            config,
            now: Now::default(),
            applied: Zxid(0),
            writable: true,
            sessions: BTreeMap::new(),
            to_core: Vec::new(),
            events: Vec::new(),
            dirty: Vec::new(),
            pauses: Pauses::default(),
            turn: Turn::default(),
            lines: Lines::default(),
            buffers: BufferPool::default(),
            queues: QueuePool::default(),
            stats: FrontStats::default(),
        }
    }

    /// Takes note of the time and of how far the tree has come.
    pub(crate) fn observe(&mut self, tree: &Tree, now: Now) {
        self.now = now;
        self.advance(tree.last_zxid());
        self.watching.history.start(tree.last_zxid());
    }

    pub(crate) fn advance(&mut self, zxid: Zxid) {
        self.applied = self.applied.max(zxid);
    }

    pub(crate) fn asker<'c>(&self, connection: &'c Connection) -> Asker<'c> {
        asker(&self.config, connection.session, connection.identities.identities())
    }

    /// Says that there is something new to send, once until the driver has looked.
    pub(crate) fn touch(&mut self, connection: &mut Connection) {
        if !connection.dirty {
            connection.dirty = true;
            self.dirty.push(connection.id);
        }
    }

    /// Answers now if nothing is owed before it, else in its turn.
    pub(crate) fn reply(&mut self, connection: &mut Connection, reply: Reply) {
        if reply.close.is_some() {
            connection.stage = Stage::Ending;
        }
        let received_us = self.now.mono_us;
        if connection.slots.is_empty() {
            self.put_reply(connection, reply, received_us);
        } else {
            let slot = Slot::Ready { reply: Box::new(reply), received_us };
            self.queues.push(&mut connection.slots, slot);
        }
    }

    /// Answers with an error and no body.
    pub(crate) fn refuse(&mut self, connection: &mut Connection, xid: i32, opcode: OpCode, error: ErrorCode) {
        self.reply(connection, Reply::of_error(xid, Some(opcode), error.code()));
    }

    fn put_reply(&mut self, connection: &mut Connection, reply: Reply, received_us: u64) {
        let zxid = reply.zxid.unwrap_or(self.applied);
        let header = ReplyHeader { xid: reply.xid, zxid: zxid.0, err: reply.error };
        put(connection.output.buffer(&mut self.buffers), header, &reply.body);
        let Reply { xid, operation, close, .. } = reply;
        self.answered(connection, Answered { xid, zxid, operation, close }, received_us);
    }

    /// Counts a reply that is in the output now, and closes behind it if it is to be the last.
    pub(crate) fn answered(&mut self, connection: &mut Connection, answered: Answered, received_us: u64) {
        let latency_us = self.now.mono_us.saturating_sub(received_us);
        let mut name = "NA";
        if let Some(opcode) = answered.operation {
            name = short_name(opcode);
            if let Some(count) = self.stats.operations.get_mut(operation_index(opcode)) {
                *count += 1;
            }
            // A session's beginning takes the time of the handshake, which no client counts among its requests.
            if opcode != OpCode::CreateSession
                && let Some(histogram) = self.stats.latencies.get_mut(operation_index(opcode))
            {
                histogram.record(latency_us);
            }
        }
        connection.stats.answer(name, answered.xid, answered.zxid, latency_us, self.now);
        let bytes = self.sent(connection);
        // As in ZooKeeper, requests that open a session, keep it alive or authenticate do not count.
        let uncounted = [OpCode::CreateSession, OpCode::Ping, OpCode::Auth, OpCode::Sasl];
        if answered.operation.is_some_and(|operation| !uncounted.contains(&operation)) {
            self.stats.reply_bytes += bytes as u64;
        }
        if let Some(reason) = answered.close {
            self.close(connection, reason, true);
        }
    }

    /// Counts one more frame in the output; gives its bytes.
    pub(crate) fn sent(&mut self, connection: &mut Connection) -> usize {
        connection.stats.sent += 1;
        self.stats.packets_sent += 1;
        // Without its length field, as ZooKeeper counts.
        let written = connection.output.newly_written();
        self.stats.unsent_bytes += written;
        self.turn.wrote(written);
        let bytes = written.saturating_sub(FRAME_HEADER);
        self.stats.responses.record(bytes);
        self.touch(connection);
        bytes
    }

    /// The first `count` bytes of the output are gone.
    pub(crate) fn take_off(&mut self, connection: &mut Connection, count: usize) {
        let before = connection.output.told();
        connection.output.sent(count, &mut self.buffers);
        self.stats.unsent_bytes -= before - connection.output.told();
    }

    /// Puts everything in the output that no longer waits for something before it.
    pub(crate) fn release(&mut self, connection: &mut Connection, tree: &Tree) {
        while let Some(slot) = connection.slots.pop_front_if(|slot| !slot.is_waiting() && !slot.is_long()) {
            match slot {
                Slot::Ready { reply, received_us } => self.put_reply(connection, *reply, received_us),
                Slot::Done { frame, answered, received_us } => {
                    self.stats.unsent_bytes -= frame.len();
                    connection.output.buffer(&mut self.buffers).extend_from_slice(&frame);
                    self.answered(connection, answered, received_us);
                }
                Slot::Event { frame } => {
                    connection.output.buffer(&mut self.buffers).extend_from_slice(&frame);
                    self.sent_event(connection);
                }
                Slot::Local { xid, operation, body, received_us } => {
                    self.stats.in_flight_bytes -= body.len();
                    self.local(connection, operation, xid, &body, tree, received_us);
                }
                Slot::Write { .. } | Slot::Read { .. } | Slot::Long(_) => {}
            }
            if connection.stage == Stage::Closing {
                return;
            }
        }
        self.begin_long(connection);
        self.queues.reclaim(&mut connection.slots);
    }

    /// Whether the connection must wait before more of its requests are looked at.
    ///
    /// When too many requests wait in all, ZooKeeper pauses the connections that already wait. Besides that, a client
    /// that does not read its replies must not send more requests.
    pub(crate) fn must_pause(&self, connection: &Connection) -> bool {
        if connection.output.len() >= self.config.output_bytes_max
            || self.has_more_than_its_share(connection, self.config.output_bytes_all_max)
        {
            return true;
        }
        !connection.slots.is_empty()
            && (connection.slots.front().is_some_and(Slot::is_long)
                || connection.slots.back().is_some_and(Slot::is_long)
                || connection.slots.len() > self.config.outstanding_max
                || connection.waiting_reads >= self.config.waiting_reads_max
                || self.stats.outstanding > self.config.outstanding_max
                || self.stats.in_flight_bytes > self.config.in_flight_bytes_max)
    }

    /// Whether the connection waits for answers that are still to be made, and not for its client to read them.
    pub(crate) fn owes_answers(&self, connection: &Connection) -> bool {
        connection.stage == Stage::Live
            && !connection.slots.is_empty()
            && connection.output.len() < self.config.output_bytes_max
            && !self.has_more_than_its_share(connection, self.config.output_bytes_all_max)
    }

    /// Whether so much is unsent in all, and more than its share of that to this connection.
    pub(crate) fn has_more_than_its_share(&self, connection: &Connection, unsent_bytes: usize) -> bool {
        self.stats.unsent_bytes >= unsent_bytes && connection.output.len() >= self.share_of(unsent_bytes)
    }

    /// Each connection's share of so many unsent bytes.
    pub(crate) fn share_of(&self, unsent_bytes: usize) -> usize {
        (unsent_bytes / self.sessions.len().max(1)).max(OUTPUT_SHARE_MIN)
    }

    /// Whether more may be unsent in all, beside `own` bytes.
    pub(crate) const fn has_room(&self, own: usize) -> bool {
        self.stats.unsent_bytes.saturating_sub(own) < self.config.output_bytes_all_max
    }

    /// Bytes that a reply may have that is made at once: as much as one request can have put into the tree, or what is
    /// small where there is no room.
    pub(crate) const fn bytes_at_once(&self) -> usize {
        if self.has_room(0) {
            self.config.request_bytes_max.saturating_add(AT_ONCE_BYTES)
        } else {
            LIGHT_BYTES
        }
    }

    /// Whether a reply of the core, which could not know how much is unsent, finds no room.
    pub(crate) fn is_too_much(&self, connection: &Connection, bytes: usize) -> bool {
        bytes > LIGHT_BYTES && (connection.output.len() >= self.config.output_bytes_max || !self.has_room(0))
    }

    /// Lets others go first; [`crate::Front::events`] lets it go on.
    pub(crate) fn yield_turn(&mut self, connection: &mut Connection) {
        if !connection.paused {
            connection.paused = true;
            match self.turn.is_unused() {
                true => self.pauses.pass_over(connection.id),
                false => self.pauses.add(connection.id),
            }
            self.events.push(FrontEvent::PauseReading(connection.id));
        }
    }

    pub(crate) fn pause(&mut self, connection: &mut Connection) {
        if !connection.paused {
            connection.paused = true;
            self.stats.pauses += 1;
            self.pauses.add(connection.id);
            self.events.push(FrontEvent::PauseReading(connection.id));
        }
    }

    /// Ends a connection: nothing more is read or queued. With `after_output` the queued output is still sent.
    pub(crate) fn close(&mut self, connection: &mut Connection, reason: CloseReason, after_output: bool) {
        if connection.stage == Stage::Closing {
            return;
        }
        if let Some(count) = self.stats.connections_closed.get_mut(reason as usize) {
            *count += 1;
        }
        self.detach(connection);
        self.events.push(FrontEvent::Close { conn: connection.id, reason, after_output });
        self.touch(connection);
    }

    /// Takes a connection out of everything that is shared.
    pub(crate) fn detach(&mut self, connection: &mut Connection) {
        if connection.stage == Stage::Closing {
            return;
        }
        connection.stage = Stage::Closing;
        self.watching.leave(connection.id.slot);
        while let Some(slot) = connection.slots.pop_front() {
            self.forget(connection, &slot);
        }
        self.queues.reclaim(&mut connection.slots);
        self.lines.leave(connection.id);
        let session = connection.session;
        if session != SessionId::NONE {
            if self.sessions.get(&session) == Some(&connection.id) {
                self.sessions.remove(&session);
            }
            let (conn, generation, heard) = (connection.id, connection.generation, connection.heard);
            self.to_core.push(ToCore::Disconnected { conn, session, generation, heard });
        }
    }

    /// Queues a request whose answer is not known yet.
    pub(crate) fn enqueue(&mut self, connection: &mut Connection, slot: Slot) {
        self.stats.outstanding += usize::from(slot.is_waiting());
        self.stats.in_flight_bytes += slot.bytes();
        connection.waiting_reads += u32::from(matches!(slot, Slot::Read { .. }));
        connection.write_bytes += slot.written();
        connection.ephemerals_under_way.add(slot.ephemerals());
        self.queues.push(&mut connection.slots, slot);
    }

    /// A request that was queued is answered, or never will be.
    pub(crate) fn forget(&mut self, connection: &mut Connection, slot: &Slot) {
        self.stats.outstanding -= usize::from(slot.is_waiting());
        self.stats.in_flight_bytes -= slot.bytes();
        connection.waiting_reads -= u32::from(matches!(slot, Slot::Read { .. }));
        connection.write_bytes -= slot.written();
        connection.ephemerals_under_way.take(slot.ephemerals());
        self.stats.unsent_bytes -= slot.unsent();
    }
}
