//! How much lies below a node. Weighing a node means a look at everything below it; what is found below large nodes is
//! kept, so that no part of the tree is visited again and again.
//!
//! Only a quota asks for this, when its stats node is created. As long as none has been, nothing is kept and nothing
//! costs anything.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::AddAssign;

use crate::Tree;
use crate::arena::{NONE, ROOT, Slot};
use crate::node::Node;

/// From so many nodes on, the weight of a part of the tree is kept.
const KEPT_NODES_MIN: i64 = 4096;
/// So many nodes are looked at when something is weighed again.
pub(crate) const VISITED_MAX: u64 = KEPT_NODES_MIN as u64;

/// Nodes and the bytes of their data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) nodes: i64,
    pub(crate) bytes: i64,
}

impl Weight {
    fn of(node: &Node) -> Self {
        Self { nodes: 1, bytes: node.value.len() as i64 }
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.nodes += other.nodes;
        self.bytes += other.bytes;
    }
}

/// The weights that are kept, each of a node and all below it, by slot.
#[derive(Default)]
pub(crate) struct Weights(BTreeMap<Slot, Weight>);

impl Tree {
    /// What a node and all below it weigh.
    pub(crate) fn weigh(&mut self, top: Slot) -> Weight {
        if let Some(known) = self.weights.0.get(&top) {
            return *known;
        }
        // The nodes from the top to where the walk is, each with what has been found below it so far.
        let mut open = Vec::from([(top, Weight::of(self.arena.node(top)))]);
        let mut next = self.arena.node(top).first_child;
        while let Some((_, above)) = open.last_mut() {
            if next != NONE {
                let node = self.arena.node(next);
                self.work.nodes(1);
                if node.first_child == NONE {
                    *above += Weight::of(node);
                    next = node.next;
                } else if let Some(known) = self.weights.0.get(&next) {
                    *above += *known;
                    next = node.next;
                } else {
                    open.push((next, Weight::of(node)));
                    next = node.first_child;
                }
                continue;
            }
            let Some((slot, weight)) = open.pop() else { break };
            if weight.nodes >= KEPT_NODES_MIN {
                self.weights.0.insert(slot, weight);
            }
            match open.last_mut() {
                Some((_, above)) => *above += weight,
                None => return weight,
            }
            next = self.arena.node(slot).next;
        }
        Weight::default()
    }

    /// Something below a node has changed by so much, or its own data has.
    #[inline]
    pub(crate) fn shift_weight(&mut self, from: Slot, nodes: i64, bytes: i64) {
        if self.weights.0.is_empty() {
            return;
        }
        let mut up = from;
        loop {
            if let Some(weight) = self.weights.0.get_mut(&up) {
                *weight += Weight { nodes, bytes };
            }
            if up == ROOT {
                return;
            }
            up = self.arena.node(up).parent;
        }
    }

    /// A node goes: its slot may be another's soon.
    pub(crate) fn forget_weight(&mut self, slot: Slot) {
        if !self.weights.0.is_empty() {
            self.weights.0.remove(&slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use council_wire::{Acl, OpCode, Writer};

    use super::*;
    use crate::{Changes, Command, Operation, Outcome, Stamp};

    fn apply(tree: &mut Tree, opcode: OpCode, path: &str, data: &[u8]) {
        let mut body = Vec::new();
        let mut writer = Writer::new(&mut body);
        writer.text(path);
        match opcode {
            OpCode::Create => {
                writer.buffer(Some(data));
                Acl::write_all(&[Acl::open()], &mut writer);
                writer.i32(0);
            }
            OpCode::SetData => {
                writer.buffer(Some(data)).i32(-1);
            }
            _ => {
                writer.i32(-1);
            }
        }
        let command = Command::internal(Operation::Client { opcode, body: &body });
        let outcome = tree.apply(Stamp::default(), &command, &mut Changes::new());
        assert!(!matches!(outcome, Outcome::Refused(_) | Outcome::Rejected(_)), "{path}: {outcome:?}");
    }

    #[test]
    fn kept_weights_are_those_of_a_look_at_everything() {
        let mut tree = Tree::new();
        for path in ["/a", "/a/b", "/a/b/c", "/a/small"] {
            apply(&mut tree, OpCode::Create, path, b"");
        }
        for number in 0..5000 {
            apply(&mut tree, OpCode::Create, &format!("/a/b/c/{number}"), b"xyz");
        }
        let slot = |tree: &Tree, path: &str| tree.find(path, tree.key_of(path).unwrap()).unwrap();
        let check = |tree: &mut Tree| {
            for path in ["/a/b/c", "/a", "/a/small", "/a/b", "/"] {
                let top = slot(tree, path);
                let all = core::iter::once(top).chain(tree.descendants(top));
                let mut plain = Weight::default();
                all.for_each(|below| plain += Weight::of(tree.arena.node(below)));
                assert_eq!(tree.weigh(top), plain, "{path}");
            }
        };
        check(&mut tree);
        assert_eq!(tree.weights.0.len(), 4, "the small part is not worth keeping");
        let paths: Vec<String> = (0..500).map(|number| format!("/a/b/c/{}", number * 7)).collect();
        for (at, path) in paths.iter().enumerate() {
            match at % 3 {
                0 => apply(&mut tree, OpCode::Delete, path, b""),
                1 => apply(&mut tree, OpCode::SetData, path, b"another"),
                _ => apply(&mut tree, OpCode::Create, &format!("{path}/below"), b"12"),
            }
        }
        apply(&mut tree, OpCode::SetData, "/a/b", b"data of a node whose weight is kept");
        apply(&mut tree, OpCode::Delete, "/a/small", b"");
        apply(&mut tree, OpCode::Create, "/a/small", b"again");
        check(&mut tree);
        tree.work.0 = 0;
        let top = slot(&tree, "/a");
        tree.weigh(top);
        assert_eq!(tree.work.0, 0, "nothing is looked at twice");
    }
}
