//! The records: everything that decides a later result is a key with a value here.
//!
//! The digest is a sum over all records, so a change costs its own two terms; those of long records are worked out when the
//! digest is asked for, or when many wait for it. Each change is noted until the command
//! ends: a failed call takes its changes back, and a running snapshot gets what was there before. So no type and no
//! command can forget the digest, the snapshot or the rollback of something that it keeps.
//!
//! Knows nothing of what a record means.

use std::ops::Bound;

use crate::key::{ENTRY_HEAD, Key, kind};
use crate::pages::{KeptLines, Pages};
use crate::records::{Records, Value};
use crate::scan::{Scan, SnapshotProgress};
use crate::sum::Sum;

/// What a change has replaced.
enum Before {
    /// The record; nothing if there was none.
    Record(Option<Value>),
    /// Lines of a page: their contents lie in the journal's.
    Lines(KeptLines),
}

/// What the running command has replaced.
#[derive(Default)]
struct Journal {
    /// In order.
    changes: Vec<(Key, Before)>,
    /// Contents of lines as they were, behind each other.
    lines: Vec<u8>,
}

/// What a record of this size takes beside its bytes, about.
pub(crate) const RECORD_BYTES: usize = 64;

/// Bytes of room for lines that stays when a command has ended.
const LINES_KEPT_MAX: usize = 256 << 10;

/// More than the first bytes of keys, and than the tables of spaces.
const KINDS: usize = 64;

/// The records of a group.
pub(crate) struct Store {
    records: Records,
    sum: Sum,
    journal: Journal,
    /// How often records have changed, by the first bytes of their keys; those of spaces by their tables, behind the others.
    ages: [u64; 2 * KINDS],
    /// Bytes that the running command has written.
    written: usize,
    pub(crate) scan: Option<Scan>,
}

/// A moment within a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    changes: usize,
}

/// Lines are written into no other.
const IS_THERE: &str = "a page whose lines are written is there";

/// What a record is, by its key.
fn kind_of(key: &[u8]) -> usize {
    match (key.first(), key.get(ENTRY_HEAD - 1)) {
        (Some(&kind::SPACE), Some(table)) => KINDS + usize::from(*table) % KINDS,
        (kind, _) => kind.map_or(0, |kind| usize::from(*kind) % KINDS),
    }
}

impl Default for Store {
    fn default() -> Self {
        Self {
            records: Records::default(),
            sum: Sum::default(),
            journal: Journal::default(),
            ages: [0; 2 * KINDS],
            written: 0,
            scan: None,
        }
    }
}

impl Store {
    /// Most records that are written are there already, so that case costs one copy of the value. What
    /// is written as it was changes nothing. Says whether there was no such record.
    pub(crate) fn put(&mut self, key: Key, value: &[u8]) -> bool {
        let old = match self.records.get_mut(&key) {
            Some(present) if **present == *value => return false,
            Some(present) => {
                let old = core::mem::replace(present, value.into());
                self.sum.replaced(&key, &old, value);
                Some(old)
            }
            None => {
                self.records.insert(key.clone(), value.into());
                self.sum.added(&key, value);
                None
            }
        };
        self.written += RECORD_BYTES + key.len() + value.len();
        let is_new = old.is_none();
        self.note(key, Before::Record(old));
        is_new
    }

    /// Writes what has changed of the pages of an object, whose keys begin so. Each counts as writing all of its record. Of new pages the
    /// records have only what differs from the image, if that is asked for. Gives how many there are more, and how many fewer.
    pub(crate) fn put_pages(&mut self, table: &Key, pages: &Pages, by_lines: bool) -> (u32, u32) {
        // A snapshot may want whole records as they were.
        let is_in_place = self.scan.is_none();
        let mut done = if is_in_place { self.put_lines(table, pages) } else { None };
        if done.is_none() {
            self.records.gather(table);
            done = if is_in_place { self.put_lines(table, pages) } else { None };
        }
        let (mut more, mut fewer) = (0, 0);
        if done == Some(pages.len()) {
            return (more, fewer);
        }
        for (number, lines) in pages.iter() {
            let key = || table.numbered(number);
            let Some(lines) = lines else {
                fewer += u32::from(self.remove(&key()));
                continue;
            };
            let before = self.get(&key());
            let is_done = is_in_place && before.is_some_and(|before| lines.fit_in_place(before));
            if !is_done {
                let record = lines.record(before, by_lines);
                more += u32::from(self.put(key(), &record));
            }
        }
        (more, fewer)
    }

    /// The part of it that changes pages in place, if they lie in a table. Says how many it has changed.
    fn put_lines(&mut self, table: &Key, pages: &Pages) -> Option<usize> {
        let Self { records, sum, journal, written, ages, .. } = self;
        let there = records.table_mut(table)?;
        let mut done = 0;
        for (number, lines) in pages.iter() {
            let Some((lines, page)) = lines.zip(there.page_mut(number)) else { continue };
            if !lines.fit_in_place(&page.bytes) {
                continue;
            }
            let key = table.numbered(number);
            *written += RECORD_BYTES + key.len() + page.bytes.len();
            ages[kind_of(&key)] += 1;
            sum.page_changes(&key, page);
            let before = lines.exchange(&mut page.bytes, &mut journal.lines);
            journal.changes.push((key, Before::Lines(before)));
            done += 1;
        }
        Some(done)
    }

    fn note(&mut self, key: Key, before: Before) {
        self.ages[kind_of(&key)] += 1;
        self.journal.changes.push((key, before));
    }

    /// How often records have changed whose keys begin with that byte, but for those of spaces: who keeps what it has read of them sees whether it is old.
    pub(crate) fn age(&self, kind: u8) -> u64 {
        self.ages[usize::from(kind) % KINDS]
    }

    /// Whether there is none in that table of any space, and never was: who looks for one need not.
    pub(crate) fn is_unused(&self, table: u8) -> bool {
        self.ages[KINDS + usize::from(table) % KINDS] == 0
    }

    /// Says whether there was such a record.
    pub(crate) fn remove(&mut self, key: &Key) -> bool {
        self.take(key).is_some()
    }

    /// Removes a record, and gives what it was.
    pub(crate) fn take(&mut self, key: &Key) -> Option<&[u8]> {
        let old = self.records.remove(key)?;
        self.written += RECORD_BYTES;
        self.sum.removed(key, &old);
        self.note(key.clone(), Before::Record(Some(old)));
        match self.journal.changes.last() {
            Some((_, Before::Record(old))) => old.as_deref(),
            _ => None,
        }
    }

    pub(crate) const fn mark(&self) -> Mark {
        Mark { changes: self.journal.changes.len() }
    }

    /// Takes back all that was changed since.
    pub(crate) fn rollback(&mut self, mark: Mark) {
        let Journal { changes, lines } = &mut self.journal;
        for (key, before) in changes.drain(mark.changes..).rev() {
            self.ages[kind_of(&key)] += 1;
            if let Some(now) = self.records.get(&key) {
                self.sum.removed(&key, now);
            }
            match before {
                Before::Record(None) => {
                    self.records.remove(&key);
                    continue;
                }
                Before::Record(Some(old)) => _ = self.records.insert(key.clone(), old),
                Before::Lines(kept) => {
                    kept.put_back(self.records.get_mut(&key).expect(IS_THERE), lines);
                }
            }
            self.sum.added(&key, self.records.get(&key).expect("it is there again"));
        }
    }

    /// How many changes the running command has made.
    pub(crate) const fn changes(&self) -> usize {
        self.journal.changes.len()
    }

    /// Its changes behind so many: the keys, and what was there before; but for pages of which lines have changed, which are as long
    /// as they were.
    pub(crate) fn changes_since(&self, count: usize) -> impl Iterator<Item = (&Key, Option<&[u8]>)> {
        self.journal.changes.iter().skip(count).filter_map(|(key, before)| match before {
            Before::Record(old) => Some((key, old.as_deref())),
            Before::Lines(_) => None,
        })
    }

    /// Bytes that the running command has written, with what each record takes.
    pub(crate) const fn written(&self) -> usize {
        self.written
    }

    /// The command has ended. Gives how many bytes it has written.
    pub(crate) fn commit(&mut self) -> usize {
        self.journal.lines.clear();
        self.journal.lines.shrink_to(LINES_KEPT_MAX);
        for (key, before) in self.journal.changes.drain(..) {
            // While there is one, no lines are written.
            if let (Some(scan), Before::Record(old)) = (&mut self.scan, before) {
                scan.keep(key, old);
            }
        }
        self.sum.bound(&self.records);
        core::mem::take(&mut self.written)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&[u8]> {
        self.records.get(key).map(|value| &**value)
    }

    /// Looks at pages of an object, whose keys begin so.
    pub(crate) fn each_page<'a>(
        &'a self,
        table: &Key,
        numbers: &mut dyn Iterator<Item = u32>,
        look: &mut dyn FnMut(u32, Option<&'a [u8]>),
    ) {
        match self.records.table(table) {
            Some(pages) => numbers.for_each(|number| look(number, pages.get(number).map(|page| &**page))),
            None => numbers.for_each(|number| look(number, self.get(&table.numbered(number)))),
        }
    }

    /// The records from there on.
    pub(crate) fn range<'a>(
        &'a self,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.records.range(from, to)
    }

    /// The records whose keys begin so, in order.
    pub(crate) fn prefix<'a>(
        &'a self,
        prefix: &[u8],
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let end = successor(prefix);
        let to = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.range(Bound::Included(prefix), to)
    }

    /// Appends the next chunk of the running snapshot; nothing if none is running.
    pub(crate) fn scan_chunk(&mut self, out: &mut Vec<u8>, bytes: usize) -> Option<SnapshotProgress> {
        let mut scan = self.scan.take()?;
        let progress = scan.chunk(&|after| self.range(after, Bound::Unbounded).next(), out, bytes);
        if progress == SnapshotProgress::More {
            self.scan = Some(scan);
        }
        Some(progress)
    }

    /// Flips a bit of a record, as memory that fails would: the digest knows nothing of it.
    pub(crate) fn rot(&mut self, key: &Key) {
        if let Some(byte) = self.records.get_mut(key).and_then(|value| value.last_mut()) {
            *byte ^= 1;
        }
    }

    /// The sum of all records' terms.
    pub(crate) fn terms(&self) -> u64 {
        self.sum.terms(&self.records)
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) const fn is_settled(&self) -> bool {
        self.journal.changes.is_empty()
    }
}

/// The least key above all that begin so.
pub(crate) fn successor(prefix: &[u8]) -> Option<Key> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    Some(Key::from(&prefix[..=last]).raised())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::key;
    use crate::pages::{LINE_BYTES, OwnPage, PAGE_BYTES};
    use crate::sum::term;

    fn key_of(bytes: &[u8]) -> Key {
        Key::from(bytes)
    }

    fn store() -> Store {
        let mut store = Store::default();
        for bytes in [&[1, 1][..], &[1, 255], &[1, 255, 255], &[2], &[255]] {
            store.put(key_of(bytes), bytes);
        }
        store.commit();
        store
    }

    #[test]
    fn rollback_gives_back_records_and_digest() {
        let mut store = store();
        let (terms, mark) = (store.terms(), store.mark());
        store.put(key_of(&[2]), &[7]);
        store.put(key_of(&[2]), &[8]);
        store.put(key_of(&[2]), &[8]);
        store.remove(&key_of(&[1, 1]));
        store.put(key_of(&[3]), &[]);
        store.remove(&key_of(&[3]));
        assert_ne!(store.terms(), terms);
        store.rollback(mark);
        assert_eq!((store.terms(), store.get(&key_of(&[2])), store.len()), (terms, Some(&[2][..]), 5));
        assert!(store.get(&key_of(&[1, 1])).is_some() && store.is_settled());
    }

    fn pages_of_7() -> Key {
        key::entry(7, key::table::OWN, &[])
    }

    /// Lines of a page, all of that byte.
    fn lines(number: u32, which: u64, byte: u8) -> Pages {
        let mut pages = Pages::default();
        pages.lines(number, which, &[byte; PAGE_BYTES]);
        pages
    }

    /// Pages as a test has them: the lines that are their own, and all of their bytes, of which only those count.
    type Model = BTreeMap<Key, (u64, Vec<u8>)>;

    /// What is to stand in the store.
    fn record_of((own, page): &(u64, Vec<u8>)) -> Vec<u8> {
        if *own == u64::MAX {
            return page.clone();
        }
        let lines = (0..64).filter(|line| own >> line & 1 == 1);
        let lines = lines.flat_map(|line| page[line * LINE_BYTES..(line + 1) * LINE_BYTES].to_vec());
        own.to_le_bytes().into_iter().chain(lines).collect()
    }

    /// Changes a page in one of all ways.
    fn change(store: &mut Store, model: &mut Model, drawn: [u8; 8]) {
        let [number, which, byte, what, form, ..] = drawn;
        let (table, number) = (pages_of_7(), u32::from(number % 4));
        let (key, page) = (table.numbered(number), [byte; PAGE_BYTES]);
        let which = u64::from(which.max(1)) << (byte % 56);
        match (model.get_mut(&key), what % 6) {
            (Some(_), 0) => {
                assert!(store.remove(&key));
                model.remove(&key);
            }
            (Some(_), 1) => {
                let gone = core::iter::once((number, None)).collect();
                assert_eq!(store.put_pages(&table, &gone, true), (0, 1));
                model.remove(&key);
            }
            (Some((own, bytes)), 2 | 3) => {
                // Most often lines that the record has.
                let which = if form % 4 > 0 && which & *own != 0 { which & *own } else { which };
                let pages = lines(number, which, byte);
                assert_eq!(store.put_pages(&table, &pages, true), (0, 0));
                pages.iter().for_each(|(_, lines)| lines.unwrap().put_into(bytes));
                *own |= which;
            }
            (there, 4) => {
                let pages = core::iter::once((number, Some(page))).collect();
                assert_eq!(store.put_pages(&table, &pages, true), (u32::from(there.is_none()), 0));
                model.insert(key, (u64::MAX, page.to_vec()));
            }
            (None, _) => {
                let (mut pages, by_lines) = (Pages::default(), form % 4 > 0);
                pages.new_page(number, which, &page);
                assert_eq!(store.put_pages(&table, &pages, by_lines), (1, 0));
                model.insert(key, (if by_lines { which } else { u64::MAX }, page.to_vec()));
            }
            (Some(_), _) => {
                assert!(!store.put(key.clone(), &page));
                model.insert(key, (u64::MAX, page.to_vec()));
            }
        }
    }

    #[test]
    fn what_becomes_of_pages_is_what_their_records_would_have_become() {
        let (mut store, mut model) = (Store::default(), Model::new());
        let mut seed = 7_u64;
        for step in 0..6_000 {
            let (mark, before) = (store.mark(), model.clone());
            for _ in 0..3 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                change(&mut store, &mut model, (seed >> 24).to_le_bytes());
            }
            if seed >> 60 < 6 {
                store.rollback(mark);
                model = before;
            }
            store.commit();
            let whole: BTreeMap<_, _> = model.iter().map(|(key, page)| (key, record_of(page))).collect();
            let records = store.range(Bound::Unbounded, Bound::Unbounded);
            assert!(records.eq(whole.iter().map(|(key, page)| (&key[..], &page[..]))), "step {step}");
            assert!(whole.values().all(|record| OwnPage::is_sound(record)), "step {step}");
            let (table, mut seen) = (pages_of_7(), Vec::new());
            store.each_page(&table, &mut (0..4), &mut |number, page| seen.push((number, page)));
            let there =
                (0..4).map(|number| (number, whole.get(&table.numbered(number)).map(|page| &page[..])));
            assert!(there.eq(seen), "step {step}");
            let mut fresh = Store::default();
            whole.iter().for_each(|(key, page)| _ = fresh.put((*key).clone(), page));
            assert_eq!(store.terms(), fresh.terms(), "step {step}");
        }
    }

    #[test]
    fn running_snapshot_gets_a_page_as_it_was_before_its_lines_changed() {
        let (mut store, table) = (Store::default(), pages_of_7());
        let key = table.numbered(3);
        store.put(key.clone(), &[1; PAGE_BYTES]);
        store.commit();
        store.scan = Some(Scan::new(&[], store.terms().wrapping_add(term(&[], &[]))));
        store.put_pages(&table, &lines(3, 0b100, 2), true);
        store.commit();
        assert_eq!(store.get(&key).map(|page| page[2 * LINE_BYTES]), Some(2));
        let mut out = Vec::new();
        let progress = store.scan_chunk(&mut out, 1 << 20);
        assert!(matches!(progress, Some(SnapshotProgress::Done { .. })), "{progress:?}");
    }

    #[test]
    fn digest_depends_on_records_and_not_on_their_history() {
        let (one, mut other) = (store(), store());
        other.put(key_of(&[9]), &[1]);
        other.put(key_of(&[9]), &[2]);
        other.put(key_of(&[9]), &[2]);
        assert_ne!(one.terms(), other.terms());
        other.remove(&key_of(&[9]));
        assert_eq!(one.terms(), other.terms());
    }

    #[test]
    fn prefix_ends_where_it_should() {
        let store = store();
        let keys = |prefix: &[u8]| store.prefix(prefix).map(|(key, _)| key.to_vec()).collect::<Vec<_>>();
        assert_eq!(keys(&[1, 255]), [vec![1, 255], vec![1, 255, 255]]);
        assert_eq!(keys(&[255]), [vec![255]]);
        assert_eq!(keys(&[]).len(), 5);
        assert_eq!(store.range(Bound::Included(&[2]), Bound::Excluded(&[1])).count(), 0);
    }
}
