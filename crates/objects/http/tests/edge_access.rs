//! Who a client says it is, by header fields and connection, and the routes of tokens and rights.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

mod world;

use objects_http::{Edge, EdgeConfig, HttpRequest, Note, Say, hash_of_token};
use objects_replica::edge::{Question, Request, origin_of};
use objects_state::{
    AccessChange, Authority, Command, Identity, Outcome, Principal, Problem, QuotaLimits, QuotaOf, Slug,
};
use world::{SESSION, World, done, fields, header, json, slug};

const TOKEN: &str = "diwan_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const BEARER: (&str, &str) =
    ("Authorization", "Bearer diwan_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff");

fn change(command: Command) -> AccessChange {
    match command {
        Command::Access { caller, change } => {
            assert_eq!(caller.identity, Identity::Anonymous);
            change
        }
        other => panic!("{other:?}"),
    }
}

fn texts(grants: &[objects_state::Grant]) -> Vec<String> {
    grants.iter().map(ToString::to_string).collect()
}

/// Every route that asks the core, with a body.
const ROUTES: &[(&str, &str, &str)] = &[
    ("POST", "/v1/objects/counter/c/increment", ""),
    ("GET", "/v1/objects/counter/c/get", ""),
    ("POST", "/v1/objects/counter/c:batch", "{\"calls\":[{\"method\":\"increment\"}]}"),
    ("PUT", "/v1/objects/counter/c", ""),
    ("GET", "/v1/objects/counter/c", ""),
    ("DELETE", "/v1/objects/counter/c", ""),
    ("GET", "/v1/objects?type=counter", ""),
    ("GET", "/v1/objects/counter/c/events", ""),
    ("POST", "/v1/objects/hits/h/add", ""),
    ("GET", "/v1/objects/hits/h/get", ""),
    ("POST", "/v1/objects/hits/h:quarantine", ""),
    ("POST", "/v1/objects/hits/h:rollback", ""),
    ("GET", "/v1/tickets/3", ""),
    ("DELETE", "/v1/tickets/3", ""),
    ("POST", "/v1/sessions", ""),
    ("GET", "/v1/sessions/0102030405060708090a0b0c0d0e0f10", ""),
    ("DELETE", "/v1/sessions/0102030405060708090a0b0c0d0e0f10", ""),
    ("POST", "/v1/sessions/0102030405060708090a0b0c0d0e0f10/renew", ""),
    ("GET", "/v1/sessions/0102030405060708090a0b0c0d0e0f10/events", ""),
    ("GET", "/v1/types", ""),
    ("GET", "/v1/types/hits", ""),
    ("GET", "/v1/openapi.json", ""),
    ("GET", "/v1/groups", ""),
    ("GET", "/v1/ready", ""),
    ("GET", "/v1/access", ""),
    ("POST", "/v1/access/close", ""),
    ("POST", "/v1/access/allow", "{\"principal\":\"a\",\"allow\":\"lock/a:*\"}"),
    ("POST", "/v1/access/quota", "{\"namespace\":\"team\",\"objects\":3}"),
    ("POST", "/v1/access/role", "{\"role\":\"deployers\",\"allow\":\"lock/a:*\"}"),
    ("GET", "/v1/tokens", ""),
    ("GET", "/v1/backup", ""),
    ("POST", "/v1/tokens", "{\"name\":\"ci\"}"),
    ("DELETE", "/v1/tokens/3", ""),
    ("DELETE", "/v1/principals/ci", ""),
];

fn session_of(target: &str) -> Vec<(&'static str, &'static str)> {
    if target.contains("/sessions/") { vec![("Diwan-Session", SESSION)] } else { Vec::new() }
}

#[test]
fn token_goes_to_the_core_as_its_hash_on_every_route_and_without_one_everybody_is_anonymous() {
    let hash = hash_of_token(TOKEN).unwrap();
    for (method, target, body) in ROUTES {
        let mut headers = session_of(target);
        let asked = World::new().asked(method, target, &headers, body);
        assert_eq!(asked.principal(), Some(&Principal::anonymous()), "{method} {target}");
        headers.push(BEARER);
        let asked = World::new().asked(method, target, &headers, body);
        let Request::ByToken { hash: sent, request } = &asked else { panic!("{method} {target}: {asked:?}") };
        assert_eq!(*sent, hash);
        assert_eq!(request.principal().map(|principal| principal.authority), Some(Authority::Member));
        assert!(!format!("{asked:?}").contains("00112233"), "the secret stays here");
    }
    let mut module = b"\0asm\x01\0\0\0\x00\x0d\x0adiwan.type{}".to_vec();
    module[9] = module.len() as u8 - 10;
    let text = String::from_utf8(module).unwrap();
    let asked = World::new().asked("POST", "/v1/types/hits", &[BEARER], &text);
    assert!(matches!(asked, Request::ByToken { .. }), "{asked:?}");
}

#[test]
fn wrong_token_is_never_taken_for_none() {
    const WRONG: &[&str] = &[
        "Bearer",
        "Bearer x",
        "Basic YWRtaW46YWRtaW4=",
        "diwan_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
        "Bearer diwan_00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff",
        "Bearer diwan_00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff, Bearer x",
    ];
    for (method, target, body) in
        ROUTES.iter().chain(&[("GET", "/v1/live", ""), ("GET", "/v1/types/lock", "")])
    {
        for wrong in WRONG {
            let mut headers = session_of(target);
            headers.push(("Authorization", wrong));
            let response = World::new().refused(method, target, &headers, body);
            assert_eq!(
                (response.status, slug(&response)),
                (401, "unauthenticated".into()),
                "{target} {wrong}"
            );
            assert_eq!(header(&response, "www-authenticate"), Some("Bearer realm=\"diwan objects\""));
            assert!(!response.body.contains("001122"), "{response:?}");
        }
        let twice = World::new().refused(method, target, &[BEARER, BEARER], body);
        assert_eq!(twice.status, 401);
    }
}

#[test]
fn token_in_the_url_is_an_unknown_parameter() {
    for name in ["access_token", "token", "authorization"] {
        let target = format!("/v1/objects/counter/c/increment?{name}={TOKEN}");
        let response = World::new().refused("POST", &target, &[], "");
        assert_eq!(response.status, 400);
        assert!(!response.body.contains(TOKEN), "{response:?}");
    }
}

#[test]
fn root_token_and_certificate_are_known_at_the_edge() {
    let config = EdgeConfig { root_token: hash_of_token(TOKEN), ..EdgeConfig::new(3, 7) };
    let principal = |certificate, headers: &[(&'static str, &'static str)]| {
        let mut edge = Edge::new(config.clone());
        let fields = fields(headers);
        let (method, target, body) = ("POST", "/v1/objects/counter/c/increment", &b""[..]);
        edge.request(1, &HttpRequest { method, target, fields: &fields, body, certificate }, &mut |_| {});
        let mut asks = Vec::new();
        edge.take_asks(&mut asks);
        match asks.pop() {
            Some(Request::Command { command, .. }) => command.caller().unwrap().principal.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(principal(None, &[BEARER]), Principal::root());
    assert_eq!(principal(Some("CN=ci"), &[]), Principal::from("cert:CN=ci"));
    assert_eq!(principal(Some("CN=ci"), &[BEARER]), Principal::root());
    assert_eq!(principal(None, &[]), Principal::anonymous());
}

#[test]
fn token_is_drawn_here_and_shown_once() {
    let mut world = World::new();
    let body = "{\"name\":\"ci\",\"allow\":[\"lock/build:*\",\"*/t*:query\"],\"lives_ms\":60000}";
    let asked = world.asked("POST", "/v1/tokens", &[], body);
    let origin = origin_of(&asked).unwrap();
    let Request::Command { command, .. } = asked else { panic!() };
    let AccessChange::CreateToken { name, hash, lives_ms, grants } = change(command) else { panic!() };
    assert_eq!((name.as_str(), lives_ms), ("ci", Some(60_000)));
    assert_eq!(texts(&grants), ["lock/build:*", "*/t*:query"]);
    let response = world.done(origin, done("{\"number\":4,\"principal\":\"ci\"}"));
    let token = json(&response)["token"].as_str().unwrap().to_owned();
    assert_eq!((response.status, token.len()), (201, 70));
    assert_eq!(hash_of_token(&token), Some(hash));
    assert_eq!(header(&response, "cache-control"), Some("no-store"));
    let mut notes = Vec::new();
    world.edge.take_notes(&mut notes);
    assert_eq!(notes, [Note::Administered { what: "anonymous POST /v1/tokens".into() }]);
    // What is refused shows none.
    let origin = origin_of(&world.asked("POST", "/v1/tokens", &[], "{\"name\":\"ci\"}")).unwrap();
    let refused = world.done(origin, Outcome::Refused(Problem::new(Slug::Quota, "too many")));
    assert!(!refused.body.contains("diwan_"));
    world.edge.take_notes(&mut notes);
    assert_eq!(notes.len(), 1, "nothing was done");
}

#[test]
fn rights_are_changed_by_their_routes() {
    let asked =
        |method: &str, target: &str, body: &str| change(World::new().command(method, target, &[], body));
    assert_eq!(asked("POST", "/v1/access/open", ""), AccessChange::Set { closed: false });
    assert_eq!(asked("POST", "/v1/access/close", "{}"), AccessChange::Set { closed: true });
    let body = "{\"principal\":\"cert:CN=a\",\"allow\":[\"lock/a:acquire,release\"]}";
    let AccessChange::Allow { principal, grants } = asked("POST", "/v1/access/allow", body) else { panic!() };
    assert_eq!((principal.as_str(), texts(&grants)), ("cert:CN=a", vec!["lock/a:acquire,release".into()]));
    let AccessChange::Deny { grants, .. } = asked("POST", "/v1/access/deny", "{\"principal\":\"a\"}") else {
        panic!()
    };
    assert!(grants.is_empty(), "all of them");
    assert_eq!(asked("DELETE", "/v1/tokens/17", ""), AccessChange::RevokeToken { number: 17 });
    let revoked = asked("DELETE", "/v1/principals/object:hits%2Fa", "");
    assert_eq!(revoked, AccessChange::RevokePrincipal { principal: "object:hits/a".into() });
    let body = "{\"role\":\"deployers\",\"allow\":[\"lock/a:*\"]}";
    let AccessChange::Role { role, grants } = asked("POST", "/v1/access/role", body) else { panic!() };
    assert_eq!((role.as_str(), texts(&grants)), ("deployers", vec!["lock/a:*".into()]));
    let body = "{\"principal\":\"ci\",\"roles\":[\"deployers\",\"b\"]}";
    let AccessChange::Roles { principal, roles } = asked("POST", "/v1/access/role", body) else { panic!() };
    assert_eq!((principal.as_str(), roles.0), ("ci", vec!["deployers".to_owned(), "b".to_owned()]));
    let AccessChange::Roles { roles, .. } = asked("POST", "/v1/access/role", "{\"principal\":\"ci\"}") else {
        panic!()
    };
    assert!(roles.0.is_empty(), "none");
    let body = "{\"namespace\":\"team\",\"objects\":10,\"bytes\":null,\"calls_per_second\":5}";
    let AccessChange::Quota { of, limits } = asked("POST", "/v1/access/quota", body) else { panic!() };
    assert_eq!(of, QuotaOf::Namespace("team".into()));
    let (objects, calls_per_second) = (Some(10), Some(5));
    assert_eq!(limits, QuotaLimits { objects, calls_per_second, ..QuotaLimits::default() });
    let none = asked("POST", "/v1/access/quota", "{\"principal\":\"ci\"}");
    let of = QuotaOf::Principal("ci".into());
    assert_eq!(none, AccessChange::Quota { of, limits: QuotaLimits::default() });
    let shown = World::new().asked("GET", "/v1/access?after=ann", &[], "");
    assert!(matches!(shown, Request::Query { question: Question::Access { after: Some(_) }, .. }));
    let listed = World::new().asked("GET", "/v1/tokens", &[], "");
    assert!(matches!(listed, Request::Query { question: Question::Tokens, .. }));
}

#[test]
fn what_is_no_change_of_rights_is_refused_with_the_field() {
    for (method, target, body, status) in [
        ("POST", "/v1/access/allow", "{\"principal\":\"a\"}", 400),
        ("POST", "/v1/access/allow", "{\"allow\":[\"lock/a:*\"]}", 400),
        ("POST", "/v1/access/allow", "{\"principal\":\"a\",\"allow\":[\"lock/a\"]}", 400),
        ("POST", "/v1/access/allow", "{\"principal\":\"a\",\"allow\":[1]}", 400),
        ("POST", "/v1/access/allow", "{\"principal\":\"a\",\"allow\":[],\"x\":1}", 400),
        ("POST", "/v1/access/close", "{\"force\":true}", 400),
        ("POST", "/v1/access/role", "", 400),
        ("POST", "/v1/access/role", "{\"role\":\"a\",\"roles\":[]}", 400),
        ("POST", "/v1/access/role", "{\"principal\":\"a\",\"roles\":[1]}", 400),
        ("POST", "/v1/access/role", "{\"role\":\"a\",\"allow\":[\"lock\"]}", 400),
        ("POST", "/v1/access/quota", "", 400),
        ("POST", "/v1/access/quota", "{\"namespace\":\"a\",\"principal\":\"b\"}", 400),
        ("POST", "/v1/access/quota", "{\"namespace\":\"a\",\"objects\":-1}", 400),
        ("POST", "/v1/access/quota", "{\"namespace\":\"a\",\"objects\":\"1\"}", 400),
        ("POST", "/v1/access/quota", "{\"namespace\":\"a\",\"locks\":1}", 400),
        ("GET", "/v1/access/quota", "", 405),
        ("POST", "/v1/tokens", "{\"allow\":[\"lock/a:*\"]}", 400),
        ("POST", "/v1/tokens", "{\"name\":\"a\",\"token\":\"x\"}", 400),
        ("DELETE", "/v1/tokens/ci", "", 400),
        ("PUT", "/v1/tokens", "", 405),
        ("GET", "/v1/tokens/3", "", 405),
        ("GET", "/v1/access/close", "", 405),
        ("POST", "/v1/access", "", 405),
        ("POST", "/v1/access/shut", "", 404),
        ("GET", "/v1/principals/a", "", 405),
        ("GET", "/v1/principals", "", 404),
    ] {
        let (found, _) = World::new().slug(method, target, &[], body);
        assert_eq!(found, status, "{method} {target} {body}");
    }
}

#[test]
fn refusals_and_what_is_administered_are_noted() {
    let mut world = World::new();
    world.refused("GET", "/v1/groups", &[("Authorization", "Bearer x")], "");
    let asked = |world: &mut World, method: &str, target: &str| {
        origin_of(&world.asked(method, target, &[BEARER], "")).unwrap()
    };
    let origin = asked(&mut world, "DELETE", "/v1/objects/lock/l");
    world.done(origin, done("{\"deleted\":true}"));
    let origin = asked(&mut world, "DELETE", "/v1/objects/lock/l");
    world.done(origin, Outcome::Refused(Problem::new(Slug::Forbidden, "principal `ci` may not")));
    // An ordinary call is noted only if it is refused.
    let origin = asked(&mut world, "POST", "/v1/objects/counter/c/increment");
    world.done(origin, done("{}"));
    let origin = asked(&mut world, "POST", "/v1/objects/counter/c/increment");
    world.done(origin, Outcome::Refused(Problem::new(Slug::NoSuchMethod, "x")));
    let mut notes = Vec::new();
    world.edge.take_notes(&mut notes);
    let [
        Note::Refused { slug: "unauthenticated", .. },
        Note::Administered { what },
        Note::Refused { slug, detail },
    ] = &notes[..]
    else {
        panic!("{notes:?}")
    };
    let hash = hash_of_token(TOKEN).unwrap();
    let mark: String = hash[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(**what, format!("token {mark} DELETE /v1/objects/lock/l"));
    assert_eq!((*slug, detail.as_str()), ("forbidden", "principal `ci` may not"));
}

#[test]
fn stream_that_is_refused_later_says_why_and_ends() {
    let mut world = World::new();
    let asked = world.asked("GET", "/v1/objects/lock/l/events", &[BEARER], "");
    let origin = origin_of(&asked).unwrap();
    let id = objects_replica::edge::EventId { position: 3, ordinal: 0 };
    world.answer(objects_replica::edge::Answer::Watching { origin, id });
    world.says();
    let problem = Problem::new(Slug::Unauthenticated, "the token was revoked");
    world.answer(objects_replica::edge::Answer::Done {
        origin,
        position: 9,
        outcome: Outcome::Refused(problem),
    });
    let says = world.says();
    let [Say::Push(_, last), Say::Finish(_)] = &says[..] else { panic!("{says:?}") };
    assert!(last.contains("event: problem") && last.contains("unauthenticated"), "{last}");
}
