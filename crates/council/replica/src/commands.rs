//! The commands of one committed entry, ready to be applied.

use consensus_raft::{Entry, LogIndex};
use council_tree::{Command, REACH, Stamp, Tree};

use crate::Fault;
use crate::proposals::batch::BatchReader;
use crate::proposals::weight_in;

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Commands<'a> {
    index: LogIndex,
    reader: BatchReader<'a>,
    /// How many of the next commands were looked up already.
    reached: usize,
}

impl<'a> Commands<'a> {
    /// Those that begin at this offset of the entry's content; 0 is the start.
    pub(crate) fn of(entry: &'a Entry, offset: usize) -> Result<Self, Fault> {
        let index = entry.index;
        let reader = BatchReader::resume(&entry.data, offset).map_err(|_| unreadable(index))?;
        Ok(Self { index, reader, reached: 0 })
    }

    pub(crate) fn next(&mut self) -> Result<Option<Command<'a>>, Fault> {
        let Some(bytes) = self.reader.next().map_err(|_| unreadable(self.index))? else { return Ok(None) };
        let malformed = |error| Fault::MalformedEntry { index: self.index, what: format!("a {error}") };
        Command::decode(bytes).map(Some).map_err(malformed)
    }

    /// Looks up what the next commands need in a large tree, many at once.
    pub(crate) fn reach_ahead(&mut self, tree: &Tree) {
        if self.reached == 0 && tree.is_large() {
            let mut ahead = self.clone();
            // What cannot be read is met again, and told, when it is applied.
            let commands = core::iter::from_fn(|| ahead.next().ok().flatten());
            tree.reach(commands.map(|command| command.operation));
            self.reached = REACH;
        }
        self.reached = self.reached.saturating_sub(1);
    }

    /// When the leader made the entry.
    pub(crate) const fn stamp(&self) -> Stamp {
        Stamp { time_ms: self.reader.wall_ms }
    }

    /// Where the next command begins.
    pub(crate) const fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// What the next command weighs; 0 if there is none.
    pub(crate) fn next_weight(&self, tree: &Tree) -> u64 {
        let next = self.reader.clone().next().ok().flatten();
        next.map_or(0, |command| weight_in(command, tree))
    }
}

fn unreadable(index: LogIndex) -> Fault {
    Fault::UnreadableEntry { index }
}

/// Whether an entry's content is one that this build can apply. What cannot be read must not come into the log: it would
/// stop every member that applies it, at each start anew.
pub(crate) fn is_readable(content: &[u8]) -> bool {
    let Ok(mut reader) = BatchReader::new(content) else { return false };
    loop {
        match reader.next() {
            Ok(None) => return true,
            Ok(Some(command)) if Command::decode(command).is_ok() => {}
            _ => return false,
        }
    }
}

/// All commands of a committed entry and the time at which its leader made it: for readers of the log.
///
/// # Errors
/// [`Fault`] when the entry is not of a form that this build can read.
pub fn commands_of(entry: &Entry) -> Result<(Stamp, Vec<Command<'_>>), Fault> {
    let mut commands = Commands::of(entry, 0)?;
    let (stamp, mut all) = (commands.stamp(), Vec::new());
    while let Some(command) = commands.next()? {
        all.push(command);
    }
    Ok((stamp, all))
}
