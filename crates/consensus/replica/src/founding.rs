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
//! ensembles all take the first by name. Or the others go on with another: whoever has voted in nothing and hears of one in
//! which somebody has gives its seat up. Votes are never given up, so only one ensemble ever has those of a majority.
//!
//! A blank member believes what no single other can make it believe against the rest, as long as it hears the rest:
//!
//! - who has a seat does not say that its disk is blank, nor proposes; who has none does not say that it has, nor admits;
//! - a proposal counts while a majority of the voters is heard to be blank, and a founding that broke off is completed, only
//!   with the voters that this member's own configuration names;
//! - an admission gives the id that this very disk was to get, and counts unless as many members as are in that ensemble
//!   admit this one to another, or more members than are in it have a seat in another;
//! - neither counts before all voters are heard, or `GRACE_MS` have passed.

use consensus_raft::{LogIndex, MemberId, MemberNumber};
use std::collections::{BTreeMap, BTreeSet};

/// How long a majority waits for the others, milliseconds: who comes later is admitted.
const GRACE_MS: u64 = 1_500;
/// For how long a proposal counts that the receiver cannot agree to yet, milliseconds. The proposer waits longer.
const PROPOSAL_MS: u64 = 3_000;
/// How often a blank member says so, milliseconds.
const REPEAT_MS: u64 = 200;
/// After how long without enough answers a proposal is given up, milliseconds.
const ROUND_MS: u64 = 5_000;

/// An ensemble's id.
pub type Cluster = [u8; 16];

/// What members say while one of them has no seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundingMessage {
    /// The sender's disk is blank: what is there to be had?
    Blank {
        /// Of this life of this disk.
        incarnation: [u8; 16],
        /// Whether it may found an ensemble. One that had a seat and lost its data may not.
        founds: bool,
    },
    /// The sender has a seat.
    Seated {
        /// In which ensemble.
        cluster: Cluster,
        /// Nothing has happened in it as far as the sender's disk knows: those who were to found it.
        untouched: Option<Vec<MemberId>>,
    },
    /// Found this ensemble together.
    Propose {
        /// Its id.
        cluster: Cluster,
        /// Who is to vote in it.
        voters: Vec<MemberId>,
    },
    /// The receiver's seat was given to another disk.
    Replaced {
        /// Which seat.
        id: MemberId,
        /// By a change of members not later than this in the log.
        index: LogIndex,
    },
    /// The receiver has a seat: it catches up with the others.
    Admitted {
        /// In which ensemble.
        cluster: Cluster,
        /// Under which id.
        id: MemberId,
        /// For which disk.
        incarnation: [u8; 16],
    },
}

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

#[derive(Clone, Debug, PartialEq, Eq)]
enum Heard {
    Blank,
    /// It had a seat once.
    Bereft,
    Seated(Cluster, Option<Vec<MemberId>>),
    /// It has a seat, and says that this member has one there, too.
    Admits(Cluster),
}

impl Heard {
    /// The ensemble that its sender voted in.
    const fn voted_in(&self) -> Option<Cluster> {
        match self {
            Self::Seated(cluster, None) | Self::Admits(cluster) => Some(*cluster),
            _ => None,
        }
    }

    /// The ensemble that its sender says this member is let into.
    const fn admits(&self) -> Option<Cluster> {
        if let Self::Admits(cluster) = self { Some(*cluster) } else { None }
    }
}

/// What another member proposed.
#[derive(Clone, Copy, Debug)]
struct Proposal {
    proposer: MemberNumber,
    cluster: Cluster,
    /// When it was first looked at.
    since_ms: Option<u64>,
}

#[derive(Debug)]
struct Round {
    cluster: Cluster,
    /// This member, and whom it asked.
    asked: Vec<MemberNumber>,
    accepted: BTreeSet<MemberNumber>,
    began_ms: u64,
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
    holds_since_ms: Option<u64>,
    incarnation: [u8; 16],
    /// What an ensemble proposed by this member is called.
    cluster: Cluster,
    heard: BTreeMap<MemberNumber, Heard>,
    /// Who is connected.
    met: BTreeSet<MemberNumber>,
    /// When it began to hear of others.
    began_ms: Option<u64>,
    proposal: Option<Proposal>,
    /// Since when a member admits it.
    admitted_since_ms: Option<u64>,
    majority_since_ms: Option<u64>,
    said_ms: Option<u64>,
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
            holds_since_ms: None,
            incarnation,
            cluster,
            heard: BTreeMap::new(),
            met: BTreeSet::new(),
            began_ms: None,
            proposal: None,
            admitted_since_ms: None,
            majority_since_ms: None,
            said_ms: None,
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
                if let Some(round) = self.round.as_mut().filter(|round| round.cluster == cluster)
                    && round.asked.contains(&number)
                {
                    round.accepted.insert(number);
                }
                self.heard.insert(number, Heard::Seated(cluster, untouched));
                if self.holds == Some(cluster) && !self.hears_of_another_that_was_voted_in(cluster) {
                    self.outcome = Some(Outcome::Kept);
                }
            }
            FoundingMessage::Propose { cluster, voters }
                if !is_seated && self.is_rightful(number, &voters) =>
            {
                self.proposal = Some(Proposal { proposer: number, cluster, since_ms: None });
            }
            FoundingMessage::Admitted { cluster, id, incarnation }
                if is_seated && incarnation == self.incarnation && id == self.id_if_admitted() =>
            {
                self.heard.insert(number, Heard::Admits(cluster));
            }
            _ => {}
        }
    }

    const fn id_if_admitted(&self) -> MemberId {
        MemberId::admitted(self.number, self.incarnation)
    }

    /// Whether that member may propose that these found an ensemble.
    fn is_rightful(&self, proposer: MemberNumber, voters: &[MemberId]) -> bool {
        let same = voters == self.founders() && self.participants.contains(&self.number);
        same && proposer < self.number && self.participants.contains(&proposer)
    }

    /// The ids of all who vote in an ensemble that this member founds with others.
    fn founders(&self) -> Vec<MemberId> {
        self.participants.iter().copied().map(MemberId::founder).collect()
    }

    /// Time has passed.
    pub fn tick(&mut self, now_ms: u64) {
        if self.outcome.is_some() {
            return;
        }
        self.began_ms.get_or_insert(now_ms);
        if let Some(held) = self.holds
            && now_ms >= *self.holds_since_ms.get_or_insert(now_ms) + ROUND_MS
            && !self.hears_of_another_that_was_voted_in(held)
        {
            self.outcome = Some(Outcome::Kept);
            return;
        }
        if self.said_ms.is_none_or(|said_ms| now_ms >= said_ms + REPEAT_MS) {
            self.said_ms = Some(now_ms);
            let mut others: BTreeSet<_> = self.participants.iter().chain(&self.met).copied().collect();
            others.remove(&self.number);
            let blank = FoundingMessage::Blank { incarnation: self.incarnation, founds: self.founds };
            self.outgoing.extend(others.into_iter().map(|other| (other, blank.clone())));
        }
        match &self.round {
            Some(_) => self.conclude(now_ms),
            None => self.begin(now_ms),
        }
        self.complete();
        self.agree(now_ms);
        self.enter(now_ms);
    }

    /// Writes another's proposal down, as soon as what is heard agrees with it.
    fn agree(&mut self, now_ms: u64) {
        let Some(proposal) = &mut self.proposal else { return };
        let Proposal { proposer, cluster, .. } = *proposal;
        if now_ms > *proposal.since_ms.get_or_insert(now_ms) + PROPOSAL_MS {
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
        if agrees && self.has_listened(self.began_ms, now_ms) {
            self.outcome = Some(Outcome::Founded { cluster, voters: self.founders() });
        }
    }

    /// Takes the seat that another gives it, unless others contradict.
    fn enter(&mut self, now_ms: u64) {
        let admitted: BTreeSet<_> = self.heard.values().filter_map(Heard::admits).collect();
        if admitted.is_empty() {
            self.admitted_since_ms = None;
            return;
        }
        let since_ms = *self.admitted_since_ms.get_or_insert(now_ms);
        if self.outcome.is_some() || !self.has_listened(Some(since_ms), now_ms) {
            return;
        }
        let mut members: BTreeMap<Cluster, usize> = BTreeMap::new();
        self.heard
            .values()
            .filter_map(Heard::voted_in)
            .for_each(|cluster| *members.entry(cluster).or_default() += 1);
        let is_uncontradicted = |cluster: &&Cluster| {
            let own = members.get(*cluster).copied().unwrap_or_default();
            members
                .iter()
                .filter(|(other, _)| other != cluster)
                .all(|(other, those)| if admitted.contains(other) { *those < own } else { *those <= own })
        };
        if let Some(cluster) = admitted.iter().find(is_uncontradicted) {
            self.outcome = Some(Outcome::Admitted { cluster: *cluster, id: self.id_if_admitted() });
        }
    }

    /// Whether everybody who might contradict has had the time to.
    fn has_listened(&self, since_ms: Option<u64>, now_ms: u64) -> bool {
        let is_heard = |number: &MemberNumber| *number == self.number || self.heard.contains_key(number);
        self.participants.iter().all(is_heard)
            || since_ms.is_some_and(|since_ms| now_ms >= since_ms + GRACE_MS)
    }

    fn begin(&mut self, now_ms: u64) {
        let blank = self.blank_participants();
        let fit = self.founds
            && blank.len() >= self.majority()
            && blank.first() == Some(&self.number)
            && !self.hears_of_an_ensemble();
        if !fit {
            self.majority_since_ms = None;
            return;
        }
        let since_ms = *self.majority_since_ms.get_or_insert(now_ms);
        if blank.len() < self.participants.len() && now_ms < since_ms + GRACE_MS {
            return;
        }
        let cluster = self.cluster;
        let others = blank.iter().copied().filter(|other| *other != self.number);
        let propose = FoundingMessage::Propose { cluster, voters: self.founders() };
        self.outgoing.extend(others.map(|other| (other, propose.clone())));
        self.round = Some(Round { cluster, asked: blank, accepted: BTreeSet::new(), began_ms: now_ms });
        self.conclude(now_ms);
    }

    fn conclude(&mut self, now_ms: u64) {
        let majority = self.majority();
        let Some(round) = &self.round else { return };
        let all = round.accepted.len() + 1 >= round.asked.len();
        let late = now_ms >= round.began_ms + ROUND_MS;
        if all || (late && round.accepted.len() + 1 >= majority) {
            let (cluster, voters) = (round.cluster, self.founders());
            self.outcome = Some(Outcome::Founded { cluster, voters });
        } else if late && (round.accepted.is_empty() || self.all_others_hold()) {
            // Either no member is known to have written it down; one that has says so, and is not passed over. Or all members
            // have written down this proposal or another one: no blank member is left that could still agree to this one.
            self.round = None;
            self.majority_since_ms = None;
            // Two proposals must never go by one name.
            self.cluster[0] = self.cluster[0].wrapping_add(1);
        }
    }

    /// Whether each of the others is heard to have a seat in an ensemble in which nothing has happened.
    fn all_others_hold(&self) -> bool {
        let holds = |number: &MemberNumber| matches!(self.heard.get(number), Some(Heard::Seated(_, Some(_))));
        self.participants.iter().filter(|other| **other != self.number).all(holds)
    }

    /// A founding that broke off is completed when everybody is there and nobody has gone on without the others.
    fn complete(&mut self) {
        if !(self.founds || self.holds.is_some())
            || !self.participants.contains(&self.number)
            || self.round.is_some()
            || self.outcome.is_some()
        {
            return;
        }
        let mut found: BTreeMap<Cluster, &Vec<MemberId>> = BTreeMap::new();
        for other in self.participants.iter().filter(|other| **other != self.number) {
            match self.heard.get(other) {
                Some(Heard::Blank) => {}
                Some(Heard::Seated(cluster, Some(voters))) => drop(found.insert(*cluster, voters)),
                _ => return,
            }
        }
        let Some((cluster, voters)) = found.first_key_value() else { return };
        if self.holds.is_some_and(|held| held < *cluster) {
            self.outcome = Some(Outcome::Kept);
        } else if **voters == self.founders() {
            self.outcome = Some(Outcome::Founded { cluster: *cluster, voters: (*voters).clone() });
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        blank: BTreeMap<MemberNumber, Founding>,
        seated: BTreeMap<MemberNumber, Outcome>,
        down: Vec<MemberNumber>,
        now_ms: u64,
    }

    impl World {
        fn new(members: u8, down: &[u8]) -> Self {
            let member = |number: MemberNumber| {
                let name = [number.0; 16];
                (number, Founding::new(number, numbers(1..=members), true, name, name))
            };
            let blank = numbers(1..=members).into_iter().map(member).collect();
            Self { blank, seated: BTreeMap::new(), down: numbers(down.iter().copied()), now_ms: 0 }
        }

        fn wipe(&mut self, number: u8, members: u8) {
            let name = [100 + number; 16];
            let number = MemberNumber(number);
            self.seated.remove(&number);
            self.blank.insert(number, Founding::new(number, numbers(1..=members), true, name, name));
        }

        /// Messages arrive at once; whoever has an outcome sits down after that.
        fn round(&mut self, untouched: bool) {
            self.now_ms += 100;
            let mut letters = Vec::new();
            for (number, member) in self.blank.iter_mut().filter(|(number, _)| !self.down.contains(number)) {
                member.tick(self.now_ms);
                letters
                    .extend(member.take_outgoing().into_iter().map(|(to, message)| (*number, to, message)));
            }
            for (from, to, message) in letters {
                if self.down.contains(&to) {
                    continue;
                }
                if let Some(member) = self.blank.get_mut(&to) {
                    member.hear(MemberId::blank(from), message);
                } else if let Some(Outcome::Founded { cluster, voters }) = self.seated.get(&to) {
                    let untouched = untouched.then(|| voters.clone());
                    let seated = FoundingMessage::Seated { cluster: *cluster, untouched };
                    if let Some(member) = self.blank.get_mut(&from) {
                        member.hear(MemberId::founder(to), seated);
                    }
                }
            }
            let done: Vec<_> = self
                .blank
                .iter()
                .filter_map(|(number, member)| member.outcome().map(|outcome| (*number, outcome.clone())))
                .collect();
            for (number, outcome) in done {
                self.blank.remove(&number);
                self.seated.insert(number, outcome);
            }
        }

        fn rounds(&mut self, count: u64, untouched: bool) {
            (0..count).for_each(|_| self.round(untouched));
        }
    }

    #[test]
    fn all_blank_members_found_one_ensemble_at_once() {
        let mut world = World::new(3, &[]);
        world.rounds(8, true);
        let ensemble = Outcome::Founded { cluster: [1; 16], voters: founders(1..=3) };
        assert_eq!(world.seated.into_values().collect::<Vec<_>>(), vec![ensemble; 3]);
        assert!(world.now_ms < GRACE_MS);
    }

    #[test]
    fn a_majority_waits_for_the_others_only_so_long() {
        let mut world = World::new(3, &[1]);
        world.rounds(10, true);
        assert!(world.seated.is_empty());
        world.rounds(12, true);
        let ensemble = Outcome::Founded { cluster: [2; 16], voters: founders(1..=3) };
        assert_eq!(world.seated.into_values().collect::<Vec<_>>(), vec![ensemble; 2]);
    }

    #[test]
    fn whoever_is_configured_otherwise_founds_nothing_with_us() {
        let mut member = member(2);
        member.hear(unseated(1), blank());
        member.hear(unseated(3), blank());
        for voters in [&[1, 2][..], &[1, 2, 3, 4], &[1, 3, 2]] {
            let voters = founders(voters.iter().copied());
            member.hear(unseated(1), FoundingMessage::Propose { cluster: [1; 16], voters });
            member.tick(GRACE_MS);
            assert_eq!(member.outcome(), None);
        }
        member.hear(unseated(1), FoundingMessage::Propose { cluster: [1; 16], voters: founders(1..=3) });
        member.tick(GRACE_MS);
        assert!(member.outcome().is_some());
    }

    #[test]
    fn a_minority_founds_nothing() {
        let mut world = World::new(5, &[3, 4, 5]);
        world.rounds(200, true);
        assert!(world.seated.is_empty());
    }

    #[test]
    fn a_wiped_member_never_founds_while_one_with_a_seat_is_heard() {
        let mut world = World::new(3, &[]);
        world.rounds(8, true);
        world.wipe(1, 3);
        world.wipe(2, 3);
        world.rounds(100, false);
        assert_eq!(world.seated.keys().copied().collect::<Vec<_>>(), [MemberNumber(3)]);
    }

    #[test]
    fn members_that_lost_their_data_found_nothing_and_let_nobody_found_anything() {
        let mut world = World::new(3, &[]);
        world
            .blank
            .insert(MemberNumber(1), Founding::new(MemberNumber(1), numbers(1..=3), false, [1; 16], [1; 16]));
        world.rounds(100, true);
        assert!(world.seated.is_empty());
    }

    #[test]
    fn a_founding_that_broke_off_is_completed_only_when_everybody_is_there() {
        let mut world = World::new(3, &[]);
        world.rounds(3, true);
        // The proposer and one other forget everything after the third has written it down.
        let ensemble = Outcome::Founded { cluster: [9; 16], voters: founders(1..=3) };
        world.seated = BTreeMap::from([(MemberNumber(3), ensemble.clone())]);
        world.wipe(1, 3);
        world.wipe(2, 3);
        world.down = numbers([2]);
        world.rounds(100, true);
        assert_eq!(world.seated.len(), 1);
        world.down.clear();
        world.rounds(10, true);
        assert_eq!(world.seated.into_values().collect::<Vec<_>>(), vec![ensemble; 3]);
    }

    #[test]
    fn a_seat_in_what_never_came_to_be_is_given_up_only_for_an_ensemble_that_somebody_voted_in() {
        let doubts =
            || Founding::new(MemberNumber(3), numbers(1..=3), true, [3; 16], [3; 16]).holding([9; 16]);
        let seated = |cluster, untouched| FoundingMessage::Seated { cluster: [cluster; 16], untouched };
        let mut member = doubts();
        member.tick(0);
        member.hear(founder(1), seated(9, Some(founders(1..=3))));
        assert_eq!(member.outcome(), Some(&Outcome::Kept), "its own ensemble lives");
        let mut member = doubts();
        member.tick(0);
        member.hear(founder(1), seated(8, Some(founders(1..=3))));
        member.tick(ROUND_MS);
        assert_eq!(member.outcome(), Some(&Outcome::Kept), "the other may never come to be either");
        let mut member = doubts();
        member.tick(0);
        member.hear(founder(1), seated(8, None));
        member.tick(10 * ROUND_MS);
        assert_eq!(member.outcome(), None, "it waits to be let in");
        member.hear(founder(1), admitted(3, 8));
        member.tick(10 * ROUND_MS);
        member.tick(10 * ROUND_MS + GRACE_MS);
        assert_eq!(member.outcome(), Some(&entered(3, 8)));
        let mut member = doubts();
        member.tick(0);
        member.hear(founder(1), seated(8, None));
        member.tick(10 * ROUND_MS);
        member.lost(MemberNumber(1));
        member.tick(10 * ROUND_MS);
        assert_eq!(member.outcome(), Some(&Outcome::Kept), "one that is gone takes no seat away");
    }

    #[test]
    fn of_several_ensembles_that_nobody_voted_in_all_take_the_first() {
        let seated =
            |cluster| FoundingMessage::Seated { cluster: [cluster; 16], untouched: Some(founders(1..=3)) };
        let blank = FoundingMessage::Blank { incarnation: [1; 16], founds: true };
        let take = |mut member: Founding, said: [(u8, FoundingMessage); 2]| {
            for (number, message) in said {
                let is_blank = matches!(message, FoundingMessage::Blank { .. });
                member.hear(if is_blank { unseated(number) } else { founder(number) }, message);
            }
            member.tick(0);
            member.outcome().cloned()
        };
        let member = |number| Founding::new(MemberNumber(number), numbers(1..=3), true, [7; 16], [7; 16]);
        let first = Some(Outcome::Founded { cluster: [4; 16], voters: founders(1..=3) });
        assert_eq!(take(member(1), [(2, seated(4)), (3, seated(5))]), first);
        assert_eq!(take(member(3).holding([5; 16]), [(1, blank.clone()), (2, seated(4))]), first);
        assert_eq!(take(member(2).holding([4; 16]), [(1, blank), (3, seated(5))]), Some(Outcome::Kept));
    }

    #[test]
    fn proposer_to_whom_too_few_agreed_joins_the_first_ensemble_once_all_others_hold_a_seat() {
        let mut member = Founding::new(MemberNumber(1), numbers(1..=4), true, [5; 16], [5; 16]);
        let voters: Vec<_> = (1..=4).map(MemberId).collect();
        let seated = |cluster: u8| seated(cluster, Some(voters.clone()));
        let blank_of = |number| MemberId::blank(MemberNumber(number));
        member.tick(0);
        [3, 4].into_iter().for_each(|number| member.hear(blank_of(number), blank()));
        member.tick(0);
        member.tick(GRACE_MS);
        member.hear(MemberId(4), seated(5));
        member.hear(MemberId(3), seated(4));
        member.tick(GRACE_MS + ROUND_MS);
        assert_eq!(member.outcome(), None, "2 may agree yet");
        member.hear(MemberId(2), seated(4));
        member.tick(GRACE_MS + ROUND_MS);
        assert_eq!(member.outcome(), Some(&Outcome::Founded { cluster: [4; 16], voters }));
    }

    #[test]
    fn whoever_is_connected_is_asked_too_for_the_leader_may_be_in_no_configuration_of_ours() {
        let mut member = Founding::new(MemberNumber(3), numbers(1..=3), false, [3; 16], [3; 16]);
        member.meet(MemberNumber(5));
        member.tick(0);
        let asked: Vec<_> = member.take_outgoing().into_iter().map(|(to, _)| to).collect();
        assert_eq!(asked, numbers([1, 2, 5]));
        member.lost(MemberNumber(5));
        member.tick(REPEAT_MS);
        assert_eq!(member.take_outgoing().len(), 2);
    }

    #[test]
    fn admission_counts_for_the_disk_that_asked_and_under_its_own_id() {
        let mut member = member(3);
        let id = |number, incarnation| MemberId::admitted(MemberNumber(number), incarnation);
        for (id, incarnation) in [(id(3, [5; 16]), [5; 16]), (founder(2), [3; 16]), (id(2, [3; 16]), [3; 16])]
        {
            member.hear(founder(1), FoundingMessage::Admitted { cluster: [1; 16], id, incarnation });
            member.tick(0);
            member.tick(10 * GRACE_MS);
            assert_eq!(member.outcome(), None, "{id}");
        }
        member.hear(founder(1), admitted(3, 1));
        member.hear(founder(2), seated(1, None));
        member.tick(10 * GRACE_MS);
        assert_eq!(member.outcome(), Some(&entered(3, 1)), "all are heard: nothing to wait for");
    }

    #[test]
    fn admission_waits_for_those_who_might_contradict_it() {
        let mut member = member(3);
        member.hear(founder(1), admitted(3, 1));
        member.tick(1_000);
        member.tick(1_000 + GRACE_MS - 1);
        assert_eq!(member.outcome(), None);
        member.tick(1_000 + GRACE_MS);
        assert_eq!(member.outcome(), Some(&entered(3, 1)));
    }

    #[test]
    fn one_member_that_admits_to_an_ensemble_of_its_own_is_contradicted_by_the_others() {
        let five = |said: &[(MemberId, FoundingMessage)]| {
            let mut member = Founding::new(MemberNumber(5), numbers(1..=5), true, [5; 16], [5; 16]);
            said.iter().for_each(|(from, message)| member.hear(*from, message.clone()));
            member.tick(0);
            member.tick(10 * GRACE_MS);
            member.outcome().cloned()
        };
        let (evil, honest) = ((founder(4), admitted(5, 66)), |number| (founder(number), seated(1, None)));
        assert_eq!(five(&[evil.clone(), honest(1), honest(2)]), None, "two say otherwise");
        assert_eq!(five(&[evil.clone(), (founder(1), admitted(5, 1))]), None, "one against one");
        let led = [evil.clone(), (founder(1), admitted(5, 1)), honest(2)];
        assert_eq!(five(&led), Some(entered(5, 1)), "the ensemble of two");
        let past = [(founder(1), admitted(5, 1)), (founder(2), seated(9, None))];
        assert_eq!(five(&past), Some(entered(5, 1)), "one that comes from an ensemble that is no more");
    }

    #[test]
    fn blank_member_believes_of_each_only_what_its_part_allows() {
        let said_by = |from: MemberId, message: FoundingMessage| {
            let mut member = member(3);
            member.hear(unseated(1), blank());
            member.hear(unseated(2), blank());
            member.hear(from, message);
            member.tick(0);
            member.tick(10 * GRACE_MS);
            (member.outcome().cloned(), member.heard().filter(|(_, seated)| *seated).count())
        };
        let propose = || FoundingMessage::Propose { cluster: [66; 16], voters: founders(1..=3) };
        let founded = Outcome::Founded { cluster: [66; 16], voters: founders(1..=3) };
        assert_eq!(said_by(unseated(1), propose()).0, Some(founded));
        assert_eq!(said_by(founder(1), propose()).0, None, "it has a seat");
        assert_eq!(said_by(unseated(1), admitted(3, 66)), (None, 0), "it has none to give");
        assert_eq!(said_by(unseated(1), seated(66, None)), (None, 0));
        let alone = FoundingMessage::Seated { cluster: [66; 16], untouched: Some(founders([3])) };
        assert_eq!(said_by(founder(1), alone), (None, 1), "voters that are not configured");
        assert_eq!(
            said_by(founder(1), blank()),
            (None, 0),
            "it says one thing to this member and another to the port"
        );
    }

    #[test]
    fn proposal_counts_only_while_a_majority_is_heard_to_be_blank_and_nobody_has_a_seat() {
        let propose = || FoundingMessage::Propose { cluster: [66; 16], voters: founders(1..=5) };
        let after = |said: &[(MemberId, FoundingMessage)]| {
            let mut member = Founding::new(MemberNumber(5), numbers(1..=5), true, [5; 16], [5; 16]);
            member.tick(0);
            member.hear(unseated(1), propose());
            said.iter().for_each(|(from, message)| member.hear(*from, message.clone()));
            member.tick(GRACE_MS - 1);
            assert_eq!(member.outcome(), None, "it has not listened for long enough");
            member.tick(GRACE_MS);
            member.outcome().is_some()
        };
        assert!(!after(&[]), "the proposer itself may have a seat");
        assert!(!after(&[(unseated(1), blank())]), "two of five");
        assert!(after(&[(unseated(1), blank()), (unseated(2), blank())]));
        assert!(!after(&[(unseated(1), blank()), (unseated(2), blank()), (founder(3), seated(1, None))]));
        let mut member = member(3);
        member.tick(0);
        member.hear(unseated(1), FoundingMessage::Propose { cluster: [66; 16], voters: founders(1..=3) });
        member.tick(0);
        member.tick(PROPOSAL_MS + 1);
        member.hear(unseated(1), blank());
        member.tick(PROPOSAL_MS + 1);
        assert_eq!(member.outcome(), None, "the proposer has given it up long since");
    }

    #[test]
    fn only_those_that_were_asked_accept_a_proposal() {
        let mut member = Founding::new(MemberNumber(1), numbers(1..=5), true, [1; 16], [1; 16]);
        member.tick(0);
        (2..=3).for_each(|number| member.hear(unseated(number), blank()));
        member.tick(0);
        member.tick(GRACE_MS);
        for number in [7, 8, 9] {
            let seated = FoundingMessage::Seated { cluster: [1; 16], untouched: Some(vec![]) };
            member.hear(founder(number), seated);
        }
        member.tick(10 * ROUND_MS);
        assert_eq!(member.outcome(), None);
    }

    fn numbers(numbers: impl IntoIterator<Item = u8>) -> Vec<MemberNumber> {
        numbers.into_iter().map(MemberNumber).collect()
    }

    fn founders(numbers: impl IntoIterator<Item = u8>) -> Vec<MemberId> {
        numbers.into_iter().map(founder).collect()
    }

    const fn founder(number: u8) -> MemberId {
        MemberId::founder(MemberNumber(number))
    }

    const fn unseated(number: u8) -> MemberId {
        MemberId::blank(MemberNumber(number))
    }

    /// Of three.
    fn member(number: u8) -> Founding {
        let name = [number; 16];
        Founding::new(MemberNumber(number), numbers(1..=3), true, name, name)
    }

    fn blank() -> FoundingMessage {
        FoundingMessage::Blank { incarnation: [9; 16], founds: true }
    }

    fn seated(cluster: u8, untouched: Option<Vec<MemberId>>) -> FoundingMessage {
        FoundingMessage::Seated { cluster: [cluster; 16], untouched }
    }

    fn admitted(number: u8, cluster: u8) -> FoundingMessage {
        let incarnation = [number; 16];
        let id = MemberId::admitted(MemberNumber(number), incarnation);
        FoundingMessage::Admitted { cluster: [cluster; 16], id, incarnation }
    }

    fn entered(number: u8, cluster: u8) -> Outcome {
        let id = MemberId::admitted(MemberNumber(number), [number; 16]);
        Outcome::Admitted { cluster: [cluster; 16], id }
    }
}
