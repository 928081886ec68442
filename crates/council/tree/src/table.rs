//! The one table from paths to slots: open addressing, in shards that grow one at a time and little by little, so that
//! growth causes no pause.
//!
//! An entry is 32 bits of the path's key and the slot; the caller checks whether the slot's path is really the one
//! looked for. Within a shard an entry's home is proportional to its hash, so growing moves entries forward in order.

use alloc::vec;
use alloc::vec::Vec;

use crate::arena::{NONE, Slot};
use crate::path::PathKey;

const SHARD_BITS: u32 = 10;

/// An entry: the slot below, the hash above. A slot of [`NONE`] marks a free place.
#[derive(Clone, Copy)]
struct Entry(u64);

impl Entry {
    const FREE: Self = Self(NONE as u64);

    const fn new(hash: u32, slot: Slot) -> Self {
        Self((hash as u64) << 32 | slot as u64)
    }

    const fn slot(self) -> Slot {
        self.0 as Slot
    }

    const fn hash(self) -> u32 {
        (self.0 >> 32) as u32
    }

    const fn is_free(self) -> bool {
        self.slot() == NONE
    }
}

#[derive(Clone, Default)]
struct Shard {
    places: Vec<Entry>,
    len: usize,
}

impl Shard {
    #[inline]
    const fn home(&self, hash: u32) -> usize {
        ((hash as u64 * self.places.len() as u64) >> 32) as usize
    }

    #[inline]
    const fn after(&self, place: usize) -> usize {
        if place + 1 == self.places.len() { 0 } else { place + 1 }
    }

    #[inline]
    fn find(&self, hash: u32, mut is_it: impl FnMut(Slot) -> bool) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let mut place = self.home(hash);
        loop {
            let entry = self.places[place];
            if entry.is_free() {
                return None;
            }
            if entry.hash() == hash && is_it(entry.slot()) {
                return Some(place);
            }
            place = self.after(place);
        }
    }

    fn insert(&mut self, entry: Entry) {
        if (self.len + 1) * 5 > self.places.len() * 4 {
            self.grow(self.len + 1);
        }
        self.place(entry);
        self.len += 1;
    }

    fn fill(&mut self, entries: &[Entry], is_same: impl Fn(Slot, Slot) -> bool) -> bool {
        if !entries.is_empty() {
            self.grow(self.len + entries.len());
        }
        for entry in entries {
            if self.find(entry.hash(), |other| is_same(entry.slot(), other)).is_some() {
                return false;
            }
            self.place(*entry);
            self.len += 1;
        }
        true
    }

    fn place(&mut self, entry: Entry) {
        let mut place = self.home(entry.hash());
        while !self.places[place].is_free() {
            place = self.after(place);
        }
        self.places[place] = entry;
    }

    /// Room for `needed` entries and a quarter more.
    fn grow(&mut self, needed: usize) {
        let capacity = (needed * 25 / 16).max(8);
        let mut places = Vec::with_capacity(capacity);
        places.resize(capacity, Entry::FREE);
        let old = core::mem::replace(&mut self.places, places);
        for entry in old {
            if !entry.is_free() {
                self.place(entry);
            }
        }
    }

    /// Frees a place and moves up what had to step aside for it.
    fn remove_at(&mut self, mut hole: usize) {
        let mut place = hole;
        loop {
            place = self.after(place);
            let entry = self.places[place];
            if entry.is_free() {
                break;
            }
            let home = self.home(entry.hash());
            // It may move to the hole unless its home lies behind the hole, seen around the ring.
            let stays =
                if hole <= place { hole < home && home <= place } else { hole < home || home <= place };
            if !stays {
                self.places[hole] = entry;
                hole = place;
            }
        }
        self.places[hole] = Entry::FREE;
        self.len -= 1;
    }
}

/// The table.
pub(crate) struct Table {
    shards: Vec<Shard>,
}

impl Table {
    pub(crate) fn new() -> Self {
        let mut shards = Vec::new();
        shards.resize(1 << SHARD_BITS, Shard::default());
        Self { shards }
    }

    #[inline]
    const fn split(PathKey(key): PathKey) -> (usize, u32) {
        ((key >> (64 - SHARD_BITS)) as usize, key as u32)
    }

    /// Finds the slot of that key for which `is_it` holds.
    #[inline]
    pub(crate) fn find(&self, key: PathKey, is_it: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let (shard, hash) = Self::split(key);
        let shard = &self.shards[shard];
        shard.find(hash, is_it).map(|place| shard.places[place].slot())
    }

    /// What lies where the search for that key begins.
    #[inline]
    pub(crate) fn home(&self, key: PathKey) -> Option<u64> {
        let (shard, hash) = Self::split(key);
        let shard = &self.shards[shard];
        shard.places.get(shard.home(hash)).map(|entry| entry.0)
    }

    pub(crate) fn insert(&mut self, key: PathKey, slot: Slot) {
        let (shard, hash) = Self::split(key);
        self.shards[shard].insert(Entry::new(hash, slot));
    }

    pub(crate) fn remove(&mut self, key: PathKey, slot: Slot) {
        let (shard, hash) = Self::split(key);
        let shard = &mut self.shards[shard];
        let place = shard.find(hash, |found| found == slot).expect("a node that is removed is in the table");
        shard.remove_at(place);
    }

    /// Enters many at once: slots from `first` on, with these keys. Shard by shard, because a shard fits into the
    /// processor's cache and the table does not. False, with the table of no more use, when two of them are the same
    /// to `is_same`.
    pub(crate) fn fill(
        &mut self,
        first: Slot,
        keys: impl ExactSizeIterator<Item = PathKey> + Clone,
        is_same: impl Fn(Slot, Slot) -> bool,
    ) -> bool {
        let mut ends = vec![0_usize; self.shards.len()];
        for key in keys.clone() {
            ends[Self::split(key).0] += 1;
        }
        let mut begin = 0;
        for end in &mut ends {
            begin += core::mem::replace(end, begin);
        }
        let mut entries = vec![Entry::FREE; keys.len()];
        for (slot, key) in (first..).zip(keys) {
            let (shard, hash) = Self::split(key);
            entries[ends[shard]] = Entry::new(hash, slot);
            ends[shard] += 1;
        }
        let mut begin = 0;
        self.shards.iter_mut().zip(ends).all(|(shard, end)| {
            let entries = &entries[core::mem::replace(&mut begin, end)..end];
            shard.fill(entries, &is_same)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence of numbers that look random, the same each time.
    fn scramble(number: u64) -> u64 {
        (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn what_went_in_is_found_until_it_is_removed() {
        let mut table = Table::new();
        // Few distinct hashes in one shard: long runs, many collisions, wrap-around.
        let hash = |slot: Slot| PathKey(scramble(u64::from(slot) / 3) & 0xffff_ffff);
        for slot in 0..3000 {
            table.insert(hash(slot), slot);
        }
        for round in 0..3000 {
            let slot = (scramble(round) % 3000) as Slot;
            if table.find(hash(slot), |found| found == slot).is_some() {
                table.remove(hash(slot), slot);
                assert_eq!(table.find(hash(slot), |found| found == slot), None);
            } else {
                table.insert(hash(slot), slot);
            }
        }
        let left = (0..3000).filter(|&slot| table.find(hash(slot), |found| found == slot).is_some()).count();
        assert_eq!(left, table.shards[0].len);
        assert_eq!(left, table.shards[0].places.iter().filter(|entry| !entry.is_free()).count());
    }

    #[test]
    fn what_was_filled_in_at_once_is_found_and_a_double_is_noticed() {
        let hashes: Vec<_> = (0..5000).map(|number| PathKey(scramble(number))).collect();
        let mut table = Table::new();
        assert!(table.fill(3, hashes.iter().copied(), |_, _| false));
        table.insert(PathKey(scramble(5000)), 2);
        for (slot, hash) in (3..).zip(&hashes) {
            assert_eq!(table.find(*hash, |found| found == slot), Some(slot));
        }
        assert_eq!(table.find(PathKey(scramble(5000)), |_| true), Some(2));
        let doubled = [hashes[0], hashes[1], hashes[0]];
        assert!(!Table::new().fill(0, doubled.into_iter(), |one, other| (one, other) == (2, 0)));
        assert!(Table::new().fill(0, doubled.into_iter(), |_, _| false), "two paths may have one hash");
    }
}
