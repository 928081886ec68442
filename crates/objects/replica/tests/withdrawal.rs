//! A member whose state is another than that of the others: what it does until it stops, and what the others do about it.

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "../../state/tests/support/engine.rs"]
mod engine;
mod support;

use std::sync::Arc;

use base::MonoTime;
use engine::FakeEngine;
use objects_replica::edge::{Consistency, Question, Request, UNKNOWN_TYPE};
use objects_state::guest::Engine;
use objects_state::{Call, Caller, Command, Identity, Invocation, ObjectName, State};
use sha2::{Digest as _, Sha256};
use support::World;

const MODULE: &str = "a moody module";
const DESCRIPTION: &str = r#"{"methods":{"add":{"kind":"command"},"get":{"kind":"query"}}}"#;
/// The member whose calls come to something else.
const ODD: u64 = 2;

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

fn ask(world: &mut World, at: u64, command: impl FnOnce(Caller) -> Command, is_of_type: bool) -> String {
    let number = world.ask(at, |origin| {
        let caller = Caller { origin, principal: "ada".into(), identity: Identity::Anonymous };
        let request = Request::Command { command: command(caller), secret_hash: None };
        if is_of_type { of_type(request) } else { request }
    });
    world.wait(at, number)
}

fn add(world: &mut World, at: u64) -> String {
    let object = ObjectName { kind: UNKNOWN_TYPE, name: "a".into() };
    let invocation = Invocation { method: "add".into(), args: Vec::new() };
    let (incarnation, wait_ms, opens) = (None, None, None);
    let call = |caller| {
        Command::Call(Call { caller, object, incarnation, create: false, wait_ms, opens, invocation })
    };
    ask(world, at, call, true)
}

fn uneven(id: u64) -> Arc<dyn Engine> {
    let engine = FakeEngine::new(true);
    engine.become_later(id == ODD);
    Arc::new(engine)
}

/// With an object of a module that runs differently at one member, and enough calls for that to be found.
fn world(change_config: fn(&mut objects_replica::CoreConfig)) -> World {
    let mut world = World::with_engines_at(uneven, change_config);
    let (hash, bytes): ([u8; 32], _) = (Sha256::digest(MODULE).into(), MODULE.as_bytes().to_vec());
    let size = bytes.len() as u64;
    ask(&mut world, 1, |caller| Command::TypePiece { caller, hash, size, offset: 0, bytes }, false);
    let (name, description) = (String::from("hits"), String::from(DESCRIPTION));
    let put = |caller| Command::TypePut { caller, name, module: hash, source: None, description };
    ask(&mut world, 1, put, false);
    world.pass(500);
    let object = ObjectName { kind: UNKNOWN_TYPE, name: "a".into() };
    ask(&mut world, 1, |caller| Command::Create { caller, object, args: Vec::new() }, true);
    assert_eq!(add(&mut world, 1), "{\"value\":1}");
    world
}

fn reason(state: &State) -> Option<String> {
    let kind = state.type_named("hits").expect("the type is there");
    state.describe(&ObjectName { kind, name: "a".into() })?.user?.quarantined
}

/// Calls until the odd member has found that it differs.
fn until_it_withdraws(world: &mut World) {
    for _ in 0..400 {
        let number = world.call(1, "counter/c", "increment", "", Identity::Anonymous);
        let withdraws = |world: &World| !world.members[&ODD].core.is_serving();
        if world.pass_until(10_000, |world| withdraws(world) || world.answer(1, number).is_some())
            && withdraws(world)
        {
            return;
        }
    }
    panic!("it never withdraws");
}

#[test]
fn member_whose_state_is_another_than_the_others_serves_nothing_from_then_on() {
    let mut world = world(|_| {});
    until_it_withdraws(&mut world);
    assert_eq!(world.members[&ODD].core.lease_until(), MonoTime::ZERO);
    let position = world.members[&ODD].state.position();
    let question = Question::Counts;
    let asked = world.ask(ODD, |origin| Request::Query {
        origin,
        principal: "ada".into(),
        question,
        consistency: Consistency::Stale,
        min_position: None,
        proof: None,
    });
    // It has half a second: the leader hears from it which object it is.
    world.pass(300);
    assert_eq!(world.answer(ODD, asked).as_deref(), Some("refused no-leader"));
    assert_eq!(world.members[&ODD].state.position(), position, "it applies nothing");
    for id in [1, 3] {
        let reason = reason(&world.members[&id].state).expect("it is in quarantine");
        assert!(reason.contains("members came to different results of its run at position"), "{reason}");
    }
    assert_eq!(add(&mut world, 1), "refused quarantined");
}

#[test]
fn group_with_members_of_earlier_builds_stops_no_object() {
    let mut world = world(|config| config.replica.feature_level = 7);
    until_it_withdraws(&mut world);
    world.pass(300);
    assert_eq!(reason(&world.members[&1].state), None);
}
