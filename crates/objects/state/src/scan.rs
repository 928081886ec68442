//! Point-in-time snapshots of the records, taken while commands go on.
//!
//! Beginning one copies nothing. The scan goes through the records in the order of their keys, chunk by chunk. A command
//! that changes a record which the scan has not reached gives what was there before, once, and the scan takes that
//! instead. What was created after the beginning is kept as "was not there".
//!
//! The scan sums up what it writes, as a loader does. If that is not the digest with which it began, the memory holds a record
//! that no command has written: it has rotted. Then the snapshot does not end, and its member must not go on with this state.
//!
//! The form: a header (version and what there is only one of), then records (1, key, value), then the end (2, how many,
//! the digest). A value may be longer than a chunk: it is cut anywhere. `loader.rs` reads it.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::codec::{put_bytes, put_varint};
use crate::key::Key;
use crate::sum::term;

/// The only form so far.
pub(crate) const VERSION: u8 = 1;
pub(crate) const RECORD: u8 = 1;
pub(crate) const END: u8 = 2;

/// How far a snapshot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotProgress {
    /// There is more to come.
    More,
    /// That was all.
    Done {
        /// The digest of the state at the snapshot's beginning, which the snapshot carries too.
        digest: u64,
    },
    /// The records are not those of which the digest was made: the memory has changed by itself. What came is no snapshot.
    Rotten,
}

/// Finds the first record behind a key.
pub(crate) type Next<'a> = dyn Fn(Bound<&[u8]>) -> Option<(&'a [u8], &'a [u8])> + 'a;

/// A running snapshot.
pub(crate) struct Scan {
    /// What is still to be written before the next record is scanned.
    pending: Vec<u8>,
    written: usize,
    /// The key of the last record that was scanned.
    last: Option<Key>,
    /// Changed records that the scan has not reached, as they were; `None` if they were not there.
    kept: BTreeMap<Key, Option<Box<[u8]>>>,
    kept_bytes: usize,
    records: u64,
    digest: u64,
    /// The sum of what was written.
    sum: u64,
    finished: bool,
}

impl Scan {
    pub(crate) fn new(header: &[u8], digest: u64) -> Self {
        let mut pending = vec![VERSION];
        put_bytes(&mut pending, header);
        let (kept, sum) = (BTreeMap::new(), term(&[], header));
        Self {
            pending,
            written: 0,
            last: None,
            kept,
            kept_bytes: 0,
            records: 0,
            digest,
            sum,
            finished: false,
        }
    }

    /// A record has changed: this is what it was.
    pub(crate) fn keep(&mut self, key: Key, old: Option<Box<[u8]>>) {
        if self.last.as_ref().is_some_and(|last| *last >= key) || self.kept.contains_key(&key) {
            return;
        }
        self.kept_bytes += kept_bytes(&key, old.as_deref());
        self.kept.insert(key, old);
    }

    pub(crate) const fn side_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Appends up to so many bytes.
    pub(crate) fn chunk(&mut self, next: &Next<'_>, out: &mut Vec<u8>, bytes: usize) -> SnapshotProgress {
        let limit = out.len().saturating_add(bytes.max(1));
        loop {
            let rest = &self.pending[self.written..];
            let room = rest.len().min(limit - out.len());
            out.extend_from_slice(&rest[..room]);
            self.written += room;
            if self.written < self.pending.len() {
                return SnapshotProgress::More;
            }
            if self.finished {
                return SnapshotProgress::Done { digest: self.digest };
            }
            self.pending.clear();
            self.written = 0;
            if !self.next_record(next) {
                if self.sum != self.digest {
                    return SnapshotProgress::Rotten;
                }
                self.pending.push(END);
                put_varint(&mut self.pending, self.records);
                self.pending.extend_from_slice(&self.digest.to_le_bytes());
                self.finished = true;
            }
        }
    }

    /// Prepares the next record that there was. Says whether there was one.
    fn next_record(&mut self, next: &Next<'_>) -> bool {
        loop {
            let after = self.last.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let live = next(after);
            let is_first = |key: &[u8]| self.kept.first_key_value().is_none_or(|(kept, _)| key < &**kept);
            if let Some((key, value)) = live.filter(|(key, _)| is_first(key)) {
                self.record(key.into(), value);
                return true;
            }
            let Some((key, old)) = self.kept.pop_first() else { return false };
            self.kept_bytes -= kept_bytes(&key, old.as_deref());
            match old {
                Some(old) => {
                    self.record(key, &old);
                    return true;
                }
                None => self.last = Some(key),
            }
        }
    }

    fn record(&mut self, key: Key, value: &[u8]) {
        self.pending.push(RECORD);
        put_bytes(&mut self.pending, &key);
        put_bytes(&mut self.pending, value);
        self.records += 1;
        self.sum = self.sum.wrapping_add(term(&key, value));
        self.last = Some(key);
    }
}

/// What keeping a record takes, about.
fn kept_bytes(key: &[u8], old: Option<&[u8]>) -> usize {
    64 + key.len() + old.map_or(0, <[u8]>::len)
}
