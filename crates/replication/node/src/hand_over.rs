//! A hand-over that a leader prepares.

use base::MonoTime;
use replication_appointed::{Replica, ReplicaId};

/// See the module. The leader appends nothing until the time is over, so that the next leader gets everything. Nothing depends
/// on that but who is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandOver {
    to: ReplicaId,
    pub(crate) until: MonoTime,
    /// Controllers were told that it is prepared. If that was lost they ask again.
    is_told: bool,
}

impl HandOver {
    pub(crate) const fn new(to: ReplicaId, until: MonoTime) -> Self {
        Self { to, until, is_told: false }
    }

    /// The next leader, if its disk has everything and nobody was told that.
    pub(crate) fn prepared_now(&mut self, replica: &Replica) -> Option<ReplicaId> {
        if self.is_told || replica.durable_on(self.to) != Some(replica.log().end()) {
            return None;
        }
        self.is_told = true;
        Some(self.to)
    }
}
