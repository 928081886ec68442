//! Every operation of the protocol: what it sends, which watches it changes, and what its reply means. An operation knows
//! nothing of the session that carries it.

use council_wire::{Acl, ErrorCode, OpCode, Reader, Reconfig, Stat, WatchMode, WatcherType, Zxid};

use crate::Error;
use crate::decode::{self, Decode};
use crate::encode::{self, CreateMode, body};
use crate::error::refusal;
use crate::multi::{self, Multi, MultiRead, MultiReadResult, MultiResult};
use crate::path::Chroot;
use crate::watch::Table;

/// One identity of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its scheme.
    pub scheme: String,
    /// The identity, in the scheme's form.
    pub user: String,
}

/// The data of a node, null (`None`) kept apart from empty, and its Stat.
pub type DataAndStat = (Option<Vec<u8>>, Stat);

/// An operation whose reply is an `R`.
#[must_use = "nothing happens until it is submitted"]
#[derive(Debug)]
pub struct Operation<R> {
    opcode: OpCode,
    body: Vec<u8>,
    change: Change,
    /// The path as the server knows it, of an operation that changes watches.
    full: String,
    reading: Reading<R>,
}

/// What a successful reply does to the watches of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    Set(Table),
    /// A watch on data, or on the creation of a node that is not there.
    SetExists,
    Remove(WatcherType),
}

/// The half of an operation that is sent; see [`Operation::into_parts`].
#[derive(Debug)]
pub struct Asked<W> {
    pub(crate) opcode: OpCode,
    pub(crate) body: Vec<u8>,
    pub(crate) change: WatchChange<W>,
}

/// What a reply does to the watches, and the watcher that they belong to.
#[derive(Debug)]
pub(crate) enum WatchChange<W> {
    None,
    Set(Table, String, W),
    SetExists(String, W),
    Remove(WatcherType, String),
}

/// The half of an operation that reads its reply; see [`Operation::into_parts`].
#[derive(Debug)]
pub struct Reading<R> {
    path: String,
    /// What it means that the node is not there, if that is no error.
    absent: Option<fn() -> R>,
    decode: Decode<R>,
}

/// What a reply holds: the error code and the zxid of its header, and its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered<'a> {
    /// 0, or an error code.
    pub err: i32,
    /// The last transaction that the reply reflects.
    pub zxid: Zxid,
    /// What stands behind the header.
    pub body: &'a [u8],
}

/// A reply, or why there is none.
pub type Answer<'a> = Result<Answered<'a>, Error>;

impl<R> Operation<R> {
    fn new(opcode: OpCode, path: &str, body: Vec<u8>, decode: Decode<R>) -> Self {
        let reading = Reading { path: String::from(path), absent: None, decode };
        Self { opcode, body, change: Change::None, full: String::new(), reading }
    }

    fn changing(mut self, change: Change, full: String) -> Self {
        (self.change, self.full) = (change, full);
        self
    }

    /// The same operation with another way to read its reply.
    pub(crate) fn read_as<S>(self, decode: Decode<S>, absent: Option<fn() -> S>) -> Operation<S> {
        let reading = Reading { path: self.reading.path, absent, decode };
        Operation { opcode: self.opcode, body: self.body, change: self.change, full: self.full, reading }
    }

    /// What is sent, and what reads the reply. An operation that leaves a watch leaves it for `watcher`.
    pub fn into_parts<W>(self, watcher: Option<W>) -> (Asked<W>, Reading<R>) {
        let change = match (self.change, watcher) {
            (Change::Set(table), Some(watcher)) => WatchChange::Set(table, self.full, watcher),
            (Change::SetExists, Some(watcher)) => WatchChange::SetExists(self.full, watcher),
            (Change::Remove(kind), _) => WatchChange::Remove(kind, self.full),
            _ => WatchChange::None,
        };
        (Asked { opcode: self.opcode, body: self.body, change }, self.reading)
    }
}

impl<R> Reading<R> {
    /// What the reply means.
    ///
    /// # Errors
    /// When the server refused, when there is no reply, and when the reply is not that of the operation.
    pub fn result(self, answer: Answer<'_>, chroot: &Chroot) -> Result<R, Error> {
        match (answer?, self.absent) {
            (Answered { err: 0, body, .. }, _) => (self.decode)(&mut Reader::new(body), chroot),
            (Answered { err, .. }, Some(absent)) if err == ErrorCode::NoNode.code() => Ok(absent()),
            (Answered { err, .. }, _) => Err(refusal(err, &self.path)),
        }
    }
}

/// create, create2, createContainer, createTTL; the path and the Stat of the node. `null` data is not empty data.
///
/// # Errors
/// When the path is not one.
pub fn create(
    chroot: &Chroot,
    path: &str,
    data: Option<&[u8]>,
    acl: &[Acl],
    mode: CreateMode,
) -> Result<Operation<(String, Stat)>, Error> {
    let opcode = match mode {
        CreateMode::Container => OpCode::CreateContainer,
        CreateMode::Ttl(_) | CreateMode::TtlSequential(_) => OpCode::CreateTtl,
        _ => OpCode::Create2,
    };
    creation(chroot, opcode, path, data, acl, mode, decode::path_and_stat)
}

/// As [`create`], but of the reply only the path is read, and where the protocol has an operation that answers no Stat,
/// that one is used.
///
/// # Errors
/// When the path is not one.
pub fn create_path(
    chroot: &Chroot,
    path: &str,
    data: Option<&[u8]>,
    acl: &[Acl],
    mode: CreateMode,
) -> Result<Operation<String>, Error> {
    // Containers and TTL nodes have operations of their own, which answer a Stat too, behind the path.
    let opcode = match mode {
        CreateMode::Container => OpCode::CreateContainer,
        CreateMode::Ttl(_) | CreateMode::TtlSequential(_) => OpCode::CreateTtl,
        _ => OpCode::Create,
    };
    creation(chroot, opcode, path, data, acl, mode, decode::path)
}

fn creation<R>(
    chroot: &Chroot,
    opcode: OpCode,
    path: &str,
    data: Option<&[u8]>,
    acl: &[Acl],
    mode: CreateMode,
    decode: Decode<R>,
) -> Result<Operation<R>, Error> {
    let full = if mode.is_sequential() { chroot.to_server_prefix(path) } else { chroot.to_server(path) }?;
    let bytes = body(|writer| encode::create(writer, &full, data, acl, mode));
    Ok(Operation::new(opcode, path, bytes, decode))
}

/// Deletes a node of this version (-1 for any).
///
/// # Errors
/// When the path is not one.
pub fn delete(chroot: &Chroot, path: &str, version: i32) -> Result<Operation<()>, Error> {
    let full = chroot.to_server(path)?;
    Ok(Operation::new(OpCode::Delete, path, encode::path_and_number(&full, version), decode::nothing))
}

/// The Stat of a node, if there is one.
///
/// # Errors
/// When the path is not one.
pub fn exists(chroot: &Chroot, path: &str, watch: bool) -> Result<Operation<Option<Stat>>, Error> {
    let full = chroot.to_server(path)?;
    let operation = Operation::new(OpCode::Exists, path, encode::read(&full, watch), decode::stat);
    let operation = operation.read_as(|reader, chroot| decode::stat(reader, chroot).map(Some), Some(|| None));
    Ok(if watch { operation.changing(Change::SetExists, full) } else { operation })
}

/// Data and Stat of a node.
///
/// # Errors
/// When the path is not one.
pub fn data(chroot: &Chroot, path: &str, watch: bool) -> Result<Operation<DataAndStat>, Error> {
    read(chroot, OpCode::GetData, path, watch.then_some(Table::Data), decode::data)
}

/// The ensemble's membership: the data and Stat of `/zookeeper/config`, also if the client has a chroot.
pub fn config(watch: bool) -> Operation<DataAndStat> {
    let path = "/zookeeper/config";
    let operation = Operation::new(OpCode::GetData, path, encode::read(path, watch), decode::data);
    if watch { operation.changing(Change::Set(Table::Data), String::from(path)) } else { operation }
}

/// Replaces the data of a node of this version (-1 for any); its new Stat.
///
/// # Errors
/// When the path is not one.
pub fn set_data(
    chroot: &Chroot,
    path: &str,
    data: Option<&[u8]>,
    version: i32,
) -> Result<Operation<Stat>, Error> {
    on_path(chroot, OpCode::SetData, path, decode::stat, |full| {
        body(|writer| {
            writer.text(full).buffer(data).i32(version);
        })
    })
}

/// The names of a node's children.
///
/// # Errors
/// When the path is not one.
pub fn children(chroot: &Chroot, path: &str, watch: bool) -> Result<Operation<Vec<String>>, Error> {
    read(chroot, OpCode::GetChildren, path, watch.then_some(Table::Child), decode::names)
}

/// The names of a node's children, and its Stat.
///
/// # Errors
/// When the path is not one.
pub fn children_and_stat(
    chroot: &Chroot,
    path: &str,
    watch: bool,
) -> Result<Operation<(Vec<String>, Stat)>, Error> {
    read(chroot, OpCode::GetChildren2, path, watch.then_some(Table::Child), decode::names_and_stat)
}

/// How many nodes there are below a node.
///
/// # Errors
/// When the path is not one.
pub fn all_children_number(chroot: &Chroot, path: &str) -> Result<Operation<i32>, Error> {
    on_path(chroot, OpCode::GetAllChildrenNumber, path, decode::number, path_alone)
}

/// The paths of the session's own ephemeral nodes that begin with `prefix`.
///
/// # Errors
/// When the prefix is not a path.
pub fn ephemerals(chroot: &Chroot, prefix: &str) -> Result<Operation<Vec<String>>, Error> {
    on_path(chroot, OpCode::GetEphemerals, prefix, decode::paths, path_alone)
}

/// A node's ACL and Stat.
///
/// # Errors
/// When the path is not one.
pub fn acl(chroot: &Chroot, path: &str) -> Result<Operation<(Vec<Acl>, Stat)>, Error> {
    on_path(chroot, OpCode::GetAcl, path, decode::acl, path_alone)
}

/// Replaces the ACL of a node of this ACL version (-1 for any); its new Stat.
///
/// # Errors
/// When the path is not one.
pub fn set_acl(chroot: &Chroot, path: &str, acl: &[Acl], version: i32) -> Result<Operation<Stat>, Error> {
    on_path(chroot, OpCode::SetAcl, path, decode::stat, |full| {
        body(|writer| {
            writer.text(full);
            Acl::write_all(acl, writer);
            writer.i32(version);
        })
    })
}

/// Waits until the server has seen what the leader had committed.
///
/// # Errors
/// When the path is not one.
pub fn sync(chroot: &Chroot, path: &str) -> Result<Operation<()>, Error> {
    on_path(chroot, OpCode::Sync, path, decode::nothing, path_alone)
}

/// The identities of the connection.
pub fn who_am_i() -> Operation<Vec<Identity>> {
    Operation::new(OpCode::WhoAmI, "", Vec::new(), decode::identities)
}

/// Changes the ensemble's membership; the new one.
pub fn reconfig(change: &Reconfig<'_>) -> Operation<DataAndStat> {
    Operation::new(OpCode::Reconfig, "", body(|writer| change.write(writer)), decode::data)
}

/// Leaves a watch that stays until it is removed.
///
/// # Errors
/// When the path is not one.
pub fn add_watch(chroot: &Chroot, path: &str, mode: WatchMode) -> Result<Operation<()>, Error> {
    let full = chroot.to_server(path)?;
    let bytes = encode::path_and_number(&full, mode.code());
    let operation = Operation::new(OpCode::AddWatch, path, bytes, decode::nothing);
    Ok(operation.changing(Change::Set(mode.into()), full))
}

/// Takes all of the session's watchers of these kinds off a node. They are told.
///
/// # Errors
/// When the path is not one.
pub fn remove_watches(chroot: &Chroot, path: &str, kind: WatcherType) -> Result<Operation<()>, Error> {
    let full = chroot.to_server(path)?;
    let bytes = encode::path_and_number(&full, kind.code());
    let operation = Operation::new(OpCode::RemoveWatches, path, bytes, decode::nothing);
    Ok(operation.changing(Change::Remove(kind), full))
}

/// Whether the server knows a watch of these kinds that the session has left at a node.
///
/// # Errors
/// When the path is not one.
pub fn check_watches(chroot: &Chroot, path: &str, kind: WatcherType) -> Result<Operation<()>, Error> {
    on_path(chroot, OpCode::CheckWatches, path, decode::nothing, |full| {
        encode::path_and_number(full, kind.code())
    })
}

/// Does all of it or nothing.
///
/// # Errors
/// When a path is not one.
pub fn commit(chroot: &Chroot, multi: &Multi) -> Result<Operation<Vec<MultiResult>>, Error> {
    let bytes = multi::encode_all(&multi.operations, chroot)?;
    Ok(Operation::new(OpCode::Multi, "", bytes, multi::transaction))
}

/// Reads all of it from one state.
///
/// # Errors
/// When a path is not one.
pub fn read_all(chroot: &Chroot, reads: &MultiRead) -> Result<Operation<Vec<MultiReadResult>>, Error> {
    let bytes = multi::encode_all(&reads.operations, chroot)?;
    Ok(Operation::new(OpCode::MultiRead, "", bytes, multi::read_results))
}

fn path_alone(full: &str) -> Vec<u8> {
    body(|writer| {
        writer.text(full);
    })
}

fn on_path<R>(
    chroot: &Chroot,
    opcode: OpCode,
    path: &str,
    decode: Decode<R>,
    body: impl FnOnce(&str) -> Vec<u8>,
) -> Result<Operation<R>, Error> {
    let full = chroot.to_server(path)?;
    Ok(Operation::new(opcode, path, body(&full), decode))
}

fn read<R>(
    chroot: &Chroot,
    opcode: OpCode,
    path: &str,
    watch: Option<Table>,
    decode: Decode<R>,
) -> Result<Operation<R>, Error> {
    let full = chroot.to_server(path)?;
    let operation = Operation::new(opcode, path, encode::read(&full, watch.is_some()), decode);
    Ok(match watch {
        Some(table) => operation.changing(Change::Set(table), full),
        None => operation,
    })
}
