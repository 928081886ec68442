//! How an ensemble begins, and how a member with a blank disk comes into one that is there.
//!
//! A blank disk has forgotten its votes, if it ever cast any. So it founds an ensemble only if it hears of nobody who
//! has a seat in one, and if enough blank members hear each other for a majority; else it asks for a seat under a new
//! id. One member, the lowest that is heard, proposes the ensemble; each writes it down before it says so, and at most
//! one ensemble is ever written down by a majority. All who are to vote have a seat in it, whether they are heard yet or
//! not: so whoever leads in it has the votes of a majority of them, and no two ensembles ever both have a leader. The seat
//! of one that was not there is given to its disk under a new id once it comes.
//!
//! If the proposer dies in the middle, some have a seat in an ensemble that nobody may ever complete. Once every member
//! is heard, and none of those who have a seat has voted or holds any log, the blank ones take theirs, and of several such
//! ensembles all take the first by name; whoever has a seat in another gives that up, unless a majority is heard to have the
//! same. Or the others go on with another: whoever has voted in nothing and hears of one in which somebody has gives its seat up. Votes are never given up, so only one ensemble ever has those of a majority.
//!
//! A blank member believes what no single other can make it believe against the rest, as long as it hears the rest:
//!
//! - who has a seat does not say that its disk is blank, nor proposes; who has none does not say that it has, nor admits;
//! - a proposal counts while a majority of the voters is heard to be blank, and a founding that broke off is completed, only
//!   with the voters that this member's own configuration names;
//! - an admission gives the id that this very disk was to get, and counts unless as many members as are in that ensemble
//!   admit this one to another, or more members than are in it have a seat in another;
//! - neither counts before all voters are heard, or `GRACE_MS` have passed.

mod admission;
mod agree;
mod complete;
mod heard;
mod message;
mod propose;
#[cfg(test)]
mod tests;

use base::MonoTime;
use consensus_raft::{MemberId, MemberNumber};
use std::collections::{BTreeMap, BTreeSet};

use self::agree::Proposal;
use self::heard::Heard;
pub use self::message::FoundingMessage;
use self::propose::Round;

/// How long a majority waits for the others, milliseconds: who comes later is admitted.
const GRACE_MS: u64 = 1_500;
/// How often a blank member says so, milliseconds.
const REPEAT_MS: u64 = 200;
/// After how long without enough answers a proposal is given up, milliseconds.
const ROUND_MS: u64 = 5_000;

/// An ensemble's id.
pub type Cluster = [u8; 16];

/// What a blank member is to write down before it does anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It founds an ensemble with others.
    Founded {
        /// Its id.
        cluster: Cluster,
        /// The founders.
        voters: Vec<MemberId>,
    },
    /// It was admitted.
    Admitted {
        /// Where.
        cluster: Cluster,
        /// Under which id.
        id: MemberId,
    },
    /// The seat that it holds is as good as any.
    Kept,
}

/// A blank member. See the module.
#[derive(Debug)]
pub struct Founding {
    number: MemberNumber,
    /// Everybody who is to vote, by the configuration.
    participants: Vec<MemberNumber>,
    founds: bool,
    /// The ensemble in which it has a seat, if it only asks whether there is another.
    holds: Option<Cluster>,
    /// When it began to.
    holds_since: Option<MonoTime>,
    incarnation: [u8; 16],
    /// What an ensemble proposed by this member is called.
    cluster: Cluster,
    heard: BTreeMap<MemberNumber, Heard>,
    /// Who is connected.
    met: BTreeSet<MemberNumber>,
    /// When it began to hear of others.
    began: Option<MonoTime>,
    proposal: Option<Proposal>,
    /// Since when a member admits it.
    admitted_since: Option<MonoTime>,
    majority_since: Option<MonoTime>,
    said: Option<MonoTime>,
    round: Option<Round>,
    outgoing: Vec<(MemberNumber, FoundingMessage)>,
    outcome: Option<Outcome>,
}

impl Founding {
    /// A blank member. `participants` are all who vote by the configuration; one who is not among them never founds,
    /// and one who does not found, because its disk had a seat once, is only admitted.
    #[must_use]
    pub const fn new(
        number: MemberNumber,
        participants: Vec<MemberNumber>,
        founds: bool,
        incarnation: [u8; 16],
        cluster: Cluster,
    ) -> Self {
        Self {
            number,
            participants,
            founds,
            holds: None,
            holds_since: None,
            incarnation,
            cluster,
            heard: BTreeMap::new(),
            met: BTreeSet::new(),
            began: None,
            proposal: None,
            admitted_since: None,
            majority_since: None,
            said: None,
            round: None,
            outgoing: Vec::new(),
            outcome: None,
        }
    }

    /// The same of a member that has a seat in an ensemble of which nothing has come, and has never voted in it.
    #[must_use]
    pub fn holding(self, cluster: Cluster) -> Self {
        Self { founds: false, holds: Some(cluster), ..self }
    }

    /// A member is connected. It may be one that is not in this one's configuration: an ensemble may have gone on to
    /// others since that was written, and the leader, who alone lets anybody in, be one of them.
    pub fn meet(&mut self, number: MemberNumber) {
        self.met.insert(number);
    }

    /// A member is out of reach: what it said counts no more.
    pub fn lost(&mut self, number: MemberNumber) {
        self.heard.remove(&number);
        self.met.remove(&number);
    }

    /// A message of the member of that id, which is [blank](MemberId::blank) for one without a seat. What only a member
    /// with a seat may say counts for nothing from one without, and the other way round.
    pub fn hear(&mut self, from: MemberId, message: FoundingMessage) {
        let (number, is_seated) = (from.number(), !from.is_blank());
        if self.outcome.is_some() || number == self.number {
            return;
        }
        match message {
            FoundingMessage::Blank { founds, .. } if !is_seated => {
                self.heard.insert(number, if founds { Heard::Blank } else { Heard::Bereft });
            }
            FoundingMessage::Seated { cluster, untouched } if is_seated => {
                if let Some(round) = self.round.as_mut()
                    && self.participants.contains(&number)
                {
                    round.note_seat(number, cluster);
                }
                self.heard.insert(number, Heard::Seated(cluster, untouched));
                if self.holds == Some(cluster) && self.may_come_to_be(cluster) {
                    self.outcome = Some(Outcome::Kept);
                }
            }
            FoundingMessage::Propose { cluster, voters }
                if !is_seated && self.is_rightful(number, &voters) =>
            {
                self.proposal = Some(Proposal { proposer: number, cluster, since: None });
            }
            FoundingMessage::Admitted { cluster, id, incarnation }
                if is_seated && incarnation == self.incarnation && id == self.id_if_admitted() =>
            {
                self.heard.insert(number, Heard::Admits(cluster));
            }
            _ => {}
        }
    }

    /// The ids of all who vote in an ensemble that this member founds with others.
    fn founders(&self) -> Vec<MemberId> {
        self.participants.iter().copied().map(MemberId::founder).collect()
    }

    /// Time has passed.
    pub fn tick(&mut self, now: MonoTime) {
        if self.outcome.is_some() {
            return;
        }
        self.began.get_or_insert(now);
        if let Some(held) = self.holds
            && now >= self.holds_since.get_or_insert(now).plus_ms(ROUND_MS)
            && !self.hears_of_another_that_was_voted_in(held)
        {
            self.outcome = Some(Outcome::Kept);
            return;
        }
        if self.said.is_none_or(|said| now >= said.plus_ms(REPEAT_MS)) {
            self.said = Some(now);
            let mut others: BTreeSet<_> = self.participants.iter().chain(&self.met).copied().collect();
            others.remove(&self.number);
            let blank = FoundingMessage::Blank { incarnation: self.incarnation, founds: self.founds };
            self.outgoing.extend(others.into_iter().map(|other| (other, blank.clone())));
        }
        match &self.round {
            Some(_) => self.conclude(now),
            None => self.begin(now),
        }
        self.complete();
        self.agree(now);
        self.enter(now);
    }

    /// Whether everybody who might contradict has had the time to.
    fn has_listened(&self, since: Option<MonoTime>, now: MonoTime) -> bool {
        let is_heard = |number: &MemberNumber| *number == self.number || self.heard.contains_key(number);
        self.participants.iter().all(is_heard) || since.is_some_and(|since| now >= since.plus_ms(GRACE_MS))
    }

    fn majority(&self) -> usize {
        self.participants.len() / 2 + 1
    }

    fn blank_participants(&self) -> Vec<MemberNumber> {
        let is_blank = |number: &MemberNumber| {
            *number == self.number || matches!(self.heard.get(number), Some(Heard::Blank))
        };
        let mut blank: Vec<_> = self.participants.iter().copied().filter(is_blank).collect();
        blank.sort_unstable();
        // Whoever is no participant is not among them, and not the first.
        blank
    }

    fn hears_of_an_ensemble(&self) -> bool {
        self.heard.values().any(|heard| !matches!(heard, Heard::Blank))
    }

    /// Whether somebody has voted in the ensemble that this member holds, or enough hold it to elect a leader, as far as is
    /// heard. Of four founders, two may hold one ensemble and two another, and neither comes to be.
    fn may_come_to_be(&self, held: Cluster) -> bool {
        let holds = |number: &&MemberNumber| matches!(self.heard.get(number), Some(Heard::Seated(cluster, _)) if *cluster == held);
        let holders = self.participants.iter().filter(holds).count() + 1;
        let is_voted_in = self.heard.values().filter_map(Heard::voted_in).any(|cluster| cluster == held);
        (is_voted_in || holders >= self.majority()) && !self.hears_of_another_that_was_voted_in(held)
    }

    fn hears_of_another_that_was_voted_in(&self, held: Cluster) -> bool {
        self.heard.values().filter_map(Heard::voted_in).any(|cluster| cluster != held)
    }

    /// Members that have a seat, by ensemble, if there are several: then one of them is wrong, and an operator must know.
    #[must_use]
    pub fn ensembles(&self) -> BTreeMap<Cluster, Vec<MemberNumber>> {
        let mut ensembles: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (number, heard) in &self.heard {
            if let Some(cluster) = heard.voted_in() {
                ensembles.entry(cluster).or_default().push(*number);
            }
        }
        ensembles
    }

    /// What is to be sent, by number.
    pub fn take_outgoing(&mut self) -> Vec<(MemberNumber, FoundingMessage)> {
        std::mem::take(&mut self.outgoing)
    }

    /// What to write down; from then on the member has a seat.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// Who was heard, and whether they have a seat: for people who wonder what is waited for.
    pub fn heard(&self) -> impl Iterator<Item = (MemberNumber, bool)> {
        self.heard
            .iter()
            .map(|(number, heard)| (*number, matches!(heard, Heard::Seated(..) | Heard::Admits(_))))
    }
}
