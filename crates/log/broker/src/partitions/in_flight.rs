//! What is on its way to the disk, in the order of the commands, and what follows when it is durable.

use std::collections::VecDeque;

use log_partition::PersistId;

use super::Slot;
use crate::disk_work::DiskCommand;

/// What a command stands for once it is durable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Awaited {
    /// A batch of a partition, which has that number there.
    Batch(Slot, PersistId),
    /// The beginning of a leader epoch.
    Epoch(Slot, PersistId),
    /// What a replica has promised, or has taken from its leader.
    Replica(Slot, PersistId),
    /// A copy with its promise, which was asked for.
    Made(Slot, PersistId),
    /// A log begins later.
    Start(Slot, PersistId),
    /// Something of a partition that is gone.
    Gone,
}

impl Awaited {
    const fn slot(self) -> Option<Slot> {
        match self {
            Self::Batch(slot, _)
            | Self::Epoch(slot, _)
            | Self::Replica(slot, _)
            | Self::Made(slot, _)
            | Self::Start(slot, _) => Some(slot),
            Self::Gone => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The number of the command.
    number: u64,
    /// Bytes of its batch.
    bytes: usize,
    awaited: Awaited,
}

/// Commands for the disk, and those whose end somebody awaits. See the module.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    commands: Vec<DiskCommand>,
    /// How many commands were given in all.
    given: u64,
    awaited: VecDeque<Entry>,
    bytes: usize,
}

impl InFlight {
    /// Gives a command for which nobody waits.
    pub(crate) fn give(&mut self, command: DiskCommand) {
        self.commands.push(command);
        self.given += 1;
    }

    /// Gives a command with so many bytes of a batch.
    pub(crate) fn give_awaited(&mut self, command: DiskCommand, bytes: usize, awaited: Awaited) {
        self.give(command);
        self.bytes += bytes;
        self.awaited.push_back(Entry { number: self.given, bytes, awaited });
    }

    /// Takes the commands, in order; `into` is empty and gives its room in exchange.
    pub(crate) fn take_commands(&mut self, into: &mut Vec<DiskCommand>) {
        debug_assert!(into.is_empty(), "nothing is lost");
        std::mem::swap(&mut self.commands, into);
    }

    /// The next of what was awaited of the first `commands` commands, which are durable, with the bytes of its batch.
    pub(crate) fn next_durable(&mut self, commands: u64) -> Option<(Awaited, usize)> {
        let entry = self.awaited.pop_front_if(|entry| entry.number <= commands)?;
        self.bytes -= entry.bytes;
        Some((entry.awaited, entry.bytes))
    }

    /// What was awaited of a command that counts as committed before it is durable, with the bytes of its batch.
    pub(crate) fn take_early(&mut self, command: u64) -> Option<(Awaited, usize)> {
        let at = self.awaited.binary_search_by_key(&command, |entry| entry.number).ok()?;
        let entry = self.awaited.get_mut(at)?;
        let taken = (std::mem::replace(&mut entry.awaited, Awaited::Gone), std::mem::take(&mut entry.bytes));
        self.bytes -= taken.1;
        Some(taken)
    }

    /// A partition is gone: nothing follows from what was on its way.
    pub(crate) fn forget(&mut self, slot: Slot) {
        for entry in &mut self.awaited {
            if entry.awaited.slot() == Some(slot) {
                entry.awaited = Awaited::Gone;
            }
        }
    }

    /// Bytes of batches that are not durable.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}
