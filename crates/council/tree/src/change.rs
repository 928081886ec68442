//! What a command changed, for watches.

use alloc::boxed::Box;
use alloc::vec::Vec;

use council_wire::{SessionId, Zxid};

use crate::AclRef;

/// What happened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// It came to be; its parent's children changed.
    Created,
    /// It is gone; its parent's children changed.
    Deleted,
    /// Its data was replaced.
    DataChanged,
}

/// One change of one node, with all that is needed to decide which clients to notify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// To which node.
    pub path: Box<str>,
    /// In which transaction.
    pub zxid: Zxid,
    /// The node's ACL at that moment: only clients that may read the node get events about it.
    pub acl: AclRef,
    /// Its parent's ACL at that moment: only clients that may read the parent get events about its children. Of the
    /// root, its own.
    pub parent_acl: AclRef,
    /// The session that owns the node, if it is ephemeral, else 0.
    pub ephemeral_owner: SessionId,
    /// The length of the node's data now; of a deleted node 0.
    pub data_bytes: usize,
}

impl Change {
    /// The path of the node's parent; `/` for the root too.
    #[must_use]
    pub fn parent_path(&self) -> &str {
        match self.path.rfind('/') {
            None | Some(0) => "/",
            Some(slash) => self.path.get(..slash).unwrap_or("/"),
        }
    }
}

/// Changes in the order in which they happened; a command appends to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(Vec<Change>);

impl Changes {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The changes, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Change] {
        &self.0
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets them and keeps the room.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Hands them over, in order, and keeps the room.
    pub fn drain(&mut self) -> impl Iterator<Item = Change> + '_ {
        self.0.drain(..)
    }

    /// Hands them over, in order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Change> {
        self.0
    }

    pub(crate) fn push(&mut self, change: Change) {
        self.0.push(change);
    }

    /// Forgets all but the first `length`: those of a multi that failed never happened.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }
}
