//! Reads: one pure function from a tree and a request to a reply.
//!
//! A shard calls it for a read that waits for nothing and encodes straight into the connection's output; the core
//! calls it for a read that waits behind a write, right after that write. Knows no connection and no queue.

use jute::{
    Acl, ErrorCode, FRAME_HEADER, Malformed, MultiHeader, MultiKind, MultiOperation, MultiRequest, OpCode,
    ReplyHeader, Request, SessionId, Writer, Zxid, end_frame, permission, start_frame,
};
use tree::{Identities, NodeRef, Policy, Tree, mask_digests, permits};

use crate::namespaces::STAT_BYTES;
use crate::watch::Modes;

/// Who reads.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Its session, for the ephemeral nodes that are its own.
    pub session: SessionId,
    /// Its identities when it sent the request.
    pub identities: Identities<'a>,
    /// Whether permissions are looked at.
    pub policy: Policy,
}

impl Asker<'_> {
    fn may(&self, node: &NodeRef<'_>, required: i32) -> Result<(), ErrorCode> {
        if permits(node.acl(), required, self.identities, self.policy) {
            Ok(())
        } else {
            Err(ErrorCode::NoAuth)
        }
    }
}

/// Bytes of a reply's header; the last four are the error.
const REPLY_HEADER: usize = 16;

/// Which one-shot watch a read leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKind {
    /// On the node's data and existence.
    Data,
    /// On its children.
    Child,
}

impl WatchKind {
    pub(crate) const fn modes(self) -> Modes {
        match self {
            Self::Data => Modes::DATA,
            Self::Child => Modes::CHILD,
        }
    }
}

/// What a read leaves behind besides its reply.
pub(crate) trait Trail {
    /// A watch was asked for, and is to be left.
    fn watch(&mut self, path: &str, kind: WatchKind);
    /// So many bytes of a node were read.
    fn read(&mut self, path: &str, bytes: u64);
}

/// A trail that is kept for later.
#[derive(Default)]
struct Kept {
    watches: Vec<(Box<str>, WatchKind)>,
    reads: Vec<(Box<str>, u64)>,
}

impl Trail for Kept {
    fn watch(&mut self, path: &str, kind: WatchKind) {
        self.watches.push((path.into(), kind));
    }

    fn read(&mut self, path: &str, bytes: u64) {
        self.reads.push((path.into(), bytes));
    }
}

/// A read's reply, to be put in its place later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// The state that it shows.
    pub zxid: Zxid,
    /// What the reply's header says.
    pub error: ErrorCode,
    /// The whole frame.
    pub frame: Vec<u8>,
    /// Watches to leave when the reply is put in its place.
    pub watches: Vec<(Box<str>, WatchKind)>,
    /// Nodes read, and how many bytes of each.
    pub reads: Vec<(Box<str>, u64)>,
}

/// Reads `body`, a request of `opcode` that has been found to decode.
#[must_use]
pub fn evaluate(tree: &Tree, opcode: OpCode, xid: i32, body: &[u8], asker: Asker<'_>) -> Evaluated {
    let mut frame = Vec::new();
    let mut kept = Kept::default();
    let error = match decode(opcode, body) {
        Ok(request) => answer(tree, &request, xid, asker, &mut frame, &mut kept),
        // ZooKeeper echoes a null path as it is.
        Err(_) if opcode == OpCode::Sync && is_null(body) => {
            let start = start_frame(&mut frame);
            let mut writer = Writer::new(&mut frame);
            ReplyHeader { xid, zxid: tree.last_zxid().0, err: 0 }.write(&mut writer);
            writer.string(None);
            end_frame(&mut frame, start);
            ErrorCode::Ok
        }
        Err(_) => fail(tree, xid, ErrorCode::MarshallingError, &mut frame),
    };
    let Kept { watches, reads } = kept;
    Evaluated { zxid: tree.last_zxid(), error, frame, watches, reads }
}

/// Whether the first field is a null string.
pub(crate) fn is_null(body: &[u8]) -> bool {
    body.first_chunk() == Some(&[255; 4])
}

/// Decodes a read. A null prefix of getEphemerals means all of them, as to ZooKeeper.
pub(crate) fn decode(opcode: OpCode, body: &[u8]) -> Result<Request<'_>, Malformed> {
    match Request::decode(opcode, body) {
        Err(_) if opcode == OpCode::GetEphemerals && is_null(body) => {
            Ok(Request::GetEphemerals { prefix: "" })
        }
        decoded => decoded,
    }
}

/// Appends the reply's frame to `out` and leaves its trail; gives the header's error.
#[inline]
pub(crate) fn answer(
    tree: &Tree,
    request: &Request<'_>,
    xid: i32,
    asker: Asker<'_>,
    out: &mut Vec<u8>,
    trail: &mut impl Trail,
) -> ErrorCode {
    let start = start_frame(out);
    ReplyHeader { xid, zxid: tree.last_zxid().0, err: 0 }.write(&mut Writer::new(out));
    let result = match request {
        Request::MultiRead(multi) => multi_read(tree, multi, asker, out, trail),
        _ => body(tree, request, asker, out, trail).map(|()| ErrorCode::Ok),
    };
    match result {
        Ok(error) => {
            if error != ErrorCode::Ok {
                set_error(out, start, error);
            }
            end_frame(out, start);
            error
        }
        Err(error) => {
            out.truncate(start);
            fail(tree, xid, error, out)
        }
    }
}

/// Puts an error into the header of the frame that begins at `start`, whatever its body says.
#[cold]
fn set_error(out: &mut [u8], start: usize, error: ErrorCode) {
    let end = start + FRAME_HEADER + REPLY_HEADER;
    if let Some(place) = out.get_mut(end - 4..end) {
        place.copy_from_slice(&error.code().to_be_bytes());
    }
}

fn fail(tree: &Tree, xid: i32, error: ErrorCode, out: &mut Vec<u8>) -> ErrorCode {
    let start = start_frame(out);
    ReplyHeader { xid, zxid: tree.last_zxid().0, err: error.code() }.write(&mut Writer::new(out));
    end_frame(out, start);
    error
}

fn body(
    tree: &Tree,
    request: &Request<'_>,
    asker: Asker<'_>,
    out: &mut Vec<u8>,
    trail: &mut impl Trail,
) -> Result<(), ErrorCode> {
    match request {
        Request::GetData { path, watch: wanted } => {
            get_data(tree, path, asker, out, trail)?;
            leave(*wanted, path, WatchKind::Data, trail);
        }
        Request::Exists { path, watch: wanted } => {
            let found = exists(tree, path, asker, out, trail);
            if matches!(found, Ok(()) | Err(ErrorCode::NoNode)) {
                leave(*wanted, path, WatchKind::Data, trail);
            }
            found?;
        }
        Request::GetChildren { path, watch: wanted } => {
            get_children(tree, path, asker, out, trail)?;
            leave(*wanted, path, WatchKind::Child, trail);
        }
        Request::GetChildren2 { path, watch: wanted } => {
            let node = get_children(tree, path, asker, out, trail)?;
            node.stat().write(&mut Writer::new(out));
            leave(*wanted, path, WatchKind::Child, trail);
        }
        Request::GetAcl { path } => get_acl(tree, path, asker, out)?,
        Request::GetEphemerals { prefix } => get_ephemerals(tree, prefix, asker, out),
        Request::GetAllChildrenNumber { path } => {
            readable(tree, path, asker)?;
            let number = tree.all_children_number(path).ok_or(ErrorCode::NoNode)?;
            Writer::new(out).i32(i32::try_from(number).unwrap_or(i32::MAX));
        }
        Request::Sync { path } => {
            Writer::new(out).text(path);
        }
        _ => return Err(ErrorCode::Unimplemented),
    }
    Ok(())
}

#[inline]
fn leave(wanted: bool, path: &str, kind: WatchKind, trail: &mut impl Trail) {
    if wanted {
        trail.watch(path, kind);
    }
}

#[inline]
fn readable<'t>(tree: &'t Tree, path: &str, asker: Asker<'_>) -> Result<NodeRef<'t>, ErrorCode> {
    let node = tree.node(path).ok_or(ErrorCode::NoNode)?;
    asker.may(&node, permission::READ)?;
    Ok(node)
}

#[inline]
fn get_data(
    tree: &Tree,
    path: &str,
    asker: Asker<'_>,
    out: &mut Vec<u8>,
    trail: &mut impl Trail,
) -> Result<(), ErrorCode> {
    let node = readable(tree, path, asker)?;
    trail.read(path, node.data().map_or(0, <[u8]>::len) as u64 + STAT_BYTES);
    let mut writer = Writer::new(out);
    writer.buffer(node.data());
    node.stat().write(&mut writer);
    Ok(())
}

/// A path with a NUL is refused here and nowhere else among the reads, as ZooKeeper does it.
fn exists(
    tree: &Tree,
    path: &str,
    asker: Asker<'_>,
    out: &mut Vec<u8>,
    trail: &mut impl Trail,
) -> Result<(), ErrorCode> {
    if path.contains('\0') {
        return Err(ErrorCode::BadArguments);
    }
    readable(tree, path, asker)?.stat().write(&mut Writer::new(out));
    trail.read(path, STAT_BYTES);
    Ok(())
}

fn get_children<'t>(
    tree: &'t Tree,
    path: &str,
    asker: Asker<'_>,
    out: &mut Vec<u8>,
    trail: &mut impl Trail,
) -> Result<NodeRef<'t>, ErrorCode> {
    let node = readable(tree, path, asker)?;
    let start = out.len();
    Writer::new(out).texts(node.children());
    // Names without their length fields, nor that of the list.
    let lengths = 4 * (1 + u64::from(node.stat().num_children.unsigned_abs()));
    trail.read(path, (out.len() - start) as u64 - lengths + STAT_BYTES);
    Ok(node)
}

fn get_acl(tree: &Tree, path: &str, asker: Asker<'_>, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
    let node = tree.node(path).ok_or(ErrorCode::NoNode)?;
    asker.may(&node, permission::READ | permission::ADMIN)?;
    let mut writer = Writer::new(out);
    match asker.may(&node, permission::ADMIN) {
        Ok(()) => Acl::write_all(node.acl(), &mut writer),
        Err(_) => Acl::write_all(&mask_digests(node.acl()), &mut writer),
    }
    node.stat().write(&mut writer);
    Ok(())
}

/// Leaves no watches: ZooKeeper forgets that they were asked for when it decodes a multiRead. At a null path it stops,
/// and what it has read by then goes with the error that is given here.
fn multi_read(
    tree: &Tree,
    multi: &MultiRequest<'_>,
    asker: Asker<'_>,
    out: &mut Vec<u8>,
    trail: &mut impl Trail,
) -> Result<ErrorCode, ErrorCode> {
    if multi.kind == MultiKind::Transaction {
        return Err(ErrorCode::MarshallingError);
    }
    let mut broken_off = ErrorCode::Ok;
    for operation in &multi.operations {
        let (MultiOperation::GetData { path, .. } | MultiOperation::GetChildren { path, .. }) = operation
        else {
            return Err(ErrorCode::MarshallingError);
        };
        let Some(path) = path else {
            broken_off = ErrorCode::MarshallingError;
            break;
        };
        let start = out.len();
        MultiHeader { operation: operation.opcode().code(), done: false, err: 0 }
            .write(&mut Writer::new(out));
        let result = match operation {
            MultiOperation::GetData { .. } => get_data(tree, path, asker, out, trail),
            _ => get_children(tree, path, asker, out, trail).map(|_| ()),
        };
        if let Err(error) = result {
            out.truncate(start);
            let mut writer = Writer::new(out);
            MultiHeader { operation: -1, done: false, err: error.code() }.write(&mut writer);
            writer.i32(error.code());
        }
    }
    MultiHeader::END.write(&mut Writer::new(out));
    Ok(broken_off)
}

fn get_ephemerals(tree: &Tree, prefix: &str, asker: Asker<'_>, out: &mut Vec<u8>) {
    let trimmed = prefix.trim_matches(|character: char| character <= ' ');
    let all = trimmed.is_empty() || trimmed == "/";
    let at = out.len();
    let mut writer = Writer::new(out);
    writer.i32(0);
    let mut count = 0_u32;
    for path in tree.ephemerals_of(asker.session).filter(|path| all || path.starts_with(prefix)) {
        writer.text(&path);
        count += 1;
    }
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&count.to_be_bytes());
    }
}
