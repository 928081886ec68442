//! From a path's hash to its number, in a hash table that grows a piece at a time: a table that grows as a whole would
//! stop a shard and all its clients for seconds once it holds millions of paths.
//!
//! This is linear hashing: many small tables, and whenever all together hold more than they should, the next in turn is
//! split in two. Knows no path: the caller compares paths, and hashes moved paths again.

use hashbrown::HashTable;

/// How many numbers a table holds on average before the next one is split: a table of one bucket in two used, twice
/// as many in one that waits for its turn.
const PER_TABLE: usize = 1500;
/// Which bits of a hash choose a table: not those that choose the place within it, or its tag there.
const TABLE_SHIFT: u32 = 24;

/// Numbers by the hashes of what they stand for.
#[derive(Debug)]
pub(crate) struct PathIndex {
    /// At least one.
    tables: Vec<HashTable<u32>>,
    len: usize,
}

impl PathIndex {
    pub(crate) fn new() -> Self {
        Self { tables: vec![HashTable::new()], len: 0 }
    }

    /// Adds a number that is not there. `hash_of` gives the hash of any number that is.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        if self.len >= self.tables.len() * PER_TABLE {
            self.split(&hash_of);
        }
        let at = place(hash, self.tables.len());
        if let Some(table) = self.tables.get_mut(at) {
            table.insert_unique(hash, number, |number| hash_of(*number));
            self.len += 1;
        }
    }

    /// Takes a number out, if it is there.
    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let at = place(hash, self.tables.len());
        let table = self.tables.get_mut(at);
        if let Some(Ok(found)) = table.map(|table| table.find_entry(hash, |other| *other == number)) {
            found.remove();
            self.len -= 1;
        }
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        self.tables.get(place(hash, self.tables.len()))?.find(hash, |number| is_it(*number)).copied()
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Splits the table whose turn it is: its numbers stay, or go to the new last one.
    fn split(&mut self, hash_of: &impl Fn(u32) -> u64) {
        let new = self.tables.len();
        let turn = new - (1 << new.ilog2());
        let numbers = self.tables.get_mut(turn).map(core::mem::take).unwrap_or_default();
        self.tables.push(HashTable::new());
        for number in numbers {
            let hash = hash_of(number);
            if let Some(table) = self.tables.get_mut(place(hash, new + 1)) {
                table.insert_unique(hash, number, |number| hash_of(*number));
            }
        }
    }
}

/// Which of so many tables holds this hash.
#[inline]
const fn place(hash: u64, tables: usize) -> usize {
    let bits = (hash >> TABLE_SHIFT) as usize;
    let mask = tables.next_power_of_two() - 1;
    let at = bits & mask;
    // Those that are not there yet are still in the one that will be split for them.
    if at < tables { at } else { at & (mask >> 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(number: u32) -> u64 {
        (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    }

    #[test]
    fn what_was_put_in_is_found_however_often_it_grew() {
        let mut index = PathIndex::new();
        for number in 0..100_000 {
            index.insert(hash_of(number), number, hash_of);
        }
        assert_eq!(index.len(), 100_000);
        assert!(index.tables.len() > 60 && index.tables.iter().all(|table| table.len() < 4 * PER_TABLE));
        let find = |index: &PathIndex, number| index.find(hash_of(number), |other| other == number);
        assert!((0..100_000).all(|number| find(&index, number) == Some(number)));
        assert_eq!(find(&index, 100_000), None);
        for number in (0..100_000).step_by(2) {
            index.remove(hash_of(number), number);
            index.remove(hash_of(number), number);
        }
        assert_eq!(index.len(), 50_000);
        assert!((0..100_000).all(|number| find(&index, number) == (number % 2 == 1).then_some(number)));
    }
}
