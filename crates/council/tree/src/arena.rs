//! Where the records lie: in pages that never move, each record addressed by a 32-bit slot.
//!
//! Slots are local to this member: no result and no digest depends on which one a node got.

use alloc::vec::Vec;

use crate::node::{Name, Node, NodeStat, Value};

/// A record's place.
pub(crate) type Slot = u32;

/// No slot; as a parent it marks a vacant record.
pub(crate) const NONE: Slot = u32::MAX;

/// The root's slot. It is its own parent.
pub(crate) const ROOT: Slot = 0;

const PAGE_BITS: u32 = 9;
const PAGE: usize = 1 << PAGE_BITS;

/// All records.
pub(crate) struct Arena {
    pages: Vec<Vec<Node>>,
    /// The first vacant slot; the others follow in `next`. The last one vacated comes first: undoing depends on it.
    vacant: Slot,
    end: Slot,
    live: usize,
}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self { pages: Vec::new(), vacant: NONE, end: 0, live: 0 }
    }

    /// How many records are in use.
    pub(crate) const fn len(&self) -> usize {
        self.live
    }

    /// One more than the highest slot ever used.
    pub(crate) const fn end(&self) -> Slot {
        self.end
    }

    #[inline]
    pub(crate) fn node(&self, slot: Slot) -> &Node {
        &self.pages[(slot >> PAGE_BITS) as usize][slot as usize & (PAGE - 1)]
    }

    #[inline]
    pub(crate) fn node_mut(&mut self, slot: Slot) -> &mut Node {
        &mut self.pages[(slot >> PAGE_BITS) as usize][slot as usize & (PAGE - 1)]
    }

    /// The record there, if it is in use.
    pub(crate) fn live(&self, slot: Slot) -> Option<&Node> {
        let page = self.pages.get((slot >> PAGE_BITS) as usize)?;
        page.get(slot as usize & (PAGE - 1)).filter(|node| node.parent != NONE)
    }

    pub(crate) fn insert(&mut self, node: Node) -> Slot {
        self.live += 1;
        if self.vacant != NONE {
            let slot = self.vacant;
            let place = self.node_mut(slot);
            let next = place.next;
            *place = node;
            self.vacant = next;
            return slot;
        }
        let slot = self.end;
        assert!(slot != NONE, "fewer than four billion nodes");
        if slot as usize & (PAGE - 1) == 0 {
            self.pages.push(Vec::with_capacity(PAGE));
        }
        self.pages[(slot >> PAGE_BITS) as usize].push(node);
        self.end += 1;
        slot
    }

    pub(crate) fn remove(&mut self, slot: Slot) -> Node {
        let mut vacant = Node::new(NONE, Name::new(""), NodeStat::default(), Value::Null);
        vacant.next = self.vacant;
        self.vacant = slot;
        self.live -= 1;
        core::mem::replace(self.node_mut(slot), vacant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_beyond_the_end_is_not_in_use() {
        let mut arena = Arena::new();
        let node = || Node::new(ROOT, Name::new(""), NodeStat::default(), Value::Null);
        let slots: Vec<Slot> = (0..3).map(|_| arena.insert(node())).collect();
        arena.remove(slots[1]);
        let live = |slot| arena.live(slot).is_some();
        assert_eq!([0, 1, 2, 3, 512, NONE].map(live), [true, false, true, false, false, false]);
    }
}
