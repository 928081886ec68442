//! Members with a blank disk: a leader lets those who are to be members in as learners, under an id that nobody ever had.

use consensus_raft::{Change, MemberId, MemberNumber, RaftNode, Role, Step};

use crate::founding::FoundingMessage;
use crate::leadership::Leadership;
use crate::view::View;

/// What this member says of itself to one that has no id, which gives up its own ensemble for one that was voted in: so a
/// vote counts only when it is durable.
pub(crate) fn seated(raft: &RaftNode, view: &View) -> FoundingMessage {
    let untouched = (!raft.is_touched()).then(|| view.members().voters.clone());
    FoundingMessage::Seated { cluster: view.config.cluster, untouched }
}

/// The id of that disk, if it was let in already; else a leader proposes to let it in.
pub(crate) fn admit(
    number: MemberNumber,
    incarnation: [u8; 16],
    leadership: &Leadership,
    raft: &mut RaftNode,
    view: &View,
) -> Option<MemberId> {
    if raft.role() != Role::Leader || !leadership.leads() {
        return None;
    }
    let id = MemberId::admitted(number, incarnation);
    if view.members().contains(id) {
        return Some(id);
    }
    let known = view.membership.names(number);
    let before: Vec<_> = view.others().into_iter().filter(|id| id.number() == number).collect();
    let alive_ms = view.config.lease_ms;
    // A leader whose term has just begun has not heard of everybody yet.
    let is_alive =
        |id: &MemberId| view.now.mono() <= view.heard_at(*id).max(leadership.term_began()).plus_ms(alive_ms);
    if !known || number == view.own().number() || before.iter().any(is_alive) {
        return None;
    }
    // A voter's id is kept until the new one is as good (`replacement`).
    let gone = before.into_iter().filter(|id| !view.is_voter(*id));
    let mut steps: Vec<_> = gone.map(Step::Remove).collect();
    steps.push(Step::Learner(id));
    // Refused while another change is under way: the member will ask again.
    let _ = raft.propose_change(&Change { steps });
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{raft, view};

    #[test]
    fn admission_is_the_leaders_alone() {
        let (view, mut raft) = (view(1, &[1, 2, 3]), raft(1, &[1, 2, 3]));
        assert_eq!(admit(MemberNumber(3), [7; 16], &Leadership::default(), &mut raft, &view), None);
    }
}
