//! Applying what is committed: how far that has come, and what of it waits.
//!
//! Holds no state: the replica lends that to the machine, one command after the other.

use std::collections::VecDeque;

use consensus_raft::{Entry, LogIndex, Term};

/// See the module.
#[derive(Debug)]
pub(crate) struct Applier {
    /// What is committed and not wholly applied, in order.
    committed: VecDeque<Entry>,
    /// How far into the first committed entry's content the commands are applied.
    entry_offset: usize,
    /// Whether the next command was put off, so that readers come before it.
    puts_off: bool,
    /// Index and term of the last entry that is wholly applied.
    index: LogIndex,
    term: Term,
    /// The term of the entry whose commands are being applied.
    entry_term: Term,
    /// Bytes of commands that may still be applied in this turn.
    bytes_left: usize,
    bytes_max: usize,
}

impl Applier {
    /// `bytes_max` of commands are applied in a turn.
    pub(crate) fn new((index, term): (LogIndex, Term), bytes_max: usize) -> Self {
        Self {
            committed: VecDeque::new(),
            entry_offset: 0,
            puts_off: false,
            index,
            term,
            entry_term: term,
            bytes_left: 0,
            bytes_max,
        }
    }

    /// Entries were committed.
    pub(crate) fn commit(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.committed.extend(entries);
    }

    /// A snapshot takes the place of all that is applied and committed so far.
    pub(crate) fn drop_committed(&mut self) {
        self.committed.clear();
        self.entry_offset = 0;
    }

    /// Everything up to that index and term came with a snapshot.
    pub(crate) const fn replaced(&mut self, index: LogIndex, term: Term) {
        (self.index, self.term) = (index, term);
    }

    /// A turn begins, with its full share of bytes.
    pub(crate) const fn begin_turn(&mut self) {
        self.bytes_left = self.bytes_max;
        self.puts_off = false;
    }

    /// The next entry, if this turn may take one up.
    pub(crate) fn next_entry(&mut self, is_held_up: bool) -> Option<Entry> {
        if is_held_up || self.bytes_left == 0 {
            return None;
        }
        let entry = self.committed.pop_front()?;
        self.entry_term = entry.term;
        Some(entry)
    }

    /// Whether the next command is to be applied in this turn, what it weighs given by `weight`. A heavy one has a turn
    /// of its own.
    pub(crate) fn takes_command(&mut self, weight: impl FnOnce() -> u64) -> bool {
        if self.bytes_left == 0 {
            return false;
        }
        self.puts_off = self.bytes_left < self.bytes_max && weight() > self.bytes_left as u64;
        !self.puts_off
    }

    /// What a command has taken of this turn.
    pub(crate) const fn spend(&mut self, bytes: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
    }

    /// An entry is applied up to that offset only: the rest is for another turn.
    pub(crate) fn put_back(&mut self, entry: Entry, offset: Option<usize>) {
        if let Some(offset) = offset {
            self.entry_offset = offset;
        }
        self.committed.push_front(entry);
    }

    /// An entry is wholly applied.
    pub(crate) const fn finished(&mut self, entry: &Entry) {
        self.entry_offset = 0;
        (self.index, self.term) = (entry.index, entry.term);
    }

    /// The index of the last entry that is wholly applied.
    pub(crate) const fn index(&self) -> LogIndex {
        self.index
    }

    /// The term of that entry.
    pub(crate) const fn term(&self) -> Term {
        self.term
    }

    /// The term of the entry whose commands are being applied.
    pub(crate) const fn entry_term(&self) -> Term {
        self.entry_term
    }

    /// Where in the first committed entry's content the next command begins.
    pub(crate) const fn entry_offset(&self) -> usize {
        self.entry_offset
    }

    /// Whether the entry behind the last applied one has not been begun.
    pub(crate) const fn is_between_entries(&self) -> bool {
        self.entry_offset == 0
    }

    /// Whether anything is committed that is not wholly applied.
    pub(crate) fn has_committed(&self) -> bool {
        !self.committed.is_empty()
    }

    /// Whether it is at most one entry of so many bytes.
    pub(crate) fn has_little_committed(&self, bytes: usize) -> bool {
        self.committed.len() <= 1 && self.committed.iter().all(|entry| entry.data.len() <= bytes)
    }

    /// What is committed and not wholly applied, in order.
    pub(crate) fn committed(&self) -> impl Iterator<Item = &Entry> {
        self.committed.iter()
    }

    pub(crate) const fn puts_off(&self) -> bool {
        self.puts_off
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use consensus_raft::EntryKind;

    use super::*;

    fn entry(index: LogIndex) -> Entry {
        Entry { index, term: Term(7), kind: EntryKind::Normal, data: Bytes::new() }
    }

    fn applier() -> Applier {
        let mut applier = Applier::new((LogIndex(4), Term(3)), 100);
        applier.commit([entry(LogIndex(5)), entry(LogIndex(6))]);
        applier.begin_turn();
        applier
    }

    #[test]
    fn entries_are_taken_up_in_order_until_the_turn_is_used_up() {
        let mut applier = applier();
        assert!(applier.next_entry(true).is_none(), "a snapshot holds writes up");
        let first = applier.next_entry(false).expect("one is committed");
        assert_eq!((first.index, applier.index(), applier.entry_term()), (LogIndex(5), LogIndex(4), Term(7)));
        applier.finished(&first);
        applier.spend(100);
        assert!(applier.next_entry(false).is_none());
        applier.begin_turn();
        assert_eq!((applier.next_entry(false), applier.index()), (Some(entry(LogIndex(6))), LogIndex(5)));
        assert!(!applier.has_committed());
    }

    #[test]
    fn entry_that_was_put_back_goes_on_where_it_stopped() {
        let mut applier = applier();
        let first = applier.next_entry(false).expect("one is committed");
        applier.put_back(first, Some(30));
        assert_eq!((applier.entry_offset(), applier.is_between_entries()), (30, false));
        let first = applier.next_entry(false).expect("it is still there");
        applier.put_back(first, None);
        assert_eq!(applier.entry_offset(), 30, "nothing more of it was applied");
        applier.drop_committed();
        assert!(applier.is_between_entries() && !applier.has_committed());
    }

    #[test]
    fn heavy_command_is_put_off_to_a_turn_of_its_own() {
        let mut applier = applier();
        assert!(applier.takes_command(|| 1_000) && !applier.puts_off());
        applier.spend(1);
        assert!(applier.takes_command(|| 99));
        assert!(!applier.takes_command(|| 100) && applier.puts_off());
        applier.begin_turn();
        assert!(!applier.puts_off());
    }
}
