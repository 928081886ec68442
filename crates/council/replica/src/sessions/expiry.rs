//! When sessions end: deadlines in buckets of a tick, rounded up, so that none ends early.
//!
//! A deadline that passes is a suspicion, not a verdict. The core then asks its shards whom they have heard of, and
//! only a session that no answer begun after the deadline names is expired. Time in which this process itself stood
//! still counts for nobody.

use std::collections::BTreeMap;

use council_tree::Tree;
use council_wire::SessionId;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

#[derive(Debug)]
struct Tracked {
    generation: u32,
    last_heard_ms: u64,
    timeout_ms: u64,
    bucket: u64,
}

impl Tracked {
    /// The first tick at or after the session's deadline.
    const fn end_ms(&self, tick_ms: u64) -> u64 {
        (self.last_heard_ms + self.timeout_ms).div_ceil(tick_ms) * tick_ms
    }
}

/// The deadlines of all sessions.
#[derive(Debug)]
pub(crate) struct Expiry {
    tick_ms: u64,
    sessions: HashMap<SessionId, Tracked, FixedState>,
    buckets: BTreeMap<u64, Vec<SessionId>>,
}

impl Expiry {
    pub(crate) fn new(tick_ms: u64) -> Self {
        Self {
            tick_ms: tick_ms.max(1),
            sessions: HashMap::with_hasher(FixedState::default()),
            buckets: BTreeMap::new(),
        }
    }

    /// Follows a session from now on, its full timeout ahead of it.
    pub(crate) fn track(&mut self, session: SessionId, generation: u32, timeout_ms: u64, now_ms: u64) {
        let mut tracked = Tracked { generation, last_heard_ms: now_ms, timeout_ms, bucket: 0 };
        tracked.bucket = tracked.end_ms(self.tick_ms);
        let bucket = tracked.bucket;
        self.sessions.insert(session, tracked);
        self.buckets.entry(bucket).or_default().push(session);
    }

    /// A session's timeout, where it is followed.
    pub(crate) fn timeout_ms(&self, session: SessionId) -> Option<u64> {
        self.sessions.get(&session).map(|tracked| tracked.timeout_ms)
    }

    /// The session has ended.
    pub(crate) fn forget(&mut self, session: SessionId) {
        // Its place in a bucket is left to be passed over when its time comes.
        self.sessions.remove(&session);
    }

    /// Follows all sessions of a tree and no others, each with its full timeout ahead of it.
    pub(crate) fn track_all(&mut self, tree: &Tree, now_ms: u64) {
        self.sessions.clear();
        self.buckets.clear();
        for known in tree.sessions() {
            let timeout_ms = u64::try_from(known.timeout_ms).unwrap_or(0);
            self.track(known.id, known.generation, timeout_ms, now_ms);
        }
    }

    /// The session was heard of at `heard_ms`.
    pub(crate) fn touch(&mut self, session: SessionId, heard_ms: u64) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.last_heard_ms = tracked.last_heard_ms.max(heard_ms);
        }
    }

    /// This process stood still for `stall_ms` until now: every deadline moves by as much, but nobody is taken to have
    /// been heard of later than now: whoever came when it was over has lost nothing.
    pub(crate) fn forgive(&mut self, stall_ms: u64, now_ms: u64) {
        for tracked in self.sessions.values_mut() {
            let heard_ms = (tracked.last_heard_ms + stall_ms).min(now_ms);
            tracked.last_heard_ms = heard_ms.max(tracked.last_heard_ms);
        }
    }

    /// Whether a bucket's time has come.
    pub(crate) fn is_due(&self, now_ms: u64) -> bool {
        self.buckets.first_key_value().is_some_and(|(bucket, _)| *bucket <= now_ms)
    }

    /// When the next bucket's time comes.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.buckets.first_key_value().map(|(bucket, _)| *bucket)
    }

    /// Takes the sessions whose deadline had passed at `began_ms`, now that all answers to the round begun then are
    /// in. Those heard of meanwhile get a new bucket; `heard_ms` says until when somebody who could not answer may have
    /// heard of a session of that generation. A verdict may be lost (the lead is being handed over, say): it is given
    /// again when as much time has passed once more and the session is still there.
    pub(crate) fn condemn(
        &mut self,
        began_ms: u64,
        heard_ms: impl Fn(SessionId, u32) -> u64,
    ) -> Vec<(SessionId, u32)> {
        let mut condemned = Vec::new();
        while let Some(entry) = self.buckets.first_entry() {
            let due = *entry.key();
            if due > began_ms {
                break;
            }
            for session in entry.remove() {
                let Some(tracked) = self.sessions.get_mut(&session) else { continue };
                if tracked.bucket != due {
                    continue;
                }
                tracked.last_heard_ms = tracked.last_heard_ms.max(heard_ms(session, tracked.generation));
                tracked.bucket = tracked.end_ms(self.tick_ms);
                if tracked.bucket <= began_ms {
                    condemned.push((session, tracked.generation));
                    let again_ms = began_ms + tracked.timeout_ms.max(self.tick_ms);
                    tracked.bucket = again_ms.div_ceil(self.tick_ms) * self.tick_ms;
                }
                self.buckets.entry(tracked.bucket).or_default().push(session);
            }
        }
        condemned
    }

    /// When each session would end, for `dump` and its like.
    pub(crate) fn deadlines(&self) -> Vec<(u64, SessionId)> {
        let mut deadlines: Vec<_> =
            self.sessions.iter().map(|(session, tracked)| (tracked.end_ms(self.tick_ms), *session)).collect();
        deadlines.sort_unstable();
        deadlines
    }

    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: SessionId = SessionId(1);

    #[test]
    fn deadline_is_rounded_up_to_a_tick_and_never_early() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 250, 1_001);
        assert!(!expiry.is_due(1_299));
        assert!(expiry.is_due(1_300));
        assert_eq!(expiry.condemn(1_299, |_, _| 0), []);
        assert_eq!(expiry.condemn(1_300, |_, _| 0), [(S, 1)]);
        assert_eq!(expiry.condemn(1_599, |_, _| 0), [], "condemned once");
        assert_eq!(expiry.condemn(1_600, |_, _| 0), [(S, 1)], "it is still there: the verdict was lost");
        expiry.forget(S);
        assert_eq!(expiry.condemn(9_999, |_, _| 0), []);
    }

    #[test]
    fn touch_moves_the_deadline_even_when_it_is_reported_late() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, 0);
        expiry.touch(S, 950);
        expiry.touch(S, 400);
        assert_eq!(expiry.condemn(1_000, |_, _| 0), []);
        assert_eq!(expiry.next_ms(), Some(2_000));
        assert_eq!(expiry.condemn(2_000, |_, _| 0), [(S, 1)]);
    }

    #[test]
    fn our_own_stall_is_forgiven() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, 0);
        expiry.track(SessionId(2), 1, 1_000, 5_500);
        expiry.forgive(5_000, 5_500);
        assert_eq!(expiry.condemn(5_999, |_, _| 0), []);
        assert_eq!(expiry.condemn(6_000, |_, _| 0), [(S, 1)]);
        assert_eq!(expiry.condemn(6_500, |_, _| 0), [(SessionId(2), 1)], "it came when the stall was over");
    }

    #[test]
    fn session_that_ended_is_passed_over() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, 0);
        expiry.forget(S);
        assert_eq!(expiry.condemn(9_000, |_, _| 0), []);
        assert_eq!(expiry.len(), 0);
    }

    #[test]
    fn session_tracked_anew_is_judged_by_its_new_deadline() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, 0);
        expiry.track(S, 1, 4_000, 0);
        assert_eq!(expiry.condemn(1_000, |_, _| 0), []);
        assert_eq!(expiry.condemn(4_000, |_, _| 0), [(S, 1)]);
    }
}
