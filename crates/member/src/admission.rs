//! Members with a blank disk: a leader gives those who are to be members a seat as learners, under an id that nobody
//! ever had.

use council::{Change, Role, Step};

use crate::core::Core;
use crate::founding::{BLANK, FoundingMessage, NUMBERS};
use crate::peer::PeerMessage;

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
        let known = self.roster.as_ref().is_some_and(|roster| roster.member(number).is_some());
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
}
