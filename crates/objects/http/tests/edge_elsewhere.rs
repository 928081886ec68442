//! What clients see of objects by other ways than their plain routes: namespaces, exports and imports, the console.

mod world;

use objects_replica::edge::{Answer, EventId, Happening, Question, Request};
use objects_state::{Command, Content, type_named};
use world::{World, done, header, json, origin_of};

#[test]
fn namespace_is_a_view_of_names_that_begin_with_it() {
    let mut world = World::new();
    for (method, path) in [("POST", "increment"), ("GET", "get")] {
        let asked = world.asked(method, &format!("/v1/ns/team/objects/counter/visits/{path}"), &[], "");
        let name = match &asked {
            Request::Command { command: Command::Call(call), .. } => &call.object.name,
            Request::Query { question: Question::Method { object, .. }, .. } => &object.name,
            other => panic!("{other:?}"),
        };
        assert_eq!(name, "team/visits");
    }
    let Command::Delete { object, .. } = world.command("DELETE", "/v1/ns/team/objects/lock/b", &[], "")
    else {
        panic!("no deletion")
    };
    assert_eq!(object.name, "team/b");
    // Outside the same object has its whole name.
    let Command::Delete { object, .. } = world.command("DELETE", "/v1/objects/lock/team%2Fb", &[], "") else {
        panic!("no deletion")
    };
    assert_eq!(object.name, "team/b");
    let long = "n".repeat(251);
    let refused = world.refused("PUT", &format!("/v1/ns/team/objects/lock/{long}"), &[], "");
    assert!(refused.status == 400 && refused.body.contains("1 to 250 bytes"), "{refused:?}");
    assert!(matches!(world.asked("POST", "/v1/ns/team/sessions", &[], ""), Request::Command { .. }));
}

#[test]
fn lists_descriptions_and_events_of_a_namespace_have_short_names() {
    let mut world = World::new();
    let asked = world.asked("GET", "/v1/ns/team/objects?type=lock&prefix=b&after=build&limit=5", &[], "");
    let Request::Query { question: Question::List { prefix, after, .. }, .. } = &asked else {
        panic!("{asked:?}")
    };
    assert_eq!((prefix.as_str(), after.as_deref()), ("team/b", Some("team/build")));
    let result = r#"{"objects":[{"type":"lock","name":"team/builds"}],"next":"team/builds"}"#;
    let response = world.done(origin_of(&asked), done(result));
    assert_eq!(json(&response)["objects"][0]["name"], "builds");
    assert_eq!(json(&response)["next"], "builds");
    let asked = world.asked("GET", "/v1/ns/team/objects?after=lock/build", &[], "");
    let Request::Query { question: Question::ListAll { prefix, after, .. }, .. } = &asked else {
        panic!("{asked:?}")
    };
    assert_eq!((prefix.as_str(), after.as_deref()), ("team/", Some("lock/team/build")));
    let result = r#"{"objects":[],"next":"lock/team/c"}"#;
    assert_eq!(json(&world.done(origin_of(&asked), done(result)))["next"], "lock/c");
    let asked = world.asked("GET", "/v1/ns/team/objects/lock/build", &[], "");
    let response = world.done(origin_of(&asked), done(r#"{"type":"lock","name":"team/build"}"#));
    assert_eq!(json(&response)["name"], "build");
    let asked = world.asked("GET", "/v1/ns/team/objects/lock/build/events", &[], "");
    let (origin, id) = (origin_of(&asked), EventId { position: 7, ordinal: 0 });
    world.answer(Answer::Watching { origin, id });
    let object =
        objects_state::ObjectName { kind: type_named("lock").expect("a type"), name: "team/build".into() };
    let (kind, session, user_type, said) = (objects_state::EventKind::Created, None, None, None);
    let event = objects_state::Event { kind, object, session, position: 8, at_ms: 0, user_type, said };
    world.answer(Answer::Event { origin, id, what: Happening::Object(event) });
    let said = world.says();
    assert!(format!("{:?}", said.last()).contains(r#"\"name\":\"build\""#), "{said:?}");
}

#[test]
fn export_is_asked_for_and_an_import_carries_what_it_says() {
    let mut world = World::new();
    let asked = world.asked("POST", "/v1/objects/map/m:export", &[("If-Match", "\"9\"")], "");
    let Request::Query { question: Question::Export { object, incarnation }, .. } = &asked else {
        panic!("{asked:?}")
    };
    assert_eq!((object.name.as_str(), *incarnation), ("m", Some(9)));
    let exported = r#"{"export":1,"type":"counter","name":"c","position":7,"arguments":{"max":9},
        "calls":[{"method":"set","args":{"value":3}}],"left_out":["calls that wait"]}"#;
    let asked = world.asked("POST", "/v1/ns/team/objects/counter/d:import", &[], exported);
    let Request::Command { command: Command::Import { object, content, .. }, .. } = &asked else {
        panic!("{asked:?}")
    };
    assert_eq!(object.name, "team/d");
    let Content::Calls { arguments, calls } = content else { panic!("{content:?}") };
    assert_eq!((arguments.as_slice(), calls.len()), (&b"{\"max\":9}"[..], 1));
    assert_eq!((calls[0].method.as_str(), calls[0].args.as_slice()), ("set", &b"{\"value\":3}"[..]));
    let response = world.done(origin_of(&asked), done(r#"{"imported":true,"incarnation":12}"#));
    assert_eq!(response.status, 201);
    let of_module = r#"{"export":1,"type":"hits","name":"a","position":7,"version":"00","description":{"a":1},"state":[1]}"#;
    let asked = world.asked("POST", "/v1/objects/hits/b:import", &[], of_module);
    let Request::OfType { type_name, request, .. } = &asked else { panic!("{asked:?}") };
    let Request::Command { command: Command::Import { content, .. }, .. } = &**request else {
        panic!("{asked:?}")
    };
    let state = Content::State { description: b"{\"a\":1}".to_vec(), state: b"[1]".to_vec() };
    assert_eq!((type_name.as_str(), content), ("hits", &state));
}

#[test]
fn what_is_no_export_of_that_type_is_refused() {
    let mut world = World::new();
    let calls = |count: usize| {
        let calls = vec![r#"{"method":"set"}"#; count].join(",");
        format!(r#"{{"export":1,"type":"counter","arguments":{{}},"calls":[{calls}]}}"#)
    };
    for body in [
        "",
        "{}",
        "[1]",
        r#"{"export":2,"type":"counter","arguments":{},"calls":[]}"#,
        r#"{"export":1,"type":"lock","arguments":{},"calls":[]}"#,
        r#"{"export":1,"type":"counter","calls":[]}"#,
        r#"{"export":1,"type":"counter","arguments":{}}"#,
        r#"{"export":1,"type":"counter","arguments":{},"calls":[{"args":{}}]}"#,
        r#"{"export":1,"type":"counter","arguments":{},"calls":[],"more":1}"#,
        r#"{"export":1,"type":"counter","state":{}}"#,
        &calls(20_001),
    ] {
        let (status, slug) = world.slug("POST", "/v1/objects/counter/c:import", &[], body);
        assert_eq!((status, slug.as_str()), (400, "bad-argument"), "{}", &body[..body.len().min(80)]);
    }
    assert_eq!(world.slug("POST", "/v1/objects/counter/c:export", &[], "{\"a\":1}").0, 400);
}

#[test]
fn console_is_a_page_whose_own_requests_are_taken() {
    let mut world = World::new();
    for (target, kind) in [
        ("/console/objects", "text/html; charset=utf-8"),
        ("/console/objects.css", "text/css; charset=utf-8"),
        ("/console/objects.js", "text/javascript; charset=utf-8"),
    ] {
        let page = world.refused("GET", target, &[("Host", "localhost:7180")], "");
        assert_eq!((page.status, page.content_type), (200, kind), "{target}");
        let policy = header(&page, "content-security-policy").expect("a policy");
        assert!(
            policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
    }
    assert_eq!(world.refused("GET", "/console/objects", &[("Host", "evil.example")], "").status, 403);
    let path = "/v1/objects/counter/c/increment";
    let own = [("Host", "localhost:7180"), ("Origin", "http://localhost:7180")];
    assert!(matches!(world.asked("POST", path, &own, ""), Request::Command { .. }));
    for origin in ["http://localhost:7181", "https://evil.example", "null"] {
        let other = [("Host", "localhost:7180"), ("Origin", origin)];
        assert_eq!(world.slug("POST", path, &other, ""), (403, "forbidden".into()), "{origin}");
    }
}
