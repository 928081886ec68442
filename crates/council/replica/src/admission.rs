//! Members with a blank disk: a leader gives those who are to be members a seat as learners, under an id that nobody
//! ever had.

use consensus_raft::{Change, Role, Step};

use crate::Tenure;
use crate::core::Core;
use crate::founding::{BLANK, FoundingMessage, NUMBERS, id_of};
use crate::peer::PeerMessage;

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

impl Core {
    /// A member says something of who is a member.
    pub(crate) fn founding(&mut self, from: u64, message: &FoundingMessage) {
        let number = from % NUMBERS;
        let incarnation = match *message {
            FoundingMessage::Blank { incarnation, .. } => incarnation,
            FoundingMessage::Replaced { id, index } => return self.replaced(from, id, index),
            _ => return,
        };
        let answer = match self.admit(number, incarnation) {
            Some(id) => FoundingMessage::Admitted { cluster: self.config.cluster, id, incarnation },
            None => self.seated(),
        };
        self.outgoing.push((BLANK | number, PeerMessage::Founding(answer)));
    }

    /// A member whose id is gone is told, if its number is to be a member at all: by the leader whatever it says, by
    /// those who have applied all that the leader has when it asks for a lease.
    pub(crate) fn tell_replaced(&mut self, id: u64, message: &PeerMessage) {
        let asks = matches!(message, PeerMessage::LeaseAsk { .. });
        let knows = self.status.leading || (self.status.serving && asks);
        let is_answer = matches!(message, PeerMessage::Founding(_));
        if !knows || is_answer || id & BLANK != 0 || self.membership.contains(id) {
            return;
        }
        if self.roster.as_ref().is_some_and(|roster| roster.member(id % NUMBERS).is_some()) {
            let replaced = FoundingMessage::Replaced { id, index: self.applied_index };
            self.outgoing.push((id, PeerMessage::Founding(replaced)));
        }
    }

    /// A member says that this member's id is gone: then what it holds is an old copy of what the others have. It puts
    /// that aside only when as many of the members that it knows say so as make a majority of the voters that it knows,
    /// each at a place of the log that it has not applied: one that is wrong, or old, or worse, must not take a member
    /// from its ensemble.
    ///
    /// A member is known by its number: its disk may have been replaced as well. If too few of those numbers are left in
    /// the ensemble, this member waits for an operator.
    fn replaced(&mut self, from: u64, id: u64, index: u64) {
        if id != self.config.member || index <= self.applied_index {
            return;
        }
        let now_ms = self.now.mono_ms;
        self.denials.retain(|_, said_ms| now_ms <= *said_ms + DENIAL_MS);
        self.denials.insert(from % NUMBERS, now_ms);
        let Denials { known, needed, .. } = self.denials();
        if known >= needed {
            self.status.tenure = Tenure::Lost;
            self.stop_serving();
        }
    }

    /// Who lately said that this member was replaced.
    #[must_use]
    pub fn denials(&self) -> Denials {
        let now_ms = self.now.mono_ms;
        let fresh = self.denials.iter().filter(|(_, said_ms)| now_ms <= **said_ms + DENIAL_MS);
        let numbers: Vec<_> = fresh.map(|(number, _)| *number).collect();
        let others = self.membership.others(self.config.member);
        let is_known = |number: &&u64| others.iter().any(|other| other % NUMBERS == **number);
        let known = numbers.iter().filter(is_known).count();
        Denials { numbers, known, needed: self.membership.majority() }
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
        self.raft.term() == 0 && self.raft.last_index() == 0
    }

    /// What this member says of itself.
    fn seated(&self) -> FoundingMessage {
        let untouched = self.is_untouched().then(|| self.membership.voters.clone());
        FoundingMessage::Seated { cluster: self.config.cluster, untouched }
    }

    /// The id of that disk's seat, if it has one already; else one is proposed.
    fn admit(&mut self, number: u64, incarnation: [u8; 16]) -> Option<u64> {
        if self.raft.role() != Role::Leader || !self.status.leading {
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
        let _ = self.raft.propose_change(&Change { steps });
        None
    }
}
