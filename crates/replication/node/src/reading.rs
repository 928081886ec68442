//! A record that is being read, and what waits for it.

use replication_appointed::{Epoch, ReplicaId};

use crate::fences::Fences;

/// How often a record is read for entries whose epoch it does not have. A read that began before the entries came may miss
/// that epoch, and a record that was observed late may look like the answer. After that the sender is at fault: no record has
/// its epoch.
const TRIES_MAX: u8 = 3;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Promises of a partition that the node has no assignment for.
    pub(crate) fences: Fences,
    /// A leader whose entries were dropped, and its epoch; the newest.
    pub(crate) dropped: Option<(ReplicaId, Epoch)>,
    tries: u8,
}

impl Reading {
    /// Entries of that leader are dropped.
    pub(crate) fn drop_entries(&mut self, leader: ReplicaId, epoch: Epoch) {
        if self.dropped.is_none_or(|known| known.1 <= epoch) {
            self.dropped = Some((leader, epoch));
        }
    }

    /// The record has that epoch; whether it has to be read again.
    pub(crate) fn is_answered_by(&mut self, epoch: Epoch) -> bool {
        let is_newer = self.dropped.is_some_and(|known| known.1 > epoch);
        self.tries = self.tries.saturating_add(1);
        !is_newer || self.tries >= TRIES_MAX
    }
}
