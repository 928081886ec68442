//! Whether this member founds the ensemble that another one proposes.

use base::MonoTime;
use consensus_raft::{MemberId, MemberNumber};

use super::{Cluster, Founding, Outcome};

/// For how long a proposal counts that the receiver cannot agree to yet, milliseconds. The proposer waits longer.
pub(super) const PROPOSAL_MS: u64 = 3_000;

/// What another member proposed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposal {
    pub(super) proposer: MemberNumber,
    pub(super) cluster: Cluster,
    /// When it was first looked at.
    pub(super) since: Option<MonoTime>,
}

impl Founding {
    /// Writes another's proposal down, as soon as what is heard agrees with it.
    pub(super) fn agree(&mut self, now: MonoTime) {
        let Some(proposal) = &mut self.proposal else { return };
        let Proposal { proposer, cluster, .. } = *proposal;
        if now > proposal.since.get_or_insert(now).plus_ms(PROPOSAL_MS) {
            self.proposal = None;
            return;
        }
        let blank = self.blank_participants();
        let agrees = self.founds
            // A proposal of one's own may have been written down already.
            && self.round.is_none()
            && self.outcome.is_none()
            && blank.contains(&proposer)
            && blank.len() >= self.majority()
            && !self.hears_of_an_ensemble();
        if agrees && self.has_listened(self.began, now) {
            self.outcome = Some(Outcome::Founded { cluster, voters: self.founders() });
        }
    }

    /// Whether that member may propose that these found an ensemble.
    pub(super) fn is_rightful(&self, proposer: MemberNumber, voters: &[MemberId]) -> bool {
        let same = voters == self.founders() && self.participants.contains(&self.number);
        same && proposer < self.number && self.participants.contains(&proposer)
    }
}
