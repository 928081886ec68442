//! When sessions end: deadlines in buckets of a tick, rounded up, so that none ends early. Only a leader keeps them.
//!
//! A deadline that passes is a suspicion, not a verdict: see [`super::round`].

use std::collections::BTreeMap;

use base::MonoTime;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use objects_state::SessionId;

#[derive(Debug)]
struct Tracked {
    generation: u32,
    heard: MonoTime,
    ttl_ms: u64,
    bucket: MonoTime,
}

impl Tracked {
    const fn end(&self, tick_ms: u64) -> MonoTime {
        round_up(self.heard.plus_ms(self.ttl_ms), tick_ms)
    }
}

/// The first tick at or after this time.
const fn round_up(time: MonoTime, tick_ms: u64) -> MonoTime {
    MonoTime::of_ms(time.ms().div_ceil(tick_ms) * tick_ms)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Expiry {
    tick_ms: u64,
    sessions: HashMap<SessionId, Tracked, FixedState>,
    buckets: BTreeMap<MonoTime, Vec<SessionId>>,
}

impl Expiry {
    pub(crate) fn new(tick_ms: u64) -> Self {
        let sessions = HashMap::with_hasher(FixedState::default());
        Self { tick_ms: tick_ms.max(1), sessions, buckets: BTreeMap::new() }
    }

    /// Follows a session from now on, its full time to live ahead of it.
    pub(crate) fn track(&mut self, session: SessionId, generation: u32, ttl_ms: u64, now: MonoTime) {
        let mut tracked = Tracked { generation, heard: now, ttl_ms, bucket: MonoTime::ZERO };
        tracked.bucket = tracked.end(self.tick_ms);
        self.buckets.entry(tracked.bucket).or_default().push(session);
        self.sessions.insert(session, tracked);
    }

    /// A session has ended. Its place in a bucket is passed over when its time comes.
    pub(crate) fn forget(&mut self, session: SessionId) {
        self.sessions.remove(&session);
    }

    /// This member does not lead any more.
    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
        self.buckets.clear();
    }

    /// The session's client was heard of at `heard`.
    pub(crate) fn touch(&mut self, session: SessionId, heard: MonoTime) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.heard = tracked.heard.max(heard);
        }
    }

    /// This process stood still for so long, until now: every deadline moves by as much, but nobody is taken to have been
    /// heard of later than now.
    pub(crate) fn forgive(&mut self, stall_ms: u64, now: MonoTime) {
        for tracked in self.sessions.values_mut() {
            tracked.heard = tracked.heard.plus_ms(stall_ms).min(now).max(tracked.heard);
        }
    }

    /// When the next bucket's time comes.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.buckets.first_key_value().map(|(bucket, _)| *bucket)
    }

    /// Whether a session's deadline has passed. Those that were heard of meanwhile get a new bucket: they are no reason to
    /// ask anybody.
    pub(crate) fn is_due(&mut self, now: MonoTime) -> bool {
        while let Some(entry) = self.buckets.first_entry().filter(|entry| *entry.key() <= now) {
            let (due, mut listed) = entry.remove_entry();
            let mut late = Vec::new();
            listed.retain(|session| {
                let Some(tracked) = self.sessions.get_mut(session) else { return false };
                if tracked.bucket != due {
                    return false;
                }
                let end = tracked.end(self.tick_ms);
                // Otherwise it stays in this bucket: also one that was heard of meanwhile, and whose end has passed again, and
                // one whose verdict is to be repeated, which is behind its end.
                if end > now {
                    tracked.bucket = end;
                    late.push((end, *session));
                }
                end <= now
            });
            late.into_iter().for_each(|(end, session)| self.buckets.entry(end).or_default().push(session));
            if !listed.is_empty() {
                self.buckets.insert(due, listed);
                return true;
            }
        }
        false
    }

    /// The sessions whose deadline had passed at `began`, now that all answers to the round begun then are in; but each was
    /// heard of at `heard` at the least, for someone who could not answer may have heard of it until then. A verdict may
    /// be lost: it is given again when as much time has passed once more and the session is still there.
    pub(crate) fn condemn(&mut self, began: MonoTime, heard: MonoTime) -> Vec<(SessionId, u32)> {
        let mut condemned = Vec::new();
        while let Some(entry) = self.buckets.first_entry() {
            let due = *entry.key();
            if due > began {
                break;
            }
            for session in entry.remove() {
                let Some(tracked) = self.sessions.get_mut(&session) else { continue };
                if tracked.bucket != due {
                    continue;
                }
                tracked.heard = tracked.heard.max(heard);
                tracked.bucket = tracked.end(self.tick_ms);
                if tracked.bucket <= began {
                    condemned.push((session, tracked.generation));
                    tracked.bucket = round_up(began.plus_ms(tracked.ttl_ms.max(self.tick_ms)), self.tick_ms);
                }
                self.buckets.entry(tracked.bucket).or_default().push(session);
            }
        }
        condemned
    }

    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: SessionId = SessionId([1; 16]);

    const fn at(ms: u64) -> MonoTime {
        MonoTime::of_ms(ms)
    }

    fn expiry() -> Expiry {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, at(1));
        expiry
    }

    #[test]
    fn deadline_is_rounded_up_to_a_tick_and_a_verdict_repeated() {
        let mut expiry = expiry();
        assert_eq!(expiry.next_deadline(), Some(at(1_100)));
        assert_eq!(expiry.condemn(at(1_099), at(0)), []);
        assert_eq!(expiry.condemn(at(1_100), at(0)), [(S, 1)]);
        assert_eq!(expiry.condemn(at(2_099), at(0)), [], "condemned once");
        assert_eq!(expiry.condemn(at(2_100), at(0)), [(S, 1)], "the verdict was lost");
        expiry.forget(S);
        assert_eq!(expiry.condemn(at(9_999), at(0)), []);
        assert_eq!(expiry.len(), 0);
    }

    #[test]
    fn sign_of_the_client_moves_the_deadline_also_when_it_is_told_late() {
        let mut expiry = expiry();
        expiry.touch(S, at(950));
        expiry.touch(S, at(400));
        assert_eq!(expiry.condemn(at(1_100), at(0)), []);
        assert_eq!(expiry.condemn(at(2_000), at(1_500)), [], "a silent member may have heard of it");
        assert_eq!(expiry.condemn(at(2_500), at(1_500)), [(S, 1)]);
    }

    #[test]
    fn session_that_was_heard_of_is_no_reason_to_ask() {
        let mut expiry = expiry();
        expiry.touch(S, at(950));
        assert!(!expiry.is_due(at(1_100)));
        assert_eq!(expiry.next_deadline(), Some(at(2_000)));
        assert!(expiry.is_due(at(2_000)) && expiry.is_due(at(2_050)));
        assert_eq!(expiry.condemn(at(2_050), at(0)), [(S, 1)]);
        assert!(!expiry.is_due(at(3_000)), "it was condemned");
        assert!(expiry.is_due(at(3_100)), "and is still there");
        assert_eq!(expiry.condemn(at(3_100), at(0)), [(S, 1)]);
    }

    #[test]
    fn session_that_was_heard_of_and_is_silent_again_before_anybody_looks_ends() {
        let mut expiry = expiry();
        expiry.touch(S, at(150));
        assert!(expiry.is_due(at(1_300)), "it was to end at 1,100, and then at 1,200");
        assert_eq!(expiry.condemn(at(1_300), at(0)), [(S, 1)]);
    }

    #[test]
    fn time_in_which_the_process_stood_still_is_forgiven() {
        let mut expiry = expiry();
        expiry.track(SessionId([2; 16]), 1, 1_000, at(5_500));
        expiry.forgive(5_000, at(5_500));
        assert_eq!(expiry.condemn(at(6_000), at(0)), []);
        assert_eq!(expiry.condemn(at(6_100), at(0)), [(S, 1)]);
        assert_eq!(expiry.condemn(at(6_500), at(0)), [(SessionId([2; 16]), 1)]);
    }

    #[test]
    fn session_that_continues_is_judged_by_its_new_deadline_and_generation() {
        let mut expiry = expiry();
        expiry.track(S, 2, 4_000, at(0));
        assert_eq!(expiry.condemn(at(1_100), at(0)), []);
        assert_eq!(expiry.condemn(at(4_000), at(0)), [(S, 2)]);
    }
}
