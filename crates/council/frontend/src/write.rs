//! Writes: from a request to the command that the core replicates, and from its outcome to the reply.
//!
//! Whether a write is allowed, and what it does, is decided where it is applied; here only its shape is checked.

use std::sync::Arc;

use council_tree::{Command, Excess, Operation, Origin, Outcome, SubOutcome, Tree};
use council_wire::{ErrorCode, MultiHeader, MultiOperation, OpCode, Request, Writer, permission};

use crate::common::Common;
use crate::connection::{Connection, Stage};
use crate::cost::{BYTES_PER_WORK, PART_BYTES_PER_WORK};
use crate::event::{AuditRecord, CloseReason, FrontEvent};
use crate::message::ToCore;
use crate::replies::{Ephemerals, Slot};

/// What a command may have beyond its request's frame: origin, policy and the client's identities. The journal must
/// be able to hold `request_bytes_max` and this.
pub const COMMAND_OVERHEAD_MAX: usize = 32 << 10;

impl Common {
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

/// What the audit log will say of a write once its outcome is known.
#[derive(Debug, Default)]
pub(crate) struct PendingAudit {
    entries: Vec<Entry>,
    multi: bool,
}

#[derive(Debug)]
struct Entry {
    operation: &'static str,
    znode: Option<String>,
    znode_type: Option<&'static str>,
    acl: Option<String>,
}

impl PendingAudit {
    fn of(request: &Request<'_>) -> Self {
        let mut pending = Self::default();
        match request {
            Request::Create(create) => pending.created(create.path, create.flags),
            Request::CreateTtl(create, _) => pending.created(create.path, create.flags),
            Request::Delete { path, .. } => pending.touched("delete", path),
            Request::SetData { path, .. } => pending.touched("setData", path),
            Request::SetAcl { path, acl, .. } => {
                let shown = acl.iter().map(|entry| {
                    let (scheme, id) = (entry.scheme.unwrap_or_default(), entry.id.unwrap_or_default());
                    format!("{scheme}:{id}:{}", permission_letters(entry.permissions))
                });
                let acl = Some(shown.collect::<Vec<_>>().join(","));
                let znode = Some((*path).to_owned());
                pending.entries.push(Entry { operation: "setAcl", znode, znode_type: None, acl });
            }
            Request::Multi(multi) => {
                pending.multi = true;
                multi.operations.iter().for_each(|operation| pending.of_multi(operation));
            }
            Request::Reconfig(_) => pending.entries.push(Entry {
                operation: "reconfig",
                znode: None,
                znode_type: None,
                acl: None,
            }),
            _ => {}
        }
        pending
    }

    fn of_multi(&mut self, operation: &MultiOperation<'_>) {
        match operation {
            MultiOperation::Create(_, create, _) => self.created(create.path, create.flags),
            MultiOperation::Delete { path, .. } => self.touched("delete", path),
            MultiOperation::SetData { path, .. } => self.touched("setData", path),
            MultiOperation::Check { path, .. } => self.touched("", path),
            MultiOperation::GetData { .. } | MultiOperation::GetChildren { .. } => {}
        }
    }

    fn created(&mut self, path: &str, flags: i32) {
        let znode_type = Some(match flags {
            1 => "ephemeral",
            2 => "persistent_sequential",
            3 => "ephemeral_sequential",
            4 => "container",
            5 => "persistent_with_ttl",
            6 => "persistent_sequential_with_ttl",
            _ => "persistent",
        });
        self.entries.push(Entry { operation: "create", znode: Some(path.to_owned()), znode_type, acl: None });
    }

    fn touched(&mut self, operation: &'static str, path: &str) {
        self.entries.push(Entry { operation, znode: Some(path.to_owned()), znode_type: None, acl: None });
    }

    /// Turns into events, now that it is known what happened.
    pub(crate) fn report(self, connection: &Connection, outcome: &Outcome, events: &mut Vec<FrontEvent>) {
        let success = !matches!(outcome, Outcome::Refused(_) | Outcome::Rejected(_) | Outcome::Dropped(_))
            && !outcome.is_failed_multi();
        let user: Arc<str> = connection.users().into();
        let record = |operation, znode, znode_type, acl| AuditRecord {
            session: connection.session,
            user: Arc::clone(&user),
            ip: connection.peer.ip,
            operation,
            znode,
            znode_type,
            acl,
            success,
        };
        if self.multi && !success {
            let failed = record("multiOperation", None, None, None);
            return events.push(FrontEvent::Audit(Box::new(failed)));
        }
        for (at, entry) in
            self.entries.into_iter().enumerate().filter(|(_, entry)| !entry.operation.is_empty())
        {
            let znode = created_path(outcome, at).map(str::to_owned).or(entry.znode);
            let done = record(entry.operation, znode, entry.znode_type, entry.acl);
            events.push(FrontEvent::Audit(Box::new(done)));
        }
    }
}

/// The path that a create ended up with: a sequential one is longer than what was asked for.
fn created_path(outcome: &Outcome, at: usize) -> Option<&str> {
    match outcome {
        Outcome::Created { path, .. } => Some(path),
        Outcome::Multi(results) => match results.get(at)? {
            SubOutcome::Created { path } | SubOutcome::Created2 { path, .. } => Some(path),
            _ => None,
        },
        _ => None,
    }
}

fn permission_letters(permissions: i32) -> String {
    let letters = [
        (permission::CREATE, 'c'),
        (permission::DELETE, 'd'),
        (permission::READ, 'r'),
        (permission::WRITE, 'w'),
        (permission::ADMIN, 'a'),
    ];
    letters.iter().filter(|(bit, _)| permissions & bit != 0).map(|(_, letter)| letter).collect()
}
