//! The first part of a start: what is known to be committed is applied to the snapshot's state, a piece of the log at a
//! time, before there is an engine.
//!
//! What lies above the commit index of the hard state may still be overwritten, in an ensemble: it is kept as it is, for
//! the engine. That is what was under way when the member stopped, and bounded as that is. Knows no journal: the
//! driver reads what [`Replay::wants`] and hands it to [`Replay::take`].

use core::ops::Range;
use std::collections::VecDeque;

use consensus_raft::{
    Entry, EntryKind, HardState, LogIndex, Malformed, Membership, Recovered, SnapshotOffer, Term,
};

use crate::convert;
use crate::entry_commands::EntryCommands;
use crate::start::Seat;
use crate::{Fault, Stamp};

/// A state to which commands are applied before there is a replica.
pub trait Replayed {
    /// Applies a command.
    ///
    /// # Errors
    /// This build cannot read it.
    fn apply(&mut self, stamp: Stamp, command: &[u8]) -> Result<(), Malformed>;
}

/// See the module.
pub struct Replay<R> {
    replayed: R,
    hard_state: HardState,
    /// The last entry that can be applied without the engine.
    replayable: LogIndex,
    membership: Membership,
    /// Index and term of the last entry applied.
    applied: (LogIndex, Term),
    /// The last entry of the log.
    last_index: LogIndex,
    /// The latest of the entries that are applied, for members that lag, and the entry before them.
    window: VecDeque<Entry>,
    /// Everything is applied, committed or not.
    regardless: bool,
    window_bytes: usize,
    window_bytes_max: usize,
    window_base: (LogIndex, Term),
    /// The entries above the commit index taken so far.
    tail: Vec<Entry>,
    log_bytes: u64,
    commands: u64,
    snapshot: Option<SnapshotOffer>,
}

impl<R: Replayed> Replay<R> {
    /// Begins with the state of the snapshot, a new one if there is none. The latest entries are kept, up to
    /// `window_bytes_max`, for members that lag.
    #[must_use]
    pub fn new(
        recovered: &storage_raft_log::Recovered,
        membership: &storage_raft_log::Membership,
        replayed: R,
        window_bytes_max: usize,
    ) -> Self {
        let applied =
            recovered.snapshot.as_ref().map_or_else(Default::default, |meta| (meta.index, meta.term));
        Self {
            replayed,
            hard_state: convert::engine_hard_state(recovered.hard_state),
            replayable: recovered.hard_state.commit,
            membership: convert::engine_membership(
                recovered.snapshot.as_ref().map_or(membership, |meta| &meta.membership),
            ),
            applied,
            last_index: recovered.last_index,
            window: VecDeque::new(),
            regardless: false,
            window_bytes: 0,
            window_bytes_max,
            window_base: applied,
            tail: Vec::new(),
            log_bytes: 0,
            commands: 0,
            snapshot: recovered.snapshot.as_ref().map(|meta| SnapshotOffer {
                index: meta.index,
                term: meta.term,
                membership: convert::engine_membership(&meta.membership),
            }),
        }
    }

    /// From now on everything is applied, whether it is known to be committed or not, and changes of members are passed
    /// over: for a survivor that is to begin anew alone.
    #[must_use]
    pub const fn regardless(mut self) -> Self {
        self.regardless = true;
        self.replayable = LogIndex::MAX;
        self
    }

    /// The next entries wanted: any number of them from the first on. Nothing when there are no more.
    #[must_use]
    pub fn wants(&self) -> Option<Range<LogIndex>> {
        let next = self.applied.0.plus(self.tail.len() as u64).next();
        (next <= self.last_index).then_some(next..self.last_index.next())
    }

    /// Takes entries that were wanted.
    ///
    /// # Errors
    /// [`Fault`] when the log holds what this build cannot read: this member must not start.
    pub fn take(&mut self, entries: Vec<storage_raft_log::Entry>) -> Result<(), Fault> {
        for entry in entries {
            let entry = convert::engine_entry(entry);
            let wanted = self.wants().map(|wanted| wanted.start);
            assert_eq!(Some(entry.index), wanted, "the journal handed over a log with a gap");
            if entry.kind == EntryKind::Membership && self.regardless {
                self.applied = (entry.index, entry.term);
                continue;
            }
            if entry.kind == EntryKind::Membership {
                // What a change of members means the engine alone knows.
                self.replayable = self.replayable.min(entry.index.previous());
            }
            if entry.index <= self.replayable {
                self.apply(&entry)?;
                self.keep(entry);
            } else {
                self.tail.push(entry);
            }
        }
        Ok(())
    }

    fn apply(&mut self, entry: &Entry) -> Result<(), Fault> {
        let index = entry.index;
        let malformed = |Malformed(what)| Fault::MalformedEntry { index, what: String::from(what) };
        let mut commands = EntryCommands::of(entry, 0)?;
        let stamp = commands.stamp();
        while let Some(command) = commands.next_command()? {
            self.replayed.apply(stamp, command).map_err(malformed)?;
            self.commands += 1;
        }
        self.log_bytes += entry.data.len() as u64;
        self.applied = (entry.index, entry.term);
        Ok(())
    }

    fn keep(&mut self, entry: Entry) {
        self.window_bytes += entry.bytes_in_memory();
        self.window.push_back(entry);
        while self.window_bytes > self.window_bytes_max
            && let Some(oldest) = self.window.pop_front()
        {
            self.window_bytes -= oldest.bytes_in_memory();
            self.window_base = (oldest.index, oldest.term);
        }
    }

    /// Everything is taken: the seat for the replica, and the state that goes with it.
    #[must_use]
    pub fn finish(self) -> (Seat, R) {
        assert_eq!(self.wants(), None, "a seat is taken with the whole log");
        let (base_index, base_term) = self.window_base;
        let Self { hard_state, membership, applied, log_bytes, commands, snapshot, .. } = self;
        let entries = self.window.into_iter().chain(self.tail).collect();
        let recovered = Recovered { hard_state, membership, base_index, base_term, entries };
        (Seat { recovered, applied, log_bytes, commands, snapshot }, self.replayed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use storage_raft_log::{Entry, EntryKind, HardState, Identity};

    use crate::batch::BatchWriter;

    /// An entry with a note.
    fn entry(index: LogIndex) -> Entry {
        let mut batch = BatchWriter::new(1 << 10);
        batch.push(&[1], 0);
        Entry {
            index,
            term: Term(1),
            kind: EntryKind::Normal,
            data: batch.take(base::WallTime::default()).remove(0).content,
        }
    }

    fn applied(set: impl Fn(Replay<Vec<u8>>) -> Replay<Vec<u8>>) -> (LogIndex, usize, usize) {
        let recovered = storage_raft_log::Recovered {
            identity: Identity { cluster: [0; 16], incarnation: [0; 16], member: base::MemberId(1) },
            fresh: false,
            hard_state: HardState { term: Term(1), vote: Some(base::MemberId(1)), commit: LogIndex(1) },
            membership: storage_raft_log::Membership::default(),
            snapshot: None,
            first_index: LogIndex(1),
            last_index: LogIndex(3),
            torn_tail: None,
            damaged_snapshots: Vec::new(),
        };
        let mut replay = set(Replay::new(&recovered, &recovered.membership, Vec::new(), 0));
        let change = Entry { kind: EntryKind::Membership, data: Bytes::new(), ..entry(LogIndex(2)) };
        replay.take(vec![entry(LogIndex(1)), change, entry(LogIndex(3))]).expect("it can be read");
        let (seat, notes) = replay.finish();
        (seat.applied().0, notes.len(), seat.recovered.entries.len())
    }

    #[test]
    fn replay_ends_where_the_log_is_known_to_be_committed() {
        assert_eq!(applied(|replay| replay), (LogIndex(1), 1, 2));
    }

    #[test]
    fn replay_for_a_new_ensemble_applies_all_that_the_log_holds() {
        assert_eq!(applied(Replay::regardless).0, LogIndex(3));
        assert_eq!(applied(Replay::regardless).1, 2, "the change of members is passed over");
    }
}
