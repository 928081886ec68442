//! A member whose copy of the objects is another than the others': it serves nothing of it any more, and takes theirs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "../../state/tests/support/engine.rs"]
mod engine;
mod nodes;

use std::path::Path;
use std::sync::Arc;

use engine::FakeEngine;
use nodes::{Node, Ports, caller, config, done};
use objects_replica::edge::{Consistency, Question, Request, UNKNOWN_TYPE};
use objects_service::ModuleEngine;
use objects_state::{Call, Command, Identity, Invocation, ObjectName, Outcome, Slug, type_named};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

const MODULE: &[u8] = b"a moody module";
const DESCRIPTION: &str = r#"{"methods":{"add":{"kind":"command"},"get":{"kind":"query"}}}"#;

fn object() -> ObjectName {
    ObjectName { kind: UNKNOWN_TYPE, name: String::from("it") }
}

fn of_type(request: Request) -> Request {
    let (consistency, min_position) = (Consistency::Linearizable, None);
    Request::OfType {
        type_name: String::from("hits"),
        request: Box::new(request),
        consistency,
        min_position,
        is_bytes: false,
    }
}

fn command(node: &Node, command: impl Fn(objects_state::Caller) -> Command, is_of_type: bool) -> Outcome {
    node.ask(|origin| {
        let command = command(caller(origin, Identity::Anonymous));
        let request = Request::Command { command, secret_hash: None };
        if is_of_type { of_type(request) } else { request }
    })
}

/// Uploads the module and creates the object.
fn prepare(node: &Node) {
    let hash: [u8; 32] = Sha256::digest(MODULE).into();
    let (bytes, size) = (MODULE.to_vec(), MODULE.len() as u64);
    let piece = |caller| Command::TypePiece { caller, hash, size, offset: 0, bytes: bytes.clone() };
    done(command(node, piece, false));
    let (name, description) = (String::from("hits"), String::from(DESCRIPTION));
    let put = |caller| Command::TypePut {
        caller,
        name: name.clone(),
        module: hash,
        source: None,
        description: description.clone(),
    };
    done(command(node, put, false));
    let create = |caller| Command::Create { caller, object: object(), args: Vec::new() };
    loop {
        match command(node, create, true) {
            Outcome::Refused(problem) if problem.slug == Slug::TypeNotReady => {}
            outcome => return drop(done(outcome)),
        }
    }
}

fn try_add(node: &Node) -> Outcome {
    let invocation = Invocation { method: String::from("add"), args: Vec::new() };
    let call = |caller| {
        let (object, invocation) = (object(), invocation.clone());
        let (incarnation, wait_ms, opens) = (None, None, None);
        Command::Call(Call { caller, object, incarnation, create: false, wait_ms, opens, invocation })
    };
    command(node, call, true)
}

fn value(node: &Node) -> Outcome {
    node.ask(|origin| {
        let (method, args) = ("get".into(), Vec::new());
        let question = Question::Method { object: object(), incarnation: None, create: false, method, args };
        of_type(Request::Query {
            origin,
            principal: "test".into(),
            question,
            consistency: Consistency::Linearizable,
            min_position: None,
            proof: None,
        })
    })
}

/// Administers the object.
fn quarantine(node: &Node, reason: Option<&str>) -> String {
    let reason = reason.map(String::from);
    let quarantine = |caller| {
        let (object, reason) = (object(), reason.clone());
        Command::Quarantine { caller, object, incarnation: None, reason }
    };
    done(command(node, quarantine, true))
}

/// How often a member has put its data aside.
fn times_put_aside(place: &Path) -> usize {
    std::fs::read_dir(place.join("objects").join("put-aside")).map_or(0, Iterator::count)
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, from the first run that differs to the repair")]
fn object_that_runs_differently_at_one_member_is_stopped_and_that_member_comes_back_once() {
    let folder = TempDir::new().unwrap();
    let ports = Ports::new(3);
    let engines: Vec<_> = (1..=3).map(|_| Arc::new(FakeEngine::new(true))).collect();
    let place = |own: usize| folder.path().join(own.to_string());
    let nodes: Vec<_> = (1..=3_usize)
        .map(|own| {
            let mut config = config(&place(own), Some(ports.group(own as u8, 3)));
            config.engine = ModuleEngine(Some(Arc::clone(&engines[own - 1]) as _));
            Node::start(config, Some(&ports.ports[own - 1]))
        })
        .collect();
    nodes.iter().for_each(Node::serves);
    let leads = |node: &Node| node.member.standing().is_leading();
    let odd = nodes.iter().position(|node| !leads(node)).unwrap();
    let sound = &nodes[(odd + 1) % 3];
    prepare(sound);
    // From now on, and for good, calls at one member come to something else.
    engines[odd].become_later(true);
    let mut added = 0;
    let refused = loop {
        match try_add(sound) {
            Outcome::Done(result) => assert_eq!(result, format!("{{\"value\":{}}}", added + 1)),
            Outcome::Refused(problem) => break problem,
        }
        added += 1;
    };
    assert_eq!(refused.slug, Slug::Quarantined);
    assert!(
        refused.detail.contains("members came to different results of its run at position"),
        "{refused:?}"
    );
    assert!(added >= 100, "they compare every 128 commands: {added}");
    nodes[odd].until("its data is put aside", |_| times_put_aside(&place(odd + 1)) == 1);
    // The others go on meanwhile, and it is back with what they have.
    let count = |node: &Node| {
        let object = ObjectName { kind: type_named("counter").unwrap(), name: String::from("c") };
        let invocation = Invocation { method: String::from("increment"), args: Vec::new() };
        let call = |caller| {
            let (object, invocation) = (object.clone(), invocation.clone());
            let (incarnation, wait_ms, opens) = (None, None, None);
            Command::Call(Call { caller, object, incarnation, create: true, wait_ms, opens, invocation })
        };
        done(command(node, call, false))
    };
    assert_eq!(count(sound), "{\"value\":1}");
    for node in &nodes {
        loop {
            match value(node) {
                Outcome::Refused(problem) if problem.slug == Slug::Quarantined => break,
                Outcome::Refused(problem) if problem.slug != Slug::NoSuchType => {}
                outcome => panic!("{outcome:?}"),
            }
        }
    }
    for number in 2..=400 {
        assert_eq!(count(sound), format!("{{\"value\":{number}}}"));
    }
    let put_aside = (1..=3).map(|own| times_put_aside(&place(own))).sum::<usize>();
    assert_eq!(put_aside, 1, "no member differs any more");
    let why = std::fs::read_dir(place(odd + 1).join("objects").join("put-aside")).unwrap();
    let why = why.flatten().map(|entry| entry.path().join("why.txt")).find(|file| file.exists()).unwrap();
    let why = std::fs::read_to_string(why).unwrap();
    assert!(why.contains("another than that on which a majority agrees"), "{why}");
    // Its machine is repaired: nothing that was acknowledged is lost.
    engines[odd].become_later(false);
    assert_eq!(quarantine(sound, None), "{\"quarantined\":false}");
    assert_eq!(done(value(&nodes[odd])), format!("{{\"value\":{added}}}"));
    assert_eq!(done(try_add(&nodes[odd])), format!("{{\"value\":{}}}", added + 1));
}
