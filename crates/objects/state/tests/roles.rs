//! Roles: a principal has the rights of its roles, at the position; what waits by them ends with them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use objects_state::limits::{ROLES_MAX, ROLES_PER_PRINCIPAL_MAX};
use objects_state::{AccessChange, Act, Command, Grant, Principal, RoleNames};
use support::{Anyone, World, load, object, snapshot};

const FORBIDDEN: &str = "refused forbidden";
const BAD: &str = "refused bad-argument";

fn grants(texts: &[&str]) -> Vec<Grant> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn change(world: &mut World, change: AccessChange) -> String {
    by(world, &Principal::root(), |world| {
        let caller = world.caller(Anyone);
        world.answer(&Command::Access { caller, change })
    })
}

/// What a principal is answered.
fn by(world: &mut World, principal: &Principal, ask: impl FnOnce(&mut World) -> String) -> String {
    let before = std::mem::replace(&mut world.principal, principal.clone());
    let answer = ask(world);
    world.principal = before;
    answer
}

fn role(world: &mut World, role: &str, texts: &[&str]) -> String {
    change(world, AccessChange::Role { role: role.into(), grants: grants(texts) })
}

fn roles(world: &mut World, principal: &str, names: &[&str]) -> String {
    let roles = RoleNames(names.iter().map(|name| (*name).into()).collect());
    change(world, AccessChange::Roles { principal: principal.into(), roles })
}

/// A world that is closed, in which `cert:CN=ci` acts; nobody has any rights.
fn closed() -> World {
    let mut world = World::new();
    change(&mut world, AccessChange::Set { closed: true });
    world.principal = "cert:CN=ci".into();
    world
}

fn increment(world: &mut World) -> String {
    world.call(Anyone, "counter/a", "increment", "")
}

#[test]
fn principal_has_the_rights_of_its_roles_as_long_as_it_has_them() {
    let mut world = closed();
    let answer = role(&mut world, "callers", &["counter/*:call"]);
    assert_eq!(answer, "{\"role\":\"callers\",\"allow\":[\"counter/*:call\"]}");
    assert_eq!(increment(&mut world), FORBIDDEN);
    let answer = roles(&mut world, "cert:CN=ci", &["callers", "callers"]);
    assert_eq!(answer, "{\"principal\":\"cert:CN=ci\",\"roles\":[\"callers\"]}");
    assert_eq!(increment(&mut world), "{\"value\":1}");
    assert_eq!(world.call(Anyone, "value/a", "set", "{\"value\":1}"), FORBIDDEN);
    // Beside rights of its own, and those of another role.
    role(&mut world, "values", &["value/a:set", "*:query"]);
    roles(&mut world, "cert:CN=ci", &["values", "callers"]);
    assert!(world.call(Anyone, "value/a", "set", "{\"value\":1}").contains("version"));
    let act = object("counter/a");
    assert!(world.state.judge(&world.principal.clone(), &Act::See(&act)).is_ok());
    // The role has other rights: all of them are named.
    role(&mut world, "callers", &["counter/b:call"]);
    assert_eq!(increment(&mut world), FORBIDDEN);
    role(&mut world, "callers", &["counter/a:increment"]);
    assert_eq!(increment(&mut world), "{\"value\":2}");
    roles(&mut world, "cert:CN=ci", &[]);
    assert_eq!(increment(&mut world), FORBIDDEN);
}

#[test]
fn role_that_is_gone_is_nobodys() {
    let mut world = closed();
    role(&mut world, "r", &["counter/*:*"]);
    role(&mut world, "s", &["value/*:*"]);
    roles(&mut world, "cert:CN=ci", &["r", "s"]);
    roles(&mut world, "bob", &["r"]);
    assert_eq!(role(&mut world, "r", &[]), "{\"role\":\"r\",\"allow\":[]}");
    assert_eq!(increment(&mut world), FORBIDDEN);
    assert!(world.call(Anyone, "value/a", "set", "{\"value\":1}").contains("version"));
    assert_eq!(roles(&mut world, "bob", &["r"]), BAD);
    // Nor does one of that name that comes later belong to who had the first.
    role(&mut world, "r", &["counter/*:*"]);
    assert_eq!(increment(&mut world), FORBIDDEN);
    // With a principal go its roles.
    roles(&mut world, "cert:CN=ci", &["r"]);
    assert_eq!(increment(&mut world), "{\"value\":1}");
    change(&mut world, AccessChange::RevokePrincipal { principal: "cert:CN=ci".into() });
    assert_eq!(increment(&mut world), FORBIDDEN);
}

#[test]
fn what_waits_by_a_role_ends_with_it_and_grants_nobody_who_goes_too() {
    type Taking = fn(&mut World) -> String;
    let takings: [Taking; 3] = [
        |world| roles(world, "cert:CN=ci", &[]),
        |world| role(world, "r", &["counter/*:*"]),
        |world| role(world, "r", &[]),
    ];
    for taking in takings {
        let mut world = closed();
        role(&mut world, "r", &["queue/*:*"]);
        role(&mut world, "s", &["queue/*:*"]);
        roles(&mut world, "cert:CN=ci", &["r"]);
        roles(&mut world, "bob", &["s"]);
        let mine = world.call(Anyone, "queue/q", "take", "");
        let others = by(&mut world, &"bob".into(), |world| world.call(Anyone, "queue/q", "take", ""));
        assert!(mine.starts_with("waits") && others.starts_with("waits"), "{mine} {others}");
        taking(&mut world);
        let ticket = mine.strip_prefix("waits ").unwrap();
        assert_eq!(world.ends(), [format!("{ticket} cancelled {FORBIDDEN}")]);
        by(&mut world, &Principal::root(), |world| world.call(Anyone, "queue/q", "put", "{\"item\":1}"));
        assert_eq!(world.ended(), [others.strip_prefix("waits ").unwrap().parse::<u64>().unwrap()]);
    }
    // Who keeps the right by another role, or of his own, waits on.
    let mut world = closed();
    role(&mut world, "r", &["queue/*:*"]);
    role(&mut world, "s", &["queue/q:take"]);
    roles(&mut world, "cert:CN=ci", &["r", "s"]);
    assert!(world.call(Anyone, "queue/q", "take", "").starts_with("waits"));
    roles(&mut world, "cert:CN=ci", &["s"]);
    assert!(world.ends().is_empty());
    change(
        &mut world,
        AccessChange::Allow { principal: "cert:CN=ci".into(), grants: grants(&["queue/q:call"]) },
    );
    role(&mut world, "s", &[]);
    assert!(world.ends().is_empty());
}

#[test]
fn administration_by_a_role_locks_nobody_out_and_is_not_everybodys() {
    let mut world = World::new();
    role(&mut world, "admins", &["*:admin"]);
    let hash = [7; 32];
    let token = AccessChange::CreateToken { name: "ann".into(), hash, lives_ms: None, grants: Vec::new() };
    change(&mut world, token);
    roles(&mut world, "ann", &["admins"]);
    let ann = world.state.principal_of(&hash).unwrap();
    let close = |world: &mut World| {
        let caller = world.caller(Anyone);
        world.answer(&Command::Access { caller, change: AccessChange::Set { closed: true } })
    };
    // A role may be taken from everybody at once: by it alone nothing is closed.
    assert_eq!(by(&mut world, &ann, close), FORBIDDEN);
    change(&mut world, AccessChange::Set { closed: true });
    let open = |world: &mut World| {
        let caller = world.caller(Anyone);
        world.answer(&Command::Access { caller, change: AccessChange::Set { closed: false } })
    };
    assert_eq!(by(&mut world, &ann, open), "{\"access\":\"open\"}");
    assert_eq!(roles(&mut world, "anonymous", &["admins"]), BAD);
    role(&mut world, "readers", &["*:query"]);
    assert!(roles(&mut world, "anonymous", &["readers"]).contains("readers"));
    assert_eq!(role(&mut world, "readers", &["*:admin"]), BAD);
    change(&mut world, AccessChange::Set { closed: true });
    let act = object("counter/a");
    assert!(world.state.judge(&"eve".into(), &Act::See(&act)).is_ok(), "everybody reads");
}

#[test]
fn objects_have_roles_by_their_type() {
    let mut world = closed();
    role(&mut world, "senders", &["counter/*:call"]);
    roles(&mut world, "object:hits/*", &["senders"]);
    let counter = object("counter/a");
    let act = Act::Method(&counter, "increment");
    assert!(world.state.judge(&"object:hits/a".into(), &act).is_ok());
    assert!(world.state.judge(&"object:other/a".into(), &act).is_err());
}

#[test]
fn roles_are_shown_and_come_back_from_a_snapshot() {
    let mut world = closed();
    role(&mut world, "r", &["counter/*:*", "lock/l:acquire"]);
    roles(&mut world, "cert:CN=ci", &["r"]);
    change(&mut world, AccessChange::Allow { principal: "bob".into(), grants: grants(&["map/m:*"]) });
    let shown = world.state.shown_access(&Principal::root(), None);
    assert!(shown.contains("{\"principal\":\"cert:CN=ci\",\"allow\":[],\"roles\":[\"r\"]}"), "{shown}");
    assert!(shown.contains("{\"principal\":\"bob\",\"allow\":[\"map/m:*\"]}"), "{shown}");
    assert!(shown.contains("{\"role\":\"r\",\"allow\":[\"counter/*:*\",\"lock/l:acquire\"]}"), "{shown}");
    let own = world.state.shown_access(&"cert:CN=ci".into(), None);
    assert!(own.contains("\"roles\":[\"r\"]") && !own.contains("defined_roles"), "{own}");
    let behind = world.state.shown_access(&Principal::root(), Some("bob"));
    assert!(
        behind.contains("CN=ci") && !behind.contains("\"bob\"") && !behind.contains("quotas"),
        "{behind}"
    );
    let (bytes, digest) = snapshot(&mut world.state, 100);
    let mut other = World::new();
    other.state = load(&bytes, 100).unwrap();
    assert_eq!(other.state.digest(), digest);
    assert_eq!(other.state.shown_access(&Principal::root(), None), shown);
    other.principal = "cert:CN=ci".into();
    assert_eq!(increment(&mut other), "{\"value\":1}");
}

#[test]
fn roles_have_names_and_a_number() {
    let mut world = closed();
    for name in ["", "a b", "ü", "a/b", &"n".repeat(65)] {
        assert_eq!(role(&mut world, name, &["lock/a:*"]), BAD, "{name}");
    }
    let wrong = AccessChange::Role { role: "r".into(), grants: vec![Grant::default()] };
    assert_eq!(change(&mut world, wrong), BAD);
    assert_eq!(roles(&mut world, "ci", &["none"]), BAD);
    assert_eq!(roles(&mut world, "root", &[]), BAD);
    let names: Vec<_> = (0..ROLES_MAX).map(|number| format!("r{number}")).collect();
    for name in &names {
        assert!(role(&mut world, name, &["lock/a:*"]).contains("allow"));
    }
    assert_eq!(role(&mut world, "more", &["lock/a:*"]), "refused quota");
    assert!(role(&mut world, "r1", &["lock/b:*"]).contains("lock/b"));
    let many: Vec<_> = names.iter().take(ROLES_PER_PRINCIPAL_MAX).map(String::as_str).collect();
    assert!(roles(&mut world, "ci", &many).contains("r15"));
    role(&mut world, "r1", &[]);
    assert!(role(&mut world, "more", &["lock/a:*"]).contains("lock/a"));
}
