//! The commands of one committed entry, ready to be applied.

use consensus_raft::{Entry, LogIndex};

use crate::Fault;
use crate::batch::BatchReader;
use crate::state_machine::{Stamp, StateMachine};

/// See the module.
#[derive(Clone, Debug)]
pub struct EntryCommands<'a> {
    index: LogIndex,
    reader: BatchReader<'a>,
    /// How many of the next commands were brought near already.
    prefetched: usize,
}

impl<'a> EntryCommands<'a> {
    /// Those that begin at this offset of the entry's content; 0 is the start.
    ///
    /// # Errors
    /// [`Fault`] when the content is not of a form that this build can read.
    pub fn of(entry: &'a Entry, offset: usize) -> Result<Self, Fault> {
        let index = entry.index;
        let reader = BatchReader::resume(&entry.data, offset).map_err(|_| unreadable(index))?;
        Ok(Self { index, reader, prefetched: 0 })
    }

    /// The next command's bytes.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn next_command(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        self.reader.next_command().map_err(|_| unreadable(self.index))
    }

    /// Brings near what the next commands need of a large state, many at once.
    pub(crate) fn prefetch<M: StateMachine>(&mut self, state: &M::State) {
        if self.prefetched == 0 {
            let mut ahead = self.reader.clone();
            // What cannot be read is met again, and told, when it is applied.
            self.prefetched = M::prefetch(state, core::iter::from_fn(|| ahead.next_command().ok().flatten()));
        }
        self.prefetched = self.prefetched.saturating_sub(1);
    }

    /// When the leader made the entry.
    #[must_use]
    pub const fn stamp(&self) -> Stamp {
        Stamp { wall: self.reader.wall }
    }

    /// Where the next command begins.
    pub(crate) const fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// What it will cost to apply the next command; 0 if there is none.
    pub(crate) fn next_cost<M: StateMachine>(&self, state: &M::State) -> u64 {
        let next = self.reader.clone().next_command().ok().flatten();
        next.map_or(0, |command| M::cost_to_apply(state, command))
    }
}

const fn unreadable(index: LogIndex) -> Fault {
    Fault::UnreadableEntry { index }
}

/// Whether an entry's content is one that this build can apply, if it can read each command that `reads` says it can. What
/// cannot be read must not come into the log: it would stop every member that applies it, at each start anew.
#[must_use]
pub fn is_readable(content: &[u8], reads: impl Fn(&[u8]) -> bool) -> bool {
    let Ok(mut reader) = BatchReader::new(content) else { return false };
    loop {
        match reader.next_command() {
            Ok(None) => return true,
            Ok(Some(command)) if reads(command) => {}
            _ => return false,
        }
    }
}
