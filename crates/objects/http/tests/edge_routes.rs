//! The edge as a machine: what each request asks of the core, and how each answer is shown.

mod world;

use base::MonoTime;
use objects_http::{Edge, EdgeConfig, Say};
use objects_replica::edge::{Answer, Consistency, EventId, Happening, Question, Request, Subject};
use objects_state::{
    Command, Identity, MethodKind, Origin, Outcome, Problem, SessionId, SideEffect, Slug, TYPES, methods,
    type_named,
};
use world::{Given, SESSION, World, done, header, json, origin_of, slug};

const fn parked(origin: Origin, ticket: u64, keeps: Option<SessionId>) -> Answer {
    Answer::Parked { origin, ticket, keeps }
}

/// What the core was told of sessions, in milliseconds: a list for each time.
fn heard(asks: &[Request]) -> Vec<Vec<(SessionId, u64)>> {
    let heard = asks.iter().filter_map(|ask| match ask {
        Request::Heard { sessions, .. } => Some(sessions.iter().map(|(id, at)| (*id, at.ms())).collect()),
        _ => None,
    });
    heard.collect()
}

#[test]
fn every_method_of_every_type_is_a_route() {
    for (kind, name) in TYPES {
        for method in methods(*kind) {
            let mut world = World::new();
            let path = format!("/v1/objects/{name}/x/{}", method.name);
            let posted = world.asked("POST", &path, &[], "");
            let is_command = matches!(method.kind, MethodKind::Command | MethodKind::Blocking);
            assert_eq!(matches!(posted, Request::Command { .. }), is_command, "{path}");
            if is_command {
                assert_eq!(world.slug("GET", &path, &[], ""), (405, "not-a-query".into()), "{path}");
            } else {
                let got = world.asked("GET", &path, &[], "");
                assert!(matches!(got, Request::Query { question: Question::Method { .. }, .. }), "{path}");
            }
        }
    }
}

#[test]
fn call_carries_what_its_request_says() {
    let mut world = World::new();
    let headers = [
        ("Diwan-Session", SESSION),
        ("Diwan-Request", "5"),
        ("Diwan-Acknowledged", "3"),
        ("If-Match", "\"9\""),
    ];
    let request =
        world.asked("POST", "/v1/objects/lock/a%20b/acquire?wait_ms=70", &headers, "{\"owner\":\"t\"}");
    let Request::Command { command: Command::Call(call), secret_hash: Some(hash) } = request else {
        panic!("no call")
    };
    let Identity::Session { request: 5, acknowledged: 3, session, above } = call.caller.identity else {
        panic!("{call:?}")
    };
    assert!(above.is_empty());
    assert_eq!(session.to_string(), &SESSION[..32]);
    assert_ne!(hash, [0; 32]);
    assert_eq!((call.object.name.as_str(), call.incarnation, call.wait_ms), ("a b", Some(9), Some(70)));
    assert_eq!((call.invocation.method.as_str(), call.opens), ("acquire", None));
    assert_eq!(call.invocation.args, b"{\"owner\":\"t\"}");
    assert_eq!((call.caller.origin.member, call.caller.origin.number >> 48), (3, 7));
}

#[test]
fn replies_are_acknowledged_up_to_a_floor_and_above_it() {
    for (said, floor, ranges) in [
        ("5, 7-9,12 , 13-13", 5, &[(7, 9), (12, 13)][..]),
        ("0,15-20,11", 0, &[(11, 11), (15, 20)]),
        ("0, 11-12, 12-14", 0, &[(11, 14)]),
        ("9", 9, &[]),
    ] {
        let headers = [("Diwan-Session", SESSION), ("Diwan-Request", "10"), ("Diwan-Acknowledged", said)];
        let command = World::new().command("POST", "/v1/objects/counter/c/increment", &headers, "");
        let caller = command.caller().expect("a call");
        let Identity::Session { acknowledged, above, .. } = &caller.identity else { panic!("{caller:?}") };
        assert_eq!((*acknowledged, above.iter().collect::<Vec<_>>()), (floor, ranges.to_vec()), "{said}");
    }
}

#[test]
fn keys_have_quotes_or_none() {
    for key in ["\"k-1\"", "k-1"] {
        let headers: Vec<(&'static str, &'static str)> = vec![("Idempotency-Key", key)];
        let command = World::new().command("POST", "/v1/objects/counter/c/increment", &headers, "");
        assert_eq!(command.caller().expect("a client's").identity, Identity::Key("k-1".into()));
    }
}

#[test]
fn call_with_a_time_to_live_and_no_session_opens_one_and_shows_its_secret() {
    let mut world = World::new();
    let asked = world.asked("POST", "/v1/objects/lock/l/acquire", &[], "{\"ttl_ms\":5000}");
    let Request::Command { command: Command::Call(call), .. } = &asked else { panic!("no call") };
    let opens = call.opens.clone().expect("a session");
    assert_eq!((opens.ttl_ms, opens.generation, opens.id.to_string()), (5_000, 1, "5a".repeat(16)));
    let result = format!("{{\"acquired\":true,\"session\":\"{}\",\"expires_in_ms\":5000}}", "5a".repeat(16));
    let response = world.done(origin_of(&asked), done(&result));
    let credential = format!("{0}.{0}", "5a".repeat(16));
    assert_eq!(header(&response, "diwan-session"), Some(credential.as_str()));
    assert_eq!(json(&response)["secret"], "5a".repeat(16));
    // Nothing was got: there is no session.
    let asked = world.asked("POST", "/v1/objects/lock/l/acquire", &[], "{\"ttl_ms\":5000}");
    let response = world.done(origin_of(&asked), done("{\"acquired\":false}"));
    assert_eq!((header(&response, "diwan-session"), response.body.as_str()), (None, "{\"acquired\":false}"));
    // Repeats of a key get the same bytes, so the secret is not among them.
    let key = [("Idempotency-Key", "k")];
    let asked = world.asked("POST", "/v1/objects/lock/l/acquire", &key, "{\"ttl_ms\":5000}");
    let response = world.done(origin_of(&asked), done(&result));
    assert_eq!(header(&response, "diwan-session"), Some(credential.as_str()));
    assert_eq!(response.body, result);
}

#[test]
fn time_to_live_of_a_map_entry_opens_nothing() {
    let command = World::new().command(
        "POST",
        "/v1/objects/map/m/put",
        &[],
        "{\"key\":\"a\",\"value\":1,\"ttl_ms\":50}",
    );
    let Command::Call(call) = command else { panic!("no call") };
    assert_eq!(call.opens, None);
}

#[test]
fn query_takes_its_arguments_by_their_kinds() {
    let cases = [
        ("/v1/objects/map/m/get?key=1", "{\"key\":\"1\"}"),
        ("/v1/objects/map/m/get_all?keys=%5B%22a%22%5D", "{\"keys\":[\"a\"]}"),
        ("/v1/objects/lock/l/check?fence=7", "{\"fence\":7}"),
        ("/v1/objects/set/s/contains?item=%7B%22b%22:2,%22a%22:1%7D", "{\"item\":{\"a\":1,\"b\":2}}"),
        ("/v1/objects/log/l/read?from=0&limit=10", "{\"from\":0,\"limit\":10}"),
        ("/v1/objects/counter/c/get", ""),
    ];
    for (target, wanted) in cases {
        let Request::Query { question: Question::Method { args, .. }, consistency, min_position, .. } =
            World::new().asked("GET", target, &[], "")
        else {
            panic!("no query")
        };
        assert_eq!(String::from_utf8(args).expect("text"), wanted);
        assert_eq!((consistency, min_position), (Consistency::Linearizable, None));
    }
    let target = "/v1/objects/counter/c/get?consistency=stale&min_position=12";
    let Request::Query { consistency, min_position, .. } = World::new().asked("HEAD", target, &[], "") else {
        panic!("no query")
    };
    assert_eq!((consistency, min_position), (Consistency::Stale, Some(12)));
}

#[test]
fn read_that_waits_is_a_command() {
    let mut world = World::new();
    assert!(matches!(
        world.asked("POST", "/v1/objects/log/l/read", &[], "{\"from\":1}"),
        Request::Query { .. }
    ));
    for (target, body) in [("read?wait_ms=5", ""), ("read", "{\"wait_ms\":5}")] {
        let asked = world.asked("POST", &format!("/v1/objects/log/l/{target}"), &[], body);
        assert!(matches!(asked, Request::Command { .. }), "{asked:?}");
    }
}

#[test]
fn other_routes_ask_what_they_mean() {
    let mut world = World::new();
    let own = [("Diwan-Session", SESSION)];
    let path = format!("/v1/sessions/{}", &SESSION[..32]);
    let create = world.command("PUT", "/v1/objects/counter/c", &[], "{\"max\":3}");
    assert!(matches!(create, Command::Create { args, .. } if args == b"{\"max\":3}"));
    let delete = world.command("DELETE", "/v1/objects/counter/c", &[("If-Match", "4")], "");
    assert!(matches!(delete, Command::Delete { incarnation: Some(4), .. }));
    let cancel = world.command("DELETE", "/v1/tickets/17", &[], "");
    assert!(matches!(cancel, Command::CancelTicket { ticket: 17, caller: Some(_) }));
    let open = world.command("POST", "/v1/sessions", &own, "{\"ttl_ms\":2000,\"name\":\"n\"}");
    let Command::OpenSession { session, .. } = open else { panic!("{open:?}") };
    assert_eq!((session.id.to_string(), session.name.as_deref()), (SESSION[..32].into(), Some("n")));
    let close = world.command("DELETE", &path, &own, "");
    assert!(matches!(close, Command::CloseSession { .. }));
    assert!(matches!(world.asked("POST", &format!("{path}/renew"), &own, ""), Request::Renew { .. }));
    let shown = world.asked("GET", &path, &own, "");
    assert!(matches!(shown, Request::Query { question: Question::Session(_), proof: Some(_), .. }));
    let described = world.asked("GET", "/v1/objects/counter/c", &[], "");
    assert!(matches!(described, Request::Query { question: Question::Describe(_), .. }));
    let list = world.asked("GET", "/v1/objects?type=map&prefix=a&after=ab&limit=5", &[], "");
    let Request::Query { question: Question::List { kind, prefix, after, limit }, .. } = list else {
        panic!()
    };
    assert_eq!(
        (Some(kind), prefix.as_str(), after.as_deref(), limit),
        (type_named("map"), "a", Some("ab"), 5)
    );
    let collect = world.asked("GET", "/v1/tickets/17", &[], "");
    assert!(matches!(collect, Request::Collect { ticket: 17, .. }));
    let watch = world.asked("GET", "/v1/objects/lock/l/events", &[("Last-Event-ID", "12.3")], "");
    let after = Some(EventId { position: 12, ordinal: 3 });
    assert!(
        matches!(watch, Request::Watch { subject: Subject::Object(_), after: found, .. } if found == after)
    );
    for route in ["/v1/groups", "/v1/ready"] {
        let counts = world.asked("GET", route, &[], "");
        assert!(matches!(counts, Request::Query { question: Question::Counts | Question::Ready, .. }));
    }
}

#[test]
fn list_without_a_type_is_of_all_types() {
    let mut world = World::new();
    let all = world.asked("GET", "/v1/objects?prefix=a&after=map/ab", &[], "");
    let Request::Query { question: Question::ListAll { prefix, after, limit: 100 }, .. } = all else {
        panic!("{all:?}")
    };
    assert_eq!((prefix.as_str(), after.as_deref()), ("a", Some("map/ab")));
}

#[test]
fn batch_is_read_whole() {
    let body = "{\"calls\":[{\"method\":\"increment\"},{\"args\":{\"by\": 2},\"method\":\"increment\"}]}";
    let Command::Batch(batch) = World::new().command("POST", "/v1/objects/counter/a:b:batch", &[], body)
    else {
        panic!()
    };
    let calls: Vec<_> =
        batch.invocations.iter().map(|call| (call.method.as_str(), call.args.as_slice())).collect();
    assert_eq!(batch.object.name, "a:b");
    assert_eq!(calls, [("increment", &b""[..]), ("increment", b"{\"by\":2}")]);
    let many = format!("{{\"calls\":[{}]}}", vec!["{\"method\":\"get\"}"; 101].join(","));
    let wrong = [
        "",
        "[]",
        "{}",
        "{\"calls\":{}}",
        "{\"calls\":[]}",
        "{\"calls\":[1]}",
        "{\"calls\":[{}]}",
        &many,
        "{\"calls\":[{\"method\":1}]}",
        "{\"calls\":[{\"method\":\"a\",\"args\":[]}]}",
        "{\"calls\":[{\"method\":\"a\",\"more\":1}]}",
        "{\"calls\":[{\"method\":\"a\"}],\"more\":1}",
    ];
    for wrong in wrong {
        let found = World::new().slug("POST", "/v1/objects/counter/c:batch", &[], wrong);
        assert_eq!(found, (400, "bad-argument".into()), "{wrong}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn what_is_wrong_in_form_goes_nowhere_and_says_why() {
    let increment = "/v1/objects/counter/c/increment";
    let long_key: &'static str = Box::leak("k".repeat(256).into_boxed_str());
    let too_many = (0..65).map(|place| format!(",{}", 20 + 2 * place)).collect::<String>();
    let too_many: &'static str = Box::leak(format!("1{too_many}").into_boxed_str());
    let acknowledges =
        |what| [("Diwan-Session", SESSION), ("Diwan-Request", "9"), ("Diwan-Acknowledged", what)];
    let headers: &[&[(&'static str, &'static str)]] = &[
        &[("Diwan-Session", "no")],
        &[("Diwan-Session", "0102030405060708090a0b0c0d0e0f10")],
        &[("Diwan-Session", SESSION)],
        &[("Diwan-Session", SESSION), ("Diwan-Request", "0")],
        &[("Diwan-Session", SESSION), ("Diwan-Request", "-1")],
        &[("Diwan-Session", SESSION), ("Diwan-Request", "9007199254740992")],
        &[("Diwan-Session", SESSION), ("Diwan-Request", "1"), ("Diwan-Request", "2")],
        &[("Diwan-Session", SESSION), ("Diwan-Request", "4"), ("Diwan-Acknowledged", "4")],
        &acknowledges(""),
        &acknowledges("3,"),
        &acknowledges("3, 6-"),
        &acknowledges("3, 7-6"),
        &acknowledges("3, 5 6"),
        &acknowledges("3-5"),
        &acknowledges("3, 2-12"),
        &acknowledges("3, 9"),
        &acknowledges("3, 0-2"),
        &acknowledges("1, 9007199254740992"),
        &acknowledges(too_many),
        &[("Diwan-Session", SESSION), ("Diwan-Request", "4"), ("Idempotency-Key", "k")],
        &[("Diwan-Request", "1")],
        &[("Idempotency-Key", "")],
        &[("Idempotency-Key", long_key)],
        &[("Idempotency-Key", "a\u{7f}b")],
        &[("If-Match", "abc")],
    ];
    for headers in headers {
        let found = World::new().slug("POST", increment, headers, "");
        assert_eq!(found, (400, "bad-argument".into()), "{headers:?}");
    }
    let bodies =
        ["{", "[]", "1", "{\"a\":1,\"a\":2}", "{\"by\":1}x", "\u{feff}{}", "{'by':1}", "null", "{\"by\":01}"];
    for body in bodies {
        assert_eq!(World::new().slug("POST", increment, &[], body), (400, "bad-argument".into()), "{body}");
    }
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(World::new().slug("POST", increment, &[], &deep), (400, "bad-argument".into()));
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(1_200_000));
    assert_eq!(World::new().slug("POST", increment, &[], &long), (413, "too-large".into()));
    let targets = [
        "increment?wait_ms=",
        "increment?wait_ms=-1",
        "increment?wait_ms=1&wait_ms=1",
        "increment?wait=1",
        "increment?hold_ms=999999999",
        "increment?%zz=1",
        "get?consistency=fresh",
        "get?min_position=x",
        "get?key=a",
    ];
    for target in targets {
        let method = if target.starts_with("get") { "GET" } else { "POST" };
        let found = World::new().slug(method, &format!("/v1/objects/counter/c/{target}"), &[], "");
        assert_eq!(found, (400, "bad-argument".into()), "{target}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn each_wrong_place_has_its_status_and_slug() {
    let own = [("Diwan-Session", SESSION)];
    let other = "/v1/sessions/ffffffffffffffffffffffffffffffff";
    let cases: &[(&str, &str, Given<'_>, &str, u16, &str)] = &[
        ("GET", "/v1/objects/counter/c/get/", &[], "", 404, "no-such-route"),
        ("GET", "/v1/nothing", &[], "", 404, "no-such-route"),
        ("POST", "/v1/objects/Hits/h/hit", &[], "", 404, "no-such-type"),
        ("GET", "/v1/types/Hits", &[], "", 404, "no-such-type"),
        ("GET", "/v1/types/lock/1", &[], "", 404, "no-such-type"),
        ("GET", "/v1/types/hits/1", &[], "", 400, "bad-argument"),
        ("POST", "/v1/types/lock", &[], "", 409, "exists"),
        ("POST", "/v1/types/hits", &[], "{}", 400, "bad-argument"),
        (
            "POST",
            "/v1/types/hits",
            &[("Content-Type", "application/wasm")],
            "\0asm\u{1}\0\0\0",
            400,
            "bad-argument",
        ),
        ("POST", "/v1/objects/hits/a:migrate", &[], "{\"to\":\"1\"}", 400, "bad-argument"),
        ("POST", "/v1/objects/counter/c/fly", &[], "", 404, "no-such-method"),
        ("POST", "/v1/objects/counter//increment", &[], "", 400, "bad-argument"),
        ("POST", "/v1/objects/counter/%00/increment", &[], "", 400, "bad-argument"),
        ("GET", "/v1/objects/counter/c/increment", &[], "", 405, "not-a-query"),
        ("PATCH", "/v1/objects/counter/c", &[], "", 405, "method-not-allowed"),
        ("POST", "/v1/objects/counter/c", &[], "", 405, "method-not-allowed"),
        ("POST", "/v1/live", &[], "", 405, "method-not-allowed"),
        ("PUT", "/v1/tickets/1", &[], "", 405, "method-not-allowed"),
        ("GET", "/v1/sessions", &[], "", 405, "method-not-allowed"),
        ("DELETE", "/v1/types", &[], "", 405, "method-not-allowed"),
        ("GET", "/v1/tickets/x", &[], "", 400, "bad-argument"),
        ("GET", "/v1/sessions/x", &[], "", 400, "bad-argument"),
        ("GET", "/v1/objects?limit=x", &[], "", 400, "bad-argument"),
        ("GET", "/v1/live?x=1", &[], "", 400, "bad-argument"),
        ("GET", "/v1/objects/lock/l/events", &[("Last-Event-ID", "x")], "", 400, "bad-argument"),
        ("POST", "/v1/sessions", &[], "{\"ttl_ms\":999}", 400, "bad-argument"),
        ("POST", "/v1/sessions", &[], "{\"ttl_ms\":\"1\"}", 400, "bad-argument"),
        ("POST", "/v1/sessions", &[], "{\"time\":1}", 400, "bad-argument"),
        ("POST", "/v1/objects/lock/l/acquire", &[], "{\"ttl_ms\":1}", 400, "bad-argument"),
        ("GET", other, &[], "", 401, "unauthenticated"),
        ("DELETE", other, &own, "", 403, "forbidden"),
        ("GET", "/v1/objects/counter/c/get", &[("Authorization", "Bearer x")], "", 401, "unauthenticated"),
        (
            "POST",
            "/v1/objects/counter/c/increment",
            &[("Content-Type", "application/xml")],
            "",
            415,
            "bad-codec",
        ),
        ("POST", "/v1/objects/counter/c/increment", &[("Content-Encoding", "gzip")], "", 415, "bad-codec"),
        ("DELETE", "/v1/types/hits/1", &[], "", 400, "bad-argument"),
        ("POST", "/v1/types/hits/1:release", &[], "", 400, "bad-argument"),
        ("POST", "/v1/types/hits/1:open", &[], "", 405, "method-not-allowed"),
        ("POST", "/v1/types/lock/1:release", &[], "", 404, "no-such-type"),
        ("POST", "/v1/objects/hits/a:migrate", &[], "{\"to\":\"1\",\"dry_run\":1}", 400, "bad-argument"),
        ("POST", "/v1/objects/hits/a:rollback", &[], "{\"lose_commands\":1}", 400, "bad-argument"),
        ("POST", "/v1/objects/hits/a:rollback", &[], "{\"lose\":true}", 400, "bad-argument"),
        ("POST", "/v1/objects/hits/a:quarantine", &[], "{\"reason\":1}", 400, "bad-argument"),
        ("POST", "/v1/objects/hits/a:release", &[], "{\"reason\":\"x\"}", 400, "bad-argument"),
        ("GET", "/v1/ns/a%2Fb/objects", &[], "", 400, "bad-argument"),
        ("GET", "/v1/ns/team", &[], "", 404, "no-such-route"),
        ("GET", "/v1/ns/team/ns/team/objects", &[], "", 404, "no-such-route"),
        ("GET", "/v1/ns/team/tokens", &[], "", 400, "bad-argument"),
        ("POST", "/v1/ns/team/access/open", &[], "", 400, "bad-argument"),
    ];
    for (method, target, headers, body, status, slug) in cases {
        let found = World::new().slug(method, target, headers, body);
        assert_eq!(found, (*status, String::from(*slug)), "{method} {target} {headers:?} {body}");
    }
    let response = World::new().refused("PATCH", "/v1/objects/counter/c", &[], "");
    assert_eq!(header(&response, "allow"), Some("GET, HEAD, PUT, DELETE"));
}

#[test]
fn bodies_of_tools_that_say_no_type_are_read() {
    for kind in
        ["application/json; charset=utf-8", "application/x-www-form-urlencoded", "text/plain", "a/b+json"]
    {
        World::new().asked("POST", "/v1/objects/counter/c/increment", &[("Content-Type", kind)], "{}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn refusals_of_the_core_keep_their_status_and_words() {
    use Slug::*;
    let slugs = [
        BadArgument,
        Forbidden,
        NotAQuery,
        NoSuchType,
        NoSuchObject,
        NoSuchMethod,
        NoSuchTicket,
        SessionExpired,
        ObjectDeleted,
        Exists,
        NotOwner,
        AlreadyGranted,
        RequestForgotten,
        WouldDeadlock,
        Broken,
        NameTaken,
        StaleFence,
        WrongIncarnation,
        TooLarge,
        KeyReused,
        QueueFull,
        WaitersFull,
        SessionsFull,
        Quota,
        ReentryLimit,
        Overflow,
        OutOfRange,
        OverRelease,
        NotHeld,
        NotOpen,
        Full,
        NotLeased,
        Trimmed,
        Never,
        NoLeader,
        OutcomeUnknown,
        DiskFull,
        Unauthenticated,
        Rate,
    ];
    for name in slugs {
        let mut world = World::new();
        let asked = world.asked("POST", "/v1/objects/counter/c/increment", &[], "");
        let problem = Problem { position: 41, ..Problem::new(name, "why") };
        let response = world.done(origin_of(&asked), Outcome::Refused(problem));
        assert_eq!((response.status, slug(&response)), (name.status(), String::from(name.name())));
        assert_eq!(response.position, Some(41));
        assert_eq!(header(&response, "retry-after").is_some(), name.status() == 429, "{name:?}");
    }
    let mut world = World::new();
    let asked = world.asked("POST", "/v1/objects/ratelimiter/r/acquire", &[], "");
    let problem = Problem { retry_after_ms: Some(1_200), ..Problem::new(Slug::Rate, "why") };
    let response = world.done(origin_of(&asked), Outcome::Refused(problem));
    assert_eq!(header(&response, "retry-after"), Some("2"));
}

#[test]
fn creation_and_sessions_have_their_own_statuses() {
    let mut world = World::new();
    for (created, status) in [("true", 201), ("false", 200)] {
        let asked = world.asked("PUT", "/v1/objects/counter/c", &[], "");
        let result = format!("{{\"created\":{created},\"incarnation\":4}}");
        assert_eq!(world.done(origin_of(&asked), done(&result)).status, status);
    }
    let asked = world.asked("POST", "/v1/sessions", &[], "");
    let response =
        world.done(origin_of(&asked), done("{\"session\":\"x\",\"generation\":1,\"ttl_ms\":10000}"));
    assert_eq!((response.status, json(&response)["secret"].as_str()), (201, Some("5a".repeat(16).as_str())));
    assert_eq!(header(&response, "location"), Some(format!("/v1/sessions/{}", "5a".repeat(16)).as_str()));
}

#[test]
fn waiting_call_with_a_key_is_answered_by_its_ticket_after_the_hold() {
    let mut world = World::new();
    let asked =
        world.asked("POST", "/v1/objects/lock/l/acquire?hold_ms=500", &[("Idempotency-Key", "k")], "");
    let origin = origin_of(&asked);
    world.answer(parked(origin, 12, None));
    assert!(world.later(499).is_empty());
    world.answer(parked(origin, 12, None));
    assert_eq!(world.edge.deadline(), Some(MonoTime::of_ms(world.now + 1)));
    let says = world.later(1);
    let [Say::Respond(_, response)] = says.as_slice() else { panic!("{says:?}") };
    assert_eq!((response.status, response.body.as_str()), (202, "{\"ticket\":12}"));
    assert_eq!(world.asks(), [Request::Gone { origin }]);
    // Too late: nobody waits for it.
    world.answer(Answer::Done { origin, position: 1, outcome: done("{}") });
    assert!(world.says().is_empty() && world.edge.under_way() == 0);
}

#[test]
fn waiting_call_without_session_and_key_is_never_answered_by_a_ticket() {
    let mut world = World::new();
    let asked = world.asked("POST", "/v1/objects/lock/l/acquire?hold_ms=1", &[], "");
    world.answer(parked(origin_of(&asked), 12, None));
    assert!(world.later(10_000_000).is_empty());
    assert_eq!(world.edge.deadline(), None);
}

#[test]
fn waiting_call_keeps_its_session_while_its_connection_is_open() {
    let mut world = World::new();
    let id = SessionId(core::array::from_fn(|place| place as u8 + 1));
    let of_session: Given<'_> = &[("Diwan-Session", SESSION), ("Diwan-Request", "1")];
    let path = "/v1/objects/lock/l/acquire";
    let first = world.asked("POST", path, of_session, "");
    world.answer(Answer::WhoWasHeard { round: 1 });
    assert_eq!(heard(&world.asks()), [vec![]], "it does not wait yet");
    world.answer(parked(origin_of(&first), 12, Some(id)));
    assert!(world.edge.deadline().is_some_and(|at| at.ms() <= world.now + 166), "a sixth of a second");
    let second = world.asked("POST", path, of_session, "");
    world.answer(parked(origin_of(&second), 13, Some(id)));
    world.later(200);
    assert_eq!(heard(&world.asks()), [vec![(id, world.now)]], "once for both");
    world.answer(Answer::WhoWasHeard { round: 2 });
    assert_eq!(heard(&world.asks()), [vec![(id, world.now)]]);
    world.edge.gone(1);
    world.later(200);
    assert_eq!(heard(&world.asks()), [vec![(id, world.now)]], "the other waits");
    world.now += 50;
    let answered = world.now;
    assert_eq!(world.done(origin_of(&second), done("{}")).status, 200);
    world.later(200);
    assert_eq!(heard(&world.asks()), [vec![(id, answered)]], "its time begins with the answer");
    assert_eq!(world.edge.deadline(), None);
    let third = world.asked("POST", path, of_session, "");
    world.answer(parked(origin_of(&third), 14, Some(id)));
    world.edge.gone(world.next);
    world.asks();
    assert_eq!((world.later(200).len(), world.edge.deadline()), (0, None), "it hung up");
}

#[test]
fn waiting_call_that_is_answered_by_its_ticket_keeps_its_session_no_longer() {
    let mut world = World::new();
    let id = SessionId([0x5a; 16]);
    let key: Given<'_> = &[("Idempotency-Key", "k")];
    for (opened, shows) in [(id, true), (SessionId([9; 16]), false)] {
        let path = "/v1/objects/lock/l/acquire?hold_ms=500";
        let asked = world.asked("POST", path, key, "{\"ttl_ms\":1000}");
        // The second time it repeats what another member has opened another session for.
        world.answer(parked(origin_of(&asked), 12, Some(opened)));
        world.later(200);
        assert_eq!(heard(&world.asks()), [vec![(opened, world.now)]]);
        let says = world.later(300);
        let [Say::Respond(_, response)] = says.as_slice() else { panic!("{says:?}") };
        let credential = format!("{0}.{0}", "5a".repeat(16));
        assert_eq!(header(response, "diwan-session"), shows.then_some(credential.as_str()));
        assert_eq!((response.status, heard(&world.asks())), (202, vec![vec![(opened, world.now)]]));
        assert_eq!(world.edge.deadline(), None);
    }
}

#[test]
fn ticket_is_collected_by_its_session_or_by_nobody() {
    let mut world = World::new();
    let proofs = [&[("Diwan-Session", SESSION)][..], &[]].map(|given| {
        match world.asked("GET", "/v1/tickets/12", given, "") {
            Request::Collect { proof, .. } => proof,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(proofs.map(|proof| proof.is_some()), [true, false]);
}

#[test]
fn core_is_told_of_a_connection_that_is_gone() {
    let mut world = World::new();
    let asked = world.asked("POST", "/v1/objects/lock/l/acquire", &[], "");
    world.edge.gone(world.next);
    world.edge.gone(world.next);
    assert_eq!(world.asks(), [Request::Gone { origin: origin_of(&asked) }]);
}

#[test]
fn answers_for_other_edges_and_members_reach_nobody() {
    let mut world = World::new();
    let asked = world.asked("POST", "/v1/objects/counter/c/increment", &[], "");
    let origin = origin_of(&asked);
    let others = [
        Origin { member: 4, ..origin },
        Origin { number: origin.number ^ (1 << 48), ..origin },
        Origin { number: origin.number + 1, ..origin },
    ];
    for origin in others {
        world.answer(Answer::Done { origin, position: 1, outcome: done("{}") });
    }
    assert!(world.says().is_empty());
    assert_eq!(world.done(origin, done("{\"value\":1}")).body, "{\"value\":1}");
}

#[test]
fn stream_begins_when_its_watch_has_and_tells_events() {
    let mut world = World::new();
    let asked = world.asked("GET", "/v1/objects/lock/l/events", &[], "");
    let origin = origin_of(&asked);
    assert_eq!(world.edge.deadline(), None);
    world.answer(Answer::Watching { origin, id: EventId { position: 9, ordinal: 0 } });
    let says = world.says();
    let [Say::Respond(_, response), Say::Push(_, begin)] = says.as_slice() else { panic!("{says:?}") };
    assert_eq!(
        (response.status, response.content_type, response.is_stream),
        (200, "text/event-stream", true)
    );
    assert!(begin.starts_with("id: 9.0\n"));
    world.answer(Answer::EventsLost { origin });
    assert!(matches!(world.says().as_slice(), [Say::Push(_, piece)] if piece.starts_with("event: lost\n")));
    assert!(matches!(world.later(1_000).as_slice(), [Say::Push(_, piece)] if piece == ": alive\n\n"));
    world.edge.gone(world.next);
    assert_eq!(world.asks(), [Request::Gone { origin }]);
    assert_eq!(world.edge.deadline(), None);
}

#[test]
fn watch_that_is_refused_is_a_problem_and_no_stream() {
    let mut world = World::new();
    let path = format!("/v1/sessions/{}/events", &SESSION[..32]);
    let asked = world.asked("GET", &path, &[("Diwan-Session", SESSION)], "");
    let problem = Problem::new(Slug::SessionExpired, "gone");
    let response = world.done(origin_of(&asked), Outcome::Refused(problem));
    assert_eq!((response.status, response.is_stream), (410, false));
}

#[test]
fn stream_of_a_session_keeps_it_and_ends_with_it() {
    let mut world = World::new();
    let path = format!("/v1/sessions/{}/events", &SESSION[..32]);
    let asked = world.asked("GET", &path, &[("Diwan-Session", SESSION)], "");
    let origin = origin_of(&asked);
    world.answer(Answer::WhoWasHeard { round: 1 });
    assert_eq!(
        world.asks(),
        [Request::Heard { edge: 7, round: Some(1), sessions: Vec::new() }],
        "not yet begun"
    );
    world.answer(Answer::Watching { origin, id: EventId { position: 9, ordinal: 0 } });
    world.says();
    let Request::Watch { subject: Subject::Session(proof), .. } = asked else { panic!() };
    world.later(200);
    let heard = vec![(proof.session, MonoTime::of_ms(world.now))];
    assert_eq!(world.asks(), [Request::Heard { edge: 7, round: None, sessions: heard.clone() }]);
    world.answer(Answer::WhoWasHeard { round: 2 });
    assert_eq!(world.asks(), [Request::Heard { edge: 7, round: Some(2), sessions: heard }]);
    let what = Happening::SessionEnded { session: proof.session, expired: true };
    world.answer(Answer::Event { origin, id: EventId { position: 20, ordinal: 0 }, what });
    world.answer(Answer::Done { origin, position: 20, outcome: done("{}") });
    let says = world.says();
    assert!(
        matches!(says.as_slice(), [Say::Push(_, event), Say::Push(..), Say::Finish(_)] if event.contains("event: expired")),
        "{says:?}"
    );
}

#[test]
fn stream_of_a_session_need_not_keep_it() {
    let path = |keep: &str| format!("/v1/sessions/{}/events?keep={keep}", &SESSION[..32]);
    for (keep, keeps) in [("false", false), ("true", true)] {
        let mut world = World::new();
        let asked = world.asked("GET", &path(keep), &[("Diwan-Session", SESSION)], "");
        let origin = origin_of(&asked);
        world.answer(Answer::Watching { origin, id: EventId { position: 9, ordinal: 0 } });
        world.says();
        world.later(200);
        world.answer(Answer::WhoWasHeard { round: 1 });
        let told = heard(&world.asks());
        assert_eq!(told.iter().all(|sessions| sessions.len() == 1), keeps, "{told:?}");
        assert!(matches!(world.later(800).as_slice(), [Say::Push(..)]), "it says that it is alive");
    }
    let slug = World::new().slug("GET", &path("0"), &[("Diwan-Session", SESSION)], "");
    assert_eq!(slug, (400, "bad-argument".into()));
}

#[test]
fn requests_under_way_are_limited() {
    let mut world = World::new();
    for _ in 0..20 {
        world.asked("POST", "/v1/objects/lock/l/acquire", &[], "");
    }
    assert_eq!(world.slug("POST", "/v1/objects/lock/l/acquire", &[], ""), (429, "rate".into()));
    assert_eq!(world.refused("GET", "/v1/live", &[], "").status, 200);
    world.edge.gone(1);
    world.asks();
    world.asked("POST", "/v1/objects/lock/l/acquire", &[], "");
}

#[test]
fn edge_that_stops_answers_everything_honestly() {
    let mut world = World::new();
    let command = world.send("POST", "/v1/objects/counter/c/increment", &[], "");
    let query = world.send("GET", "/v1/objects/counter/c/get", &[], "");
    let waiting = world.send("POST", "/v1/objects/lock/l/acquire", &[("Idempotency-Key", "k")], "");
    let stream = world.send("GET", "/v1/objects/lock/l/events", &[], "");
    let origins: Vec<_> = world.asks().iter().map(origin_of).collect();
    world.answer(parked(origins[2], 5, None));
    world.answer(Answer::Watching { origin: origins[3], id: EventId { position: 1, ordinal: 0 } });
    world.says();
    world.edge.stop();
    let (says, gone) = (world.says(), world.asks());
    let wanted: Vec<_> = origins.iter().map(|origin| Request::Gone { origin: *origin }).collect();
    assert_eq!(gone, wanted);
    let status = |key: u32| {
        says.iter().find_map(|say| match say {
            Say::Respond(of, response) if *of == key => Some(response.status),
            _ => None,
        })
    };
    assert_eq!([command, query, waiting].map(status), [Some(504), Some(503), Some(202)]);
    assert!(says.contains(&Say::Finish(stream)));
    let unknown = says.iter().find_map(|say| match say {
        Say::Respond(of, response) if *of == command => Some(json(response)),
        _ => None,
    });
    assert_eq!(unknown.expect("a response")["effect"], "unknown");
    assert_eq!(world.slug("POST", "/v1/objects/counter/c/increment", &[], ""), (503, "no-leader".into()));
    assert_eq!(SideEffect::None, Problem::new(Slug::NoLeader, "").effect);
}

#[test]
fn leader_is_named_when_it_is_elsewhere() {
    let mut world = World::new();
    world.edge.set_leader(Some("10.0.0.2:7180".into()));
    let asked = world.asked("POST", "/v1/objects/counter/c/increment", &[], "");
    let response = world.done(origin_of(&asked), done("{}"));
    assert_eq!(response.leader.as_deref(), Some("10.0.0.2:7180"));
    world.edge.core_ended();
    let asked = world.asked("GET", "/v1/objects/counter/c/get", &[], "");
    let response = world.done(origin_of(&asked), done("{}"));
    assert_eq!(response.leader, None, "who leads is not known any more");
}

#[test]
fn openapi_document_is_json_and_names_every_method() {
    let users = r#"{"types":[{"name":"hits","built_in":false,"description":{"methods":{"hit":{"kind":"blocking"},
        "get":{"kind":"query"},"blob":{"kind":"query","codec":"raw"}}}}]}"#;
    let document = |target: &str| {
        let mut world = World::new();
        let asked = world.asked("GET", target, &[], "");
        assert!(matches!(asked, Request::Query { question: Question::Types, .. }), "{asked:?}");
        world.done(origin_of(&asked), done(users))
    };
    let all = json(&document("/v1/openapi.json"));
    let own =
        TYPES.iter().flat_map(|(kind, name)| methods(*kind).iter().map(move |method| (*name, method.name)));
    for (name, method) in own.chain([("hits", "hit"), ("hits", "get"), ("hits", "blob")]) {
        let path = &all["paths"][format!("/objects/{name}/{{name}}/{method}")];
        assert!(path["post"]["responses"]["default"].is_object(), "{name}.{method}");
    }
    let bytes = |value: &serde_json::Value| value["content"]["application/octet-stream"].is_object();
    let blob = &all["paths"]["/objects/hits/{name}/blob"];
    assert!(bytes(&blob["post"]["requestBody"]) && bytes(&blob["post"]["responses"]["200"]), "{blob}");
    assert!(bytes(&blob["get"]["responses"]["200"]) && blob["get"]["requestBody"].is_null(), "{blob}");
    assert!(!bytes(&all["paths"]["/objects/hits/{name}/hit"]["post"]["requestBody"]));
    for name in ["lock", "hits"] {
        let one = json(&document(&format!("/v1/openapi.json?type={name}")));
        let paths: Vec<_> = one["paths"].as_object().expect("paths").keys().cloned().collect();
        assert!(paths.iter().all(|path| path.starts_with(&format!("/objects/{name}/"))), "{paths:?}");
    }
    assert_eq!(document("/v1/openapi.json?type=other").status, 404);
    let types = json(&document("/v1/types"));
    assert_eq!(types["types"].as_array().map(Vec::len), Some(TYPES.len() + 1));
}

#[test]
fn requests_of_web_pages_are_refused() {
    let mut world = World::new();
    let increment = "/v1/objects/counter/c/increment";
    for headers in [[("Origin", "http://localhost:7180")], [("Origin", "null")], [("Host", "evil.example")]] {
        for (method, target) in
            [("POST", increment), ("GET", "/v1/objects/counter/c/get"), ("GET", "/v1/types")]
        {
            let refused = world.refused(method, target, &headers, "");
            assert_eq!(refused.status, 403, "{method} {target} {headers:?}");
        }
    }
    for host in ["localhost:7180", "127.0.0.1:7180", "[::1]:7180"] {
        world.asked("POST", increment, &[("Host", host)], "");
    }
    let config = EdgeConfig { any_host: true, ..EdgeConfig::new(3, 7) };
    let mut world = World { edge: Edge::new(config), ..World::new() };
    world.asked("POST", increment, &[("Host", "objects.example")], "");
}

/// Pieces of which hostile requests are made.
const PIECES: &[&str] = &[
    "/v1/",
    "objects",
    "/",
    "counter",
    "lock",
    "map",
    "queue",
    "log",
    "sessions",
    "tickets",
    "types",
    "events",
    ":batch",
    "acquire",
    "increment",
    "get",
    "read",
    "?",
    "&",
    "=",
    "wait_ms",
    "hold_ms",
    "consistency",
    "stale",
    "min_position",
    "0",
    "-1",
    "18446744073709551616",
    "9007199254740993",
    "%",
    "%2",
    "%2f",
    "%00",
    "%ff",
    "+",
    "..",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "calls",
    "method",
    "args",
    "ttl_ms",
    ":",
    ",",
    "null",
    "1e999",
    "\\u0000",
    "\\ud800",
    SESSION,
    "*",
    "é",
    "\u{202e}",
    " ",
    "\t",
    "\r\n",
    "0102030405060708090a0b0c0d0e0f10",
    "renew",
    "openapi.json",
    "key",
    "\u{0}",
];

#[test]
fn whatever_comes_is_answered_or_asked_once() {
    let mut random = base::Random::new(7);
    let mut piece = |most: u64| -> String {
        let count = random.below(most);
        (0..count).map(|_| PIECES[random.below(PIECES.len() as u64) as usize]).collect()
    };
    let names = [
        "diwan-session",
        "diwan-request",
        "diwan-acknowledged",
        "idempotency-key",
        "if-match",
        "last-event-id",
    ];
    for round in 0..30_000_u32 {
        let mut world = World::new();
        let method = ["GET", "POST", "PUT", "DELETE", "HEAD", "TRACE"][round as usize % 6];
        let target = if round % 2 == 0 { format!("/v1/objects/{}", piece(12)) } else { piece(14) };
        let body = piece(16);
        let value: &'static str = Box::leak(piece(4).into_boxed_str());
        let headers = [(names[round as usize % names.len()], value)];
        let key = world.send(method, &target, &headers[..(round % 3).min(1) as usize], &body);
        let (asks, says) = (world.asks(), world.says());
        assert_eq!(asks.len() + says.len(), 1, "{method} {target} {headers:?} {body}");
        match says.first() {
            Some(Say::Respond(of, response)) if response.status >= 400 => {
                assert_eq!(*of, key);
                slug(response);
            }
            _ => {}
        }
    }
}
