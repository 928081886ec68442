//! A member's start must find what was there: for the targets that run a whole member.

use std::collections::BTreeMap;

use council_tree::Tree;
use council_wire::{Acl, SessionId, Stat, Zxid};
use sim_council::disk::SimDisk;
use sim_council::node::Node;

use super::connection::{START, config};

/// All that a client may see, but for the last zxid, which a start raises.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    nodes: BTreeMap<String, Znode>,
    /// Timeout, generation and sequence.
    sessions: BTreeMap<SessionId, (i32, u32, u64)>,
}

type Znode = (Stat, Option<Vec<u8>>, Vec<Acl>);

/// Starts a member from what this one left on the disk, and compares.
pub(crate) fn check(mut node: Node<SimDisk>, disk: SimDisk) {
    if !node.core().is_serving() {
        // By what its log says others have a say: it gives no zxid out.
        return;
    }
    let (before, zxid) = (content(node.tree()), node.tree().last_zxid());
    drop(node);
    let node = Node::start(disk, &config(), START).expect("what a member wrote it can read");
    assert_eq!(content(node.tree()), before, "a start found another tree");
    let next = node.tree().last_zxid();
    assert_eq!(next, Zxid::new(zxid.epoch().wrapping_add(1), 0), "a zxid could be given out twice");
}

fn content(tree: &Tree) -> Content {
    let mut nodes = BTreeMap::new();
    let mut open = vec![String::from("/")];
    while let Some(path) = open.pop() {
        let node = tree.node(&path).expect("a listed child exists");
        let above = if path == "/" { "" } else { &path };
        open.extend(node.children().map(|name| format!("{above}/{name}")));
        nodes.insert(path, (node.stat(), node.data().map(<[u8]>::to_vec), node.acl().to_vec()));
    }
    let sessions = tree
        .sessions()
        .map(|session| (session.id, (session.timeout_ms, session.generation, session.sequence)));
    Content { nodes, sessions: sessions.collect() }
}
