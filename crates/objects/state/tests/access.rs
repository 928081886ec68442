//! Access (rule O32): each right and each kind of method, tokens that end while something waits by them, what is whose, the way
//! back, snapshots and bounds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use objects_state::limits::{
    GRANTS_PER_PRINCIPAL_MAX, PRINCIPALS_MAX, TICKETS_PER_PRINCIPAL_MAX, TOKEN_MS_MIN, TOKENS_MAX,
};
use objects_state::{
    AccessChange, Act, Authority, Call, Command, Effect, Grant, NewSession, Outcome, Principal, State,
};
use support::users::{DESCRIPTION, Types, hash};
use support::{Anyone, K, S, Who, World, load, object, session, shown, snapshot};

const FORBIDDEN: &str = "refused forbidden";
const UNAUTHENTICATED: &str = "refused unauthenticated";

fn grants(texts: &[&str]) -> Vec<Grant> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn change(world: &mut World, change: AccessChange) -> String {
    let caller = world.caller(Anyone);
    world.answer(&Command::Access { caller, change })
}

/// The principal of a new token; the secret is the name.
fn token(world: &mut World, name: &str, allow: &[&str]) -> Principal {
    token_for(world, name, name, allow, None)
}

fn token_for(
    world: &mut World,
    name: &str,
    secret: &str,
    allow: &[&str],
    lives_ms: Option<i64>,
) -> Principal {
    let (hash, grants) = (hash(secret.as_bytes()), grants(allow));
    let answer = change(world, AccessChange::CreateToken { name: name.into(), hash, lives_ms, grants });
    assert!(answer.contains(&format!("\"principal\":\"{name}\"")), "{answer}");
    world.state.principal_of(&hash).unwrap()
}

fn allow(world: &mut World, principal: &str, texts: &[&str]) -> String {
    change(world, AccessChange::Allow { principal: principal.into(), grants: grants(texts) })
}

fn deny(world: &mut World, principal: &str, texts: &[&str]) -> String {
    change(world, AccessChange::Deny { principal: principal.into(), grants: grants(texts) })
}

fn revoke(world: &mut World, token: &Principal) -> String {
    let Authority::Token(number) = token.authority else { panic!("{token:?}") };
    change(world, AccessChange::RevokeToken { number })
}

/// A world that an administrator has closed, who acts from now on.
fn closed() -> (World, Principal) {
    let mut world = World::new();
    let admin = close(&mut world);
    (world, admin)
}

fn close(world: &mut World) -> Principal {
    world.apply(&Command::FeatureLevel(6));
    world.principal = Principal::anonymous();
    let admin = token(world, "admin", &["*:admin"]);
    world.principal = admin.clone();
    assert_eq!(change(world, AccessChange::Set { closed: true }), "{\"access\":\"closed\"}");
    admin
}

/// What a principal is answered.
fn by(world: &mut World, principal: &Principal, ask: impl FnOnce(&mut World) -> String) -> String {
    let before = std::mem::replace(&mut world.principal, principal.clone());
    let answer = ask(world);
    world.principal = before;
    answer
}

fn call(world: &mut World, principal: &Principal, path: &str, method: &str, args: &str) -> String {
    by(world, principal, |world| world.call(Anyone, path, method, args))
}

/// A session of that principal, and an acquire in its name that waits or not.
fn acquire(world: &mut World, principal: &Principal, number: u8, path: &str) -> String {
    by(world, principal, |world| {
        world.open(number, 1);
        world.call(S(number), path, "acquire", "")
    })
}

fn may(state: &State, principal: &Principal, act: &Act<'_>) -> bool {
    state.admit_principal(principal).is_ok() && state.judge(principal, act).is_ok()
}

#[test]
fn each_right_allows_what_it_says_and_nothing_else() {
    let (mut world, admin) = closed();
    let lock = object("lock/a");
    let acts = |world: &World, principal: &Principal| {
        let acts = [
            Act::Method(&lock, "holder"),
            Act::See(&lock),
            Act::List(lock.kind, "a"),
            Act::ListAll("a"),
            Act::Method(&lock, "acquire"),
            Act::Create(&lock),
            Act::LookAfter(&lock),
            Act::Method(&lock, "steal"),
            Act::LookAfterType("lock"),
            Act::BringModule,
            Act::Administer,
            Act::Know,
        ];
        acts.map(|act| if may(&world.state, principal, &act) { '1' } else { '0' }).iter().collect::<String>()
    };
    for (right, allowed) in [
        ("lock/a:query", "110000000001"),
        ("lock/a*:query", "111000000001"),
        ("lock/a:call", "000010000001"),
        ("lock/a:create", "000001000001"),
        ("lock/a:*", "110011000001"),
        ("lock/*:*", "111011000001"),
        ("lock/a:acquire", "000010000001"),
        ("lock/a:holder", "100000000001"),
        // To take it from another takes more than to be allowed its name.
        ("lock/a:steal,call", "000010000001"),
        ("lock/a:admin", "110011110001"),
        ("lock/*:admin", "111011111101"),
        ("*:admin", "111111111111"),
        ("*/a*:query", "111100000001"),
        ("*/ab*:query", "000000000001"),
        ("rwlock/*:admin", "000000000101"),
        ("lock/b:*", "000000000001"),
    ] {
        let principal = token(&mut world, "ci", &[right]);
        assert_eq!(acts(&world, &principal), allowed, "{right}");
        assert!(deny(&mut world, "ci", &[]).ends_with("\"allow\":[]}"));
        assert_eq!(acts(&world, &principal), "000000000000", "{right}");
        revoke(&mut world, &principal);
    }
    assert_eq!(acts(&world, &admin), "111111111111");
    assert_eq!(acts(&world, &Principal::root()), "111111111111");
    assert_eq!(acts(&world, &Principal::anonymous()), "000000000000");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn commands_are_refused_at_their_position_and_change_nothing() {
    let (mut world, _) = closed();
    let ci = token(&mut world, "ci", &["counter/a:increment", "counter/b:create"]);
    let digest = |world: &World| {
        let [objects, sessions, tickets, keys] = world.state.counts();
        (objects, sessions, tickets, keys, world.state.records())
    };
    let before = digest(&world);
    for stranger in [Principal::anonymous(), "cert:CN=eve".into(), "root".into()] {
        let refusal = if stranger.is_anonymous() { UNAUTHENTICATED } else { FORBIDDEN };
        world.principal = stranger;
        for who in [Anyone, K("key")] {
            assert_eq!(world.call(who, "counter/a", "increment", ""), refusal);
            assert_eq!(world.batch(who, "counter/a", &[("increment", "")]), refusal);
        }
        assert_eq!(world.create("counter/b", "{\"start\":4}"), refusal);
        assert_eq!(world.delete("counter/b"), refusal);
        assert_eq!(world.cancel(3), refusal);
        let new =
            NewSession { id: session(1), secret_hash: [1; 32], generation: 1, ttl_ms: 9_000, name: None };
        let command = Command::OpenSession { caller: world.caller(Anyone), session: new };
        assert_eq!(world.answer(&command), refusal);
        for change_ in [
            AccessChange::Set { closed: false },
            AccessChange::Allow { principal: "eve".into(), grants: grants(&["*:admin"]) },
            AccessChange::RevokePrincipal { principal: "admin".into() },
        ] {
            assert_eq!(change(&mut world, change_), refusal);
        }
        assert_eq!(digest(&world), before);
    }
    world.principal = ci;
    assert_eq!(world.call(Anyone, "counter/a", "increment", ""), "{\"value\":1}");
    assert_eq!(world.call(Anyone, "counter/a", "set", "{\"value\":7}"), FORBIDDEN);
    assert_eq!(world.call(Anyone, "counter/b", "increment", ""), FORBIDDEN);
    assert!(world.create("counter/b", "{\"start\":4}").starts_with("{\"created\":true"));
    assert_eq!(world.create("counter/a", "{\"start\":4}"), FORBIDDEN);
    assert_eq!(world.delete("counter/b"), FORBIDDEN);
    assert_eq!(change(&mut world, AccessChange::Set { closed: false }), FORBIDDEN);
    // Each call of a batch is judged by itself.
    let answer =
        world.batch(Anyone, "counter/a", &[("increment", ""), ("set", "{\"value\":7}"), ("increment", "")]);
    assert!(answer.contains("forbidden") && answer.ends_with("{\"result\":{\"value\":3}}]}"), "{answer}");
}

#[test]
fn refusal_of_one_who_is_known_is_kept_as_any_other_and_that_of_a_stranger_is_not() {
    let (mut world, admin) = closed();
    let ci = token(&mut world, "ci", &["counter/a:increment"]);
    let set = |world: &mut World| world.call(K("k"), "counter/a", "set", "{\"value\":7}");
    assert_eq!(by(&mut world, &ci, set), FORBIDDEN);
    assert_eq!(by(&mut world, &Principal::anonymous(), set), UNAUTHENTICATED);
    assert_eq!(world.state.counts()[3], 1);
    by(&mut world, &admin, |world| allow(world, "ci", &["counter/a:call"]));
    by(&mut world, &admin, |world| allow(world, "anonymous", &["counter/a:call"]));
    assert_eq!(by(&mut world, &ci, set), FORBIDDEN, "a copy is answered what the request was");
    assert!(by(&mut world, &Principal::anonymous(), set).contains("\"value\":7"));
}

#[test]
fn revoked_token_is_worth_nothing_when_its_command_is_applied_though_access_is_open() {
    let mut world = World::new();
    let ci = token(&mut world, "ci", &["lock/*:*"]);
    let under_way = {
        world.principal = ci.clone();
        world.new_call(Anyone, "counter/a", "increment", "")
    };
    assert_eq!(call(&mut world, &ci, "counter/a", "increment", ""), "{\"value\":1}");
    world.principal = Principal::anonymous();
    assert_eq!(revoke(&mut world, &ci), "{\"revoked\":1}");
    assert_eq!(revoke(&mut world, &ci), "{\"revoked\":0}");
    world.origins = under_way.caller.origin.number;
    assert_eq!(world.answer(&Command::Call(under_way)), UNAUTHENTICATED);
    assert_eq!(world.query("counter/a", "get", ""), "{\"value\":1}");
    assert!(world.state.admit_principal(&ci).is_err());
    // A number is the token's that had it, and nobody else's.
    let other = token(&mut world, "other", &[]);
    let forged = Principal { name: "ci".into(), authority: other.authority };
    assert_eq!(call(&mut world, &forged, "counter/a", "increment", ""), UNAUTHENTICATED);
}

#[test]
fn token_that_ends_by_time_is_worth_nothing_from_then_on() {
    let (mut world, _) = closed();
    let ci = token_for(&mut world, "ci", "a", &["lock/l:*"], Some(5_000));
    let ann = token(&mut world, "ann", &["lock/l:*"]);
    assert!(acquire(&mut world, &ann, 1, "lock/l").contains("\"acquired\":true"));
    let waits = acquire(&mut world, &ci, 2, "lock/l");
    let ticket: u64 = waits.strip_prefix("waits ").unwrap().parse().unwrap();
    assert_eq!(world.state.next_deadline().map(base::WallTime::ms), Some(world.now + 5_000));
    world.now += 5_000;
    // No tick has passed yet.
    assert_eq!(call(&mut world, &ci, "lock/l", "acquire", "{\"ttl_ms\":1000}"), UNAUTHENTICATED);
    world.pass(0);
    assert_eq!(world.ends(), [format!("{ticket} cancelled {FORBIDDEN}")]);
    assert!(!world.state.shown_tokens().contains("\"ci\""));
    assert_eq!(world.state.principal_of(&hash(b"a")), None);
}

#[test]
fn ticket_of_a_revoked_token_ends_and_nothing_that_is_revoked_with_it_is_granted() {
    let (mut world, _) = closed();
    let [ann, ci, bob] = ["ann", "ci", "bob"].map(|name| token(&mut world, name, &["rwlock/l:*"]));
    let other = token_for(&mut world, "ci", "second", &[], None);
    let in_name = |world: &mut World, principal: &Principal, number: u8, method: &str| {
        by(world, principal, |world| {
            world.open(number, 1);
            world.call(S(number), "rwlock/l", method, "")
        })
    };
    assert!(in_name(&mut world, &ann, 1, "read").contains("\"acquired\":true"));
    // The writer is at the head; when it goes, the readers behind it may enter.
    let waiting = [(&ci, 2, "write"), (&ci, 3, "read"), (&other, 4, "read"), (&bob, 5, "read")];
    let waiting = waiting.map(|(principal, number, method)| in_name(&mut world, principal, number, method));
    let [writer, reader, of_other, of_bob] = waiting.map(|answer| answer.replace("waits ", ""));
    revoke(&mut world, &ci);
    let ends = world.ends();
    assert_eq!(ends[..2], [&writer, &reader].map(|ticket| format!("{ticket} cancelled {FORBIDDEN}")));
    assert!(
        ends[2].starts_with(&format!("{of_other} granted"))
            && ends[3].starts_with(&format!("{of_bob} granted"))
    );
    assert_eq!((ends.len(), world.state.counts()[2]), (4, 0));
}

#[test]
fn ticket_ends_when_its_principal_loses_the_right_to_its_method_and_not_before() {
    let (mut world, _) = closed();
    let ann = token(&mut world, "ann", &["lock/l:*"]);
    let ci = token(&mut world, "ci", &["lock/l:acquire,release", "lock/*:query", "map/m:*"]);
    assert!(acquire(&mut world, &ann, 1, "lock/l").contains("\"acquired\":true"));
    let ticket = acquire(&mut world, &ci, 2, "lock/l").replace("waits ", "");
    for other in [&["lock/l:release"][..], &["lock/*:query"], &["map/m:*"], &["lock/x:acquire"]] {
        deny(&mut world, "ci", other);
        assert_eq!(world.ended(), [0; 0]);
    }
    // The right may come from elsewhere.
    allow(&mut world, "anonymous", &["lock/l*:call"]);
    deny(&mut world, "ci", &["lock/l:acquire"]);
    assert_eq!(world.ended(), [0; 0]);
    deny(&mut world, "anonymous", &[]);
    assert_eq!(world.ends(), [format!("{ticket} cancelled {FORBIDDEN}")]);
}

#[test]
fn closing_ends_what_waits_without_a_right_and_opening_ends_nothing() {
    let mut world = World::new();
    world.principal = Principal::anonymous();
    world.open(1, 1);
    world.call(S(1), "lock/l", "acquire", "");
    world.open(2, 1);
    assert!(world.call(S(2), "lock/l", "acquire", "").starts_with("waits"));
    let id = session(3);
    let opens = NewSession { id, secret_hash: [3; 32], generation: 1, ttl_ms: 9_000, name: None };
    let call = Call { opens: Some(opens), ..world.new_call(K("opens"), "lock/l", "acquire", "") };
    assert!(world.answer(&Command::Call(call)).starts_with("waits"));
    let take = world.call(K("take"), "queue/q", "take", "");
    assert!(take.starts_with("waits"), "{take}");
    allow(&mut world, "anonymous", &["queue/q:call"]);
    let sessions = world.state.counts()[1];
    close(&mut world);
    let ended: Vec<_> = world.ends();
    assert_eq!(ended.len(), 2, "{ended:?}");
    assert!(ended.iter().all(|end| end.ends_with(FORBIDDEN)));
    assert_eq!(world.state.counts()[1], sessions - 1, "what was opened for nothing is closed");
    assert_eq!(change(&mut world, AccessChange::Set { closed: false }), "{\"access\":\"open\"}");
    assert_eq!(world.ended(), [0; 0]);
    assert!(world.call(Anyone, "queue/q", "put", "{\"item\":1}").starts_with("{\"id\""));
    assert_eq!(world.ended().len(), 1);
}

#[test]
fn rights_that_go_end_what_waits_by_them_whenever_it_began_and_whoever_had_them() {
    type Take = fn(&mut World, &str) -> String;
    let revoke_all: Take =
        |world, name| change(world, AccessChange::RevokePrincipal { principal: name.into() });
    let deny_all: Take = |world, name| deny(world, name, &[]);
    for take in [revoke_all, deny_all] {
        let mut world = World::new();
        let eve = Principal::from("cert:CN=eve");
        world.principal = Principal::anonymous();
        world.open(1, 1);
        world.call(S(1), "lock/l", "acquire", "");
        // It begins to wait while nobody asks.
        let of_eve = acquire(&mut world, &eve, 2, "lock/l").replace("waits ", "");
        allow(&mut world, &eve.name, &["lock/l:*"]);
        allow(&mut world, "anonymous", &["lock/m:*"]);
        close(&mut world);
        assert_eq!(world.ended(), [0; 0]);
        take(&mut world, &eve.name);
        assert_eq!(world.ends(), [format!("{of_eve} cancelled {FORBIDDEN}")]);
        // It waits by everybody's right.
        let ci = token(&mut world, "ci", &["queue/q:put"]);
        let [_, of_ci] =
            [3, 4].map(|number| acquire(&mut world, &ci, number, "lock/m").replace("waits ", ""));
        take(&mut world, "anonymous");
        assert_eq!(world.ends(), [format!("{of_ci} cancelled {FORBIDDEN}")]);
    }
}

#[test]
fn session_is_of_no_use_to_another_principal_whoever_knows_its_secret() {
    for is_closed in [false, true] {
        let (mut world, _) = closed();
        let [ann, eve] = ["ann", "eve"].map(|name| token(&mut world, name, &["lock/*:*"]));
        if !is_closed {
            change(&mut world, AccessChange::Set { closed: false });
        }
        assert!(acquire(&mut world, &ann, 1, "lock/l").contains("\"acquired\":true"));
        let other = by(&mut world, &ann, |world| {
            world.open(2, 1);
            world.call(S(2), "lock/l", "acquire", "")
        });
        let ticket = other.replace("waits ", "").parse().unwrap();
        let before = (world.state.session(session(1)), world.state.counts());
        world.principal = eve;
        assert_eq!(world.call(S(1), "lock/l", "release", "{\"fence\":1}"), FORBIDDEN);
        assert_eq!(world.call(S(1), "lock/free", "acquire", ""), FORBIDDEN);
        assert_eq!(world.cancel(ticket), FORBIDDEN);
        for generation in [1, 2] {
            let new =
                NewSession { id: session(1), secret_hash: [1; 32], generation, ttl_ms: 9_000, name: None };
            let command = Command::OpenSession { caller: world.caller(Anyone), session: new };
            assert_eq!(world.answer(&command), FORBIDDEN);
        }
        let command = Command::CloseSession { caller: world.caller(S(1)), session: session(1) };
        assert_eq!(world.answer(&command), FORBIDDEN);
        assert_eq!((world.state.session(session(1)), world.state.counts()), before);
    }
}

#[test]
fn who_administers_ends_tickets_and_sessions_of_others() {
    let (mut world, admin) = closed();
    let ann = token(&mut world, "ann", &["lock/*:*"]);
    acquire(&mut world, &ann, 1, "lock/l");
    let ticket = acquire(&mut world, &ann, 2, "lock/l").replace("waits ", "").parse().unwrap();
    let lock_admin = token(&mut world, "lock-admin", &["lock/*:admin"]);
    world.principal = lock_admin;
    assert_eq!(world.cancel(ticket), FORBIDDEN, "it administers objects only");
    assert!(world.call(S(9), "lock/l", "steal", "{\"reason\":\"x\"}").starts_with("refused session-expired"));
    world.principal = admin;
    assert_eq!(world.cancel(ticket), "{\"cancelled\":true}");
    let command = Command::CloseSession { caller: world.caller(Anyone), session: session(1) };
    assert_eq!(world.answer(&command), "{\"closed\":true}");
}

#[test]
fn key_of_another_principal_is_another_key() {
    let (mut world, _) = closed();
    let [ann, bob] = ["ann", "bob"].map(|name| token(&mut world, name, &["counter/*:*"]));
    let increment = |world: &mut World| world.call(K("k"), "counter/c", "increment", "");
    assert_eq!(by(&mut world, &ann, increment), "{\"value\":1}");
    assert_eq!(by(&mut world, &bob, increment), "{\"value\":2}");
    assert_eq!(by(&mut world, &ann, increment), "{\"value\":1}");
    // A token of the same principal is the same principal.
    let again = token_for(&mut world, "ann", "next one", &[], None);
    revoke(&mut world, &ann);
    assert_eq!(by(&mut world, &again, increment), "{\"value\":1}");
    // Who calls itself like another without a token is nobody.
    assert_eq!(by(&mut world, &"nobody".into(), increment), FORBIDDEN);
}

#[test]
fn nobody_is_locked_out() {
    let mut world = World::new();
    world.principal = Principal::anonymous();
    let close = |world: &mut World| change(world, AccessChange::Set { closed: true });
    assert_eq!(close(&mut world), FORBIDDEN);
    token(&mut world, "ci", &["lock/*:admin", "*/a*:admin", "*:*"]);
    token_for(&mut world, "soon", "soon", &["*:admin"], Some(60_000));
    assert_eq!(close(&mut world), FORBIDDEN, "its right ends");
    let admin = token(&mut world, "admin", &["*:admin"]);
    world.principal = admin.clone();
    assert_eq!(close(&mut world), "{\"access\":\"closed\"}");
    assert_eq!(revoke(&mut world, &admin), FORBIDDEN);
    assert_eq!(deny(&mut world, "admin", &["*:admin"]), FORBIDDEN);
    assert_eq!(deny(&mut world, "admin", &[]), FORBIDDEN);
    assert_eq!(change(&mut world, AccessChange::RevokePrincipal { principal: "admin".into() }), FORBIDDEN);
    assert_eq!(allow(&mut world, "anonymous", &["*:admin"]), "refused bad-argument");
    // With another one it may go.
    token(&mut world, "admin-2", &["*:admin"]);
    assert_eq!(
        change(&mut world, AccessChange::RevokePrincipal { principal: "admin".into() }),
        "{\"revoked\":1}"
    );
    assert_eq!(change(&mut world, AccessChange::Set { closed: false }), UNAUTHENTICATED);
    // A root token is a way back, and needs no token.
    world.principal = Principal::root();
    assert_eq!(
        change(&mut world, AccessChange::RevokePrincipal { principal: "admin-2".into() }),
        "{\"revoked\":1}"
    );
    assert_eq!(change(&mut world, AccessChange::Set { closed: false }), "{\"access\":\"open\"}");
    assert_eq!(close(&mut world), "{\"access\":\"closed\"}");
}

#[test]
fn types_and_their_objects_are_looked_after_by_those_who_administer_them() {
    let mut types = Types::with_object(0);
    types.raise_level();
    let admin = close(&mut types.world);
    let dev = token(&mut types.world, "dev", &["hits/*:admin"]);
    let user = token(&mut types.world, "user", &["hits/a:*", "hits/b:get"]);
    types.world.principal = user.clone();
    assert_eq!(types.piece(b"module two", 0), FORBIDDEN);
    assert_eq!(types.type_put("hits", b"module one", DESCRIPTION), FORBIDDEN);
    assert_eq!(types.migrate(support::users::version("module one")), FORBIDDEN);
    assert_eq!((types.quarantine(Some("x")), types.rollback(true)), (FORBIDDEN.into(), FORBIDDEN.into()));
    assert_eq!(types.delete_type("hits", support::users::version("module one")), FORBIDDEN);
    assert_eq!(types.delete("a"), FORBIDDEN);
    assert_eq!(types.call(Anyone, "add", "{\"by\":2}"), "{\"value\":2}");
    // A method's kind is what the version says.
    let (a, b, missing) = (types.object("a"), types.object("b"), types.object("none"));
    types.world.principal = admin;
    assert!(types.create("b", "").starts_with("{\"created\":true"));
    let reader = token(&mut types.world, "reader", &["hits/*:query"]);
    let judged = |state: &State, principal: &Principal| {
        let acts = [
            Act::Method(&a, "get"),
            Act::Method(&a, "add"),
            Act::Method(&b, "get"),
            Act::Method(&missing, "get"),
        ];
        acts.map(|act| may(state, principal, &act))
    };
    assert_eq!(judged(&types.world.state, &reader), [true, false, true, false]);
    assert_eq!(judged(&types.world.state, &user), [true, true, true, false]);
    types.world.principal = dev;
    types.put("hits", "module two");
    assert!(types.migrate(support::users::version("module two")).contains("\"migrated\":true"));
    assert_eq!(types.quarantine(Some("x")), "{\"quarantined\":true}");
    assert_eq!(types.type_put("misses", b"module two", DESCRIPTION), FORBIDDEN);
}

#[test]
fn module_may_do_no_more_than_its_object_was_allowed() {
    let mut types = Types::new();
    types.raise_level();
    types.put("hits", "module one");
    assert!(types.create("a", "").starts_with("{\"created\":true"));
    let send = |types: &mut Types| {
        types.call(Anyone, "send_counter", "");
        types.world.pass(0);
        (types.world.query("counter/c", "get", ""), types.user().failures)
    };
    close(&mut types.world);
    assert_eq!(send(&mut types), ("{\"value\":0}".into(), 1));
    assert!(types.user().last_failure.unwrap().contains("forbidden"));
    allow(&mut types.world, "object:hits/b", &["counter/c:*"]);
    assert_eq!(send(&mut types), ("{\"value\":0}".into(), 2));
    allow(&mut types.world, "object:hits/*", &["counter/c:*"]);
    assert_eq!(send(&mut types), ("{\"value\":3}".into(), 2));
}

#[test]
fn waiting_call_of_a_users_type_ends_and_its_module_hears_of_it() {
    let mut types = Types::with_object(0);
    types.raise_level();
    let (_, ci) = (close(&mut types.world), token(&mut types.world, "ci", &["hits/a:wait"]));
    let admin = types.world.principal.clone();
    types.world.principal = ci.clone();
    let waits = types.call(K("k"), "wait", "");
    assert!(waits.starts_with("waits"), "{waits}");
    types.world.principal = admin;
    revoke(&mut types.world, &ci);
    assert_eq!(types.world.ends(), [format!("{} cancelled {FORBIDDEN}", &waits[6..])]);
}

#[test]
fn snapshot_carries_tokens_rights_and_what_waits_by_them() {
    let (mut world, admin) = closed();
    let ann = token(&mut world, "ann", &["lock/l:*"]);
    let ci = token_for(&mut world, "ci", "secret", &["lock/l:acquire"], Some(50_000));
    acquire(&mut world, &ann, 1, "lock/l");
    let ticket = acquire(&mut world, &ci, 2, "lock/l").replace("waits ", "");
    for chunk in [1, 100, 1 << 20] {
        let (bytes, digest) = snapshot(&mut world.state, chunk);
        let mut other = World::new();
        other.state = load(&bytes, chunk).unwrap();
        (other.now, other.principal) = (world.now, admin.clone());
        assert_eq!((other.state.digest(), other.state.is_closed()), (digest, true));
        assert_eq!(other.state.principal_of(&hash(b"secret")), Some(ci.clone()));
        assert_eq!(other.state.shown_tokens(), world.state.shown_tokens());
        assert_eq!(other.state.shown_access(&admin, None), world.state.shown_access(&admin, None));
        assert_eq!(call(&mut other, &Principal::anonymous(), "lock/l", "acquire", ""), UNAUTHENTICATED);
        assert_eq!(call(&mut other, &ann, "counter/c", "increment", ""), FORBIDDEN);
        revoke(&mut other, &ci);
        assert_eq!(other.ends(), [format!("{ticket} cancelled {FORBIDDEN}")]);
        other.pass(60_000);
    }
}

#[test]
fn secret_is_shown_nowhere() {
    let (mut world, admin) = closed();
    token(&mut world, "ci", &["lock/l:*"]);
    let (bytes, _) = snapshot(&mut world.state, 1 << 20);
    let all = [world.state.shown_tokens(), world.state.shown_access(&admin, None)].concat();
    let hash: String = hash(b"ci").iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(!all.contains(&hash) && all.contains("\"ci\"") && all.contains("\"lock/l:*\""), "{all}");
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
    // Others are shown their own rights alone.
    let ci = world.state.principal_of(&support::users::hash(b"ci")).unwrap();
    let own = world.state.shown_access(&ci, None);
    assert!(own.contains("lock/l:*") && !own.contains("admin") && !own.contains("principals"), "{own}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn everything_is_bounded() {
    let mut world = World::new();
    world.principal = Principal::root();
    for name in ["", "anonymous", "root", "a b", "a:b", &"n".repeat(65)] {
        let (hash, lives_ms, grants) = ([1; 32], None, Vec::new());
        let answer =
            change(&mut world, AccessChange::CreateToken { name: name.into(), hash, lives_ms, grants });
        assert_eq!(answer, "refused bad-argument", "{name}");
    }
    for lives_ms in [0, -1, TOKEN_MS_MIN - 1, i64::MAX] {
        let (name, hash, lives_ms, grants) = ("ci".into(), [1; 32], Some(lives_ms), Vec::new());
        let answer = change(&mut world, AccessChange::CreateToken { name, hash, lives_ms, grants });
        assert_eq!(answer, "refused bad-argument");
    }
    let of =
        |count: usize| (0..count).map(|n| format!("lock/{n}:query").parse().unwrap()).collect::<Vec<Grant>>();
    let principal = || String::from("ci");
    let full = AccessChange::Allow { principal: principal(), grants: of(GRANTS_PER_PRINCIPAL_MAX) };
    assert!(change(&mut world, full).contains("lock/63"));
    assert_eq!(allow(&mut world, "ci", &["lock/x:query"]), "refused quota");
    assert!(allow(&mut world, "ci", &["lock/1:call"]).contains("lock/1:query,call"));
    let long: Vec<_> = (0..63).map(|n| format!("lock/{}{n}:query", "n".repeat(250))).collect();
    let long = long.iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(allow(&mut world, "long", &long), "refused quota");
    let methods: Vec<_> = (0..33).map(|n| format!("lock/a:m{n}")).collect();
    assert_eq!(
        allow(&mut world, "m", &methods.iter().map(String::as_str).collect::<Vec<_>>()),
        "refused quota"
    );
    let mut state = std::mem::take(&mut world.state);
    let mut apply = |change: AccessChange| {
        world.origins += 1;
        let caller = world.caller(Anyone);
        let mut effects = Vec::new();
        state.apply(base::WallTime::of_ms(world.now), &Command::Access { caller, change }, &mut effects);
        match effects.pop() {
            Some(Effect::Answered { outcome, .. }) => shown(&outcome),
            other => panic!("{other:?}"),
        }
    };
    let token = |number: usize| {
        let mut hash = [2; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        AccessChange::CreateToken { name: "ci".into(), hash, lives_ms: None, grants: Vec::new() }
    };
    assert!((0..TOKENS_MAX).all(|number| apply(token(number)).starts_with("{\"number\"")));
    assert_eq!(apply(token(TOKENS_MAX)), "refused quota");
    let grants = of(1);
    let mut to =
        |number: usize| apply(AccessChange::Allow { principal: number.to_string(), grants: grants.clone() });
    assert!((1..PRINCIPALS_MAX).all(|number| to(number).starts_with("{\"principal\"")));
    assert_eq!(to(PRINCIPALS_MAX), "refused quota");
    assert_eq!(state.check(), Ok(()));
}

#[test]
fn waiting_calls_of_one_principal_are_bounded() {
    let (mut world, _) = closed();
    let ci = token(&mut world, "ci", &["counter/*:await", "queue/*:take"]);
    world.principal = ci.clone();
    let mut state = std::mem::take(&mut world.state);
    let mut effects = Vec::new();
    let mut answers = Vec::new();
    for number in 0..=TICKETS_PER_PRINCIPAL_MAX {
        let path = format!("queue/{}", number % 10);
        let call = world.new_call(Anyone, &path, "take", "");
        state.apply(base::WallTime::of_ms(world.now), &Command::Call(call), &mut effects);
        answers.extend(effects.drain(..).filter(|effect| matches!(effect, Effect::Answered { .. })));
    }
    let [Effect::Answered { outcome: Outcome::Refused(problem), .. }] = &answers[..] else {
        panic!("{answers:?}")
    };
    assert_eq!(
        (problem.slug.name(), state.counts()[2]),
        ("waiters-full", u64::from(TICKETS_PER_PRINCIPAL_MAX))
    );
    // All of them end at one position.
    let began = std::time::Instant::now();
    world.principal = Principal::root();
    let change = AccessChange::RevokePrincipal { principal: "ci".into() };
    let command = Command::Access { caller: world.caller(Anyone), change };
    assert!(state.cost(&command) > u64::from(TICKETS_PER_PRINCIPAL_MAX) * 1_000);
    state.apply(base::WallTime::of_ms(world.now), &command, &mut effects);
    println!("{} waiting calls ended in {:?}", TICKETS_PER_PRINCIPAL_MAX, began.elapsed());
    assert_eq!((state.counts()[2], state.check()), (0, Ok(())));
}

#[test]
fn open_access_leaves_nothing_behind_and_asks_nothing() {
    let mut world = World::new();
    world.principal = Principal::anonymous();
    world.open(1, 1);
    world.call(S(1), "lock/l", "acquire", "");
    world.open(2, 1);
    let records = world.state.records();
    let waits = world.call(S(2), "lock/l", "acquire", "");
    // Of the ticket: itself, where it is, its place in the session, its deadline, that its request waits.
    assert_eq!((waits.starts_with("waits"), world.state.records()), (true, records + 5));
    let who: [Who; 2] = [Anyone, K("k")];
    for who in who {
        assert!(world.call(who, "counter/c", "increment", "").starts_with("{\"value\""));
    }
    assert_eq!(world.state.access_changes(), 0);
}
