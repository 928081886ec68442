//! Who leads, and this member's own term as the leader.

mod fast_election;
mod lease;

use base::MonoTime;
use consensus_raft::{MemberId, RaftNode, Role, Term};

pub(crate) use self::fast_election::FastElection;
pub(crate) use self::lease::Lease;
use crate::view::View;

/// A term and who leads in it, while that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaderTerm {
    pub(crate) term: Term,
    pub(crate) leader: Option<MemberId>,
}

impl LeaderTerm {
    /// The present one, as far as raft knows it.
    pub(crate) fn of(raft: &RaftNode) -> Self {
        Self { term: raft.term(), leader: raft.leader() }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Leadership {
    /// The term and leader that was given what is pending.
    known: LeaderTerm,
    /// Whether this member leads and has applied its own first command.
    leads: bool,
    /// When this member's term began, if it leads.
    began: MonoTime,
    /// How often this member won an election.
    won: u64,
    /// How often it handed leadership over.
    transfers: u64,
}

impl Leadership {
    /// Takes note of who leads now. Gives it if it is another, or leads in another term.
    pub(crate) fn notice(&mut self, raft: &RaftNode) -> Option<LeaderTerm> {
        let now = LeaderTerm::of(raft);
        let changed = now != self.known;
        self.known = now;
        changed.then_some(now)
    }

    /// This member has won an election.
    pub(crate) const fn win(&mut self) {
        self.won += 1;
    }

    /// This member's first command as the leader is applied.
    pub(crate) const fn begin(&mut self, now: MonoTime) {
        self.began = now;
        self.leads = true;
    }

    /// This member does not lead any more.
    pub(crate) const fn end(&mut self) {
        self.leads = false;
    }

    /// Hands leadership to the member that has come farthest among those that `may` take it, if this member has it.
    pub(crate) fn transfer(&mut self, raft: &mut RaftNode, view: &View, may: impl Fn(MemberId) -> bool) {
        if raft.role() != Role::Leader || raft.is_handing_over() {
            return;
        }
        let lately = view.now.mono().minus_ms(view.config.lease_ms);
        let next = raft
            .progress()
            .into_iter()
            .filter(|one| one.votes && one.active && may(one.id) && view.heard_at(one.id) >= lately)
            .max_by_key(|one| (one.matched, one.id));
        if let Some(next) = next {
            self.transfers += 1;
            raft.transfer(next.id);
        }
    }

    /// Until when a member that this leader has not heard of since may serve clients. It has a lease of this leader's, or
    /// of the one before, who could give leases for as long as its own: that began before a majority left it.
    pub(crate) fn serves_until(&self, peer: MemberId, view: &View) -> MonoTime {
        self.served_until(view.heard_at(peer), view)
    }

    /// The same of one that was last heard of then.
    pub(crate) fn served_until(&self, heard: MonoTime, view: &View) -> MonoTime {
        let lease_ms = view.config.lease_ms;
        heard.max(self.began.plus_ms(lease_ms)).plus_ms(lease_ms)
    }

    /// The term and leader that was given what is pending.
    pub(crate) const fn known(&self) -> LeaderTerm {
        self.known
    }

    pub(crate) const fn leads(&self) -> bool {
        self.leads
    }

    /// When this member's term as the leader began; of an earlier one, if it does not lead.
    pub(crate) const fn term_began(&self) -> MonoTime {
        self.began
    }

    pub(crate) const fn won(&self) -> u64 {
        self.won
    }

    pub(crate) const fn transfers(&self) -> u64 {
        self.transfers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{NOW, raft, view};

    #[test]
    fn leader_is_noticed_once_in_each_term() {
        let (mut raft, mut leadership) = (raft(1, &[1]), Leadership::default());
        assert_eq!(leadership.notice(&raft), Some(LeaderTerm { term: Term(1), leader: None }));
        assert_eq!(leadership.notice(&raft), None);
        raft.campaign();
        let own = leadership.notice(&raft).expect("it leads alone");
        assert_eq!(
            (own.leader, leadership.known(), leadership.notice(&raft)),
            (Some(MemberId(1)), own, None)
        );
    }

    #[test]
    fn member_not_heard_of_serves_until_leases_of_this_leader_and_the_one_before_are_over() {
        let (mut view, mut leadership) = (view(1, &[1, 2]), Leadership::default());
        leadership.begin(NOW.mono());
        let lease_ms = view.config.lease_ms;
        assert_eq!(leadership.serves_until(MemberId(2), &view), NOW.mono().plus_ms(2 * lease_ms));
        view.peers.hear(MemberId(2), NOW.mono().plus_ms(3 * lease_ms));
        assert_eq!(leadership.serves_until(MemberId(2), &view), NOW.mono().plus_ms(4 * lease_ms));
    }

    #[test]
    fn transfer_without_leadership_or_with_nobody_to_take_it_does_nothing() {
        let (view, mut leadership) = (view(1, &[1]), Leadership::default());
        let mut raft = raft(1, &[1]);
        leadership.transfer(&mut raft, &view, |_| true);
        raft.campaign();
        leadership.transfer(&mut raft, &view, |id| id != MemberId(1));
        assert_eq!((leadership.transfers(), raft.is_handing_over()), (0, false));
    }
}
