//! Quotas of namespaces and principals: what counts, what is refused, and what is not. After each command the state counts again
//! all that is used (`State::check`).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use objects_state::limits::{COUNTED_PER_TICK, QUOTAS_MAX};
use objects_state::{
    AccessChange, Call, Command, Content, Invocation, Json, NewSession, Principal, QuotaLimits, QuotaOf,
    State,
};
use support::users::{Types, version};
use support::{Anyone, K, S, World, load, object, session, snapshot};

const QUOTA: &str = "refused quota";

fn namespace(name: &str) -> QuotaOf {
    QuotaOf::Namespace(name.into())
}

fn principal(name: &str) -> QuotaOf {
    QuotaOf::Principal(name.into())
}

fn objects(most: u64) -> QuotaLimits {
    QuotaLimits { objects: Some(most), ..QuotaLimits::default() }
}

fn bytes(most: u64) -> QuotaLimits {
    QuotaLimits { bytes: Some(most), ..QuotaLimits::default() }
}

fn waiters(most: u64) -> QuotaLimits {
    QuotaLimits { waiters: Some(most), ..QuotaLimits::default() }
}

fn sessions(most: u64) -> QuotaLimits {
    QuotaLimits { sessions: Some(most), ..QuotaLimits::default() }
}

impl World {
    fn quota(&mut self, of: QuotaOf, limits: QuotaLimits) -> String {
        let (caller, change) = (self.caller(Anyone), AccessChange::Quota { of, limits });
        self.answer(&Command::Access { caller, change })
    }

    fn try_open(&mut self, number: u8) -> String {
        let new = NewSession {
            id: session(number),
            secret_hash: [number; 32],
            generation: 1,
            ttl_ms: 10_000,
            name: None,
        };
        let command = Command::OpenSession { caller: self.caller(Anyone), session: new };
        self.answer(&command)
    }

    /// The detail of the last refusal.
    fn detail(&self) -> String {
        let found = self.effects.iter().find_map(|effect| match effect {
            objects_state::Effect::Answered { outcome: objects_state::Outcome::Refused(problem), .. } => {
                Some(problem.detail.clone())
            }
            _ => None,
        });
        found.unwrap_or_default()
    }
}

/// What is shown of quotas.
fn shown(state: &State) -> Vec<Json> {
    let shown = state.shown_access(&Principal::root(), None);
    let Ok(Json::Object(fields)) = Json::parse(shown.as_bytes()) else { panic!("{shown}") };
    match fields.into_iter().find(|(name, _)| name == "quotas") {
        Some((_, Json::List(quotas))) => quotas,
        other => panic!("{other:?}"),
    }
}

fn field(json: &Json, name: &str) -> Option<Json> {
    match json {
        Json::Object(fields) => {
            fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        }
        _ => None,
    }
}

/// How much is used of the first quota.
fn used(state: &State, what: &str) -> i64 {
    let used = field(&shown(state)[0], "used").unwrap();
    field(&used, what).and_then(|value| value.integer()).unwrap()
}

#[test]
fn namespace_has_no_more_objects_than_its_quota() {
    let mut world = World::new();
    world.create("counter/team/a", "{\"start\":1}");
    assert_eq!(
        world.quota(namespace("team"), objects(2)),
        "{\"namespace\":\"team\",\"objects\":2,\"used\":{\"objects\":1,\"bytes\":155,\"waiters\":0}}"
    );
    assert!(world.call(Anyone, "map/team/b", "put", "{\"key\":\"k\",\"value\":1}").contains("true"));
    // Creation by use, and on purpose, of whatever type.
    let before = world.state.records();
    assert_eq!(world.call(Anyone, "counter/team/c", "increment", ""), QUOTA);
    assert_eq!(world.state.records(), before);
    let detail = world.detail();
    assert!(detail.starts_with("the quota of namespace `team` is 2 objects; 2 are used"), "{detail}");
    assert_eq!(world.create("set/team/c", ""), QUOTA);
    // What is there goes on; others are none of it.
    assert_eq!(world.call(Anyone, "counter/team/a", "increment", ""), "{\"value\":2}");
    for other in ["counter/teams/c", "counter/team", "counter/other/team/c", "counter/tea/m"] {
        assert!(world.call(Anyone, other, "increment", "").starts_with("{\"value\":1"), "{other}");
    }
    world.delete("map/team/b");
    assert_eq!(world.call(Anyone, "counter/team/c", "increment", ""), "{\"value\":1}");
    assert_eq!(used(&world.state, "objects"), 2);
    // One that vanishes by itself makes room.
    world.call(Anyone, "counter/team/c", "decrement", "");
    assert_eq!(used(&world.state, "objects"), 1);
    assert!(world.create("set/team/c", "").starts_with("{\"created\":true"));
}

#[test]
fn refusal_under_a_key_is_kept_and_a_repeat_is_no_growth() {
    let mut world = World::new();
    world.quota(namespace("team"), objects(1));
    let call = world.new_call(K("one"), "counter/team/a", "increment", "");
    assert_eq!(world.answer(&Command::Call(call.clone())), "{\"value\":1}");
    assert_eq!(world.call(K("two"), "counter/team/b", "increment", ""), QUOTA);
    let again = Call { caller: world.caller(K("one")), ..call };
    assert_eq!(world.answer(&Command::Call(again)), "{\"value\":1}");
    world.delete("counter/team/a");
    assert_eq!(world.call(K("two"), "counter/team/b", "increment", ""), QUOTA, "as it was answered first");
    assert_eq!(world.call(K("three"), "counter/team/b", "increment", ""), "{\"value\":1}");
}

#[test]
fn quota_below_what_is_used_deletes_nothing_and_refuses_growth() {
    let mut world = World::new();
    for name in ["a", "b", "c"] {
        world.call(Anyone, &format!("counter/team/{name}"), "increment", "");
    }
    let answer = world.quota(namespace("team"), objects(1));
    assert!(answer.contains("\"used\":{\"objects\":3"), "{answer}");
    assert_eq!(world.call(Anyone, "counter/team/a", "increment", ""), "{\"value\":2}");
    assert_eq!(world.call(Anyone, "counter/team/d", "increment", ""), QUOTA);
    world.delete("counter/team/a");
    assert_eq!(world.call(Anyone, "counter/team/d", "increment", ""), QUOTA);
    // Another quota in its place, and none.
    world.quota(namespace("team"), objects(3));
    assert_eq!(world.call(Anyone, "counter/team/d", "increment", ""), "{\"value\":1}");
    assert_eq!(world.call(Anyone, "counter/team/e", "increment", ""), QUOTA);
    assert_eq!(world.quota(namespace("team"), QuotaLimits::default()), "{\"namespace\":\"team\"}");
    assert_eq!(world.call(Anyone, "counter/team/e", "increment", ""), "{\"value\":1}");
    assert!(shown(&world.state).is_empty());
    // It is counted anew.
    let answer = world.quota(namespace("team"), objects(9));
    assert!(answer.contains("\"used\":{\"objects\":4"), "{answer}");
}

#[test]
fn quota_that_was_taken_away_leaves_nothing() {
    let mut world = World::new();
    world.call(Anyone, "counter/team/a", "increment", "");
    let digest = |world: &World| (world.state.records(), world.state.next_deadline());
    let before = digest(&world);
    world.quota(namespace("team"), objects(9));
    world.quota(principal("ann"), sessions(9));
    assert_ne!(digest(&world), before);
    world.quota(namespace("team"), QuotaLimits::default());
    world.quota(principal("ann"), QuotaLimits::default());
    assert_eq!(digest(&world), before);
}

#[test]
fn bytes_are_those_of_records_and_come_back() {
    let mut world = World::new();
    world.quota(namespace("team"), bytes(5_000));
    let value = |length: usize| format!("{{\"key\":\"k\",\"value\":\"{}\"}}", "v".repeat(length));
    assert!(world.call(Anyone, "map/team/m", "put", &value(4_000)).contains("\"stored\":true"));
    let first = used(&world.state, "bytes");
    assert!((4_100..4_400).contains(&first), "{first}");
    assert_eq!(world.call(Anyone, "map/team/m", "put", &value(5_000)), QUOTA);
    assert_eq!(used(&world.state, "bytes"), first);
    let detail = world.detail();
    assert!(detail.contains("is 5000 bytes") && detail.contains(&format!("{first} are used")), "{detail}");
    // Another object, too.
    let other = format!("{{\"value\":\"{}\"}}", "v".repeat(900));
    assert_eq!(world.call(Anyone, "value/team/v", "set", &other), QUOTA);
    assert!(world.call(Anyone, "map/team/m", "put", &value(3_000)).contains("\"stored\":true"));
    assert_eq!(used(&world.state, "bytes"), first - 1_000);
    assert!(world.call(Anyone, "value/team/v", "set", &other).contains("version"));
    world.call(Anyone, "map/team/m", "remove", "{\"key\":\"k\"}");
    world.delete("value/team/v");
    assert_eq!((used(&world.state, "bytes"), used(&world.state, "objects")), (0, 0));
}

#[test]
fn what_was_cleared_counts_until_it_is_swept() {
    let mut world = World::new();
    world.quota(namespace("team"), bytes(1 << 40));
    world.create("map/team/m", "");
    for index in 0..10 {
        let entries: Vec<_> = (0..50).map(|at| format!("\"k{index}-{at}\":{at}")).collect();
        world.call(Anyone, "map/team/m", "put_all", &format!("{{\"entries\":{{{}}}}}", entries.join(",")));
    }
    let full = used(&world.state, "bytes");
    world.call(Anyone, "counter/team/c", "increment", "");
    world.call(Anyone, "map/team/m", "clear", "");
    let cleared = used(&world.state, "bytes");
    assert!(cleared < full && cleared > full / 2, "{cleared} of {full}");
    while world.state.next_deadline().is_some() {
        world.pass(1);
    }
    assert!(used(&world.state, "bytes") < 400, "{}", used(&world.state, "bytes"));
}

#[test]
fn full_queue_can_be_emptied() {
    let mut world = World::with_sessions(1);
    for item in 0..5 {
        world.call(
            Anyone,
            "queue/team/q",
            "put",
            &format!("{{\"item\":\"{}\"}}", item.to_string().repeat(200)),
        );
    }
    world.quota(namespace("team"), bytes(500));
    assert_eq!(world.call(Anyone, "queue/team/q", "put", "{\"item\":1}"), QUOTA);
    for _ in 0..5 {
        let taken = world.call(S(1), "queue/team/q", "take", "{\"lease_ms\":60000}");
        assert!(taken.contains("\"attempt\":1"), "{taken}");
    }
    let waits = world.call(S(1), "queue/team/q", "take", "{\"lease_ms\":60000}");
    assert!(waits.starts_with("waits"), "{waits}");
    let ids = world.query("queue/team/q", "list", "");
    assert!(!ids.is_empty());
    world.close(1);
    assert!(world.call(Anyone, "queue/team/q", "take", "{\"n\":5}").contains("attempt"));
    assert_eq!(used(&world.state, "bytes"), 0);
}

#[test]
fn reserve_is_bounded() {
    let mut world = World::new();
    world.call(Anyone, "value/team/v", "set", "{\"value\":\"\"}");
    world.quota(namespace("team"), bytes(100));
    let mut text = String::new();
    let passed = (0..1_000).take_while(|_| {
        text.push_str("0123456789abcdef0123456789abcdef");
        world.call(Anyone, "value/team/v", "set", &format!("{{\"value\":\"{text}\"}}")) != QUOTA
    });
    let passed = passed.count();
    assert!((100..140).contains(&passed), "{passed}");
    assert!(used(&world.state, "bytes") <= 100 + 100 / 16 + 4_096);
}

#[test]
fn waiters_of_a_namespace_and_of_a_principal_are_bounded() {
    let mut world = World::with_sessions(3);
    world.quota(namespace("team"), waiters(2));
    world.call(S(1), "lock/team/l", "acquire", "");
    assert!(world.call(S(2), "lock/team/l", "acquire", "").starts_with("waits"));
    assert!(world.call(K("k"), "queue/team/q", "take", "").starts_with("waits"));
    assert_eq!(world.call(S(3), "lock/team/l", "acquire", ""), QUOTA);
    // A try does not wait, and others are none of it.
    assert!(world.call(S(3), "lock/team/l", "acquire", "{\"wait_ms\":0}").contains("false"));
    assert!(world.call(Anyone, "queue/other/q", "take", "").starts_with("waits"));
    world.call(Anyone, "queue/team/q", "put", "{\"item\":1}");
    assert!(world.call(S(3), "lock/team/l", "acquire", "").starts_with("waits"));
    assert_eq!(used(&world.state, "waiters"), 2);
    // A session's end frees them; a grant, too.
    world.close(1);
    assert_eq!(used(&world.state, "waiters"), 1);
    world.delete("lock/team/l");
    assert_eq!(used(&world.state, "waiters"), 0);
    world.quota(namespace("team"), QuotaLimits::default());
    world.quota(principal("bob"), waiters(1));
    world.principal = "bob".into();
    let first = world.call(Anyone, "queue/a", "take", "{\"wait_ms\":1000}");
    assert!(first.starts_with("waits"), "{first}");
    assert_eq!(world.call(Anyone, "queue/b", "take", ""), QUOTA);
    assert!(world.detail().starts_with("the quota of principal `bob` is 1 waiting calls; 1 are used"));
    world.pass(1_000);
    assert_eq!(used(&world.state, "waiters"), 0);
    assert!(world.call(Anyone, "queue/b", "take", "").starts_with("waits"));
}

#[test]
fn sessions_of_a_principal_are_bounded_also_those_that_calls_open() {
    let mut world = World::with_sessions(1);
    world.quota(principal("ann"), sessions(2));
    assert!(world.try_open(2).starts_with("{\"session\""));
    assert_eq!(world.try_open(3), QUOTA);
    assert_eq!(world.state.counts()[1], 2);
    assert!(world.try_open(2).starts_with("{\"session\""), "it is open");
    let mut call = world.new_call(Anyone, "lock/l", "acquire", "");
    call.opens =
        Some(NewSession { id: session(4), secret_hash: [4; 32], generation: 1, ttl_ms: 5_000, name: None });
    assert_eq!(world.answer(&Command::Call(call.clone())), QUOTA);
    world.principal = "bob".into();
    assert!(world.try_open(5).starts_with("{\"session\""));
    world.principal = "ann".into();
    world.expire(1);
    assert_eq!(used(&world.state, "sessions"), 1);
    call.caller = world.caller(Anyone);
    assert!(world.answer(&Command::Call(call)).contains("acquired\":true"));
    assert_eq!(world.try_open(6), QUOTA);
}

#[test]
fn each_call_of_a_batch_is_judged_alone() {
    let mut world = World::new();
    world.quota(namespace("team"), bytes(500));
    let put = |key: &str| format!("{{\"key\":\"{key}\",\"value\":\"{}\"}}", "v".repeat(100));
    let (a, b, c, d) = (put("a"), put("b"), put("c"), put("d"));
    let answer = world.batch(
        Anyone,
        "map/team/m",
        &[("put", &a), ("put", &b), ("put", &c), ("remove", "{\"key\":\"a\"}"), ("put", &d)],
    );
    let slugs: Vec<_> = answer.match_indices("quota").collect();
    assert!(!slugs.is_empty() && answer.matches("stored\":true").count() >= 2, "{answer}");
    assert!(answer.contains("\"removed\":true"), "{answer}");
    let keys = world.query("map/team/m", "size", "");
    assert!(used(&world.state, "bytes") <= 500, "{keys}");
}

#[test]
fn import_is_refused_as_a_whole_and_uses_no_position() {
    let mut world = World::new();
    world.quota(namespace("team"), bytes(1_000));
    let call = |at: usize| Invocation {
        method: "put".into(),
        args: format!("{{\"key\":\"k{at}\",\"value\":\"{}\"}}", "v".repeat(100)).into_bytes(),
    };
    let import = |world: &mut World, name: &str, calls: usize| {
        let calls = (0..calls).map(call).collect();
        let content = Content::Calls { arguments: b"{}".to_vec(), calls };
        let (caller, object) = (world.caller(Anyone), object(name));
        world.answer(&Command::Import { caller, object, content })
    };
    let (before, records) = (world.position(), world.state.records());
    assert_eq!(import(&mut world, "map/team/m", 20), QUOTA);
    assert_eq!((world.position(), world.state.records()), (before + 1, records));
    assert!(import(&mut world, "map/team/m", 3).contains("\"imported\":true"));
    assert!(import(&mut world, "map/other/m", 20).contains("\"imported\":true"));
    assert_eq!(used(&world.state, "objects"), 1);
}

#[test]
fn snapshot_carries_what_is_used() {
    let mut world = World::with_sessions(2);
    world.quota(namespace("team"), QuotaLimits { objects: Some(2), ..waiters(1) });
    world.quota(principal("ann"), sessions(2));
    world.call(S(1), "lock/team/l", "acquire", "");
    world.call(S(2), "lock/team/l", "acquire", "");
    let before = world.state.shown_access(&Principal::root(), None);
    let (bytes, digest) = snapshot(&mut world.state, 100);
    let loaded = load(&bytes, 100).unwrap();
    assert_eq!(loaded.digest(), digest);
    world.state = loaded;
    assert_eq!(world.state.shown_access(&Principal::root(), None), before);
    assert_eq!(world.call(K("x"), "lock/team/l", "acquire", ""), "refused bad-argument");
    assert_eq!(world.call(K("y"), "queue/team/q", "take", ""), QUOTA);
    assert_eq!(world.try_open(3), QUOTA);
}

#[test]
fn large_namespace_is_counted_in_pieces_and_commands_go_on() {
    let mut world = World::new();
    let each = 100;
    for number in 0..2 * COUNTED_PER_TICK / each {
        for part in 0..2 {
            let entries: Vec<_> = (0..each).map(|at| format!("\"k{part}-{at}\":{at}")).collect();
            let args = format!("{{\"entries\":{{{}}}}}", entries.join(","));
            let call = world.new_call(Anyone, &format!("map/team/m{number}"), "put_all", &args);
            let mut effects = Vec::new();
            world.state.apply(base::WallTime::of_ms(world.now), &Command::Call(call), &mut effects);
        }
    }
    assert!(world.quota(namespace("team"), objects(500)).contains("\"counting\":true"));
    let first = used(&world.state, "objects");
    assert!((1..200).contains(&first), "{first}");
    // Objects that are counted, and others that are not yet, come and go; one is made anew.
    world.delete("map/team/m0");
    world.delete("map/team/m99");
    world.call(Anyone, "map/team/m98", "put", "{\"key\":\"new\",\"value\":1}");
    world.call(Anyone, "map/team/m99", "put", "{\"key\":\"new\",\"value\":1}");
    world.call(Anyone, "counter/team/c", "increment", "");
    let mut ticks = 0;
    while world.state.next_deadline().is_some() && ticks < 100 {
        world.pass(1);
        ticks += 1;
    }
    assert!(ticks > 2, "{ticks}");
    assert_eq!(used(&world.state, "objects"), 200);
    assert!(field(&shown(&world.state)[0], "counting").is_none());
    // Taken away and set again.
    world.quota(namespace("team"), QuotaLimits::default());
    world.quota(namespace("team"), objects(500));
    while world.state.next_deadline().is_some() {
        world.pass(1);
    }
    assert_eq!(used(&world.state, "objects"), 200);
}

#[test]
fn quotas_have_names_limits_and_a_number() {
    let mut world = World::new();
    let bad = "refused bad-argument";
    for name in ["", "a/b", "a b", "ü", &"n".repeat(64)] {
        assert_eq!(world.quota(namespace(name), objects(1)), bad, "{name}");
    }
    assert_eq!(world.quota(principal(""), sessions(1)), bad);
    assert_eq!(world.quota(principal("a\nb"), sessions(1)), bad);
    assert_eq!(world.quota(namespace("team"), sessions(1)), bad);
    assert_eq!(world.quota(principal("ann"), objects(1)), bad);
    assert_eq!(world.quota(principal("ann"), bytes(1)), bad);
    assert_eq!(world.quota(namespace("team"), objects(u64::MAX)), bad);
    let rate = |rate| QuotaLimits { calls_per_second: Some(rate), ..QuotaLimits::default() };
    assert_eq!(world.quota(namespace("team"), rate(0)), bad);
    assert!(world.quota(namespace("team"), rate(5)).contains("\"calls_per_second\":5"));
    for number in 1..QUOTAS_MAX {
        world.quota(principal(&format!("p{number}")), sessions(1));
    }
    assert_eq!(world.quota(principal("one-more"), sessions(1)), QUOTA);
    assert!(world.quota(principal("p7"), sessions(2)).contains("\"sessions\":2"));
    world.quota(principal("p7"), QuotaLimits::default());
    assert!(world.quota(principal("one-more"), sessions(1)).contains("\"sessions\":1"));
}

#[test]
fn memory_of_modules_counts_and_a_call_that_takes_more_is_undone() {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(9));
    types.put("hits", "module one");
    types.world.quota(namespace("team"), bytes(10_000));
    assert!(types.create("team/a", "").starts_with("{\"created\":true"));
    let touch = |types: &mut Types, page: u32| {
        let mut call = types.new_call(Anyone, "touch", &format!("{{\"page\":{page}}}"));
        call.object = types.object("team/a");
        types.world.answer(&Command::Call(call))
    };
    assert_eq!(touch(&mut types, 5), "{}");
    assert_eq!(touch(&mut types, 6), "{}");
    assert_eq!(touch(&mut types, 7), QUOTA);
    assert!(used(&types.world.state, "bytes") > 2 * 4_096);
    // The next run finds the memory of before.
    assert_eq!(touch(&mut types, 6), "{}");
    let mut call = types.new_call(Anyone, "clear", "{\"page\":5}");
    call.object = types.object("team/a");
    assert_eq!(types.world.answer(&Command::Call(call)), "{}");
    assert_eq!(touch(&mut types, 7), "{}");
    types.delete("team/a");
    assert_eq!(used(&types.world.state, "bytes"), 0);
}

#[test]
fn call_that_takes_long_is_refused_when_its_run_ends() {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(9));
    types.put("hits", "module one");
    types.create("team/a", "");
    types.finish_all();
    types.world.quota(namespace("team"), bytes(1_000));
    let mut call = types.new_call(K("k"), "add", "{\"by\":5,\"fuel\":10000000}");
    call.object = types.object("team/a");
    let ticket = types.world.answer(&Command::Call(call));
    assert!(ticket.starts_with("waits"), "{ticket}");
    types.finish();
    let ends = types.world.ends();
    assert!(ends.len() == 1 && ends[0].ends_with(QUOTA), "{ends:?}");
    let value = types.world.state.query(&types.object("team/a"), None, false, "get", b"");
    assert_eq!(value, Ok("{\"value\":0}".into()));
    // One more waits than may: nothing is left of the run that was begun.
    types.world.quota(namespace("team"), waiters(0));
    let mut call = types.new_call(Anyone, "add", "{\"by\":5,\"fuel\":10000000}");
    call.object = types.object("team/a");
    assert_eq!(types.world.answer(&Command::Call(call)), QUOTA);
    assert_eq!(types.under_way(), 0);
}

#[test]
fn what_nobody_called_is_carried_out_and_counts() {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(9));
    types.put("hits", "module one");
    types.create("team/a", "");
    let mut timer = types.new_call(Anyone, "timer", "{\"id\":1,\"after\":50}");
    timer.object = types.object("team/a");
    assert_eq!(types.world.answer(&Command::Call(timer)), "{}");
    types.world.quota(namespace("team"), bytes(300));
    let before = used(&types.world.state, "bytes");
    types.world.pass(60);
    // It has written a page.
    assert!(used(&types.world.state, "bytes") > before + 4_096);
    let value = types.world.state.query(&types.object("team/a"), None, false, "get", b"");
    assert_eq!(value, Ok("{\"value\":10}".into()));
    // An emergency stop is no growth that is refused.
    let (caller, object) = (types.world.caller(Anyone), types.object("team/a"));
    let stop = Command::Quarantine { caller, object, incarnation: None, reason: Some("x".into()) };
    assert_eq!(types.world.answer(&stop), "{\"quarantined\":true}");
}

#[test]
fn message_that_was_accepted_is_delivered() {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(9));
    types.put("hits", "module one");
    for name in ["a", "b"] {
        types.create(name, "");
    }
    // No quota of a principal loses it either.
    types.world.quota(principal("object:hits/a"), waiters(0));
    types.call(Anyone, "send", "{\"by\":4,\"fuel\":10000000}");
    types.finish_all();
    types.world.pass(0);
    types.finish_all();
    let value = types.world.state.query(&types.object("b"), None, false, "get", b"");
    assert_eq!(value, Ok("{\"value\":4}".into()));
    assert_eq!(used(&types.world.state, "waiters"), 0);
}

#[test]
fn migration_that_takes_too_much_leaves_the_object() {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(9));
    types.put("hits", "module one");
    types.create("team/a", "{\"start\":7}");
    types.put("hits", "module two");
    types.world.quota(namespace("team"), bytes(5_000));
    let (caller, object) = (types.world.caller(Anyone), types.object("team/a"));
    let migrate = Command::Migrate { caller, object, incarnation: None, to: version("module two") };
    assert_eq!(types.world.answer(&migrate), QUOTA, "what it was before is kept for a day, and counts");
    let value = types.world.state.query(&types.object("team/a"), None, false, "get", b"");
    assert_eq!(value, Ok("{\"value\":7}".into()));
    types.world.quota(namespace("team"), bytes(20_000));
    let (caller, object) = (types.world.caller(Anyone), types.object("team/a"));
    let migrate = Command::Migrate { caller, object, incarnation: None, to: version("module two") };
    assert!(types.world.answer(&migrate).starts_with("{\"migrated\":true"));
    assert!(used(&types.world.state, "bytes") > 2 * 4_096);
    let day = 24 * 3_600_000;
    types.world.pass(day);
    assert!(used(&types.world.state, "bytes") < 2 * 4_096);
}
