//! Reads: one pure function from a tree and a request to a reply.
//!
//! A shard calls it for a read that waits for nothing and encodes straight into the connection's output; the core
//! calls it for a read that waits behind a write, right after that write. Knows no connection and no queue.

use council_tree::{Counted, NodeRef, Session, Tree, mask_digests};
use council_wire::{
    Acl, ErrorCode, FRAME_HEADER, Malformed, MultiHeader, MultiKind, MultiOperation, MultiRequest, OpCode,
    ReplyHeader, Request, Writer, end_frame, permission, start_frame,
};

use crate::asker::Asker;
use crate::cost::{BEHIND_WRITE_BYTES, DATA_OVERHEAD, Meter, Over, TURN_WORK};
use crate::judge::Judge;
use crate::message::{Evaluated, WatchKind};
use crate::namespace_stats::STAT_BYTES;

/// Bytes of a reply's header; the last four are the error.
const REPLY_HEADER: usize = 16;

/// What a read leaves behind besides its reply.
pub(crate) trait ReadEffects {
    /// A watch was asked for, and is to be left.
    fn watch(&mut self, path: &str, kind: WatchKind);
    /// So many bytes of a node were read.
    fn read(&mut self, path: &str, bytes: u64);
}

/// A trail that is kept for later.
#[derive(Default)]
struct Deferred {
    watches: Vec<(Box<str>, WatchKind)>,
    reads: Vec<(Box<str>, u64)>,
}

impl ReadEffects for Deferred {
    fn watch(&mut self, path: &str, kind: WatchKind) {
        self.watches.push((path.into(), kind));
    }

    fn read(&mut self, path: &str, bytes: u64) {
        self.reads.push((path.into(), bytes));
    }
}

/// Reads `body`, a request of `opcode` that has been found to decode. A reply of more than 256 KiB is
/// [`ErrorCode::ThrottledOp`] instead: reads that take as much are not given to the core.
#[must_use]
pub fn evaluate(tree: &Tree, opcode: OpCode, xid: i32, body: &[u8], asker: Asker<'_>) -> Evaluated {
    let mut frame = Vec::new();
    let mut kept = Deferred::default();
    let error = match decode(opcode, body) {
        Ok(request) => {
            let mut meter = Meter::new(&frame, BEHIND_WRITE_BYTES, TURN_WORK);
            answer(tree, &request, xid, asker, &mut meter, &mut frame, &mut kept).unwrap_or_else(|Over| {
                kept = Deferred::default();
                fail(tree, xid, ErrorCode::ThrottledOp, &mut frame)
            })
        }
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
    let Deferred { watches, reads } = kept;
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
///
/// # Errors
/// The answer takes more than the meter allows; nothing is appended then.
#[inline]
pub(crate) fn answer(
    tree: &Tree,
    request: &Request<'_>,
    xid: i32,
    asker: Asker<'_>,
    meter: &mut Meter,
    out: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
) -> Result<ErrorCode, Over> {
    let start = start_frame(out);
    ReplyHeader { xid, zxid: tree.last_zxid().0, err: 0 }.write(&mut Writer::new(out));
    let result = match request {
        Request::MultiRead(multi) => multi_read(tree, multi, &Judge::new(asker, true), meter, out, trail),
        _ => {
            let judge = Judge::new(asker, false);
            let done = body(tree, request, &judge, meter, out, trail);
            // It is known by now, so it is paid for and never refused.
            meter.charge(judge.new_work());
            done.map(|()| ErrorCode::Ok)
        }
    };
    match result {
        Ok(error) => {
            if error != ErrorCode::Ok {
                set_error(out, start, error);
            }
            end_frame(out, start);
            Ok(error)
        }
        Err(Halt::Error(error)) => {
            out.truncate(start);
            Ok(fail(tree, xid, error, out))
        }
        Err(Halt::Over) => {
            out.truncate(start);
            Err(Over)
        }
    }
}

/// Why an answer ends before its end.
enum Halt {
    /// It is this error.
    Error(ErrorCode),
    /// It takes more than it may.
    Over,
}

impl From<ErrorCode> for Halt {
    fn from(error: ErrorCode) -> Self {
        Self::Error(error)
    }
}

impl From<Over> for Halt {
    fn from(_: Over) -> Self {
        Self::Over
    }
}

/// Puts an error into the header of the frame that begins at `start`; its body does not matter.
#[cold]
pub(crate) fn set_error(out: &mut [u8], start: usize, error: ErrorCode) {
    let end = start + FRAME_HEADER + REPLY_HEADER;
    if let Some(place) = out.get_mut(end - 4..end) {
        place.copy_from_slice(&error.code().to_be_bytes());
    }
}

pub(crate) fn fail(tree: &Tree, xid: i32, error: ErrorCode, out: &mut Vec<u8>) -> ErrorCode {
    let start = start_frame(out);
    ReplyHeader { xid, zxid: tree.last_zxid().0, err: error.code() }.write(&mut Writer::new(out));
    end_frame(out, start);
    error
}

fn body(
    tree: &Tree,
    request: &Request<'_>,
    judge: &Judge<'_>,
    meter: &mut Meter,
    out: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
) -> Result<(), Halt> {
    match request {
        Request::GetData { path, watch: wanted } => {
            get_data(tree, path, judge, meter, out, trail)?;
            leave(*wanted, path, WatchKind::Data, trail);
        }
        Request::Exists { path, watch: wanted } => {
            let found = exists(tree, path, judge, out, trail);
            if matches!(found, Ok(()) | Err(ErrorCode::NoNode)) {
                leave(*wanted, path, WatchKind::Data, trail);
            }
            found?;
        }
        Request::GetChildren { path, watch: wanted } => {
            get_children(tree, path, judge, meter, out, trail)?;
            leave(*wanted, path, WatchKind::Child, trail);
        }
        Request::GetChildren2 { path, watch: wanted } => {
            let node = get_children(tree, path, judge, meter, out, trail)?;
            node.stat().write(&mut Writer::new(out));
            leave(*wanted, path, WatchKind::Child, trail);
        }
        Request::GetAcl { path } => get_acl(tree, path, judge, meter, out)?,
        Request::GetEphemerals { prefix } => get_ephemerals(tree, prefix, judge, meter, out)?,
        Request::GetAllChildrenNumber { path } => {
            judge.readable(tree, path)?;
            let number = all_children_number(tree, path, meter)?;
            Writer::new(out).i32(i32::try_from(number).unwrap_or(i32::MAX));
        }
        Request::Sync { path } => {
            Writer::new(out).text(path);
        }
        _ => return Err(ErrorCode::Unimplemented.into()),
    }
    Ok(())
}

#[inline]
fn leave(wanted: bool, path: &str, kind: WatchKind, trail: &mut impl ReadEffects) {
    if wanted {
        trail.watch(path, kind);
    }
}

#[inline]
fn get_data(
    tree: &Tree,
    path: &str,
    judge: &Judge<'_>,
    meter: &mut Meter,
    out: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
) -> Result<(), Halt> {
    let node = judge.readable(tree, path)?;
    meter.fits(out, DATA_OVERHEAD + node.data().map_or(0, <[u8]>::len))?;
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
    judge: &Judge<'_>,
    out: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
) -> Result<(), ErrorCode> {
    if path.contains('\0') {
        return Err(ErrorCode::BadArguments);
    }
    judge.readable(tree, path)?.stat().write(&mut Writer::new(out));
    trail.read(path, STAT_BYTES);
    Ok(())
}

fn get_children<'t>(
    tree: &'t Tree,
    path: &str,
    judge: &Judge<'_>,
    meter: &mut Meter,
    out: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
) -> Result<NodeRef<'t>, Halt> {
    let node = judge.readable(tree, path)?;
    let number = node.num_children();
    meter.spend(number)?;
    let start = out.len();
    Writer::new(out).i32(i32::try_from(number).unwrap_or(i32::MAX));
    for name in node.children() {
        meter.fits(out, DATA_OVERHEAD + name.len())?;
        Writer::new(out).text(name);
    }
    // Names without their length fields, nor that of the list.
    trail.read(path, (out.len() - start - 4 * (1 + number)) as u64 + STAT_BYTES);
    Ok(node)
}

fn all_children_number(tree: &Tree, path: &str, meter: &mut Meter) -> Result<usize, Halt> {
    if matches!(path, "/" | "") {
        return Ok(tree.all_children_number(path).ok_or(ErrorCode::NoNode)?);
    }
    let mut work = meter.work();
    match tree.descend(path).ok_or(ErrorCode::NoNode)?.go_on(tree, &mut work) {
        Counted::All(number) => {
            meter.spend(meter.work() - work)?;
            Ok(number)
        }
        Counted::More => Err(Halt::Over),
        Counted::Gone | Counted::Replaced => Err(ErrorCode::NoNode.into()),
    }
}

/// The list was part of a request once, and is not much longer here.
fn get_acl(
    tree: &Tree,
    path: &str,
    judge: &Judge<'_>,
    meter: &mut Meter,
    out: &mut Vec<u8>,
) -> Result<(), Halt> {
    let node = tree.node(path).ok_or(ErrorCode::NoNode)?;
    judge.may(&node, permission::READ | permission::ADMIN)?;
    meter.spend(node.acl().len())?;
    let length = |entry: &Acl| entry.scheme.len() + entry.id.len() + 12;
    meter.fits(out, DATA_OVERHEAD + node.acl().iter().map(length).sum::<usize>())?;
    let mut writer = Writer::new(out);
    match judge.may(&node, permission::ADMIN) {
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
    judge: &Judge<'_>,
    meter: &mut Meter,
    out: &mut Vec<u8>,
    trail: &mut impl ReadEffects,
) -> Result<ErrorCode, Halt> {
    if multi.kind == MultiKind::Transaction {
        return Err(ErrorCode::MarshallingError.into());
    }
    let mut broken_off = ErrorCode::Ok;
    meter.spend(multi.operations.len())?;
    for operation in &multi.operations {
        let (MultiOperation::GetData { path, .. } | MultiOperation::GetChildren { path, .. }) = operation
        else {
            return Err(ErrorCode::MarshallingError.into());
        };
        let Some(path) = path else {
            broken_off = ErrorCode::MarshallingError;
            break;
        };
        let start = out.len();
        MultiHeader { operation: operation.opcode().code(), done: false, err: 0 }
            .write(&mut Writer::new(out));
        let result = match operation {
            MultiOperation::GetData { .. } => get_data(tree, path, judge, meter, out, trail),
            _ => get_children(tree, path, judge, meter, out, trail).map(|_| ()),
        };
        meter.spend(judge.new_work())?;
        match result {
            Ok(()) => {}
            Err(Halt::Error(error)) => {
                out.truncate(start);
                put_failed(error, out);
            }
            Err(Halt::Over) => return Err(Halt::Over),
        }
    }
    MultiHeader::END.write(&mut Writer::new(out));
    Ok(broken_off)
}

/// The result of one operation of a multiRead that failed.
pub(crate) fn put_failed(error: ErrorCode, out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    MultiHeader { operation: -1, done: false, err: error.code() }.write(&mut writer);
    writer.i32(error.code());
}

fn get_ephemerals(
    tree: &Tree,
    prefix: &str,
    judge: &Judge<'_>,
    meter: &mut Meter,
    out: &mut Vec<u8>,
) -> Result<(), Halt> {
    let own = tree.session(judge.session).map_or(0, Session::ephemeral_count);
    // Each is looked up, sorted and copied.
    meter.spend(own.saturating_mul(4))?;
    let at = out.len();
    Writer::new(out).i32(0);
    let mut count = 0_u32;
    for path in tree.ephemerals_of(judge.session).filter(|path| has_prefix(path, prefix)) {
        meter.fits(out, DATA_OVERHEAD + path.len())?;
        Writer::new(out).text(&path);
        count += 1;
    }
    set_count(out, at, count);
    Ok(())
}

/// Whether getEphemerals with this prefix means that path.
pub(crate) fn has_prefix(path: &str, prefix: &str) -> bool {
    let trimmed = prefix.trim_matches(|character: char| character <= ' ');
    trimmed.is_empty() || trimmed == "/" || path.starts_with(prefix)
}

/// Fills in the length of the list that begins at `at`.
pub(crate) fn set_count(out: &mut [u8], at: usize, count: u32) {
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&count.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_of_own_nodes_is_looked_for_at_the_beginning_of_their_paths() {
        assert!(has_prefix("/a/b", "/a") && has_prefix("/ab", "/a") && has_prefix("/a", "/a"));
        assert!(!has_prefix("/b/a", "/a") && !has_prefix("/a", "/a/"));
        assert!(["", "/", " ", " / "].iter().all(|all| has_prefix("/b/a", all)));
    }
}
