//! The replicated state and its smallest moves: linking, indexing, counting. Every write goes through these, so that
//! the digest, the running snapshot and the undoing of a multi see all of them.

use alloc::collections::BTreeMap;
use core::fmt;

use council_wire::{Acl, SessionId, Zxid, permission};

use crate::acl::{AclId, AclTable};
use crate::arena::{Arena, NONE, ROOT, Slot};
use crate::births::Births;
use crate::node::{Name, Node, NodeStat, Owner, Value};
use crate::path::{CONFIG, PathHash, QUOTA, ROOT_PATH, ZOOKEEPER};
use crate::quota::Quotas;
use crate::reap::ReapIndex;
use crate::snapshot::Snapshot;
use crate::undo::UndoLog;
use crate::weight::Weights;
use crate::work::Work;
use crate::{Session, digest, path, quota, undo};

/// Everything replicated: nodes, sessions, ACLs, quotas, the last zxid.
pub struct Tree {
    /// The hash of the root, from which those of all paths follow; its key is this process's seed.
    pub(crate) root: PathHash,
    pub(crate) arena: Arena,
    pub(crate) table: crate::table::Table,
    pub(crate) acls: AclTable,
    pub(crate) sessions: BTreeMap<SessionId, Session>,
    pub(crate) births: Births,
    /// How many trees stood in this place before.
    pub(crate) replacements: u64,
    pub(crate) zxid: Zxid,
    pub(crate) feature_level: u32,
    pub(crate) config_version: i64,
    /// The sum of the terms of all nodes and sessions.
    pub(crate) terms: u64,
    pub(crate) data_size: i64,
    pub(crate) ephemeral_count: usize,
    pub(crate) quotas: Quotas,
    pub(crate) weights: Weights,
    pub(crate) work: Work,
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
    /// A tree as a fresh ZooKeeper has it: `/`, `/zookeeper`, `/zookeeper/quota` and `/zookeeper/config`. Its table has
    /// the seed 0, which is no secret: for tests and tools.
    #[must_use]
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// As [`Tree::new`], with a seed for the table of paths: a server's must be random, or clients can choose names
    /// that all lie in one place. Neither results nor digests nor snapshots depend on it.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let mut tree = Self::empty(seed);
        let config_acl = tree.acls.intern([Acl::world(permission::READ)].into());
        tree.add_system_node(ROOT_PATH, AclId::OPEN);
        tree.add_system_node(ZOOKEEPER, AclId::OPEN);
        tree.add_system_node(QUOTA, AclId::OPEN);
        tree.add_system_node(CONFIG, config_acl);
        tree
    }

    /// The seed of the table of paths.
    #[must_use]
    pub const fn table_seed(&self) -> u64 {
        self.root.key.seed()
    }

    /// Replaces this tree by another one, and returns the old one. What a read of many nodes remembers of the old tree
    /// is not valid in the new one, and [`Tree::replacements`] distinguishes the two: so a tree must only be replaced
    /// by this.
    #[must_use = "to drop a large tree takes long"]
    pub fn replace(&mut self, mut new: Self) -> Self {
        new.replacements = self.replacements + 1;
        core::mem::replace(self, new)
    }

    /// How many trees stood in this place before this one. It is this process's own business: neither results nor
    /// digests nor snapshots depend on it.
    #[must_use]
    pub const fn replacements(&self) -> u64 {
        self.replacements
    }

    /// A tree without even a root.
    pub(crate) fn empty(seed: u64) -> Self {
        Self {
            root: PathHash::root(seed),
            arena: Arena::new(),
            table: crate::table::Table::new(),
            acls: AclTable::new(),
            sessions: BTreeMap::new(),
            births: Births::default(),
            replacements: 0,
            zxid: Zxid(0),
            feature_level: 0,
            config_version: 0,
            terms: 0,
            data_size: 0,
            ephemeral_count: 0,
            quotas: Quotas::default(),
            weights: Weights::default(),
            work: Work::default(),
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
                let parent = self.key_of(above).and_then(|key| self.find(above, key));
                (parent.expect("system nodes are added from the top"), name)
            }
            _ => (ROOT, ""),
        };
        let slot = self.arena.insert(Node::new(parent, Name::new(name), stat, Value::new(Some(b""))));
        let hash = self.hash_of(path).expect("system nodes have valid paths");
        self.join(slot, hash, path);
        self.terms = self.terms.wrapping_add(self.term(slot, hash));
    }

    /// A number that two trees share exactly when all that is replicated is the same (except by chance).
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
        let anew = self.feature_level >= undo::LEVEL;
        if let Some(undo) = &mut self.undo {
            undo.keep_creation(slot, anew);
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
            None => self.release_acl(node.stat.acl),
        }
    }

    /// Counts one reference to an ACL less, and what it takes to free it.
    pub(crate) fn release_acl(&mut self, acl: AclId) {
        let freed = self.acls.release(acl);
        self.work.entries_freed(freed);
    }

    /// Makes a record that lies in the arena a node of that path.
    pub(crate) fn join(&mut self, slot: Slot, hash: PathHash, path: &str) {
        self.place(slot);
        if slot != ROOT {
            self.table.insert(hash.key, slot);
        }
        if let Some(limited) = quota::limited_path(path) {
            self.limit(limited);
        }
        let node = self.arena.node(slot);
        self.shift_weight(node.parent, 1, node.value.len() as i64);
        self.data_size += self.size_of(slot, path);
        self.count_ephemeral(slot, path.len(), usize::saturating_add);
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
        self.count_ephemeral(slot, path.len(), usize::saturating_sub);
        if let Some(limited) = quota::limited_path(path) {
            self.unlimit(limited);
        }
        self.quotas.forget(slot);
        self.forget_weight(slot);
        let node = self.arena.node(slot);
        self.shift_weight(node.parent, -1, -(node.value.len() as i64));
        self.unindex(slot);
        self.table.remove(hash.key, slot);
        self.unlink(slot);
    }

    /// Adds to or takes from the bytes that the owner of a node, if it has one, leaves when it ends: those of a path of
    /// this length, and what the node's ACL counts.
    pub(crate) fn count_ephemeral(
        &mut self,
        slot: Slot,
        path_bytes: usize,
        change: impl FnOnce(usize, usize) -> usize,
    ) {
        let node = self.arena.node(slot);
        if let Owner::Session(id) = node.owner()
            && let Some(session) = self.sessions.get_mut(&id)
        {
            let bytes = path_bytes + self.acls.ephemeral_bytes(node.stat.acl);
            session.ephemeral_bytes = change(session.ephemeral_bytes, bytes);
        }
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
                if let Some(session) = self.sessions.get_mut(&id) {
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
                if let Some(session) = self.sessions.get_mut(&id) {
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
        let grown = node.value.len() as i64 - old_bytes as i64;
        self.data_size += grown;
        self.quotas.forget(slot);
        self.shift_weight(slot, 0, grown);
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
