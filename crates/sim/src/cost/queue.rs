//! What is to happen, and when: nanoseconds of virtual time. What is due at the same time comes in the order in which it
//! was put in. Knows no event.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// See the module.
#[derive(Debug)]
pub(super) struct Queue<E> {
    now_ns: u64,
    number: u64,
    heap: BinaryHeap<Due<E>>,
}

#[derive(Debug)]
struct Due<E> {
    at_ns: u64,
    number: u64,
    event: E,
}

impl<E> Queue<E> {
    pub(super) const fn new() -> Self {
        Self { now_ns: 0, number: 0, heap: BinaryHeap::new() }
    }

    /// Something is to happen then, or now if that is over.
    pub(super) fn put(&mut self, at_ns: u64, event: E) {
        self.number += 1;
        self.heap.push(Due { at_ns: at_ns.max(self.now_ns), number: self.number, event });
    }

    /// What happens next; it is then that time.
    pub(super) fn take(&mut self) -> Option<E> {
        let due = self.heap.pop()?;
        self.now_ns = due.at_ns;
        Some(due.event)
    }

    pub(super) const fn now_ns(&self) -> u64 {
        self.now_ns
    }
}

impl<E> Ord for Due<E> {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at_ns, other.number).cmp(&(self.at_ns, self.number))
    }
}

impl<E> PartialOrd for Due<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Due<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Due<E> {}

#[cfg(test)]
mod tests {
    use super::Queue;

    #[test]
    fn the_earliest_comes_first_and_equals_keep_their_order() {
        let mut queue = Queue::new();
        for (at, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (3, 'b')] {
            queue.put(at, event);
        }
        let order: String = std::iter::from_fn(|| queue.take()).collect();
        assert_eq!((order.as_str(), queue.now_ns()), ("abcd", 5));
        queue.put(2, 'e');
        assert_eq!((queue.take(), queue.now_ns()), (Some('e'), 5), "time never goes back");
    }
}
