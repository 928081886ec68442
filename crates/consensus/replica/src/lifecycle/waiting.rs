//! A member that asks the others: what they say and the time go in, messages and in the end an outcome come out. Knows
//! no disk and no connection.

use crate::founding::{Founding, FoundingMessage, Outcome};
use crate::lifecycle::Claim;
use base::MonoTime;
use consensus_raft::{MemberId, MemberNumber};

/// How often an operator is told what this member waits for, milliseconds.
const REMIND_MS: u64 = 10_000;

/// What a member waits for, for an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reminder {
    /// The members that were heard, by number, and whether each has a membership.
    pub heard: Vec<(MemberNumber, bool)>,
    /// Members that have voted, by ensemble. If there is more than one, an operator has to decide.
    pub ensembles: Vec<Vec<MemberNumber>>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Waiting {
    founding: Founding,
    reminded: Option<MonoTime>,
}

impl Waiting {
    /// `names` are drawn for this wait: what the disk is called, and what an ensemble is that this member proposes.
    pub(super) fn new(
        claim: Claim,
        number: MemberNumber,
        voters: Vec<MemberNumber>,
        (disk, cluster): ([u8; 16], [u8; 16]),
    ) -> Self {
        let founds = claim == Claim::Blank;
        let founding = Founding::new(number, voters, founds, disk, cluster);
        let founding = match claim {
            Claim::Unconfirmed(cluster) => founding.holding(cluster),
            Claim::Blank | Claim::HadData => founding,
        };
        Self { founding, reminded: None }
    }

    /// A member is connected; see [`Founding::meet`].
    pub(super) fn connected(&mut self, id: MemberId) {
        self.founding.meet(id.number());
    }

    /// A member is not connected any more.
    pub(super) fn disconnected(&mut self, id: MemberId) {
        self.founding.lost(id.number());
    }

    pub(super) fn hear(&mut self, from: MemberId, message: FoundingMessage) {
        self.founding.hear(from, message);
    }

    /// Time has passed. Gives what is to be sent, by number.
    pub(super) fn tick(&mut self, now: MonoTime) -> Vec<(MemberNumber, FoundingMessage)> {
        self.reminded.get_or_insert(now);
        self.founding.tick(now);
        self.founding.take_outgoing()
    }

    pub(super) const fn outcome(&self) -> Option<&Outcome> {
        self.founding.outcome()
    }

    /// What to tell an operator, if it is time to.
    pub(super) fn reminder(&mut self, now: MonoTime) -> Option<Reminder> {
        let reminded = self.reminded.as_mut()?;
        if now < reminded.plus_ms(REMIND_MS) {
            return None;
        }
        *reminded = now;
        let ensembles = self.founding.ensembles().into_values().collect();
        Some(Reminder { heard: self.founding.heard().collect(), ensembles })
    }
}
