//! Reads of very many nodes, made in pieces between which the tree may change.
//!
//! Each piece visits a bounded number of nodes, so that no client waits long for the tree. What a piece leaves behind
//! names nodes by their slot and the transaction that created them: a node that went meanwhile is noticed, and never
//! taken for another one in its place. Slots are those of one tree: when a snapshot has replaced it since the last
//! piece, that is noticed too, and the read begins again. Knows no permission and no wire format.

use alloc::string::String;
use alloc::vec::Vec;
use council_wire::{SessionId, Zxid};

use crate::arena::{NONE, Slot};
use crate::{Children, EphemeralPlace, NodeRef, Tree};

/// Work that is left to go on with when it is known where.
const WORK_LEFT_MIN: usize = 512;

/// A count of all nodes below one, as far as it has come.
///
/// A node that is there from beginning to end is counted once. One that comes or goes meanwhile is counted or not, as
/// in ZooKeeper, which counts over a map that changes too.
#[derive(Debug)]
pub struct Descent {
    /// From the top to the node visited last, whose children are next.
    levels: Vec<Level>,
    counted: usize,
    /// The tree's last transaction when the last piece ended.
    seen: Zxid,
    /// [`Tree::replacements`] of the tree that the slots are of.
    tree: u64,
}

/// A node on the way down.
#[derive(Debug)]
struct Level {
    slot: Slot,
    czxid: Zxid,
    /// How many were counted before its children.
    before: usize,
}

/// How a piece of a [`Descent`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// There is more to visit.
    More,
    /// So many nodes lie below.
    All(usize),
    /// The node at the top is gone.
    Gone,
    /// The tree was replaced: the read must begin again.
    Replaced,
}

/// How far a list of children was read.
#[derive(Clone, Copy, Debug)]
pub struct ChildrenPause {
    next: Slot,
    left: usize,
    /// [`Tree::replacements`] of the tree that the slot is of.
    tree: u64,
}

impl Children<'_> {
    /// To go on with [`NodeRef::children_behind`].
    #[must_use]
    pub const fn pause(&self) -> ChildrenPause {
        ChildrenPause { next: self.next, left: self.left, tree: self.tree.replacements }
    }
}

impl<'a> NodeRef<'a> {
    /// The rest of a list of children. It is valid only if no child of this node came or went since the pause: the
    /// `pzxid` is still the same. `None` when the tree was replaced since: the list must begin again.
    #[must_use]
    pub fn children_behind(&self, pause: ChildrenPause) -> Option<Children<'a>> {
        let children = Children { tree: self.tree, next: pause.next, left: pause.left };
        (pause.tree == self.tree.replacements).then_some(children)
    }
}

impl Tree {
    /// Begins to count what lies below a path; `None` when there is no such node.
    #[must_use]
    pub fn descend(&self, path: &str) -> Option<Descent> {
        let slot = self.find(path, self.key_of(path)?)?;
        let (seen, tree) = (self.last_zxid(), self.replacements);
        let mut descent = Descent { levels: Vec::new(), counted: 0, seen, tree };
        descent.enter(self, slot);
        Some(descent)
    }

    /// The paths of a session's ephemeral nodes, each with its place, from behind the place `after` on; none when that
    /// is of a tree that was replaced. In no order that means anything.
    pub fn ephemerals_behind(
        &self,
        id: SessionId,
        after: Option<EphemeralPlace>,
    ) -> impl Iterator<Item = (EphemeralPlace, String)> + '_ {
        self.ephemeral_places(id, after).map(|place| (place, self.path_of(place.slot)))
    }
}

impl Descent {
    /// Visits `work` nodes at the most, and takes from it what that cost.
    pub fn go_on(&mut self, tree: &Tree, work: &mut usize) -> Counted {
        if self.tree != tree.replacements {
            return Counted::Replaced;
        }
        if self.seen != tree.last_zxid() {
            self.leave_what_is_gone(tree, work);
            self.seen = tree.last_zxid();
        }
        while let Some(here) = self.levels.last() {
            if *work == 0 {
                return Counted::More;
            }
            *work -= 1;
            let below = tree.arena.node(here.slot).first_child;
            if below != NONE {
                self.visit(tree, below);
                continue;
            }
            let Some(beside) = self.climb(tree) else { return Counted::All(self.counted) };
            self.visit(tree, beside);
        }
        Counted::Gone
    }

    fn visit(&mut self, tree: &Tree, slot: Slot) {
        self.counted += 1;
        self.enter(tree, slot);
    }

    fn enter(&mut self, tree: &Tree, slot: Slot) {
        let czxid = tree.arena.node(slot).stat.czxid;
        self.levels.push(Level { slot, czxid, before: self.counted });
    }

    /// Leaves nodes all of whose children are counted, up to one with another beside it; `None` at the top.
    fn climb(&mut self, tree: &Tree) -> Option<Slot> {
        while self.levels.len() > 1 {
            let done = self.levels.pop()?;
            let beside = tree.arena.node(done.slot).next;
            if beside != NONE {
                return Some(beside);
            }
        }
        None
    }

    /// If a node on the path is gone, the children of its parent are counted again.
    fn leave_what_is_gone(&mut self, tree: &Tree, work: &mut usize) {
        // However deep it is, some of the work is left to go on with.
        *work = work.saturating_sub(self.levels.len() / 16).max((*work).min(WORK_LEFT_MIN));
        let is_there =
            |level: &Level| tree.arena.live(level.slot).is_some_and(|node| node.stat.czxid == level.czxid);
        if let Some(gone) = self.levels.iter().position(|level| !is_there(level)) {
            self.levels.truncate(gone);
            self.counted = self.levels.last().map_or(0, |level| level.before);
        }
    }
}
