//! Writes whose path is null: no client library sends one, but what ZooKeeper answers is fixed, and it takes a zxid.

use alloc::vec::Vec;

use council_wire::{ErrorCode, OpCode, Request};

use crate::write::{Context, CreateMode, owner_of};

/// Why a write that did not decode is refused, if a null path is all that is wrong with it; `None` when it is not the
/// operation's record at all.
///
/// ZooKeeper fails where it first uses the path: creates are asked for their mode and their time to live before that,
/// and setData and setACL call the path a bad one.
pub(crate) fn refusal(opcode: OpCode, body: &[u8], context: &Context<'_>) -> Option<ErrorCode> {
    let rest = body.strip_prefix(&[255; 4])?;
    let with_empty_path: Vec<u8> = [&[0; 4], rest].concat();
    let request = Request::decode(opcode, &with_empty_path).ok()?;
    let create = |flags, ttl_ms| {
        let checked = CreateMode::from_flags(flags)
            .ok_or(ErrorCode::BadArguments)
            .and_then(|mode| owner_of(opcode, mode, ttl_ms, context));
        checked.err().unwrap_or(ErrorCode::MarshallingError)
    };
    match request {
        Request::Create(request) => Some(create(request.flags, -1)),
        Request::CreateTtl(request, ttl_ms) => Some(create(request.flags, ttl_ms)),
        Request::Delete { .. } | Request::DeleteContainer { .. } => Some(ErrorCode::MarshallingError),
        Request::SetData { .. } | Request::SetAcl { .. } => Some(ErrorCode::BadArguments),
        _ => None,
    }
}
