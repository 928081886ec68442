//! The snapshots that are held, newest last.

use crate::batch::SnapshotMeta;
use alloc::vec::Vec;

/// What is known of the snapshot files in the directory. Never without the newest good one.
#[derive(Default)]
pub(crate) struct Shelf {
    /// Good snapshots, by ascending index.
    good: Vec<SnapshotMeta>,
    /// Files passed over at the start because they are damaged. They stay until a newer good one is there, for
    /// somebody may want to look at them.
    damaged: Vec<u64>,
}

impl Shelf {
    pub(crate) fn new(mut good: Vec<SnapshotMeta>, damaged: Vec<u64>) -> Self {
        good.sort_by_key(|meta| meta.index);
        Shelf { good, damaged }
    }

    pub(crate) fn newest(&self) -> Option<&SnapshotMeta> {
        self.good.last()
    }

    pub(crate) fn oldest_index(&self) -> u64 {
        self.good.first().map_or(0, |meta| meta.index)
    }

    pub(crate) fn len(&self) -> usize {
        self.good.len()
    }

    /// Takes in a snapshot newer than all others.
    pub(crate) fn put(&mut self, meta: SnapshotMeta) {
        self.damaged.retain(|index| *index != meta.index);
        self.good.push(meta);
    }

    /// Takes out what is neither among the `keep` newest nor at or above `useful_from`, and damaged files that a
    /// newer good one has replaced. Returns their indexes.
    pub(crate) fn purge(&mut self, keep: usize, useful_from: u64) -> Vec<u64> {
        let newest = self.newest().map_or(0, |meta| meta.index);
        let surplus = self.good.len().saturating_sub(keep.max(1));
        let useless = self.good.iter().filter(|meta| meta.index < useful_from.min(newest)).count();
        let mut purged: Vec<u64> = self.good.drain(..surplus.max(useless)).map(|meta| meta.index).collect();
        purged.extend(self.damaged.extract_if(.., |index| *index < newest));
        purged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn meta(index: u64) -> SnapshotMeta {
        SnapshotMeta { index, ..SnapshotMeta::default() }
    }

    #[test]
    fn the_newest_good_one_is_never_purged() {
        let mut shelf = Shelf::new(vec![meta(30), meta(10), meta(20)], vec![40]);
        assert_eq!(shelf.purge(2, 0), vec![10]);
        assert_eq!(shelf.purge(0, 100), vec![20]);
        assert_eq!(shelf.newest().map(|meta| meta.index), Some(30));
        shelf.put(meta(50));
        assert_eq!(shelf.purge(9, 0), vec![40]);
        assert_eq!((shelf.oldest_index(), shelf.len()), (30, 2));
    }
}
