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
use objects_state::{Call, Command, Identity, Invocation, ObjectName, Outcome, Slug};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

const MODULE: &[u8] = b"a moody module";
const DESCRIPTION: &str = r#"{"methods":{"add":{"kind":"command"},"get":{"kind":"query"}}}"#;
/// More than lie between two comparisons of members.
const CALLS: u64 = 300;

fn object() -> ObjectName {
    ObjectName { kind: UNKNOWN_TYPE, name: String::from("it") }
}

fn of_type(request: Request) -> Request {
    let (consistency, min_position) = (Consistency::Linearizable, None);
    Request::OfType { type_name: String::from("hits"), request: Box::new(request), consistency, min_position }
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

fn add(node: &Node) -> String {
    let invocation = Invocation { method: String::from("add"), args: Vec::new() };
    let call = |caller| {
        let (object, invocation) = (object(), invocation.clone());
        let (incarnation, wait_ms, opens) = (None, None, None);
        Command::Call(Call { caller, object, incarnation, create: false, wait_ms, opens, invocation })
    };
    done(command(node, call, true))
}

fn value(node: &Node) -> Outcome {
    node.ask(|origin| {
        let (method, args) = (String::from("get"), Vec::new());
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

fn is_put_aside(place: &Path) -> bool {
    place.join("objects").join("put-aside").exists()
}

#[test]
fn copy_that_differs_from_the_others_is_put_aside_and_their_state_takes_its_place() {
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
    // From now on calls at one member come to something else.
    engines[odd].become_later(true);
    for number in 1..=CALLS {
        assert_eq!(add(sound), format!("{{\"value\":{number}}}"));
    }
    nodes[odd].until("its data is put aside", |_| is_put_aside(&place(odd + 1)));
    engines[odd].become_later(false);
    let expected = format!("{{\"value\":{CALLS}}}");
    assert_eq!(done(value(&nodes[odd])), expected, "it has the others' state");
    assert_eq!(add(sound), format!("{{\"value\":{}}}", CALLS + 1));
    assert_eq!(done(value(&nodes[odd])), format!("{{\"value\":{}}}", CALLS + 1));
    assert!((1..=3).filter(|own| *own != odd + 1).all(|own| !is_put_aside(&place(own))));
    let why = std::fs::read_dir(place(odd + 1).join("objects").join("put-aside")).unwrap();
    let why = why.flatten().map(|entry| entry.path().join("why.txt")).find(|file| file.exists()).unwrap();
    let why = std::fs::read_to_string(why).unwrap();
    assert!(why.contains("another than that on which a majority agrees"), "{why}");
}
