//! Types of users in a group: uploads by any member, readiness that the leader proclaims, objects that survive members.

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "../../state/tests/support/engine.rs"]
mod engine;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::FakeEngine;
use objects_replica::edge::{Consistency, Question, Request, UNKNOWN_TYPE};
use objects_state::guest::VersionHash;
use objects_state::{Call, Caller, Command, Identity, Invocation, ObjectName};
use support::{World, key};

const DESCRIPTION: &str = r#"{"methods":{"add":{"kind":"command"},"wait":{"kind":"blocking"},
    "give":{"kind":"command"},"burn":{"kind":"command"},"flip":{"kind":"command","codec":"raw"},
    "peek":{"kind":"query","codec":"raw"},"get":{"kind":"query"}}}"#;

/// As `printf 'module one' | sha256sum` says.
fn hash(module: &str) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(module).into()
}

fn world() -> World {
    World::with_engines(|_| Arc::new(FakeEngine::new(true)))
}

fn of_type(request: Request) -> Request {
    let (consistency, min_position) = (Consistency::Linearizable, None);
    Request::OfType {
        type_name: "hits".into(),
        request: Box::new(request),
        consistency,
        min_position,
        is_bytes: false,
    }
}

fn object() -> ObjectName {
    named("a")
}

fn named(name: &str) -> ObjectName {
    ObjectName { kind: UNKNOWN_TYPE, name: name.into() }
}

fn upload(world: &mut World, at: u64, module: &str) {
    let (bytes, size) = (module.as_bytes().to_vec(), module.len() as u64);
    let piece = |caller| Command::TypePiece { caller, hash: hash(module), size, offset: 0, bytes };
    let asked = world.command(at, piece, Identity::Anonymous);
    assert!(world.wait(at, asked).starts_with("{\"received\""));
    let (name, description) = (String::from("hits"), String::from(DESCRIPTION));
    let put = |caller| Command::TypePut { caller, name, module: hash(module), source: None, description };
    let asked = world.command(at, put, Identity::Anonymous);
    assert!(world.wait(at, asked).contains("preparing"));
}

fn state_of(world: &mut World, at: u64, module: &str) -> String {
    let version = VersionHash::of(hash(module), None, DESCRIPTION.as_bytes());
    let asked = world.ask(at, |origin| Request::Query {
        origin,
        principal: "ada".into(),
        question: Question::Version("hits".into(), version),
        consistency: Consistency::Linearizable,
        min_position: None,
        proof: None,
    });
    world.wait(at, asked)
}

fn asked(world: &mut World, at: u64, command: impl FnOnce(Caller) -> Command, identity: Identity) -> u64 {
    world.ask(at, |origin| {
        let caller = Caller { origin, principal: "ada".into(), identity };
        of_type(Request::Command { command: command(caller), secret_hash: None })
    })
}

fn call(world: &mut World, at: u64, method: &str, identity: Identity) -> u64 {
    call_of(world, at, object(), method, identity)
}

fn call_of(world: &mut World, at: u64, object: ObjectName, method: &str, identity: Identity) -> u64 {
    let invocation = Invocation { method: method.into(), args: b"{\"value\":5}".to_vec() };
    let (incarnation, wait_ms, opens) = (None, None, None);
    let call = |caller| {
        Command::Call(Call { caller, object, incarnation, create: false, wait_ms, opens, invocation })
    };
    asked(world, at, call, identity)
}

fn create(world: &mut World, at: u64) -> String {
    create_named(world, at, "a")
}

fn create_named(world: &mut World, at: u64, name: &str) -> String {
    let create = |caller| Command::Create { caller, object: named(name), args: Vec::new() };
    let number = asked(world, at, create, Identity::Anonymous);
    world.wait(at, number)
}

#[test]
fn type_that_one_member_is_given_is_every_members() {
    let mut world = world();
    let (leader, follower) = (world.leader(), world.follower());
    let unknown = call(&mut world, follower, "add", Identity::Anonymous);
    assert_eq!(world.wait(follower, unknown), "refused no-such-type");
    upload(&mut world, follower, "module one");
    world.pass(200);
    assert!(state_of(&mut world, leader, "module one").contains("\"state\":\"ready\""));
    assert!(create(&mut world, leader).contains("\"created\":true"));
    let added = call(&mut world, follower, "add", Identity::Anonymous);
    assert_eq!(world.wait(follower, added), "{\"value\":1}");
    // A query that comes as a call is evaluated as a query.
    let position = world.member(follower).state.position();
    let got = call(&mut world, follower, "get", Identity::Anonymous);
    assert_eq!(world.wait(follower, got), "{\"value\":1}");
    assert_eq!(world.member(follower).state.position(), position);
    let wait = call(&mut world, follower, "wait", key("k"));
    world.ticket(follower, wait);
    let give = call(&mut world, leader, "give", Identity::Anonymous);
    assert!(world.wait(leader, give).starts_with("{\"woken\""));
    assert_eq!(world.wait(follower, wait), "{\"got\":5}");
    world.check_equal();
}

#[test]
fn version_is_not_ready_before_the_leaders_engine_is_done() {
    let mut world = World::with_engines(|_| Arc::new(FakeEngine::slow()));
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(1_000);
    assert!(state_of(&mut world, leader, "module one").contains("preparing"));
    assert_eq!(create(&mut world, leader), "refused type-not-ready");
    // Another leader says so, when it is done.
    world.kill(leader);
    world.pass(3_000);
    FakeEngine::finish_all();
    world.pass(500);
    let leader = world.leader();
    assert!(state_of(&mut world, leader, "module one").contains("\"state\":\"ready\""));
}

#[test]
fn objects_of_users_survive_members_and_come_with_a_snapshot() {
    let mut world = world();
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(200);
    create(&mut world, leader);
    let away = world.follower();
    world.kill(away);
    for number in 1..=50 {
        let added = call(&mut world, leader, "add", Identity::Anonymous);
        assert_eq!(world.wait(leader, added), format!("{{\"value\":{number}}}"));
    }
    world.request_snapshot(leader);
    world.pass(1_000);
    world.start(away);
    world.pass(3_000);
    world.kill(leader);
    world.pass(3_000);
    let next = world.leader();
    let added = call(&mut world, next, "add", Identity::Anonymous);
    assert_eq!(world.wait(next, added), "{\"value\":51}");
    world.start(leader);
    world.pass(3_000);
    world.check_equal();
}

/// A world in which the engine of member 3 is done with nothing until the gate opens. It panics if that member stands still.
macro_rules! world_with_a_slow_member {
    ($gate:ident) => {{
        static $gate: AtomicBool = AtomicBool::new(false);
        let engine = |id| match id {
            3 => Arc::new(FakeEngine::gated(&$gate)) as _,
            _ => Arc::new(FakeEngine::new(true)) as _,
        };
        (World::with_engines(engine), || $gate.store(true, Ordering::SeqCst))
    }};
}

#[test]
fn version_is_ready_when_all_living_members_are_done_with_it() {
    let (mut world, open) = world_with_a_slow_member!(GATE);
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(20_000);
    assert!(state_of(&mut world, leader, "module one").contains("preparing"));
    open();
    world.pass(300);
    assert!(state_of(&mut world, leader, "module one").contains("\"state\":\"ready\""));
    create(&mut world, leader);
    world.check_equal();
}

#[test]
fn member_that_was_away_applies_nothing_until_it_is_done_and_says_what_it_waits_for() {
    let (mut world, open) = world_with_a_slow_member!(GATE);
    world.kill(3);
    world.pass(3_000);
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(300);
    assert!(
        state_of(&mut world, leader, "module one").contains("\"state\":\"ready\""),
        "it is not waited for"
    );
    create(&mut world, leader);
    world.start(3);
    world.pass(3_000);
    let refused = call(&mut world, 3, "add", Identity::Anonymous);
    assert_eq!(world.wait(3, refused), "refused type-not-ready");
    let built_in = world.call(3, "counter/c", "increment", "", Identity::Anonymous);
    assert_eq!(world.wait(3, built_in), "refused type-not-ready");
    // The others go on.
    let added = call(&mut world, leader, "add", Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":1}");
    open();
    world.pass(500);
    let added = call(&mut world, 3, "add", Identity::Anonymous);
    assert_eq!(world.wait(3, added), "{\"value\":2}");
    world.check_equal();
}

#[test]
fn member_that_is_never_done_holds_a_version_up_for_a_bounded_time() {
    let (mut world, open) = world_with_a_slow_member!(GATE);
    let leader = (1..=2).find(|id| world.leader() == *id).unwrap_or_else(|| {
        world.kill(3);
        world.pass(3_000);
        world.start(3);
        world.pass(3_000);
        world.leader()
    });
    upload(&mut world, leader, "module one");
    world.pass(119_000);
    assert!(state_of(&mut world, leader, "module one").contains("preparing"));
    world.pass(3_000);
    assert!(state_of(&mut world, leader, "module one").contains("\"state\":\"ready\""));
    create(&mut world, leader);
    let added = call(&mut world, leader, "add", Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":1}");
    open();
    world.pass(500);
    world.check_equal();
}

#[test]
fn version_that_one_engine_rejects_is_rejected_by_all() {
    let mut world = World::with_engines(|id| match id {
        2 => Arc::new(FakeEngine::new(true).later()),
        _ => Arc::new(FakeEngine::new(true)),
    });
    let leader = world.leader();
    upload(&mut world, leader, "fragile one");
    world.pass(500);
    let state = state_of(&mut world, leader, "fragile one");
    assert!(state.contains("\"state\":\"rejected\"") && state.contains("rule 7"), "{state}");
    world.check_equal();
}

#[test]
fn version_that_a_members_next_build_rejects_is_closed_at_all_members_and_stops_none() {
    static LATER: AtomicBool = AtomicBool::new(false);
    let mut world = World::with_engines(|id| match id {
        3 if LATER.load(Ordering::SeqCst) => Arc::new(FakeEngine::new(true).later()),
        _ => Arc::new(FakeEngine::new(true)),
    });
    let leader = world.leader();
    upload(&mut world, leader, "fragile one");
    world.pass(500);
    create(&mut world, leader);
    world.request_snapshot(3);
    world.pass(1_000);
    world.kill(3);
    LATER.store(true, Ordering::SeqCst);
    world.pass(3_000);
    world.start(3);
    world.pass(3_000);
    let leader = world.leader();
    let state = state_of(&mut world, leader, "fragile one");
    assert!(state.contains("\"state\":\"closed\""), "{state}");
    let added = call(&mut world, leader, "add", Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "refused quarantined");
    world.check_equal();
    // The build before it again.
    world.kill(3);
    LATER.store(false, Ordering::SeqCst);
    world.pass(3_000);
    world.start(3);
    world.pass(3_000);
    let leader = world.leader();
    let added = call(&mut world, leader, "add", Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":1}");
    world.check_equal();
}

#[test]
fn leader_that_is_cut_off_makes_no_version_ready_and_the_next_one_hears_of_all_engines_anew() {
    let (mut world, open) = world_with_a_slow_member!(GATE);
    let old = world.leader();
    upload(&mut world, old, "module one");
    world.pass(1_000);
    world.set_away(old, true);
    world.pass(5_000);
    let next = world.leader();
    assert_ne!(next, old);
    open();
    world.pass(1_000);
    assert!(state_of(&mut world, next, "module one").contains("\"state\":\"ready\""));
    create(&mut world, next);
    assert_eq!(world.member(old).state.preparing().len(), 1, "it has committed nothing");
    world.set_away(old, false);
    world.pass(3_000);
    world.check_equal();
}

#[test]
fn calls_of_an_object_that_burns_its_fuel_wait_behind_those_of_others() {
    // With builds among its members that know no slices.
    let engine = |_| Arc::new(FakeEngine::new(true)) as _;
    let mut world = World::with_engines_at(engine, |config| config.replica.feature_level = 4);
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(300);
    create(&mut world, leader);
    create_named(&mut world, leader, "b");
    let burn = call(&mut world, leader, "burn", Identity::Anonymous);
    assert_eq!(world.wait(leader, burn), "refused out-of-fuel");
    let burns: Vec<_> = (0..20).map(|_| call(&mut world, leader, "burn", Identity::Anonymous)).collect();
    let added = call_of(&mut world, leader, named("b"), "add", Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":1}");
    let earlier = burns.iter().filter(|burn| world.answer(leader, **burn).is_some()).count();
    assert!(earlier <= 1, "{earlier} calls that burn were ahead of it");
    // They have their turns, with a rest behind each, as long as nobody has waited for too long.
    world.pass(1_000);
    let done = burns.iter().filter(|burn| world.answer(leader, **burn).is_some()).count();
    assert!((8..=14).contains(&done), "{done} were carried out in a second");
    world.hang_up(leader, burns[19]);
    world.pass(2_000);
    assert_eq!(world.answer(leader, burns[19]), None, "its caller has gone");
    assert!(burns[..19].iter().all(|burn| world.answer(leader, *burn).is_some()));
    world.check_equal();
}

/// A world whose engines take a while for runs beside the commands.
fn patient_world() -> World {
    World::with_engines(|id| Arc::new(FakeEngine::patient(40 * id)))
}

fn long_call(world: &mut World, at: u64, name: &str, identity: Identity) -> u64 {
    let invocation = Invocation { method: "add".into(), args: b"{\"by\":1,\"fuel\":10000000}".to_vec() };
    let (incarnation, wait_ms, opens, object) = (None, None, None, named(name));
    let call = |caller| {
        Command::Call(Call { caller, object, incarnation, create: false, wait_ms, opens, invocation })
    };
    asked(world, at, call, identity)
}

#[test]
fn object_that_burns_all_the_time_holds_up_no_other() {
    let mut world = patient_world();
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(300);
    create(&mut world, leader);
    create_named(&mut world, leader, "b");
    let burns: Vec<_> = (0..20).map(|_| call(&mut world, leader, "burn", Identity::Anonymous)).collect();
    for number in 1..=10 {
        let added = call_of(&mut world, leader, named("b"), "add", Identity::Anonymous);
        let before = world.now_ms;
        assert_eq!(world.wait(leader, added), format!("{{\"value\":{number}}}"));
        assert!(world.now_ms <= before + 20, "it has waited");
    }
    world.pass(10_000);
    let refused =
        burns.iter().filter(|burn| world.answer(leader, **burn).as_deref() == Some("refused out-of-fuel"));
    assert_eq!(refused.count(), 20);
    world.check_equal();
}

#[test]
fn long_call_of_a_dead_leader_takes_effect_once_under_the_next() {
    let mut world = patient_world();
    let (leader, follower) = (world.leader(), world.follower());
    upload(&mut world, leader, "module one");
    world.pass(300);
    create(&mut world, leader);
    let asked = long_call(&mut world, follower, "a", key("k"));
    let ticket = world.ticket(follower, asked);
    let behind = call(&mut world, follower, "add", key("l"));
    world.ticket(follower, behind);
    world.kill(leader);
    world.pass(5_000);
    assert_eq!(world.wait(follower, asked), "{\"value\":1}", "ticket {ticket}");
    assert_eq!(world.wait(follower, behind), "{\"value\":2}");
    world.start(leader);
    world.pass(3_000);
    let again = long_call(&mut world, leader, "a", key("k"));
    assert_eq!(world.wait(leader, again), "{\"value\":1}");
    world.check_equal();
}

#[test]
fn member_that_starts_or_takes_over_a_snapshot_in_the_middle_of_a_run_carries_it_out_as_well() {
    let mut world = World::with_engines(|_| Arc::new(FakeEngine::patient(2_000)));
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(300);
    create(&mut world, leader);
    let away = world.follower();
    world.kill(away);
    let asked: Vec<_> = (0..3).map(|_| long_call(&mut world, leader, "a", Identity::Anonymous)).collect();
    world.pass(20);
    world.request_snapshot(leader);
    world.pass(200);
    world.start(away);
    world.pass(500);
    world.kill(away);
    world.pass(500);
    world.start(away);
    for (number, asked) in (1..).zip(asked) {
        world.pass_until(60_000, |world| world.answer(leader, asked).is_some());
        assert_eq!(world.wait(leader, asked), format!("{{\"value\":{number}}}"));
    }
    world.check_equal();
}

#[test]
fn member_that_is_alive_and_never_done_is_waited_for_a_bounded_time() {
    let mut world = World::with_engines(|id| match id {
        3 => Arc::new(FakeEngine::patient(u64::MAX - 1)),
        _ => Arc::new(FakeEngine::new(true)),
    });
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(300);
    create(&mut world, leader);
    if leader == 3 {
        world.kill(3);
        world.pass(3_000);
        world.start(3);
        world.pass(3_000);
    }
    let leader = world.leader();
    let asked = long_call(&mut world, leader, "a", Identity::Anonymous);
    world.ticket(leader, asked);
    world.pass(9_800);
    assert_eq!(world.answer(leader, asked), None);
    world.pass(300);
    assert_eq!(world.answer(leader, asked).as_deref(), Some("{\"value\":1}"));
    world.check_equal();
}

fn ask_get(world: &mut World, at: u64, name: &str, args: &str, consistency: Consistency) -> u64 {
    let (object, args) = (named(name), args.as_bytes().to_vec());
    let question = Question::Method { object, incarnation: None, create: false, method: "get".into(), args };
    let (principal, min_position, proof) = ("ada".into(), None, None);
    world.ask(at, |origin| {
        of_type(Request::Query { origin, principal, question, consistency, min_position, proof })
    })
}

#[test]
fn query_that_takes_long_holds_up_nobody_and_is_answered_from_the_state_that_it_found() {
    let mut world = World::with_engines(|_| Arc::new(FakeEngine::patient(50)));
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(300);
    create(&mut world, leader);
    let slow = "{\"fuel\":10000000}";
    // The first of an engine is the quickest.
    for _ in 0..5 {
        let first = ask_get(&mut world, leader, "a", slow, Consistency::Linearizable);
        world.wait(leader, first);
    }
    let asked = ask_get(&mut world, leader, "a", slow, Consistency::Linearizable);
    world.pass(20);
    assert_eq!(world.answer(leader, asked), None);
    let position = world.member(leader).state.position();
    let added = call(&mut world, leader, "add", Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":1}");
    let quick = ask_get(&mut world, leader, "a", "{}", Consistency::Linearizable);
    assert_eq!(world.wait(leader, quick), "{\"value\":1}");
    assert_eq!(world.answer(leader, asked), None, "it is under way still");
    assert_eq!(world.wait(leader, asked), "{\"value\":0}");
    assert_eq!(world.position(leader, asked), position);
    // There is room for two; what is more is refused, and who has gone is not answered.
    let asked: Vec<_> = (0..3).map(|_| ask_get(&mut world, leader, "a", slow, Consistency::Stale)).collect();
    assert_eq!(world.wait(leader, asked[2]), "refused rate");
    world.hang_up(leader, asked[0]);
    assert_eq!(world.wait(leader, asked[1]), "{\"value\":1}");
    world.pass(5_000);
    assert_eq!(world.answer(leader, asked[0]), None);
    let again = ask_get(&mut world, leader, "a", slow, Consistency::Stale);
    assert_eq!(world.wait(leader, again), "{\"value\":1}");
    world.check_equal();
}

#[test]
fn method_that_takes_bytes_is_sent_no_json() {
    let mut world = world();
    let (leader, follower) = (world.leader(), world.follower());
    upload(&mut world, leader, "module one");
    world.pass(200);
    create(&mut world, leader);
    world.pass(200);
    let call = |world: &mut World, method: &str, args: &[u8], is_bytes: bool| {
        let invocation = Invocation { method: method.into(), args: args.to_vec() };
        let (incarnation, wait_ms, opens, object) = (None, None, None, object());
        let number = world.ask(follower, |origin| {
            let caller = Caller { origin, principal: "ada".into(), identity: Identity::Anonymous };
            let call = Call { caller, object, incarnation, create: false, wait_ms, opens, invocation };
            let request = Request::Command { command: Command::Call(call), secret_hash: None };
            let (type_name, request, consistency) =
                ("hits".into(), Box::new(request), Consistency::Linearizable);
            Request::OfType { type_name, request, consistency, min_position: None, is_bytes }
        });
        world.wait(follower, number)
    };
    for method in ["flip", "peek"] {
        assert_eq!(call(&mut world, method, b"{}", false), "refused bad-codec");
    }
    assert_eq!(call(&mut world, "flip", b"\xff\x01", true), "=Af8=");
    assert_eq!(call(&mut world, "flip", b"", false), "=", "nothing is no JSON");
    assert_eq!(call(&mut world, "peek", b"\x80", true), "=gP8C", "a query");
    assert_eq!(call(&mut world, "add", b"{}", true), "{\"value\":3}", "JSON may be called bytes");
    assert_eq!(call(&mut world, "add", b"\xff", true), "refused bad-argument");
    world.check_equal();
}

#[test]
fn query_that_is_posted_at_a_member_that_lags_behind_the_creation_is_answered_as_a_query() {
    let mut world = world();
    let (leader, follower) = (world.leader(), world.follower());
    upload(&mut world, leader, "module one");
    world.pass(200);
    create(&mut world, leader);
    assert!(world.members[&follower].state.position() < world.members[&leader].state.position());
    let asked = [
        call(&mut world, follower, "get", Identity::Anonymous),
        call(&mut world, follower, "flip", key("f")),
    ];
    let answers = asked.map(|number| world.wait(follower, number));
    assert_eq!(answers, ["{\"value\":0}", "refused bad-codec"]);
    world.check_equal();
}

#[test]
fn call_of_an_object_that_is_not_there_does_not_go_to_the_log_where_it_may_come_behind_it() {
    let mut world = World::with_engines(|_| Arc::new(FakeEngine::slow()));
    let leader = world.leader();
    upload(&mut world, leader, "module one");
    world.pass(1_000);
    let position = world.member(leader).state.position();
    for method in ["get", "add"] {
        let asked = call(&mut world, leader, method, Identity::Anonymous);
        assert_eq!(world.wait(leader, asked), "refused no-such-object", "{method}");
    }
    assert_eq!(world.member(leader).state.position(), position);
    // The same request may be there already.
    let again = call(&mut world, leader, "add", key("k"));
    assert_eq!(world.wait(leader, again), "refused no-such-object");
    assert_eq!(world.member(leader).state.position(), position + 1);
}
