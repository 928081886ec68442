//! Every operation of the protocol, as methods of [`Client`].

use council_wire::{Acl, ErrorCode, Malformed, OpCode, Reader, Reconfig, Stat, WatchMode, WatcherType};

use crate::decode::{self, Decode};
use crate::encode::{self, CreateMode, body};
use crate::event::{Event, Watcher};
use crate::pending::{Pending, pending};
use crate::session::{Answer, Context, Submission, refusal};
use crate::watch::Table;
use crate::{Client, Error};

/// One identity of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its scheme.
    pub scheme: String,
    /// Whom it names.
    pub user: String,
}

/// A watcher that is to be left where a read succeeds.
type Leave = Option<(Table, Watcher)>;

impl Client {
    /// Creates a node that everybody may do everything with; its path.
    pub fn create(&self, path: &str, data: impl AsRef<[u8]>, mode: CreateMode) -> Pending<String> {
        self.create_with(path, Some(data.as_ref()), &[Acl::open()], mode)
    }

    /// Creates a node; its path. Null data (`None`) is not empty data.
    pub fn create_with(
        &self,
        path: &str,
        data: Option<&[u8]>,
        acl: &[Acl],
        mode: CreateMode,
    ) -> Pending<String> {
        // Containers and TTL nodes have operations of their own, which answer a Stat too.
        match mode {
            CreateMode::Container | CreateMode::Ttl(_) | CreateMode::TtlSequential(_) => {
                self.make(path, data, acl, mode, opcode_of(mode), |reader, chroot| {
                    decode::path_and_stat(reader, chroot).map(|(path, _)| path)
                })
            }
            _ => self.make(path, data, acl, mode, OpCode::Create, decode::path),
        }
    }

    /// Creates a node; its path and its Stat.
    pub fn create_with_stat(
        &self,
        path: &str,
        data: Option<&[u8]>,
        acl: &[Acl],
        mode: CreateMode,
    ) -> Pending<(String, Stat)> {
        self.make(path, data, acl, mode, opcode_of(mode), decode::path_and_stat)
    }

    fn make<T: Send + 'static>(
        &self,
        path: &str,
        data: Option<&[u8]>,
        acl: &[Acl],
        mode: CreateMode,
        opcode: OpCode,
        decode: Decode<T>,
    ) -> Pending<T> {
        let chroot = self.chroot();
        let full = if mode.is_sequential() { chroot.to_server_prefix(path) } else { chroot.to_server(path) };
        match full {
            Ok(full) => {
                let bytes = body(|writer| encode::create(writer, &full, data, acl, mode));
                self.ask(opcode, path, bytes, decode)
            }
            Err(error) => Pending::done(Err(error)),
        }
    }

    /// Deletes a node of this version (-1 for any) that has no children.
    pub fn delete(&self, path: &str, version: i32) -> Pending<()> {
        self.on_path(OpCode::Delete, path, decode::nothing, |full| encode::path_and_number(full, version))
    }

    /// A node's Stat, or `None` when there is no such node.
    pub fn exists(&self, path: &str) -> Pending<Option<Stat>> {
        self.exists_and_leave(path, None)
    }

    /// As [`Self::exists`]; `watcher` hears of the node's creation, deletion or next change of data.
    pub fn watch_exists(&self, path: &str, watcher: &Watcher) -> Pending<Option<Stat>> {
        self.exists_and_leave(path, Some(watcher.clone()))
    }

    fn exists_and_leave(&self, path: &str, watcher: Option<Watcher>) -> Pending<Option<Stat>> {
        let full = match self.chroot().to_server(path) {
            Ok(full) => full,
            Err(error) => return Pending::done(Err(error)),
        };
        let (completer, pending) = pending();
        let path = String::from(path);
        let bytes = encode::read(&full, watcher.is_some());
        let sink = move |answer: Answer<'_>, context: &mut Context| {
            let missing = matches!(answer, Ok((err, _)) if err == ErrorCode::NoNode.code());
            let result =
                if missing { Ok(None) } else { read(answer, &path, context, decode::stat).map(Some) };
            if let (Ok(found), Some(watcher)) = (&result, watcher) {
                let table = if found.is_some() { Table::Data } else { Table::Exist };
                context.watches.add(table, &full, &watcher);
            }
            completer.complete(result);
        };
        self.submit(Submission { opcode: OpCode::Exists, body: bytes, sink: Box::new(sink) });
        pending
    }

    /// A node's data and Stat. Null data (`None`) is not empty data.
    pub fn data(&self, path: &str) -> Pending<(Option<Vec<u8>>, Stat)> {
        self.read(OpCode::GetData, path, None, decode::data)
    }

    /// As [`Self::data`]; `watcher` hears of the next change of data, or the deletion.
    pub fn watch_data(&self, path: &str, watcher: &Watcher) -> Pending<(Option<Vec<u8>>, Stat)> {
        self.read(OpCode::GetData, path, Some((Table::Data, watcher.clone())), decode::data)
    }

    /// Replaces the data of a node of this version (-1 for any); its new Stat.
    pub fn set_data(&self, path: &str, data: impl AsRef<[u8]>, version: i32) -> Pending<Stat> {
        self.set_data_or_null(path, Some(data.as_ref()), version)
    }

    /// As [`Self::set_data`], for data that may be null.
    pub fn set_data_or_null(&self, path: &str, data: Option<&[u8]>, version: i32) -> Pending<Stat> {
        self.on_path(OpCode::SetData, path, decode::stat, |full| {
            body(|writer| {
                writer.text(full).buffer(data).i32(version);
            })
        })
    }

    /// The names of a node's children, in no order.
    pub fn children(&self, path: &str) -> Pending<Vec<String>> {
        self.read(OpCode::GetChildren, path, None, decode::names)
    }

    /// As [`Self::children`]; `watcher` hears of the next child that comes or goes, or of the node's deletion.
    pub fn watch_children(&self, path: &str, watcher: &Watcher) -> Pending<Vec<String>> {
        self.read(OpCode::GetChildren, path, Some((Table::Child, watcher.clone())), decode::names)
    }

    /// The names of a node's children, in no order, and its Stat.
    pub fn children_and_stat(&self, path: &str) -> Pending<(Vec<String>, Stat)> {
        self.read(OpCode::GetChildren2, path, None, decode::names_and_stat)
    }

    /// As [`Self::children_and_stat`] and [`Self::watch_children`].
    pub fn watch_children_and_stat(&self, path: &str, watcher: &Watcher) -> Pending<(Vec<String>, Stat)> {
        self.read(OpCode::GetChildren2, path, Some((Table::Child, watcher.clone())), decode::names_and_stat)
    }

    /// How many nodes there are below a node.
    pub fn all_children_number(&self, path: &str) -> Pending<i32> {
        self.on_path(OpCode::GetAllChildrenNumber, path, decode::number, |full| {
            body(|writer| {
                writer.text(full);
            })
        })
    }

    /// The paths of this session's own ephemeral nodes that begin with `prefix`.
    pub fn ephemerals(&self, prefix: &str) -> Pending<Vec<String>> {
        self.on_path(OpCode::GetEphemerals, prefix, decode::paths, |full| {
            body(|writer| {
                writer.text(full);
            })
        })
    }

    /// A node's ACL and Stat.
    pub fn acl(&self, path: &str) -> Pending<(Vec<Acl>, Stat)> {
        self.on_path(OpCode::GetAcl, path, decode::acl, |full| {
            body(|writer| {
                writer.text(full);
            })
        })
    }

    /// Replaces the ACL of a node of this ACL version (-1 for any); its new Stat.
    pub fn set_acl(&self, path: &str, acl: &[Acl], version: i32) -> Pending<Stat> {
        self.on_path(OpCode::SetAcl, path, decode::stat, |full| {
            body(|writer| {
                writer.text(full);
                Acl::write_all(acl, writer);
                writer.i32(version);
            })
        })
    }

    /// Waits until this server has seen what the leader had committed.
    pub fn sync(&self, path: &str) -> Pending<()> {
        self.on_path(OpCode::Sync, path, decode::nothing, |full| {
            body(|writer| {
                writer.text(full);
            })
        })
    }

    /// The identities of this connection.
    pub fn who_am_i(&self) -> Pending<Vec<Identity>> {
        self.ask(OpCode::WhoAmI, "", Vec::new(), decode::identities)
    }

    /// The ensemble's membership: the data and Stat of `/zookeeper/config`, whatever this client's root.
    pub fn config(&self, watcher: Option<&Watcher>) -> Pending<(Option<Vec<u8>>, Stat)> {
        let path = "/zookeeper/config";
        let leave = watcher.map(|watcher| (Table::Data, watcher.clone()));
        self.read_at(OpCode::GetData, path, String::from(path), leave, decode::data)
    }

    /// Changes the ensemble's membership; the new one. `config_id` -1 follows whichever is current.
    pub fn reconfig(
        &self,
        joining: Option<&str>,
        leaving: Option<&str>,
        members: Option<&str>,
        config_id: i64,
    ) -> Pending<(Option<Vec<u8>>, Stat)> {
        let change = Reconfig { joining, leaving, members, config_id };
        let bytes = body(|writer| change.write(writer));
        self.ask(OpCode::Reconfig, "", bytes, decode::data)
    }

    /// Leaves a watcher that stays until it is removed.
    pub fn add_watch(&self, path: &str, mode: WatchMode, watcher: &Watcher) -> Pending<()> {
        let leave = Some((mode.into(), watcher.clone()));
        match self.chroot().to_server(path) {
            Ok(full) => {
                let bytes = encode::path_and_number(&full, mode.code());
                self.ask_and_leave(OpCode::AddWatch, path, full, bytes, leave, decode::nothing)
            }
            Err(error) => Pending::done(Err(error)),
        }
    }

    /// Takes all of this client's watchers of these kinds off a node. They hear of it.
    pub fn remove_watches(&self, path: &str, kind: WatcherType) -> Pending<()> {
        let full = match self.chroot().to_server(path) {
            Ok(full) => full,
            Err(error) => return Pending::done(Err(error)),
        };
        let (completer, pending) = pending();
        let user = String::from(path);
        let bytes = encode::path_and_number(&full, kind.code());
        let sink = move |answer: Answer<'_>, context: &mut Context| {
            let result = read(answer, &user, context, decode::nothing);
            if result.is_ok() {
                forget(context, kind, &full, &user);
            }
            completer.complete(result);
        };
        self.submit(Submission { opcode: OpCode::RemoveWatches, body: bytes, sink: Box::new(sink) });
        pending
    }

    /// As [`Self::remove_watches`], but here only: the server is not asked, so it also works without one. The server
    /// may still send events, which nobody hears.
    pub fn forget_watches(&self, path: &str, kind: WatcherType) -> Pending<()> {
        let full = match self.chroot().to_server(path) {
            Ok(full) => full,
            Err(error) => return Pending::done(Err(error)),
        };
        let (completer, pending) = pending();
        let user = String::from(path);
        self.local(move |context| {
            let there = context.watches.has(kind, &full);
            forget(context, kind, &full, &user);
            completer.complete(if there { Ok(()) } else { Err(refusal(ErrorCode::NoWatcher.code(), &user)) });
        });
        pending
    }

    /// Whether the server knows a watch of these kinds that this client has left at a node.
    pub fn check_watches(&self, path: &str, kind: WatcherType) -> Pending<()> {
        let bytes = |full: &str| encode::path_and_number(full, kind.code());
        self.on_path(OpCode::CheckWatches, path, decode::nothing, bytes)
    }

    fn on_path<T: Send + 'static>(
        &self,
        opcode: OpCode,
        path: &str,
        decode: Decode<T>,
        body: impl FnOnce(&str) -> Vec<u8>,
    ) -> Pending<T> {
        match self.chroot().to_server(path) {
            Ok(full) => self.ask(opcode, path, body(&full), decode),
            Err(error) => Pending::done(Err(error)),
        }
    }

    fn read<T: Send + 'static>(
        &self,
        opcode: OpCode,
        path: &str,
        leave: Leave,
        decode: Decode<T>,
    ) -> Pending<T> {
        match self.chroot().to_server(path) {
            Ok(full) => self.read_at(opcode, path, full, leave, decode),
            Err(error) => Pending::done(Err(error)),
        }
    }

    fn read_at<T: Send + 'static>(
        &self,
        opcode: OpCode,
        path: &str,
        full: String,
        leave: Leave,
        decode: Decode<T>,
    ) -> Pending<T> {
        let bytes = encode::read(&full, leave.is_some());
        self.ask_and_leave(opcode, path, full, bytes, leave, decode)
    }

    pub(crate) fn ask<T: Send + 'static>(
        &self,
        opcode: OpCode,
        path: &str,
        body: Vec<u8>,
        decode: Decode<T>,
    ) -> Pending<T> {
        self.ask_and_leave(opcode, path, String::new(), body, None, decode)
    }

    fn ask_and_leave<T: Send + 'static>(
        &self,
        opcode: OpCode,
        path: &str,
        full: String,
        body: Vec<u8>,
        leave: Leave,
        decode: Decode<T>,
    ) -> Pending<T> {
        let (completer, pending) = pending();
        let path = String::from(path);
        let sink = move |answer: Answer<'_>, context: &mut Context| {
            let result = read(answer, &path, context, decode);
            if let (Ok(_), Some((table, watcher))) = (&result, leave) {
                context.watches.add(table, &full, &watcher);
            }
            completer.complete(result);
        };
        self.submit(Submission { opcode, body, sink: Box::new(sink) });
        pending
    }
}

/// An answer as its operation's result.
fn read<T>(answer: Answer<'_>, path: &str, context: &Context, decode: Decode<T>) -> Result<T, Error> {
    match answer? {
        (0, body) => {
            decode(&mut Reader::new(body), &context.chroot).map_err(|Malformed(what)| Malformed(what).into())
        }
        (err, _) => Err(refusal(err, path)),
    }
}

/// Takes watchers off and tells them.
fn forget(context: &mut Context, kind: WatcherType, full: &str, path: &str) {
    for (kind, watcher) in context.watches.remove(kind, full) {
        let path = Some(String::from(path));
        watcher.tell(&Event { kind, state: council_wire::KeeperState::SyncConnected, path, zxid: -1 });
    }
}

const fn opcode_of(mode: CreateMode) -> OpCode {
    match mode {
        CreateMode::Container => OpCode::CreateContainer,
        CreateMode::Ttl(_) | CreateMode::TtlSequential(_) => OpCode::CreateTtl,
        _ => OpCode::Create2,
    }
}
