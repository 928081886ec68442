//! What lies below each quota: counted as it changes, and written into `zookeeper_stats` once a transaction.
//!
//! A transaction may change a million things below one quota, and the text that says so may be a megabyte of its
//! client's making. So differences are added up as numbers, and each text is read once and written once, at the end.

use alloc::string::ToString;

use crate::Tree;
use crate::arena::{ROOT, Slot};
use crate::path::{PathHash, ZOOKEEPER};
use crate::track::Track;

/// What the running transaction has changed below one quota.
pub(crate) struct Pending {
    /// That of the stats node's path.
    hash: PathHash,
    bytes: i64,
    count: i64,
}

impl Tree {
    /// Notes a change below the quota above a path.
    pub(crate) fn count_for_quota(&mut self, path: &str, bytes: i64, count: i64) {
        let Some((slot, hash)) = self.stats_above(path) else { return };
        if self.track(slot).is_none() {
            return;
        }
        let pending = self.quotas.pending.entry(slot).or_insert(Pending { hash, bytes: 0, count: 0 });
        pending.bytes = pending.bytes.wrapping_add(bytes);
        pending.count = pending.count.wrapping_add(count);
    }

    /// Writes what the transaction has changed into the stats nodes. Only their data changes: no version, no time, no
    /// event.
    pub(crate) fn write_usage(&mut self) {
        while let Some((slot, Pending { hash, bytes, count })) = self.quotas.pending.pop_first() {
            let Some(Some(mut track)) = self.quotas.tracks.remove(&slot) else { continue };
            track.add(bytes, count);
            self.write_track(slot, hash, track);
        }
    }

    /// Counts again what lies below a path, when its stats node is created.
    pub(crate) fn recount_quota(&mut self, counted: &str) {
        let Some((slot, hash)) = self.stats_of(counted) else { return };
        let top = self.key_of(counted).and_then(|key| self.find(counted, key));
        let (mut count, mut bytes) = (0, 0);
        if let Some(top) = top {
            let weight = self.weigh(top);
            (count, bytes) = (weight.nodes, weight.bytes);
            if counted.starts_with(ZOOKEEPER) {
                bytes += self.unwritten_bytes_below(top);
            }
        }
        self.write_track(slot, hash, Track::of_usage(count, bytes));
    }

    /// How long the data in a slot is once the transaction is over, if nothing else changes it.
    pub(crate) fn length_of(&self, slot: Slot) -> i64 {
        let stored = self.arena.node(slot).value.len() as i64;
        match (self.quotas.pending.get(&slot), self.quotas.tracks.get(&slot)) {
            (Some(pending), Some(Some(track))) => track.len_after(pending.bytes, pending.count) as i64,
            _ => stored,
        }
    }

    /// By how much stats nodes below a node will grow when their texts are written.
    fn unwritten_bytes_below(&mut self, top: Slot) -> i64 {
        let (mut bytes, mut climbed) = (0, 0);
        for &slot in self.quotas.pending.keys() {
            let mut up = slot;
            while up != top && up != ROOT {
                up = self.arena.node(up).parent;
                climbed += 1;
            }
            if up == top {
                bytes += self.length_of(slot) - self.arena.node(slot).value.len() as i64;
            }
        }
        self.work.nodes(climbed);
        bytes
    }

    fn write_track(&mut self, slot: Slot, hash: PathHash, track: Track) {
        let text = track.to_string();
        self.work.text_written(text.len());
        self.displace(slot);
        let before = self.term(slot, hash);
        let mtime = self.arena.node(slot).stat.mtime;
        self.replace_data(slot, mtime, |node| node.set_data(Some(text.as_bytes())));
        self.terms = self.terms.wrapping_sub(before).wrapping_add(self.term(slot, hash));
        self.quotas.tracks.insert(slot, Some(track));
    }
}
