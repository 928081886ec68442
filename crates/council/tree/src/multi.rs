//! multi: several writes at one zxid, all or none.

use alloc::vec::Vec;

use council_wire::{Create, ErrorCode, MultiKind, MultiOperation, MultiRequest, OpCode};

use crate::write::{Context, CreateMode};
use crate::{Changes, SubOutcome, Tree};

impl Tree {
    /// Runs a multi. An error concerns the whole request; a failed operation is reported in the results.
    pub(crate) fn multi(
        &mut self,
        multi: &MultiRequest<'_>,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Result<Vec<SubOutcome>, ErrorCode> {
        if multi.kind == MultiKind::Read || multi.operations.iter().any(is_malformed) {
            return Err(ErrorCode::MarshallingError);
        }
        let told = changes.len();
        let mut results = Vec::with_capacity(multi.operations.len());
        self.begin_undoable();
        for operation in &multi.operations {
            match self.step(operation, context, changes) {
                Ok(result) => results.push(result),
                Err(code) => {
                    self.take_back();
                    changes.truncate(told);
                    // What ZooKeeper trips over in one operation is the whole multi's error there.
                    if code == ErrorCode::MarshallingError {
                        return Err(code);
                    }
                    return Ok(failure(multi.operations.len(), results.len(), code));
                }
            }
        }
        self.keep_changes();
        Ok(results)
    }

    fn step(
        &mut self,
        operation: &MultiOperation<'_>,
        context: &Context<'_>,
        changes: &mut Changes,
    ) -> Result<SubOutcome, ErrorCode> {
        match *operation {
            MultiOperation::Create(opcode, ref create, ttl_ms) => {
                let (opcode, ttl_ms) = effective(opcode, create, ttl_ms);
                let (path, stat) = self.create(opcode, create, ttl_ms, context, changes)?;
                Ok(if opcode == OpCode::Create {
                    SubOutcome::Created { path }
                } else {
                    SubOutcome::Created2 { path, stat }
                })
            }
            MultiOperation::Delete { path, version } => {
                self.delete(path, version, context, changes)?;
                Ok(SubOutcome::Deleted)
            }
            MultiOperation::SetData { path, data, version } => {
                Ok(SubOutcome::DataSet { stat: self.set_data(path, data, version, context, changes)? })
            }
            MultiOperation::Check { path, version } => {
                self.check(path, version, context)?;
                Ok(SubOutcome::Checked)
            }
            MultiOperation::GetData { .. } | MultiOperation::GetChildren { .. } => {
                Err(ErrorCode::MarshallingError)
            }
        }
    }
}

/// ZooKeeper decodes a create's options with the whole multi: unknown flags, a TTL mode without a TTL and a null ACL
/// make the whole multi undecodable. createTTL is the exception.
fn is_malformed(operation: &MultiOperation<'_>) -> bool {
    match operation {
        MultiOperation::Create(opcode, create, _) if *opcode != OpCode::CreateTtl => {
            create.acl.is_null() || CreateMode::from_flags(create.flags).is_none_or(|mode| mode.ttl)
        }
        _ => false,
    }
}

/// Whether a multi that is malformed takes a zxid. It does, but where ZooKeeper stumbles over a null ACL before it has
/// found anything else wrong.
pub(crate) fn takes_zxid(body: &[u8]) -> bool {
    for operation in MultiRequest::readable(body) {
        let MultiOperation::Create(opcode, create, _) = operation else { continue };
        match CreateMode::from_flags(create.flags) {
            _ if opcode == OpCode::CreateTtl => {}
            None => return true,
            Some(_) if create.acl.is_null() => return false,
            Some(mode) if mode.ttl => return true,
            Some(_) => {}
        }
    }
    true
}

/// What a create within a multi becomes in ZooKeeper: the container flag makes a container of every opcode, and a
/// createTTL without a TTL flag is a plain create.
fn effective(opcode: OpCode, create: &Create<'_>, ttl_ms: i64) -> (OpCode, i64) {
    match CreateMode::from_flags(create.flags) {
        Some(mode) if mode.container => (OpCode::CreateContainer, -1),
        Some(mode) if opcode == OpCode::CreateTtl && !mode.ttl => (OpCode::Create, -1),
        _ => (opcode, ttl_ms),
    }
}

fn failure(operations: usize, done: usize, code: ErrorCode) -> Vec<SubOutcome> {
    (0..operations)
        .map(|place| {
            SubOutcome::Failed(match place.cmp(&done) {
                core::cmp::Ordering::Less => ErrorCode::Ok,
                core::cmp::Ordering::Equal => code,
                core::cmp::Ordering::Greater => ErrorCode::RuntimeInconsistency,
            })
        })
        .collect()
}
