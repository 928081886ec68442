//! What the journal must hold: every state of the log so far, and how far it was flushed.

use sim_council::disk::SimDisk;
use std::collections::BTreeMap;
use storage_raft_log::{
    Batch, Entry, HardState, Journal, LogIndex, Membership, ReadError, Recovered, SnapshotMeta, Term,
};

/// The log as it should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogState {
    pub(crate) hard_state: HardState,
    pub(crate) membership: Membership,
    /// The index before the first entry, and its term.
    pub(crate) base: (LogIndex, Term),
    pub(crate) entries: Vec<Entry>,
}

impl LogState {
    pub(crate) fn last_index(&self) -> LogIndex {
        self.base.0.plus(self.entries.len() as u64)
    }

    pub(crate) fn term(&self, index: LogIndex) -> Option<Term> {
        if index == self.base.0 {
            return Some(self.base.1);
        }
        self.entries.iter().find(|entry| entry.index == index).map(|entry| entry.term)
    }

    pub(crate) fn behind(&self, index: LogIndex) -> &[Entry] {
        let skip = index.since(self.base.0) as usize;
        self.entries.get(skip..).unwrap_or_default()
    }

    pub(crate) fn append(&mut self, batch: &Batch) {
        if let Some(hard_state) = batch.hard_state {
            self.hard_state = hard_state;
        }
        if let Some(membership) = &batch.membership {
            self.membership = membership.clone();
        }
        if let Some(first) = batch.entries.first() {
            self.entries.truncate(first.index.previous().since(self.base.0) as usize);
            self.entries.extend_from_slice(&batch.entries);
        }
    }

    pub(crate) fn reset(&mut self, meta: &SnapshotMeta) {
        self.base = (meta.index, meta.term);
        self.entries.clear();
        self.membership = meta.membership.clone();
        self.hard_state.commit = self.hard_state.commit.max(meta.index);
        if self.hard_state.term < meta.term {
            self.hard_state.term = meta.term;
            self.hard_state.vote = None;
        }
    }

    /// The state together with a snapshot; nothing if entries between the two are missing.
    fn seen_from(&self, snapshot: Option<&SnapshotMeta>) -> Option<LogState> {
        let mut seen = self.clone();
        let Some(meta) = snapshot else { return (self.base.0 == LogIndex::ZERO).then_some(seen) };
        if self.base.0 > meta.index {
            return None;
        }
        if self.term(meta.index) != Some(meta.term) {
            seen.reset(meta);
        }
        seen.hard_state.commit = seen.hard_state.commit.max(meta.index);
        Some(seen)
    }

    fn matches(&self, recovered: &Recovered, entries: &[Entry]) -> bool {
        let from = recovered.snapshot.as_ref();
        self.seen_from(from).is_some_and(|seen| {
            seen.hard_state == recovered.hard_state
                && seen.membership == recovered.membership
                && seen.last_index() == recovered.last_index
                && seen.behind(from.map_or(LogIndex::ZERO, |meta| meta.index)) == entries
        })
    }
}

/// The entries behind the snapshot, in pieces of so many bytes, as a start reads them; 0 is an entry at a time.
pub(crate) fn behind_snapshot(
    journal: &mut Journal<SimDisk>,
    recovered: &Recovered,
    piece_bytes: u64,
) -> Result<Vec<Entry>, ReadError> {
    let mut entries = Vec::new();
    let mut next = recovered.snapshot.as_ref().map_or(LogIndex::ZERO, |meta| meta.index).next();
    while next <= recovered.last_index {
        let piece = journal.entries(next, recovered.last_index.next(), piece_bytes)?;
        assert!(piece_bytes > 0 || piece.len() == 1, "{} entries in a piece of one", piece.len());
        next = next.plus(piece.len() as u64);
        entries.extend(piece);
    }
    Ok(entries)
}

/// A snapshot and its content.
pub(crate) type Snapshot = (SnapshotMeta, Vec<Vec<u8>>);

/// Everything that may be found after a crash.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// The last is the present one.
    states: Vec<LogState>,
    /// Which of them was flushed last.
    flushed: usize,
    /// Every snapshot whose completion was at least begun, by index.
    snapshots: BTreeMap<LogIndex, Snapshot>,
    /// The newest whose completion was acknowledged.
    pub(crate) snapshot_index: LogIndex,
}

impl Model {
    pub(crate) fn new() -> Model {
        let states = vec![LogState::default()];
        Model { states, flushed: 0, snapshots: BTreeMap::new(), snapshot_index: LogIndex::ZERO }
    }

    pub(crate) fn present(&self) -> &LogState {
        &self.states[self.states.len() - 1]
    }

    pub(crate) fn flushed(&self) -> &LogState {
        &self.states[self.flushed]
    }

    pub(crate) fn append(&mut self, batch: &Batch) {
        let mut next = self.present().clone();
        next.append(batch);
        self.states.push(next);
    }

    pub(crate) fn flush(&mut self) {
        self.flushed = self.states.len() - 1;
    }

    pub(crate) fn snapshot_begun(&mut self, snapshot: Snapshot) {
        let meta = &snapshot.0;
        if self.present().term(meta.index) != Some(meta.term) {
            let mut next = self.present().clone();
            next.reset(meta);
            self.states.push(next);
        }
        self.snapshots.insert(meta.index, snapshot);
    }

    pub(crate) fn snapshot_done(&mut self, meta: &SnapshotMeta) {
        self.snapshot_index = meta.index;
        if self.present().base.0 == meta.index {
            self.flush();
        }
    }

    /// Compares what was recovered with what may be, and goes on from there.
    pub(crate) fn check(
        &mut self,
        recovered: &Recovered,
        journal: &mut Journal<SimDisk>,
    ) -> Result<(), String> {
        let index = recovered.snapshot.as_ref().map_or(LogIndex::ZERO, |meta| meta.index);
        if index < self.snapshot_index && recovered.damaged_snapshots.is_empty() {
            return Err(format!("snapshot {} was lost, {index} was found", self.snapshot_index));
        }
        self.check_snapshot(recovered, journal)?;
        let (commit, last) = (recovered.hard_state.commit, recovered.last_index);
        if !(index..=last).contains(&commit) {
            return Err(format!("{commit} is committed of a log from {index} to {last}"));
        }
        let entries = behind_snapshot(journal, recovered, 0).map_err(|error| error.to_string())?;
        let possible = self.flushed..self.states.len();
        let Some(found) = possible.rev().find(|at| self.states[*at].matches(recovered, &entries)) else {
            let (flushed, present) = (self.flushed(), self.present());
            return Err(format!(
                "found {recovered:#?}\n{entries:#?}\nflushed was {flushed:#?}\npresent {present:#?}"
            ));
        };
        let seen = self.states[found].seen_from(recovered.snapshot.as_ref());
        self.states[found] = seen.ok_or("an impossible state matched")?;
        self.states.truncate(found + 1);
        self.flushed = found;
        self.snapshot_index = index;
        self.snapshots.retain(|other, _| *other <= index);
        self.check_reading(journal)
    }

    fn check_snapshot(&self, recovered: &Recovered, journal: &mut Journal<SimDisk>) -> Result<(), String> {
        let reader = journal.open_snapshot().map_err(|error| error.to_string())?;
        let (Some(meta), Some(mut reader)) = (&recovered.snapshot, reader) else {
            let none = recovered.snapshot.is_none() && journal.newest_snapshot().is_none();
            return if none { Ok(()) } else { Err("a snapshot cannot be opened".into()) };
        };
        let Some((expected, chunks)) = self.snapshots.get(&meta.index) else {
            return Err(format!("snapshot {} was never made", meta.index));
        };
        if expected != meta || reader.meta() != meta {
            return Err(format!("snapshot {meta:?} should be {expected:?}"));
        }
        let mut read = Vec::new();
        while let Some(chunk) = journal.read_snapshot(&mut reader).map_err(|error| error.to_string())? {
            read.push(chunk);
        }
        if &read == chunks { Ok(()) } else { Err(format!("snapshot {} has other content", meta.index)) }
    }

    /// Everything that can be read is what was appended last.
    pub(crate) fn check_reading(&self, journal: &mut Journal<SimDisk>) -> Result<(), String> {
        let (first, last) = (journal.first_index(), journal.last_index());
        let state = self.present();
        if last != state.last_index() || first > self.snapshot_index.max(state.base.0).next() {
            return Err(format!("{first} to {last} can be read, {} is the last", state.last_index()));
        }
        let first = first.max(state.base.0.next());
        for bytes_max in [0, 700, u64::MAX] {
            let mut next = first;
            while next <= last {
                let read =
                    journal.entries(next, last.next(), bytes_max).map_err(|error| error.to_string())?;
                let expected = &state.behind(next.previous())[..read.len()];
                if read.is_empty() || read != expected {
                    return Err(format!("read {read:?} from {next} on instead of {expected:?}"));
                }
                next = next.plus(read.len() as u64);
            }
        }
        match first
            .onward()
            .take_while(|index| *index <= last)
            .find(|index| journal.term(*index) != state.term(*index))
        {
            Some(index) => Err(format!("the term of {index} is {:?}", journal.term(index))),
            None => Ok(()),
        }
    }
}
