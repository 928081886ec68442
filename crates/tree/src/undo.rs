//! How a multi that fails leaves no trace: what each of its steps displaced, put back in reverse.

use alloc::vec::Vec;

use crate::Tree;
use crate::acl::AclTable;
use crate::arena::Slot;
use crate::node::{Node, NodeStat, Owner, Value};
use crate::path::PathHash;

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
    terms: u64,
}

impl UndoLog {
    pub(crate) fn keep_content(&mut self, slot: Slot, node: &Node, acls: &mut AclTable) {
        acls.retain(node.stat.acl);
        self.steps.push(Step::Changed { slot, stat: node.stat, value: node.value.clone() });
    }

    pub(crate) fn keep_creation(&mut self, slot: Slot) {
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
        let steps = self.undo.iter().flat_map(|undo| &undo.steps);
        for step in steps {
            match step {
                Step::Changed { slot, value, .. } if *slot == wanted => return Some(value),
                Step::Created { slot } if *slot == wanted => return None,
                _ => {}
            }
        }
        Some(&self.arena.node(wanted).value)
    }

    /// From here on every change can be taken back.
    pub(crate) fn begin_undoable(&mut self) {
        self.undo = Some(UndoLog { steps: Vec::new(), terms: self.terms });
    }

    /// What was changed stays.
    pub(crate) fn keep_changes(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        for step in undo.steps {
            match step {
                Step::Changed { stat, .. } => self.acls.release(stat.acl),
                Step::Removed { node, .. } => self.acls.release(node.stat.acl),
                Step::Created { .. } => {}
            }
        }
    }

    /// What was changed is taken back.
    pub(crate) fn take_back(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        for step in undo.steps.into_iter().rev() {
            match step {
                Step::Changed { slot, stat, value } => self.change_back(slot, stat, value),
                Step::Created { slot } => {
                    let (hash, path) = self.identify(slot);
                    self.leave(slot, hash, &path);
                    let node = self.arena.remove(slot);
                    self.acls.release(node.stat.acl);
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
            Owner::decode(node.stat.owner) == Owner::decode(stat.owner),
            "nothing changes an owner"
        );
        let displaced = core::mem::replace(&mut node.stat, stat);
        self.acls.release(displaced.acl);
    }

    fn identify(&self, slot: Slot) -> (PathHash, alloc::string::String) {
        let path = self.path_of(slot);
        (PathHash::of(&path).expect("a node's path hashes"), path)
    }
}
