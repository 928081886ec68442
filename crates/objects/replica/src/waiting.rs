//! Requests that wait for a fresher state: until everything is applied that was committed when they came, or until a
//! position. None waits longer than a bounded time; then it is refused, without effect.
//!
//! Among those that wait for a position are *strangers*: their token, or their rights, may be younger than the state. A position
//! that is never reached costs who makes it up nothing, so few of them may wait, and they take no room from others.

use std::collections::BTreeMap;

use base::MonoTime;
use objects_state::Origin;

use crate::edge::{Request, origin_of};
use crate::limits::{READS_MAX, STRANGERS_MAX};

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    request: Request,
    since: MonoTime,
    /// That it waits for.
    position: Option<u64>,
    is_stranger: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct WaitingRequests {
    last: u64,
    /// By number, and so in the order in which they came.
    requests: BTreeMap<u64, Waiting>,
    /// Those that wait for a position, with it.
    positions: BTreeMap<(u64, u64), ()>,
    /// By whom they are waited for.
    origins: BTreeMap<Origin, u64>,
    /// How many strangers are among them.
    strangers: usize,
}

impl WaitingRequests {
    pub(crate) fn has_room(&self) -> bool {
        self.requests.len() - self.strangers < READS_MAX
    }

    pub(crate) const fn has_room_for_stranger(&self) -> bool {
        self.strangers < STRANGERS_MAX
    }

    /// Takes a request in, and gives it a number.
    pub(crate) fn push(&mut self, request: Request, since: MonoTime) -> u64 {
        self.add(Waiting { request, since, position: None, is_stranger: false })
    }

    /// Takes a request in that waits for a position.
    pub(crate) fn push_for(&mut self, position: u64, request: Request, since: MonoTime) {
        let number = self.add(Waiting { request, since, position: Some(position), is_stranger: false });
        self.positions.insert((position, number), ());
    }

    /// Takes a stranger's request in, which waits for a position.
    pub(crate) fn push_stranger(&mut self, position: u64, request: Request, since: MonoTime) {
        self.strangers += 1;
        let number = self.add(Waiting { request, since, position: Some(position), is_stranger: true });
        self.positions.insert((position, number), ());
    }

    fn add(&mut self, waiting: Waiting) -> u64 {
        self.last += 1;
        if let Some(origin) = origin_of(&waiting.request) {
            self.origins.insert(origin, self.last);
        }
        self.requests.insert(self.last, waiting);
        self.last
    }

    /// The caller of a request has gone. Whether it waited here: then nothing comes of it.
    pub(crate) fn drop_of(&mut self, origin: Origin) -> bool {
        let Some(number) = self.origins.get(&origin).copied() else { return false };
        if let Some(position) = self.requests.get(&number).and_then(|waiting| waiting.position) {
            self.positions.remove(&(position, number));
        }
        self.take(number).is_some()
    }

    /// The request of that number, and since when it has waited, unless it has given up.
    pub(crate) fn take(&mut self, number: u64) -> Option<(Request, MonoTime)> {
        let waiting = self.requests.remove(&number)?;
        origin_of(&waiting.request).iter().for_each(|origin| _ = self.origins.remove(origin));
        self.strangers -= usize::from(waiting.is_stranger);
        Some((waiting.request, waiting.since))
    }

    /// The state has that position: who waited for it.
    pub(crate) fn reached(&mut self, position: u64) -> Vec<Request> {
        let mut reached = Vec::new();
        while let Some(first) = self.positions.first_entry()
            && first.key().0 <= position
        {
            let ((_, number), ()) = first.remove_entry();
            reached.extend(self.take(number).map(|(request, _)| request));
        }
        reached
    }

    /// Takes out those that came before that time.
    pub(crate) fn take_old(&mut self, before: MonoTime) -> Vec<Request> {
        let is_old = |waiting: &Waiting| waiting.since < before;
        if !self.requests.first_key_value().is_some_and(|(_, first)| is_old(first)) {
            return Vec::new();
        }
        let old: Vec<_> = self.requests.extract_if(.., |_, waiting| is_old(waiting)).collect();
        self.positions.retain(|(_, number), ()| self.requests.contains_key(number));
        self.origins.retain(|_, number| self.requests.contains_key(number));
        self.strangers -= old.iter().filter(|(_, waiting)| waiting.is_stranger).count();
        old.into_iter().map(|(_, waiting)| waiting.request).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }
}

#[cfg(test)]
mod tests {
    use objects_state::Origin;

    use super::*;

    fn request(number: u64) -> Request {
        Request::Gone { origin: Origin { member: 1, number } }
    }

    #[test]
    fn request_goes_on_once_or_gives_up() {
        let mut waiting = WaitingRequests::default();
        let at = MonoTime::of_ms;
        let first = waiting.push(request(1), at(10));
        waiting.push_for(7, request(2), at(20));
        waiting.push_for(5, request(3), at(30));
        assert_eq!(waiting.take_old(at(10)), []);
        assert_eq!(waiting.take_old(at(11)), [request(1)]);
        assert!(waiting.take(first).is_none());
        assert_eq!(waiting.reached(4), []);
        assert_eq!(waiting.reached(5), [request(3)]);
        assert_eq!(waiting.take_old(at(99)), [request(2)]);
        assert_eq!((waiting.reached(99), waiting.len()), (vec![], 0));
    }

    #[test]
    fn strangers_have_little_room_of_their_own_and_give_it_back() {
        let mut waiting = WaitingRequests::default();
        let at = MonoTime::of_ms;
        for number in 0..STRANGERS_MAX as u64 {
            assert!(waiting.has_room_for_stranger());
            waiting.push_stranger(5 + number, request(number), at(10));
        }
        assert!(!waiting.has_room_for_stranger() && waiting.has_room());
        assert_eq!(waiting.reached(5), [request(0)]);
        assert!(waiting.has_room_for_stranger());
        (0..READS_MAX as u64).for_each(|number| _ = waiting.push(request(number), at(20)));
        assert!(!waiting.has_room() && waiting.has_room_for_stranger());
        assert_eq!(waiting.take_old(at(15)).len(), STRANGERS_MAX - 1);
        assert_eq!((waiting.strangers, waiting.len()), (0, READS_MAX));
    }

    #[test]
    fn request_of_who_has_gone_leaves() {
        let mut waiting = WaitingRequests::default();
        let (at, origin) = (MonoTime::of_ms(10), |number| Origin { member: 1, number });
        let first = waiting.push(request(1), at);
        waiting.push_stranger(5, request(2), at);
        waiting.push_for(5, request(3), at);
        assert!(waiting.drop_of(origin(1)) && waiting.drop_of(origin(2)));
        assert!(!waiting.drop_of(origin(1)) && !waiting.drop_of(origin(4)));
        assert_eq!((waiting.take(first).is_none(), waiting.strangers, waiting.len()), (true, 0, 1));
        assert_eq!(waiting.reached(5), [request(3)]);
        assert!(!waiting.drop_of(origin(3)));
    }
}
