//! What is to be looked at later, in the order of time.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use replication_controller::PartitionId;

/// What is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deadline {
    /// A partition that has something under way.
    Partition(PartitionId),
    /// A read that is not answered.
    Read(PartitionId),
}

/// See the module. Each has one time, and what has none costs nothing.
#[derive(Debug)]
pub(crate) struct Deadlines {
    times: BTreeMap<Deadline, MonoTime>,
    order: BTreeSet<(MonoTime, Deadline)>,
}

impl Deadlines {
    pub(crate) const fn new() -> Self {
        Self { times: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// It is looked at then, and not before; or never.
    pub(crate) fn set(&mut self, deadline: Deadline, at: Option<MonoTime>) {
        let before = self.times.get(&deadline).copied();
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.order.remove(&(before, deadline));
        }
        match at {
            Some(at) => {
                self.times.insert(deadline, at);
                self.order.insert((at, deadline));
            }
            None => drop(self.times.remove(&deadline)),
        }
    }

    pub(crate) fn next(&self) -> Option<MonoTime> {
        self.order.first().map(|(at, _)| *at)
    }

    /// The first whose time has come.
    pub(crate) fn pop(&mut self, now: MonoTime) -> Option<Deadline> {
        let (at, deadline) = *self.order.first()?;
        (at <= now).then(|| self.set(deadline, None))?;
        Some(deadline)
    }
}
