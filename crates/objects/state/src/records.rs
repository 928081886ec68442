//! Where records lie: in a tree, by their keys. The pages of an object of a user's type may lie in a table of their own, because
//! each call looks at many of one object: finding one there takes a few comparisons of numbers that lie next to each other.
//!
//! A table stands in the tree under the key that its pages' keys begin with, so what is asked by ranges comes in the order of
//! all keys. Of a space that has a table all pages lie in it. Which spaces have one shows in nothing but time.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::vec_deque::{self, VecDeque};
use std::ops::Bound;

use crate::key::{ENTRY_HEAD, Key, kind, table};

/// What a record holds.
pub(crate) type Value = Box<[u8]>;

/// Bytes of a page's key: that of its table, and its number.
const PAGE_KEY: usize = ENTRY_HEAD + size_of::<u32>();

/// What stands in the tree.
enum Slot {
    Record(Value),
    Table(Box<Table>),
}

/// Most records are short, and there are many of them.
const _: () = assert!(size_of::<Slot>() == size_of::<Value>());

/// Places that are remembered.
const HINTS: usize = 64;

/// The pages of an object, by their numbers. Both lists are in the same order.
pub(crate) struct Table {
    numbers: Vec<u32>,
    /// Where an object goes, they go from the front on.
    pages: VecDeque<Page>,
    /// Where a page of such a number, but for its higher bits, was found last: calls write the same ones again and again.
    hints: [u16; HINTS],
}

/// A page.
pub(crate) struct Page {
    key: [u8; PAGE_KEY],
    pub(crate) bytes: Value,
    /// For the digest: when it was told last that this page changes.
    pub(crate) told: u64,
}

impl Default for Table {
    fn default() -> Self {
        Self { numbers: Vec::new(), pages: VecDeque::new(), hints: [0; HINTS] }
    }
}

impl Table {
    /// Where a page lies, or would lie.
    fn place(&self, number: u32) -> Result<usize, usize> {
        let hint = usize::from(self.hints[number as usize % HINTS]);
        if self.numbers.get(hint) == Some(&number) { Ok(hint) } else { self.numbers.binary_search(&number) }
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Value> {
        let place = self.place(number).ok()?;
        Some(&self.pages[place].bytes)
    }

    /// A page, of whose changes the digest is told by who makes them.
    pub(crate) fn page_mut(&mut self, number: u32) -> Option<&mut Page> {
        let place = self.place(number).ok()?;
        // One that does not fit is none.
        self.hints[number as usize % HINTS] = place as u16;
        Some(&mut self.pages[place])
    }

    fn get_mut(&mut self, number: u32) -> Option<&mut Value> {
        let page = self.page_mut(number)?;
        // Whatever becomes of it, the digest is told again.
        page.told = 0;
        Some(&mut page.bytes)
    }

    fn insert(&mut self, key: &Key, number: u32, bytes: Value) -> Option<Value> {
        match self.place(number) {
            Ok(place) => {
                self.pages[place].told = 0;
                Some(core::mem::replace(&mut self.pages[place].bytes, bytes))
            }
            Err(place) => {
                let key = *key.first_chunk().expect("it is a page's key");
                self.numbers.insert(place, number);
                self.pages.insert(place, Page { key, bytes, told: 0 });
                None
            }
        }
    }

    fn remove(&mut self, number: u32) -> Option<Value> {
        let place = self.place(number).ok()?;
        self.numbers.remove(place);
        self.pages.remove(place).map(|page| page.bytes)
    }

    /// The pages within bounds.
    fn within(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> vec_deque::Iter<'_, Page> {
        let before =
            |is_before: &dyn Fn(&[u8]) -> bool| self.pages.partition_point(|page| is_before(&page.key));
        let first = match from {
            Bound::Unbounded => 0,
            Bound::Included(from) => before(&|key| key < from),
            Bound::Excluded(from) => before(&|key| key <= from),
        };
        let end = match to {
            Bound::Unbounded => self.pages.len(),
            Bound::Included(to) => before(&|key| key <= to),
            Bound::Excluded(to) => before(&|key| key < to),
        };
        self.pages.range(first..end.max(first))
    }
}

/// The key of the table that a page with this key would lie in, and the page's number there. Other records have such keys, too.
pub(crate) fn as_page(key: &[u8]) -> Option<(Key, u32)> {
    let (head, number) = key.split_at_checked(ENTRY_HEAD)?;
    let is_like_one = head[0] == kind::SPACE && head[ENTRY_HEAD - 1] == table::OWN;
    let number = <[u8; 4]>::try_from(number).ok().filter(|_| is_like_one)?;
    Some((Key::from(head), u32::from_be_bytes(number)))
}

/// See the module.
#[derive(Default)]
pub(crate) struct Records {
    tree: BTreeMap<Key, Slot>,
    /// How many there are.
    count: usize,
}

impl Records {
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// The pages of an object, if they lie in a table.
    pub(crate) fn table(&self, key: &Key) -> Option<&Table> {
        match self.tree.get(key)? {
            Slot::Table(table) => Some(table),
            Slot::Record(_) => None,
        }
    }

    /// The same.
    pub(crate) fn table_mut(&mut self, key: &Key) -> Option<&mut Table> {
        match self.tree.get_mut(key)? {
            Slot::Table(table) => Some(table),
            Slot::Record(_) => None,
        }
    }

    /// From now on the pages of an object lie in a table, if they do not yet. It has some, or gets some now.
    pub(crate) fn gather(&mut self, key: &Key) {
        if self.tree.contains_key(key) {
            return;
        }
        let mut table = Table::default();
        let is_page = |(at, _): &(&Key, &Slot)| at.starts_with(key) && as_page(at).is_some();
        let pages: Vec<_> =
            self.tree.range::<Key, _>(key..).take_while(is_page).map(|(key, _)| key.clone()).collect();
        for key in pages {
            if let (Some(Slot::Record(page)), Some((_, number))) = (self.tree.remove(&key), as_page(&key)) {
                table.insert(&key, number, page);
            }
        }
        self.tree.insert(key.clone(), Slot::Table(Box::new(table)));
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Value> {
        match self.tree.get(key) {
            Some(Slot::Record(value)) => Some(value),
            Some(Slot::Table(_)) => None,
            None => {
                let (table, number) = as_page(key)?;
                self.table(&table)?.get(number)
            }
        }
    }

    pub(crate) fn get_mut(&mut self, key: &Key) -> Option<&mut Value> {
        let page = as_page(key);
        let page = page.filter(|(table, _)| self.table(table).is_some());
        if let Some((table, number)) = page {
            return self.table_mut(&table)?.get_mut(number);
        }
        match self.tree.get_mut(key)? {
            Slot::Record(value) => Some(value),
            Slot::Table(_) => None,
        }
    }

    /// Gives what was there.
    pub(crate) fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        let in_table = as_page(&key).and_then(|(table, number)| Some((self.table_mut(&table)?, number)));
        let old = match in_table {
            Some((table, number)) => table.insert(&key, number, value),
            None => match self.tree.insert(key, Slot::Record(value)) {
                Some(Slot::Record(old)) => Some(old),
                Some(Slot::Table(_)) => unreachable!("no record has a table's key"),
                None => None,
            },
        };
        self.count += usize::from(old.is_none());
        old
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Value> {
        let old = match self.tree.entry(key.clone()) {
            Entry::Occupied(place) if matches!(place.get(), Slot::Record(_)) => match place.remove() {
                Slot::Record(old) => Some(old),
                Slot::Table(_) => None,
            },
            Entry::Occupied(_) => None,
            Entry::Vacant(_) => self.remove_page(key),
        };
        self.count -= usize::from(old.is_some());
        old
    }

    /// A table without pages goes, too.
    fn remove_page(&mut self, key: &Key) -> Option<Value> {
        let (key, number) = as_page(key)?;
        let table = self.table_mut(&key)?;
        let old = table.remove(number);
        if table.pages.is_empty() {
            self.tree.remove(&key);
        }
        old
    }

    /// The records from there on.
    pub(crate) fn range<'a>(
        &'a self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        // A range that ends before it begins would panic.
        let empty = match (from, to) {
            (Bound::Included(from), Bound::Excluded(to) | Bound::Included(to))
            | (Bound::Excluded(from), Bound::Included(to)) => from > to,
            (Bound::Excluded(from), Bound::Excluded(to)) => from >= to,
            _ => false,
        };
        let table = self.table_around(from);
        let first = table.as_ref().map_or(from, |table| Bound::Included(table));
        let range = (!empty).then(|| self.tree.range::<[u8], _>((first, to)));
        let (from, to) = (from.map(Key::from), to.map(Key::from));
        range.into_iter().flatten().flat_map(move |(key, slot)| match slot {
            Slot::Record(value) => Part::Record(Some((key, value))),
            Slot::Table(table) => Part::Pages(table.within(bytes_of(&from), bytes_of(&to))),
        })
    }

    /// The key of the table in which a range begins.
    fn table_around(&self, from: Bound<&[u8]>) -> Option<Key> {
        let (Bound::Included(from) | Bound::Excluded(from)) = from else { return None };
        let key = from.get(..ENTRY_HEAD).filter(|key| key[0] == kind::SPACE).map(Key::from)?;
        self.table(&key).map(|_| key)
    }
}

fn bytes_of(bound: &Bound<Key>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

/// A record, or some pages.
enum Part<'a> {
    Record(Option<(&'a [u8], &'a [u8])>),
    Pages(vec_deque::Iter<'a, Page>),
}

impl<'a> Iterator for Part<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Record(record) => record.take(),
            Self::Pages(pages) => pages.next().map(|page| (&page.key[..], &*page.bytes)),
        }
    }
}

impl DoubleEndedIterator for Part<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::Record(record) => record.take(),
            Self::Pages(pages) => pages.next_back().map(|page| (&page.key[..], &*page.bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::entry;

    /// Keys around those of the pages of two objects; of a third one's pages, which lie in no table; and others.
    fn keys() -> Vec<Key> {
        let mut keys =
            vec![Key::from(&[1][..]), Key::from(&[2][..]), Key::from(&[3][..]), Key::from(&[255][..])];
        for space in [7, 8, 9] {
            let number = |number: u32| entry(space, table::OWN, &number.to_be_bytes());
            keys.extend([0, 1, 2, 64, 255, 256, 70_000, u32::MAX].map(number));
            keys.extend([
                entry(space, table::OWN - 1, &[255; 4]),
                entry(space, table::OWN + 1, &[0, 0, 0, 1]),
            ]);
        }
        keys
    }

    fn check(records: &Records, model: &BTreeMap<Key, Value>, (from, to): (Bound<&[u8]>, Bound<&[u8]>)) {
        let found: Vec<_> = records.range(from, to).collect();
        let is_in = |key: &Key| {
            let is_behind = match from {
                Bound::Included(from) => key[..] >= *from,
                Bound::Excluded(from) => key[..] > *from,
                Bound::Unbounded => true,
            };
            is_behind
                && match to {
                    Bound::Included(to) => key[..] <= *to,
                    Bound::Excluded(to) => key[..] < *to,
                    Bound::Unbounded => true,
                }
        };
        let there = model.iter().filter(|(key, _)| is_in(key));
        assert_eq!(found, there.map(|(key, value)| (&key[..], &value[..])).collect::<Vec<_>>());
        let mut back: Vec<_> = records.range(from, to).rev().collect();
        back.reverse();
        assert_eq!(back, found);
    }

    #[test]
    fn records_are_those_that_were_put_in_the_order_of_all_keys_wherever_they_lie() {
        let (mut records, mut model) = (Records::default(), BTreeMap::<Key, Value>::new());
        let tables = [7, 8].map(|space| entry(space, table::OWN, &[]));
        let mut bounds = keys();
        bounds.extend(tables.iter().cloned());
        let mut seed = 1_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for step in 0..6_000 {
            let (key, value) = (keys()[next(keys().len())].clone(), Value::from([step as u8, 1]));
            match next(4) {
                0 => assert_eq!(records.remove(&key), model.remove(&key)),
                1 => {
                    let (one, other) = (records.get_mut(&key), model.get_mut(&key));
                    assert_eq!(one, other);
                    one.into_iter().chain(other).for_each(|there| there.clone_from(&value));
                }
                _ => assert_eq!(records.insert(key.clone(), value.clone()), model.insert(key.clone(), value)),
            }
            // A table is made of what there is, or for a page that comes at once.
            let table = &tables[next(2)];
            if next(20) == 0 && model.keys().any(|key| key.starts_with(table)) {
                records.gather(table);
            }
            assert_eq!((records.get(&key), records.len()), (model.get(&key), model.len()));
            let [one, other] = [(); 2].map(|()| bounds[next(bounds.len())].clone());
            let bound =
                |kind: usize, key| [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded][kind];
            check(&records, &model, (bound(next(3), &one[..]), bound(next(3), &other[..])));
        }
    }

    #[test]
    fn pages_of_a_table_are_found_wherever_they_were_before_and_those_that_are_not_there_are_not() {
        let (mut records, key) = (Records::default(), entry(7, table::OWN, &[]));
        records.gather(&key);
        let bytes = |number: u32| Value::from(&number.to_be_bytes()[..]);
        for number in (0..200).rev().filter(|number| number % 3 > 0) {
            records.insert(key.numbered(number), bytes(number));
            let table = records.table_mut(&key).unwrap();
            for found in 0..300 {
                let is_there = (number..200).contains(&found) && found % 3 > 0;
                let expected = is_there.then(|| bytes(found));
                assert_eq!(table.get(found), expected.as_ref());
                assert_eq!(table.page_mut(found).map(|page| page.bytes.clone()), expected);
            }
        }
    }
}
