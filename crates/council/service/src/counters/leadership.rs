//! What a member sees of the others: who leads and since when, who is connected, what passes by. Written by the core's
//! thread, looked at by pages; it never asks the core.

use base::{LogIndex, MemberNumber, MonoTime, Term, WallTime};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use storage_raft_log::Batch;

use super::trail::Trail;
use node_metrics::Histogram;

/// Entries under way whose time is taken; of more than these it is not.
const TIMED_MAX: usize = 1_024;

/// What a member is among the others at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) term: Term,
    /// The number of who leads.
    pub(crate) leader: Option<MemberNumber>,
    /// Whether it is this member.
    pub(crate) leads: bool,
    pub(crate) serving: bool,
}

/// A connection to another member.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    /// When it was established; none while it is broken.
    pub(crate) since: Option<WallTime>,
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

/// Bytes of what this member has proposed since it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProposalSizes {
    pub(crate) last: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl ProposalSizes {
    /// The last, the smallest and the largest as ZooKeeper shows them: -1 as long as there was no proposal.
    pub(crate) fn shown(sizes: Option<Self>) -> [i64; 3] {
        sizes.map_or([-1; 3], |sizes| {
            [sizes.last, sizes.min, sizes.max].map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX))
        })
    }
}

/// Moments from which something is counted.
#[derive(Default)]
struct Since {
    looking: MonoTime,
    led: MonoTime,
    unserved: MonoTime,
    leading: Option<MonoTime>,
}

/// See the module.
#[derive(Default)]
pub(crate) struct LeadershipCounters {
    stand: Mutex<(Stand, Since)>,
    links: Mutex<BTreeMap<MemberNumber, Link>>,
    sizes: Mutex<Option<ProposalSizes>>,
    timed: Mutex<VecDeque<(LogIndex, u64)>>,
    applied: AtomicU64,
    pub(crate) trail: Trail,
    pub(crate) looked: AtomicU64,
    pub(crate) leaders_followed: AtomicU64,
    pub(crate) election_ms: Histogram,
    pub(crate) leader_unavailable_ms: Histogram,
    pub(crate) unavailable_ms: Histogram,
    pub(crate) follower_sync_ms: Histogram,
    pub(crate) quorum_ack_us: Histogram,
    pub(crate) proposals: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) learner_proposals: AtomicU64,
    pub(crate) learner_commits: AtomicU64,
}

impl LeadershipCounters {
    /// The core begins to look for others.
    pub(crate) fn begin(&self, now: MonoTime) {
        let since = Since { looking: now, unserved: now, ..Since::default() };
        *self.stand.lock() = (Stand::default(), since);
        self.looked.store(1, Relaxed);
    }

    /// What this member is now.
    pub(crate) fn note(&self, new: Stand, now: MonoTime) {
        let mut stand = self.stand.lock();
        let (old, since) = &mut *stand;
        if *old == new {
            return;
        }
        match (old.leader, new.leader) {
            (Some(_), None) => {
                since.looking = now;
                self.looked.fetch_add(1, Relaxed);
            }
            (None, Some(_)) => self.election_ms.record(now.since(since.looking)),
            _ => {}
        }
        if new.leader.is_some() && (old.leader, old.term) != (new.leader, new.term) {
            self.leaders_followed.fetch_add(1, Relaxed);
            since.led = now;
        }
        if old.leads != new.leads {
            since.leading = new.leads.then_some(now);
            *self.sizes.lock() = None;
            self.timed.lock().clear();
        }
        match (old.serving, new.serving) {
            (false, true) => {
                let unserved_ms = now.since(since.unserved);
                self.unavailable_ms.record(unserved_ms);
                if new.leads {
                    self.leader_unavailable_ms.record(unserved_ms);
                } else {
                    self.follower_sync_ms.record(now.since(since.led));
                }
            }
            (true, false) => since.unserved = now,
            _ => {}
        }
        *old = new;
    }

    /// A member is connected, or is not any more.
    pub(crate) fn link(&self, number: MemberNumber, since: Option<WallTime>) {
        self.links.lock().entry(number).or_default().since = since;
    }

    /// A member has said something.
    pub(crate) fn heard(&self, number: MemberNumber) {
        self.links.lock().entry(number).or_default().received += 1;
    }

    /// Members are told something.
    pub(crate) fn told(&self, numbers: impl Iterator<Item = MemberNumber>) {
        let mut links = self.links.lock();
        for number in numbers {
            links.entry(number).or_default().sent += 1;
        }
    }

    /// Entries are on their way to the disk: this member's own proposals, or its leader's.
    pub(crate) fn persisting(&self, batch: &Batch, leads: bool, now_us: u64) {
        let count = batch.entries.len() as u64;
        if !leads {
            self.learner_proposals.fetch_add(count, Relaxed);
            return;
        }
        self.proposals.fetch_add(count, Relaxed);
        let mut sizes = self.sizes.lock();
        for entry in &batch.entries {
            let last = entry.data.len() as u64;
            let known = sizes.unwrap_or(ProposalSizes { last, min: last, max: last });
            *sizes = Some(ProposalSizes { last, min: known.min.min(last), max: known.max.max(last) });
        }
        let mut timed = self.timed.lock();
        if let Some(entry) = batch.entries.last().filter(|_| timed.len() < TIMED_MAX) {
            timed.push_back((entry.index, now_us));
        }
    }

    /// So much of the log is applied.
    pub(crate) fn applied(&self, index: LogIndex, leads: bool, now_us: impl FnOnce() -> u64) {
        let before = LogIndex(self.applied.swap(index.0, Relaxed));
        if before == index {
            return;
        }
        // The first look tells where the log began, and a snapshot of another member jumps.
        let count = if before == LogIndex::ZERO { 0 } else { index.since(before) };
        if !leads {
            self.learner_commits.fetch_add(count, Relaxed);
            return;
        }
        self.commits.fetch_add(count, Relaxed);
        let (mut timed, now_us) = (self.timed.lock(), now_us());
        while let Some((_, since_us)) = timed.pop_front_if(|(known, _)| *known <= index) {
            self.quorum_ack_us.record(now_us.saturating_sub(since_us));
        }
    }

    /// What this member is.
    pub(crate) fn stand(&self) -> Stand {
        self.stand.lock().0
    }

    /// Since when this member leads.
    pub(crate) fn leading_since(&self) -> Option<MonoTime> {
        self.stand.lock().1.leading
    }

    /// Bytes of its proposals; nothing before the first.
    pub(crate) fn proposal_sizes(&self) -> Option<ProposalSizes> {
        *self.sizes.lock()
    }

    /// The connection to a member, if there ever was one.
    pub(crate) fn link_to(&self, number: MemberNumber) -> Option<Link> {
        self.links.lock().get(&number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_leader_is_counted_and_timed() {
        let metrics = LeadershipCounters::default();
        metrics.begin(MonoTime::of_ms(100));
        let follows = Stand { term: Term(2), leader: Some(MemberNumber(1)), leads: false, serving: false };
        metrics.note(follows, MonoTime::of_ms(400));
        metrics.note(Stand { serving: true, ..follows }, MonoTime::of_ms(450));
        metrics.note(Stand { serving: true, leader: None, ..follows }, MonoTime::of_ms(1_000));
        let leads = Stand { term: Term(3), leader: Some(MemberNumber(2)), leads: true, serving: true };
        metrics.note(leads, MonoTime::of_ms(1_200));
        metrics.note(leads, MonoTime::of_ms(1_300));
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        assert_eq!((count(&metrics.looked), count(&metrics.leaders_followed)), (2, 2));
        let election = metrics.election_ms.snapshot();
        assert_eq!((election.count, election.sum), (2, 500));
        assert_eq!(metrics.unavailable_ms.snapshot().sum, 350);
        assert_eq!(metrics.follower_sync_ms.snapshot().sum, 50);
        assert_eq!(metrics.leader_unavailable_ms.snapshot().count, 0, "it served all the time");
        assert_eq!(metrics.leading_since(), Some(MonoTime::of_ms(1_200)));
    }

    #[test]
    fn a_proposal_is_timed_until_it_is_applied() {
        let entry = |index, bytes: &'static [u8]| storage_raft_log::Entry {
            index,
            term: Term(1),
            kind: storage_raft_log::EntryKind::Normal,
            data: bytes.into(),
        };
        let batch = |entries| Batch { hard_state: None, membership: None, entries };
        let metrics = LeadershipCounters::default();
        metrics.applied(LogIndex(4), true, || 0);
        metrics.persisting(&batch(vec![entry(LogIndex(5), b"abc"), entry(LogIndex(6), b"a")]), true, 1_000);
        metrics.persisting(&batch(vec![entry(LogIndex(7), b"ab")]), true, 2_000);
        metrics.applied(LogIndex(6), true, || 3_000);
        assert_eq!(metrics.quorum_ack_us.snapshot().sum, 2_000);
        assert_eq!((metrics.proposals.load(Relaxed), metrics.commits.load(Relaxed)), (3, 2));
        assert_eq!(metrics.proposal_sizes(), Some(ProposalSizes { last: 2, min: 1, max: 3 }));
        metrics.persisting(&batch(vec![entry(LogIndex(8), b"")]), false, 0);
        metrics.applied(LogIndex(8), false, || 0);
        assert_eq!(metrics.learner_proposals.load(Relaxed), 1);
        assert_eq!(metrics.learner_commits.load(Relaxed), 2);
    }
}
