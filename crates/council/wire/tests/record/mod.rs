//! Writes decoded records back, field by field, as a client or a server does.

use council_wire::{
    AclList, Create, Malformed, MultiHeader, MultiOperation, OpCode, PathList, Reader, Request, SetWatches,
    Stat, Writer,
};

/// The body of a request.
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
pub(crate) fn request(request: &Request<'_>, out: &mut Writer<'_>) {
    match request {
        Request::Create(create) => write_create(create, out),
        Request::CreateTtl(create, ttl) => {
            write_create(create, out);
            out.i64(*ttl);
        }
        Request::SetData { path, data, version } => {
            out.text(path).buffer(*data).i32(*version);
        }
        Request::SetAcl { path, acl, version } => {
            out.text(path);
            write_acl(acl, out);
            out.i32(*version);
        }
        Request::Delete { path, version: number }
        | Request::Check { path, version: number }
        | Request::CheckWatches { path, watcher: number }
        | Request::RemoveWatches { path, watcher: number }
        | Request::AddWatch { path, mode: number } => {
            out.text(path).i32(*number);
        }
        Request::Exists { path, watch }
        | Request::GetData { path, watch }
        | Request::GetChildren { path, watch }
        | Request::GetChildren2 { path, watch } => {
            out.text(path).bool(*watch);
        }
        Request::GetAcl { path }
        | Request::Sync { path }
        | Request::DeleteContainer { path }
        | Request::GetAllChildrenNumber { path } => {
            out.text(path);
        }
        Request::GetEphemerals { prefix } => {
            out.text(prefix);
        }
        Request::Multi(multi) | Request::MultiRead(multi) => {
            multi.operations.iter().for_each(|operation| write_operation(operation, out));
            MultiHeader { operation: -1, done: true, err: -1 }.write(out);
        }
        Request::Reconfig(reconfig) => {
            out.string(reconfig.joining)
                .string(reconfig.leaving)
                .string(reconfig.members)
                .i64(reconfig.config_id);
        }
        Request::Auth { scheme, auth } => {
            out.i32(0).string(*scheme).buffer(*auth);
        }
        Request::SetWatches(watches) => write_watches(watches, &[], out),
        Request::SetWatches2(watches) => {
            write_watches(watches, &[watches.persistent, watches.persistent_recursive], out);
        }
        Request::Sasl { token } => {
            out.buffer(*token);
        }
        Request::Ping | Request::WhoAmI | Request::CloseSession => {}
    }
}

/// The body of a reply without an error: read, and written again.
pub(crate) fn reply(operation: OpCode, from: &mut Reader<'_>, out: &mut Writer<'_>) -> Result<(), Malformed> {
    match operation {
        OpCode::Create | OpCode::Sync => {
            out.text(from.text()?);
        }
        OpCode::Create2 | OpCode::CreateContainer | OpCode::CreateTtl => {
            out.text(from.text()?);
            Stat::read(from)?.write(out);
        }
        OpCode::Exists | OpCode::SetData | OpCode::SetAcl => Stat::read(from)?.write(out),
        OpCode::GetData => {
            out.buffer(from.buffer()?);
            Stat::read(from)?.write(out);
        }
        OpCode::GetAcl => {
            write_acl(&AclList::read(from)?, out);
            Stat::read(from)?.write(out);
        }
        OpCode::GetChildren | OpCode::GetEphemerals => texts(from, out)?,
        OpCode::GetChildren2 => {
            texts(from, out)?;
            Stat::read(from)?.write(out);
        }
        OpCode::Multi | OpCode::MultiRead => results(from, out)?,
        OpCode::AddWatch | OpCode::GetAllChildrenNumber => {
            out.i32(from.i32()?);
        }
        OpCode::WhoAmI => {
            let count = from.count()?;
            out.length(count);
            for _ in 0..2 * count {
                out.text(from.text()?);
            }
        }
        OpCode::Sasl => {
            out.buffer(from.buffer()?);
        }
        _ => {}
    }
    Ok(())
}

fn results(from: &mut Reader<'_>, out: &mut Writer<'_>) -> Result<(), Malformed> {
    loop {
        let header = MultiHeader::read(from)?;
        header.write(out);
        if header.done {
            return Ok(());
        }
        match OpCode::from_code(header.operation) {
            Some(operation @ (OpCode::Delete | OpCode::Check)) => assert_eq!(header.err, 0, "{operation:?}"),
            Some(operation) => reply(operation, from, out)?,
            None => {
                out.i32(from.i32()?);
            }
        }
    }
}

fn texts(from: &mut Reader<'_>, out: &mut Writer<'_>) -> Result<(), Malformed> {
    let count = from.count()?;
    let all: Result<Vec<&str>, Malformed> = (0..count).map(|_| from.text()).collect();
    out.texts(all?.into_iter());
    Ok(())
}

fn write_create(create: &Create<'_>, out: &mut Writer<'_>) {
    out.text(create.path).buffer(create.data);
    write_acl(&create.acl, out);
    out.i32(create.flags);
}

fn write_acl(acl: &AclList<'_>, out: &mut Writer<'_>) {
    out.length(acl.len());
    for entry in acl.iter() {
        out.i32(entry.permissions).string(entry.scheme).string(entry.id);
    }
}

fn write_operation(operation: &MultiOperation<'_>, out: &mut Writer<'_>) {
    MultiHeader { operation: operation.opcode().code(), done: false, err: -1 }.write(out);
    match operation {
        MultiOperation::Create(opcode, create, ttl) => {
            write_create(create, out);
            if *opcode == OpCode::CreateTtl {
                out.i64(*ttl);
            }
        }
        MultiOperation::Delete { path, version } | MultiOperation::Check { path, version } => {
            out.text(path).i32(*version);
        }
        MultiOperation::SetData { path, data, version } => {
            out.text(path).buffer(*data).i32(*version);
        }
        MultiOperation::GetData { path, watch } | MultiOperation::GetChildren { path, watch } => {
            out.string(*path).bool(*watch);
        }
    }
}

fn write_watches(watches: &SetWatches<'_>, further: &[PathList<'_>], out: &mut Writer<'_>) {
    out.i64(watches.relative_zxid);
    for list in [watches.data, watches.exist, watches.child].iter().chain(further) {
        out.length(list.len());
        list.iter().for_each(|path| {
            out.string(path);
        });
    }
}
