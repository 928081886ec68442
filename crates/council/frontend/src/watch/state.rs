//! What a shard keeps for its watches: the table, the history of changes, and what is between the two.

use super::modes::Modes;
use super::set_again::Settled;
use super::table::WatchTable;
use crate::history::History;

/// See the module.
#[derive(Debug)]
pub(crate) struct Watching {
    pub(crate) table: WatchTable,
    pub(crate) history: History,
    /// Watches that are set and not yet all in their table: at most one connection makes so many at a time.
    pub(crate) settled: Option<Settled>,
    /// Reused for each change: the connections that get an event, and its frame.
    pub(crate) told: Vec<u32>,
    pub(crate) event_frame: Vec<u8>,
}

impl Watching {
    pub(crate) fn new(seed: u64, history_bytes_max: usize) -> Self {
        Self {
            table: WatchTable::new(seed),
            history: History::new(history_bytes_max),
            settled: None,
            told: Vec::new(),
            event_frame: Vec::new(),
        }
    }

    /// Forgets the watches of a connection.
    pub(crate) fn leave(&mut self, slot: u32) {
        self.table.remove_connection(slot);
        self.settled = self.settled.take().filter(|settled| settled.slot != slot);
    }

    /// Whether there is no watch.
    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty() && self.settled.is_none()
    }

    /// Fires the watches on a path, and with `ancestors` the recursive ones above it: `told` holds their connections.
    pub(crate) fn fire(&mut self, path: &str, kinds: Modes, ancestors: bool) {
        self.told.clear();
        self.table.fire(path, kinds, &mut self.told);
        if ancestors {
            self.table.fire_ancestors(path, &mut self.told);
        }
        if let Some(settled) = &mut self.settled
            && settled.named.fire(path, kinds)
            && !self.told.contains(&settled.slot)
        {
            self.told.push(settled.slot);
        }
    }
}
