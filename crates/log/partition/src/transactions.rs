//! Which transactions are open, which are decided but not committed yet, and which were aborted. From that follow the last
//! stable offset and the list of aborted transactions that a `read_committed` consumer needs.
//!
//! The last stable offset is the least of the high watermark and the first offset of each transaction that is open or whose
//! marker is not below the high watermark. The second half matters: a consumer must not see a transaction as committed while
//! its marker may still be lost with the leader (L38).

use std::collections::{BTreeMap, btree_map};

use log_wire::{Reader, Writer};

use crate::sealed::{Damage, check};
use crate::{Offset, ProducerId};

const OPEN_BYTES: usize = 16;
const DECIDED_BYTES: usize = 16;
const ABORTED_BYTES: usize = 32;

/// An aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// Its producer.
    pub producer_id: ProducerId,
    /// The offset of its first record.
    pub first: Offset,
    /// The offset of its marker.
    pub marker: Offset,
    /// Where the oldest transaction began that was open behind the marker; the offset behind the marker if none was. Every
    /// transaction that is aborted later begins there or behind.
    later_begin: Offset,
}

/// What a batch or a marker has changed: enough to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransactionUndo {
    /// Nothing.
    Nothing,
    /// It began one.
    Began(ProducerId),
    /// It decided the one that began there.
    Decided(ProducerId, Offset),
}

/// The transactions of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// First offsets by producer.
    open: BTreeMap<ProducerId, Offset>,
    /// The same by first offset, which is unique.
    open_by_first: BTreeMap<Offset, ProducerId>,
    /// Decided, and the marker is not below the high watermark: first offset to marker.
    decided: BTreeMap<Offset, Offset>,
    /// In the order of their markers.
    aborted: Vec<Aborted>,
}

impl Transactions {
    /// A transactional batch was appended: if its producer has no open transaction, one begins with it.
    pub fn append(&mut self, id: ProducerId, base_offset: Offset) {
        self.take(id, base_offset);
    }

    /// The same, with what takes it back.
    pub(crate) fn take(&mut self, id: ProducerId, base_offset: Offset) -> TransactionUndo {
        let btree_map::Entry::Vacant(vacant) = self.open.entry(id) else { return TransactionUndo::Nothing };
        vacant.insert(base_offset);
        self.open_by_first.insert(base_offset, id);
        TransactionUndo::Began(id)
    }

    /// A marker was appended. Without an open transaction it decides nothing.
    pub fn decide(&mut self, id: ProducerId, commit: bool, marker: Offset) {
        self.take_marker(id, commit, marker);
    }

    /// The same, with what takes it back.
    pub(crate) fn take_marker(&mut self, id: ProducerId, commit: bool, marker: Offset) -> TransactionUndo {
        let Some(first) = self.open.remove(&id) else { return TransactionUndo::Nothing };
        self.open_by_first.remove(&first);
        self.decided.insert(first, marker);
        if !commit {
            let later_begin = self.oldest_open().unwrap_or_else(|| marker.next());
            self.aborted.push(Aborted { producer_id: id, first, marker, later_begin });
        }
        TransactionUndo::Decided(id, first)
    }

    /// Takes back what was taken over last; it is not committed.
    pub(crate) fn take_back(&mut self, undo: TransactionUndo) {
        match undo {
            TransactionUndo::Nothing => {}
            TransactionUndo::Began(id) => {
                if let Some(first) = self.open.remove(&id) {
                    self.open_by_first.remove(&first);
                }
            }
            TransactionUndo::Decided(id, first) => {
                let marker = self.decided.remove(&first);
                self.open.insert(id, first);
                self.open_by_first.insert(first, id);
                self.aborted.pop_if(|aborted| Some(aborted.marker) == marker);
            }
        }
    }

    /// The high watermark rose: transactions whose markers are below it are decided for good.
    pub fn committed(&mut self, high_watermark: Offset) {
        self.decided.retain(|_, marker| *marker >= high_watermark);
    }

    /// The log begins at `log_start` from now on: transactions that were aborted before it are forgotten.
    pub fn truncate_start(&mut self, log_start: Offset) {
        let gone = self.aborted.partition_point(|aborted| aborted.marker < log_start);
        self.aborted.drain(..gone);
    }

    /// These markers of aborted transactions, in order, are gone by compaction, and so are the records before them.
    pub(crate) fn forget_aborted(&mut self, markers: &[Offset]) {
        self.aborted.retain(|aborted| markers.binary_search(&aborted.marker).is_err());
    }

    /// Everything below is decided, and its decision is committed.
    #[must_use]
    pub fn last_stable(&self, high_watermark: Offset) -> Offset {
        let decided = self.decided.iter().next().map(|(first, _)| *first);
        [self.oldest_open(), decided].into_iter().flatten().fold(high_watermark, Offset::min)
    }

    /// Whether the producer has an open transaction.
    #[must_use]
    pub fn is_open(&self, id: ProducerId) -> bool {
        self.open.contains_key(&id)
    }

    /// Where the open transaction of the producer begins, if there is one.
    #[must_use]
    pub fn first_offset(&self, id: ProducerId) -> Option<Offset> {
        self.open.get(&id).copied()
    }

    /// Open transactions: their producers and first offsets.
    pub fn open(&self) -> impl Iterator<Item = (ProducerId, Offset)> {
        self.open.iter().map(|(id, first)| (*id, *first))
    }

    /// The aborted transactions that have an offset in `from..end`, in the order of their markers: a consumer that is given
    /// this range drops their records.
    pub fn aborted(&self, from: Offset, end: Offset) -> impl Iterator<Item = Aborted> {
        let at = self.aborted.partition_point(|aborted| aborted.marker < from);
        let mut ended = false;
        let candidates = self.aborted.iter().skip(at).take_while(move |aborted| {
            // The entry that says so may overlap itself; those behind it do not.
            let taken = !ended;
            ended = aborted.later_begin >= end;
            taken
        });
        candidates.filter(move |aborted| aborted.first < end).copied()
    }

    fn oldest_open(&self) -> Option<Offset> {
        self.open_by_first.keys().next().copied()
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.count(self.open.len());
        for (id, first) in &self.open {
            writer.i64(id.0).i64(first.0);
        }
        writer.count(self.decided.len());
        for (first, marker) in &self.decided {
            writer.i64(first.0).i64(marker.0);
        }
        writer.count(self.aborted.len());
        for aborted in &self.aborted {
            writer.i64(aborted.producer_id.0).i64(aborted.first.0);
            writer.i64(aborted.marker.0).i64(aborted.later_begin.0);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let mut read = Self::default();
        for _ in 0..reader.count(OPEN_BYTES)? {
            let (id, first) = (ProducerId(reader.i64()?), Offset(reader.i64()?));
            let once =
                read.open.insert(id, first).is_none() && read.open_by_first.insert(first, id).is_none();
            check(once, "an open transaction occurs twice")?;
        }
        for _ in 0..reader.count(DECIDED_BYTES)? {
            let (first, marker) = (Offset(reader.i64()?), Offset(reader.i64()?));
            check(first < marker, "a transaction ends before it begins")?;
            read.decided.insert(first, marker);
        }
        for _ in 0..reader.count(ABORTED_BYTES)? {
            let (producer_id, first) = (ProducerId(reader.i64()?), Offset(reader.i64()?));
            let (marker, later_begin) = (Offset(reader.i64()?), Offset(reader.i64()?));
            let rises = read.aborted.last().is_none_or(|last| last.marker < marker);
            check(rises && first < marker, "aborted transactions out of order")?;
            read.aborted.push(Aborted { producer_id, first, marker, later_begin });
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ProducerId = ProducerId(1);
    const B: ProducerId = ProducerId(2);

    fn listed(transactions: &Transactions, from: i64, end: i64) -> Vec<(i64, i64)> {
        let aborted = transactions.aborted(Offset(from), Offset(end));
        aborted.map(|aborted| (aborted.producer_id.0, aborted.first.0)).collect()
    }

    #[test]
    fn last_stable_offset_waits_for_the_oldest_open_transaction() {
        let mut transactions = Transactions::default();
        assert_eq!(transactions.last_stable(Offset(3)), Offset(3));
        transactions.append(A, Offset(5));
        transactions.append(B, Offset(7));
        transactions.append(A, Offset(9));
        assert_eq!(transactions.last_stable(Offset(10)), Offset(5));
        transactions.decide(A, true, Offset(10));
        transactions.committed(Offset(11));
        assert_eq!(transactions.last_stable(Offset(11)), Offset(7));
    }

    #[test]
    fn last_stable_offset_waits_for_the_marker_to_be_committed() {
        let mut transactions = Transactions::default();
        transactions.append(A, Offset(5));
        transactions.decide(A, true, Offset(6));
        for (high_watermark, stable) in [(6, 5), (7, 7), (8, 8)] {
            transactions.committed(Offset(high_watermark));
            assert_eq!(transactions.last_stable(Offset(high_watermark)), Offset(stable));
        }
    }

    #[test]
    fn aborted_transactions_that_overlap_are_listed_whichever_end_overlaps() {
        let mut transactions = Transactions::default();
        transactions.append(A, Offset(2));
        transactions.append(B, Offset(4));
        transactions.decide(B, false, Offset(6));
        transactions.decide(A, false, Offset(8));
        transactions.append(B, Offset(9));
        transactions.decide(B, true, Offset(10));
        transactions.append(B, Offset(11));
        transactions.decide(B, false, Offset(12));
        assert_eq!(listed(&transactions, 0, 20), [(2, 4), (1, 2), (2, 11)]);
        assert_eq!(listed(&transactions, 7, 9), [(1, 2)], "it begins before the range");
        assert_eq!(listed(&transactions, 3, 5), [(2, 4), (1, 2)], "its marker is behind the range");
        assert_eq!(listed(&transactions, 9, 11), []);
        assert_eq!(listed(&transactions, 12, 13), [(2, 11)], "the marker alone");
        assert_eq!(listed(&transactions, 0, 2), [], "the end is not part of the range");
    }

    #[test]
    fn aborted_transactions_are_forgotten_with_their_records() {
        let mut transactions = Transactions::default();
        for first in [0, 10, 20] {
            transactions.append(A, Offset(first));
            transactions.decide(A, false, Offset(first + 5));
        }
        transactions.truncate_start(Offset(15));
        assert_eq!(listed(&transactions, 0, 30), [(1, 10), (1, 20)], "a marker at the start still counts");
        transactions.truncate_start(Offset(16));
        assert_eq!(listed(&transactions, 0, 30), [(1, 20)]);
    }

    #[test]
    fn marker_without_an_open_transaction_decides_nothing() {
        let mut transactions = Transactions::default();
        transactions.decide(A, false, Offset(4));
        assert_eq!((listed(&transactions, 0, 9), transactions.last_stable(Offset(5))), (vec![], Offset(5)));
    }
}
