//! A member that finds out that its own id was given up for another disk of its number, or that nothing comes of the
//! ensemble that it was to found, or into which it was let in.

use base::Now;
use consensus_raft::{LogIndex, MemberId, MemberNumber, RaftNode, Term};

use super::GroupMembership;
use super::Tenure;

/// For how long it counts that a member said that this one was replaced, milliseconds: it says so again as long as it
/// is asked.
const DENIAL_MS: u64 = 10_000;

/// After how long the first of the founders doubts that its ensemble comes to be, milliseconds.
const DOUBT_MS: u64 = 10_000;
/// How much later the next one does: as long as a member in doubt asks the others. If all asked at the same time, none would
/// be heard to have a seat.
const DOUBT_STEP_MS: u64 = 5_000;

/// After how long a member that was let in doubts that it still is, milliseconds, if it is connected and no leader has said anything:
/// one says something several times a second, and there is none for longer than this only where a majority is away.
const UNRECEIVED_MS: u64 = 20_000;

/// Members that say that this one was replaced by another disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denials {
    /// Their numbers.
    pub numbers: Vec<MemberNumber>,
    /// How many of them this member knows.
    pub known: usize,
    /// How many of those it takes to be believed.
    pub needed: usize,
}

impl GroupMembership {
    /// Whether the sender's id is gone, and its number is to be a member.
    pub(crate) fn has_replaced(&self, id: MemberId) -> bool {
        !id.is_blank() && !self.members.contains(id) && self.names(id.number())
    }

    /// A member says that this member's id is gone: then what it holds is an old copy of what the others have. It puts
    /// that aside only when as many of the members that it knows say so as make a majority of the voters that it knows,
    /// each at a place of the log that it has not applied: one that is wrong, or old, or worse, must not take a member
    /// from its ensemble. Says whether enough do.
    ///
    /// A member is known by its number: its disk may have been replaced as well. If too few of those numbers are left in
    /// the ensemble, this member waits for an operator.
    pub(crate) fn deny(&mut self, from: MemberId, id: MemberId, is_ahead: bool, now: Now) -> bool {
        if id != self.own || !is_ahead {
            return false;
        }
        self.denials.retain(|_, said| now.mono() <= said.plus_ms(DENIAL_MS));
        self.denials.insert(from.number(), now.mono());
        let Denials { known, needed, .. } = self.denials(now);
        if known < needed {
            return false;
        }
        self.tenure = Tenure::Lost;
        true
    }

    /// A leader counts this member in: a member that said otherwise was wrong.
    pub(crate) fn confirm(&mut self) {
        self.denials.clear();
    }

    /// Who lately said that this member was replaced.
    pub fn denials(&self, now: Now) -> Denials {
        let fresh = self.denials.iter().filter(|(_, said)| now.mono() <= said.plus_ms(DENIAL_MS));
        let numbers: Vec<_> = fresh.map(|(number, _)| *number).collect();
        let others = self.members.others(self.own);
        let is_known = |number: &&MemberNumber| others.iter().any(|other| other.number() == **number);
        let known = numbers.iter().filter(is_known).count();
        Denials { numbers, known, needed: self.members.majority() }
    }

    /// Looks whether anything comes of the ensemble that this member was to found, or into which it was let in. A leader that hears
    /// late of the disk that had its number before takes a replacement for needless; it is removed, and is not told. A member that is cut
    /// off waits: its seat may well be there.
    pub(crate) fn doubt(&mut self, raft: &RaftNode, is_connected: bool, now: Now) {
        if !is_connected {
            self.cut_off = now.mono();
        }
        let is_alone = self.members.voters == [self.own] && self.members.learners.is_empty();
        let founds = self.members.voters.contains(&self.own) && !is_alone;
        let place = self.members.voters.iter().filter(|voter| **voter < self.own).count() as u64;
        let doubt_ms = DOUBT_MS + place * DOUBT_STEP_MS;
        if founds && is_untouched(raft) && now.mono() >= self.began.plus_ms(doubt_ms) {
            self.tenure = Tenure::Doubtful;
        }
        let was_let_in = self.members.voters.is_empty() && self.members.learners.is_empty();
        if was_let_in && is_untouched(raft) && now.mono() >= self.cut_off.plus_ms(UNRECEIVED_MS) {
            self.tenure = Tenure::Unreceived;
        }
    }
}

/// Whether this member has neither voted nor holds any log.
fn is_untouched(raft: &RaftNode) -> bool {
    raft.term() == Term::ZERO && raft.last_index() == LogIndex::ZERO
}

#[cfg(test)]
mod tests {
    use consensus_raft::{Config, HardState, Recovered};

    use super::*;
    use crate::test_support::{NOW, recovered, view};

    const fn later(ms: u64) -> Now {
        Now::of_ms(NOW.mono().ms() + ms, NOW.wall.ms())
    }

    #[test]
    fn denials_of_a_known_majority_at_a_later_place_of_the_log_take_a_member_out() {
        let mut membership = view(3, &[1, 2, 3]).membership;
        assert!(
            !membership.deny(MemberId(1), MemberId(3), false, NOW)
                && !membership.deny(MemberId(1), MemberId(2), true, NOW)
        );
        assert!(
            !membership.deny(MemberId(1), MemberId(3), true, NOW)
                && !membership.deny(MemberId(9), MemberId(3), true, NOW)
        );
        assert_eq!(
            membership.denials(NOW),
            Denials { numbers: [1, 9].map(MemberNumber).to_vec(), known: 1, needed: 2 }
        );
        assert_eq!(membership.tenure(), Tenure::Sound);
        assert!(membership.deny(MemberId(0x502), MemberId(3), true, NOW));
        assert_eq!(membership.tenure(), Tenure::Lost);
    }

    #[test]
    fn member_that_was_let_in_and_hears_of_no_leader_asks_for_another_seat() {
        let tenure = |term: u64, after_ms: u64| {
            let nobody = consensus_raft::Membership::default();
            let mut membership = GroupMembership::new(MemberId(0x502), nobody, None, NOW);
            let hard_state = HardState { term: Term(term), ..HardState::default() };
            let log = Recovered { hard_state, ..recovered(&[]) };
            let log = Recovered { base_index: LogIndex::ZERO, base_term: Term::ZERO, ..log };
            let raft = RaftNode::new(&Config::new(MemberId(0x502), 7), &log, LogIndex::ZERO);
            membership.doubt(&raft, false, later(5_000));
            membership.doubt(&raft, true, later(5_000 + after_ms));
            membership.tenure()
        };
        assert_eq!(tenure(0, UNRECEIVED_MS - 1), Tenure::Sound, "it was cut off before");
        assert_eq!(tenure(0, UNRECEIVED_MS), Tenure::Unreceived);
        assert_eq!(tenure(3, UNRECEIVED_MS), Tenure::Sound, "a leader has spoken");
    }

    #[test]
    fn founders_doubt_one_after_the_other() {
        let doubts = |own: u64, after_ms: u64| {
            let mut membership = view(own, &[1, 2, 3]).membership;
            let log = Recovered { hard_state: HardState::default(), ..recovered(&[1, 2, 3]) };
            let log = Recovered { base_index: LogIndex::ZERO, base_term: Term::ZERO, ..log };
            let raft = RaftNode::new(&Config::new(MemberId(own), 7), &log, LogIndex::ZERO);
            membership.doubt(&raft, true, later(after_ms));
            membership.tenure() == Tenure::Doubtful
        };
        for (own, doubt_ms) in [(1, 10_000), (2, 15_000), (3, 20_000)] {
            assert!(!doubts(own, doubt_ms - 1) && doubts(own, doubt_ms), "{own}");
        }
    }

    #[test]
    fn denials_count_for_a_while_and_until_a_leader_counts_the_member_in() {
        let mut membership = view(3, &[1, 2, 3]).membership;
        assert!(!membership.deny(MemberId(1), MemberId(3), true, NOW));
        assert!(!membership.deny(MemberId(2), MemberId(3), true, later(DENIAL_MS + 1)));
        membership.confirm();
        assert!(!membership.deny(MemberId(1), MemberId(3), true, later(DENIAL_MS + 2)));
    }
}
