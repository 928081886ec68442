//! Requests that wait: for batches to be committed, for something to be fetched, for a coordinator, for the council.

use std::collections::{BTreeMap, BTreeSet, btree_map};

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
    waiting: BTreeMap<Waiter, Place>,
    deadlines: BTreeSet<(MonoTime, Place)>,
    /// What waits, by its place: it is large, and maps move what they hold.
    entries: Vec<Option<Entry<T>>>,
    free: Vec<Place>,
}

/// The place of a request that waits. A place is used again once its request is answered.
type Place = u32;

#[derive(Debug)]
struct Entry<T> {
    waiter: Waiter,
    deadline: MonoTime,
    value: T,
}

impl<T> Default for Waits<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), deadlines: BTreeSet::new(), entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Waits<T> {
    pub(crate) fn insert(&mut self, waiter: Waiter, deadline: MonoTime, value: T) {
        let entry = Some(Entry { waiter, deadline, value });
        let place = self.free.pop().unwrap_or(self.entries.len() as Place);
        match self.entries.get_mut(place as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        self.deadlines.insert((deadline, place));
        if let Some(before) = self.waiting.insert(waiter, place) {
            self.clear(before);
        }
    }

    pub(crate) fn get_mut(&mut self, waiter: Waiter) -> Option<&mut T> {
        let place = *self.waiting.get(&waiter)?;
        Some(&mut self.entries.get_mut(place as usize)?.as_mut()?.value)
    }

    pub(crate) fn remove(&mut self, waiter: Waiter) -> Option<T> {
        self.take(waiter).map(|(_, value)| value)
    }

    /// Takes one if it is done, by what is done to it.
    pub(crate) fn remove_if(&mut self, waiter: Waiter, is_done: impl FnOnce(&mut T) -> bool) -> Option<T> {
        let btree_map::Entry::Occupied(waiting) = self.waiting.entry(waiter) else { return None };
        let place = *waiting.get();
        let entry = self.entries.get_mut(place as usize)?.as_mut()?;
        if !is_done(&mut entry.value) {
            return None;
        }
        waiting.remove();
        self.clear(place).map(|(_, value)| value)
    }

    /// Takes one with its deadline.
    pub(crate) fn take(&mut self, waiter: Waiter) -> Option<(MonoTime, T)> {
        let place = self.waiting.remove(&waiter)?;
        self.clear(place)
    }

    /// A request waits no more.
    fn clear(&mut self, place: Place) -> Option<(MonoTime, T)> {
        let Entry { deadline, value, .. } = self.entries.get_mut(place as usize)?.take()?;
        self.deadlines.remove(&(deadline, place));
        self.free.push(place);
        Some((deadline, value))
    }

    /// One whose deadline has passed.
    pub(crate) fn next_overdue(&self, now: MonoTime) -> Option<Waiter> {
        let (_, place) = self.deadlines.first().filter(|(deadline, _)| *deadline <= now)?;
        self.entries.get(*place as usize)?.as_ref().map(|entry| entry.waiter)
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
        let entries = &mut self.entries;
        let of_kind = |_: &Waiter, place: &mut Place| {
            let entry = entries.get_mut(*place as usize).and_then(Option::as_mut);
            entry.is_some_and(|entry| is_of_kind(&mut entry.value))
        };
        let taken: Vec<(Waiter, Place)> = self.waiting.extract_if(.., of_kind).collect();
        let value = |(waiter, place)| self.clear(place).map(|(_, value)| (waiter, value));
        taken.into_iter().filter_map(value).collect()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        let places = self.waiting.values();
        places.filter_map(|place| Some(&self.entries.get(*place as usize)?.as_ref()?.value))
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(slot: u32, request: u64) -> Waiter {
        Waiter { shard: 0, conn: ConnId { slot, generation: 1 }, request }
    }

    #[test]
    fn request_waits_until_it_is_taken_by_its_name_its_deadline_or_its_connection() {
        let (mut waits, at) = (Waits::default(), MonoTime::of_ms);
        for (slot, request, due, value) in [(1, 0, 9, 'a'), (1, 1, 5, 'b'), (2, 0, 7, 'c'), (2, 1, 7, 'd')] {
            waits.insert(waiter(slot, request), at(due), value);
        }
        assert_eq!(waits.values().copied().collect::<String>(), "abcd");
        assert_eq!((waits.next_deadline(), waits.pop_overdue(at(4))), (Some(at(5)), None));
        assert_eq!(waits.pop_overdue(at(5)), Some((waiter(1, 1), 'b')));
        assert_eq!(waits.remove_if(waiter(2, 1), |_| false), None);
        assert_eq!(waits.remove_if(waiter(2, 1), |value| *value == 'd'), Some('d'));
        assert_eq!((waits.remove(waiter(2, 1)), waits.get_mut(waiter(2, 0))), (None, Some(&mut 'c')));
        waits.insert(waiter(3, 0), at(8), 'e');
        waits.insert(waiter(3, 0), at(6), 'f');
        assert_eq!((waits.len(), waits.next_deadline()), (3, Some(at(6))), "the later one counts");
        assert_eq!(waits.extract(|value| *value == 'f'), [(waiter(3, 0), 'f')]);
        let of_first = ConnId { slot: 1, generation: 1 };
        assert_eq!(waits.pop_of(0, of_first), Some((waiter(1, 0), 'a')));
        assert_eq!((waits.pop_of(0, of_first), waits.take(waiter(2, 0))), (None, Some((at(7), 'c'))));
        assert_eq!(
            (waits.len(), waits.next_deadline(), waits.entries.len()),
            (0, None, 4),
            "places are used again"
        );
    }
}
