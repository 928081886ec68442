//! Members that die, stand still, lose and repeat messages, and start again.

mod support;

use std::collections::BTreeMap;

use objects_replica::edge::{Consistency, Question, Request, SessionProof};
use objects_state::{Call, Caller, Command, Identity, Invocation, NewSession, Slug};
use support::{Faults, World, by, key, object, proof, session};

use Identity::Anonymous;

/// Anonymous increments at all members while something happens; then what was counted is what was answered, and at the
/// most also what is said to be unknown.
fn count_through(world: &mut World, mut happen: impl FnMut(&mut World, u64)) {
    let mut asked: BTreeMap<(u64, u64), ()> = BTreeMap::new();
    let (mut done, mut unknown) = (0, 0);
    for step in 0..60 {
        happen(world, step);
        for id in 1..=3 {
            if world.members.contains_key(&id) && !world.paused.contains(&id) {
                asked.insert((id, world.call(id, "counter/a", "increment", "", Anonymous)), ());
            }
        }
        world.pass(50);
        asked.retain(|(id, number), ()| {
            match (world.members.get(id), world.answer(*id, *number)) {
                (None, _) => unknown += 1,
                (Some(_), None) => return true,
                (Some(_), Some(_)) => match world.slug(*id, *number) {
                    None => done += 1,
                    Some(Slug::OutcomeUnknown) => unknown += 1,
                    Some(Slug::NoLeader) => {}
                    Some(other) => panic!("{other:?}"),
                },
            }
            false
        });
    }
    world.faults = Faults::default();
    world.pass(40_000);
    for ((id, number), ()) in asked {
        match (world.answer(id, number), world.slug(id, number)) {
            (None, _) => panic!("request {number} of {id} is never answered"),
            (Some(_), None) => done += 1,
            (Some(_), Some(Slug::OutcomeUnknown)) => unknown += 1,
            (Some(_), Some(_)) => {}
        }
    }
    world.check_equal();
    let counted = world.counted(1, "counter/a");
    assert!((done..=done + unknown).contains(&counted), "{done} done, {unknown} unknown, {counted} counted");
    assert!(done >= 60, "only {done} were done");
}

#[test]
fn repeated_and_late_messages_apply_nothing_twice() {
    let mut world = World::new();
    world.faults = Faults { repeated: 500, delayed: 300, lost: 0 };
    count_through(&mut world, |_, _| {});
}

#[test]
fn lost_messages_lose_no_command() {
    let mut world = World::new();
    world.faults = Faults { lost: 200, repeated: 100, delayed: 100 };
    count_through(&mut world, |_, _| {});
}

#[test]
fn leaders_that_die_and_come_back_lose_and_double_nothing() {
    let mut world = World::new();
    world.faults = Faults { repeated: 200, delayed: 200, lost: 0 };
    let mut dead = None;
    count_through(&mut world, |world, step| match step % 20 {
        5 => {
            world.pass_until(10_000, |world| world.find_leader().is_some());
            let leader = world.leader();
            world.kill(leader);
            dead = Some(leader);
        }
        15 => world.start(dead.take().expect("one died")),
        _ => {}
    });
}

#[test]
fn leaders_that_are_cut_off_lose_and_double_nothing() {
    let mut world = World::new();
    let mut away = None;
    count_through(&mut world, |world, step| match step % 30 {
        5 => {
            world.pass_until(10_000, |world| world.find_leader().is_some());
            let leader = world.leader();
            world.set_away(leader, true);
            away = Some(leader);
        }
        25 => world.set_away(away.take().expect("one is away"), false),
        _ => {}
    });
}

#[test]
fn waiting_call_is_granted_though_the_leader_dies() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    let third = 6 - leader - follower;
    world.open(follower, 1, 60_000);
    world.open(third, 2, 60_000);
    let holds = world.call(follower, "lock/a", "acquire", "", by(1, 1));
    let held = world.wait(follower, holds);
    let waits = world.call(third, "lock/a", "acquire", "", by(2, 1));
    world.ticket(third, waits);
    world.kill(leader);
    let fence =
        held.split("\"fence\":").nth(1).and_then(|rest| rest.split([',', '}']).next()).expect("a fence");
    let release = world.call(follower, "lock/a", "release", &format!("{{\"fence\":{fence}}}"), by(1, 2));
    assert!(world.wait(follower, release).contains("\"holds\":0"));
    assert!(world.wait(third, waits).contains("\"acquired\":true"));
    world.start(leader);
    world.check_equal();
}

#[test]
fn call_that_waited_at_a_dead_member_is_found_at_another_one() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    world.open(leader, 1, 60_000);
    let holds = world.call(leader, "lock/a", "acquire", "", by(1, 1));
    let held = world.wait(leader, holds);
    let waits = world.call(follower, "lock/a", "acquire", "", key("k"));
    let waits_other = world.call(follower, "latch/b", "await", "", key("l"));
    let _ = world.ticket(follower, waits_other);
    assert_eq!(world.slug(follower, waits), Some(Slug::BadArgument), "a lock belongs to a session");
    world.open(follower, 2, 60_000);
    let waits = world.call(follower, "lock/a", "acquire", "", by(2, 1));
    let ticket = world.ticket(follower, waits);
    world.kill(follower);
    let again = world.call(leader, "lock/a", "acquire", "", by(2, 1));
    assert_eq!(world.ticket(leader, again), ticket);
    let collect = |origin| Request::Collect { origin, principal: "ada".into(), ticket, proof: None };
    let third = 6 - leader - follower;
    let collected = world.ask(third, collect);
    let foreign = world.ask(third, |origin| {
        let (principal, proof) = ("eve".into(), None);
        Request::Collect { origin, principal, ticket, proof }
    });
    assert_eq!(world.wait(third, foreign), "refused forbidden");
    let unknown = world.ask(third, |origin| {
        let (principal, proof) = ("ada".into(), None);
        Request::Collect { origin, principal, ticket: 1, proof }
    });
    assert_eq!(world.wait(third, unknown), "refused no-such-ticket");
    let fence =
        held.split("\"fence\":").nth(1).and_then(|rest| rest.split([',', '}']).next()).expect("a fence");
    let release = world.call(leader, "lock/a", "release", &format!("{{\"fence\":{fence}}}"), by(1, 2));
    world.wait(leader, release);
    let granted = world.wait(leader, again);
    assert_eq!(world.wait(third, collected), granted);
    let late = world.ask(third, collect);
    assert_eq!(world.wait(third, late), granted, "it is kept until it is acknowledged");
}

#[test]
fn anonymous_wait_ends_with_its_caller_and_others_do_not() {
    let mut world = World::new();
    let follower = world.follower();
    let anonymous = world.call(follower, "queue/a", "take", "", Anonymous);
    let keyed = world.call(follower, "queue/a", "take", "", key("k"));
    world.ticket(follower, anonymous);
    world.ticket(follower, keyed);
    for number in [anonymous, keyed] {
        let origin = objects_replica::edge::origin(follower, 0, number);
        world.tell(follower, Request::Gone { origin });
    }
    world.check_equal();
    assert_eq!(world.members[&1].state.counts()[2], 1, "the other can be collected");
    assert_eq!(world.answer(follower, anonymous), None);
    // Gone before it began to wait.
    let gone = world.call(follower, "queue/a", "take", "", Anonymous);
    let origin = objects_replica::edge::origin(follower, 0, gone);
    world.tell(follower, Request::Gone { origin });
    world.check_equal();
    assert_eq!(world.members[&1].state.counts()[2], 1);
    assert_eq!(world.members[&follower].core.status().requests_joined, 0);
}

#[test]
fn silent_session_expires_in_time_and_the_next_is_granted() {
    let mut world = World::new();
    let follower = world.follower();
    world.open(follower, 1, 2_000);
    world.open(follower, 2, 60_000);
    let holds = world.call(follower, "lock/a", "acquire", "", by(1, 1));
    world.wait(follower, holds);
    let silent_since = world.now_ms;
    let waits = world.call(follower, "lock/a", "acquire", "", by(2, 1));
    world.ticket(follower, waits);
    assert!(!world.pass_until(1_900, |world| world.answer(follower, waits).is_some()));
    world.wait(follower, waits);
    let took = world.now_ms - silent_since;
    assert!((2_000..=2_300).contains(&took), "{took} ms");
}

#[test]
fn request_that_waits_for_a_fresher_state_keeps_its_session_from_when_it_came() {
    let mut world = World::new();
    let follower = world.follower();
    world.open(follower, 1, 5_000);
    world.set_away(follower, true);
    let came_at = world.now_ms;
    let asked = world.ask(follower, |origin| Request::Query {
        origin,
        principal: "ada".into(),
        question: Question::Ready,
        consistency: Consistency::Linearizable,
        min_position: None,
        proof: Some(proof(1)),
    });
    world.pass(3_500);
    assert_eq!(world.answer(follower, asked), None);
    world.set_away(follower, false);
    world.wait(follower, asked);
    let has_ended = |world: &World| world.members[&follower].state.session(session(1)).is_none();
    assert!(world.pass_until(10_000, has_ended));
    // A lease longer than its time, for the member was cut off; from when it was answered it would have been 8.5 s.
    let took = world.now_ms - came_at;
    assert!((5_000..=7_500).contains(&took), "{took} ms");
}

#[test]
fn session_lives_as_long_as_any_member_hears_of_it() {
    let mut world = World::new();
    let follower = world.follower();
    world.open(follower, 1, 1_000);
    for step in 0..60 {
        // The leader changes twice meanwhile.
        if step % 20 == 10 {
            let leader = world.leader();
            if leader != follower {
                world.kill(leader);
                world.pass(500);
                world.start(leader);
            }
        }
        let renewed = world.renew(follower, 1);
        world.pass(400);
        assert!(world.answer(follower, renewed).is_some_and(|answer| answer.contains("\"generation\":1")));
    }
}

#[test]
fn open_stream_keeps_a_session_alive_by_what_its_edge_says() {
    let mut world = World::new();
    let follower = world.follower();
    world.open(follower, 1, 1_000);
    for _ in 0..20 {
        let heard = vec![(session(1), world.now(follower).mono())];
        world.tell(follower, Request::Heard { edge: 0, round: None, sessions: heard });
        world.pass(300);
    }
    assert!(world.members[&follower].state.session(session(1)).is_some());
}

#[test]
fn waiting_call_keeps_its_session_for_as_long_as_its_connection_is_open() {
    let mut world = World::new();
    let follower = world.follower();
    world.open(follower, 1, 60_000);
    world.open(follower, 2, 1_000);
    let holds = world.call(follower, "lock/a", "acquire", "", by(1, 1));
    world.wait(follower, holds);
    let held = world.call(follower, "lock/b", "acquire", "", by(2, 1));
    world.wait(follower, held);
    let next = world.call(follower, "lock/b", "acquire", "", by(1, 2));
    let waits = world.call(follower, "lock/a", "acquire", "", by(2, 2));
    world.ticket(follower, waits);
    world.pass(5_000);
    let leader = world.leader();
    if leader != follower {
        world.kill(leader);
        world.pass(3_000);
        world.start(leader);
    }
    world.pass(5_000);
    assert!(world.members[&follower].state.session(session(2)).is_some());
    assert_eq!((world.answer(follower, waits), world.answer(follower, next)), (None, None));
    world.hang_up(follower, waits);
    let hung_up = world.now_ms;
    world.wait(follower, next);
    let took = world.now_ms - hung_up;
    // The leader was told of it 150 ms before at the earliest.
    assert!((850..=1_300).contains(&took), "{took} ms");
}

#[test]
fn only_its_own_client_keeps_a_session_by_waiting() {
    let mut world = World::new();
    let member = world.follower();
    world.open(member, 1, 60_000);
    world.open(member, 2, 60_000);
    let waits = world.call(member, "queue/a", "take", "{\"lease_ms\":1000}", by(1, 1));
    let ticket = world.ticket(member, waits);
    assert_eq!(world.members[&member].keeps.get(&waits), Some(&session(1)));
    let third = 6 - world.leader() - member;
    world.pass(100);
    for (given, keeps) in [(None, None), (Some(proof(2)), None), (Some(proof(1)), Some(session(1)))] {
        let collects = world.ask(third, |origin| {
            let principal = "ada".into();
            Request::Collect { origin, principal, ticket, proof: given }
        });
        assert_eq!(world.ticket(third, collects), ticket);
        assert_eq!(world.members[&third].keeps.get(&collects).copied(), keeps, "{given:?}");
    }
    let forged = SessionProof { secret_hash: [0; 32], ..proof(1) };
    let refused = world.ask(third, |origin| {
        let principal = "ada".into();
        Request::Collect { origin, principal, ticket, proof: Some(forged) }
    });
    assert_eq!(world.wait(third, refused), "refused unauthenticated");
    let keyed = world.call(member, "queue/a", "take", "", key("k"));
    world.ticket(member, keyed);
    assert_eq!(world.members[&member].keeps.get(&keyed), None, "it has no session");
}

#[test]
fn call_keeps_the_session_that_it_opens_also_when_it_is_repeated() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    world.open(leader, 1, 60_000);
    let holds = world.call(leader, "lock/a", "acquire", "", by(1, 1));
    world.wait(leader, holds);
    let opens = |number: u8| {
        let (id, name) = (session(number), None);
        NewSession { id, secret_hash: [number; 32], generation: 1, ttl_ms: 1_000, name }
    };
    let acquire = |world: &mut World, id, number| {
        let invocation = Invocation { method: "acquire".into(), args: b"{\"ttl_ms\":1000}".to_vec() };
        let (object, opens) = (object("lock/a"), Some(opens(number)));
        let call = |caller| {
            let (incarnation, wait_ms) = (None, None);
            Command::Call(Call { caller, object, incarnation, create: true, wait_ms, opens, invocation })
        };
        world.command(id, call, key("k"))
    };
    let first = acquire(&mut world, follower, 7);
    let ticket = world.ticket(follower, first);
    // Its connection breaks; its client repeats it elsewhere, where another session is drawn for it.
    world.hang_up(follower, first);
    let second = acquire(&mut world, leader, 8);
    assert_eq!(world.ticket(leader, second), ticket);
    assert_eq!(world.members[&leader].keeps.get(&second), Some(&session(7)));
    world.pass(5_000);
    assert!(world.members[&leader].state.session(session(7)).is_some());
    world.hang_up(leader, second);
    world.pass(1_400);
    assert!(world.members[&leader].state.session(session(7)).is_none());
}

#[test]
fn edge_that_does_not_answer_holds_up_every_expiry() {
    let mut world = World::new();
    let follower = world.follower();
    world.open(follower, 1, 1_000);
    world.member(follower).edge_answers = false;
    world.pass(5_000);
    assert!(world.members[&follower].state.session(session(1)).is_some());
    world.member(follower).edge_answers = true;
    // The round that it did not answer is over when another one begins.
    let round = (1..200).map(|round| Request::Heard { edge: 0, round: Some(round), sessions: Vec::new() });
    round.for_each(|heard| world.tell(follower, heard));
    world.pass(3_000);
    assert!(world.members[&follower].state.session(session(1)).is_none());
}

#[test]
fn new_leader_gives_each_session_its_full_time() {
    let mut world = World::new();
    let leader = world.leader();
    world.open(leader, 1, 3_000);
    world.pass(2_500);
    // Nobody dies, so no member is silent that may have heard of it.
    world.member(leader).core.step_aside();
    world.pass(500);
    assert_ne!(world.leader(), leader);
    world.pass(2_300);
    assert!(world.members[&leader].state.session(session(1)).is_some());
    world.pass(800);
    assert!(world.members[&leader].state.session(session(1)).is_none());
}

#[test]
fn copy_in_the_log_of_what_an_old_leader_committed_is_passed_over() {
    // The leader dies after each of the first turns: before it has the commands, with them in its log, in a majority's.
    for turns in 0..10 {
        let mut world = World::new();
        let (leader, follower) = (world.leader(), world.follower());
        let asked: Vec<_> =
            (0..5).map(|_| world.call(follower, "counter/a", "increment", "", Anonymous)).collect();
        (0..turns).for_each(|_| world.turn());
        world.kill(leader);
        for asked in &asked {
            assert!(world.wait(follower, *asked).starts_with("{\"value\":"), "after {turns} turns");
        }
        world.start(leader);
        world.check_equal();
        assert_eq!(world.counted(follower, "counter/a"), 5, "after {turns} turns");
    }
}

#[test]
fn leader_that_is_told_of_whom_members_hear_asks_nobody() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    world.open(follower, 1, 3_000);
    let rounds = world.members[&leader].core.status().rounds;
    for _ in 0..40 {
        world.renew(follower, 1);
        world.pass(300);
    }
    assert_eq!(world.members[&leader].core.status().rounds, rounds);
}

#[test]
fn process_that_stood_still_adds_the_pause() {
    let mut world = World::new();
    world.open(1, 1, 5_000);
    world.pass(2_000);
    world.paused.extend(1..=3);
    world.pass(20_000);
    world.paused.clear();
    world.pass(1_000);
    assert!(world.members[&1].state.session(session(1)).is_some());
    world.pass(12_000);
    assert!(world.members[&1].state.session(session(1)).is_none());
}

#[test]
fn deadlines_pass_in_order_and_in_time() {
    let mut world = World::new();
    let follower = world.follower();
    let late = world.call(follower, "queue/a", "take", "{\"wait_ms\":1500}", key("late"));
    let early = world.call(follower, "queue/a", "take", "{\"wait_ms\":700}", key("early"));
    world.ticket(follower, late);
    let began = world.now_ms;
    world.wait(follower, early);
    assert!((690..=800).contains(&(world.now_ms - began)), "{}", world.now_ms - began);
    assert_eq!(world.answer(follower, late), None);
    world.wait(follower, late);
    assert!((1_490..=1_600).contains(&(world.now_ms - began)), "{}", world.now_ms - began);
}

#[test]
fn deadline_outlives_a_leader_and_a_clock_that_is_behind() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    for id in (1..=3).filter(|id| *id != leader) {
        world.clock_offset_ms.insert(id, -60_000);
    }
    let waits = world.call(follower, "queue/a", "take", "{\"wait_ms\":3000}", key("k"));
    world.ticket(follower, waits);
    let began = world.now_ms;
    let stamp = world.members[&follower].state.stamp();
    world.kill(leader);
    world.wait(follower, waits);
    let took = world.now_ms - began;
    assert!((2_990..=4_500).contains(&took), "{took} ms");
    assert!(world.members[&follower].state.stamp().since(stamp) >= 2_990);
}

#[test]
fn many_deadlines_at_once_take_several_ticks() {
    let mut world = World::new();
    let asked: Vec<_> =
        (0..2_500).map(|_| world.call(1, "queue/a", "take", "{\"wait_ms\":2000}", Anonymous)).collect();
    world.pass(4_000);
    assert!(asked.iter().all(|asked| world.answer(1, *asked).is_some()));
    world.check_equal();
}

#[test]
fn member_that_was_away_takes_a_snapshot_and_ends_the_waits_that_ended_meanwhile() {
    let mut world = World::with(|config| {
        config.replica.window_bytes_max = 0;
        config.replica.snapshot_after_commands = 20;
        // What it was given before it was cut off is settled by the snapshot.
        config.unknown_ms = 600_000;
    });
    let (leader, away) = (world.leader(), world.follower());
    let keyed = world.call(away, "queue/a", "take", "", key("k"));
    let anonymous = world.call(away, "queue/a", "take", "", Anonymous);
    let waits = world.call(away, "queue/b", "take", "", key("w"));
    for asked in [keyed, anonymous, waits] {
        world.ticket(away, asked);
    }
    let watch = |origin| {
        let subject = objects_replica::edge::Subject::Object(support::object("queue/a"));
        Request::Watch { origin, principal: "ada".into(), subject, after: None }
    };
    world.ask(away, watch);
    world.set_away(away, true);
    for item in 0..100 {
        let put = world.call(leader, "queue/a", "put", &format!("{{\"item\":{item}}}"), Anonymous);
        world.wait(leader, put);
    }
    world.request_snapshot(leader);
    world.pass(500);
    world.set_away(away, false);
    world.pass(3_000);
    assert!(world.members[&away].core.status().states_replaced > 0);
    assert!(world.wait(away, keyed).contains("\"item\":0"));
    assert_eq!(world.wait(away, anonymous), "refused outcome-unknown");
    assert_eq!(world.answer(away, waits), None);
    assert!(world.members[&away].lost_events > 0);
    let put = world.call(away, "queue/b", "put", "{\"item\":7}", Anonymous);
    world.wait(away, put);
    assert!(world.wait(away, waits).contains("\"item\":7"));
    world.check_equal();
}

#[test]
fn process_that_starts_again_goes_on_behind_the_one_before() {
    let mut world = World::new();
    let follower = world.follower();
    for round in 1..=3 {
        for _ in 0..5 {
            let asked = world.call(follower, "counter/a", "increment", "", Anonymous);
            world.wait(follower, asked);
        }
        // Under way when it dies: applied or not, its answer belongs to nobody.
        world.call(follower, "counter/b", "increment", "", Anonymous);
        world.turn();
        world.kill(follower);
        if round == 2 {
            world.clock_offset_ms.insert(follower, -86_400_000);
        }
        world.pass(200);
        world.start(follower);
        world.pass(3_000);
        assert!(world.members[&follower].done.is_empty());
    }
    world.check_equal();
    assert_eq!(world.counted(1, "counter/a"), 15);
}

#[test]
fn whole_group_starts_again_from_snapshots_and_logs() {
    let mut world = World::with(|config| config.replica.snapshot_after_commands = 30);
    world.open(1, 7, 600_000);
    let first = world.call(1, "counter/a", "increment", "", by(7, 1));
    let first = world.wait(1, first);
    let waits = world.call(1, "queue/a", "take", "", by(7, 2));
    let ticket = world.ticket(1, waits);
    for id in (1..=3).cycle().take(90) {
        let asked = world.call(id, "counter/a", "increment", "", Anonymous);
        world.wait(id, asked);
    }
    (1..=3).for_each(|id| world.kill(id));
    world.pass(1_000);
    (1..=3).for_each(|id| world.start(id));
    world.pass(3_000);
    world.check_equal();
    assert_eq!(world.counted(1, "counter/a"), 91);
    let again = world.call(2, "counter/a", "increment", "", by(7, 1));
    assert_eq!(world.wait(2, again), first);
    let again = world.call(2, "queue/a", "take", "", by(7, 2));
    assert_eq!(world.ticket(2, again), ticket);
}

#[test]
fn close_frees_at_once() {
    let mut world = World::new();
    world.open(1, 1, 60_000);
    world.open(1, 2, 60_000);
    let holds = world.call(1, "lock/a", "acquire", "", by(1, 1));
    world.wait(1, holds);
    let waits = world.call(2, "lock/a", "acquire", "", by(2, 1));
    world.ticket(2, waits);
    let close =
        world.command(3, |caller: Caller| Command::CloseSession { caller, session: session(1) }, by(1, 2));
    world.wait(3, close);
    assert!(world.wait(2, waits).contains("\"acquired\":true"));
    let late = world.call(3, "lock/a", "acquire", "", by(1, 3));
    assert_eq!(world.wait(3, late), "refused session-expired");
    let renewed = world.ask(3, |origin| Request::Renew { origin, principal: "ada".into(), proof: proof(1) });
    assert_eq!(world.wait(3, renewed), "refused session-expired");
}

#[test]
fn linearizable_query_at_a_deposed_leader_is_not_answered_from_its_state() {
    let mut world = World::new();
    let old = world.leader();
    world.set_away(old, true);
    let read = world.query(old, "counter/a", "get", Consistency::Linearizable);
    world.pass(1_500);
    let new = world.leader();
    assert_ne!(new, old);
    let wrote = world.call(new, "counter/a", "increment", "", Anonymous);
    world.wait(new, wrote);
    world.set_away(old, false);
    assert_eq!(world.wait(old, read), "{\"value\":1}");
}

#[test]
fn process_that_stood_still_answers_nothing_under_a_lease_that_is_over() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    world.paused.insert(follower);
    let wrote = world.call(leader, "counter/a", "increment", "", Anonymous);
    world.wait(leader, wrote);
    world.pass(3_000);
    // The first thing that it does is to take what its clients have sent.
    let read = world.query(follower, "counter/a", "get", Consistency::Stale);
    let mail = world.member(follower).core.answers(0).drain(..).collect::<Vec<_>>();
    assert!(format!("{mail:?}").contains("NoLeader"), "{mail:?}");
    assert_eq!(world.answer(follower, read), None);
}

#[test]
fn copies_of_what_members_forward_are_not_put_into_the_log() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    world.faults = Faults { repeated: 1_000, ..Faults::default() };
    let before = world.members[&leader].core.status().commands;
    for _ in 0..100 {
        world.call(follower, "counter/a", "increment", "", Anonymous);
        world.pass(10);
    }
    world.check_equal();
    assert_eq!(world.members[&leader].core.status().commands - before, 100);
}

#[test]
fn anonymous_waits_end_with_their_members_process_and_others_do_not() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    let count = |world: &World| world.members[&leader].state.counts()[2];
    for _ in 0..500 {
        world.call(follower, "queue/a", "take", "", Anonymous);
    }
    let keyed = world.call(follower, "queue/a", "take", "", key("k"));
    world.ticket(follower, keyed);
    let other = world.call(leader, "queue/a", "take", "", Anonymous);
    world.ticket(leader, other);
    world.check_equal();
    assert_eq!(count(&world), 502);
    world.kill(follower);
    world.pass(3_000);
    assert_eq!(count(&world), 502, "it may only be cut off");
    world.start(follower);
    world.pass(3_000);
    world.check_equal();
    assert_eq!(count(&world), 2);
    let put = world.call(leader, "queue/a", "put", "{\"item\":1}", Anonymous);
    world.wait(leader, put);
    let again = world.call(leader, "queue/a", "take", "", key("k"));
    assert!(world.wait(leader, again).contains("\"item\":1"), "the oldest that is left");
}

/// The field of a result, as its text.
fn field<'a>(result: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = result.split_once(&format!("\"{name}\":"))?;
    rest.split([',', '}']).next()
}

/// Items of a queue at one member, with their ids.
fn listed(world: &World) -> BTreeMap<usize, u64> {
    let (mut items, mut after) = (BTreeMap::new(), 0);
    loop {
        let args = format!("{{\"after\":{after},\"limit\":100}}");
        let queue = support::object("queue/a");
        let page =
            world.members[&1].state.query(&queue, None, true, "list", args.as_bytes()).expect("a page");
        let before = items.len();
        for entry in page.split("{\"id\":").skip(1) {
            let id: u64 = entry.split(',').next().and_then(|id| id.parse().ok()).expect("an id");
            let item: usize = field(entry, "item").and_then(|item| item.parse().ok()).expect("an item");
            assert_eq!(items.insert(item, id), None, "item {item} was put twice");
            after = id;
        }
        if items.len() == before {
            return items;
        }
    }
}

/// Puts numbered items at all members while leaders die and messages are lost, repeated and late. Gives how each was
/// answered, if it was.
fn put_through_faults(world: &mut World, seed: u64) -> Vec<Option<String>> {
    world.faults = Faults { repeated: 200, delayed: 200, lost: 50 };
    let mut asked: Vec<(u64, u64, Option<String>)> = Vec::new();
    let mut dead = None;
    for step in 0..80_u64 {
        if step % 20 == 12 {
            world.start(dead.take().expect("one died"));
        }
        for id in (1..=3).filter(|id| Some(*id) != dead) {
            let item = asked.len();
            let identity = if item.is_multiple_of(3) { key(&format!("k{item}")) } else { Anonymous };
            let number = world.call(id, "queue/a", "put", &format!("{{\"item\":{item}}}"), identity);
            asked.push((id, number, None));
        }
        if step % 20 == 5 {
            // With these commands on their way, in its log, or in a majority's.
            (0..seed % 8).for_each(|_| world.turn());
            dead = world.find_leader().or(Some(1));
            dead.into_iter().for_each(|leader| world.kill(leader));
        }
        // A process that dies takes its answers with it.
        world.pass(100);
        for (id, number, answer) in &mut asked {
            *answer = answer.take().or_else(|| world.answer(*id, *number));
        }
    }
    world.faults = Faults::default();
    world.pass(40_000);
    asked.into_iter().map(|(id, number, answer)| answer.or_else(|| world.answer(id, number))).collect()
}

#[test]
fn every_answer_is_that_of_its_own_request() {
    for seed in 0..12 {
        let mut world = World::new();
        world.set_seed(seed);
        let answers = put_through_faults(&mut world, seed);
        world.check_equal();
        let items = listed(&world);
        let mut done = 0;
        for (item, answer) in answers.iter().enumerate() {
            match answer.as_deref().and_then(|answer| field(answer, "id")) {
                Some(id) => {
                    assert_eq!(items.get(&item).map(u64::to_string).as_deref(), Some(id), "item {item}");
                    done += 1;
                }
                None if answer.as_deref() == Some("refused no-leader") => {
                    assert!(!items.contains_key(&item), "item {item} has an effect");
                }
                None => {}
            }
        }
        assert!(done > answers.len() / 2, "seed {seed}: {done} of {}", answers.len());
    }
}
