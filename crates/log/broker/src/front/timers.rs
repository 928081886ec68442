//! What is to be done with connections at certain times.

use std::collections::BTreeSet;

use base::MonoTime;
use net_event_loop::ConnId;

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// It is closed if it was silent for long.
    Idle,
    /// It is closed if its client has not proved who it is.
    Authentication,
    /// It is told that its authentication has failed.
    Failure,
    /// It is read on after it was throttled.
    Unmute,
}

/// The times of one connection, by what is due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deadlines([Option<MonoTime>; 4]);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(MonoTime, ConnId, Due)>);

impl Timers {
    /// That is due at that time, and at no other.
    pub(super) fn set(&mut self, conn: ConnId, of: &mut Deadlines, due: Due, at: MonoTime) {
        self.cancel(conn, of, due);
        if let Some(place) = of.0.get_mut(due as usize) {
            *place = Some(at);
            self.0.insert((at, conn, due));
        }
    }

    /// That is not due any more.
    pub(super) fn cancel(&mut self, conn: ConnId, of: &mut Deadlines, due: Due) {
        if let Some(at) = of.0.get_mut(due as usize).and_then(Option::take) {
            self.0.remove(&(at, conn, due));
        }
    }

    /// The connection is gone.
    pub(super) fn forget(&mut self, conn: ConnId, of: &mut Deadlines) {
        for due in [Due::Idle, Due::Authentication, Due::Failure, Due::Unmute] {
            self.cancel(conn, of, due);
        }
    }

    /// Takes one whose time has come.
    pub(super) fn pop(&mut self, now: MonoTime) -> Option<(ConnId, Due)> {
        let first = *self.0.first().filter(|(at, _, _)| *at <= now)?;
        self.0.remove(&first);
        Some((first.1, first.2))
    }

    pub(super) fn next(&self) -> Option<MonoTime> {
        self.0.first().map(|(at, _, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_due_once_and_nothing_of_a_connection_that_is_gone() {
        let (mut timers, at) = (Timers::default(), MonoTime::of_ms);
        let conn = |slot| ConnId { slot, generation: 1 };
        let (mut one, mut two) = (Deadlines::default(), Deadlines::default());
        timers.set(conn(1), &mut one, Due::Idle, at(5));
        timers.set(conn(1), &mut one, Due::Idle, at(7));
        timers.set(conn(1), &mut one, Due::Unmute, at(6));
        timers.set(conn(2), &mut two, Due::Idle, at(6));
        assert_eq!((timers.next(), timers.pop(at(5))), (Some(at(6)), None));
        timers.forget(conn(2), &mut two);
        assert_eq!(timers.pop(at(9)), Some((conn(1), Due::Unmute)));
        assert_eq!(timers.pop(at(9)), Some((conn(1), Due::Idle)));
        assert_eq!((timers.pop(at(9)), timers.0.len()), (None, 0));
    }
}
