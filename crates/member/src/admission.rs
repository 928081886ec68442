//! Members with a blank disk: a leader gives those who are to be members a seat as learners, under an id that nobody
//! ever had.

use council::{Change, Role, Step};

use crate::Tenure;
use crate::core::Core;
use crate::founding::{BLANK, FoundingMessage, NUMBERS, id_of};
use crate::peer::PeerMessage;

/// After how long a founder doubts that its ensemble comes to be, milliseconds.
const DOUBT_MS: u64 = 10_000;

impl Core {
    /// A member without a seat says something.
    pub(crate) fn founding(&mut self, number: u64, message: &FoundingMessage) {
        let incarnation = match *message {
            FoundingMessage::Blank { incarnation, .. } => incarnation,
            FoundingMessage::Replaced { id, index } => return self.replaced(id, index),
            _ => return,
        };
        let answer = match self.admit(number, incarnation) {
            Some(id) => FoundingMessage::Admitted { cluster: self.config.cluster, id, incarnation },
            None => self.seated(),
        };
        self.outgoing.push((BLANK | number, PeerMessage::Founding(answer)));
    }

    /// Whoever has a seat that is another's by now is told, if it is to be a member at all. False when it has none.
    pub(crate) fn knows_seat(&mut self, id: u64) -> bool {
        let known = self.membership.contains(id);
        let wanted = self.roster.as_ref().is_some_and(|roster| roster.member(id % NUMBERS).is_some());
        if !known && wanted && self.status.leading {
            let replaced = FoundingMessage::Replaced { id, index: self.applied_index };
            self.outgoing.push((id, PeerMessage::Founding(replaced)));
        }
        known || !self.status.leading
    }

    /// A leader says that this member's seat is gone: what it holds is an old copy of what the others have.
    fn replaced(&mut self, id: u64, index: u64) {
        if id == self.config.member && index > self.applied_index {
            self.status.tenure = Tenure::Lost;
            self.stop_serving();
        }
    }

    /// Looks whether anything comes of the ensemble that this member was to found.
    pub(crate) fn doubt_tick(&mut self) {
        let founds = self.membership.voters.contains(&self.config.member) && !self.is_alone();
        if founds && self.is_untouched() && self.now.mono_ms >= self.began_ms + DOUBT_MS {
            self.status.tenure = Tenure::Doubtful;
        }
    }

    /// Whether this member has neither voted nor holds any log.
    fn is_untouched(&self) -> bool {
        self.council.term() == 0 && self.council.last_index() == 0
    }

    /// What this member says of itself.
    fn seated(&self) -> FoundingMessage {
        let untouched = self.is_untouched().then(|| self.membership.voters.clone());
        FoundingMessage::Seated { cluster: self.config.cluster, untouched }
    }

    /// The id of that disk's seat, if it has one already; else one is proposed.
    fn admit(&mut self, number: u64, incarnation: [u8; 16]) -> Option<u64> {
        if self.council.role() != Role::Leader || !self.status.leading {
            return None;
        }
        let id = id_of(number, incarnation);
        if self.membership.contains(id) {
            return Some(id);
        }
        let known = self.roster.as_ref().is_some_and(|roster| roster.member(number).is_some());
        let before: Vec<_> = self.peers().into_iter().filter(|id| id % NUMBERS == number).collect();
        let alive_ms = self.config.lease_ms;
        // Whoever has just taken the lead has not heard of everybody yet.
        let is_alive = |id: &u64| self.now.mono_ms <= self.heard_ms(*id).max(self.reign_ms) + alive_ms;
        if !known || number == self.config.member % NUMBERS || before.iter().any(is_alive) {
            return None;
        }
        // A voter's seat is kept until the new one is as good (`understudy`).
        let votes = |id: &u64| self.membership.voters.contains(id);
        let mut steps: Vec<_> = before.into_iter().filter(|id| !votes(id)).map(Step::Remove).collect();
        steps.push(Step::Learner(id));
        // Refused while another change is under way: the member will ask again.
        let _ = self.council.propose_change(&Change { steps });
        None
    }
}
