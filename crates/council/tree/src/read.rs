//! Reading: borrowed, without an allocation. The caller checks permissions.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Bound;

use council_wire::{Acl, SessionId, Stat, Zxid};

use crate::arena::{NONE, ROOT, Slot};
use crate::node::{Node, Owner};
use crate::path::{self, CONFIG, PathHash, PathKey, ROOT_PATH};
use crate::{AclRef, Identities, Policy, Roster, Session, Tree, Verdicts, java, permits};

/// One node, borrowed.
#[derive(Clone, Copy)]
pub struct NodeRef<'a> {
    pub(crate) tree: &'a Tree,
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
        Children { tree: self.tree, next: self.node.first_child, left: self.node.children as usize }
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

    /// Whether one of `identities` has one of the bits of `required` here: [`crate::permits`], faster if every client
    /// may.
    #[must_use]
    pub fn permits(&self, required: i32, identities: Identities<'_>, policy: Policy) -> bool {
        let acl = self.node.stat.acl;
        self.tree.acls.everyone(acl) & required != 0
            || permits(self.tree.acls.list(acl), required, identities, policy)
    }

    /// As [`Self::permits`], by the verdicts of one request.
    #[must_use]
    #[inline]
    pub fn permits_by(&self, verdicts: &Verdicts<'_>, required: i32) -> bool {
        verdicts.permits(&self.tree.acls, self.node.stat.acl, required)
    }

    /// How many entries of its ACL are compared with identities to know whether they have one of the bits of
    /// `required`: none if every client may.
    #[must_use]
    pub fn entries_to_judge(&self, required: i32) -> usize {
        let acl = self.node.stat.acl;
        if self.tree.acls.everyone(acl) & required != 0 { 0 } else { self.tree.acls.list(acl).len() }
    }

    /// Whether it is a container.
    #[must_use]
    pub fn is_container(&self) -> bool {
        self.node.owner() == Owner::Container
    }

    /// The time to live after the last set, in milliseconds, if it is a TTL node.
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
    pub(crate) tree: &'a Tree,
    pub(crate) next: Slot,
    pub(crate) left: usize,
}

impl<'a> Iterator for Children<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.next == NONE || self.left == 0 {
            return None;
        }
        let child = self.tree.arena.node(self.next);
        self.next = child.next;
        self.left -= 1;
        Some(child.name.as_str())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Children<'_> {}

/// Where a piece of a session's ephemeral nodes ends. It means something only in the tree that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EphemeralPlace {
    pub(crate) slot: Slot,
    /// [`Tree::replacements`] of its tree.
    pub(crate) tree: u64,
}

impl EphemeralPlace {
    /// Whether the tree that gave it was not replaced since.
    #[must_use]
    pub const fn is_of(&self, tree: &Tree) -> bool {
        self.tree == tree.replacements
    }
}

/// Some of a session's ephemeral nodes; see [`Tree::ephemerals_piece`].
#[derive(Clone, Debug, Default)]
pub struct EphemeralPiece {
    /// The transaction that created each, and its path.
    pub nodes: Vec<(Zxid, String)>,
    /// Behind which the next piece begins, if there is more.
    pub next: Option<EphemeralPlace>,
    /// The tree was replaced since the last piece: this one is the first again.
    pub begins_anew: bool,
}

/// Paths of one session's ephemeral nodes, in the order in which ZooKeeper would list them.
#[must_use]
pub fn in_zookeepers_order(mut nodes: Vec<(Zxid, String)>) -> Vec<String> {
    nodes.sort_unstable();
    let mut paths: Vec<_> = nodes.into_iter().map(|(_, path)| (path, ())).collect();
    java::order_as_hash_set(&mut paths);
    paths.into_iter().map(|(path, ())| path).collect()
}

impl Tree {
    /// The node of a path. A path that no node can have is simply not found; `""` is the root, as `/` is.
    #[must_use]
    pub fn node(&self, path: &str) -> Option<NodeRef<'_>> {
        let slot = self.find(path, self.key_of(path)?)?;
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

    /// The members that the ensemble is to have, as `/zookeeper/config` says; empty until it was first written.
    #[must_use]
    pub fn roster(&self) -> Option<Roster> {
        Roster::parse(self.node(CONFIG)?.data()?)
    }

    /// The ACL of `/zookeeper/config`: it decides which clients may change the members.
    #[must_use]
    pub fn roster_acl(&self) -> Option<&AclRef> {
        self.node(CONFIG).map(|node| node.acl_ref())
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

    /// Up to `max` of a session's ephemeral nodes behind the place `after`, in no order that means anything. So the
    /// whole is listed without the tree being held for long; nodes that come or go meanwhile may be among them. When
    /// the tree was replaced since the last piece, the list begins again.
    #[must_use]
    pub fn ephemerals_piece(
        &self,
        id: SessionId,
        after: Option<EphemeralPlace>,
        max: usize,
    ) -> EphemeralPiece {
        let begins_anew = after.is_some_and(|place| !place.is_of(self));
        let after = after.filter(|_| !begins_anew);
        let mut places = self.ephemeral_places(id, after);
        let piece: Vec<EphemeralPlace> = places.by_ref().take(max).collect();
        let next = piece.last().copied().filter(|_| places.next().is_some());
        let node =
            |place: &EphemeralPlace| (self.arena.node(place.slot).stat.czxid, self.path_of(place.slot));
        EphemeralPiece { nodes: piece.iter().map(node).collect(), next, begins_anew }
    }

    /// The places of a session's ephemeral nodes behind the place `after`; none when that is of another tree.
    pub(crate) fn ephemeral_places(
        &self,
        id: SessionId,
        after: Option<EphemeralPlace>,
    ) -> impl Iterator<Item = EphemeralPlace> + '_ {
        let session = self.sessions.get(&id).filter(|_| after.is_none_or(|place| place.is_of(self)));
        let from = after.map_or(Bound::Unbounded, |place| Bound::Excluded(place.slot));
        let slots =
            session.into_iter().flat_map(move |owner| owner.ephemerals.range((from, Bound::Unbounded)));
        slots.map(|slot| EphemeralPlace { slot: *slot, tree: self.replacements })
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
            _ => Some(self.descendants(self.find(path, self.key_of(path)?)?).count()),
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

    /// The hashes of a path; `None` when no node can have it.
    #[inline]
    pub(crate) fn hash_of(&self, path: &str) -> Option<PathHash> {
        self.root.below(path)
    }

    /// The key of a path in the table; `None` when no node can have it.
    #[inline]
    pub(crate) fn key_of(&self, path: &str) -> Option<PathKey> {
        self.root.key.below(path)
    }

    /// Finds the slot of a path by its key; the root also under its other name.
    #[inline]
    pub(crate) fn find(&self, path: &str, key: PathKey) -> Option<Slot> {
        if path::is_root(path) {
            return Some(ROOT);
        }
        self.table.find(key, |slot| self.is_path_of(slot, path))
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
