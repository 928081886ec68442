//! Types of users in a group: uploads by any member, readiness that the leader proclaims, objects that survive members.

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "../../state/tests/support/engine.rs"]
mod engine;
mod support;

use std::sync::Arc;

use engine::FakeEngine;
use objects_replica::edge::{Consistency, Question, Request, UNKNOWN_TYPE};
use objects_state::guest::VersionHash;
use objects_state::{Call, Caller, Command, Identity, Invocation, ObjectName};
use support::{World, key};

const DESCRIPTION: &str = r#"{"methods":{"add":{"kind":"command"},"wait":{"kind":"blocking"},
    "give":{"kind":"command"},"get":{"kind":"query"}}}"#;

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
    Request::OfType { type_name: "hits".into(), request: Box::new(request), consistency, min_position }
}

fn object() -> ObjectName {
    ObjectName { kind: UNKNOWN_TYPE, name: "a".into() }
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
    let invocation = Invocation { method: method.into(), args: b"{\"value\":5}".to_vec() };
    let (object, incarnation, wait_ms, opens) = (object(), None, None, None);
    let call = |caller| {
        Command::Call(Call { caller, object, incarnation, create: false, wait_ms, opens, invocation })
    };
    asked(world, at, call, identity)
}

fn create(world: &mut World, at: u64) -> String {
    let create = |caller| Command::Create { caller, object: object(), args: Vec::new() };
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
