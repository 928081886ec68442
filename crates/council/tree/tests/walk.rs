//! Reads of many nodes in pieces: as if made at once where nothing changes, and never wrong about a node that stays.

mod support;

use base::WallTime;
use council_tree::{
    Changes, Command, Counted, Descent, IdentityList, Operation, Origin, Outcome, Policy, Stamp, Tree,
};
use council_wire::{Acl, OpCode, SessionId};
use support::Write;

const OWNER: SessionId = SessionId(7);

/// A tree with one session.
struct Garden {
    tree: Tree,
    sequence: u64,
}

impl Garden {
    fn new() -> Self {
        let mut tree = Tree::new();
        let opened = Operation::CreateSession { session: OWNER, timeout_ms: 10_000, password: [0; 16] };
        tree.apply(Stamp { time: WallTime::of_ms(1) }, &Command::internal(opened), &mut Changes::new());
        Self { tree, sequence: 0 }
    }

    fn write(&mut self, write: &Write) {
        self.sequence += 1;
        let origin = Origin { session: OWNER, generation: 1, sequence: self.sequence };
        let body = write.body();
        let identities = IdentityList::new();
        let command = Command {
            origin: Some(origin),
            policy: Policy::standard(),
            identities: identities.identities(),
            operation: Operation::Client { opcode: write.opcode(), body: &body },
        };
        let outcome = self.tree.apply(Stamp { time: WallTime::of_ms(1) }, &command, &mut Changes::new());
        assert!(!matches!(outcome, Outcome::Refused(_) | Outcome::Rejected(_)), "{outcome:?}");
    }

    fn create(&mut self, path: &str, flags: i32) {
        let (path, acl) = (path.to_owned(), vec![Acl::open()]);
        self.write(&Write::Create { opcode: OpCode::Create, path, data: None, acl, flags, ttl_ms: 0 });
    }

    fn delete(&mut self, path: &str) {
        self.write(&Write::Delete { path: path.to_owned(), version: -1 });
    }

    /// Visits so many nodes; what came of it.
    fn go_on(&self, descent: &mut Descent, mut work: usize) -> Counted {
        descent.go_on(&self.tree, &mut work)
    }
}

/// Three directories below `/a`, of 0, 10 and 20 nodes.
fn garden() -> Garden {
    let mut garden = Garden::new();
    garden.create("/a", 0);
    for (directory, nodes) in [("x", 0), ("y", 10), ("z", 20)] {
        garden.create(&format!("/a/{directory}"), 0);
        (0..nodes).for_each(|node| garden.create(&format!("/a/{directory}/{node}"), 0));
    }
    garden
}

#[test]
fn a_count_in_pieces_is_that_of_one_piece() {
    let garden = garden();
    for piece in 1..40 {
        for path in ["/a", "/a/x", "/a/y", "/a/y/3", "/"] {
            let mut descent = garden.tree.descend(path).unwrap();
            let mut pieces = 0;
            let all = loop {
                pieces += 1;
                match garden.go_on(&mut descent, piece) {
                    Counted::All(all) => break all,
                    Counted::More => assert!(pieces < 100, "{path} in pieces of {piece}"),
                    Counted::Gone | Counted::Replaced => panic!("nothing was deleted"),
                }
            };
            assert_eq!(Some(all), garden.tree.all_children_number(path), "{path} in pieces of {piece}");
        }
    }
    assert!(garden.tree.descend("/none").is_none());
}

#[test]
fn a_count_goes_on_when_the_node_that_it_stands_at_goes() {
    for stop in 1..33 {
        for gone in ["/a/x", "/a/y/4", "/a/z/0", "/a/z/19"] {
            let mut garden = garden();
            let mut descent = garden.tree.descend("/a").unwrap();
            assert_eq!(garden.go_on(&mut descent, stop), Counted::More);
            garden.delete(gone);
            garden.create("/b", 0);
            let counted = garden.go_on(&mut descent, 1000);
            // The node that went may have been counted before.
            assert!(matches!(counted, Counted::All(32 | 33)), "{gone} gone after {stop}: {counted:?}");
        }
    }
}

#[test]
fn a_count_ends_when_its_top_goes() {
    let mut garden = Garden::new();
    garden.create("/a", 0);
    garden.create("/a/b", 0);
    let mut descent = garden.tree.descend("/a").unwrap();
    assert_eq!(garden.go_on(&mut descent, 1), Counted::More);
    garden.delete("/a/b");
    garden.delete("/a");
    assert_eq!(garden.go_on(&mut descent, 10), Counted::Gone);
}

#[test]
fn ephemerals_are_listed_from_any_number_on() {
    let mut garden = Garden::new();
    (0..50).for_each(|node| garden.create(&format!("/e{node}"), 1));
    let (mut after, mut listed) = (None, Vec::new());
    while let Some((number, path)) = garden.tree.ephemerals_behind(OWNER, after).next() {
        after = Some(number);
        listed.push(path);
    }
    let mut all: Vec<_> = garden.tree.ephemerals_of(OWNER).collect();
    listed.sort();
    all.sort();
    assert_eq!(listed, all);
    assert_eq!(garden.tree.ephemerals_behind(SessionId(8), None).count(), 0);
}

/// A tree whose nodes lie in other slots when it is loaded from its snapshot, because the first nodes are gone.
fn shifted_garden(nodes: usize, flags: i32) -> Garden {
    let mut garden = Garden::new();
    (0..nodes).for_each(|node| garden.create(&format!("/first{node}"), 0));
    garden.create("/a", 0);
    let nodes_of_a = if flags == 0 { "/a/n" } else { "/e" };
    (0..nodes).for_each(|node| garden.create(&format!("{nodes_of_a}{node}"), flags));
    garden.create("/other", 0);
    (0..nodes).for_each(|node| garden.create(&format!("/other/o{node}"), 0));
    (0..nodes).for_each(|node| garden.delete(&format!("/first{node}")));
    garden
}

impl Garden {
    /// Puts the tree that its own snapshot gives in its place, as if a leader had sent it.
    fn replace_tree(&mut self) {
        let loaded = support::reloaded(&mut self.tree).expect("a sound snapshot");
        let old = self.tree.replace(loaded);
        assert_eq!((old.digest(), old.last_zxid()), (self.tree.digest(), self.tree.last_zxid()));
    }
}

#[test]
fn a_count_ends_when_the_tree_is_replaced() {
    // With so many, the slots of the old tree lie beyond the end of the new one.
    for nodes in [20, 2_000] {
        let mut garden = shifted_garden(nodes, 0);
        let mut descent = garden.tree.descend("/a").unwrap();
        assert_eq!(garden.go_on(&mut descent, 5), Counted::More);
        garden.replace_tree();
        assert_eq!(garden.go_on(&mut descent, 5), Counted::Replaced);
        // Also when transactions were applied to it meanwhile.
        garden.create("/b", 0);
        assert_eq!(garden.go_on(&mut descent, 5), Counted::Replaced);
        let mut anew = garden.tree.descend("/a").unwrap();
        assert_eq!(garden.go_on(&mut anew, 10_000), Counted::All(nodes));
    }
}

#[test]
fn children_behind_a_pause_in_a_replaced_tree_are_none() {
    let mut garden = shifted_garden(20, 0);
    let (pause, stat) = {
        let node = garden.tree.node("/a").unwrap();
        let mut children = node.children();
        assert!(children.next().is_some());
        assert_eq!(node.children_behind(children.pause()).map(Iterator::count), Some(19));
        (children.pause(), node.stat())
    };
    garden.replace_tree();
    let node = garden.tree.node("/a").unwrap();
    assert_eq!(node.stat(), stat, "nothing but the pause tells");
    assert!(node.children_behind(pause).is_none());
}

#[test]
fn ephemerals_behind_a_place_in_a_replaced_tree_begin_anew() {
    let mut garden = shifted_garden(20, 1);
    let first = garden.tree.ephemerals_piece(OWNER, None, 5);
    assert!(first.nodes.len() == 5 && !first.begins_anew);
    let place = first.next.unwrap();
    assert!(place.is_of(&garden.tree));
    assert_eq!(garden.tree.ephemerals_behind(OWNER, Some(place)).count(), 15);
    garden.replace_tree();
    assert!(!place.is_of(&garden.tree));
    assert_eq!(garden.tree.ephemerals_behind(OWNER, Some(place)).count(), 0);
    let again = garden.tree.ephemerals_piece(OWNER, Some(place), 100);
    assert_eq!((again.nodes.len(), again.begins_anew, again.next), (20, true, None));
}
