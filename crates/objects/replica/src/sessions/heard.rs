//! Of which sessions' clients this member has heard, and what of it the leader has not been told.
//!
//! The leader is told of a session once in a sixth of its time to live, and then of all others too: one message.

use base::MonoTime;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use objects_state::SessionId;

use crate::limits::HEARD_MAX;

/// A session is told of so many times in its time to live.
const REPORTS_PER_TTL: u64 = 6;

#[derive(Debug)]
struct Heard {
    at: MonoTime,
    /// When the leader was told last.
    told: MonoTime,
    ttl_ms: u64,
    /// Whether it is in the list of those to be told of.
    listed: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct HeardHere {
    sessions: HashMap<SessionId, Heard, FixedState>,
    /// Those that were heard of since the leader was told.
    untold: Vec<SessionId>,
    /// When the leader should be told.
    due: MonoTime,
}

impl HeardHere {
    pub(crate) fn new() -> Self {
        let sessions = HashMap::with_hasher(FixedState::default());
        Self { sessions, untold: Vec::new(), due: MonoTime::MAX }
    }

    /// A client of that session was heard of.
    pub(crate) fn hear(&mut self, session: SessionId, ttl_ms: u64, at: MonoTime) {
        if self.sessions.len() >= HEARD_MAX {
            self.forget_old(at);
        }
        let new = || Heard { at, told: MonoTime::ZERO, ttl_ms, listed: false };
        let heard = self.sessions.entry(session).or_insert_with(new);
        (heard.at, heard.ttl_ms) = (heard.at.max(at), ttl_ms);
        if !heard.listed {
            heard.listed = true;
            self.untold.push(session);
            self.due = self.due.min(heard.told.plus_ms(ttl_ms / REPORTS_PER_TTL));
        }
    }

    /// What was heard of longer ago than a time to live says nothing any more.
    fn forget_old(&mut self, now: MonoTime) {
        self.sessions.retain(|_, heard| heard.listed || heard.at.plus_ms(heard.ttl_ms) > now);
    }

    pub(crate) fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// The time to live of a session that was heard of here before.
    pub(crate) fn ttl_ms(&self, session: SessionId) -> Option<u64> {
        self.sessions.get(&session).map(|heard| heard.ttl_ms)
    }

    /// How long ago each was heard of that was not told of, if it is time to say so.
    pub(crate) fn take_due(&mut self, now: MonoTime) -> Vec<(SessionId, u64)> {
        if now < self.due {
            return Vec::new();
        }
        self.due = MonoTime::MAX;
        let mut ages = Vec::with_capacity(self.untold.len());
        for session in self.untold.drain(..) {
            let Some(heard) = self.sessions.get_mut(&session) else { continue };
            (heard.listed, heard.told) = (false, now);
            ages.push((session, now.since(heard.at)));
        }
        ages
    }

    /// How long ago each was heard of.
    pub(crate) fn all(&mut self, now: MonoTime) -> Vec<(SessionId, u64)> {
        self.forget_old(now);
        self.sessions.iter().map(|(session, heard)| (*session, now.since(heard.at))).collect()
    }

    /// When the leader should be told, if there is anything to tell.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        (self.due < MonoTime::MAX).then_some(self.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> MonoTime {
        MonoTime::of_ms(ms)
    }

    #[test]
    fn leader_is_told_once_in_a_sixth_of_the_time_to_live_of_all_together() {
        let mut heard = HeardHere::new();
        let (a, b) = (SessionId([1; 16]), SessionId([2; 16]));
        heard.hear(a, 6_000, at(10_000));
        assert_eq!(heard.take_due(at(10_000)), [(a, 0)], "it was never told of");
        heard.hear(a, 6_000, at(10_100));
        heard.hear(a, 6_000, at(10_300));
        assert_eq!((heard.take_due(at(10_999)), heard.due()), (vec![], Some(at(11_000))));
        heard.hear(b, 600_000, at(10_999));
        assert_eq!(heard.take_due(at(11_000)), [(a, 700), (b, 1)]);
        assert_eq!((heard.take_due(at(99_000)), heard.due()), (vec![], None), "nothing was heard since");
        assert_eq!(heard.all(at(11_500)).len(), 2);
        assert_eq!(heard.all(at(17_000)), [(b, 6_001)], "the other must have ended");
    }
}
