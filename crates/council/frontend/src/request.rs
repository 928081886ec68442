//! Frames of a connection with a session: decoded, bounded, and passed to the code that answers them.

use council_tree::Tree;
use council_wire::{
    ErrorCode, Frame, MultiHeader, MultiKind, OpCode, Reader, ReplyHeader, Request, RequestHeader, Writer,
    Zxid, next_frame, xid,
};

use crate::asker::asker;
use crate::connection::{Connection, Oversized, Stage};
use crate::cost::{LIGHT_BYTES, Meter, TURN_WORK};
use crate::event::CloseReason;
use crate::long::Long;
use crate::message::ToCore;
use crate::read;
use crate::read_effects::Immediate;
use crate::replies::{Answered, Reply, Slot, put};
use crate::shard_state::ShardState;
use crate::watching::with_null_path;
use crate::weight::is_light;

/// Length field, xid and operation code: what must be seen of an oversized request to refuse it in order.
const OVERSIZED_HEAD: usize = 12;

impl ShardState {
    /// Takes as many whole frames from `input` as may be taken now; says how many bytes that were.
    pub(crate) fn receive(&mut self, connection: &mut Connection, input: &[u8], tree: &Tree) -> usize {
        let mut rest = input;
        if !input.is_empty() {
            connection.heard = self.now.mono();
        }
        loop {
            let consumed = match connection.stage {
                Stage::Fresh => self.handshake(connection, rest),
                Stage::Connecting => 0,
                Stage::Live => self.next(connection, rest, tree),
                Stage::Ending | Stage::Closing => return input.len(),
            };
            if consumed == 0 {
                return input.len() - rest.len();
            }
            rest = rest.get(consumed..).unwrap_or_default();
        }
    }

    fn next(&mut self, connection: &mut Connection, input: &[u8], tree: &Tree) -> usize {
        if let Some(oversized) = &mut connection.oversized {
            let skipped = oversized.bytes_left.min(input.len());
            oversized.bytes_left -= skipped;
            self.refuse_oversized(connection);
            return skipped;
        }
        if input.is_empty() {
            return 0;
        }
        if self.must_pause(connection) {
            self.pause(connection);
            return 0;
        }
        if self.turn.is_over() {
            self.yield_turn(connection);
            return 0;
        }
        match next_frame(input, self.config.request_bytes_max) {
            Frame::Partial(_) => 0,
            Frame::Whole(frame) => {
                self.stats.packets_received += 1;
                connection.stats.received += 1;
                self.frame(connection, frame, tree);
                frame.len() + 4
            }
            Frame::Refused(length) => self.oversized(connection, length, input),
        }
    }

    /// A request too large: passed over and refused in its turn, or, beyond all bounds, the end.
    fn oversized(&mut self, connection: &mut Connection, length: i32, input: &[u8]) -> usize {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > self.config.request_skip_bytes_max || length < OVERSIZED_HEAD - 4 {
            self.close(connection, CloseReason::TooLarge, false);
            return input.len();
        }
        let Some(head) = input.get(4..OVERSIZED_HEAD) else { return 0 };
        let Ok(header) = RequestHeader::read(&mut Reader::new(head)) else { return 0 };
        self.stats.packets_received += 1;
        self.stats.oversized += 1;
        connection.stats.received += 1;
        connection.oversized = Some(Oversized { header, bytes_left: length + 4 - OVERSIZED_HEAD });
        self.refuse_oversized(connection);
        OVERSIZED_HEAD
    }

    /// Answers an oversized request once all of it has come. Not earlier: ZooKeeper's own client counts a
    /// request as sent only when its last byte is, and drops a connection that answers one before.
    fn refuse_oversized(&mut self, connection: &mut Connection) {
        let Some(Oversized { header, bytes_left: 0 }) = connection.oversized else { return };
        connection.oversized = None;
        // BadArguments is the one code for this that every client knows and none retries.
        let operation = OpCode::from_code(header.operation);
        self.reply(connection, Reply::of_error(header.xid, operation, ErrorCode::BadArguments.code()));
    }

    fn frame(&mut self, connection: &mut Connection, frame: &[u8], tree: &Tree) {
        let mut reader = Reader::new(frame);
        let Ok(header) = RequestHeader::read(&mut reader) else {
            return self.close(connection, CloseReason::Malformed, false);
        };
        let body = reader.rest();
        let opcode = OpCode::from_code(header.operation);
        match opcode {
            Some(OpCode::Auth) => return self.authenticate(connection, header.xid, body),
            Some(OpCode::Sasl) => return self.sasl(connection, header.xid, body),
            _ => {}
        }
        if !self.config.auth.enforced_schemes.is_empty() && !connection.admitted {
            return self.demand_authentication(connection, header.xid, opcode);
        }
        match opcode {
            Some(opcode) => self.request(connection, opcode, header.xid, body, tree),
            None => self.unknown(connection, header.xid),
        }
    }

    fn request(&mut self, connection: &mut Connection, opcode: OpCode, xid: i32, body: &[u8], tree: &Tree) {
        match opcode {
            OpCode::GetData
            | OpCode::Exists
            | OpCode::GetChildren
            | OpCode::GetChildren2
            | OpCode::GetAcl
            | OpCode::MultiRead
            | OpCode::GetEphemerals
            | OpCode::GetAllChildrenNumber
            | OpCode::Sync => self.read(connection, opcode, xid, body, tree),
            OpCode::Ping => self.ping(connection, xid),
            OpCode::Create
            | OpCode::Create2
            | OpCode::CreateContainer
            | OpCode::CreateTtl
            | OpCode::Delete
            | OpCode::SetData
            | OpCode::SetAcl
            | OpCode::Multi
            | OpCode::DeleteContainer
            | OpCode::Reconfig
            | OpCode::CloseSession => self.write(connection, opcode, xid, body, tree),
            OpCode::SetWatches
            | OpCode::SetWatches2
            | OpCode::CheckWatches
            | OpCode::RemoveWatches
            | OpCode::AddWatch => self.about_watches(connection, opcode, xid, body, tree),
            OpCode::WhoAmI => self.who_am_i(connection, xid),
            OpCode::Check | OpCode::CreateSession | OpCode::Auth | OpCode::Sasl => {
                self.unknown(connection, xid)
            }
        }
    }

    /// An operation that does not exist, or not there: answered, then the connection is closed, as ZooKeeper does.
    fn unknown(&mut self, connection: &mut Connection, xid: i32) {
        let close = Some(CloseReason::UnknownOperation);
        let error = ErrorCode::Unimplemented.code();
        self.reply(connection, Reply { zxid: Some(Zxid(-1)), close, ..Reply::of_error(xid, None, error) });
    }

    pub(crate) fn malformed(&mut self, connection: &mut Connection, opcode: OpCode, xid: i32) {
        self.stats.malformed += 1;
        self.refuse(connection, xid, opcode, ErrorCode::MarshallingError);
    }

    /// The reply's xid is always that of pings; listings show the request's xid.
    fn ping(&mut self, connection: &mut Connection, asked: i32) {
        if !connection.slots.is_empty() {
            return self.reply(connection, Reply::of_error(xid::PING, Some(OpCode::Ping), 0));
        }
        let zxid = self.applied;
        let header = ReplyHeader { xid: xid::PING, zxid: zxid.0, err: 0 };
        put(connection.output.buffer(&mut self.buffers), header, &[]);
        let answered = Answered { xid: asked, zxid, operation: Some(OpCode::Ping), close: None };
        self.answered(connection, answered, self.now.mono_us);
    }

    fn read(&mut self, connection: &mut Connection, opcode: OpCode, xid: i32, body: &[u8], tree: &Tree) {
        if opcode == OpCode::Sync && read::is_null(body) {
            return self.read_later(connection, opcode, xid, body);
        }
        let Ok(request) = read::decode(opcode, body) else {
            return self.malformed(connection, opcode, xid);
        };
        if let Request::MultiRead(multi) = &request
            && multi.kind == MultiKind::Transaction
        {
            return self.refuse_multi_read(connection, xid);
        }
        if wants_watch(&request) && !self.may_watch(connection, 1) {
            return self.refuse(connection, xid, opcode, ErrorCode::ThrottledOp);
        }
        if !connection.slots.is_empty() || opcode == OpCode::Sync {
            let grows = connection.write_bytes as usize > LIGHT_BYTES;
            return match is_light(tree, &request, connection.session, grows) {
                true => self.read_later(connection, opcode, xid, body),
                false => self.take_long(connection, Long::new(xid, opcode, body.into(), self.now.mono_us)),
            };
        }
        let who = asker(&self.config, connection.session, connection.identities.identities());
        let bytes_max = self.bytes_at_once();
        let out = connection.output.buffer(&mut self.buffers);
        let mut meter = Meter::new(out, bytes_max, TURN_WORK);
        let mut trail = Immediate {
            watches: &mut self.watching.table,
            slot: connection.id.slot,
            reads: &mut self.stats.reads,
        };
        let answered = read::answer(tree, &request, xid, who, &mut meter, out, &mut trail);
        self.turn.charge(TURN_WORK - meter.work());
        if answered.is_err() {
            return self.take_long(connection, Long::new(xid, opcode, body.into(), self.now.mono_us));
        }
        let answered = Answered { xid, zxid: tree.last_zxid(), operation: Some(opcode), close: None };
        self.answered(connection, answered, self.now.mono_us);
    }

    /// A read behind a write of its session: the core evaluates it right after that write.
    fn read_later(&mut self, connection: &mut Connection, opcode: OpCode, xid: i32, body: &[u8]) {
        let bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let slot = Slot::Read { xid, operation: opcode, received_us: self.now.mono_us, bytes };
        self.enqueue(connection, slot);
        self.to_core.push(ToCore::Read {
            conn: connection.id,
            session: connection.session,
            after: connection.sequence,
            xid,
            opcode,
            body: body.to_vec(),
            identities: connection.identities.clone(),
            policy: self.config.policy,
        });
    }

    /// The one error with a body: an empty multi, as ZooKeeper sends it.
    fn refuse_multi_read(&mut self, connection: &mut Connection, xid: i32) {
        self.stats.malformed += 1;
        let mut body = Vec::new();
        MultiHeader::END.write(&mut Writer::new(&mut body));
        let error = ErrorCode::MarshallingError.code();
        let reply = Reply::of_error(xid, Some(OpCode::MultiRead), error);
        self.reply(connection, Reply { body: body.into_boxed_slice(), ..reply });
    }

    fn about_watches(
        &mut self,
        connection: &mut Connection,
        opcode: OpCode,
        xid: i32,
        body: &[u8],
        tree: &Tree,
    ) {
        let received_us = self.now.mono_us;
        if connection.slots.is_empty() {
            return self.local(connection, opcode, xid, body, tree, received_us);
        }
        // It is done when the whole stream of the core is: the tree is never ahead of the history then.
        if matches!(opcode, OpCode::SetWatches | OpCode::SetWatches2) {
            return self.take_long(connection, Long::new(xid, opcode, body.into(), received_us));
        }
        self.enqueue(connection, Slot::Local { xid, operation: opcode, body: body.into(), received_us });
    }

    /// A request about the connection's own watches, when its turn has come.
    pub(crate) fn local(
        &mut self,
        connection: &mut Connection,
        opcode: OpCode,
        xid: i32,
        body: &[u8],
        tree: &Tree,
        received_us: u64,
    ) {
        let result = match opcode {
            OpCode::SetWatches | OpCode::SetWatches2 => {
                match self.begin_set(connection, opcode, xid, body, tree, received_us) {
                    Ok(true) => Ok(()),
                    Ok(false) => return,
                    Err(error) => Err(error),
                }
            }
            _ => {
                let named = with_null_path(body);
                match Request::decode(opcode, named.as_deref().unwrap_or(body)) {
                    Ok(request) => self.on_watches(connection, &request),
                    Err(_) => Err(ErrorCode::MarshallingError),
                }
            }
        };
        self.stats.malformed += u64::from(result == Err(ErrorCode::MarshallingError));
        if connection.stage == Stage::Closing {
            return;
        }
        let (error, reply_body): (_, &[u8]) = match result {
            // addWatch alone answers with a body: the code again.
            Ok(()) if opcode == OpCode::AddWatch => (0, &[0; 4]),
            Ok(()) => (0, &[]),
            Err(error) => (error.code(), &[]),
        };
        let zxid = self.applied;
        let header = ReplyHeader { xid, zxid: zxid.0, err: error };
        put(connection.output.buffer(&mut self.buffers), header, reply_body);
        self.answered(connection, Answered { xid, zxid, operation: Some(opcode), close: None }, received_us);
    }

    /// Does a setWatches that is next in order; returns whether it is done. One that takes longer begins again in turns
    /// of its own.
    fn begin_set(
        &mut self,
        connection: &mut Connection,
        opcode: OpCode,
        xid: i32,
        body: &[u8],
        tree: &Tree,
        received_us: u64,
    ) -> Result<bool, ErrorCode> {
        let Ok(Request::SetWatches(set) | Request::SetWatches2(set)) = Request::decode(opcode, body) else {
            return Err(ErrorCode::MarshallingError);
        };
        self.may_set_watches(connection, &set)?;
        let most = self.turn.work_left();
        let mut work = most;
        let done = self.set_watches_at_once(connection, &set, tree, &mut work);
        self.turn.charge(most - work);
        if done == Ok(false) {
            self.take_long(connection, Long::new(xid, opcode, body.into(), received_us));
        }
        done
    }
}

const fn wants_watch(request: &Request<'_>) -> bool {
    matches!(
        request,
        Request::GetData { watch: true, .. }
            | Request::Exists { watch: true, .. }
            | Request::GetChildren { watch: true, .. }
            | Request::GetChildren2 { watch: true, .. }
    )
}
