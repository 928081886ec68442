//! Which entries are kept in memory for members that lag: those behind what each has that is in reach, and those behind a
//! snapshot from when it is begun for one until it has arrived. Otherwise the log would have gone on without it by
//! then, and the next snapshot would come too late as well.

use consensus_raft::Role;

use crate::core::Core;

/// How many times the usual bytes of log are kept at the most, whoever lags.
const WINDOWS_MAX: usize = 8;
/// How many entries are let go of for each that is applied: were a member that lagged behind many megabytes of small
/// entries gone, to free them all at once would hold up writes for tens of milliseconds.
const LET_GO_MAX: usize = 8;
/// The same, for each tick: an idle member gives its memory back, too.
const LET_GO_IDLE_MAX: usize = 128;
/// How long a snapshot that somebody needs may take to be begun, or to be asked for once it is there, milliseconds.
const PATIENCE_MS: u64 = 10_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Floor {
    /// Until when somebody needs the newest snapshot, and is not given it yet.
    wanted_until_ms: u64,
    /// Who is in reach and has not caught up, and how far each is.
    trailing: Vec<(u64, u64)>,
    /// What was committed a tick ago: who has that has caught up.
    committed: u64,
}

impl Core {
    /// One more entry is applied: lets go of some that nobody needs.
    pub(crate) fn compact(&mut self) {
        self.let_go(LET_GO_MAX);
    }

    fn let_go(&mut self, count_max: usize) {
        let applied = self.applied_index;
        if self.is_alone() {
            // Nobody lags: what is applied need not be kept in memory.
            return self.raft.compact(applied, 0, count_max);
        }
        let (bytes_max, pinned) = (self.config.window_bytes_max, self.pinned_index());
        self.raft.compact(applied.min(pinned), bytes_max, count_max);
        self.raft.compact(applied, bytes_max.saturating_mul(WINDOWS_MAX), count_max);
    }

    /// A change of members is applied. Who the founders were is in no log: a new member begins with a snapshot that says
    /// who the members are, so the beginning of the log is let go of.
    pub(crate) fn forget_beginning(&mut self, change: u64) {
        self.raft.compact((change - 1).min(self.pinned_index()), 0, LET_GO_MAX);
    }

    /// The highest index up to which no member needs the log.
    pub(crate) fn pinned_index(&self) -> u64 {
        let wanted = self.floor.wanted_until_ms > self.now.mono_ms;
        let awaited = wanted.then(|| self.snapshotter.covers());
        let sent = self.sending.iter().map(|sending| sending.index);
        let trailing = self.floor.trailing.iter().map(|(_, matched)| *matched);
        sent.chain(trailing).chain(awaited).min().unwrap_or(u64::MAX)
    }

    /// Somebody needs a snapshot.
    pub(crate) const fn await_snapshot(&mut self) {
        self.floor.wanted_until_ms = self.now.mono_ms + PATIENCE_MS;
    }

    /// A member has taken over the snapshot of this index.
    pub(crate) fn trail(&mut self, peer: u64, index: u64) {
        self.floor.trailing.retain(|(trailing, _)| *trailing != peer);
        self.floor.trailing.push((peer, index));
    }

    /// Looks how far everybody is.
    pub(crate) fn trail_tick(&mut self) {
        self.let_go(LET_GO_IDLE_MAX);
        let goal = std::mem::replace(&mut self.floor.committed, self.raft.committed());
        if self.raft.role() != Role::Leader {
            return self.floor.trailing.clear();
        }
        let before = std::mem::take(&mut self.floor.trailing);
        for known in self.raft.progress() {
            let peer = known.id.0;
            let told =
                before.iter().find(|(trailing, _)| *trailing == peer).map_or(0, |(_, matched)| *matched);
            let matched = known.matched.max(told);
            // Whoever has nothing yet begins with a snapshot, which says who the members are, and never with the log.
            let lags = !known.wants_snapshot && (1..goal).contains(&matched);
            if lags && self.linked_peers.contains(&peer) {
                self.floor.trailing.push((peer, matched));
            }
        }
    }
}
