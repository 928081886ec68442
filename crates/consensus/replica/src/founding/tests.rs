//! Members with blank disks hear each other in an order that a test chooses: who founds what, and who waits.

use super::agree::PROPOSAL_MS;
use super::*;
use base::MonoTime;

const fn at(ms: u64) -> MonoTime {
    MonoTime::of_ms(ms)
}

struct World {
    blank: BTreeMap<MemberNumber, Founding>,
    seated: BTreeMap<MemberNumber, Outcome>,
    down: Vec<MemberNumber>,
    now: MonoTime,
}

impl World {
    fn new(members: u8, down: &[u8]) -> Self {
        let member = |number: MemberNumber| {
            let name = [number.0; 16];
            (number, Founding::new(number, numbers(1..=members), true, name, name))
        };
        let blank = numbers(1..=members).into_iter().map(member).collect();
        Self { blank, seated: BTreeMap::new(), down: numbers(down.iter().copied()), now: MonoTime::ZERO }
    }

    fn wipe(&mut self, number: u8, members: u8) {
        let name = [100 + number; 16];
        let number = MemberNumber(number);
        self.seated.remove(&number);
        self.blank.insert(number, Founding::new(number, numbers(1..=members), true, name, name));
    }

    /// Messages arrive at once; whoever has an outcome sits down after that.
    fn round(&mut self, untouched: bool) {
        self.now = self.now.plus_ms(100);
        let mut letters = Vec::new();
        for (number, member) in self.blank.iter_mut().filter(|(number, _)| !self.down.contains(number)) {
            member.tick(self.now);
            letters.extend(member.take_outgoing().into_iter().map(|(to, message)| (*number, to, message)));
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
    assert!(world.now < MonoTime::of_ms(GRACE_MS));
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
        member.tick(at(GRACE_MS));
        assert_eq!(member.outcome(), None);
    }
    member.hear(unseated(1), FoundingMessage::Propose { cluster: [1; 16], voters: founders(1..=3) });
    member.tick(at(GRACE_MS));
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
    let doubts = || Founding::new(MemberNumber(3), numbers(1..=3), true, [3; 16], [3; 16]).holding([9; 16]);
    let seated = |cluster, untouched| FoundingMessage::Seated { cluster: [cluster; 16], untouched };
    let mut member = doubts();
    member.tick(at(0));
    member.hear(founder(1), seated(9, Some(founders(1..=3))));
    assert_eq!(member.outcome(), Some(&Outcome::Kept), "its own ensemble lives");
    let mut member = doubts();
    member.tick(at(0));
    member.hear(founder(1), seated(8, Some(founders(1..=3))));
    member.tick(at(ROUND_MS));
    assert_eq!(member.outcome(), Some(&Outcome::Kept), "the other may never come to be either");
    let mut member = doubts();
    member.tick(at(0));
    member.hear(founder(1), seated(8, None));
    member.tick(at(10 * ROUND_MS));
    assert_eq!(member.outcome(), None, "it waits to be let in");
    member.hear(founder(1), admitted(3, 8));
    member.tick(at(10 * ROUND_MS));
    member.tick(at(10 * ROUND_MS + GRACE_MS));
    assert_eq!(member.outcome(), Some(&entered(3, 8)));
    let mut member = doubts();
    member.tick(at(0));
    member.hear(founder(1), seated(8, None));
    member.tick(at(10 * ROUND_MS));
    member.lost(MemberNumber(1));
    member.tick(at(10 * ROUND_MS));
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
        member.tick(at(0));
        member.outcome().cloned()
    };
    let member = |number| Founding::new(MemberNumber(number), numbers(1..=3), true, [7; 16], [7; 16]);
    let first = Some(Outcome::Founded { cluster: [4; 16], voters: founders(1..=3) });
    assert_eq!(take(member(1), [(2, seated(4)), (3, seated(5))]), first);
    assert_eq!(take(member(3).holding([5; 16]), [(1, blank.clone()), (2, seated(4))]), first);
    assert_eq!(take(member(2).holding([4; 16]), [(1, blank), (3, seated(5))]), Some(Outcome::Kept));
}

#[test]
fn founders_of_two_ensembles_of_which_neither_has_a_majority_all_take_the_first() {
    let voters = founders(1..=4);
    let doubts = |number: u8, held: u8, said: &[(u8, u8)]| {
        let name = [number; 16];
        let mut member =
            Founding::new(MemberNumber(number), numbers(1..=4), true, name, name).holding([held; 16]);
        member.tick(at(0));
        for (other, cluster) in said {
            member.hear(founder(*other), seated(*cluster, Some(voters.clone())));
        }
        member.tick(at(1));
        member.outcome().cloned()
    };
    let first = Some(Outcome::Founded { cluster: [4; 16], voters: voters.clone() });
    assert_eq!(doubts(2, 5, &[(4, 5), (1, 4), (3, 4)]), first);
    assert_eq!(doubts(1, 4, &[(3, 4), (2, 5), (4, 5)]), Some(Outcome::Kept), "it has the first");
    assert_eq!(doubts(1, 5, &[(2, 5), (4, 5)]), Some(Outcome::Kept), "three of four can elect a leader");
    assert_eq!(doubts(2, 5, &[(4, 5), (1, 4)]), None, "the third may have the same");
}

#[test]
fn proposer_to_whom_too_few_agreed_joins_the_first_ensemble_once_all_others_hold_a_seat() {
    let mut member = Founding::new(MemberNumber(1), numbers(1..=4), true, [5; 16], [5; 16]);
    let voters: Vec<_> = (1..=4).map(MemberId).collect();
    let seated = |cluster: u8| seated(cluster, Some(voters.clone()));
    let blank_of = |number| MemberId::blank(MemberNumber(number));
    member.tick(at(0));
    [3, 4].into_iter().for_each(|number| member.hear(blank_of(number), blank()));
    member.tick(at(0));
    member.tick(at(GRACE_MS));
    member.hear(MemberId(4), seated(5));
    member.hear(MemberId(3), seated(4));
    member.tick(at(GRACE_MS + ROUND_MS));
    assert_eq!(member.outcome(), None, "2 may agree yet");
    member.hear(MemberId(2), seated(4));
    member.tick(at(GRACE_MS + ROUND_MS));
    assert_eq!(member.outcome(), Some(&Outcome::Founded { cluster: [4; 16], voters }));
}

#[test]
fn proposer_founds_with_a_majority_that_came_later_and_another_gives_up_what_nobody_holds() {
    let proposer = |number: u8| {
        let name = [number; 16];
        let mut member = Founding::new(MemberNumber(number), numbers(1..=4), true, name, name);
        let blank_of = |number| MemberId::blank(MemberNumber(number));
        (1..=4).filter(|other| *other > number).for_each(|other| member.hear(blank_of(other), blank()));
        if number == 2 {
            member.tick(at(0));
        } else {
            // The third is out of reach: it is not asked.
            member.lost(MemberNumber(3));
            member.tick(at(0));
        }
        member.tick(at(GRACE_MS));
        member
    };
    let voters = founders(1..=4);
    let seated = |cluster: u8| seated(cluster, Some(voters.clone()));
    let first = Some(Outcome::Founded { cluster: [1; 16], voters: voters.clone() });

    let mut member = proposer(1);
    member.hear(founder(4), seated(1));
    member.tick(at(GRACE_MS + ROUND_MS));
    assert_eq!(member.outcome(), None, "two of four");
    member.hear(founder(3), seated(1));
    member.tick(at(GRACE_MS + ROUND_MS));
    assert_eq!(member.outcome(), first.as_ref(), "the third came to it from another ensemble");

    let mut member = proposer(2);
    member.hear(founder(3), seated(2));
    member.tick(at(GRACE_MS + ROUND_MS));
    member.hear(unseated(1), blank());
    [3, 4].into_iter().for_each(|number| member.hear(founder(number), seated(1)));
    member.tick(at(GRACE_MS + ROUND_MS));
    assert_eq!(member.outcome(), first.as_ref(), "the only one that had accepted left it");
}

#[test]
fn whoever_is_connected_is_asked_too_for_the_leader_may_be_in_no_configuration_of_ours() {
    let mut member = Founding::new(MemberNumber(3), numbers(1..=3), false, [3; 16], [3; 16]);
    member.meet(MemberNumber(5));
    member.tick(at(0));
    let asked: Vec<_> = member.take_outgoing().into_iter().map(|(to, _)| to).collect();
    assert_eq!(asked, numbers([1, 2, 5]));
    member.lost(MemberNumber(5));
    member.tick(at(REPEAT_MS));
    assert_eq!(member.take_outgoing().len(), 2);
}

#[test]
fn admission_counts_for_the_disk_that_asked_and_under_its_own_id() {
    let mut member = member(3);
    let id = |number, incarnation| MemberId::admitted(MemberNumber(number), incarnation);
    for (id, incarnation) in [(id(3, [5; 16]), [5; 16]), (founder(2), [3; 16]), (id(2, [3; 16]), [3; 16])] {
        member.hear(founder(1), FoundingMessage::Admitted { cluster: [1; 16], id, incarnation });
        member.tick(at(0));
        member.tick(at(10 * GRACE_MS));
        assert_eq!(member.outcome(), None, "{id}");
    }
    member.hear(founder(1), admitted(3, 1));
    member.hear(founder(2), seated(1, None));
    member.tick(at(10 * GRACE_MS));
    assert_eq!(member.outcome(), Some(&entered(3, 1)), "all are heard: nothing to wait for");
}

#[test]
fn admission_waits_for_those_who_might_contradict_it() {
    let mut member = member(3);
    member.hear(founder(1), admitted(3, 1));
    member.tick(at(1_000));
    member.tick(at(1_000 + GRACE_MS - 1));
    assert_eq!(member.outcome(), None);
    member.tick(at(1_000 + GRACE_MS));
    assert_eq!(member.outcome(), Some(&entered(3, 1)));
}

#[test]
fn one_member_that_admits_to_an_ensemble_of_its_own_is_contradicted_by_the_others() {
    let five = |said: &[(MemberId, FoundingMessage)]| {
        let mut member = Founding::new(MemberNumber(5), numbers(1..=5), true, [5; 16], [5; 16]);
        said.iter().for_each(|(from, message)| member.hear(*from, message.clone()));
        member.tick(at(0));
        member.tick(at(10 * GRACE_MS));
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
        member.tick(at(0));
        member.tick(at(10 * GRACE_MS));
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
        member.tick(at(0));
        member.hear(unseated(1), propose());
        said.iter().for_each(|(from, message)| member.hear(*from, message.clone()));
        member.tick(at(GRACE_MS - 1));
        assert_eq!(member.outcome(), None, "it has not listened for long enough");
        member.tick(at(GRACE_MS));
        member.outcome().is_some()
    };
    assert!(!after(&[]), "the proposer itself may have a seat");
    assert!(!after(&[(unseated(1), blank())]), "two of five");
    assert!(after(&[(unseated(1), blank()), (unseated(2), blank())]));
    assert!(!after(&[(unseated(1), blank()), (unseated(2), blank()), (founder(3), seated(1, None))]));
    let mut member = member(3);
    member.tick(at(0));
    member.hear(unseated(1), FoundingMessage::Propose { cluster: [66; 16], voters: founders(1..=3) });
    member.tick(at(0));
    member.tick(at(PROPOSAL_MS + 1));
    member.hear(unseated(1), blank());
    member.tick(at(PROPOSAL_MS + 1));
    assert_eq!(member.outcome(), None, "the proposer has given it up long since");
}

#[test]
fn only_participants_accept_a_proposal() {
    let mut member = Founding::new(MemberNumber(1), numbers(1..=5), true, [1; 16], [1; 16]);
    member.tick(at(0));
    (2..=3).for_each(|number| member.hear(unseated(number), blank()));
    member.tick(at(0));
    member.tick(at(GRACE_MS));
    for number in [7, 8, 9] {
        let seated = FoundingMessage::Seated { cluster: [1; 16], untouched: Some(vec![]) };
        member.hear(founder(number), seated);
    }
    member.tick(at(10 * ROUND_MS));
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
