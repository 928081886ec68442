//! Reading: borrowed, without an allocation, and without a look at permissions, which are the reader's to check.

use alloc::string::String;
use alloc::vec::Vec;

use jute::{Acl, SessionId, Stat, Zxid};

use crate::arena::{Arena, NONE, ROOT, Slot};
use crate::node::{Node, Owner};
use crate::path::{CONFIG, PathHash, ROOT_PATH};
use crate::{AclRef, Identities, Policy, Roster, Session, Tree, java};

/// One node, borrowed.
#[derive(Clone, Copy)]
pub struct NodeRef<'a> {
    tree: &'a Tree,
    node: &'a Node,
}

impl<'a> NodeRef<'a> {
    /// Its Stat, as the wire carries it.
    #[must_use]
    pub fn stat(&self) -> Stat {
        self.node.wire_stat()
    }

    /// Its data; null is not empty.
    #[must_use]
    pub fn data(&self) -> Option<&'a [u8]> {
        self.node.value.as_bytes()
    }

    /// The names of its children, in no particular order.
    #[must_use]
    pub fn children(&self) -> Children<'a> {
        Children { arena: &self.tree.arena, next: self.node.first_child, left: self.node.children as usize }
    }

    /// How many children it has.
    #[must_use]
    pub fn num_children(&self) -> usize {
        self.node.children as usize
    }

    /// Its ACL.
    #[must_use]
    pub fn acl(&self) -> &'a [Acl] {
        self.tree.acls.list(self.node.stat.acl)
    }

    /// Its ACL, to be kept.
    #[must_use]
    pub fn acl_ref(&self) -> &'a AclRef {
        self.tree.acls.list(self.node.stat.acl)
    }

    /// Whether one of `identities` has one of the bits of `required` here: [`crate::permits`], quicker where everybody
    /// may.
    #[must_use]
    pub fn permits(&self, required: i32, identities: Identities<'_>, policy: Policy) -> bool {
        self.tree.acls.permits(self.node.stat.acl, required, identities, policy)
    }

    /// Whether it is a container.
    #[must_use]
    pub fn is_container(&self) -> bool {
        self.node.owner() == Owner::Container
    }

    /// How long it lives without being set, in milliseconds, if it is a TTL node.
    #[must_use]
    pub fn ttl_ms(&self) -> Option<i64> {
        match self.node.owner() {
            Owner::Ttl(ttl_ms) => Some(ttl_ms),
            _ => None,
        }
    }
}

/// The names of a node's children.
#[derive(Clone)]
pub struct Children<'a> {
    arena: &'a Arena,
    next: Slot,
    left: usize,
}

impl<'a> Iterator for Children<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.next == NONE {
            return None;
        }
        let child = self.arena.node(self.next);
        self.next = child.next;
        self.left -= 1;
        Some(child.name.as_str())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Children<'_> {}

impl Tree {
    /// The node of a path. A path that no node can have is simply not found; `""` is the root, as `/` is.
    #[must_use]
    pub fn node(&self, path: &str) -> Option<NodeRef<'_>> {
        let slot = self.find(path, PathHash::of(path)?)?;
        Some(NodeRef { tree: self, node: self.arena.node(slot) })
    }

    /// The last transaction applied.
    #[must_use]
    pub const fn last_zxid(&self) -> Zxid {
        self.zxid
    }

    /// The feature level that all members are at least at.
    #[must_use]
    pub const fn feature_level(&self) -> u32 {
        self.feature_level
    }

    /// The members that the ensemble is to have, as `/zookeeper/config` says; nothing before anybody said it.
    #[must_use]
    pub fn roster(&self) -> Option<Roster> {
        Roster::parse(self.node(CONFIG)?.data()?)
    }

    /// The version given with the last configuration set.
    #[must_use]
    pub const fn config_version(&self) -> i64 {
        self.config_version
    }

    /// The latest session that the member of this number opened, whether it is open still.
    #[must_use]
    pub fn latest_session(&self, member: u8) -> Option<SessionId> {
        self.births.last(member)
    }

    /// The open sessions, by id.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = &Session> {
        self.sessions.values()
    }

    /// An open session.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(&id)
    }

    /// The paths of a session's ephemeral nodes, in the order in which ZooKeeper would list and delete them.
    pub fn ephemerals_of(&self, id: SessionId) -> impl ExactSizeIterator<Item = String> + use<> {
        self.ordered_ephemerals(id).into_iter().map(|(path, _)| path)
    }

    pub(crate) fn ordered_ephemerals(&self, id: SessionId) -> Vec<(String, Slot)> {
        let slots = self.sessions.get(&id).into_iter().flat_map(|session| &session.ephemerals);
        let mut owned: Vec<_> = slots.map(|&slot| (self.path_of(slot), slot)).collect();
        // Among equal buckets the older node comes first, then the smaller path: slots may not decide.
        owned.sort_by(|(a, a_slot), (b, b_slot)| {
            let born = |slot: Slot| self.arena.node(slot).stat.czxid;
            born(*a_slot).cmp(&born(*b_slot)).then_with(|| a.cmp(b))
        });
        java::order_as_hash_set(&mut owned);
        owned
    }

    /// How many nodes there are as ZooKeeper's tools count them: the root counts twice, under both of its names.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.arena.len() + 1
    }

    /// How many ephemeral nodes there are.
    #[must_use]
    pub const fn ephemeral_count(&self) -> usize {
        self.ephemeral_count
    }

    /// How many distinct ACLs there are.
    #[must_use]
    pub fn acl_count(&self) -> usize {
        self.acls.len()
    }

    /// The lengths of all paths and values, as ZooKeeper's tools count them.
    #[must_use]
    pub const fn approximate_data_size(&self) -> i64 {
        self.data_size
    }

    /// How many nodes lie below a path, at any depth, as getAllChildrenNumber counts them: below `/` not the root
    /// itself, but below its other name `""` that too. `None` when there is no such node.
    #[must_use]
    pub fn all_children_number(&self, path: &str) -> Option<usize> {
        match path {
            "" => Some(self.arena.len()),
            ROOT_PATH => Some(self.arena.len() - 1),
            _ => Some(self.descendants(self.find(path, PathHash::of(path)?)?).count()),
        }
    }

    /// The slots below a slot, each before those below it.
    pub(crate) fn descendants(&self, top: Slot) -> impl Iterator<Item = Slot> + '_ {
        let mut next = self.arena.node(top).first_child;
        core::iter::from_fn(move || {
            let here = next;
            if here == NONE {
                return None;
            }
            let node = self.arena.node(here);
            next = node.first_child;
            let mut up = here;
            while next == NONE && up != top {
                next = self.arena.node(up).next;
                up = self.arena.node(up).parent;
            }
            Some(here)
        })
    }

    /// Finds the slot of a path by its hash; the root also under its other name.
    #[inline]
    pub(crate) fn find(&self, path: &str, hash: PathHash) -> Option<Slot> {
        if hash == PathHash::ROOT && path.len() <= 1 {
            return Some(ROOT);
        }
        self.table.find(hash, |slot| self.is_path_of(slot, path))
    }

    /// Whether that is the slot's path, compared name by name from the end.
    fn is_path_of(&self, mut slot: Slot, path: &str) -> bool {
        let mut rest = path.as_bytes();
        while slot != ROOT {
            let node = self.arena.node(slot);
            match rest.strip_suffix(node.name.as_bytes()).and_then(|above| above.strip_suffix(b"/")) {
                Some(above) => rest = above,
                None => return false,
            }
            slot = node.parent;
        }
        rest.is_empty()
    }

    /// The path of a slot; of the root, `/`.
    pub(crate) fn path_of(&self, slot: Slot) -> String {
        let mut names = Vec::new();
        let mut up = slot;
        while up != ROOT {
            let node = self.arena.node(up);
            names.push(node.name.as_str());
            up = node.parent;
        }
        if names.is_empty() {
            return String::from(ROOT_PATH);
        }
        let mut path = String::with_capacity(names.iter().map(|name| name.len() + 1).sum());
        for name in names.iter().rev() {
            path.push('/');
            path.push_str(name);
        }
        path
    }
}
