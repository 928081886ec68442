//! The lowest blank member that is heard proposes an ensemble, and founds it once enough others have written it down.

use base::MonoTime;
use std::collections::BTreeSet;

use consensus_raft::MemberNumber;

use super::heard::Heard;
use super::{Cluster, Founding, FoundingMessage, GRACE_MS, Outcome, ROUND_MS};

/// This member's own proposal.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) cluster: Cluster,
    /// This member, and whom it asked.
    asked: Vec<MemberNumber>,
    /// Which others hold it: asked by this member, or come to it later because their own ensemble never came to be.
    accepted: BTreeSet<MemberNumber>,
    began: MonoTime,
}

impl Round {
    /// A participant says in which ensemble it has a seat. One that had accepted this proposal may have gone on to another.
    pub(super) fn note_seat(&mut self, number: MemberNumber, cluster: Cluster) {
        if cluster == self.cluster {
            self.accepted.insert(number);
        } else {
            self.accepted.remove(&number);
        }
    }

    fn is_accepted_by_all(&self, proposer: MemberNumber) -> bool {
        self.asked.iter().all(|number| *number == proposer || self.accepted.contains(number))
    }
}

impl Founding {
    pub(super) fn begin(&mut self, now: MonoTime) {
        let blank = self.blank_participants();
        let fit = self.founds
            && blank.len() >= self.majority()
            && blank.first() == Some(&self.number)
            && !self.hears_of_an_ensemble();
        if !fit {
            self.majority_since = None;
            return;
        }
        let since = *self.majority_since.get_or_insert(now);
        if blank.len() < self.participants.len() && now < since.plus_ms(GRACE_MS) {
            return;
        }
        let cluster = self.cluster;
        let others = blank.iter().copied().filter(|other| *other != self.number);
        let propose = FoundingMessage::Propose { cluster, voters: self.founders() };
        self.outgoing.extend(others.map(|other| (other, propose.clone())));
        self.round = Some(Round { cluster, asked: blank, accepted: BTreeSet::new(), began: now });
        self.conclude(now);
    }

    pub(super) fn conclude(&mut self, now: MonoTime) {
        let majority = self.majority();
        let Some(round) = &self.round else { return };
        let late = now >= round.began.plus_ms(ROUND_MS);
        if round.is_accepted_by_all(self.number) || (late && round.accepted.len() + 1 >= majority) {
            let (cluster, voters) = (round.cluster, self.founders());
            self.outcome = Some(Outcome::Founded { cluster, voters });
        } else if late && (round.accepted.is_empty() || self.all_others_hold()) {
            // Either no member is known to have written it down; one that has says so, and is not passed over. Or all members
            // have written down this proposal or another one: no blank member is left that could still agree to this one.
            self.round = None;
            self.majority_since = None;
            // Two proposals must never go by one name.
            self.cluster[0] = self.cluster[0].wrapping_add(1);
        }
    }

    /// Whether each of the others is heard to have a seat in an ensemble in which nothing has happened.
    fn all_others_hold(&self) -> bool {
        let holds = |number: &MemberNumber| matches!(self.heard.get(number), Some(Heard::Seated(_, Some(_))));
        self.participants.iter().filter(|other| **other != self.number).all(holds)
    }
}
