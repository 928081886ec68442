//! Requests of clients whose parts are with coordinators, until all parts are answered.

use std::collections::BTreeMap;

use log_coordinators::Ticket;
use net_event_loop::ConnId;

use crate::waits::Waiter;

/// A request of the kind `K`, and the answers `A` to its parts that have come.
#[derive(Debug)]
pub(crate) struct Parts<K, A> {
    pub(crate) kind: K,
    pub(crate) answers: Vec<Option<A>>,
}

impl<K, A> Parts<K, A> {
    /// With so many parts, none of which is answered.
    pub(crate) fn new(kind: K, parts: usize) -> Self {
        Self { kind, answers: std::iter::repeat_with(|| None).take(parts).collect() }
    }

    /// A part has its answer.
    pub(crate) fn answer(&mut self, part: usize, answer: A) {
        if let Some(place) = self.answers.get_mut(part) {
            *place = Some(answer);
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.answers.iter().all(Option::is_some)
    }

    /// The request, and the answers in the order of its parts.
    pub(crate) fn take(self) -> (K, impl Iterator<Item = A>) {
        (self.kind, self.answers.into_iter().flatten())
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Calls<K, A> {
    waiting: BTreeMap<Waiter, Parts<K, A>>,
    /// Which part of which request each ticket stands for.
    tickets: BTreeMap<Ticket, (Waiter, usize)>,
}

impl<K, A> Calls<K, A> {
    pub(crate) const fn new() -> Self {
        Self { waiting: BTreeMap::new(), tickets: BTreeMap::new() }
    }

    /// A request waits.
    pub(crate) fn insert(&mut self, waiter: Waiter, parts: Parts<K, A>) {
        self.waiting.insert(waiter, parts);
    }

    /// A part of a request goes to a coordinator under that ticket.
    pub(crate) fn asked(&mut self, ticket: Ticket, waiter: Waiter, part: usize) {
        self.tickets.insert(ticket, (waiter, part));
    }

    /// A part has its answer. Gives the request once all have.
    pub(crate) fn answered(&mut self, ticket: Ticket, answer: A) -> Option<(Waiter, Parts<K, A>)> {
        let (waiter, part) = self.tickets.remove(&ticket)?;
        let parts = self.waiting.get_mut(&waiter)?;
        parts.answer(part, answer);
        if !parts.is_complete() {
            return None;
        }
        self.waiting.remove(&waiter).map(|parts| (waiter, parts))
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        self.waiting.retain(|waiter, _| waiter.shard != shard || waiter.conn != conn);
    }
}
