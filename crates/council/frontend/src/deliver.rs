//! The core's stream: what it brings to the connections of a shard, item by item.

use council_tree::{Outcome, Tree};
use council_wire::{ErrorCode, OpCode, ReplyHeader, SessionId, Writer, Zxid, end_frame, start_frame};
use net_event_loop::ConnId;

use crate::connection::{Connection, Stage};
use crate::event::{CloseReason, FrontEvent};
use crate::front::Front;
use crate::message::Evaluated;
use crate::message::{ConnectRefusal, FromCore, ToCore};
use crate::replies::{Answered, Reply, Slot};
use crate::shard_state::ShardState;
use crate::write;
use base::{MonoTime, Now};

impl Front {
    /// One item of the core's stream, in order, under the guard of a tree that is at least as far as the item.
    pub fn deliver(&mut self, item: &FromCore, tree: &Tree, now: Now) {
        self.common.now = now;
        match item {
            FromCore::Changes(changes) => {
                self.common.watching.history.push(changes);
                for change in changes.iter() {
                    self.common.fire(&mut self.connections, change);
                }
            }
            FromCore::Outcome { conn, sequence, zxid, outcome } => {
                self.common.advance(*zxid);
                match self.connections.get_mut(*conn) {
                    Some(connection) => self.common.outcome(connection, *sequence, *zxid, outcome, tree),
                    None => self.common.stats.outcomes_unclaimed += 1,
                }
            }
            FromCore::ReadDone { conn, xid, reply } => {
                self.common.advance(reply.zxid);
                if let Some(connection) = self.connections.get_mut(*conn) {
                    self.common.read_done(connection, *xid, reply, tree);
                }
            }
            FromCore::Connected { conn, session, generation, timeout_ms, password, read_only } => {
                self.connected(*conn, *session, *generation, *timeout_ms, *password, *read_only);
                self.count_session(*conn, tree.last_zxid());
            }
            FromCore::ConnectRefused { conn, reason } => self.connect_refused(*conn, *reason),
            FromCore::Moved { session, generation } => self.moved(*session, *generation),
            FromCore::SessionClosed { session, zxid } => self.session_closed(*session, *zxid, tree),
            FromCore::TouchRound { round } => self.touched(*round),
            FromCore::Writable(writable) => self.common.writable = *writable,
            FromCore::Serving(true) => {}
            FromCore::Serving(false) => self.cut_all(),
            FromCore::TreeReplaced { zxid } => {
                self.cut_all();
                self.unwatch_all();
                self.common.watching.history.restart(*zxid);
                self.common.advance(*zxid);
            }
        }
    }

    fn connected(
        &mut self,
        conn: ConnId,
        session: SessionId,
        generation: u32,
        timeout_ms: i32,
        password: [u8; 16],
        read_only: bool,
    ) {
        self.moved(session, generation);
        let connection =
            self.connections.get_mut(conn).filter(|connection| connection.stage == Stage::Connecting);
        let Some(connection) = connection else {
            let heard = MonoTime::ZERO;
            return self.common.to_core.push(ToCore::Disconnected { conn, session, generation, heard });
        };
        connection.stage = Stage::Live;
        connection.session = session;
        connection.generation = generation;
        connection.timeout_ms = timeout_ms;
        self.common.sessions.insert(session, conn);
        self.common.connect_response(connection, session, timeout_ms, password, read_only);
        self.common.events.push(FrontEvent::ResumeReading(conn));
    }

    /// To listings a new session is an answered request of number 0; one that is taken up again is none.
    fn count_session(&mut self, conn: ConnId, zxid: Zxid) {
        let common = &mut self.common;
        let connection = self.connections.get_mut(conn).filter(|connection| connection.stage == Stage::Live);
        let Some(connection) = connection else { return };
        let asked_us = connection.heard.ms() * 1000;
        connection.heard = common.now.mono();
        if connection.generation > 1 {
            common.stats.sessions_resumed += 1;
            common.sent(connection);
            return;
        }
        let operation = Some(OpCode::CreateSession);
        common.answered(connection, Answered { xid: 0, zxid, operation, close: None }, asked_us);
    }

    fn connect_refused(&mut self, conn: ConnId, reason: ConnectRefusal) {
        let connection =
            self.connections.get_mut(conn).filter(|connection| connection.stage == Stage::Connecting);
        let Some(connection) = connection else { return };
        match reason {
            ConnectRefusal::Expired => self.common.refuse_session(connection),
            ConnectRefusal::AheadOfServer => self.common.close(connection, CloseReason::ZxidAhead, false),
            ConnectRefusal::Closing => self.common.close(connection, CloseReason::NotServing, false),
        }
    }

    /// Closes every connection that has a session or asked for one: their clients try another server, or come again. One
    /// whose session ends is no exception: it may be owed answers to reads before the word of that end.
    fn cut_all(&mut self) {
        for connection in self.connections.iter_mut() {
            if matches!(connection.stage, Stage::Connecting | Stage::Live | Stage::Ending) {
                self.common.close(connection, CloseReason::NotServing, false);
            }
        }
    }

    /// Forgets the watches of connections that stay open only until their session has ended. The events before are
    /// lost, so no later event may be sent.
    fn unwatch_all(&mut self) {
        for connection in self.connections.iter() {
            self.common.watching.table.remove_connection(connection.id.slot);
        }
        self.common.watching.settled = None;
    }

    /// Cuts the connection of an older generation.
    fn moved(&mut self, session: SessionId, generation: u32) {
        let Some(conn) = self.common.sessions.get(&session).copied() else { return };
        let Some(connection) = self.connections.get_mut(conn) else { return };
        if connection.generation < generation {
            self.common.close(connection, CloseReason::SessionMoved, false);
        }
    }

    /// A client that asked for it gets its reply first, also when the outcome of its asking will never come.
    fn session_closed(&mut self, session: SessionId, zxid: Zxid, tree: &Tree) {
        self.common.advance(zxid);
        let Some(conn) = self.common.sessions.get(&session).copied() else { return };
        let Some(connection) = self.connections.get_mut(conn) else { return };
        let closing = connection.slots.iter().rev().find_map(|slot| match slot {
            Slot::Write { operation: OpCode::CloseSession, sequence, .. } => Some(*sequence),
            _ => None,
        });
        match closing {
            Some(sequence) => {
                self.common.outcome(connection, sequence, zxid, &Outcome::SessionClosed, tree);
                self.common.close(connection, CloseReason::SessionClosed, true);
            }
            None => self.common.close(connection, CloseReason::SessionClosed, false),
        }
    }

    /// Names the sessions whose clients sent something since the last round. A client that is not read from because this
    /// server owes it answers is among them: its pings wait unread.
    fn touched(&mut self, round: u64) {
        let since = self.round;
        self.round = self.common.now.mono();
        for connection in self.connections.iter_mut() {
            if connection.paused && self.common.owes_answers(connection) {
                connection.heard = self.round;
            }
        }
        let heard = self.connections.iter().filter(|connection| {
            matches!(connection.stage, Stage::Live | Stage::Ending) && connection.session != SessionId::NONE
        });
        let heard = heard.filter(|connection| connection.heard >= since);
        let sessions = heard.map(|connection| (connection.session, connection.heard)).collect();
        self.common.to_core.push(ToCore::Touched { round, sessions });
    }
}

impl ShardState {
    fn outcome(
        &mut self,
        connection: &mut Connection,
        sequence: u64,
        zxid: Zxid,
        outcome: &Outcome,
        tree: &Tree,
    ) {
        let is_it = |slot: &Slot| matches!(slot, Slot::Write { sequence: other, .. } if *other == sequence);
        let Some(at) = connection.slots.iter().position(is_it) else { return };
        let Some(slot) = connection.slots.get_mut(at) else { return };
        let slot = core::mem::replace(slot, Slot::Event { frame: Box::default() });
        self.forget(connection, &slot);
        let Slot::Write { xid, operation, received_us, audit, .. } = slot else { return };
        if let Some(audit) = audit {
            audit.report(
                (connection.session, connection.users(), connection.peer.ip),
                outcome,
                &mut self.events,
            );
        }
        let close = (operation == OpCode::CloseSession).then_some(CloseReason::ClientClosedSession);
        let answered = Answered { xid, zxid, operation: Some(operation), close };
        if at == 0 {
            connection.slots.pop_front();
            let out = connection.output.buffer(&mut self.buffers);
            if let Err(reason) = encode(xid, zxid, operation, outcome, out) {
                return self.close(connection, reason, false);
            }
            self.answered(connection, answered, received_us);
            return self.release(connection, tree);
        }
        let mut frame = Vec::new();
        match encode(xid, zxid, operation, outcome, &mut frame) {
            Ok(()) => self.done(connection, at, frame.into_boxed_slice(), answered, received_us),
            Err(reason) => self.close(connection, reason, false),
        }
    }

    fn read_done(&mut self, connection: &mut Connection, xid: i32, reply: &Evaluated, tree: &Tree) {
        let is_it = |slot: &Slot| matches!(slot, Slot::Read { xid: other, .. } if *other == xid);
        let Some(at) = connection.slots.iter().position(is_it) else { return };
        let Some(slot) = connection.slots.get_mut(at) else { return };
        let slot = core::mem::replace(slot, Slot::Event { frame: Box::default() });
        self.forget(connection, &slot);
        let Slot::Read { operation, received_us, .. } = slot else { return };
        if self.is_too_much(connection, reply.frame.len()) {
            let refused = Reply::of_error(xid, Some(operation), ErrorCode::ThrottledOp.code());
            return self.settle(connection, at, refused, reply.zxid, received_us, tree);
        }
        for (path, kind) in &reply.watches {
            self.watching.table.add(connection.id.slot, path, (*kind).into());
        }
        for (path, bytes) in &reply.reads {
            self.stats.reads.record(path, *bytes);
        }
        let answered = Answered { xid, zxid: reply.zxid, operation: Some(operation), close: None };
        if at == 0 {
            connection.slots.pop_front();
            connection.output.buffer(&mut self.buffers).extend_from_slice(&reply.frame);
            self.answered(connection, answered, received_us);
            return self.release(connection, tree);
        }
        self.done(connection, at, reply.frame.as_slice().into(), answered, received_us);
    }

    /// Puts a reply in the place of a read under way.
    fn settle(
        &mut self,
        connection: &mut Connection,
        at: usize,
        reply: Reply,
        zxid: Zxid,
        received_us: u64,
        tree: &Tree,
    ) {
        let reply = Reply { zxid: Some(zxid), ..reply };
        if let Some(slot) = connection.slots.get_mut(at) {
            *slot = Slot::Ready { reply: Box::new(reply), received_us };
        }
        self.release(connection, tree);
    }

    /// An answer before its turn: kept in its place.
    fn done(
        &mut self,
        connection: &mut Connection,
        at: usize,
        frame: Box<[u8]>,
        answered: Answered,
        received_us: u64,
    ) {
        if let Some(slot) = connection.slots.get_mut(at) {
            self.stats.unsent_bytes += frame.len();
            *slot = Slot::Done { frame, answered, received_us };
        }
    }
}

/// A frame holds no more: its length is a signed number of 32 bits.
const FRAME_BYTES_MAX: usize = 1 << 30;

/// Writes a write's whole reply, or nothing if none is owed.
fn encode(
    xid: i32,
    zxid: Zxid,
    operation: OpCode,
    outcome: &Outcome,
    out: &mut Vec<u8>,
) -> Result<(), CloseReason> {
    let start = start_frame(out);
    ReplyHeader { xid, zxid: zxid.0, err: 0 }.write(&mut Writer::new(out));
    let error = match write::answer(operation, outcome, out) {
        Ok(error) => error,
        Err(reason) => {
            out.truncate(start);
            return Err(reason);
        }
    };
    if out.len() - start > FRAME_BYTES_MAX {
        // It was done, and no frame can say so: the client comes again and looks.
        out.truncate(start);
        return Err(CloseReason::TooLarge);
    }
    if error != ErrorCode::Ok {
        out.truncate(start + 4);
        ReplyHeader { xid, zxid: zxid.0, err: error.code() }.write(&mut Writer::new(out));
    }
    end_frame(out, start);
    Ok(())
}
