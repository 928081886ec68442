//! Types of users at the edge: uploads step by step, routes that name a type which the core alone knows.

mod world;

use objects_http::{HttpRequest, Say};
use objects_replica::edge::{Answer, Question, Request};
use objects_state::limits::PIECE_BYTES;
use objects_state::{Command, Outcome, Problem, Slug};
use world::{World, done, fields, json, origin_of, slug};

/// A module that says of itself that it has one method.
fn module(bytes: usize) -> Vec<u8> {
    let description = br#"{"methods":{"hit":{"kind":"command"}}}"#;
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    let mut section = vec![10];
    section.extend_from_slice(b"diwan.type");
    section.extend_from_slice(description);
    module.extend_from_slice(&[0, section.len() as u8]);
    module.extend_from_slice(&section);
    module.resize(bytes, 0);
    module
}

fn upload(world: &mut World, module: &[u8]) -> u32 {
    world.next += 1;
    let fields = fields(&[("Content-Type", "application/wasm")]);
    let request = HttpRequest {
        method: "POST",
        target: "/v1/types/hits",
        fields: &fields,
        body: module,
        certificate: None,
    };
    world.edge.request(world.next, &request, &mut |bytes| bytes.fill(0x5a));
    world.next
}

#[test]
#[expect(clippy::too_many_lines, reason = "one upload, step by step")]
fn upload_goes_piece_by_piece_and_is_answered_when_its_version_is_ready() {
    let mut world = World::new();
    let size = PIECE_BYTES + 10;
    let key = upload(&mut world, &module(size));
    let mut offsets = Vec::new();
    let put = loop {
        let mut asks = world.asks();
        assert_eq!(asks.len(), 1, "one step is under way at a time: {asks:?}");
        let ask = asks.remove(0);
        let Request::Command { command: Command::TypePiece { offset, ref bytes, .. }, .. } = ask else {
            break ask;
        };
        offsets.push(offset);
        let received = offset as usize + bytes.len();
        world.answer(Answer::Done {
            origin: origin_of(&ask),
            position: 1,
            outcome: done(&format!("{{\"received\":{received}}}")),
        });
        assert!(world.says().is_empty());
    };
    assert_eq!(offsets, [0, PIECE_BYTES as u64]);
    let Request::Command { command: Command::TypePut { ref name, ref description, .. }, .. } = put else {
        panic!("{put:?}")
    };
    assert_eq!((name.as_str(), description.as_str()), ("hits", r#"{"methods":{"hit":{"kind":"command"}}}"#));
    let version = "ab".repeat(32);
    let answer = done(&format!("{{\"version\":\"{version}\",\"state\":\"preparing\"}}"));
    world.answer(Answer::Done { origin: origin_of(&put), position: 2, outcome: answer });
    assert!(world.asks().is_empty() && world.edge.deadline().is_some());
    for state in ["preparing", "ready"] {
        assert!(world.later(30).is_empty());
        let asked = world.asks().remove(0);
        assert!(matches!(asked, Request::Query { question: Question::Version(..), .. }), "{asked:?}");
        let outcome = done(&format!("{{\"version\":\"{version}\",\"state\":\"{state}\"}}"));
        world.answer(Answer::Done { origin: origin_of(&asked), position: 3, outcome });
    }
    let says = world.says();
    let [Say::Respond(of, response)] = &says[..] else { panic!("{says:?}") };
    assert_eq!(
        (*of, response.status, json(response)["version"].as_str()),
        (key, 201, Some(version.as_str()))
    );
}

#[test]
fn upload_whose_client_has_gone_stops_and_rejection_is_a_problem() {
    let mut world = World::new();
    let key = upload(&mut world, &module(90));
    let piece = world.asks().remove(0);
    world.edge.gone(key);
    assert!(matches!(world.asks()[..], [Request::Gone { .. }]));
    world.answer(Answer::Done { origin: origin_of(&piece), position: 1, outcome: done("{\"received\":90}") });
    assert!(world.asks().is_empty() && world.edge.under_way() == 0);
    upload(&mut world, &module(90));
    let piece = world.asks().remove(0);
    world.answer(Answer::Done { origin: origin_of(&piece), position: 1, outcome: done("{\"received\":90}") });
    let put = world.asks().remove(0);
    let rejected = Problem::new(Slug::TypeRejected, "rule 7: function `x`");
    let response = world.done(origin_of(&put), Outcome::Refused(rejected));
    assert_eq!((response.status, slug(&response)), (422, "type-rejected".into()));
    // So many at a time, and then others have to wait.
    for _ in 0..4 {
        upload(&mut world, &module(90));
    }
    world.asks();
    upload(&mut world, &module(90));
    assert!(matches!(&world.says()[..], [Say::Respond(_, response)] if response.status == 429));
}

#[test]
fn routes_of_a_users_type_name_it_for_the_core() {
    let mut world = World::new();
    let version = "ab".repeat(32);
    for (method, target, body) in [
        ("POST", "/v1/objects/hits/a/hit?wait_ms=5", "{\"by\":2}"),
        ("GET", "/v1/objects/hits/a/get?key=x&n=5&consistency=stale", ""),
        ("PUT", "/v1/objects/hits/a", "{}"),
        ("GET", "/v1/objects/hits/a", ""),
        ("DELETE", "/v1/objects/hits/a", ""),
        ("GET", "/v1/objects/hits/a/events", ""),
        ("GET", "/v1/objects?type=hits", ""),
        ("POST", "/v1/objects/hits/a:batch", "{\"calls\":[{\"method\":\"hit\"}]}"),
        ("POST", "/v1/objects/hits/a:migrate", &format!("{{\"to\":\"{version}\"}}")),
        ("POST", "/v1/objects/hits/a:migrate", &format!("{{\"to\":\"{version}\",\"dry_run\":true}}")),
        ("POST", "/v1/objects/hits/a:rollback", "{\"lose_commands\":true}"),
        ("POST", "/v1/objects/hits/a:quarantine", "{\"reason\":\"it is deadly\"}"),
        ("POST", "/v1/objects/hits/a:release", ""),
    ] {
        match world.asked(method, target, &[], body) {
            Request::OfType { type_name, .. } => assert_eq!(type_name, "hits", "{method} {target}"),
            other => panic!("{method} {target}: {other:?}"),
        }
    }
    match world.asked("GET", "/v1/objects/hits/a/get?key=x&n=5", &[], "") {
        Request::OfType { request, .. } => match *request {
            Request::Query { question: Question::Method { args, create, .. }, .. } => {
                assert_eq!((args, create), (br#"{"key":"x","n":5}"#.to_vec(), false));
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
    let deleted = world.command("DELETE", &format!("/v1/types/hits/{version}"), &[], "");
    assert!(matches!(deleted, Command::TypeDelete { .. }), "{deleted:?}");
    match world.command("POST", &format!("/v1/types/hits/{version}:release"), &[], "") {
        Command::TypeRelease { name, version: of, .. } => {
            assert_eq!((&*name, of.to_string()), ("hits", version.clone()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn those_who_look_after_an_object_say_what_is_to_be_done_to_it() {
    let mut world = World::new();
    let version = "ab".repeat(32);
    let mut inner = |target: &str, body: &str| match world.asked("POST", target, &[], body) {
        Request::OfType { request, .. } => *request,
        other => panic!("{other:?}"),
    };
    match inner("/v1/objects/hits/a:rollback", "{}") {
        Request::Command { command: Command::Rollback { object, lose_commands: false, .. }, .. } => {
            assert_eq!(object.name, "a");
        }
        other => panic!("{other:?}"),
    }
    let lost = inner("/v1/objects/hits/a:rollback", "{\"lose_commands\":true}");
    assert!(matches!(lost, Request::Command { command: Command::Rollback { lose_commands: true, .. }, .. }));
    match inner("/v1/objects/hits/a:quarantine", "{\"reason\":\"it is deadly\"}") {
        Request::Command { command: Command::Quarantine { reason, .. }, .. } => {
            assert_eq!(reason.as_deref(), Some("it is deadly"));
        }
        other => panic!("{other:?}"),
    }
    let released = inner("/v1/objects/hits/a:release", "");
    assert!(matches!(released, Request::Command { command: Command::Quarantine { reason: None, .. }, .. }));
    // A trial changes nothing: it is a query.
    let tried = inner("/v1/objects/hits/a:migrate", &format!("{{\"to\":\"{version}\",\"dry_run\":true}}"));
    assert!(matches!(tried, Request::Query { question: Question::TryMigration { .. }, .. }), "{tried:?}");
}

#[test]
fn bytes_go_to_the_core_and_come_back_as_they_are() {
    let mut world = World::new();
    let bytes = "application/octet-stream; charset=binary";
    let call = |world: &mut World, kind: Option<&'static str>, body: &[u8]| {
        world.next += 1;
        let fields = fields(kind.map(|kind| ("Content-Type", kind)).as_slice());
        let target = "/v1/objects/hits/a/put?wait_ms=5";
        let request = HttpRequest { method: "POST", target, fields: &fields, body, certificate: None };
        world.edge.request(world.next, &request, &mut |bytes| bytes.fill(0x5a));
        (world.asks(), world.says())
    };
    let args_of = |asks: Vec<Request>| match asks.into_iter().next() {
        Some(Request::OfType { request, is_bytes, .. }) => match *request {
            Request::Command { command: Command::Call(call), .. } => {
                assert_eq!(call.wait_ms, Some(5));
                (call.invocation.args, is_bytes)
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(args_of(call(&mut world, Some(bytes), b"\xff\x00{").0), (b"\xff\x00{".to_vec(), true));
    assert_eq!(args_of(call(&mut world, Some("application/json"), b"{}").0), (b"{}".to_vec(), false));
    assert_eq!(args_of(call(&mut world, None, b"").0), (Vec::new(), false));
    for (kind, body) in
        [(None, &b"\xff"[..]), (Some("application/json"), b"\xff"), (Some(bytes), &vec![7; 2 << 20])]
    {
        let (asks, says) = call(&mut world, kind, body);
        assert!(
            asks.is_empty()
                && matches!(&says[..], [Say::Respond(_, response)] if [400, 413].contains(&response.status))
        );
    }
}

#[test]
fn query_by_get_has_no_bytes_and_a_result_of_bytes_is_answered_as_it_is() {
    let mut world = World::new();
    let Request::OfType { request, is_bytes, .. } = world.asked("GET", "/v1/objects/hits/a/get", &[], "")
    else {
        panic!("a request of a type");
    };
    let is_empty = |question: &Question| matches!(question, Question::Method { args, .. } if args.is_empty());
    assert!(!is_bytes && matches!(&*request, Request::Query { question, .. } if is_empty(question)));
    let asked = world.asked("GET", "/v1/tickets/7", &[], "");
    let response = world.done(origin_of(&asked), done("=/wA="));
    assert_eq!((response.status, response.content_type), (200, "application/octet-stream"));
    assert_eq!((response.bytes, &*response.body), (Some(vec![0xff, 0]), ""));
}
