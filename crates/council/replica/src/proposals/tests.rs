use base::{MonoTime, WallTime};
use consensus_raft::LogIndex;
use council_tree::{Identities, Operation, Origin, Policy};

use super::*;

/// Bytes of a command that is as long as a session may put forward in one turn.
const LONG: usize = 60_000;
const NOW: MonoTime = MonoTime::of_ms(5);

fn command(session: i64, sequence: u64, bytes: usize) -> Vec<u8> {
    let origin = Some(Origin { session: SessionId(session), generation: 1, sequence });
    let body = vec![b'x'; bytes];
    let operation = Operation::Client { opcode: council_wire::OpCode::SetData, body: &body };
    let mut encoded = Vec::new();
    Command { origin, policy: Policy::standard(), identities: Identities::NONE, operation }
        .encode(&mut encoded);
    encoded
}

fn put(proposals: &mut Proposals, command: &[u8], whose: Whose) {
    proposals.put(command, weight_of(command), whose);
}

/// Session and sequence of each command, in order.
fn named(contents: &[Bytes]) -> Vec<(i64, u64)> {
    let mut names = Vec::new();
    for content in contents {
        let mut reader = BatchReader::new(content).expect("what was written");
        while let Ok(Some(command)) = reader.next_command() {
            let origin = Command::decode(command).expect("what was written").origin.expect("a client's");
            names.push((origin.session.0, origin.sequence));
        }
    }
    names
}

fn leading(under_way_max: u64) -> Proposals {
    let mut proposals = Proposals::new(1 << 20, under_way_max);
    proposals.led_anew(true);
    proposals
}

/// What is proposed next, as the entry of that index.
fn proposed(proposals: &mut Proposals, index: LogIndex) -> Vec<(i64, u64)> {
    proposals.take_turns(NOW);
    let proposal = proposals.propose(WallTime::default(), u64::MAX);
    proposals.proposed(index, proposal.weight);
    named(&proposal.own)
}

#[test]
fn small_write_does_not_wait_for_what_another_session_has_piled_up() {
    let mut proposals = leading(LONG as u64);
    (1..=20).for_each(|sequence| put(&mut proposals, &command(1, sequence, LONG), Whose::Own));
    put(&mut proposals, &command(2, 1, 10), Whose::Own);
    assert_eq!(proposed(&mut proposals, LogIndex(1)), [(1, 1)], "no more is under way than may be");
    assert_eq!(proposed(&mut proposals, LogIndex(2)), []);
    proposals.applied(LogIndex(1));
    assert_eq!(proposed(&mut proposals, LogIndex(3)), [(1, 2)], "its first turn was not over");
    proposals.applied(LogIndex(3));
    assert_eq!(proposed(&mut proposals, LogIndex(4))[0], (2, 1));
}

#[test]
fn sessions_take_turns_each_in_its_order_and_none_waits_for_ever() {
    let mut proposals = leading(1);
    for sequence in 1..=4 {
        (1..=3).for_each(|session| put(&mut proposals, &command(session, sequence, LONG), Whose::Own));
    }
    let mut order = Vec::new();
    for index in 1..=12 {
        let now = proposed(&mut proposals, LogIndex(index));
        assert_eq!(now.len(), 1);
        order.extend(now);
        proposals.applied(LogIndex(index));
        // Small ones come and come.
        put(&mut proposals, &command(100 + index as i64, 1, 1), Whose::Own);
        proposals.applied(LogIndex(index));
    }
    for session in 1..=3 {
        let sequences: Vec<_> = order.iter().filter(|one| one.0 == session).map(|one| one.1).collect();
        assert!(sequences.is_sorted() && !sequences.is_empty(), "{order:?}");
    }
    assert!(order.iter().any(|one| one.0 > 100), "{order:?}");
}

#[test]
fn who_leads_no_more_lets_go_of_other_members_commands_and_forwards_its_own() {
    let mut proposals = leading(1);
    for (sequence, whose) in [(1, Whose::Own), (2, Whose::Own), (3, Whose::Relayed)] {
        put(&mut proposals, &command(7, sequence, 10), whose);
    }
    assert_eq!(proposals.waiting(), 2);
    proposals.led_anew(false);
    assert_eq!(proposals.relayed_bytes(), command(7, 2, 10).len(), "its own second one");
    proposals.keep_to_forward();
    proposals.take_turns(NOW);
    assert_eq!(proposals.waiting(), 1, "the first is under way");
    assert_eq!(named(&[proposals.next_to_give().expect("the first")]), [(7, 1)]);
    assert!(proposals.settle(|_| true));
    proposals.take_turns(NOW);
    proposals.keep_to_forward();
    assert_eq!(named(&[proposals.next_to_give().expect("the second")]), [(7, 2)]);
    assert!(proposals.next_to_give().is_none() && proposals.waiting() == 0);
}

#[test]
fn what_other_members_gave_of_a_session_that_ended_is_dropped_however_often_they_gave_it() {
    let mut proposals = leading(LONG as u64);
    put(&mut proposals, &command(1, 1, LONG), Whose::Own);
    (0..50).for_each(|_| put(&mut proposals, &command(2, 7, 100), Whose::Relayed));
    put(&mut proposals, &command(3, 1, 100), Whose::Own);
    (0..50).for_each(|_| put(&mut proposals, &command(3, 2, 100), Whose::Relayed));
    let before = proposals.relayed_bytes();
    proposals.came_late(SessionId(2), None);
    assert!(proposals.relayed_bytes() < before);
    proposals.came_late(SessionId(3), None);
    proposals.came_late(SessionId(4), None);
    assert_eq!(proposed(&mut proposals, LogIndex(1)), [(1, 1)]);
    proposals.applied(LogIndex(1));
    proposals.take_turns(NOW);
    let proposal = proposals.propose(WallTime::default(), u64::MAX);
    assert_eq!(
        (named(&proposal.relayed), named(&proposal.own)),
        (vec![], vec![(3, 1)]),
        "its own client waits"
    );
    assert_eq!((proposals.relayed_bytes(), proposals.waiting()), (0, 0));
}

#[test]
fn what_other_members_gave_of_an_earlier_connection_is_dropped() {
    let mut proposals = leading(LONG as u64);
    put(&mut proposals, &command(1, 1, LONG), Whose::Own);
    (0..50).for_each(|_| put(&mut proposals, &command(2, 7, 100), Whose::Relayed));
    proposals.came_late(SessionId(2), Some(1));
    assert_ne!(proposals.relayed_bytes(), 0, "of the present one");
    proposals.came_late(SessionId(2), Some(2));
    assert_eq!(proposals.relayed_bytes(), 0);
}

#[test]
fn all_that_waits_is_taken_out_in_order_when_it_is_to_be_refused() {
    let mut proposals = leading(1);
    (1..=4).for_each(|sequence| put(&mut proposals, &command(7, sequence, 10), Whose::Own));
    let taken = proposals.take_waiting();
    let sequence =
        |command: &[u8]| Command::decode(command).expect("a command").origin.expect("a client's").sequence;
    assert_eq!(taken.iter().map(|command| sequence(command)).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!((proposals.waiting(), proposals.ready(), proposals.relayed_bytes()), (0, 0, 0));
}

#[test]
fn many_operations_weigh_more_than_one_of_their_length() {
    let of = |opcode| {
        let operation = Operation::Client { opcode, body: &[0; 5_000] };
        let mut encoded = Vec::new();
        Command::internal(operation).encode(&mut encoded);
        weight_of(&encoded)
    };
    assert!(of(council_wire::OpCode::Multi) > 3 * of(council_wire::OpCode::SetData));
}

#[test]
fn heavy_command_goes_alone_and_the_next_one_when_it_is_applied_and_has_rested() {
    let mut proposals = leading(8 * HEAVY);
    (1..=3).for_each(|session| proposals.put(&command(session, 1, 10), HEAVY + 1, Whose::Own));
    assert_eq!(proposed(&mut proposals, LogIndex(1)), [(1, 1)]);
    assert_eq!(proposed(&mut proposals, LogIndex(2)), [], "one is under way");
    proposals.applied(LogIndex(1));
    assert_eq!(proposed(&mut proposals, LogIndex(2)), [], "it rests");
    assert_eq!(proposals.deadline(NOW), Some(NOW.plus_ms(2)));
    assert_eq!(proposals.deadline(NOW.plus_ms(2)), None, "nothing rests any more");
    put(&mut proposals, &command(4, 1, 10), Whose::Own);
    assert_eq!(proposed(&mut proposals, LogIndex(2)), [(4, 1)], "a small one does not");
    proposals.applied(LogIndex(2));
    proposals.take_turns(NOW.plus_ms(2));
    assert_eq!(named(&proposals.propose(WallTime::default(), u64::MAX).own), [(2, 1)]);
}

#[test]
fn heavy_command_rests_longer_where_others_could_be_held_up() {
    let mut rest = Rest::default();
    let mut rest_ms = |others: bool, from_ms: u64, to_ms: u64| {
        let (from, to) = (MonoTime::of_ms(from_ms), MonoTime::of_ms(to_ms));
        if others {
            rest.other_came();
        }
        rest.turn(from);
        rest.begin(from);
        rest.applied(HEAVY + 1);
        rest.turn(to);
        rest.until().since(to)
    };
    assert_eq!(rest_ms(false, 1_000, 1_010), 2);
    assert_eq!(rest_ms(true, 2_000, 2_010), 30);
    assert_eq!(rest_ms(false, 2_900, 2_910), 30, "they came lately");
    assert_eq!(rest_ms(true, 3_000, 9_000), 2, "long ago");
    assert_eq!(rest_ms(true, 10_000, 10_900), 100, "no longer than that");
}

#[test]
fn heavy_command_that_rests_keeps_none_of_another_session_waiting() {
    let mut proposals = leading(8 * HEAVY);
    proposals.put(&command(1, 1, 10), HEAVY + 1, Whose::Own);
    proposals.put(&command(1, 2, 10), HEAVY + 1, Whose::Own);
    proposals.put(&command(2, 1, 10), HEAVY + 1, Whose::Own);
    assert_eq!(proposed(&mut proposals, LogIndex(1)), [(1, 1)]);
    proposals.applied(LogIndex(1));
    for sequence in 1..=40 {
        put(&mut proposals, &command(3, sequence, LONG), Whose::Own);
    }
    put(&mut proposals, &command(1, 3, 10), Whose::Own);
    let bulky = proposed(&mut proposals, LogIndex(2));
    assert!(bulky.len() > 10 && bulky.iter().all(|one| one.0 == 3), "{bulky:?}");
}

#[test]
fn most_of_the_room_is_kept_for_sessions_that_have_piled_nothing_up() {
    let mut proposals = leading(16 * LONG as u64);
    (1..=30).for_each(|sequence| put(&mut proposals, &command(1, sequence, LONG), Whose::Own));
    let first = proposed(&mut proposals, LogIndex(1)).len();
    assert!((15..=16).contains(&first), "all the room, while it was alone: {first}");
    put(&mut proposals, &command(2, 1, 10), Whose::Own);
    proposals.applied(LogIndex(1));
    let next = proposed(&mut proposals, LogIndex(2));
    assert!(next.contains(&(2, 1)) && (2..=4).contains(&next.len()), "{next:?}");
    put(&mut proposals, &command(3, 1, 10), Whose::Own);
    assert_eq!(proposed(&mut proposals, LogIndex(3)), [(3, 1)], "at once");
}

#[test]
fn bulky_session_goes_on_however_little_may_be_under_way() {
    let mut proposals = leading(1);
    (1..=3).for_each(|sequence| put(&mut proposals, &command(1, sequence, LONG), Whose::Own));
    for index in 1..=3 {
        assert_eq!(proposed(&mut proposals, LogIndex(index)), [(1, index)]);
        proposals.applied(LogIndex(index));
    }
}
