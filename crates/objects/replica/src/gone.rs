//! Requests whose callers have gone while their commands were under way: if such a call begins to wait, nobody waits for it.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use objects_state::Origin;

/// See the module.
#[derive(Debug)]
pub(crate) struct GoneRequests {
    numbers: HashSet<u64, FixedState>,
    /// With the latest command of this member when each went: once that is applied, so is the request's own.
    order: VecDeque<(u64, u64)>,
}

impl GoneRequests {
    pub(crate) fn new() -> Self {
        Self { numbers: HashSet::with_hasher(FixedState::default()), order: VecDeque::new() }
    }

    pub(crate) fn insert(&mut self, origin: Origin, last_sequence: u64) {
        if self.numbers.insert(origin.number) {
            self.order.push_back((origin.number, last_sequence));
        }
    }

    pub(crate) fn contains(&self, origin: Origin) -> bool {
        !self.numbers.is_empty() && self.numbers.contains(&origin.number)
    }

    /// No command before that one waits any more.
    pub(crate) fn applied_before(&mut self, sequence: u64) {
        while let Some((number, _)) = self.order.pop_front_if(|(_, last)| *last < sequence) {
            self.numbers.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_is_forgotten_when_its_command_is_applied() {
        let mut gone = GoneRequests::new();
        let of = |number| Origin { member: 1, number };
        gone.insert(of(5), 10);
        gone.insert(of(5), 11);
        gone.insert(of(6), 12);
        gone.applied_before(10);
        assert!(gone.contains(of(5)));
        gone.applied_before(11);
        assert!(!gone.contains(of(5)) && gone.contains(of(6)));
    }
}
