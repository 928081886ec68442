//! How a multi that fails leaves no trace: what it displaced, put back in reverse.
//!
//! Of a node's content the first old version is kept and no other: what a multi keeps grows with the nodes that it
//! touches, not with how often it touches them.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

use crate::Tree;
use crate::acl::AclTable;
use crate::arena::Slot;
use crate::node::{Node, NodeStat, Owner, Value};
use crate::path::PathHash;
use crate::track::Track;

/// The feature level from which on a node that a multi creates is never taken for one that the multi removed from the same
/// slot: its quota would be judged by what the other's said before. Earlier builds do so, and all members must agree.
pub(crate) const LEVEL: u32 = 2;

enum Step {
    /// A node's content was about to change from this.
    Changed { slot: Slot, stat: NodeStat, value: Value },
    /// A node was created.
    Created { slot: Slot },
    /// A node was removed. Its slot was the last one vacated, and is again when this is undone.
    Removed { slot: Slot, node: Node },
}

/// The steps of a running multi, and what is simply noted and set again.
pub(crate) struct UndoLog {
    steps: Vec<Step>,
    /// The first step of each slot that changed its node's content or created the node: the later ones have nothing to
    /// add.
    first: BTreeMap<Slot, usize>,
    /// What the quota texts said before the multi, of those that it has changed and that were asked for since.
    pub(crate) tracks: BTreeMap<Slot, Option<Track>>,
    terms: u64,
}

impl UndoLog {
    pub(crate) fn keep_content(&mut self, slot: Slot, node: &Node, acls: &mut AclTable) {
        if let Entry::Vacant(vacant) = self.first.entry(slot) {
            vacant.insert(self.steps.len());
            acls.retain(node.stat.acl);
            self.steps.push(Step::Changed { slot, stat: node.stat, value: node.value.clone() });
        }
    }

    /// `anew` forgets what another node held in the slot before this multi: see [`LEVEL`].
    pub(crate) fn keep_creation(&mut self, slot: Slot, anew: bool) {
        if anew {
            self.first.insert(slot, self.steps.len());
            self.tracks.remove(&slot);
        } else {
            self.first.entry(slot).or_insert(self.steps.len());
        }
        self.steps.push(Step::Created { slot });
    }

    /// Takes over the node's reference to its ACL.
    pub(crate) fn keep_removal(&mut self, slot: Slot, node: Node) {
        self.steps.push(Step::Removed { slot, node });
    }
}

impl Tree {
    /// What a node held before the multi that runs, if one does; nothing when the multi created it.
    pub(crate) fn value_before(&self, wanted: Slot) -> Option<&Value> {
        match self.undo.as_ref().and_then(|undo| undo.steps.get(*undo.first.get(&wanted)?)) {
            Some(Step::Changed { value, .. }) => Some(value),
            Some(Step::Created { .. }) => None,
            _ => Some(&self.arena.node(wanted).value),
        }
    }

    /// Whether the multi that runs has changed a node's content, or created the node.
    pub(crate) fn is_displaced(&self, slot: Slot) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.first.contains_key(&slot))
    }

    /// From here on every change can be taken back.
    pub(crate) fn begin_undoable(&mut self) {
        self.undo = Some(UndoLog {
            steps: Vec::new(),
            first: BTreeMap::new(),
            tracks: BTreeMap::new(),
            terms: self.terms,
        });
    }

    /// What was changed stays.
    pub(crate) fn keep_changes(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        for step in undo.steps {
            match step {
                Step::Changed { stat, .. } => self.release_acl(stat.acl),
                Step::Removed { node, .. } => self.release_acl(node.stat.acl),
                Step::Created { .. } => {}
            }
        }
    }

    /// What was changed is taken back.
    pub(crate) fn take_back(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.quotas.pending.clear();
        for step in undo.steps.into_iter().rev() {
            match step {
                Step::Changed { slot, stat, value } => self.change_back(slot, stat, value),
                Step::Created { slot } => {
                    let (hash, path) = self.identify(slot);
                    self.leave(slot, hash, &path);
                    let node = self.arena.remove(slot);
                    self.release_acl(node.stat.acl);
                }
                Step::Removed { slot, node } => {
                    let again = self.arena.insert(node);
                    assert_eq!(again, slot, "slots are vacated and filled like a stack");
                    let (hash, path) = self.identify(slot);
                    self.join(slot, hash, &path);
                }
            }
        }
        self.terms = undo.terms;
    }

    fn change_back(&mut self, slot: Slot, stat: NodeStat, value: Value) {
        self.replace_data(slot, stat.mtime, |node| node.set_value(value));
        let node = self.arena.node_mut(slot);
        debug_assert!(
            Owner::decode(node.stat.owner) == Owner::decode(stat.owner) && node.stat.acl == stat.acl,
            "nothing in a multi changes an owner or an ACL"
        );
        let displaced = core::mem::replace(&mut node.stat, stat);
        self.release_acl(displaced.acl);
    }

    fn identify(&self, slot: Slot) -> (PathHash, alloc::string::String) {
        let path = self.path_of(slot);
        (self.hash_of(&path).expect("a node's path hashes"), path)
    }
}
