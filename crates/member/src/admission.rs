//! Members with a blank disk: a leader gives them a seat as learners under an id that nobody ever had, and promotes
//! those who are to vote once they have caught up.

use council::{Change, Role, Step};

use crate::core::Core;
use crate::founding::{BLANK, FoundingMessage, NUMBERS};
use crate::peer::PeerMessage;

/// Entries by which a learner may lag and be promoted nevertheless.
const LAG_MAX: u64 = 1_000;

/// A seat that was given to a disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission {
    number: u64,
    incarnation: [u8; 16],
    id: u64,
}

impl Core {
    /// A member without a seat says something.
    pub(crate) fn founding(&mut self, number: u64, message: &FoundingMessage) {
        let FoundingMessage::Blank { incarnation } = *message else { return };
        let answer = match self.admit(number, incarnation) {
            Some(id) => FoundingMessage::Admitted { cluster: self.config.cluster, id, incarnation },
            None => self.seated(),
        };
        self.outgoing.push((BLANK | number, PeerMessage::Founding(answer)));
    }

    /// What this member says of itself.
    fn seated(&self) -> FoundingMessage {
        let is_untouched = self.council.term() == 0 && self.council.last_index() == 0;
        let untouched = is_untouched.then(|| self.membership.voters.clone());
        FoundingMessage::Seated { cluster: self.config.cluster, untouched }
    }

    /// The id of that disk's seat, if it has one already; else one is proposed.
    fn admit(&mut self, number: u64, incarnation: [u8; 16]) -> Option<u64> {
        if self.council.role() != Role::Leader || !self.status.leading {
            return None;
        }
        let given = self.admissions.iter().find(|given| given.number == number);
        if let Some(given) = given.filter(|given| given.incarnation == incarnation)
            && self.membership.contains(given.id)
        {
            return Some(given.id);
        }
        let known = self.config.participants.contains(&number) || self.config.observers.contains(&number);
        let before: Vec<_> = self.peers().into_iter().filter(|id| id % NUMBERS == number).collect();
        let alive_ms = self.config.lease_ms;
        let is_alive = |id: &u64| {
            let heard_ms = self.heard_ms(*id);
            heard_ms > 0 && self.now.mono_ms <= heard_ms + alive_ms
        };
        if !known || number == self.config.member % NUMBERS || before.iter().any(is_alive) {
            return None;
        }
        // The log's end rises with each change that is proposed.
        let id = self.council.last_index() * NUMBERS + number;
        let mut steps: Vec<_> = before.into_iter().map(Step::Remove).collect();
        steps.push(Step::Learner(id));
        if self.council.propose_change(&Change { steps }).is_ok() {
            self.admissions.retain(|given| given.number != number);
            self.admissions.push(Admission { number, incarnation, id });
        }
        None
    }

    /// Learners who are to vote and have caught up may, one at a time.
    pub(crate) fn promote(&mut self) {
        if !self.status.leading || self.membership.learners.is_empty() {
            return;
        }
        let last_index = self.council.last_index();
        let ripe = self.council.progress().into_iter().find(|progress| {
            !progress.votes
                && progress.active
                && progress.matched + LAG_MAX >= last_index
                && progress.matched > 0
                && self.config.participants.contains(&(progress.id.0 % NUMBERS))
        });
        if let Some(ripe) = ripe {
            // Refused while another change is under way; asked again with the next tick.
            let _ = self.council.propose_change(&Change { steps: vec![Step::Voter(ripe.id.0)] });
        }
    }
}
