//! Two seats of one number. A member whose disk was replaced gets a new seat, as a learner: its understudy. The old seat keeps
//! its vote until the new one has all that was committed, and is then given up in the same change by which the other
//! begins to vote. Were it given up at once, an ensemble would have a vote less in the meantime, for a word alone; and that
//! word may be an old one, of a disk that is gone again.
//!
//! - Nobody is served under an understudy's number but by the old seat's member, should it live yet: two who give numbers
//!   to connections under one number could give the same.
//! - Where the old seat's member is heard again, its understudy goes.

use consensus_raft::Step;

use crate::core::Core;
use crate::founding::NUMBERS;

impl Core {
    /// Whether that member has a seat beside a voter's of the same number.
    pub(crate) fn is_understudy(&self, id: u64) -> bool {
        !self.votes(id) && self.voters_of(id % NUMBERS).next().is_some()
    }

    /// The voters who are to go when that member begins to vote; nothing while one of them may still serve clients.
    pub(crate) fn replaced_by(&self, id: u64) -> Option<Vec<u64>> {
        let replaced: Vec<_> = self.voters_of(id % NUMBERS).filter(|voter| *voter != id).collect();
        let serves =
            |voter: &u64| *voter == self.config.member || self.now.mono_ms <= self.serves_until_ms(*voter);
        (!replaced.iter().any(serves)).then_some(replaced)
    }

    /// Understudies that are not needed: the old seat's member lives. Of two without a voter, the one that is not here goes,
    /// or else one of them.
    pub(crate) fn dismissed(&self) -> Vec<Step> {
        let learners = &self.membership.learners;
        let lives = |id: u64| self.lives(id);
        let is_dismissed = |place: usize, id: u64| {
            let others = |other: &&u64| **other != id && **other % NUMBERS == id % NUMBERS;
            if self.is_understudy(id) {
                return self.voters_of(id % NUMBERS).any(lives);
            }
            let earlier = learners.iter().take(place).any(|other| others(&other) && lives(*other));
            let alive = learners.iter().filter(others).any(|other| lives(*other));
            earlier || (alive && !lives(id))
        };
        let dismissed = learners.iter().enumerate().filter(|(place, id)| is_dismissed(*place, **id));
        dismissed.map(|(_, id)| Step::Remove(*id)).collect()
    }

    /// Whether that member was heard within a lease.
    pub(crate) fn lives(&self, id: u64) -> bool {
        id == self.config.member || self.now.mono_ms <= self.heard_ms(id) + self.config.lease_ms
    }

    fn votes(&self, id: u64) -> bool {
        self.membership.voters.contains(&id) || self.membership.voters_outgoing.contains(&id)
    }

    fn voters_of(&self, number: u64) -> impl Iterator<Item = u64> {
        let voters = self.membership.voters.iter().chain(&self.membership.voters_outgoing);
        voters.copied().filter(move |id| id % NUMBERS == number)
    }
}
