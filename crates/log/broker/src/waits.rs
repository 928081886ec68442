//! Requests that wait: for batches to be committed, for something to be fetched, for a coordinator, for the council.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use net_event_loop::ConnId;

/// Who waits for an answer: a request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiter {
    /// The shard that has the connection.
    pub shard: u16,
    /// The connection.
    pub conn: ConnId,
    /// The number of the request among those of the connection.
    pub request: u64,
}

/// Requests of one kind that wait, each with a deadline.
#[derive(Debug)]
pub(crate) struct Waits<T> {
    waiting: BTreeMap<Waiter, (MonoTime, T)>,
    deadlines: BTreeSet<(MonoTime, Waiter)>,
}

impl<T> Default for Waits<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), deadlines: BTreeSet::new() }
    }
}

impl<T> Waits<T> {
    pub(crate) fn insert(&mut self, waiter: Waiter, deadline: MonoTime, value: T) {
        self.waiting.insert(waiter, (deadline, value));
        self.deadlines.insert((deadline, waiter));
    }

    pub(crate) fn get_mut(&mut self, waiter: Waiter) -> Option<&mut T> {
        self.waiting.get_mut(&waiter).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, waiter: Waiter) -> Option<T> {
        self.take(waiter).map(|(_, value)| value)
    }

    /// Takes one with its deadline.
    pub(crate) fn take(&mut self, waiter: Waiter) -> Option<(MonoTime, T)> {
        let (deadline, value) = self.waiting.remove(&waiter)?;
        self.deadlines.remove(&(deadline, waiter));
        Some((deadline, value))
    }

    /// One whose deadline has passed.
    pub(crate) fn next_overdue(&self, now: MonoTime) -> Option<Waiter> {
        self.deadlines.first().filter(|(deadline, _)| *deadline <= now).map(|(_, waiter)| *waiter)
    }

    /// Takes one whose deadline has passed.
    pub(crate) fn pop_overdue(&mut self, now: MonoTime) -> Option<(Waiter, T)> {
        let waiter = self.next_overdue(now)?;
        self.remove(waiter).map(|value| (waiter, value))
    }

    /// Takes all of a connection.
    pub(crate) fn pop_of(&mut self, shard: u16, conn: ConnId) -> Option<(Waiter, T)> {
        let (first, last) = (Waiter { shard, conn, request: 0 }, Waiter { shard, conn, request: u64::MAX });
        let (waiter, _) = self.waiting.range(first..=last).next()?;
        let waiter = *waiter;
        self.remove(waiter).map(|value| (waiter, value))
    }

    /// Takes all that are of a kind.
    pub(crate) fn extract(&mut self, mut is_of_kind: impl FnMut(&mut T) -> bool) -> Vec<(Waiter, T)> {
        let of_kind = self.waiting.extract_if(.., |_, (_, value)| is_of_kind(value));
        let taken: Vec<(Waiter, (MonoTime, T))> = of_kind.collect();
        let forget = |(waiter, (deadline, value))| {
            self.deadlines.remove(&(deadline, waiter));
            (waiter, value)
        };
        taken.into_iter().map(forget).collect()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.waiting.values().map(|(_, value)| value)
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}
