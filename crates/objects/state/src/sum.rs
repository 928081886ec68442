//! The digest of the records: the sum of their terms, whatever the order in which they came to be what they are.
//!
//! A short record's term is exchanged as the record changes. That of a long one is taken out of the sum at its first change, and is
//! worked out when the sum is asked for: most of what users' modules write they write again and again. Until then nobody
//! would see if a long record changed by itself; that shows as a difference from the other members.

use std::collections::{BTreeMap, BTreeSet};

use twox_hash::XxHash3_64;

use crate::key::Key;
use crate::walk::walk_set;

/// Bytes from which on a record is long: hashing it takes longer than remembering its key.
const LONG: usize = 1024;
/// Long records whose terms are out of the sum at the end of a command, at the most.
const OUTSTANDING_MAX: usize = 256;

/// What a record adds to the sum.
pub(crate) fn term(key: &[u8], value: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(key), value)
}

/// See the module.
#[derive(Default)]
pub(crate) struct Sum {
    terms: u64,
    /// Long records that are there and whose terms are not in it.
    outstanding: BTreeSet<Key>,
}

impl Sum {
    pub(crate) fn added(&mut self, key: &Key, value: &[u8]) {
        if value.len() >= LONG {
            self.outstanding.insert(key.clone());
        } else {
            self.terms = self.terms.wrapping_add(term(key, value));
        }
    }

    pub(crate) fn removed(&mut self, key: &Key, old: &[u8]) {
        if old.len() < LONG || !self.outstanding.remove(key) {
            self.terms = self.terms.wrapping_sub(term(key, old));
        }
    }

    pub(crate) fn replaced(&mut self, key: &Key, old: &[u8], new: &[u8]) {
        match (old.len() < LONG, new.len() < LONG) {
            (true, true) => {
                let key = XxHash3_64::oneshot(key);
                let [old, new] = [old, new].map(|value| XxHash3_64::oneshot_with_seed(key, value));
                self.terms = self.terms.wrapping_sub(old).wrapping_add(new);
            }
            (false, false) => self.changes(key, old),
            _ => {
                self.removed(key, old);
                self.added(key, new);
            }
        }
    }

    /// A long record is about to change, and stays long.
    pub(crate) fn changes(&mut self, key: &Key, old: &[u8]) {
        if !self.outstanding.contains(key) {
            self.terms = self.terms.wrapping_sub(term(key, old));
            self.outstanding.insert(key.clone());
        }
    }

    /// Long records are about to change, and stay long: their keys come in order.
    pub(crate) fn change_some<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a Key>,
        records: &BTreeMap<Key, Box<[u8]>>,
    ) {
        let mut more = Vec::new();
        walk_set(&self.outstanding, keys, |key, is_out| {
            if !is_out {
                more.push(key);
            }
        });
        for key in more {
            if let Some(old) = records.get(key) {
                self.changes(key, old);
            }
        }
    }

    /// The sum of the terms of all records, which are these.
    pub(crate) fn terms(&self, records: &BTreeMap<Key, Box<[u8]>>) -> u64 {
        let terms = self.outstanding.iter().map(|key| term(key, &records[key]));
        terms.fold(self.terms, u64::wrapping_add)
    }

    /// A command has ended: if many terms are out, they come in.
    pub(crate) fn bound(&mut self, records: &BTreeMap<Key, Box<[u8]>>) {
        if self.outstanding.len() > OUTSTANDING_MAX {
            self.terms = self.terms(records);
            self.outstanding.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A store of records that are changed in all ways between short and long; the sum is that of a store into which they were put.
    #[test]
    fn sum_is_that_of_the_records_whatever_became_of_them() {
        let lengths = [0, 1, LONG - 1, LONG, LONG + 1, 4096];
        let (mut sum, mut records) = (Sum::default(), BTreeMap::<Key, Box<[u8]>>::new());
        let mut seed = 1_u64;
        for step in 0..4_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = Key::from(&[(seed >> 33) as u8 % 7][..]);
            let value =
                vec![(seed >> 41) as u8; lengths[(seed >> 49) as usize % lengths.len()]].into_boxed_slice();
            let is_removed = (seed >> 57).is_multiple_of(4);
            match (records.get(&key), is_removed) {
                (Some(old), true) => {
                    sum.removed(&key, old);
                    records.remove(&key);
                }
                (Some(old), false) => {
                    sum.replaced(&key, old, &value);
                    records.insert(key, value);
                }
                (None, _) => {
                    sum.added(&key, &value);
                    records.insert(key, value);
                }
            }
            if step % 100 == 0 {
                sum.terms = sum.terms(&records);
                sum.outstanding.clear();
            }
            let fresh = records.iter().fold(0, |all: u64, (key, value)| all.wrapping_add(term(key, value)));
            assert_eq!(sum.terms(&records), fresh, "step {step}");
        }
    }

    #[test]
    fn terms_that_are_out_are_bounded() {
        let (mut sum, mut records) = (Sum::default(), BTreeMap::new());
        for number in 0..1_000_u32 {
            let (key, value) = (Key::from(&number.to_be_bytes()[..]), vec![1; LONG].into_boxed_slice());
            sum.added(&key, &value);
            records.insert(key, value);
            sum.bound(&records);
            assert!(sum.outstanding.len() <= OUTSTANDING_MAX);
        }
        let fresh = records.iter().fold(0, |all: u64, (key, value)| all.wrapping_add(term(key, value)));
        assert_eq!(sum.terms(&records), fresh);
    }
}
