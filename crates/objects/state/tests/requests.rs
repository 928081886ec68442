//! Exactly once: repeats, floors, keys, batches, sessions that a call opens, calls that fail.

mod support;

use objects_state::{Caller, Command, Effect, Identity, NewSession, Origin, RANGES_MAX, Ranges, SideEffect};
use support::{Anyone, K, S, World, session};

/// The same call once more, as another member would forward it.
fn repeat(world: &mut World, command: &Command) -> String {
    let Command::Call(call) = command else { panic!("a call") };
    world.origins += 1;
    let origin = Origin { member: 2, number: world.origins };
    let caller = Caller { origin, ..call.caller.clone() };
    world.answer(&Command::Call(objects_state::Call { caller, ..call.clone() }))
}

#[test]
fn repeat_of_a_request_gets_the_same_bytes_and_no_second_effect() {
    let mut world = World::with_sessions(1);
    for who in [S(1), K("key")] {
        let call = Command::Call(world.new_call(who, "counter/c", "increment", ""));
        let first = world.answer(&call);
        assert_eq!(repeat(&mut world, &call), first);
        let failing = Command::Call(world.new_call(who, "counter/c", "set", "{\"value\":true}"));
        if who == S(1) {
            assert_eq!(world.answer(&failing), "refused bad-argument");
            assert_eq!(repeat(&mut world, &failing), "refused bad-argument");
        } else {
            assert_eq!(world.answer(&failing), "refused key-reused");
        }
    }
    assert_eq!(world.query("counter/c", "get", ""), "{\"value\":2}");
}

#[test]
fn refusal_is_repeated_byte_for_byte_with_its_own_position() {
    let mut world = World::with_sessions(1);
    let call = Command::Call(world.new_call(S(1), "lock/a", "release", "{\"fence\":1}"));
    let outcome = |effects: Vec<Effect>| match effects.into_iter().next() {
        Some(Effect::Answered { outcome, .. }) => outcome,
        other => panic!("{other:?}"),
    };
    let first = outcome(world.apply(&call));
    world.pass(1_000);
    let second = outcome(world.apply(&call));
    assert_eq!(first, second);
    assert_eq!(first.to_json(), second.to_json());
    assert!(first.to_json().contains("\"position\":2"), "{}", first.to_json());
}

#[test]
fn request_at_or_below_the_floor_is_forgotten() {
    let mut world = World::with_sessions(1);
    let call = Command::Call(world.new_call(S(1), "counter/c", "increment", ""));
    world.answer(&call);
    world.call(S(1), "counter/c", "increment", "");
    assert_eq!(repeat(&mut world, &call), "refused request-forgotten");
    assert_eq!(world.query("counter/c", "get", ""), "{\"value\":2}");
    let open = world.state.session(session(1)).unwrap();
    assert_eq!((open.floor, open.unacknowledged), (1, 1));
}

/// A request of session 1 that acknowledges the replies up to one, and those of ranges above it.
fn numbered(request: u64, acknowledged: u64, ranges: &[(u64, u64)]) -> Identity {
    let mut above = Ranges::new();
    ranges.iter().for_each(|(first, last)| assert!(above.insert(*first, *last)));
    Identity::Session { session: session(1), request, acknowledged, above }
}

fn increment(world: &mut World, identity: Identity) -> Command {
    let mut call = world.new_call(S(1), "counter/c", "increment", "");
    call.caller.identity = identity;
    Command::Call(call)
}

#[test]
fn call_that_waits_does_not_keep_later_replies_from_being_acknowledged() {
    let mut world = World::with_sessions(2);
    assert_eq!(world.call(S(2), "lock/a", "acquire", ""), "{\"acquired\":true,\"fence\":3,\"holds\":1}");
    let waits = Command::Call(world.new_call(S(1), "lock/a", "acquire", ""));
    assert_eq!(world.answer(&waits), "waits 4");
    let mut sent = Vec::new();
    for request in 2..=300 {
        let ranges = if request > 2 { &[(2, request - 1)][..] } else { &[] };
        let command = increment(&mut world, numbered(request, 0, ranges));
        assert_eq!(world.answer(&command), format!("{{\"value\":{}}}", request - 1));
        sent.push(command);
    }
    for late in [&sent[0], &sent[150], &sent[297]] {
        assert_eq!(repeat(&mut world, late), "refused request-forgotten");
    }
    assert_eq!(repeat(&mut world, &sent[298]), "{\"value\":299}", "it was not acknowledged");
    assert_eq!(repeat(&mut world, &waits), "waits 4");
    assert_eq!(world.query("counter/c", "get", ""), "{\"value\":299}");
    let open = world.state.session(session(1)).unwrap();
    assert_eq!((open.floor, open.unacknowledged, open.above.iter().count()), (0, 2, 1));
    world.call(S(2), "lock/a", "release", "{\"fence\":3}");
    assert!(repeat(&mut world, &waits).starts_with("{\"acquired\":true"));
    let last = increment(&mut world, numbered(301, 1, &[]));
    assert_eq!(world.answer(&last), "{\"value\":300}");
    let open = world.state.session(session(1)).unwrap();
    assert_eq!((open.floor, open.unacknowledged, open.above.is_empty()), (299, 2, true));
}

#[test]
fn acknowledgement_without_room_keeps_the_reply() {
    let mut world = World::with_sessions(1);
    let mut sent = Vec::new();
    for request in 1..=4 {
        sent.push(increment(&mut world, numbered(request, 0, &[])));
        world.answer(&sent[sent.len() - 1]);
    }
    // 64 ranges far above what was ever sent: there is no room for another one.
    let far: Vec<_> = (1..=RANGES_MAX as u64).map(|place| (1_000 + 2 * place, 1_000 + 2 * place)).collect();
    let command = increment(&mut world, numbered(5, 0, &far));
    assert_eq!(world.answer(&command), "{\"value\":5}");
    let command = increment(&mut world, numbered(6, 0, &[(2, 3)]));
    assert_eq!(world.answer(&command), "{\"value\":6}");
    assert_eq!(repeat(&mut world, &sent[1]), "{\"value\":2}", "it is kept, and not carried out again");
    let far = increment(&mut world, numbered(1_002, 0, &[]));
    assert_eq!(world.answer(&far), "refused request-forgotten");
    let command = increment(&mut world, numbered(7, 4, &[]));
    assert_eq!(world.answer(&command), "{\"value\":7}");
    assert_eq!(repeat(&mut world, &sent[1]), "refused request-forgotten");
    // One that acknowledges itself.
    let command = increment(&mut world, numbered(8, 4, &[(5, 8)]));
    assert_eq!(world.answer(&command), "refused request-forgotten");
    assert_eq!(world.query("counter/c", "get", ""), "{\"value\":7}");
    assert_eq!(world.state.session(session(1)).unwrap().floor, 8);
}

#[test]
fn unacknowledged_requests_are_bounded() {
    let mut world = World::with_sessions(1);
    let mut last = None;
    for request in 1..=65 {
        let mut call = world.new_call(S(1), "counter/c", "increment", "");
        call.caller.identity = numbered(request, 0, &[]);
        last = world.apply(&Command::Call(call)).pop();
    }
    let Some(Effect::Answered { outcome: objects_state::Outcome::Refused(problem), .. }) = last else {
        panic!("{last:?}");
    };
    assert_eq!((problem.slug.name(), problem.effect), ("quota", SideEffect::Unknown));
    assert_eq!(world.query("counter/c", "get", ""), "{\"value\":64}");
}

#[test]
fn repeat_of_a_waiting_call_joins_its_ticket() {
    let mut world = World::with_sessions(2);
    world.call(S(1), "lock/a", "acquire", "");
    let call = Command::Call(world.new_call(S(2), "lock/a", "acquire", ""));
    assert_eq!(world.answer(&call), "waits 4");
    assert_eq!(repeat(&mut world, &call), "waits 4");
    world.call(S(1), "lock/a", "release", "{\"fence\":3}");
    assert_eq!(world.ended(), [4]);
    // The answer was lost: it is found by asking again.
    assert_eq!(repeat(&mut world, &call), "{\"acquired\":true,\"fence\":6,\"holds\":1}");
    assert!(matches!(world.state.ticket(4), Some(objects_state::TicketState::Ended { .. })));
    world.call(S(2), "counter/c", "increment", "");
    assert_eq!(world.state.ticket(4), None, "acknowledged with its request");
}

#[test]
fn key_is_forgotten_ten_minutes_after_its_call_has_ended() {
    let mut world = World::new();
    let call = Command::Call(world.new_call(K("k"), "latch/l", "await", ""));
    assert_eq!(world.answer(&call), "waits 1");
    world.pass(700_000);
    assert_eq!(repeat(&mut world, &call), "waits 1", "it is remembered while it waits");
    world.call(Anyone, "latch/l", "count_down", "");
    world.pass(599_999);
    assert_eq!(repeat(&mut world, &call), "{\"open\":true}");
    world.pass(1);
    assert_eq!(world.state.counts()[3], 0);
    assert_eq!(world.state.ticket(1), None);
}

#[test]
fn keys_of_two_principals_do_not_meet() {
    let mut world = World::new();
    world.call(K("k"), "counter/c", "increment", "");
    let mut call = world.new_call(K("k"), "counter/c", "increment", "{\"by\":5}");
    call.caller.principal = "bob".into();
    assert_eq!(world.answer(&Command::Call(call)), "{\"value\":6}");
}

#[test]
fn failed_call_changes_nothing() {
    let mut world = World::new();
    world.create("map/m", "{\"max_entries\":2}");
    world.call(Anyone, "map/m", "put", "{\"key\":\"a\",\"value\":1}");
    let (records, content) = (world.state.records(), world.query("map/m", "range", ""));
    let entries = "{\"entries\":{\"a\":5,\"b\":1,\"c\":1}}";
    assert_eq!(world.call(Anyone, "map/m", "put_all", entries), "refused full");
    assert_eq!((world.state.records(), world.query("map/m", "range", "")), (records, content));
    assert_eq!(world.call(Anyone, "map/new", "remove", "{}"), "refused bad-argument");
    assert_eq!(world.state.records(), records, "no object was created");
}

#[test]
fn batch_answers_each_call_at_a_position_of_its_own() {
    let mut world = World::with_sessions(1);
    let calls = [("acquire", ""), ("release", "{\"fence\":2}"), ("holder", ""), ("acquire", "")];
    let result = world.batch(S(1), "lock/a", &calls);
    assert!(result.starts_with("{\"results\":[{\"result\":{\"acquired\":true,\"fence\":2,\"holds\":1}},"));
    assert!(result.contains("{\"result\":{\"holds\":0}},{\"problem\":"), "{result}");
    assert!(result.ends_with("{\"result\":{\"acquired\":true,\"fence\":5,\"holds\":1}}]}"), "{result}");
    assert_eq!(world.position(), 5);
    let full = world.batch(Anyone, "lock/a", &[("await", "{\"condition\":\"c\",\"fence\":5,\"wait_ms\":9}")]);
    assert!(full.contains("does not wait"), "{full}");
}

#[test]
fn call_that_opens_a_session_names_it_only_if_it_got_something() {
    let mut world = World::new();
    let opens = |number: u8| {
        let (id, secret_hash) = (session(number), [number; 32]);
        Some(NewSession { id, secret_hash, generation: 1, ttl_ms: 30_000, name: None })
    };
    let mut first = world.new_call(K("1"), "lock/build", "acquire", "{\"ttl_ms\":30000}");
    first.opens = opens(7);
    let got = world.answer(&Command::Call(first));
    let id = "07".repeat(16);
    let expected = format!("\"fence\":1,\"holds\":1,\"session\":\"{id}\",\"expires_in_ms\":30000}}");
    assert!(got.ends_with(&expected), "{got}");
    let mut second = world.new_call(K("2"), "lock/build", "acquire", "{\"ttl_ms\":30000,\"wait_ms\":0}");
    second.opens = opens(8);
    assert_eq!(world.answer(&Command::Call(second)), "{\"acquired\":false}");
    assert_eq!(world.state.counts()[1], 1, "the second session is gone");
    let mut third = world.new_call(K("3"), "lock/build", "acquire", "{\"ttl_ms\":30000,\"wait_ms\":10}");
    third.opens = opens(9);
    assert_eq!(world.answer(&Command::Call(third)), "waits 3");
    world.pass(10);
    assert_eq!(world.ends(), ["3 timed out {\"acquired\":false}"]);
    assert_eq!(world.state.counts()[1], 1);
}

#[test]
fn ownership_needs_a_session() {
    let mut world = World::new();
    assert_eq!(world.call(Anyone, "lock/a", "acquire", ""), "refused bad-argument");
    assert_eq!(world.state.counts(), [0; 4]);
}

#[test]
fn incarnation_is_checked() {
    let mut world = World::new();
    world.create("counter/c", "");
    world.call(Anyone, "counter/c", "increment", "");
    assert_eq!(world.delete("counter/c"), "{\"deleted\":true}");
    world.create("counter/c", "");
    let mut call = world.new_call(Anyone, "counter/c", "increment", "");
    call.incarnation = Some(1);
    assert_eq!(world.answer(&Command::Call(call.clone())), "refused wrong-incarnation");
    call.incarnation = Some(4);
    assert_eq!(world.answer(&Command::Call(call)), "{\"value\":1}");
}

#[test]
fn create_answers_what_there_is() {
    let mut world = World::new();
    assert_eq!(world.create("counter/c", "{\"start\":5}"), "{\"created\":true,\"incarnation\":1}");
    assert_eq!(world.create("counter/c", "{\"start\":5}"), "{\"created\":false,\"incarnation\":1}");
    assert_eq!(world.create("counter/c", "{\"start\":6}"), "refused exists");
    assert_eq!(world.create("counter/c", "{\"starts\":6}"), "refused bad-argument");
    let mut call = world.new_call(Anyone, "counter/d", "increment", "");
    call.create = false;
    assert_eq!(world.answer(&Command::Call(call)), "refused no-such-object");
}

#[test]
fn deleted_object_tells_its_waiters_and_leaves_nothing() {
    let mut world = World::with_sessions(2);
    world.call(S(1), "semaphore/s", "acquire", "");
    assert_eq!(world.call(S(2), "semaphore/s", "acquire", ""), "waits 4");
    world.delete("semaphore/s");
    assert_eq!(world.ends(), ["4 ended refused object-deleted"]);
    world.pass(1);
    let holder = world.state.session(session(1)).unwrap();
    assert_eq!((holder.holdings, holder.tickets), (0, 0));
    assert!(
        world.call(S(2), "semaphore/s", "acquire", "").contains("\"fence\":7"),
        "fences rise over deletion"
    );
}

#[test]
fn ticket_of_another_principal_is_not_cancelled() {
    let mut world = World::new();
    world.call(K("k"), "latch/l", "await", "");
    let mut caller = world.caller(Anyone);
    caller.principal = "bob".into();
    let cancel = Command::CancelTicket { caller: Some(caller), ticket: 1 };
    assert_eq!(world.answer(&cancel), "refused forbidden");
    world.apply(&Command::CancelTicket { caller: None, ticket: 1 });
    assert_eq!(world.ended(), [1], "the member itself may");
}

#[test]
fn time_never_goes_back() {
    let mut world = World::new();
    world.call(Anyone, "latch/l", "await", "{\"wait_ms\":100}");
    world.now -= 50_000;
    world.pass(0);
    assert_eq!(world.state.stamp().ms(), 1_000_000);
    world.now += 50_100;
    world.pass(0);
    assert_eq!(world.ended(), [1]);
}

#[test]
fn batch_of_one_call_is_another_request_than_that_call() {
    let mut world = World::new();
    world.call(K("k"), "counter/c", "increment", "");
    assert_eq!(world.batch(K("k"), "counter/c", &[("increment", "")]), "refused key-reused");
}
