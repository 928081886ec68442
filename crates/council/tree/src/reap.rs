//! Which containers and TTL nodes may go. The caller, which knows the time, decides when to remove them.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use base::WallTime;

use crate::Tree;
use crate::arena::Slot;
use crate::node::Owner;

/// The candidates, found without a look at the whole tree.
#[derive(Default)]
pub(crate) struct ReapIndex {
    /// Containers without children.
    idle: BTreeSet<Slot>,
    /// TTL nodes by the time after which they are due, in the unit of the Stat's `mtime`.
    due: BTreeSet<(i64, Slot)>,
}

impl ReapIndex {
    pub(crate) fn container_idle(&mut self, slot: Slot) {
        self.idle.insert(slot);
    }

    pub(crate) fn container_used(&mut self, slot: Slot) {
        self.idle.remove(&slot);
    }

    pub(crate) fn ttl_due(&mut self, mtime: i64, ttl_ms: i64, slot: Slot) {
        self.due.insert((mtime.saturating_add(ttl_ms), slot));
    }

    pub(crate) fn ttl_gone(&mut self, mtime: i64, ttl_ms: i64, slot: Slot) {
        self.due.remove(&(mtime.saturating_add(ttl_ms), slot));
    }
}

impl Tree {
    /// The paths of at most `limit` nodes that a reaper may remove now: containers that have lost their last child,
    /// those that never had one for `max_never_used_ms` (0: never), and childless TTL nodes not set for longer than
    /// their time to live.
    #[must_use]
    pub fn reapable(&self, now: WallTime, max_never_used_ms: i64, limit: usize) -> Vec<String> {
        let due = self.reap.due.range(..(now.ms(), 0)).map(|&(_, slot)| slot);
        let candidates = self.reap.idle.iter().copied().chain(due);
        candidates
            .filter(|&slot| self.may_reap(slot, now, max_never_used_ms))
            .take(limit)
            .map(|slot| self.path_of(slot))
            .collect()
    }

    /// Whether a node is a container or TTL node that is due.
    pub(crate) fn may_reap(&self, slot: Slot, now: WallTime, max_never_used_ms: i64) -> bool {
        let node = self.arena.node(slot);
        let idle_ms = now.since(WallTime::of_ms(node.stat.mtime));
        node.children == 0
            && match node.owner() {
                Owner::Container => {
                    node.stat.creations > 0 || max_never_used_ms != 0 && idle_ms > max_never_used_ms
                }
                Owner::Ttl(ttl_ms) => ttl_ms != 0 && idle_ms > ttl_ms,
                Owner::Nobody | Owner::Session(_) => false,
            }
    }
}
