//! The replicated state and its smallest moves: linking, indexing, counting. Every write goes through these, so that
//! the digest, the running snapshot and the undoing of a multi see all of them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use core::fmt;

use jute::{Acl, SessionId, Zxid, permission};

use crate::acl::{AclId, AclTable};
use crate::arena::{Arena, NONE, ROOT, Slot};
use crate::births::Births;
use crate::node::{Name, Node, NodeStat, Owner, Value};
use crate::path::{CONFIG, PathHash, QUOTA, ROOT_PATH, ZOOKEEPER};
use crate::reap::ReapIndex;
use crate::snapshot::Snapshot;
use crate::undo::UndoLog;
use crate::{Session, digest, path, quota};

/// Everything replicated: nodes, sessions, ACLs, quotas, the last zxid.
pub struct Tree {
    pub(crate) arena: Arena,
    pub(crate) table: crate::table::Table,
    pub(crate) acls: AclTable,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) births: Births,
    pub(crate) zxid: Zxid,
    pub(crate) feature_level: u32,
    pub(crate) config_version: i64,
    /// The sum of the terms of all nodes and sessions.
    pub(crate) terms: u64,
    pub(crate) data_size: i64,
    pub(crate) ephemeral_count: usize,
    /// The paths that have a quota.
    pub(crate) quotas: BTreeSet<Box<str>>,
    pub(crate) reap: ReapIndex,
    pub(crate) undo: Option<UndoLog>,
    pub(crate) snapshot: Option<Snapshot>,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("zxid", &self.zxid)
            .field("nodes", &self.arena.len())
            .field("sessions", &self.sessions.len())
            .field("digest", &self.digest())
            .finish_non_exhaustive()
    }
}

impl Tree {
    /// A tree as a fresh ZooKeeper has it: `/`, `/zookeeper`, `/zookeeper/quota` and `/zookeeper/config`.
    #[must_use]
    pub fn new() -> Self {
        let mut tree = Self::empty();
        let config_acl = tree.acls.intern([Acl::world(permission::READ)].into());
        tree.add_system_node(ROOT_PATH, AclId::OPEN);
        tree.add_system_node(ZOOKEEPER, AclId::OPEN);
        tree.add_system_node(QUOTA, AclId::OPEN);
        tree.add_system_node(CONFIG, config_acl);
        tree
    }

    /// A tree without even a root.
    pub(crate) fn empty() -> Self {
        Self {
            arena: Arena::new(),
            table: crate::table::Table::new(),
            acls: AclTable::new(),
            sessions: BTreeMap::new(),
            births: Births::default(),
            zxid: Zxid(0),
            feature_level: 0,
            config_version: 0,
            terms: 0,
            data_size: 0,
            ephemeral_count: 0,
            quotas: BTreeSet::new(),
            reap: ReapIndex::default(),
            undo: None,
            snapshot: None,
        }
    }

    /// Built-in nodes come from no transaction: all zero, not even counted as their parents' creations.
    fn add_system_node(&mut self, path: &str, acl: AclId) {
        let aversion = if path == CONFIG { -1 } else { 0 };
        let stat = NodeStat { aversion, acl, ..NodeStat::default() };
        let (parent, name) = match path::split(path) {
            Some((above, name)) if path != ROOT_PATH => {
                let parent = PathHash::of(above).and_then(|hash| self.find(above, hash));
                (parent.expect("system nodes are added from the top"), name)
            }
            _ => (ROOT, ""),
        };
        let slot = self.arena.insert(Node::new(parent, Name::new(name), stat, Value::new(Some(b""))));
        let hash = PathHash::of(path).expect("system nodes have valid paths");
        self.join(slot, hash, path);
        self.terms = self.terms.wrapping_add(self.term(slot, hash));
    }

    /// A number that two trees share exactly when all that is replicated is the same (but for chance).
    #[must_use]
    pub fn digest(&self) -> u64 {
        let rest = digest::of_rest(self.zxid, self.feature_level, self.config_version);
        self.terms.wrapping_add(rest).wrapping_add(self.births.term())
    }

    /// A node's term of the digest.
    pub(crate) fn term(&self, slot: Slot, hash: PathHash) -> u64 {
        let node = self.arena.node(slot);
        digest::of_node(hash, node, self.acls.digest(node.stat.acl))
    }

    /// Keeps what a running snapshot or multi still needs of a node that is about to change or go.
    pub(crate) fn displace(&mut self, slot: Slot) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.keep_node(slot, self.arena.node(slot), &mut self.acls);
        }
        if let Some(undo) = &mut self.undo {
            undo.keep_content(slot, self.arena.node(slot), &mut self.acls);
        }
    }

    /// Changes a node's content (not its place) and the digest with it.
    pub(crate) fn update(&mut self, slot: Slot, hash: PathHash, change: impl FnOnce(&mut Node)) {
        self.displace(slot);
        let before = self.term(slot, hash);
        change(self.arena.node_mut(slot));
        self.terms = self.terms.wrapping_sub(before).wrapping_add(self.term(slot, hash));
    }

    /// Adds a node with its term. The caller has made sure that there is none of that path.
    pub(crate) fn add_node(&mut self, node: Node, hash: PathHash, path: &str) -> Slot {
        let slot = self.arena.insert(node);
        self.join(slot, hash, path);
        self.terms = self.terms.wrapping_add(self.term(slot, hash));
        if let Some(undo) = &mut self.undo {
            undo.keep_creation(slot);
        }
        slot
    }

    /// Removes a childless node with its term.
    pub(crate) fn remove_node(&mut self, slot: Slot, hash: PathHash, path: &str) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.keep_node(slot, self.arena.node(slot), &mut self.acls);
        }
        self.terms = self.terms.wrapping_sub(self.term(slot, hash));
        self.leave(slot, hash, path);
        let node = self.arena.remove(slot);
        match &mut self.undo {
            Some(undo) => undo.keep_removal(slot, node),
            None => self.acls.release(node.stat.acl),
        }
    }

    /// Makes a record that lies in the arena a node of that path.
    pub(crate) fn join(&mut self, slot: Slot, hash: PathHash, path: &str) {
        self.place(slot);
        if slot != ROOT {
            self.table.insert(hash, slot);
        }
        if let Some(limited) = quota::limited_path(path) {
            self.quotas.insert(Box::from(limited));
        }
        self.data_size += self.size_of(slot, path);
    }

    /// Links a record to its siblings and enters it where its owner says.
    pub(crate) fn place(&mut self, slot: Slot) {
        if slot != ROOT {
            self.link(slot);
        }
        self.index(slot);
    }

    /// Undoes [`Self::join`].
    pub(crate) fn leave(&mut self, slot: Slot, hash: PathHash, path: &str) {
        self.data_size -= self.size_of(slot, path);
        if let Some(limited) = quota::limited_path(path) {
            self.quotas.remove(limited);
        }
        self.unindex(slot);
        self.table.remove(hash, slot);
        self.unlink(slot);
    }

    fn size_of(&self, slot: Slot, path: &str) -> i64 {
        path::java_length(path) + self.arena.node(slot).value.len() as i64
    }

    /// Joins a node to its siblings: where its links point, or in front of all when they point nowhere.
    fn link(&mut self, slot: Slot) {
        let node = self.arena.node(slot);
        let (parent, previous) = (node.parent, node.previous);
        let next = if previous == NONE { self.arena.node(parent).first_child } else { node.next };
        self.arena.node_mut(slot).next = next;
        if next != NONE {
            self.arena.node_mut(next).previous = slot;
        }
        if previous != NONE {
            self.arena.node_mut(previous).next = slot;
        }
        let above = self.arena.node_mut(parent);
        if previous == NONE {
            above.first_child = slot;
        }
        above.children += 1;
        if above.children == 1 && above.owner() == Owner::Container {
            self.reap.container_used(parent);
        }
    }

    /// Parts a node from its siblings; its own links keep pointing to them, so that it can be put back.
    fn unlink(&mut self, slot: Slot) {
        let node = self.arena.node(slot);
        let (parent, previous, next) = (node.parent, node.previous, node.next);
        if next != NONE {
            self.arena.node_mut(next).previous = previous;
        }
        if previous != NONE {
            self.arena.node_mut(previous).next = next;
        }
        let above = self.arena.node_mut(parent);
        if previous == NONE {
            above.first_child = next;
        }
        above.children -= 1;
        if above.children == 0 && above.owner() == Owner::Container {
            self.reap.container_idle(parent);
        }
    }

    /// Enters a node where its owner says.
    fn index(&mut self, slot: Slot) {
        let node = self.arena.node(slot);
        match node.owner() {
            Owner::Nobody => {}
            Owner::Session(id) => {
                self.ephemeral_count += 1;
                if let Some(session) = self.sessions.get_mut(&SessionId(id)) {
                    session.ephemerals.insert(slot);
                }
            }
            Owner::Container if node.children == 0 => self.reap.container_idle(slot),
            Owner::Container => {}
            Owner::Ttl(ttl_ms) => self.reap.ttl_due(node.stat.mtime, ttl_ms, slot),
        }
    }

    fn unindex(&mut self, slot: Slot) {
        let node = self.arena.node(slot);
        match node.owner() {
            Owner::Nobody => {}
            Owner::Session(id) => {
                self.ephemeral_count -= 1;
                if let Some(session) = self.sessions.get_mut(&SessionId(id)) {
                    session.ephemerals.remove(&slot);
                }
            }
            Owner::Container => self.reap.container_used(slot),
            Owner::Ttl(ttl_ms) => self.reap.ttl_gone(node.stat.mtime, ttl_ms, slot),
        }
    }

    /// Replaces a node's data, and its size and due time with it.
    pub(crate) fn replace_data(&mut self, slot: Slot, mtime: i64, replace: impl FnOnce(&mut Node)) {
        let node = self.arena.node_mut(slot);
        let (owner, old_mtime, old_bytes) = (node.owner(), node.stat.mtime, node.value.len());
        replace(node);
        node.stat.mtime = mtime;
        self.data_size += node.value.len() as i64 - old_bytes as i64;
        if let Owner::Ttl(ttl_ms) = owner {
            self.reap.ttl_gone(old_mtime, ttl_ms, slot);
            self.reap.ttl_due(mtime, ttl_ms, slot);
        }
    }

    /// Changes a session and the digest with it.
    pub(crate) fn update_session(&mut self, id: SessionId, change: impl FnOnce(&mut Session)) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.keep_session(id, Some(session));
        }
        let before = digest::of_session(session);
        change(session);
        self.terms = self.terms.wrapping_sub(before).wrapping_add(digest::of_session(session));
    }
}
