//! The digest of the records: the sum of their terms, whatever the order in which they came to be what they are.
//!
//! A short record's term is exchanged as the record changes. That of a long one is taken out of the sum at its first change, and is
//! worked out when the sum is asked for: most of what users' modules write they write again and again. One that is left alone for a
//! while comes in again. Until then nobody would see if a long record changed by itself; that shows as a difference from the other
//! members.

use std::collections::BTreeMap;

use twox_hash::XxHash3_64;

use crate::key::Key;
use crate::records::{Page, Records, as_page};

/// Bytes from which on a record is long: hashing it takes longer than remembering its key.
const LONG: usize = 1024;

/// Whether a record is held to be long: pages all are, however much they have of their own.
fn is_long(key: &Key, value: &[u8]) -> bool {
    value.len() >= LONG || as_page(key).is_some()
}
/// Long records whose terms are out of the sum at the end of a command, at the most.
const OUTSTANDING_MAX: usize = 256;
/// Commands behind which a long record that none of them has changed comes in, at the next multiple of it: the sum is asked for about
/// as often.
const LEFT_ALONE: u64 = 128;

/// A record that is removed is not out any more.
const IS_THERE: &str = "a record that is out is there";

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
        if is_long(key, value) {
            self.outstanding.insert(key.clone(), self.commands);
        } else {
            self.terms = self.terms.wrapping_add(term(key, value));
        }
    }

    pub(crate) fn removed(&mut self, key: &Key, old: &[u8]) {
        if !is_long(key, old) || self.outstanding.remove(key).is_none() {
            self.terms = self.terms.wrapping_sub(term(key, old));
        }
    }

    pub(crate) fn replaced(&mut self, key: &Key, old: &[u8], new: &[u8]) {
        match (is_long(key, old), is_long(key, new)) {
            (false, false) => {
                let key = XxHash3_64::oneshot(key);
                let [old, new] = [old, new].map(|value| XxHash3_64::oneshot_with_seed(key, value));
                self.terms = self.terms.wrapping_sub(old).wrapping_add(new);
            }
            (true, true) => self.changes(key, old),
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

    /// A page is about to change. One that was told of a short while ago is still out.
    pub(crate) fn page_changes(&mut self, key: &Key, page: &mut Page) {
        if page.told == 0 || page.told + LEFT_ALONE / 2 < self.commands {
            self.changes(key, &page.bytes);
            page.told = self.commands;
        }
    }

    /// The sum of the terms of all records, which are these.
    pub(crate) fn terms(&self, records: &Records) -> u64 {
        let terms = self.outstanding.keys().map(|key| term(key, records.get(key).expect(IS_THERE)));
        terms.fold(self.terms, u64::wrapping_add)
    }

    /// A command has ended. If many terms are out, they come in; else those of records that are left alone.
    pub(crate) fn bound(&mut self, records: &Records) {
        self.commands += 1;
        if self.outstanding.len() > OUTSTANDING_MAX {
            self.terms = self.terms(records);
            self.outstanding.clear();
            // What pages were told of is long ago.
            self.commands += LEFT_ALONE;
        } else if self.commands.is_multiple_of(LEFT_ALONE) {
            let Self { terms, outstanding, commands } = self;
            outstanding.retain(|key, last| {
                let stays = *last + LEFT_ALONE > *commands;
                if !stays {
                    *terms = terms.wrapping_add(term(key, records.get(key).expect(IS_THERE)));
                }
                stays
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;
    use std::ops::Bound;

    /// The sum of records that were never others.
    fn fresh(records: &Records) -> u64 {
        let records = records.range(Bound::Unbounded, Bound::Unbounded);
        records.fold(0, |all, (key, value)| all.wrapping_add(term(key, value)))
    }

    fn long(byte: u8) -> Box<[u8]> {
        vec![byte; LONG].into()
    }

    /// A store of records that are changed in all ways between short and long; the sum is that of a store into which they were put.
    #[test]
    fn sum_is_that_of_the_records_whatever_became_of_them() {
        let lengths = [0, 1, LONG - 1, LONG, LONG + 1, 4096];
        let (mut sum, mut records) = (Sum::default(), Records::default());
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
            assert_eq!(sum.terms(&records), fresh(&records), "step {step}");
        }
    }

    #[test]
    fn term_of_a_record_that_is_left_alone_comes_in() {
        let (mut sum, mut records) = (Sum::default(), Records::default());
        let keys = [1_u8, 2].map(|number| Key::from(&[number][..]));
        for key in &keys {
            sum.added(key, &long(0));
            records.insert(key.clone(), long(0));
        }
        for number in 1..=3 * LEFT_ALONE {
            sum.changes(&keys[0], records.get(&keys[0]).unwrap());
            records.get_mut(&keys[0]).unwrap()[0] = number as u8;
            sum.bound(&records);
            assert_eq!(sum.terms(&records), fresh(&records), "command {number}");
        }
        assert_eq!(sum.outstanding.keys().collect::<Vec<_>>(), [&keys[0]]);
    }

    /// Pages that change more and less often than they are told of, beside so many other long records that all come in now and then.
    #[test]
    fn sum_is_that_of_pages_however_often_they_change() {
        let (mut sum, mut records) = (Sum::default(), Records::default());
        let table = key::entry(7, key::table::OWN, &[]);
        records.gather(&table);
        let periods = [1, 2, 50, LEFT_ALONE / 2, LEFT_ALONE / 2 + 1, LEFT_ALONE - 1, LEFT_ALONE, 300];
        for number in 0..periods.len() as u32 {
            sum.added(&table.numbered(number), &long(0));
            records.insert(table.numbered(number), long(0));
        }
        for command in 1..3_000 {
            for (number, _) in (0..).zip(periods).filter(|(_, period)| command % period == 0) {
                let page = records.table_mut(&table).and_then(|pages| pages.page_mut(number)).unwrap();
                sum.page_changes(&table.numbered(number), page);
                page.bytes[0] = command as u8;
            }
            if command > 1_500 {
                let key = Key::from(&command.to_be_bytes()[..]);
                sum.added(&key, &long(1));
                records.insert(key, long(1));
            }
            sum.bound(&records);
            assert_eq!(sum.terms(&records), fresh(&records), "command {command}");
        }
    }

    #[test]
    fn terms_that_are_out_are_bounded() {
        let (mut sum, mut records) = (Sum::default(), Records::default());
        for number in 0..1_000_u32 {
            let key = Key::from(&number.to_be_bytes()[..]);
            sum.added(&key, &long(1));
            records.insert(key, long(1));
            sum.bound(&records);
            assert!(sum.outstanding.len() <= OUTSTANDING_MAX);
        }
        assert_eq!(sum.terms(&records), fresh(&records));
    }
}
