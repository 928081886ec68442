//! Commands of the disk that wait for their turn, or for room.
//!
//! They are carried out in order, but for one case: while the first of them finds no room, those that make room are carried out
//! before it. Otherwise a full disk would stay full. That a log is dropped depends on no command before it: nobody asks for
//! anything of such a log. That it begins later depends on the batches up to there, on a cut and on a reset: others may have
//! committed batches that wait here, and their leader may have deleted them; and the first segment that stays is told for a log
//! that is cut. A state, or compacted segments, that come after a later start
//! than they know of do not take it back: the store sees to that.

use std::collections::{BTreeSet, VecDeque};

use log_partition::Offset;
use log_storage::Append;
use storage_wal::LogId;

use crate::disk_work::DiskCommand;

/// A command in the queue.
pub(super) enum Queued {
    /// This command.
    Waits(DiskCommand),
    /// A command that was carried out before its turn.
    CarriedOut,
}

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    commands: VecDeque<Queued>,
}

impl Queue {
    /// Takes commands, in order.
    pub(super) fn extend(&mut self, commands: &mut Vec<DiskCommand>) {
        self.commands.extend(commands.drain(..).map(Queued::Waits));
    }

    /// The next command.
    pub(super) fn pop(&mut self) -> Option<Queued> {
        self.commands.pop_front()
    }

    /// The next command, if it is an append.
    pub(super) fn pop_append(&mut self) -> Option<Append> {
        let is_append = |next: &mut Queued| matches!(next, Queued::Waits(DiskCommand::Append(_)));
        match self.commands.pop_front_if(is_append) {
            Some(Queued::Waits(DiskCommand::Append(append))) => Some(append),
            _ => None,
        }
    }

    /// A command found no room: it is next again.
    pub(super) fn put_back(&mut self, command: DiskCommand) {
        self.commands.push_front(Queued::Waits(command));
    }

    /// The first command that makes room and may come before its turn, and its place. `end` is where a log ends by what was
    /// carried out.
    pub(super) fn next_that_makes_room(
        &self,
        end: impl Fn(LogId) -> Option<Offset>,
    ) -> Option<(usize, DiskCommand)> {
        let mut shortened = BTreeSet::new();
        self.commands.iter().enumerate().find_map(|(at, next)| match next {
            Queued::Waits(command @ DiskCommand::Start(log, start, _))
                if !shortened.contains(log) && end(*log) >= Some(*start) =>
            {
                Some((at, command.clone()))
            }
            Queued::Waits(command @ DiskCommand::Drop(_)) => Some((at, command.clone())),
            Queued::Waits(DiskCommand::Reset(log, ..) | DiskCommand::Cut(log, _)) => {
                shortened.insert(*log);
                None
            }
            _ => None,
        })
    }

    /// The command at that place was carried out before its turn. If it has dropped a log, there is nothing left to be done for
    /// that log.
    pub(super) fn carried_out(&mut self, at: usize) {
        let dropped = match self.commands.get(at) {
            Some(Queued::Waits(DiskCommand::Drop(log))) => Some(*log),
            _ => None,
        };
        for (other, next) in self.commands.iter_mut().enumerate() {
            let log = match next {
                Queued::Waits(command) => log_of(command),
                Queued::CarriedOut => None,
            };
            if other == at || (log.is_some() && log == dropped) {
                *next = Queued::CarriedOut;
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

const fn log_of(command: &DiskCommand) -> Option<LogId> {
    match command {
        DiskCommand::Append(append) => Some(append.log),
        DiskCommand::Drop(log)
        | DiskCommand::State(log, _)
        | DiskCommand::Epoch(log, ..)
        | DiskCommand::Cut(log, _)
        | DiskCommand::Reset(log, ..)
        | DiskCommand::Start(log, ..)
        | DiskCommand::Replace { log, .. } => Some(*log),
        DiskCommand::Create(..) => None,
    }
}
