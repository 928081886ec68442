//! Members with a blank disk: a leader lets those who are to be members in as learners, under an id that nobody ever had.
//! And a member that finds out that its own id was given up for such a one.

use consensus_raft::{Change, RaftNode, Role, Step};

use super::EnsembleMembership;
use crate::founding::{BLANK, FoundingMessage, NUMBERS, id_of};
use crate::leadership::Leadership;
use crate::view::View;
use crate::{Now, Tenure};

/// For how long it counts that a member said that this one was replaced, milliseconds: it says so again as long as it
/// is asked.
const DENIAL_MS: u64 = 10_000;

/// After how long a founder doubts that its ensemble comes to be, milliseconds.
const DOUBT_MS: u64 = 10_000;

/// Members that say that this one was replaced by another disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denials {
    /// Their numbers.
    pub numbers: Vec<u64>,
    /// How many of them this member knows.
    pub known: usize,
    /// How many of those it takes to be believed.
    pub needed: usize,
}

impl EnsembleMembership {
    /// Whether the sender's id is gone, and its number is to be a member.
    pub(crate) fn has_replaced(&self, id: u64) -> bool {
        id & BLANK == 0 && !self.members.contains(id) && self.names(id % NUMBERS)
    }

    /// A member says that this member's id is gone: then what it holds is an old copy of what the others have. It puts
    /// that aside only when as many of the members that it knows say so as make a majority of the voters that it knows,
    /// each at a place of the log that it has not applied: one that is wrong, or old, or worse, must not take a member
    /// from its ensemble. Says whether enough do.
    ///
    /// A member is known by its number: its disk may have been replaced as well. If too few of those numbers are left in
    /// the ensemble, this member waits for an operator.
    pub(crate) fn deny(&mut self, from: u64, id: u64, is_ahead: bool, now: Now) -> bool {
        if id != self.own || !is_ahead {
            return false;
        }
        let now_ms = now.mono_ms;
        self.denials.retain(|_, said_ms| now_ms <= *said_ms + DENIAL_MS);
        self.denials.insert(from % NUMBERS, now_ms);
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
    pub(crate) fn denials(&self, now: Now) -> Denials {
        let fresh = self.denials.iter().filter(|(_, said_ms)| now.mono_ms <= **said_ms + DENIAL_MS);
        let numbers: Vec<_> = fresh.map(|(number, _)| *number).collect();
        let others = self.members.others(self.own);
        let is_known = |number: &&u64| others.iter().any(|other| other % NUMBERS == **number);
        let known = numbers.iter().filter(is_known).count();
        Denials { numbers, known, needed: self.members.majority() }
    }

    /// Looks whether anything comes of the ensemble that this member was to found.
    pub(crate) fn doubt(&mut self, raft: &RaftNode, now: Now) {
        let is_alone = self.members.voters == [self.own] && self.members.learners.is_empty();
        let founds = self.members.voters.contains(&self.own) && !is_alone;
        if founds && is_untouched(raft) && now.mono_ms >= self.began_ms + DOUBT_MS {
            self.tenure = Tenure::Doubtful;
        }
    }
}

/// Whether this member has neither voted nor holds any log.
fn is_untouched(raft: &RaftNode) -> bool {
    raft.term() == 0 && raft.last_index() == 0
}

/// What this member says of itself to one that has no id.
pub(crate) fn seated(raft: &RaftNode, view: &View) -> FoundingMessage {
    let untouched = is_untouched(raft).then(|| view.members().voters.clone());
    FoundingMessage::Seated { cluster: view.config.cluster, untouched }
}

/// The id of that disk, if it was let in already; else a leader proposes to let it in.
pub(crate) fn admit(
    number: u64,
    incarnation: [u8; 16],
    leadership: &Leadership,
    raft: &mut RaftNode,
    view: &View,
) -> Option<u64> {
    if raft.role() != Role::Leader || !leadership.leads() {
        return None;
    }
    let id = id_of(number, incarnation);
    if view.members().contains(id) {
        return Some(id);
    }
    let known = view.membership.names(number);
    let before: Vec<_> = view.others().into_iter().filter(|id| id % NUMBERS == number).collect();
    let alive_ms = view.config.lease_ms;
    // A leader whose term has just begun has not heard of everybody yet.
    let is_alive =
        |id: &u64| view.now.mono_ms <= view.heard_ms(*id).max(leadership.term_began_ms()) + alive_ms;
    if !known || number == view.config.member % NUMBERS || before.iter().any(is_alive) {
        return None;
    }
    // A voter's id is kept until the new one is as good (`replacement`).
    let votes = |id: &u64| view.members().voters.contains(id);
    let mut steps: Vec<_> = before.into_iter().filter(|id| !votes(id)).map(Step::Remove).collect();
    steps.push(Step::Learner(id));
    // Refused while another change is under way: the member will ask again.
    let _ = raft.propose_change(&Change { steps });
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{NOW, raft, view};

    const fn later(ms: u64) -> Now {
        Now { mono_ms: NOW.mono_ms + ms, ..NOW }
    }

    #[test]
    fn denials_of_a_known_majority_at_a_later_place_of_the_log_take_a_member_out() {
        let mut membership = view(3, &[1, 2, 3]).membership;
        assert!(!membership.deny(1, 3, false, NOW) && !membership.deny(1, 2, true, NOW));
        assert!(!membership.deny(1, 3, true, NOW) && !membership.deny(9, 3, true, NOW));
        assert_eq!(membership.denials(NOW), Denials { numbers: vec![1, 9], known: 1, needed: 2 });
        assert_eq!(membership.tenure(), Tenure::Sound);
        assert!(membership.deny(2 + 5 * NUMBERS, 3, true, NOW));
        assert_eq!(membership.tenure(), Tenure::Lost);
    }

    #[test]
    fn denials_count_for_a_while_and_until_a_leader_counts_the_member_in() {
        let mut membership = view(3, &[1, 2, 3]).membership;
        assert!(!membership.deny(1, 3, true, NOW));
        assert!(!membership.deny(2, 3, true, later(DENIAL_MS + 1)));
        membership.confirm();
        assert!(!membership.deny(1, 3, true, later(DENIAL_MS + 2)));
    }

    #[test]
    fn admission_is_the_leaders_alone() {
        let (view, mut raft) = (view(1, &[1, 2, 3]), raft(1, &[1, 2, 3]));
        assert_eq!(admit(3, [7; 16], &Leadership::default(), &mut raft, &view), None);
    }
}
