//! Requests that wait: for batches to be committed, for something to be fetched, for the council.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use net_event_loop::ConnId;

/// Who waits for an answer: a request of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The shard that has the connection.
    pub shard: u16,
    /// The connection.
    pub conn: ConnId,
    /// The number of the request among those of the connection.
    pub request: u64,
}

/// Requests of one kind that wait, by ticket, each with a deadline.
#[derive(Debug)]
pub(crate) struct Waits<T> {
    waiting: BTreeMap<u64, (MonoTime, T)>,
    deadlines: BTreeSet<(MonoTime, u64)>,
}

impl<T> Default for Waits<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), deadlines: BTreeSet::new() }
    }
}

impl<T> Waits<T> {
    pub(crate) fn insert(&mut self, ticket: u64, deadline: MonoTime, value: T) {
        self.waiting.insert(ticket, (deadline, value));
        self.deadlines.insert((deadline, ticket));
    }

    pub(crate) fn get_mut(&mut self, ticket: u64) -> Option<&mut T> {
        self.waiting.get_mut(&ticket).map(|(_, value)| value)
    }

    pub(crate) fn get(&self, ticket: u64) -> Option<&T> {
        self.waiting.get(&ticket).map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, ticket: u64) -> Option<T> {
        let (deadline, value) = self.waiting.remove(&ticket)?;
        self.deadlines.remove(&(deadline, ticket));
        Some(value)
    }

    /// One whose deadline has passed.
    pub(crate) fn overdue(&self, now: MonoTime) -> Option<u64> {
        self.deadlines.first().filter(|(deadline, _)| *deadline <= now).map(|(_, ticket)| *ticket)
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Tickets of the waits for which that is true.
    pub(crate) fn find(&self, matches: impl Fn(&T) -> bool) -> Vec<u64> {
        self.waiting.iter().filter(|(_, (_, value))| matches(value)).map(|(ticket, _)| *ticket).collect()
    }
}
