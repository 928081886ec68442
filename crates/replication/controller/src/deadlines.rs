//! What is to be looked at later, in the order of time.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use replication_appointed::ReplicaId;

use crate::ids::PartitionId;

/// What is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// Whether the node was heard from.
    Silence(ReplicaId),
    /// Whether the node has answered.
    Resend(ReplicaId),
    /// Whether the node gets back what prefers it.
    Preferred(ReplicaId),
    /// A partition that has something under way.
    Partition(PartitionId),
    /// Reads and proposals that are not answered.
    Configuration,
}

/// See the module. Each has one time.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    times: BTreeMap<Deadline, MonoTime>,
    order: BTreeSet<(MonoTime, Deadline)>,
}

impl Deadlines {
    /// It is looked at then, and not before.
    pub(crate) fn set(&mut self, deadline: Deadline, at: MonoTime) {
        self.clear(deadline);
        self.times.insert(deadline, at);
        self.order.insert((at, deadline));
    }

    /// It is looked at then, if not before.
    pub(crate) fn set_by(&mut self, deadline: Deadline, at: MonoTime) {
        if self.times.get(&deadline).is_none_or(|known| *known > at) {
            self.set(deadline, at);
        }
    }

    pub(crate) fn clear(&mut self, deadline: Deadline) {
        if let Some(at) = self.times.remove(&deadline) {
            self.order.remove(&(at, deadline));
        }
    }

    pub(crate) fn next(&self) -> Option<MonoTime> {
        self.order.first().map(|(at, _)| *at)
    }

    /// The first whose time has come.
    pub(crate) fn pop(&mut self, now: MonoTime) -> Option<(MonoTime, Deadline)> {
        let (at, deadline) = *self.order.first()?;
        (at <= now).then(|| self.clear(deadline))?;
        Some((at, deadline))
    }
}
