//! Every operation of the protocol, as methods of [`Client`].

use council_client_core::operation::{self, Identity};
use council_client_core::{
    Acl, CreateMode, Multi, MultiRead, MultiReadResult, MultiResult, Stat, WatchMode, WatcherType,
};
use council_wire::Reconfig;

use crate::Client;
use crate::event::Watcher;
use crate::pending::Pending;

impl Client {
    /// Creates a node with an ACL that is open to everyone; returns its path.
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
        self.perform(operation::create_path(self.chroot(), path, data, acl, mode), None)
    }

    /// Creates a node; its path and its Stat.
    pub fn create_with_stat(
        &self,
        path: &str,
        data: Option<&[u8]>,
        acl: &[Acl],
        mode: CreateMode,
    ) -> Pending<(String, Stat)> {
        self.perform(operation::create(self.chroot(), path, data, acl, mode), None)
    }

    /// Deletes a node of this version (-1 for any) that has no children.
    pub fn delete(&self, path: &str, version: i32) -> Pending<()> {
        self.perform(operation::delete(self.chroot(), path, version), None)
    }

    /// A node's Stat, or `None` when there is no such node.
    pub fn exists(&self, path: &str) -> Pending<Option<Stat>> {
        self.perform(operation::exists(self.chroot(), path, false), None)
    }

    /// As [`Self::exists`]; `watcher` gets the node's creation, deletion or next change of data.
    pub fn watch_exists(&self, path: &str, watcher: &Watcher) -> Pending<Option<Stat>> {
        self.perform(operation::exists(self.chroot(), path, true), Some(watcher))
    }

    /// A node's data and Stat. Null data (`None`) is not empty data.
    pub fn data(&self, path: &str) -> Pending<(Option<Vec<u8>>, Stat)> {
        self.perform(operation::data(self.chroot(), path, false), None)
    }

    /// As [`Self::data`]; `watcher` gets the next change of data, or the deletion.
    pub fn watch_data(&self, path: &str, watcher: &Watcher) -> Pending<(Option<Vec<u8>>, Stat)> {
        self.perform(operation::data(self.chroot(), path, true), Some(watcher))
    }

    /// Replaces the data of a node of this version (-1 for any); its new Stat.
    pub fn set_data(&self, path: &str, data: impl AsRef<[u8]>, version: i32) -> Pending<Stat> {
        self.set_data_or_null(path, Some(data.as_ref()), version)
    }

    /// As [`Self::set_data`], for data that may be null.
    pub fn set_data_or_null(&self, path: &str, data: Option<&[u8]>, version: i32) -> Pending<Stat> {
        self.perform(operation::set_data(self.chroot(), path, data, version), None)
    }

    /// The names of a node's children, in no order.
    pub fn children(&self, path: &str) -> Pending<Vec<String>> {
        self.perform(operation::children(self.chroot(), path, false), None)
    }

    /// As [`Self::children`]; `watcher` gets the next creation or deletion of a child, or the node's deletion.
    pub fn watch_children(&self, path: &str, watcher: &Watcher) -> Pending<Vec<String>> {
        self.perform(operation::children(self.chroot(), path, true), Some(watcher))
    }

    /// The names of a node's children, in no order, and its Stat.
    pub fn children_and_stat(&self, path: &str) -> Pending<(Vec<String>, Stat)> {
        self.perform(operation::children_and_stat(self.chroot(), path, false), None)
    }

    /// As [`Self::children_and_stat`] and [`Self::watch_children`].
    pub fn watch_children_and_stat(&self, path: &str, watcher: &Watcher) -> Pending<(Vec<String>, Stat)> {
        self.perform(operation::children_and_stat(self.chroot(), path, true), Some(watcher))
    }

    /// How many nodes there are below a node.
    pub fn all_children_number(&self, path: &str) -> Pending<i32> {
        self.perform(operation::all_children_number(self.chroot(), path), None)
    }

    /// The paths of this session's own ephemeral nodes that begin with `prefix`.
    pub fn ephemerals(&self, prefix: &str) -> Pending<Vec<String>> {
        self.perform(operation::ephemerals(self.chroot(), prefix), None)
    }

    /// A node's ACL and Stat.
    pub fn acl(&self, path: &str) -> Pending<(Vec<Acl>, Stat)> {
        self.perform(operation::acl(self.chroot(), path), None)
    }

    /// Replaces the ACL of a node of this ACL version (-1 for any); its new Stat.
    pub fn set_acl(&self, path: &str, acl: &[Acl], version: i32) -> Pending<Stat> {
        self.perform(operation::set_acl(self.chroot(), path, acl, version), None)
    }

    /// Waits until this server has seen what the leader had committed.
    pub fn sync(&self, path: &str) -> Pending<()> {
        self.perform(operation::sync(self.chroot(), path), None)
    }

    /// The identities of this connection.
    pub fn who_am_i(&self) -> Pending<Vec<Identity>> {
        self.perform(Ok(operation::who_am_i()), None)
    }

    /// The ensemble's membership: the data and Stat of `/zookeeper/config`, also if this client has a chroot.
    pub fn config(&self, watcher: Option<&Watcher>) -> Pending<(Option<Vec<u8>>, Stat)> {
        self.perform(Ok(operation::config(watcher.is_some())), watcher)
    }

    /// Changes the ensemble's membership; the new one. `config_id` -1 follows the current one, whatever its id.
    pub fn reconfig(
        &self,
        joining: Option<&str>,
        leaving: Option<&str>,
        members: Option<&str>,
        config_id: i64,
    ) -> Pending<(Option<Vec<u8>>, Stat)> {
        let change = Reconfig { joining, leaving, members, config_id };
        self.perform(Ok(operation::reconfig(&change)), None)
    }

    /// Does all of it or nothing. When one operation is refused, [`crate::Error::Transaction`] says which.
    pub fn commit(&self, multi: &Multi) -> Pending<Vec<MultiResult>> {
        self.perform(operation::commit(self.chroot(), multi), None)
    }

    /// Reads all of it from one state.
    pub fn read_all(&self, reads: &MultiRead) -> Pending<Vec<MultiReadResult>> {
        self.perform(operation::read_all(self.chroot(), reads), None)
    }

    /// Leaves a watcher that stays until it is removed.
    pub fn add_watch(&self, path: &str, mode: WatchMode, watcher: &Watcher) -> Pending<()> {
        self.perform(operation::add_watch(self.chroot(), path, mode), Some(watcher))
    }

    /// Takes all of this client's watchers of these kinds off a node. They get an event of it.
    pub fn remove_watches(&self, path: &str, kind: WatcherType) -> Pending<()> {
        self.perform(operation::remove_watches(self.chroot(), path, kind), None)
    }

    /// As [`Self::remove_watches`], but here only: the server is not asked, so it also works without one. The server
    /// may still send events, which are dropped. Refused with [`crate::ErrorCode::NoWatcher`] if there is none.
    pub fn forget_watches(&self, path: &str, kind: WatcherType) -> Pending<()> {
        if let Err(error) = self.chroot().to_server(path) {
            return Pending::done(Err(error));
        }
        self.forget(path, kind)
    }

    /// Whether the server knows a watch of these kinds that this client has left at a node.
    pub fn check_watches(&self, path: &str, kind: WatcherType) -> Pending<()> {
        self.perform(operation::check_watches(self.chroot(), path, kind), None)
    }
}
