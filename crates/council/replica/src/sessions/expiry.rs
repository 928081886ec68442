//! When sessions end: deadlines in buckets of a tick, rounded up, so that none ends early.
//!
//! A deadline that passes is a suspicion, not a verdict. The core then asks its shards whom they have heard of, and
//! only a session that no answer begun after the deadline names is expired. Time in which this process itself stood
//! still counts for nobody.

use base::MonoTime;
use consensus_raft::MemberNumber;
use std::collections::BTreeMap;

use council_tree::Tree;
use council_wire::SessionId;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::generations::holder;

#[derive(Debug)]
struct Tracked {
    generation: u32,
    last_heard: MonoTime,
    timeout_ms: u64,
    bucket: MonoTime,
}

impl Tracked {
    /// The first tick at or after the session's deadline.
    const fn end(&self, tick_ms: u64) -> MonoTime {
        round_up(self.last_heard.plus_ms(self.timeout_ms), tick_ms)
    }
}

/// The first tick at or after this time.
const fn round_up(time: MonoTime, tick_ms: u64) -> MonoTime {
    MonoTime::of_ms(time.ms().div_ceil(tick_ms) * tick_ms)
}

/// The deadlines of all sessions.
#[derive(Debug)]
pub(crate) struct Expiry {
    tick_ms: u64,
    sessions: HashMap<SessionId, Tracked, FixedState>,
    buckets: BTreeMap<MonoTime, Vec<SessionId>>,
    /// How many sessions each member held last.
    holders: BTreeMap<MemberNumber, usize>,
}

impl Expiry {
    pub(crate) fn new(tick_ms: u64) -> Self {
        Self {
            tick_ms: tick_ms.max(1),
            sessions: HashMap::with_hasher(FixedState::default()),
            buckets: BTreeMap::new(),
            holders: BTreeMap::new(),
        }
    }

    /// Follows a session from now on, its full timeout ahead of it.
    pub(crate) fn track(&mut self, session: SessionId, generation: u32, timeout_ms: u64, now: MonoTime) {
        let mut tracked = Tracked { generation, last_heard: now, timeout_ms, bucket: MonoTime::ZERO };
        tracked.bucket = tracked.end(self.tick_ms);
        let bucket = tracked.bucket;
        let before = self.sessions.insert(session, tracked);
        self.moves(session, before.map(|before| before.generation), Some(generation));
        self.buckets.entry(bucket).or_default().push(session);
    }

    /// A session has left the member that gave the one generation for the one that gave the other.
    fn moves(&mut self, session: SessionId, from: Option<u32>, to: Option<u32>) {
        if let Some(to) = to {
            *self.holders.entry(holder(session, to)).or_default() += 1;
        }
        if let Some(from) = from
            && let Some(count) = self.holders.get_mut(&holder(session, from))
        {
            *count -= 1;
            if *count == 0 {
                self.holders.remove(&holder(session, from));
            }
        }
    }

    /// Whether the member of that number held any session last.
    pub(crate) fn is_holder(&self, member: MemberNumber) -> bool {
        self.holders.contains_key(&member)
    }

    /// A session's timeout, where it is followed.
    pub(crate) fn timeout_ms(&self, session: SessionId) -> Option<u64> {
        self.sessions.get(&session).map(|tracked| tracked.timeout_ms)
    }

    /// The session has ended.
    pub(crate) fn forget(&mut self, session: SessionId) {
        // Its place in a bucket is left to be passed over when its time comes.
        let before = self.sessions.remove(&session);
        self.moves(session, before.map(|before| before.generation), None);
    }

    /// Follows all sessions of a tree and no others, each with its full timeout ahead of it.
    pub(crate) fn track_all(&mut self, tree: &Tree, now: MonoTime) {
        self.sessions.clear();
        self.buckets.clear();
        self.holders.clear();
        for known in tree.sessions() {
            let timeout_ms = u64::try_from(known.timeout_ms).unwrap_or(0);
            self.track(known.id, known.generation, timeout_ms, now);
        }
    }

    /// The session was heard of at `heard`.
    pub(crate) fn touch(&mut self, session: SessionId, heard: MonoTime) {
        if let Some(tracked) = self.sessions.get_mut(&session) {
            tracked.last_heard = tracked.last_heard.max(heard);
        }
    }

    /// This process stood still for `stall_ms` until now: every deadline moves by as much, but nobody is taken to have
    /// been heard of later than now: whoever came when it was over has lost nothing.
    pub(crate) fn forgive(&mut self, stall_ms: u64, now: MonoTime) {
        for tracked in self.sessions.values_mut() {
            let heard = tracked.last_heard.plus_ms(stall_ms).min(now);
            tracked.last_heard = heard.max(tracked.last_heard);
        }
    }

    /// Whether a bucket's time has come.
    pub(crate) fn is_due(&self, now: MonoTime) -> bool {
        self.buckets.first_key_value().is_some_and(|(bucket, _)| *bucket <= now)
    }

    /// When the next bucket's time comes.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.buckets.first_key_value().map(|(bucket, _)| *bucket)
    }

    /// Takes the sessions whose deadline had passed at `began`, now that all answers to the round begun then are
    /// in. Those heard of meanwhile get a new bucket; `heard` says until when somebody who could not answer may have
    /// heard of a session of that generation. A verdict may be lost (the lead is being handed over, say): it is given
    /// again when as much time has passed once more and the session is still there.
    pub(crate) fn condemn(
        &mut self,
        began: MonoTime,
        heard: impl Fn(SessionId, u32) -> MonoTime,
    ) -> Vec<(SessionId, u32)> {
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
                tracked.last_heard = tracked.last_heard.max(heard(session, tracked.generation));
                tracked.bucket = tracked.end(self.tick_ms);
                if tracked.bucket <= began {
                    condemned.push((session, tracked.generation));
                    let again = began.plus_ms(tracked.timeout_ms.max(self.tick_ms));
                    tracked.bucket = round_up(again, self.tick_ms);
                }
                self.buckets.entry(tracked.bucket).or_default().push(session);
            }
        }
        condemned
    }

    /// When each session would end, for `dump` and its like.
    pub(crate) fn deadlines(&self) -> Vec<(MonoTime, SessionId)> {
        let mut deadlines: Vec<_> =
            self.sessions.iter().map(|(session, tracked)| (tracked.end(self.tick_ms), *session)).collect();
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

    const fn at(ms: u64) -> MonoTime {
        MonoTime::of_ms(ms)
    }

    #[test]
    fn deadline_is_rounded_up_to_a_tick_and_never_early() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 250, at(1_001));
        assert!(!expiry.is_due(at(1_299)));
        assert!(expiry.is_due(at(1_300)));
        assert_eq!(expiry.condemn(at(1_299), |_, _| at(0)), []);
        assert_eq!(expiry.condemn(at(1_300), |_, _| at(0)), [(S, 1)]);
        assert_eq!(expiry.condemn(at(1_599), |_, _| at(0)), [], "condemned once");
        assert_eq!(
            expiry.condemn(at(1_600), |_, _| at(0)),
            [(S, 1)],
            "it is still there: the verdict was lost"
        );
        expiry.forget(S);
        assert_eq!(expiry.condemn(at(9_999), |_, _| at(0)), []);
    }

    #[test]
    fn touch_moves_the_deadline_even_when_it_is_reported_late() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, at(0));
        expiry.touch(S, at(950));
        expiry.touch(S, at(400));
        assert_eq!(expiry.condemn(at(1_000), |_, _| at(0)), []);
        assert_eq!(expiry.next_deadline(), Some(at(2_000)));
        assert_eq!(expiry.condemn(at(2_000), |_, _| at(0)), [(S, 1)]);
    }

    #[test]
    fn our_own_stall_is_forgiven() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, at(0));
        expiry.track(SessionId(2), 1, 1_000, at(5_500));
        expiry.forgive(5_000, at(5_500));
        assert_eq!(expiry.condemn(at(5_999), |_, _| at(0)), []);
        assert_eq!(expiry.condemn(at(6_000), |_, _| at(0)), [(S, 1)]);
        assert_eq!(
            expiry.condemn(at(6_500), |_, _| at(0)),
            [(SessionId(2), 1)],
            "it came when the stall was over"
        );
    }

    #[test]
    fn member_holds_the_sessions_whose_generations_it_gave_last() {
        let mut expiry = Expiry::new(100);
        let holders = |expiry: &Expiry| {
            (0..=4).filter(|number| expiry.is_holder(MemberNumber(*number))).collect::<Vec<_>>()
        };
        let opened_at = |member: i64| SessionId(member << 56 | 7);
        expiry.track(opened_at(1), 1, 1_000, at(0));
        expiry.track(opened_at(2), 1, 1_000, at(0));
        expiry.track(opened_at(2), 256 + 1, 1_000, at(0));
        assert_eq!(holders(&expiry), [1]);
        expiry.forget(opened_at(1));
        assert_eq!(holders(&expiry), [1], "the other one moved there");
        expiry.track(opened_at(2), 512 + 4, 1_000, at(0));
        expiry.track(opened_at(2), 512 + 4, 2_000, at(0));
        assert_eq!(holders(&expiry), [4]);
        expiry.forget(opened_at(2));
        expiry.forget(opened_at(2));
        assert!(holders(&expiry).is_empty());
    }

    #[test]
    fn session_that_ended_is_passed_over() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, at(0));
        expiry.forget(S);
        assert_eq!(expiry.condemn(at(9_000), |_, _| at(0)), []);
        assert_eq!(expiry.len(), 0);
    }

    #[test]
    fn session_tracked_anew_is_judged_by_its_new_deadline() {
        let mut expiry = Expiry::new(100);
        expiry.track(S, 1, 1_000, at(0));
        expiry.track(S, 1, 4_000, at(0));
        assert_eq!(expiry.condemn(at(1_000), |_, _| at(0)), []);
        assert_eq!(expiry.condemn(at(4_000), |_, _| at(0)), [(S, 1)]);
    }
}
