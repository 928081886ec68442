//! The digest of the records: the sum of their terms, whatever the order in which they came to be what they are.
//!
//! A short record's term is exchanged as the record changes. That of a long one is taken out of the sum at its first change, and is
//! worked out when the sum is asked for: most of what users' modules write they write again and again. One that is left alone for a
//! while comes in again. Until then nobody would see if a long record changed by itself; that shows as a difference from the other
//! members.

use std::collections::BTreeMap;

use twox_hash::XxHash3_64;

use crate::key::Key;
use crate::walk::walk_mut;

/// Bytes from which on a record is long: hashing it takes longer than remembering its key.
const LONG: usize = 1024;
/// Long records whose terms are out of the sum at the end of a command, at the most.
const OUTSTANDING_MAX: usize = 256;
/// Commands behind which a long record that none of them has changed comes in, at the next multiple of it: the sum is asked for about
/// as often.
const LEFT_ALONE: u64 = 128;

/// What a record adds to the sum.
pub(crate) fn term(key: &[u8], value: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(key), value)
}

/// See the module.
#[derive(Default)]
pub(crate) struct Sum {
    terms: u64,
    /// Long records that are there and whose terms are not in it, with the command that has changed them last.
    outstanding: BTreeMap<Key, u64>,
    /// How many commands have ended.
    commands: u64,
}

impl Sum {
    pub(crate) fn added(&mut self, key: &Key, value: &[u8]) {
        if value.len() >= LONG {
            self.outstanding.insert(key.clone(), self.commands);
        } else {
            self.terms = self.terms.wrapping_add(term(key, value));
        }
    }

    pub(crate) fn removed(&mut self, key: &Key, old: &[u8]) {
        if old.len() < LONG || self.outstanding.remove(key).is_none() {
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
        if let Some(last) = self.outstanding.get_mut(key) {
            *last = self.commands;
            return;
        }
        self.terms = self.terms.wrapping_sub(term(key, old));
        self.outstanding.insert(key.clone(), self.commands);
    }

    /// Long records are about to change, and stay long: their keys come in order.
    pub(crate) fn change_some<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a Key>,
        records: &BTreeMap<Key, Box<[u8]>>,
    ) {
        let (mut more, commands) = (Vec::new(), self.commands);
        walk_mut(&mut self.outstanding, keys.map(|key| (key, key)), |_, key, last| match last {
            Some(last) => *last = commands,
            None => more.push(key),
        });
        for key in more {
            if let Some(old) = records.get(key) {
                self.changes(key, old);
            }
        }
    }

    /// The sum of the terms of all records, which are these.
    pub(crate) fn terms(&self, records: &BTreeMap<Key, Box<[u8]>>) -> u64 {
        let terms = self.outstanding.keys().map(|key| term(key, &records[key]));
        terms.fold(self.terms, u64::wrapping_add)
    }

    /// A command has ended. If many terms are out, they come in; else those of records that are left alone.
    pub(crate) fn bound(&mut self, records: &BTreeMap<Key, Box<[u8]>>) {
        self.commands += 1;
        if self.outstanding.len() > OUTSTANDING_MAX {
            self.terms = self.terms(records);
            self.outstanding.clear();
        } else if self.commands.is_multiple_of(LEFT_ALONE) {
            let Self { terms, outstanding, commands } = self;
            outstanding.retain(|key, last| {
                let stays = *last + LEFT_ALONE > *commands;
                if !stays {
                    *terms = terms.wrapping_add(term(key, &records[key]));
                }
                stays
            });
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
    fn term_of_a_record_that_is_left_alone_comes_in() {
        let (mut sum, mut records) = (Sum::default(), BTreeMap::new());
        let keys = [1_u8, 2].map(|number| Key::from(&[number][..]));
        for key in &keys {
            records.insert(key.clone(), vec![0; LONG].into_boxed_slice());
            sum.added(key, &records[key]);
        }
        for number in 1..=3 * LEFT_ALONE {
            sum.changes(&keys[0], &records[&keys[0]]);
            records.get_mut(&keys[0]).unwrap()[0] = number as u8;
            sum.bound(&records);
            let fresh = records.iter().fold(0, |all: u64, (key, value)| all.wrapping_add(term(key, value)));
            assert_eq!(sum.terms(&records), fresh, "command {number}");
        }
        assert_eq!(sum.outstanding.keys().collect::<Vec<_>>(), [&keys[0]]);
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
