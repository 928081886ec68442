//! The part of the log that the engine reads: kept in memory from a first index on.

use std::cell::Cell;
use std::collections::VecDeque;

use raft::eraftpb;
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};

use crate::{Entry, HardState, LogIndex, MemberId, Membership, SnapshotOffer, Term};

/// What the journal knew when the member started.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The last hard state that was durable.
    pub hard_state: HardState,
    /// Who votes.
    pub membership: Membership,
    /// The index before the first of `entries`; 0 before the very first. Everything up to it is committed.
    pub base_index: LogIndex,
    /// The term of that index.
    pub base_term: Term,
    /// The entries behind it, without a gap, to the end of the log.
    pub entries: Vec<Entry>,
}

impl Recovered {
    /// Whether a vote was found, or anything of a log.
    pub(crate) fn is_touched(&self) -> bool {
        self.hard_state.term > Term::ZERO || self.base_index > LogIndex::ZERO || !self.entries.is_empty()
    }
}

/// The engine's view of the log. It holds what is not compacted; older entries are in the journal or its snapshot.
#[derive(Debug)]
pub(crate) struct Window {
    hard_state: HardState,
    membership: Membership,
    /// The last index that was compacted away, and its term.
    compacted: (LogIndex, Term),
    entries: VecDeque<eraftpb::Entry>,
    bytes: usize,
    /// The snapshot that a member which lags behind the window may be given.
    offer: Option<SnapshotOffer>,
    /// The engine asked for a snapshot and there was none.
    wanted: Cell<bool>,
}

impl Window {
    pub(crate) fn new(recovered: &Recovered) -> Self {
        let compacted = (recovered.base_index, recovered.base_term);
        for (entry, index) in recovered.entries.iter().zip(compacted.0.next().onward()) {
            assert_eq!(entry.index, index, "the journal handed over a log with a gap");
        }
        // A crash may come between a snapshot and the hard state that follows it; what a snapshot covers is committed.
        let commit = recovered.hard_state.commit.max(recovered.base_index);
        let entries: VecDeque<_> = recovered.entries.iter().map(Entry::to_engine).collect();
        Self {
            hard_state: HardState { commit, ..recovered.hard_state },
            membership: recovered.membership.clone(),
            compacted,
            bytes: entries.iter().map(size).sum(),
            entries,
            offer: None,
            wanted: Cell::new(false),
        }
    }

    /// Takes in entries that the engine asks to persist; the first may overwrite a suffix.
    pub(crate) fn append(&mut self, entries: &[eraftpb::Entry]) {
        let Some(first) = entries.first() else { return };
        let keep = self.place(LogIndex(first.index)).expect("the engine overwrites what was compacted away");
        assert!(keep <= self.entries.len(), "the engine appends behind a gap");
        self.bytes -= self.entries.drain(keep..).map(|entry| size(&entry)).sum::<usize>();
        self.bytes += entries.iter().map(size).sum::<usize>();
        self.entries.extend(entries.iter().cloned());
    }

    /// Forgets everything: a snapshot stands in its place.
    pub(crate) fn restart_behind(&mut self, snapshot: &SnapshotOffer) {
        self.entries.clear();
        self.bytes = 0;
        self.compacted = (snapshot.index, snapshot.term);
        self.membership.clone_from(&snapshot.membership);
    }

    /// What a lagging member may be given from now on.
    pub(crate) fn offer(&mut self, offer: Option<SnapshotOffer>) {
        self.offer = offer;
        self.wanted.set(false);
    }

    /// Whether the engine would have sent a snapshot had there been one.
    pub(crate) const fn wants_offer(&self) -> bool {
        self.wanted.get()
    }

    /// The membership that a start would find.
    pub(crate) fn set_membership(&mut self, membership: Membership) {
        self.membership = membership;
    }

    /// Bytes that its entries take in memory.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Forgets entries up to `index`, which a snapshot covers or which are applied and need not be sent to anyone, from
    /// the oldest on and `count_max` of them at the most, as long as more than so many bytes are kept.
    pub(crate) fn compact(&mut self, index: LogIndex, bytes_max: usize, count_max: usize) {
        let index = index.min(self.last());
        for _ in 0..count_max {
            let Some(entry) = self.entries.front() else { break };
            if LogIndex(entry.index) > index || (bytes_max > 0 && self.bytes <= bytes_max) {
                break;
            }
            self.compacted = (LogIndex(entry.index), Term(entry.term));
            self.bytes -= size(entry);
            self.entries.pop_front();
        }
    }

    /// The last index that is not held any more.
    pub(crate) const fn compacted(&self) -> LogIndex {
        self.compacted.0
    }

    pub(crate) fn last(&self) -> LogIndex {
        self.compacted.0.plus(self.entries.len() as u64)
    }

    fn at(&self, index: LogIndex) -> Option<&eraftpb::Entry> {
        self.entries.get(self.place(index)?)
    }

    /// Where the entry of that index stands, or would; nothing if it was compacted away.
    fn place(&self, index: LogIndex) -> Option<usize> {
        let first = self.compacted.0.next();
        usize::try_from((index >= first).then(|| index.since(first))?).ok()
    }
}

impl Storage for Window {
    fn initial_state(&self) -> raft::Result<RaftState> {
        Ok(RaftState::new(self.hard_state.to_engine(), self.membership.to_engine()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<eraftpb::Entry>> {
        if LogIndex(low) <= self.compacted.0 {
            return Err(Error::Store(StorageError::Compacted));
        }
        let max_size = max_size.into().unwrap_or(u64::MAX);
        let mut size = 0;
        let mut entries =
            Vec::with_capacity(usize::try_from(high.saturating_sub(low)).unwrap_or(0).min(1024));
        for index in low..high {
            let Some(entry) = self.at(LogIndex(index)) else {
                return Err(Error::Store(StorageError::Unavailable));
            };
            size += entry.data.len() as u64;
            if size > max_size && !entries.is_empty() {
                break;
            }
            entries.push(entry.clone());
        }
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let index = LogIndex(index);
        if index == self.compacted.0 {
            return Ok(self.compacted.1.0);
        }
        if index < self.compacted.0 {
            return Err(Error::Store(StorageError::Compacted));
        }
        self.at(index).map(|entry| entry.term).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.compacted.0.next().0)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last().0)
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<eraftpb::Snapshot> {
        // Behind an offer must follow what the window still holds, or the receiver would need another one at once. The
        // engine takes over no state in which it has no part.
        let useful = |offer: &&SnapshotOffer| {
            offer.index >= LogIndex(request_index)
                && offer.index >= self.compacted.0
                && offer.membership.contains(MemberId(to))
        };
        let Some(offer) = self.offer.as_ref().filter(useful) else {
            self.wanted.set(true);
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        };
        let mut snapshot = eraftpb::Snapshot::default();
        let meta = snapshot.mut_metadata();
        (meta.index, meta.term) = (offer.index.0, offer.term.0);
        meta.set_conf_state(offer.membership.to_engine());
        Ok(snapshot)
    }
}

/// What an entry takes in memory.
fn size(entry: &eraftpb::Entry) -> usize {
    size_of::<eraftpb::Entry>() + entry.data.len() + entry.context.len()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::EntryKind;

    fn window(indices: std::ops::RangeInclusive<u64>) -> Window {
        let entry = |index| Entry {
            index: LogIndex(index),
            term: Term(7),
            kind: EntryKind::Normal,
            data: Bytes::from_static(b"xx"),
        };
        Window::new(&Recovered {
            hard_state: HardState::default(),
            membership: Membership::alone(MemberId(1)),
            base_index: LogIndex(indices.start() - 1),
            base_term: Term(3),
            entries: indices.map(entry).collect(),
        })
    }

    #[test]
    fn what_is_compacted_is_gone_but_its_last_term_is_kept() {
        let mut window = window(11..=20);
        assert_eq!(window.term(10).unwrap(), 3);
        window.compact(LogIndex(15), 0, 3);
        assert_eq!(window.first_index().unwrap(), 14, "no more than that at once");
        window.compact(LogIndex(15), 0, 3);
        assert_eq!((window.first_index().unwrap(), window.last_index().unwrap()), (16, 20));
        assert_eq!(window.term(15).unwrap(), 7);
        assert!(window.term(14).is_err());
        assert!(window.entries(15, 17, None, GetEntriesContext::empty(false)).is_err());
    }

    #[test]
    fn a_read_is_bounded_in_bytes_but_gives_one_entry_at_least() {
        let window = window(11..=20);
        let read = |max| window.entries(11, 21, max, GetEntriesContext::empty(false)).unwrap().len();
        assert_eq!((read(Some(0)), read(Some(5)), read(None)), (1, 2, 10));
    }

    #[test]
    fn many_small_entries_count_as_what_they_take_in_memory() {
        let mut window = window(11..=20);
        let each = window.bytes() / 10;
        assert!(each > size_of::<eraftpb::Entry>());
        window.compact(LogIndex(20), 3 * each, 100);
        assert_eq!((window.first_index().unwrap(), window.bytes()), (18, 3 * each));
        window.compact(LogIndex(20), 0, 100);
        assert_eq!(window.bytes(), 0);
    }

    #[test]
    fn an_append_overwrites_the_suffix() {
        let mut window = window(11..=20);
        window.append(&[eraftpb::Entry { index: 14, term: 9, ..Default::default() }]);
        assert_eq!(window.last_index().unwrap(), 14);
        assert_eq!((window.term(13).unwrap(), window.term(14).unwrap()), (7, 9));
    }
}
