//! Migrations and dry runs that take long, in a group; and what is shown of the group.

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "../../state/tests/support/engine.rs"]
mod engine;
mod support;

use std::sync::Arc;

use engine::FakeEngine;
use objects_replica::edge::{Consistency, Question, Request, UNKNOWN_TYPE};
use objects_state::guest::{Engine, VersionHash};
use objects_state::{Call, Caller, Command, Identity, Invocation, ObjectName, slot};
use support::{World, key, object as built_in};

const DESCRIPTION: &str = r#"{"methods":{"add":{"kind":"command"},"get":{"kind":"query"}}}"#;
const FIRST: &str = "one longsave";
const SECOND: &str = "two longmigrate";

fn hash(module: &str) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(module).into()
}

fn version(module: &str) -> VersionHash {
    VersionHash::of(hash(module), None, DESCRIPTION.as_bytes())
}

fn object() -> ObjectName {
    ObjectName { kind: UNKNOWN_TYPE, name: "a".into() }
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

fn asked(world: &mut World, at: u64, command: impl FnOnce(Caller) -> Command, identity: Identity) -> u64 {
    world.ask(at, |origin| {
        let caller = Caller { origin, principal: "ada".into(), identity };
        of_type(Request::Command { command: command(caller), secret_hash: None })
    })
}

fn query(world: &mut World, at: u64, question: Question) -> u64 {
    world.ask(at, |origin| {
        of_type(Request::Query {
            origin,
            principal: "ada".into(),
            question,
            consistency: Consistency::Linearizable,
            min_position: None,
            proof: None,
        })
    })
}

fn get(world: &mut World, at: u64) -> String {
    let (object, method, args) = (object(), "get".into(), b"{}".to_vec());
    let asked = query(world, at, Question::Method { object, incarnation: None, create: false, method, args });
    world.wait(at, asked)
}

fn add(world: &mut World, at: u64, identity: Identity) -> u64 {
    let invocation = Invocation { method: "add".into(), args: b"{\"by\":1}".to_vec() };
    let (incarnation, wait_ms, opens, object) = (None, None, None, object());
    let call = |caller| {
        Command::Call(Call { caller, object, incarnation, create: false, wait_ms, opens, invocation })
    };
    asked(world, at, call, identity)
}

fn migrate(world: &mut World, at: u64, identity: Identity) -> u64 {
    let (object, to) = (object(), version(SECOND));
    asked(world, at, |caller| Command::Migrate { caller, object, incarnation: None, to }, identity)
}

/// With an object `a` of the first version, of the value 1, and both versions.
fn world(engine: fn(u64) -> Arc<dyn Engine>) -> World {
    let mut world = World::with_engines(engine);
    let leader = world.leader();
    for module in [FIRST, SECOND] {
        let (bytes, size) = (module.as_bytes().to_vec(), module.len() as u64);
        let piece = |caller| Command::TypePiece { caller, hash: hash(module), size, offset: 0, bytes };
        let brought = world.command(leader, piece, Identity::Anonymous);
        world.wait(leader, brought);
        let (name, description) = (String::from("hits"), String::from(DESCRIPTION));
        let put = |caller| Command::TypePut { caller, name, module: hash(module), source: None, description };
        let made = world.command(leader, put, Identity::Anonymous);
        assert!(world.wait(leader, made).contains("preparing"));
        world.pass(300);
        if module == FIRST {
            let create = |caller| Command::Create { caller, object: object(), args: Vec::new() };
            let created = asked(&mut world, leader, create, Identity::Anonymous);
            assert!(world.wait(leader, created).contains("\"created\":true"));
        }
    }
    let added = add(&mut world, leader, Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":1}");
    world
}

#[test]
fn long_migration_of_a_dead_leader_is_carried_out_once_under_the_next() {
    let mut world = world(|id| Arc::new(FakeEngine::patient(40 * id)));
    let (leader, follower) = (world.leader(), world.follower());
    let moving = migrate(&mut world, follower, key("m"));
    world.ticket(follower, moving);
    let behind = add(&mut world, follower, key("a"));
    world.ticket(follower, behind);
    world.kill(leader);
    world.pass(5_000);
    assert!(world.wait(follower, moving).starts_with("{\"migrated\":true"));
    assert_eq!(world.wait(follower, behind), "{\"value\":1002}");
    world.start(leader);
    world.pass(3_000);
    let again = migrate(&mut world, leader, key("m"));
    assert!(world.wait(leader, again).starts_with("{\"migrated\":true"), "a copy finds its reply");
    assert_eq!(get(&mut world, leader), "{\"value\":1002}");
    world.check_equal();
}

#[test]
fn member_that_takes_over_a_snapshot_in_the_middle_of_a_migration_carries_it_out_as_well() {
    let mut world = world(|id| Arc::new(FakeEngine::patient(1_000 * id)));
    let (leader, away) = (world.leader(), world.follower());
    world.kill(away);
    let moving = migrate(&mut world, leader, Identity::Anonymous);
    world.pass(20);
    world.request_snapshot(leader);
    world.pass(200);
    world.start(away);
    world.pass_until(60_000, |world| world.answer(leader, moving).is_some());
    assert!(world.wait(leader, moving).starts_with("{\"migrated\":true"));
    assert_eq!(get(&mut world, away), "{\"value\":1001}");
    world.check_equal();
}

#[test]
fn migration_whose_caller_has_gone_is_called_off() {
    let mut world = world(|id| Arc::new(FakeEngine::patient(400 * id)));
    let leader = world.leader();
    let moving = migrate(&mut world, leader, Identity::Anonymous);
    world.ticket(leader, moving);
    world.hang_up(leader, moving);
    world.pass(100);
    let added = add(&mut world, leader, Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":2}", "it is on its version");
    world.check_equal();
}

#[test]
fn dry_run_that_takes_long_holds_up_nobody() {
    let mut world = world(|id| Arc::new(FakeEngine::patient(50 * id)));
    let leader = world.leader();
    let tried = |world: &mut World| {
        let (object, to) = (object(), version(SECOND));
        query(world, leader, Question::TryMigration { object, incarnation: None, to })
    };
    // The first ones of an engine are the quickest.
    for _ in 0..10 {
        let first = tried(&mut world);
        assert!(world.wait(leader, first).starts_with("{\"would_migrate\":true"));
    }
    let asked = tried(&mut world);
    world.pass(20);
    assert_eq!(world.answer(leader, asked), None);
    let position = world.member(leader).state.position();
    let added = add(&mut world, leader, Identity::Anonymous);
    assert_eq!(world.wait(leader, added), "{\"value\":2}");
    assert_eq!(world.answer(leader, asked), None, "it is under way still");
    let said = world.wait(leader, asked);
    assert!(said.contains("\"state_bytes\":11") && said.contains("\"pages\":1"), "{said}");
    assert_eq!(world.position(leader, asked), position);
    // There is room for two.
    let asked: Vec<_> = (0..3).map(|_| tried(&mut world)).collect();
    assert_eq!(world.wait(leader, asked[2]), "refused rate");
    world.hang_up(leader, asked[0]);
    assert!(world.wait(leader, asked[1]).starts_with("{\"would_migrate\":true"));
    assert_eq!(get(&mut world, leader), "{\"value\":2}");
    world.check_equal();
}

#[test]
fn group_shows_its_slots_and_members_and_an_object_where_it_is() {
    let mut world = world(|_| Arc::new(FakeEngine::new(true)));
    for at in [1, 2, 3] {
        let asked = query(&mut world, at, Question::Counts);
        let shown = world.wait(at, asked);
        assert!(shown.ends_with("\"group\":0,\"slots\":\"0-255\",\"members\":[1,2,3]}"), "{shown}");
        let asked = query(&mut world, at, Question::Describe(object()));
        let shown = world.wait(at, asked);
        let place = format!("\"slot\":{},\"group\":0}}", slot("hits", "a"));
        assert!(shown.ends_with(&place), "{shown}");
    }
    let missing = query(&mut world, 1, Question::Describe(built_in("counter/none")));
    assert_eq!(world.wait(1, missing), "refused no-such-object");
}
