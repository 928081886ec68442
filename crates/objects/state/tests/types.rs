//! Types of users: uploads, versions, and objects whose calls an engine runs.

mod support;

use std::sync::Arc;

use base::{Random, WallTime};
use objects_state::guest::VersionHash;
use objects_state::limits::{PIECE_BYTES, REASON_BYTES_MAX, UPLOAD_MS, UPLOADS_MAX};
use objects_state::{Command, Effect, EventKind, Invocation, Outcome};
use support::engine::FakeEngine;
use support::users::{DESCRIPTION, Types, hash, version};
use support::{Anyone, K, S, load, snapshot};

#[test]
fn type_is_there_when_its_version_is_ready() {
    let mut types = Types::new();
    types.upload(b"module one");
    assert!(types.type_put("hits", b"module one", DESCRIPTION).contains("\"state\":\"preparing\""));
    assert_eq!(types.create("a", ""), "refused type-not-ready");
    assert!(types.type_put("hits", b"module one", DESCRIPTION).contains("\"state\":\"preparing\""));
    types.ready();
    assert!(types.world.state.preparing().is_empty());
    assert!(types.create("a", "").starts_with("{\"created\":true"));
    assert!(types.type_put("hits", b"module one", DESCRIPTION).contains("\"state\":\"ready\""));
    let info: Vec<_> = types.world.state.user_types().collect();
    assert_eq!((info.len(), info[0].versions.len(), info[0].versions[0].objects), (1, 1, 1));
    assert_eq!(info[0].current, Some(version("module one")));
    assert_eq!(types.call(Anyone, "add", "{\"by\":3}"), "{\"value\":3}");
    assert_eq!(
        (types.value(), types.call(Anyone, "get", "")),
        ("{\"value\":3}".into(), "refused bad-argument".into())
    );
    assert_eq!(types.call(Anyone, "nothing", ""), "refused no-such-method");
    assert_eq!(types.call(Anyone, "add", "[]"), "refused bad-argument");
}

#[test]
fn pieces_come_in_order_and_their_hash_is_checked() {
    let mut types = Types::new();
    let module = "x".repeat(2 * PIECE_BYTES + 5).into_bytes();
    assert_eq!(types.piece(&module, PIECE_BYTES), format!("{{\"received\":0,\"size\":{}}}", module.len()));
    assert_eq!(types.type_put("hits", &module, DESCRIPTION), "refused no-such-module");
    types.piece(&module, 0);
    assert!(
        types.piece(&module, 0).contains(&format!("\"received\":{PIECE_BYTES}")),
        "a repeat changes nothing"
    );
    assert_eq!(types.type_put("hits", &module, DESCRIPTION), "refused no-such-module");
    types.piece(&module, PIECE_BYTES);
    types.piece(&module, 2 * PIECE_BYTES);
    assert!(types.type_put("hits", &module, DESCRIPTION).contains("preparing"));
    // Bytes of another hash are thrown away.
    let records = types.world.state.records();
    let command = Command::TypePiece {
        caller: types.world.caller(Anyone),
        hash: [1; 32],
        size: 3,
        offset: 0,
        bytes: b"abc".to_vec(),
    };
    assert_eq!(types.world.answer(&command), "refused bad-argument");
    assert_eq!(types.world.state.records(), records);
    for (size, offset, length) in [(10, 0, 9), (10, 1, 9), (10, 10, 0), (0, 0, 0), (17 << 20, 0, PIECE_BYTES)]
    {
        let (caller, bytes) = (types.world.caller(Anyone), vec![0; length]);
        let command = Command::TypePiece { caller, hash: [2; 32], size, offset, bytes };
        assert!(types.world.answer(&command).starts_with("refused"), "{size} {offset} {length}");
    }
}

#[test]
fn uploads_are_bounded_and_vanish() {
    let mut types = Types::new();
    let module = |number: u32| format!("{number}").into_bytes();
    (0..UPLOADS_MAX).for_each(|number| types.upload(&module(number)));
    assert_eq!(types.piece(&module(UPLOADS_MAX), 0), "refused quota");
    types.world.pass(UPLOAD_MS - 1);
    types.piece(&module(3), 0);
    assert!(types.type_put("hits", &module(4), DESCRIPTION).contains("preparing"));
    types.ready();
    types.world.pass(1);
    let before = types.world.state.records();
    types.world.pass(UPLOAD_MS);
    assert!(types.world.state.records() <= before);
    assert_eq!(types.type_put("hits", &module(5), DESCRIPTION), "refused no-such-module");
    assert!(types.type_put("hits", &module(4), DESCRIPTION).contains("ready"), "what is used stays");
    types.upload(&module(UPLOADS_MAX));
}

#[test]
fn who_creates_an_object_is_told_why_its_type_has_no_version() {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(7));
    types.upload(b"reject this");
    types.type_put("hits", b"reject this", DESCRIPTION);
    types.verdict(version("reject this"), Some("rule 7: function `x`"));
    assert_eq!(types.create("a", ""), "refused type-not-ready", "as earlier builds say");
    types.world.apply(&Command::FeatureLevel(8));
    let refused = |types: &mut Types| {
        let answer = types.create("a", "");
        let detail = types.world.effects.iter().find_map(|effect| match effect {
            Effect::Answered { outcome: Outcome::Refused(problem), .. } => Some(problem.detail.clone()),
            _ => None,
        });
        (answer, detail.unwrap())
    };
    let rejected = (String::from("refused type-rejected"), String::from("rule 7: function `x`"));
    assert_eq!(refused(&mut types), rejected);
    // Another version is under way, and rejected, too: what is newest counts.
    types.upload(b"reject that");
    types.type_put("hits", b"reject that", DESCRIPTION);
    assert_eq!(refused(&mut types).0, "refused type-not-ready");
    types.verdict(version("reject that"), Some(&"long ".repeat(1_000)));
    let (answer, detail) = refused(&mut types);
    assert_eq!(answer, "refused type-rejected");
    assert!(detail.starts_with("long ") && detail.len() <= REASON_BYTES_MAX, "{}", detail.len());
    // A version that is ready is taken, and what its members close is told as such.
    types.upload(b"module one");
    types.type_put("hits", b"module one", DESCRIPTION);
    types.verdict(version("module one"), None);
    assert!(types.create("a", "").starts_with("{\"created\":true"));
    types.verdict(version("module one"), Some("a later rule"));
    let object = types.object("b");
    let command = Command::Create { caller: types.world.caller(Anyone), object, args: Vec::new() };
    assert_eq!(types.world.answer(&command), "refused quarantined");
    // After ten minutes nobody remembers the others.
    types.world.pass(601_000);
    assert_eq!(types.world.answer(&command), "refused quarantined");
}

#[test]
fn rejected_module_is_remembered_for_a_while() {
    let mut types = Types::new();
    let records = types.world.state.records();
    types.put("hits", "reject this");
    assert_eq!(types.type_put("hits", b"reject this", DESCRIPTION), "refused type-rejected");
    let info: Vec<_> = types.world.state.user_types().collect();
    assert_eq!(info[0].versions[0].rejected.as_deref(), Some("rule 7: function `x`"));
    assert_eq!((info[0].current, types.engine.versions()), (None, 0));
    assert_eq!(types.create("a", ""), "refused type-not-ready");
    types.world.pass(UPLOAD_MS);
    assert_eq!(types.world.state.user_types().count(), 0);
    // The totals are left.
    assert_eq!(types.world.state.records(), records + 1);
}

#[test]
fn names_descriptions_and_sizes_are_checked() {
    let mut types = Types::new();
    types.upload(b"module one");
    for name in ["", "Hits", "1a", "a/b", "a b", &"a".repeat(65)] {
        assert_eq!(types.type_put(name, b"module one", DESCRIPTION), "refused bad-argument", "{name}");
    }
    assert_eq!(types.type_put("lock", b"module one", DESCRIPTION), "refused exists");
    assert_eq!(types.type_put("hits", b"module one", "[]"), "refused bad-argument");
    assert_eq!(types.type_put("hits", b"module one", &" ".repeat(70_000)), "refused too-large");
    assert_eq!(types.world.state.user_types().count(), 0);
}

#[test]
fn runner_says_what_its_source_is() {
    let mut types = Types::new();
    types.upload(b"runner");
    let put = |types: &mut Types, source: &str| {
        let command = Command::TypePut {
            caller: types.world.caller(Anyone),
            name: "hits".into(),
            module: hash(b"runner"),
            source: Some(source.into()),
            description: "{}".into(),
        };
        types.world.answer(&command)
    };
    put(&mut types, "add");
    types.ready();
    types.create("a", "");
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":1}");
    assert_eq!(types.call(Anyone, "get", ""), "refused no-such-method");
    put(&mut types, "no/method");
    types.ready();
    assert_eq!(put(&mut types, "no/method"), "refused type-rejected");
    let other = load(&snapshot(&mut types.world.state, 99).0, 99).expect("our own snapshot loads");
    assert_eq!(other.digest(), types.world.state.digest());
}

#[test]
fn version_goes_when_no_object_has_it() {
    let mut types = Types::with_object(0);
    types.put("hits", "module two");
    let (one, two) = (version("module one"), version("module two"));
    assert_eq!(types.delete_type("hits", one), "refused in-use");
    assert_eq!(types.delete_type("none", one), "refused no-such-type");
    assert_eq!(types.delete_type("hits", VersionHash([9; 32])), "refused no-such-type");
    assert!(types.create("b", "").contains(&two.to_string()), "new objects have the latest");
    types.delete("b");
    assert_eq!(types.delete_type("hits", two), "{\"deleted\":true}");
    assert!(types.create("c", "").contains(&one.to_string()), "the one that is left is the latest");
    types.delete("a");
    types.delete("c");
    assert_eq!((types.delete_type("hits", one), types.engine.versions()), ("{\"deleted\":true}".into(), 0));
    assert_eq!(types.world.state.type_named("hits"), None);
    types.world.pass(1);
    assert_eq!(types.world.state.records(), 1, "the totals are left");
    // The next type has another number.
    types.put("hits", "module one");
    assert_eq!(types.world.state.type_named("hits").map(|kind| kind.0), Some(65));
}

#[test]
fn creation_runs_the_constructor_and_is_the_same_once() {
    let mut types = Types::new();
    types.put("hits", "module one");
    assert_eq!(types.call(Anyone, "add", ""), "refused no-such-object", "no creation by use");
    assert_eq!(types.create("a", "{\"start\":-1}"), "refused guest-error");
    assert_eq!(types.code().as_deref(), Some("bad-start"));
    assert_eq!((types.world.state.counts()[0], types.engine.residents()), (0, 0));
    assert!(types.create("a", "{\"start\":5}").starts_with("{\"created\":true"));
    assert!(types.create("a", "{ \"start\" : 5 }").starts_with("{\"created\":false"));
    assert_eq!(types.create("a", "{\"start\":6}"), "refused exists");
    assert_eq!(types.value(), "{\"value\":5}");
    assert_eq!((types.delete("a"), types.engine.residents()), ("{\"deleted\":true}".into(), 0));
    assert!(types.create("a", "{\"start\":6}").starts_with("{\"created\":true"));
    assert_eq!(types.value(), "{\"value\":6}");
}

#[test]
fn failed_call_changes_nothing_and_says_why() {
    let mut types = Types::with_object(0);
    types.call(Anyone, "add", "");
    let failures = [
        ("refuse", "guest-error"),
        ("trap", "guest-trap"),
        ("burn", "out-of-fuel"),
        ("grow", "out-of-memory"),
        ("deep", "stack-exhausted"),
        ("bad", "guest-trap"),
        ("wake", "guest-trap"),
    ];
    for (method, slug) in failures {
        let records = types.world.state.records();
        assert_eq!(types.call(Anyone, method, ""), format!("refused {slug}"));
        assert_eq!(
            (types.value(), types.world.state.records()),
            ("{\"value\":1}".into(), records),
            "{method}"
        );
        // Not what the engine kept of the run, either.
        assert_eq!(types.call(Anyone, "add", "{\"by\":0}"), "{\"value\":2}", "{method}");
        types.call(Anyone, "clear", "");
        types.call(Anyone, "add", "");
    }
    types.call(Anyone, "refuse", "");
    assert_eq!(types.code().as_deref(), Some("no-funds"));
}

#[test]
fn calls_take_effect_once_and_are_answered_the_same() {
    let mut types = Types::with_object(1);
    let call = Command::Call(types.new_call(S(1), "add", "{\"by\":7}"));
    assert_eq!(types.world.answer(&call), "{\"value\":7}");
    assert_eq!(types.world.answer(&call), "{\"value\":7}");
    let refused = Command::Call(types.new_call(K("k"), "refuse", ""));
    types.world.apply(&refused);
    let first = types.world.effects.clone();
    types.world.apply(&refused);
    assert_eq!(types.world.effects, first, "also a module's own refusal");
    assert_eq!(types.value(), "{\"value\":7}");
}

#[test]
fn batch_is_one_call_behind_the_other_and_none_waits() {
    let mut types = Types::with_object(0);
    let invocation = |method: &str| Invocation { method: method.into(), args: Vec::new() };
    let command = Command::Batch(objects_state::Batch {
        caller: types.world.caller(Anyone),
        object: types.object("a"),
        incarnation: None,
        create: true,
        invocations: ["add", "trap", "wait", "bad", "add"].map(invocation).to_vec(),
    });
    let answer = types.world.answer(&command);
    assert_eq!(answer.matches("guest-trap").count(), 3, "{answer}");
    assert!(answer.contains("{\"result\":{\"value\":2}}"), "{answer}");
    assert_eq!((types.value(), types.world.state.counts()[2]), ("{\"value\":2}".into(), 0));
}

#[test]
fn waiting_call_is_woken_with_a_value_or_refused() {
    let mut types = Types::with_object(2);
    let first = types.call(S(1), "wait", "");
    let second = types.call(S(2), "wait", "");
    assert!(first.starts_with("waits") && second.starts_with("waits"));
    types.call(Anyone, "give", "{\"value\":5}");
    assert_eq!(types.world.ends(), [format!("{} granted {{\"got\":5}}", &first[6..])]);
    types.call(Anyone, "deny", "");
    assert_eq!(types.world.ends(), [format!("{} granted refused guest-error", &second[6..])]);
    assert_eq!(types.call(Anyone, "give", ""), "{\"woken\":null}");
    assert_eq!(types.call(S(1), "wait", "{\"twice\":1}"), "refused guest-trap");
    assert_eq!(types.world.state.counts()[2], 0);
    // A call without an object of its own is not to be woken.
    types.create("b", "");
    let third = types.call(S(1), "wait", "");
    let mut call = types.new_call(Anyone, "wake", &format!("{{\"ticket\":{}}}", &third[6..]));
    call.object = types.object("b");
    assert_eq!(types.world.answer(&Command::Call(call)), "refused guest-trap");
}

#[test]
fn wait_ends_by_its_time_a_cancel_or_a_try_and_the_module_hears_of_it() {
    let mut types = Types::with_object(1);
    let first = types.call(S(1), "wait", "{\"wait_ms\":100}");
    let second = types.call(S(1), "wait", "{\"wait_ms\":500,\"own\":200}");
    types.world.pass(99);
    assert!(types.world.ended().is_empty());
    types.world.pass(1);
    assert_eq!(types.world.ends(), [format!("{} timed out {{\"timed_out\":true}}", &first[6..])]);
    types.world.pass(100);
    assert_eq!(types.world.ended().len(), 1, "the module's own time is the shorter one: {second}");
    let third = types.call(S(1), "wait", "");
    assert_eq!(types.world.cancel(third[6..].parse().unwrap()), "{\"cancelled\":true}");
    // It has forgotten them all.
    assert_eq!(types.call(Anyone, "give", ""), "{\"woken\":null}");
    let mut call = types.new_call(S(1), "wait", "");
    call.wait_ms = Some(0);
    types.world.apply(&Command::Call(call));
    let ends = types.world.ends();
    assert!(ends.len() == 1 && ends[0].ends_with("timed out {\"timed_out\":true}"), "{ends:?}");
    assert_eq!(
        (types.call(Anyone, "give", ""), types.world.state.counts()[2]),
        ("{\"woken\":null}".into(), 0)
    );
}

#[test]
fn session_that_dies_ends_its_waits_first_and_then_modules_hear_of_it() {
    let mut types = Types::with_object(2);
    types.call(S(1), "add", "");
    let own = types.call(S(1), "wait", "");
    let other = types.call(S(2), "wait", "");
    types.world.expire(1);
    let ends = types.world.ends();
    assert_eq!(ends[0], format!("{} ended refused session-expired", &own[6..]));
    assert_eq!(ends[1], format!("{} granted {{\"got\":\"inherited\"}}", &other[6..]), "not to the dead one");
    assert_eq!(types.value(), "{\"value\":101}");
    types.world.close(2);
    assert_eq!(types.value(), "{\"value\":201}");
}

#[test]
fn timers_fire_once_in_order_and_failures_are_counted() {
    let mut types = Types::with_object(0);
    types.call(Anyone, "timer", "{\"id\":1,\"after\":50}");
    types.call(Anyone, "timer", "{\"id\":2,\"after\":60}");
    types.call(Anyone, "timer", "{\"id\":1,\"after\":70}");
    types.call(Anyone, "untimer", "{\"id\":2}");
    types.world.pass(69);
    assert_eq!(types.value(), "{\"value\":0}");
    types.world.pass(1);
    assert_eq!(types.value(), "{\"value\":10}");
    types.call(Anyone, "timer", "{\"id\":666,\"after\":1}");
    types.world.pass(1);
    let user = types.world.state.describe(&types.object("a")).unwrap().user.unwrap();
    assert_eq!((user.failures, types.value()), (1, "{\"value\":10}".into()));
    assert_eq!(user.last_failure.as_deref(), Some("guest-trap: unreachable in `timer`"));
    types.world.pass(1_000);
    assert_eq!(types.world.state.next_deadline(), None);
}

#[test]
fn failing_end_of_a_wait_still_ends_it() {
    let mut types = Types::new();
    types.put("hits", "module endtrap");
    types.create("a", "");
    let wait = types.call(K("k"), "wait", "{\"wait_ms\":10}");
    types.world.pass(10);
    assert_eq!(types.world.ends(), [format!("{} timed out {{}}", &wait[6..])]);
    assert_eq!(types.world.state.describe(&types.object("a")).unwrap().user.unwrap().failures, 1);
}

#[test]
fn run_that_is_taken_back_leaves_nothing_behind_also_in_the_engine() {
    let mut types = Types::new();
    types.put("hits", "module endwrong");
    types.create("a", "");
    types.call(Anyone, "add", "");
    // The call and the end of its wait are at one position: the first counts, the second is taken back.
    let mut call = types.new_call(K("k"), "wait", "");
    call.wait_ms = Some(0);
    types.world.apply(&Command::Call(call));
    assert_eq!(types.world.ends().len(), 1);
    assert_eq!(types.value(), "{\"value\":1}");
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":2}");
    assert_eq!(types.world.state.describe(&types.object("a")).unwrap().user.unwrap().failures, 1);
}

#[test]
fn engine_is_told_when_memory_was_changed_last() {
    let mut types = Types::with_object(0);
    (0..5).for_each(|_| drop(types.call(Anyone, "add", "")));
    types.call(Anyone, "trap", "");
    types.value();
    assert!(types.engine.loads() <= 1, "{}", types.engine.loads());
}

#[test]
fn end_of_one_wait_of_a_dead_session_wakes_no_other_of_it() {
    let mut types = Types::new();
    types.put("hits", "module endgive");
    (1..=2).for_each(|number| types.world.open(number, 1));
    types.create("a", "");
    let own = [types.call(S(1), "wait", ""), types.call(S(1), "wait", "")];
    let other = types.call(S(2), "wait", "");
    let description = types.world.state.user_types().next().unwrap();
    assert!(description.current.is_some());
    types.world.expire(1);
    let ends = types.world.ends();
    let expired = own.map(|wait| format!("{} ended refused session-expired", &wait[6..]));
    assert_eq!(ends[..2], expired);
    assert!(ends.len() == 3 && ends[2].starts_with(&format!("{} granted", &other[6..])), "{ends:?}");
}

#[test]
fn events_of_modules_go_to_those_who_listen() {
    let mut types = Types::with_object(0);
    types.call(Anyone, "emit", "{\"x\":[1]}");
    let said = types.world.effects.iter().find_map(|effect| match effect {
        Effect::Event(event) if event.kind == EventKind::Emitted => Some(event.clone()),
        _ => None,
    });
    let event = said.expect("an event");
    let said = event.said.expect("words");
    assert_eq!((said.topic.as_str(), said.body.as_str()), ("news", "{\"x\":[1]}"));
    assert_eq!(event.user_type.as_deref(), Some("hits"));
}

#[test]
fn memory_is_records_that_come_and_go() {
    let mut types = Types::with_object(0);
    let before = types.world.state.records();
    (2..6).for_each(|page| drop(types.call(Anyone, "touch", &format!("{{\"page\":{page}}}"))));
    let bytes =
        |types: &Types| types.world.state.describe(&types.object("a")).unwrap().user.unwrap().memory_bytes;
    assert_eq!((types.world.state.records(), bytes(&types)), (before + 5, 4 * 4_096), "pages and registers");
    types.call(Anyone, "clear", "{\"page\":3}");
    assert_eq!(bytes(&types), 3 * 4_096);
    types.delete("a");
    types.world.pass(1);
    assert_eq!(types.world.state.counts()[0], 0);
}

#[test]
fn pages_are_whole_until_all_members_know_lines() {
    let mut types = Types::with_object(0);
    let added = |types: &mut Types, level, page| {
        types.world.apply(&Command::FeatureLevel(level));
        let before = snapshot(&mut types.world.state, 4_096).0.len();
        types.call(Anyone, "touch", &format!("{{\"page\":{page}}}"));
        snapshot(&mut types.world.state, 4_096).0.len() - before
    };
    let (by_whole, by_lines) = (added(&mut types, 9, 2), added(&mut types, 10, 3));
    assert!(by_whole > 4_096 && by_lines < 200, "{by_whole} and {by_lines}");
    // What was written before is as it was, and goes on.
    assert!(added(&mut types, 10, 2) < 10);
    let (bytes, digest) = snapshot(&mut types.world.state, 999);
    let mut other = load(&bytes, 700).expect("our own snapshot loads");
    assert_eq!(snapshot(&mut other, 999).1, digest);
}

#[test]
fn object_migrates_or_stays_as_it_was() {
    let mut types = Types::with_object(1);
    types.call(Anyone, "add", "{\"by\":4}");
    let wait = types.call(S(1), "wait", "");
    for module in ["two nomigrate", "three"] {
        types.put("hits", module);
    }
    let digest = types.world.state.describe(&types.object("a"));
    assert_eq!(types.migrate(version("two nomigrate")), "refused not-migrated");
    assert_eq!(
        (types.world.state.describe(&types.object("a")), types.value()),
        (digest, "{\"value\":4}".into())
    );
    assert_eq!(types.migrate(VersionHash([1; 32])), "refused no-such-type");
    assert!(types.migrate(version("three")).starts_with("{\"migrated\":true"));
    assert_eq!(types.value(), "{\"value\":1004}");
    assert!(types.migrate(version("three")).starts_with("{\"migrated\":false"));
    assert_eq!(types.delete_type("hits", version("module one")), "{\"deleted\":true}");
    assert_eq!(types.delete_type("hits", version("three")), "refused in-use");
    // Waiting calls stay.
    let mut call = types.new_call(Anyone, "wake", &format!("{{\"ticket\":{}}}", &wait[6..]));
    call.invocation.method = "wake".into();
    types.world.answer(&Command::Call(call));
    assert_eq!(types.world.ended().len(), 1);
}

#[test]
fn state_with_objects_of_users_goes_through_snapshots_and_residency_decides_nothing() {
    let mut types = Types::with_object(3);
    types.put("hits", "module two");
    types.put("hits", "module three nomigrate");
    let mut other = load(&snapshot(&mut types.world.state, 999).0, 700).expect("our own snapshot loads");
    other.set_engine(Arc::new(FakeEngine::new(false)));
    let mut random = Random::new(7);
    let mut digests = 0;
    for step in 0..600 {
        types.world.now += random.below(30) as i64;
        let command = random_command(&mut types, &mut random);
        let mut effects = Vec::new();
        other.apply(WallTime::of_ms(types.world.now), &command, &mut effects);
        assert_eq!(types.world.apply(&command), effects, "step {step}: {command:?}");
        assert_eq!(types.world.state.digest(), other.digest(), "step {step}: {command:?}");
        digests += 1;
        if random.chance(4) {
            let (bytes, digest) = snapshot(&mut other, 1 + random.below(9_000) as usize);
            assert_eq!(digest, types.world.state.digest());
            other = load(&bytes, 1 + random.below(9_000) as usize).expect("our own snapshot loads");
            other.set_engine(Arc::new(FakeEngine::new(random.chance(50))));
        }
    }
    assert!(types.engine.loads() < digests, "the one keeps memory, the other does not");
}

#[expect(clippy::too_many_lines, reason = "a list: an arm for each kind of command")]
fn random_command(types: &mut Types, random: &mut Random) -> Command {
    let who = [Anyone, S(1), S(2), S(3), K("k1"), K("k2")][random.below(6) as usize];
    let methods = [
        "add", "add", "touch", "clear", "wait", "wait", "wait", "give", "give", "deny", "wake", "timer",
        "untimer", "emit", "refuse", "trap", "bad",
    ];
    let method = methods[random.below(methods.len() as u64) as usize];
    let number = random.below(5);
    let ticket = types.world.position().saturating_sub(random.below(9));
    let args = format!(
        "{{\"by\":{number},\"page\":{number},\"id\":{},\"after\":{},\"wait_ms\":{},\"ticket\":{ticket}}}",
        if number == 4 { 666 } else { number },
        10 * number,
        40 * number,
    );
    let session = support::session(1 + random.below(3) as u8);
    match random.below(30) {
        0 => Command::ExpireSession { session, generation: 1 },
        1 => Command::OpenSession {
            caller: types.world.caller(Anyone),
            session: objects_state::NewSession {
                id: session,
                secret_hash: [session.0[0]; 32],
                generation: 1,
                ttl_ms: 10_000,
                name: None,
            },
        },
        2..=6 => Command::Tick,
        7 => Command::CancelTicket { caller: Some(types.world.caller(who)), ticket },
        8 => {
            let to = ["module one", "module two", "module three nomigrate"][random.below(3) as usize];
            let (caller, object) = (types.world.caller(who), types.object("a"));
            Command::Migrate { caller, object, incarnation: None, to: version(to) }
        }
        9 if random.chance(20) => {
            let (caller, object) = (types.world.caller(who), types.object("a"));
            Command::Delete { caller, object, incarnation: None }
        }
        9..=10 => {
            let (caller, object) = (types.world.caller(who), types.object("a"));
            Command::Create { caller, object, args: format!("{{\"start\":{number}}}").into() }
        }
        _ => Command::Call(types.new_call(who, method, &args)),
    }
}

#[test]
fn types_are_known_by_their_names_while_they_are_there_whatever_was_called_before() {
    let mut types = Types::with_object(0);
    // A call keeps what it has read of types.
    types.call(Anyone, "add", "");
    let named = |types: &Types, name| types.world.state.type_named(name).is_some();
    assert_eq!(["hits", "more"].map(|name| named(&types, name)), [true, false]);
    types.put("more", "module two");
    assert_eq!(["hits", "more"].map(|name| named(&types, name)), [true, true]);
    types.call(Anyone, "add", "");
    assert_eq!(types.delete_type("more", version("module two")), "{\"deleted\":true}");
    assert_eq!(["hits", "more"].map(|name| named(&types, name)), [true, false]);
    types.call(Anyone, "add", "");
    assert_eq!(["hits", "more"].map(|name| named(&types, name)), [true, false]);
}
