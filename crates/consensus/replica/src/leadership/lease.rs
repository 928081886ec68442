//! Who may serve clients, and until when: whoever has caught up with its leader, as long as that one knows of it. A member
//! that is cut off must neither answer from an ever older state nor keep its clients believing that their sessions live.
//!
//! Before it begins to serve, a member asks its leader how far the log is committed (`read_index`), and applies all of
//! that. It may have been away for long within one term, and it may itself have served what it does not know yet: its
//! log tells a member that starts only how far it knew the log to be committed. Were it to serve before, it would give
//! connections the numbers that its earlier life has given to others.
//!
//! A lease counts from the moment at which it was asked for, on the asker's clock. A member asks its leader; a leader asks
//! the other voters, and holds a lease from the moment that a majority answered for: none of them had gone on to a later
//! term then. However long answers were under way, a leader that has not heard of a member since some moment knows: that
//! member serves nobody later than one lease after it.
//!
//! A member that is heard of and yet falls behind, for its disk stands still, say, may not even know of what it misses. So
//! a leader grants no lease to whoever lacks what was committed a lease ago: nothing that is answered is older than two.

use base::MonoTime;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use consensus_raft::{LogIndex, MemberId, RaftNode, Role, Term};

use super::Leadership;
use crate::output::Output;
use crate::peer_message::PeerMessage;
use crate::read_index::{ReadIndex, Waiter};
use crate::view::View;

/// How often in the length of a lease a new one is asked for.
const ASKS: u64 = 10;
/// How much more often a member asks whose lease is over or half over: its leader may have had none to give yet when it was
/// asked, as at the start of all or after an election.
const ASKS_URGENTLY: u64 = 4;
/// Builds of a lower feature level answer no leader that asks.
const ANSWERS_LEADERS: u32 = 1;

/// What was committed at a moment.
#[derive(Clone, Copy, Debug)]
struct Committed {
    at: MonoTime,
    index: LogIndex,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lease {
    /// Whether clients are served here.
    serves: bool,
    /// When the lease that is held was asked for; [`MonoTime::ZERO`] for none.
    held: MonoTime,
    asked: MonoTime,
    /// This member holds no lease any more, whatever it is granted.
    is_over: bool,
    /// When this member asked how far it has to catch up, if it does.
    catches_up: Option<MonoTime>,
    /// For which moment each other voter answered, to this member as its leader.
    answered: BTreeMap<MemberId, MonoTime>,
    /// As a leader: what was committed when, from about one lease ago on.
    committed: VecDeque<Committed>,
    /// As a leader: voters whose replacement it has proposed.
    replaced: Vec<MemberId>,
}

impl Lease {
    /// Asks for a new lease in time, and stops serving when the one that is held is over. Says whether it stopped.
    #[must_use]
    pub(crate) fn tick<X: Clone>(
        &mut self,
        leadership: &Leadership,
        raft: &RaftNode,
        view: &View,
        out: &mut Output<X>,
    ) -> bool {
        if view.now.mono() >= self.asked.plus_ms(self.asks_each_ms(view)) {
            self.ask(raft, view, out);
        }
        if raft.role() == Role::Leader {
            self.held = self.held.max(self.leader_lease(leadership, view));
            self.note_committed(raft, view);
        } else {
            self.committed.clear();
        }
        view.now.mono() > self.until(view) && self.stop()
    }

    fn asks_each_ms(&self, view: &View) -> u64 {
        let is_urgent = view.now.mono().plus_ms(view.config.lease_ms / 2) > self.until(view);
        view.config.lease_ms / if is_urgent { ASKS * ASKS_URGENTLY } else { ASKS }
    }

    /// There is another leader, or another term.
    pub(crate) fn leader_changed(&mut self) {
        self.replaced.clear();
    }

    /// These voters are to be replaced by others of their numbers. What is proposed is committed, or another leader comes:
    /// they get no lease of this one any more.
    pub(crate) fn replaced(&mut self, voters: impl IntoIterator<Item = MemberId>) {
        self.replaced.extend(voters);
    }

    fn note_committed(&mut self, raft: &RaftNode, view: &View) {
        let (now, lease_ms) = (view.now.mono(), view.config.lease_ms);
        self.committed.push_back(Committed { at: now, index: raft.committed() });
        while self.committed.get(1).is_some_and(|noted| noted.at.plus_ms(lease_ms) <= now) {
            self.committed.pop_front();
        }
    }

    /// Asks for a lease.
    pub(crate) fn ask<X: Clone>(&mut self, raft: &RaftNode, view: &View, out: &mut Output<X>) {
        let (term, at) = (raft.term(), view.now.mono());
        let mut asked: BTreeSet<MemberId> = BTreeSet::new();
        if raft.role() == Role::Leader {
            let voters = view.members().voters.iter().chain(&view.members().voters_outgoing);
            asked.extend(voters);
        } else {
            asked.extend(raft.leader());
            if at > self.until(view) {
                // Nobody tells a removed member who leads now, and the leader may be one that it never knew. A leader
                // says so if this one is to be a member again.
                asked.extend(view.peers.connected());
            }
        }
        asked.remove(&view.own());
        if !asked.is_empty() {
            self.asked = at;
            out.send_each(asked, &PeerMessage::LeaseAsk { term, at });
        }
    }

    /// Another member asks for one.
    pub(crate) fn asked<X: Clone>(
        &self,
        peer: MemberId,
        (term, at): (Term, MonoTime),
        leadership: &Leadership,
        raft: &RaftNode,
        view: &View,
        out: &mut Output<X>,
    ) {
        if raft.term() != term {
            return;
        }
        let grants = match raft.role() {
            // Before its first command is applied, a leader does not know which members are being replaced.
            Role::Leader => {
                leadership.leads()
                    && view.now.mono() <= self.until(view)
                    && view.members().contains(peer)
                    && self.keeps_up(peer, raft)
                    && !view.membership.is_replacement(peer)
                    && !self.replaced.contains(&peer)
                    && !view.membership.is_replaced(peer)
            }
            // Of a leader that it has not heard yet, a voter has heard that it asked for votes in this term. A member
            // that has led in it and does no more voted for itself, and has nothing to say to those who still believe in
            // it.
            _ => {
                let leader = raft.leader().or(raft.voted_for());
                leader.is_none_or(|leader| leader == peer)
            }
        };
        if grants {
            out.send(peer, PeerMessage::LeaseGrant { term, at });
        }
    }

    /// Another member grants one. Says whether it counts.
    pub(crate) fn granted(
        &mut self,
        peer: MemberId,
        (term, at): (Term, MonoTime),
        leadership: &Leadership,
        raft: &RaftNode,
        view: &View,
    ) -> bool {
        if raft.term() != term {
            return false;
        }
        // Nobody answers for a moment at which it was not asked.
        let at = at.min(self.asked);
        let held = match raft.role() {
            Role::Leader => {
                let answered = self.answered.entry(peer).or_default();
                *answered = at.max(*answered);
                self.leader_lease(leadership, view)
            }
            _ if raft.leader().is_some_and(|leader| leader == peer) => at,
            _ => return false,
        };
        self.held = self.held.max(held);
        true
    }

    /// A leader serves once its own first command is applied; everybody else first has to catch up. Says whether this
    /// member begins to serve.
    #[must_use]
    pub(crate) fn start<W>(
        &mut self,
        may_serve: bool,
        leadership: &Leadership,
        raft: &RaftNode,
        view: &View,
        read_index: &mut ReadIndex<Waiter<W>>,
    ) -> bool {
        if self.serves || !may_serve {
            return false;
        }
        match raft.role() {
            Role::Leader if leadership.leads() => return self.serve(),
            Role::Leader => {}
            _ if raft.leader().is_some() && self.catches_up.is_none() => {
                self.catches_up = Some(view.now.mono());
                read_index.wait(Waiter::Serve);
            }
            _ => {}
        }
        false
    }

    /// Everything is applied that was committed when this member asked. If that took long, much has come since: then it
    /// has to ask again. Says whether this member begins to serve.
    #[must_use]
    pub(crate) fn caught_up(&mut self, may_serve: bool, view: &View) -> bool {
        let asked = self.catches_up.take();
        let in_time = asked.is_some_and(|asked| view.now.mono() <= asked.plus_ms(view.config.lease_ms));
        in_time && may_serve && self.serve()
    }

    const fn serve(&mut self) -> bool {
        !core::mem::replace(&mut self.serves, true)
    }

    /// Clients are not served here any more. Says whether they were.
    #[must_use]
    pub(crate) const fn stop(&mut self) -> bool {
        core::mem::replace(&mut self.serves, false)
    }

    /// This member's state is wrong: it holds no lease any more.
    pub(crate) const fn end(&mut self) {
        self.is_over = true;
    }

    /// Another state takes the place of this member's: the machine parts from all clients by that.
    pub(crate) const fn state_replaced(&mut self) {
        self.serves = false;
    }

    /// Until when clients may be answered. A clock may begin with its process: no lease at all must not look like one that
    /// was asked for at that moment, or a member would serve for the length of a lease that nobody granted.
    pub(crate) fn until(&self, view: &View) -> MonoTime {
        match self.held {
            _ if self.is_over => MonoTime::ZERO,
            _ if view.is_alone() => MonoTime::MAX,
            MonoTime::ZERO => MonoTime::ZERO,
            held => held.plus_ms(view.config.lease_ms),
        }
    }

    pub(crate) const fn serves(&self) -> bool {
        self.serves
    }

    /// Whether that member has on its disk what was committed a lease ago. A leader that has not led for so long asks for
    /// what was committed when it began: how long ago that was is unknown, and each new leader would otherwise give a
    /// member that lags two leases more.
    fn keeps_up(&self, peer: MemberId, raft: &RaftNode) -> bool {
        let index = self.committed.front().map_or(raft.committed(), |noted| noted.index);
        raft.matched(peer).is_none_or(|matched| matched >= index)
    }

    /// From when the lease counts that the voters' answers give this leader. None before its first command is applied:
    /// it may have served as a follower, and does not know yet what was committed before it led.
    fn leader_lease(&self, leadership: &Leadership, view: &View) -> MonoTime {
        if leadership.leads() { self.answered_majority(view) } else { MonoTime::ZERO }
    }

    /// The latest moment for which a majority of the voters, this one included, has answered.
    fn answered_majority(&self, view: &View) -> MonoTime {
        let answered = |id: MemberId| match self.answered.get(&id) {
            _ if id == view.own() => view.now.mono(),
            _ if view.peers.level(id).is_some_and(|level| level < ANSWERS_LEADERS) => view.heard_at(id),
            answered => answered.copied().unwrap_or_default(),
        };
        let of_a_majority = |voters: &[MemberId]| {
            let mut times: Vec<_> = voters.iter().map(|id| answered(*id)).collect();
            times.sort_unstable_by(|one, other| other.cmp(one));
            times.get(voters.len() / 2).copied()
        };
        let both = [&view.members().voters, &view.members().voters_outgoing];
        both.into_iter().filter_map(|voters| of_a_majority(voters)).min().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{NOW, Note, raft, view};

    #[test]
    fn lease_of_a_majority_is_as_old_as_the_latest_moment_that_most_answered_for() {
        let view = view(1, &[1, 2, 3, 4, 5]);
        let mut lease = Lease::default();
        assert_eq!(lease.answered_majority(&view), MonoTime::of_ms(0));
        lease
            .answered
            .extend([(2, 50), (3, 70), (9, 90)].map(|(id, ms)| (MemberId(id), MonoTime::of_ms(ms))));
        assert_eq!(lease.answered_majority(&view), MonoTime::of_ms(50));
        lease.answered.insert(MemberId(4), MonoTime::of_ms(60));
        assert_eq!(lease.answered_majority(&view), MonoTime::of_ms(60));
    }

    #[test]
    fn lease_is_over_one_length_after_it_was_asked_for() {
        let (mut view, raft) = (view(2, &[1, 2, 3]), raft(2, &[1, 2, 3]));
        let (mut lease, mut out) = (Lease::default(), Output::<Note>::default());
        assert_eq!(lease.until(&view), MonoTime::ZERO, "it has none yet");
        lease.held = NOW.mono();
        assert!(lease.serve());
        view.now.advance_ms(view.config.lease_ms);
        assert!(!lease.tick(&Leadership::default(), &raft, &view, &mut out) && lease.serves());
        view.now.advance_ms(1);
        assert!(lease.tick(&Leadership::default(), &raft, &view, &mut out) && !lease.serves());
        assert!(!lease.tick(&Leadership::default(), &raft, &view, &mut out), "it is told once");
    }

    #[test]
    fn lease_that_is_half_over_is_asked_for_more_often() {
        let mut view = view(2, &[1, 2, 3]);
        let lease = Lease { held: NOW.mono(), ..Lease::default() };
        view.now.advance_ms(view.config.lease_ms / 2);
        assert_eq!(lease.asks_each_ms(&view), view.config.lease_ms / 10);
        view.now.advance_ms(1);
        assert_eq!(lease.asks_each_ms(&view), view.config.lease_ms / 40);
        assert_eq!(Lease::default().asks_each_ms(&view), view.config.lease_ms / 40, "it has none");
    }

    #[test]
    fn lease_of_a_member_that_is_alone_never_ends() {
        assert_eq!(Lease::default().until(&view(1, &[1])), MonoTime::MAX);
    }

    #[test]
    fn grant_of_a_member_that_does_not_lead_counts_for_nothing() {
        let (view, raft) = (view(2, &[1, 2, 3]), raft(2, &[1, 2, 3]));
        let (mut lease, leadership) =
            (Lease { asked: NOW.mono(), ..Lease::default() }, Leadership::default());
        assert!(!lease.granted(MemberId(1), (Term(1), NOW.mono()), &leadership, &raft, &view));
        assert!(
            !lease.granted(MemberId(1), (Term(7), NOW.mono()), &leadership, &raft, &view),
            "of another term"
        );
        assert_eq!(lease.held, MonoTime::ZERO);
    }

    #[test]
    fn catching_up_that_takes_longer_than_a_lease_begins_again() {
        let mut view = view(2, &[1, 2, 3]);
        let mut lease = Lease { catches_up: Some(NOW.mono()), ..Lease::default() };
        view.now.advance_ms(view.config.lease_ms + 1);
        assert!(!lease.caught_up(true, &view) && !lease.serves());
        lease.catches_up = Some(view.now.mono());
        assert!(lease.caught_up(true, &view) && lease.serves());
    }
}
