//! Writes: from a request to the command that the core replicates, and from its outcome to the reply.
//!
//! Whether a write is allowed, and what it does, is decided where it is applied; here only its shape is checked.

use council_tree::{Command, Excess, Operation, Origin, Outcome, SubOutcome, Tree};
use council_wire::{ErrorCode, MultiHeader, OpCode, Request, Writer};

use crate::connection::{Connection, Stage};
use crate::cost::{BYTES_PER_WORK, PART_BYTES_PER_WORK};
use crate::event::{CloseReason, FrontEvent};
use crate::message::ToCore;
use crate::pending_audit::PendingAudit;
use crate::replies::{Ephemerals, Slot};
use crate::shard_state::ShardState;

/// What a command may have beyond its request's frame: origin, policy and the client's identities. The journal must
/// be able to hold `request_bytes_max` and this.
pub const COMMAND_OVERHEAD_MAX: usize = 32 << 10;

impl ShardState {
    pub(crate) fn write(
        &mut self,
        connection: &mut Connection,
        opcode: OpCode,
        xid: i32,
        body: &[u8],
        tree: &Tree,
    ) {
        self.turn.charge(body.len() / bytes_per_work(opcode));
        let mut ephemerals = Ephemerals::default();
        let audit = match Request::decode(opcode, body) {
            Ok(request) => {
                match self.judge_cost(connection, &request, tree) {
                    Ok(created) => ephemerals = created,
                    Err(excess) => return self.too_costly(connection, xid, opcode, excess),
                }
                self.config.audit.then(|| PendingAudit::of(&request))
            }
            // ZooKeeper gives these a transaction of their own before it finds out: so they are applied too.
            Err(_) if opcode == OpCode::Multi || has_null_path(opcode, body) => None,
            Err(_) => return self.malformed(connection, opcode, xid),
        };
        if !self.writable && opcode != OpCode::CloseSession {
            self.stats.refused_unwritable += 1;
            return self.refuse(connection, xid, opcode, ErrorCode::SystemError);
        }
        let origin = Origin {
            session: connection.session,
            generation: connection.generation,
            sequence: connection.sequence + 1,
        };
        let command = self.encode(connection, opcode, body, origin);
        if command.len() > self.config.request_bytes_max + COMMAND_OVERHEAD_MAX {
            self.stats.oversized += 1;
            return self.refuse(connection, xid, opcode, ErrorCode::BadArguments);
        }
        let received_us = self.now.mono_us;
        let bytes = u32::try_from(command.len()).unwrap_or(u32::MAX);
        let (sequence, audit) = (origin.sequence, audit.map(Box::new));
        let slot = Slot::Write { xid, operation: opcode, sequence, received_us, bytes, ephemerals, audit };
        self.submit(connection, (opcode, xid), origin, command, slot);
    }

    /// The ephemeral nodes that a write creates if every member applies it, or the limit that it would break behind
    /// those under way.
    fn judge_cost(
        &self,
        connection: &Connection,
        request: &Request<'_>,
        tree: &Tree,
    ) -> Result<Ephemerals, Excess> {
        let mut cost = tree.cost(request, connection.identities.identities(), self.config.policy);
        let (mut created, mut session) = (Ephemerals::default(), None);
        if cost.ephemerals > 0 {
            let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            created = Ephemerals { nodes: small(cost.ephemerals), bytes: small(cost.ephemeral_bytes) };
            cost.ephemerals += connection.ephemerals_under_way.nodes as usize;
            cost.ephemeral_bytes += connection.ephemerals_under_way.bytes as usize;
            session = tree.session(connection.session);
        }
        cost.excess(&self.config.cost, session).map_or(Ok(created), Err)
    }

    /// Refuses a write before it reaches the log. Every client knows these codes and none tries again.
    fn too_costly(&mut self, connection: &mut Connection, xid: i32, opcode: OpCode, excess: Excess) {
        self.stats.refused_costly += 1;
        let (session, ip) = (connection.session, connection.peer.ip);
        self.events.push(FrontEvent::WriteTooCostly { session, ip, excess });
        let error = match excess {
            Excess::AclEntries(..) | Excess::AuthAgain(..) => ErrorCode::InvalidAcl,
            _ => ErrorCode::BadArguments,
        };
        self.refuse(connection, xid, opcode, error);
    }

    fn encode(&self, connection: &Connection, opcode: OpCode, body: &[u8], origin: Origin) -> Vec<u8> {
        let identities = connection.identities.identities();
        let operation = match opcode {
            OpCode::CloseSession => Operation::CloseSession { session: connection.session },
            _ => Operation::Client { opcode, body },
        };
        let command = Command { origin: Some(origin), policy: self.config.policy, identities, operation };
        let mut encoded = Vec::with_capacity(body.len() + 96);
        command.encode(&mut encoded);
        encoded
    }

    fn submit(
        &mut self,
        connection: &mut Connection,
        (operation, xid): (OpCode, i32),
        origin: Origin,
        command: Vec<u8>,
        slot: Slot,
    ) {
        connection.sequence = origin.sequence;
        if operation == OpCode::CloseSession {
            connection.stage = Stage::Ending;
        }
        self.enqueue(connection, slot);
        self.to_core.push(ToCore::Command {
            conn: connection.id,
            session: origin.session,
            generation: origin.generation,
            sequence: origin.sequence,
            xid,
            opcode: operation,
            command,
        });
    }
}

/// How many bytes of a write cost as much as one unit of work: of one that has many parts, each is looked at.
const fn bytes_per_work(opcode: OpCode) -> usize {
    match opcode {
        OpCode::Multi | OpCode::SetAcl => PART_BYTES_PER_WORK,
        _ => BYTES_PER_WORK,
    }
}

/// Whether the first field of a write is a null path.
fn has_null_path(opcode: OpCode, body: &[u8]) -> bool {
    !matches!(opcode, OpCode::Reconfig | OpCode::CloseSession) && body.first_chunk() == Some(&[255; 4])
}

/// Appends the body that answers a write; gives the header's error, or why there is nothing to answer.
pub(crate) fn answer(opcode: OpCode, outcome: &Outcome, out: &mut Vec<u8>) -> Result<ErrorCode, CloseReason> {
    let mut writer = Writer::new(out);
    match outcome {
        Outcome::Created { path, stat } => {
            writer.text(path);
            if opcode != OpCode::Create {
                stat.write(&mut writer);
            }
        }
        Outcome::DataSet { stat } | Outcome::AclSet { stat } => stat.write(&mut writer),
        Outcome::Reconfigured { text, stat } => {
            writer.buffer(Some(text.as_bytes()));
            stat.write(&mut writer);
        }
        Outcome::Multi(results) => multi_results(results, &mut writer),
        Outcome::Deleted | Outcome::Reaped | Outcome::SessionClosed | Outcome::SessionExpired => {}
        // A session that is gone already is closed, which is what the client wants.
        _ if opcode == OpCode::CloseSession => {}
        Outcome::Refused(ErrorCode::SessionMoved) | Outcome::Rejected(ErrorCode::SessionMoved) => {
            return Err(CloseReason::SessionMoved);
        }
        Outcome::Refused(error) | Outcome::Rejected(error) => return Ok(*error),
        _ => return Err(CloseReason::OutOfStep),
    }
    Ok(ErrorCode::Ok)
}

fn multi_results(results: &[SubOutcome], writer: &mut Writer<'_>) {
    let head = |opcode: OpCode| MultiHeader { operation: opcode.code(), done: false, err: 0 };
    for result in results {
        match result {
            SubOutcome::Created { path } => {
                head(OpCode::Create).write(writer);
                writer.text(path);
            }
            SubOutcome::Created2 { path, stat } => {
                head(OpCode::Create2).write(writer);
                writer.text(path);
                stat.write(writer);
            }
            SubOutcome::Deleted => head(OpCode::Delete).write(writer),
            SubOutcome::DataSet { stat } => {
                head(OpCode::SetData).write(writer);
                stat.write(writer);
            }
            SubOutcome::Checked => head(OpCode::Check).write(writer),
            SubOutcome::Failed(error) => {
                MultiHeader { operation: -1, done: false, err: error.code() }.write(writer);
                writer.i32(error.code());
            }
        }
    }
    MultiHeader::END.write(writer);
}
