//! What a replica has on its disk: a promise, entries, and the epoch that has begun behind them.

use replication_appointed::{Durable, Epoch, EpochHistory, EpochStart, LogShape, Position, Seq};

/// An entry: a value that no other entry has, and the epoch that it was made in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Entry {
    pub(crate) epoch: Epoch,
    pub(crate) value: u8,
}

/// One thing that a disk does whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Promise(Epoch),
    Reset(Position),
    Cut(Seq),
    Store(Entry),
    Begin(EpochStart),
    CutStart(Seq),
    /// Everything before is durable, and the replica is told.
    Tell,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Disk {
    pub(crate) promised: Epoch,
    pub(crate) base: Position,
    pub(crate) entries: Vec<Entry>,
    /// An epoch that has begun at the end, and has no entry.
    begun: Option<Epoch>,
}

impl Disk {
    /// An empty one that has promised this.
    pub(crate) fn promising(promised: Epoch) -> Self {
        Self { promised, ..Self::default() }
    }

    pub(crate) fn end(&self) -> Seq {
        Seq(self.base.end.0 + self.entries.len() as u64)
    }

    fn epoch_before(&self, seq: Seq) -> Epoch {
        let last = self.entries.get(..(seq.0 - self.base.end.0) as usize).and_then(<[Entry]>::last);
        last.map_or(self.base.epoch, |entry| entry.epoch)
    }

    pub(crate) fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Promise(epoch) => self.promised = self.promised.max(epoch),
            Operation::Reset(base) => {
                *self = Self { promised: self.promised, base, entries: Vec::new(), begun: None }
            }
            Operation::Cut(from) => {
                let place = (from.0 - self.base.end.0) as usize;
                let first = self.entries.get(place).map(|entry| entry.epoch);
                self.begun = first.filter(|epoch| *epoch != self.epoch_before(from));
                self.entries.truncate(place);
            }
            Operation::Store(entry) => {
                self.begun = None;
                self.entries.push(entry);
            }
            Operation::Begin(known) => {
                assert_eq!(known.start, self.end(), "an epoch begins at the end of the log");
                self.begun = Some(known.epoch);
            }
            Operation::CutStart(start) => {
                let gone = (start.0 - self.base.end.0) as usize;
                self.base = Position { epoch: self.epoch_before(start), end: start };
                self.entries.drain(..gone);
            }
            Operation::Tell => {}
        }
    }

    /// What a start reads.
    pub(crate) fn read(&self) -> Durable {
        let mut history = EpochHistory::default();
        let mut last = Epoch::NONE;
        for (at, entry) in self.entries.iter().enumerate() {
            if entry.epoch != last {
                history.begin(entry.epoch, Seq(self.base.end.0 + at as u64));
                last = entry.epoch;
            }
        }
        if let Some(epoch) = self.begun {
            history.begin(epoch, self.end());
        }
        let log = LogShape::new(self.base, history, self.end());
        Durable { promised: self.promised, log, committed: Seq(0) }
    }
}
