//! Which entries are kept in memory for members that lag: those behind what each has that is in reach, and those behind a
//! snapshot from when it is begun for one until it has arrived. Otherwise the log would have gone on without it by
//! then, and the next snapshot would come too late as well.

use base::{MonoTime, Now};
use consensus_raft::{LogIndex, MemberId, RaftNode, Role};

use crate::snapshot::Snapshots;
use crate::state_machine::ReplicatedState;
use crate::view::View;

/// How many times the usual bytes of log are kept at the most, whoever lags.
const WINDOWS_MAX: usize = 8;
/// How many entries are let go of for each that is applied: were a member that lagged behind many megabytes of small
/// entries gone, to free them all at once would hold up writes for tens of milliseconds.
const LET_GO_MAX: usize = 8;
/// The same, for each tick: an idle member gives its memory back, too.
const LET_GO_IDLE_MAX: usize = 128;
/// How long a snapshot that somebody needs may take to be begun, or to be asked for once it is there, milliseconds.
const WANTED_MS: u64 = 10_000;

/// How far a member that lags has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trailing {
    peer: MemberId,
    matched: LogIndex,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LogRetention {
    /// Until when somebody needs the newest snapshot, and is not given it yet.
    wanted_until: MonoTime,
    /// Who is in reach and has not caught up.
    trailing: Vec<Trailing>,
    /// What was committed a tick ago: who has that has caught up.
    committed: LogIndex,
}

impl LogRetention {
    /// One more entry is applied: lets go of some that nobody needs.
    pub(crate) fn applied(
        &self,
        applied: LogIndex,
        snapshots: &Snapshots<impl ReplicatedState>,
        raft: &mut RaftNode,
        view: &View,
    ) {
        self.let_go(LET_GO_MAX, applied, snapshots, raft, view);
    }

    /// A change of members is applied. Who the founders were is in no log: a new member begins with a snapshot that says
    /// who the members are, so the beginning of the log is let go of.
    pub(crate) fn change_applied(
        &self,
        change: LogIndex,
        snapshots: &Snapshots<impl ReplicatedState>,
        raft: &mut RaftNode,
        now: Now,
    ) {
        raft.compact(change.previous().min(self.pinned_index(snapshots, now)), 0, LET_GO_MAX);
    }

    /// Somebody needs a snapshot.
    pub(crate) const fn await_snapshot(&mut self, now: Now) {
        self.wanted_until = now.mono().plus_ms(WANTED_MS);
    }

    /// A member has taken over the snapshot of this index.
    pub(crate) fn snapshot_taken(&mut self, peer: MemberId, index: LogIndex) {
        self.trailing.retain(|trailing| trailing.peer != peer);
        self.trailing.push(Trailing { peer, matched: index });
    }

    /// Looks how far everybody is.
    pub(crate) fn tick(
        &mut self,
        applied: LogIndex,
        snapshots: &Snapshots<impl ReplicatedState>,
        raft: &mut RaftNode,
        view: &View,
    ) {
        self.let_go(LET_GO_IDLE_MAX, applied, snapshots, raft, view);
        let goal = std::mem::replace(&mut self.committed, raft.committed());
        if raft.role() != Role::Leader {
            return self.trailing.clear();
        }
        let before = std::mem::take(&mut self.trailing);
        for known in raft.progress() {
            let peer = known.id;
            let told = before.iter().find(|trailing| trailing.peer == peer);
            let matched = known.matched.max(told.map_or(LogIndex::ZERO, |trailing| trailing.matched));
            // A member that has nothing yet begins with a snapshot, which says who the members are, and never with the
            // log.
            let lags = !known.wants_snapshot && (LogIndex::FIRST..goal).contains(&matched);
            if lags && view.peers.is_connected(peer) {
                self.trailing.push(Trailing { peer, matched });
            }
        }
    }

    fn let_go(
        &self,
        count_max: usize,
        applied: LogIndex,
        snapshots: &Snapshots<impl ReplicatedState>,
        raft: &mut RaftNode,
        view: &View,
    ) {
        if view.is_alone() {
            // Nobody lags: what is applied need not be kept in memory.
            return raft.compact(applied, 0, count_max);
        }
        let (bytes_max, pinned) = (view.config.window_bytes_max, self.pinned_index(snapshots, view.now));
        raft.compact(applied.min(pinned), bytes_max, count_max);
        raft.compact(applied, bytes_max.saturating_mul(WINDOWS_MAX), count_max);
    }

    /// The highest index up to which no member needs the log.
    fn pinned_index(&self, snapshots: &Snapshots<impl ReplicatedState>, now: Now) -> LogIndex {
        let wanted = self.wanted_until > now.mono();
        let awaited = wanted.then(|| snapshots.own.covers());
        let trailing = self.trailing.iter().map(|trailing| trailing.matched);
        snapshots.sent.indexes().chain(trailing).chain(awaited).min().unwrap_or(LogIndex::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReplicaConfig;
    use crate::test_support::Notes;

    const fn at(mono_ms: u64) -> Now {
        Now::of_ms(mono_ms, 0)
    }

    #[test]
    fn log_behind_a_wanted_snapshot_is_kept_until_it_is_sent_or_long_not_asked_for() {
        let snapshots = Snapshots::<Notes>::new(&ReplicaConfig::new(MemberId(1)), LogIndex(70), &Vec::new());
        let mut retention = LogRetention::default();
        assert_eq!(retention.pinned_index(&snapshots, at(1)), LogIndex::MAX);
        retention.await_snapshot(at(1));
        assert_eq!(retention.pinned_index(&snapshots, at(WANTED_MS)), LogIndex(70));
        assert_eq!(retention.pinned_index(&snapshots, at(WANTED_MS + 1)), LogIndex::MAX);
    }

    #[test]
    fn log_behind_a_snapshot_that_was_taken_over_is_kept_for_its_member() {
        let snapshots = Snapshots::<Notes>::new(&ReplicaConfig::new(MemberId(1)), LogIndex(70), &Vec::new());
        let mut retention = LogRetention::default();
        retention.snapshot_taken(MemberId(2), LogIndex(70));
        retention.snapshot_taken(MemberId(3), LogIndex(90));
        retention.snapshot_taken(MemberId(2), LogIndex(110));
        assert_eq!(retention.pinned_index(&snapshots, at(1)), LogIndex(90));
    }
}
