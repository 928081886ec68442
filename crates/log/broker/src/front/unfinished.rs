//! What was read of requests and is not handled: its bytes are bounded in all, whatever each connection may send.
//!
//! A request arrives in pieces. While all unfinished requests together hold too much, those of usual size and the one that began
//! first are read on, and the others stay in the network. If the first does not come to an end its connection is closed: with it,
//! a client that sends very slowly loses what it holds, and the others go on. Beyond twice as much, all but the first wait.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use net_event_loop::ConnId;

/// How long a request may take to arrive while others wait for its room, milliseconds.
const ARRIVING_MS: u64 = 1_000;
/// How much is read at once from a connection that is not the first, while too much is held.
const READ_BYTES_MIN: usize = 4 << 10;
/// A request of usual size has so many bytes at the most.
const USUAL_BYTES: usize = 1 << 20;

#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: usize,
    began: MonoTime,
    is_known: bool,
    /// How many bytes the request will have that arrives; nothing if its peer waits for this broker.
    whole_bytes: Option<usize>,
}

impl Held {
    /// Strangers lose what they hold before others do.
    const fn order(self, conn: ConnId) -> (bool, MonoTime, ConnId) {
        (self.is_known, self.began, conn)
    }
}

/// What a connection holds of requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unfinished {
    /// So many bytes.
    pub(super) bytes: usize,
    /// More must come before anything can be handled: the request will have so many bytes.
    pub(super) whole_bytes: Option<usize>,
    /// Whether its client has proved who it is.
    pub(super) is_known: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct UnfinishedRequests {
    bytes_max: usize,
    bytes: usize,
    held: BTreeMap<ConnId, Held>,
    arriving: BTreeSet<(bool, MonoTime, ConnId)>,
    waiting: Vec<ConnId>,
}

impl UnfinishedRequests {
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, held: BTreeMap::new(), arriving: BTreeSet::new(), waiting: Vec::new() }
    }

    /// A connection holds so much from now on. Gives whether it must wait with reading on.
    pub(super) fn hold(&mut self, conn: ConnId, unfinished: Unfinished, now: MonoTime) -> bool {
        let Unfinished { bytes, whole_bytes, is_known } = unfinished;
        let before = self.release(conn);
        if bytes == 0 {
            return false;
        }
        let began = before.filter(|before| before.whole_bytes.is_some()).map_or(now, |before| before.began);
        let held = Held { bytes, began, is_known, whole_bytes };
        self.bytes += bytes;
        self.held.insert(conn, held);
        if whole_bytes.is_none() {
            return false;
        }
        self.arriving.insert(held.order(conn));
        let must_wait = self.must_wait(conn);
        if must_wait {
            self.waiting.push(conn);
        }
        must_wait
    }

    /// A connection holds nothing any more.
    fn release(&mut self, conn: ConnId) -> Option<Held> {
        let held = self.held.remove(&conn)?;
        self.bytes -= held.bytes;
        self.arriving.remove(&held.order(conn));
        Some(held)
    }

    /// A connection is gone.
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.release(conn);
    }

    /// How much may be read at once from a connection.
    pub(super) fn read_bytes_max(&self, conn: ConnId) -> usize {
        if self.must_wait(conn) { READ_BYTES_MIN } else { usize::MAX }
    }

    /// A connection to be closed, because its request has not arrived and others wait for its room.
    pub(super) fn overdue(&self, now: MonoTime) -> Option<ConnId> {
        let (_, began, conn) = *self.arriving.first().filter(|_| self.is_over())?;
        (began.plus_ms(ARRIVING_MS) <= now).then_some(conn)
    }

    /// Takes connections that are to be read on: all if there is room, or the first.
    pub(super) fn take_ready(&mut self) -> Vec<ConnId> {
        if !self.is_over() {
            return std::mem::take(&mut self.waiting);
        }
        let first = self.first();
        let place = self.waiting.iter().position(|conn| Some(*conn) == first);
        place.map(|place| self.waiting.swap_remove(place)).into_iter().collect()
    }

    fn must_wait(&self, conn: ConnId) -> bool {
        let whole_bytes = self.held.get(&conn).and_then(|held| held.whole_bytes);
        let is_usual = whole_bytes.is_some_and(|bytes| bytes <= USUAL_BYTES);
        let is_too_much = self.bytes > self.bytes_max.saturating_mul(2);
        self.is_over() && (is_too_much || !is_usual) && self.first() != Some(conn)
    }

    fn is_over(&self) -> bool {
        self.bytes > self.bytes_max
    }

    fn first(&self) -> Option<ConnId> {
        self.arriving.first().map(|(_, _, conn)| *conn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conn(slot: u32) -> ConnId {
        ConnId { slot, generation: 1 }
    }

    const fn at(ms: u64) -> MonoTime {
        MonoTime::of_ms(ms)
    }

    fn arriving(bytes: usize) -> Unfinished {
        Unfinished { bytes, whole_bytes: Some(2 << 20), is_known: true }
    }

    #[test]
    fn first_request_is_read_on_and_the_others_wait_for_its_room() {
        let mut requests = UnfinishedRequests::new(100);
        assert!(!requests.hold(conn(1), arriving(60), at(1)) && !requests.hold(conn(2), arriving(40), at(2)));
        assert!(requests.hold(conn(3), arriving(10), at(3)));
        assert!(requests.hold(conn(2), arriving(50), at(4)) && !requests.hold(conn(1), arriving(90), at(5)));
        assert_eq!((requests.read_bytes_max(conn(1)), requests.read_bytes_max(conn(9))), (usize::MAX, 4096));
        assert!(requests.take_ready().is_empty());
        requests.hold(conn(1), arriving(0), at(6));
        assert_eq!(requests.take_ready(), [conn(3), conn(2)]);
        assert_eq!(requests.read_bytes_max(conn(9)), usize::MAX);
    }

    #[test]
    fn requests_of_usual_size_go_on_until_there_is_twice_as_much() {
        let mut requests = UnfinishedRequests::new(100);
        let usual = Unfinished { whole_bytes: Some(USUAL_BYTES), ..arriving(60) };
        assert!(!requests.hold(conn(1), arriving(60), at(1)) && !requests.hold(conn(2), usual, at(2)));
        assert!(!requests.hold(conn(3), usual, at(3)) && requests.read_bytes_max(conn(3)) == usize::MAX);
        assert!(requests.hold(conn(4), usual, at(4)) && requests.read_bytes_max(conn(3)) == 4096);
    }

    #[test]
    fn request_that_does_not_arrive_is_given_up_and_strangers_first() {
        let mut requests = UnfinishedRequests::new(100);
        requests.hold(conn(1), arriving(50), at(0));
        requests.hold(conn(2), Unfinished { is_known: false, ..arriving(50) }, at(500));
        assert_eq!(requests.overdue(at(10_000)), None, "there is room");
        requests.hold(conn(3), arriving(50), at(600));
        assert_eq!((requests.overdue(at(1_499)), requests.overdue(at(1_500))), (None, Some(conn(2))));
        requests.forget(conn(2));
        assert_eq!(requests.overdue(at(10_000)), None);
        requests.hold(conn(1), arriving(90), at(10_000));
        assert_eq!(requests.overdue(at(10_000)), Some(conn(1)), "its beginning counts, not its last piece");
    }

    #[test]
    fn request_that_waits_for_the_broker_is_counted_and_not_given_up() {
        let mut requests = UnfinishedRequests::new(100);
        requests.hold(conn(1), Unfinished { whole_bytes: None, ..arriving(200) }, at(0));
        assert_eq!(requests.overdue(at(100_000)), None);
        assert!(!requests.hold(conn(2), arriving(1), at(0)), "one must go on");
        assert!(requests.hold(conn(3), arriving(1), at(1)));
        requests.forget(conn(2));
        assert_eq!(requests.take_ready(), [conn(3)]);
        [1, 3].iter().for_each(|slot| requests.forget(conn(*slot)));
        assert!(requests.bytes == 0 && requests.held.is_empty() && requests.arriving.is_empty());
    }
}
