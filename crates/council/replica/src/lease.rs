//! Who may serve clients, and until when: whoever has caught up with its leader, as long as that one knows of it. A member
//! that is cut off must neither answer from an ever older tree nor keep its clients believing that their sessions live.
//!
//! Before it begins to serve, a member asks its leader how far the log was decided upon (`barrier`), and applies all of
//! that. It may have been away for long within one reign, and it may itself have served what it does not know yet: its
//! log tells a member that starts only how far it knew the log to be decided upon. Were it to serve before, it would give
//! connections the numbers that its earlier life has given to others.
//!
//! A lease counts from the moment at which it was asked for, on the asker's clock. A member asks its leader; a leader asks
//! the other voters, and holds a lease from the moment that a majority answered for: none of them had gone on to a later
//! term then. However long answers were under way, a leader that has not heard of a member since some moment knows: that
//! member serves nobody later than one lease after it.
//!
//! A member that is heard of and yet falls behind, for its disk stands still, say, may not even know of what it misses. So
//! a leader grants no lease to whoever lacks what was committed a lease ago: nothing that is answered is older than two.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use consensus_raft::Role;
use council_frontend::FromCore;

use crate::core::{Core, Waiter};
use crate::peer::PeerMessage;

/// How often in the length of a lease a new one is asked for.
const ASKS: u64 = 10;
/// Builds of a lower feature level answer no leader that asks.
const ANSWERS_LEADERS: u32 = 1;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// When the lease that is held was asked for.
    held_ms: u64,
    asked_ms: u64,
    /// When this member asked how far it has to catch up, if it does.
    catches_up_ms: Option<u64>,
    /// For which moment each other voter answered, to this member as its leader.
    answered_ms: BTreeMap<u64, u64>,
    /// As a leader: what was committed when, from about one lease ago on.
    committed: VecDeque<(u64, u64)>,
}

impl Core {
    /// Until when clients may be answered; a driver looks at its clock before it takes what clients send.
    #[must_use]
    pub fn lease_until_ms(&self) -> u64 {
        if self.is_alone() { u64::MAX } else { self.lease.held_ms.saturating_add(self.config.lease_ms) }
    }

    pub(crate) fn keep_lease(&mut self) {
        if self.now.mono_ms >= self.lease.asked_ms + self.config.lease_ms / ASKS {
            self.ask_for_lease();
        }
        if self.raft.role() == Role::Leader {
            self.lease.held_ms = self.lease.held_ms.max(self.answered_majority_ms());
            self.note_committed();
        } else {
            self.lease.committed.clear();
        }
        if self.status.serving && self.now.mono_ms > self.lease_until_ms() {
            self.stop_serving();
        }
    }

    fn note_committed(&mut self) {
        let (now_ms, lease_ms) = (self.now.mono_ms, self.config.lease_ms);
        let committed = &mut self.lease.committed;
        committed.push_back((now_ms, self.raft.committed()));
        while committed.get(1).is_some_and(|(noted_ms, _)| noted_ms + lease_ms <= now_ms) {
            committed.pop_front();
        }
    }

    /// Whether that member has on its disk what was committed a lease ago. A leader that has not led for so long asks for
    /// what was committed when it began: how long ago that was is unknown, and each new leader would otherwise give a
    /// member that lags two leases more.
    fn keeps_up(&self, peer: u64) -> bool {
        let index = self.lease.committed.front().map_or(self.raft.committed(), |(_, index)| *index);
        self.raft.matched(consensus_raft::MemberId(peer)).is_none_or(|matched| matched >= index)
    }

    pub(crate) fn ask_for_lease(&mut self) {
        let (term, at_ms) = (self.raft.term(), self.now.mono_ms);
        let own = self.config.member;
        let mut asked: BTreeSet<u64> = BTreeSet::new();
        if self.raft.role() == Role::Leader {
            asked.extend(&self.membership.voters);
            asked.extend(&self.membership.voters_outgoing);
        } else {
            asked.extend(self.raft.leader().map(|leader| leader.0));
            if at_ms > self.lease_until_ms() {
                // Nobody tells a removed member who leads now, and the leader may be one that it never knew. Whoever
                // leads says so if this one is to be a member again.
                asked.extend(&self.linked_peers);
            }
        }
        asked.remove(&own);
        if !asked.is_empty() {
            self.lease.asked_ms = at_ms;
            self.outgoing.extend(asked.into_iter().map(|peer| (peer, PeerMessage::LeaseAsk { term, at_ms })));
        }
    }

    pub(crate) fn lease_asked(&mut self, peer: u64, term: u64, at_ms: u64) {
        if self.raft.term() != term {
            return;
        }
        let answers = match self.raft.role() {
            Role::Leader => {
                self.now.mono_ms <= self.lease_until_ms()
                    && self.membership.contains(peer)
                    && self.keeps_up(peer)
                    && !self.is_understudy(peer)
            }
            // Of a leader that it has not heard yet, a voter has heard that it asked for votes in this term. Whoever has
            // led in it and does no more voted for itself, and has nothing to say to those who still believe in it.
            _ => {
                let leader = self.raft.leader().or(self.raft.voted_for());
                leader.is_none_or(|leader| leader.0 == peer)
            }
        };
        if answers {
            self.outgoing.push((peer, PeerMessage::LeaseGrant { term, at_ms }));
        }
    }

    pub(crate) fn lease_granted(&mut self, peer: u64, term: u64, at_ms: u64) {
        if self.raft.term() != term {
            return;
        }
        // Nobody answers for a moment at which it was not asked.
        let at_ms = at_ms.min(self.lease.asked_ms);
        let held_ms = match self.raft.role() {
            Role::Leader => {
                let answered = self.lease.answered_ms.entry(peer).or_default();
                *answered = at_ms.max(*answered);
                self.answered_majority_ms()
            }
            _ if self.raft.leader().is_some_and(|leader| leader.0 == peer) => at_ms,
            _ => return,
        };
        self.lease.held_ms = self.lease.held_ms.max(held_ms);
        // The leader counts this member in: a member that said otherwise was wrong.
        self.denials.clear();
        self.start_serving();
    }

    /// The latest moment for which a majority of the voters, this one included, has answered.
    fn answered_majority_ms(&self) -> u64 {
        let answered = |id: &u64| match self.lease.answered_ms.get(id) {
            _ if *id == self.config.member => self.now.mono_ms,
            _ if self.levels.get(id).is_some_and(|level| *level < ANSWERS_LEADERS) => self.heard_ms(*id),
            answered_ms => answered_ms.copied().unwrap_or(0),
        };
        let of_a_majority = |voters: &[u64]| {
            let mut times: Vec<_> = voters.iter().map(answered).collect();
            times.sort_unstable_by(|one, other| other.cmp(one));
            times.get(voters.len() / 2).copied()
        };
        let both = [&self.membership.voters, &self.membership.voters_outgoing];
        both.into_iter().filter_map(|voters| of_a_majority(voters)).min().unwrap_or(0)
    }

    /// A leader serves once its own first transaction is applied; everybody else first has to catch up.
    pub(crate) fn start_serving(&mut self) {
        if self.status.serving || !self.may_serve() {
            return;
        }
        match self.raft.role() {
            Role::Leader if self.status.leading => self.serve(),
            Role::Leader => {}
            _ if self.raft.leader().is_some() && self.lease.catches_up_ms.is_none() => {
                self.lease.catches_up_ms = Some(self.now.mono_ms);
                self.barriers.wait(Waiter::Serve);
            }
            _ => {}
        }
    }

    /// Everything is applied that was decided upon when this member asked. If that took long, much has come since.
    pub(crate) fn caught_up(&mut self) {
        let asked_ms = self.lease.catches_up_ms.take();
        let in_time = asked_ms.is_some_and(|asked_ms| self.now.mono_ms <= asked_ms + self.config.lease_ms);
        if in_time && self.may_serve() {
            self.serve();
        } else {
            self.start_serving();
        }
    }

    fn may_serve(&self) -> bool {
        !self.is_disk_stalled() && self.now.mono_ms <= self.lease_until_ms()
    }

    fn serve(&mut self) {
        if !core::mem::replace(&mut self.status.serving, true) {
            self.tell_shards(|| FromCore::Serving(true));
        }
    }

    pub(crate) fn stop_serving(&mut self) {
        if core::mem::take(&mut self.status.serving) {
            self.tell_shards(|| FromCore::Serving(false));
        }
    }
}
