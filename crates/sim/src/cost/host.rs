//! Hosts, their cores, and the threads that want them. A thread runs a round without being interrupted; one that has had
//! its slice and has more to do goes behind those that wait. Knows nothing of what rounds do.

use std::collections::VecDeque;

use super::count::{Came, Count, Role};

/// A thread's place in the list of all.
pub(super) type ThreadId = usize;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has nothing to do.
    Asleep,
    /// It was woken and does not run yet.
    Waking,
    /// It wants a core.
    Waiting,
    /// It has one.
    Running,
    /// It waits for a disk or a lock, without a core.
    Blocked,
}

/// One thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) role: Role,
    pub(super) host: usize,
    /// The member it belongs to, by its place; the load belongs to none.
    pub(super) member: usize,
    /// Which of a member's shards it is.
    pub(super) shard: usize,
    pub(super) state: State,
    /// How it came to its core, unless it has played a turn there.
    pub(super) came: Came,
    /// For how long it has had its core.
    pub(super) slice_ns: u64,
    /// How long it ran since the beginning.
    pub(super) cpu_ns: u64,
    /// What it did since the beginning.
    pub(super) count: Count,
}

impl Thread {
    pub(super) fn new(role: Role, host: usize, member: usize, shard: usize) -> Self {
        Self {
            role,
            host,
            member,
            shard,
            state: State::Asleep,
            came: Came::Woke,
            slice_ns: 0,
            cpu_ns: 0,
            count: Count::default(),
        }
    }
}

/// One host.
#[derive(Debug)]
pub(super) struct Host {
    cores: usize,
    busy: usize,
    ready: VecDeque<ThreadId>,
}

impl Host {
    pub(super) const fn new(cores: usize) -> Self {
        Self { cores, busy: 0, ready: VecDeque::new() }
    }

    pub(super) fn want(&mut self, thread: ThreadId) {
        self.ready.push_back(thread);
    }

    /// Who gets a core now, if one is free.
    pub(super) fn next(&mut self) -> Option<ThreadId> {
        if self.is_full() {
            return None;
        }
        let thread = self.ready.pop_front()?;
        self.busy += 1;
        Some(thread)
    }

    pub(super) fn release(&mut self) {
        assert!(self.busy > 0, "a core is given back that nobody had");
        self.busy -= 1;
    }

    pub(super) const fn is_full(&self) -> bool {
        self.busy == self.cores
    }

    pub(super) fn is_wanted(&self) -> bool {
        !self.ready.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Host;

    #[test]
    fn no_more_threads_run_than_there_are_cores() {
        let mut host = Host::new(2);
        (0..4).for_each(|thread| host.want(thread));
        assert_eq!([host.next(), host.next(), host.next()], [Some(0), Some(1), None]);
        assert!(host.is_wanted());
        host.release();
        assert_eq!([host.next(), host.next()], [Some(2), None]);
    }
}
