//! Which of two pairs with member 2 is kept, and what is told of it.

use base::{MemberId, MemberNumber, MonoTime};

use super::*;

/// The id of member 2 on its first disk, and on another one.
const SECOND: MemberId = MemberId(2);
const SECOND_ON_ANOTHER_DISK: MemberId = MemberId(2 + 256);

/// A connection: what it is called, and its lane.
type Name = (&'static str, Lane);

const LANES: [Lane; 2] = [Lane::Control, Lane::Bulk];

fn offer(process: u64) -> Offer {
    Offer {
        number: PeerNumber(2),
        id: Some(SECOND),
        process,
        level: 1,
        lane: Lane::Control,
        dialled: false,
        attempt: 4,
        proven: true,
        as_member: true,
    }
}

fn table(own: u32) -> PeerPairs<Name> {
    let mut pairs = PeerPairs::new(PeerNumber(own));
    assert!(pairs.begin_anew(true).is_empty());
    pairs
}

/// Both connections of a pair come. Gives whether it stands.
fn take(pairs: &mut PeerPairs<Name>, name: &'static str, offer: Offer, now_ms: u64) -> bool {
    let mut stands = false;
    for lane in LANES {
        let offer = Offer { lane, ..offer };
        if !matches!(pairs.offered(&offer, MonoTime::of_ms(now_ms)), Verdict::Refused(_)) {
            stands |= pairs.connect(&offer, (name, lane), MonoTime::of_ms(now_ms)).1.is_some();
        }
    }
    stands
}

fn kept(pairs: &mut PeerPairs<Name>) -> Option<&'static str> {
    pairs.connection(SECOND, Lane::Control).map(|(name, _)| *name)
}

#[test]
fn member_is_told_as_connected_once_both_connections_stand_and_messages_go_by_their_kind() {
    let mut pairs = table(1);
    assert_eq!(pairs.offered(&offer(5), MonoTime::of_ms(0)), Verdict::Joins);
    let (pair, up) = pairs.connect(&offer(5), ("a", Lane::Control), MonoTime::of_ms(0));
    assert_eq!((up, pairs.connection(SECOND, Lane::Bulk)), (None, None));
    let bulk = Offer { lane: Lane::Bulk, ..offer(5) };
    assert_eq!(pairs.offered(&bulk, MonoTime::of_ms(0)), Verdict::Joins);
    assert_eq!(pairs.connect(&bulk, ("a", Lane::Bulk), MonoTime::of_ms(0)), (pair, Some((SECOND, 1))));
    assert_eq!(pairs.connection(SECOND, Lane::Control), Some(&mut ("a", Lane::Control)));
    assert_eq!(pairs.connection(SECOND, Lane::Bulk), Some(&mut ("a", Lane::Bulk)));
    assert_eq!(pairs.connection(SECOND_ON_ANOTHER_DISK, Lane::Control), None, "another disk's id");
    let dropped = pairs.disconnect(pair).expect("it stood");
    assert_eq!((dropped.told_id, dropped.connections.len()), (Some(SECOND), 2));
}

#[test]
fn member_without_an_id_is_known_by_its_number() {
    let mut pairs = table(1);
    assert!(take(&mut pairs, "a", Offer { id: None, ..offer(5) }, 0));
    assert_eq!(pairs.connection(SECOND, Lane::Control), None);
    assert_eq!(pairs.control(PeerNumber(2)), Some(&mut ("a", Lane::Control)));
    assert_eq!(
        pairs.connection(MemberId::blank(MemberNumber(2)), Lane::Control),
        Some(&mut ("a", Lane::Control))
    );
}

#[test]
fn claim_of_a_later_process_replaces_a_pair_only_once_that_is_quiet() {
    let claim = |process| Offer { proven: false, ..offer(process) };
    let mut pairs = table(1);
    take(&mut pairs, "a", claim(5), 0);
    for now_ms in [1, YOUTH_MS, QUIET_MS] {
        assert_eq!(
            pairs.offered(&claim(u64::MAX), MonoTime::of_ms(now_ms)),
            Verdict::Refused(Refusal::Claim),
            "{now_ms}"
        );
    }
    assert!(take(&mut pairs, "b", claim(6), QUIET_MS + 1));
    assert_eq!(kept(&mut pairs), Some("b"));
}

#[test]
fn proof_of_a_later_process_replaces_a_pair_at_once_and_an_earlier_one_never() {
    let mut pairs = table(1);
    take(&mut pairs, "a", offer(5), 0);
    assert!(take(&mut pairs, "b", offer(6), 1));
    assert!(!take(&mut pairs, "c", offer(5), 2 * QUIET_MS));
    assert_eq!(kept(&mut pairs), Some("b"));
    assert_eq!(pairs.process_of(PeerNumber(2)), Some(6));
    assert!(is_outdated(5, Some(6)) && !is_outdated(6, Some(6)) && !is_outdated(7, Some(6)));
}

#[test]
fn pair_that_is_replaced_is_told_to_have_ended_before_the_next_is_told_to_stand() {
    let mut pairs = table(1);
    take(&mut pairs, "a", offer(5), 0);
    let old = pairs.pair_with(PeerNumber(2)).expect("it stands");
    let Verdict::Replaces(dropped) = pairs.offered(&offer(6), MonoTime::of_ms(1)) else {
        panic!("it is later")
    };
    assert_eq!((dropped.pair, dropped.told_id), (old, Some(SECOND)));
    assert_eq!(dropped.connections, LANES.map(|lane| ("a", lane)));
    let (new, up) = pairs.connect(&offer(6), ("b", Lane::Control), MonoTime::of_ms(1));
    assert_eq!(
        (up, pairs.connection(SECOND, Lane::Bulk)),
        (None, None),
        "the old one's second connection is gone"
    );
    assert!(new != old && pairs.current(old).is_none() && pairs.current(new).is_some());
    assert_eq!(pairs.disconnect(old), None, "what breaks of an old pair ends no other");
    assert_eq!(pairs.pair_with(PeerNumber(2)), Some(new));
}

#[test]
fn both_sides_keep_the_same_of_two_pairs_dialled_at_once() {
    for proven in [false, true] {
        for first in ["dialled by 1", "dialled by 2"] {
            let mut sides = [(table(1), 2_u8, 20), (table(2), 1, 10)];
            let kept = sides.each_mut().map(|(pairs, other, process)| {
                let own = 3 - *other;
                let offer = |dialler: u8| Offer {
                    number: PeerNumber((*other).into()),
                    id: Some(MemberId::founder(MemberNumber(*other))),
                    dialled: dialler == own,
                    attempt: 30 - u64::from(dialler),
                    proven,
                    ..offer(*process)
                };
                let second = if first == "dialled by 1" { "dialled by 2" } else { "dialled by 1" };
                for (name, now_ms) in [(first, 0), (second, YOUTH_MS - 1)] {
                    take(pairs, name, offer(if name == "dialled by 1" { 1 } else { 2 }), now_ms);
                }
                pairs.control(PeerNumber((*other).into())).map(|(name, _)| *name)
            });
            assert_eq!(kept, [Some("dialled by 2"); 2], "proven: {proven}, first: {first}");
        }
    }
}

#[test]
fn claim_of_another_pair_of_the_same_process_is_refused_once_the_first_is_old() {
    let claim = |attempt| Offer { proven: false, attempt, ..offer(5) };
    let mut pairs = table(1);
    take(&mut pairs, "a", claim(4), 0);
    assert!(take(&mut pairs, "b", claim(9), YOUTH_MS - 1));
    assert!(!take(&mut pairs, "c", claim(10), 2 * YOUTH_MS));
    assert_eq!(kept(&mut pairs), Some("b"));
}

#[test]
fn connection_of_a_pair_comes_once_and_from_one_disk() {
    let mut pairs = table(1);
    pairs.connect(&offer(5), ("a", Lane::Control), MonoTime::of_ms(0));
    let bulk = Offer { lane: Lane::Bulk, ..offer(5) };
    for other in [Offer { id: Some(SECOND_ON_ANOTHER_DISK), ..bulk }, Offer { level: 2, ..bulk }, offer(5)] {
        assert_eq!(
            pairs.offered(&other, MonoTime::of_ms(0)),
            Verdict::Refused(Refusal::NotOfThePair),
            "{other:?}"
        );
    }
    assert_eq!(pairs.offered(&bulk, MonoTime::of_ms(0)), Verdict::Joins);
}

#[test]
fn all_pairs_end_when_this_member_gets_an_id_and_what_was_agreed_upon_before_is_refused() {
    let mut pairs: PeerPairs<Name> = PeerPairs::new(PeerNumber(1));
    let before = Offer { as_member: false, ..offer(5) };
    take(&mut pairs, "a", before, 0);
    assert_eq!(pairs.begin_anew(true).len(), 1);
    assert_eq!(pairs.offered(&before, MonoTime::of_ms(0)), Verdict::Refused(Refusal::OutOfDate));
    assert!(take(&mut pairs, "b", offer(5), 0));
}

#[test]
fn pair_is_pinged_while_it_stands_and_given_up_when_it_is_silent() {
    let mut pairs = table(1);
    take(&mut pairs, "a", offer(5), 0);
    let pair = pairs.pair_with(PeerNumber(2)).expect("it stands");
    let pair = pairs.current(pair).expect("it stands");
    let pulses =
        [PING_MS - 1, PING_MS, PING_MS + 1, 2 * PING_MS].map(|now_ms| pair.pulse(MonoTime::of_ms(now_ms)));
    assert_eq!(pulses, [Pulse::Well, Pulse::Ping, Pulse::Well, Pulse::Ping]);
    assert_ne!(pair.pulse(MonoTime::of_ms(SILENCE_MS)), Pulse::Silent);
    assert_eq!(pair.pulse(MonoTime::of_ms(SILENCE_MS + 1)), Pulse::Silent);
    pair.heard(MonoTime::of_ms(SILENCE_MS + 1));
    assert_eq!(pair.pulse(MonoTime::of_ms(2 * SILENCE_MS)), Pulse::Ping);
}

#[test]
fn pair_of_which_one_connection_never_comes_is_given_up_however_much_is_heard_on_the_other() {
    let mut pairs = table(1);
    let (pair, up) = pairs.connect(&offer(5), ("a", Lane::Control), MonoTime::of_ms(0));
    assert_eq!(up, None);
    let pair = pairs.current(pair).expect("it stands");
    for now_ms in [1_000, SILENCE_MS, SILENCE_MS + 1] {
        pair.heard(MonoTime::of_ms(now_ms));
    }
    assert_ne!(pair.pulse(MonoTime::of_ms(SILENCE_MS)), Pulse::Silent);
    assert_eq!(pair.pulse(MonoTime::of_ms(SILENCE_MS + 1)), Pulse::Silent);
}

#[test]
fn pair_of_a_table_with_its_own_times_is_pinged_and_given_up_by_them() {
    let timing = Timing { ping_ms: 100, silence_ms: 1_000, ..Timing::DEFAULT };
    let mut pairs: PeerPairs<Name> = PeerPairs::with_timing(PeerNumber(1), timing);
    assert!(pairs.begin_anew(true).is_empty());
    take(&mut pairs, "a", offer(5), 0);
    let pair = pairs.pair_with(PeerNumber(2)).expect("it stands");
    let pair = pairs.current(pair).expect("it stands");
    let pulses = [99, 100, 1_000, 1_001].map(|now_ms| pair.pulse(MonoTime::of_ms(now_ms)));
    assert_eq!(pulses, [Pulse::Well, Pulse::Ping, Pulse::Ping, Pulse::Silent]);
}
