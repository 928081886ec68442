//! The requests of a session that wait for a connection, and those that wait for their replies, within limits.

use std::collections::VecDeque;

use crate::operation::{Asked, WatchChange};
use crate::settings::Limits;

/// What a pending reply belongs to.
pub(super) enum Origin<T> {
    User(T),
    /// The end of the session, which the machine asked for itself.
    Close,
}

/// A request that waits for a connection.
pub(super) struct Waiting<T, W> {
    pub(super) asked: Asked<W>,
    pub(super) tag: T,
}

/// A request that waits for its reply.
pub(super) struct InFlight<T, W> {
    pub(super) xid: i32,
    pub(super) change: WatchChange<W>,
    pub(super) origin: Origin<T>,
}

/// See the module.
pub(super) struct Requests<T, W> {
    limits: Limits,
    next_xid: i32,
    in_flight: VecDeque<InFlight<T, W>>,
    waiting: VecDeque<Waiting<T, W>>,
    /// Bytes of the bodies of those.
    waiting_bytes: usize,
}

impl<T, W> Requests<T, W> {
    pub(super) const fn new(limits: Limits) -> Self {
        Self { limits, next_xid: 1, in_flight: VecDeque::new(), waiting: VecDeque::new(), waiting_bytes: 0 }
    }

    /// Keeps a request until there is a connection.
    pub(super) fn wait(&mut self, asked: Asked<W>, tag: T) {
        self.waiting_bytes += asked.body.len();
        self.waiting.push_back(Waiting { asked, tag });
    }

    /// A request was sent.
    pub(super) fn sent(&mut self, xid: i32, change: WatchChange<W>, origin: Origin<T>) {
        self.in_flight.push_back(InFlight { xid, change, origin });
    }

    /// The request that the next reply must be to.
    pub(super) fn answered(&mut self) -> Option<InFlight<T, W>> {
        self.in_flight.pop_front()
    }

    pub(super) fn take_waiting(&mut self) -> VecDeque<Waiting<T, W>> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn take_in_flight(&mut self) -> VecDeque<InFlight<T, W>> {
        std::mem::take(&mut self.in_flight)
    }

    /// The number of the next request.
    pub(super) fn take_xid(&mut self) -> i32 {
        let xid = self.next_xid;
        self.next_xid = xid.checked_add(1).unwrap_or(1);
        xid
    }

    /// Whether the limits let one more request wait, of so many bytes, while others are not sent yet.
    pub(super) fn has_room(&self, bytes: usize, unsent_bytes: usize) -> bool {
        let Limits { requests_max, request_bytes_max } = self.limits;
        self.in_flight.len() + self.waiting.len() < requests_max
            && self.waiting_bytes + unsent_bytes + bytes <= request_bytes_max
    }
}
