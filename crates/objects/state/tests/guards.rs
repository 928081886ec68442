//! Types of users that harm nobody: verdicts on versions, quarantine, and the way back from a migration.

mod support;

use std::sync::Arc;

use objects_state::guest::VersionHash;
use objects_state::limits::{IMAGE_MS, PUT_OFF_MS};
use objects_state::{Batch, Command, Content, Invocation, ObjectName, Stage, State};
use support::engine::FakeEngine;
use support::users::{DESCRIPTION, Types, version};
use support::{Anyone, K, S, load, snapshot};

const QUARANTINED: &str = "refused quarantined";

/// With an object `a` of a module, in a group of which all members know what there is.
fn with_object(module: &str) -> Types {
    let mut types = Types::new();
    types.raise_level();
    types.put("hits", module);
    types.world.open(1, 1);
    assert!(types.create("a", "").starts_with("{\"created\":true"));
    types
}

fn stages(types: &Types) -> Vec<Stage> {
    types.world.state.open_versions().iter().map(|version| version.stage).collect()
}

#[test]
fn verdict_of_the_log_decides_whatever_this_engine_makes_of_a_version() {
    let mut types = Types::new();
    types.raise_level();
    types.upload(b"reject this");
    types.type_put("hits", b"reject this", DESCRIPTION);
    let changes = types.world.state.types_changes();
    types.verdict(version("reject this"), None);
    assert_eq!(stages(&types), [Stage::Ready], "the others' engines have it");
    assert!(types.world.state.types_changes() > changes);
    // This one refuses what it cannot run, and does not stop.
    assert_eq!(types.create("a", ""), QUARANTINED);
    types.upload(b"module one");
    types.type_put("hits", b"module one", DESCRIPTION);
    types.verdict(version("module one"), Some("rule 8"));
    assert_eq!(types.type_put("hits", b"module one", DESCRIPTION), "refused type-rejected");
    types.verdict(version("module one"), None);
    assert_eq!(stages(&types), [Stage::Ready], "what is rejected stays so");
}

#[test]
fn description_of_a_source_comes_from_the_log() {
    let mut types = Types::new();
    types.raise_level();
    types.upload(b"runner");
    let put = Command::TypePut {
        caller: types.world.caller(Anyone),
        name: "hits".into(),
        module: support::users::hash(b"runner"),
        source: Some(b"touch".to_vec()),
        description: "{}".into(),
    };
    types.world.answer(&put);
    let (kind, hash) = types.world.state.preparing()[0];
    let described = Some(br#"{"methods":{"add":{"kind":"command"}}}"#.to_vec());
    let verdict = objects_state::Verdict { rejected: None, described };
    types.world.apply(&Command::TypeVerdict { kind, version: hash, verdict });
    types.create("a", "");
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":1}");
    assert_eq!(
        types.call(Anyone, "touch", ""),
        "refused no-such-method",
        "the engine here says something else"
    );
}

#[test]
fn version_that_a_later_build_rejects_refuses_its_calls_and_keeps_their_state() {
    let mut types = with_object("fragile one");
    types.call(Anyone, "add", "{\"by\":4}");
    types.call(Anyone, "timer", "{\"id\":1,\"after\":5}");
    let starts_as = |types: &mut Types, later: bool| {
        types.engine.become_later(later);
        types.world.state.set_engine(types.engine.clone());
    };
    starts_as(&mut types, true);
    assert_eq!(types.call(Anyone, "add", ""), QUARANTINED);
    assert_eq!(
        (types.value(), types.migrate(version("fragile one"))),
        (
            QUARANTINED.into(),
            "{\"migrated\":false,\"from\":\"".to_owned()
                + &version("fragile one").to_string()
                + "\",\"version\":\""
                + &version("fragile one").to_string()
                + "\"}"
        )
    );
    types.world.pass(10);
    starts_as(&mut types, false);
    assert_eq!(types.value(), "{\"value\":4}");
    types.world.pass(PUT_OFF_MS);
    assert_eq!(types.value(), "{\"value\":14}", "the timer was put off, and not lost");
}

#[test]
fn version_is_closed_for_all_when_a_members_build_rejects_it_and_opened_again() {
    let mut types = with_object("module one");
    types.put("hits", "module two");
    types.call(Anyone, "add", "{\"by\":4}");
    types.verdict(version("module one"), Some("member 3: rule 7"));
    let info = types.world.state.user_types().next().unwrap();
    let closed = info.versions.iter().find(|found| found.hash == version("module one")).unwrap();
    assert_eq!((closed.state, closed.rejected.as_deref()), ("closed", Some("member 3: rule 7")));
    assert_eq!(info.current, Some(version("module two")), "new objects get another one");
    assert_eq!([types.call(Anyone, "add", ""), types.value()], [QUARANTINED; 2]);
    assert_eq!(types.type_put("hits", b"module one", DESCRIPTION), QUARANTINED);
    assert_eq!(types.delete_type("hits", version("module one")), "refused in-use");
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    assert_eq!(load(&bytes, 100).unwrap().digest(), digest);
    types.verdict(version("module one"), None);
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":5}");
    types.verdict(version("module two"), Some("rule 7"));
    assert_eq!(types.world.state.user_types().next().unwrap().current, Some(version("module one")));
}

#[test]
fn object_in_quarantine_runs_nothing_and_keeps_everything() {
    let mut types = with_object("module one");
    types.call(Anyone, "add", "{\"by\":4}");
    let wait = types.call(S(1), "wait", "");
    types.call(Anyone, "timer", "{\"id\":1,\"after\":5}");
    assert_eq!(types.quarantine(Some("it looks wrong")), "{\"quarantined\":true}");
    assert_eq!(types.user().quarantined.as_deref(), Some("it looks wrong"));
    assert_eq!(
        [types.call(Anyone, "add", ""), types.value(), types.rollback(true)],
        [QUARANTINED, QUARANTINED, "refused not-migrated"]
    );
    types.put("hits", "module two");
    assert_eq!(types.migrate(version("module two")), QUARANTINED);
    types.world.pass(10);
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    assert_eq!(load(&bytes, 100).unwrap().digest(), digest);
    assert_eq!(types.quarantine(None), "{\"quarantined\":false}");
    let position = types.world.position();
    assert_eq!(types.engine.forgiven().last().map(|(_, at)| *at), Some(position));
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":5}");
    assert!(types.call(Anyone, "give", "").starts_with(&format!("{{\"woken\":{}", &wait[6..])));
    types.world.pass(PUT_OFF_MS);
    assert_eq!(types.value(), "{\"value\":15}");
    assert_eq!(types.delete("a"), "{\"deleted\":true}");
    assert_eq!(types.quarantine(Some("")), "refused no-such-object");
}

#[test]
fn waits_in_quarantine_end_in_their_time_though_the_module_does_not_hear_of_it() {
    let mut types = with_object("module one");
    let wait = types.call(K("k"), "wait", "{\"wait_ms\":10}");
    types.quarantine(Some("x"));
    types.world.pass(10);
    assert_eq!(types.world.ends(), [format!("{} timed out {{}}", &wait[6..])]);
    assert_eq!(types.user().failures, 1);
}

#[test]
fn deadly_run_puts_its_object_into_quarantine_and_no_other() {
    let mut types = with_object("module one");
    types.create("b", "");
    types.call(Anyone, "add", "{\"by\":4}");
    assert_eq!(types.call(K("k"), "die", ""), QUARANTINED);
    assert_eq!(types.user().quarantined.as_deref(), Some("the process has died twice"));
    assert_eq!(types.call(K("k"), "die", ""), QUARANTINED, "a repeat is answered the same");
    assert_eq!(types.call(Anyone, "add", ""), QUARANTINED);
    let other = types.world.state.describe(&types.object("b")).and_then(|known| known.user).unwrap();
    assert_eq!(other.quarantined, None);
    types.quarantine(None);
    assert_eq!(types.value(), "{\"value\":4}");
    // A timer that is deadly, in a tick.
    types.call(Anyone, "timer", "{\"id\":667,\"after\":5}");
    types.world.pass(5);
    assert!(types.user().quarantined.is_some());
}

#[test]
fn calls_of_a_batch_behind_a_deadly_one_run_nothing() {
    let mut types = with_object("module one");
    let invocation = |method: &str| Invocation { method: method.into(), args: Vec::new() };
    let batch = Batch {
        caller: types.world.caller(Anyone),
        object: types.object("a"),
        incarnation: None,
        create: false,
        invocations: ["add", "die", "add"].map(invocation).to_vec(),
    };
    let results = types.world.answer(&Command::Batch(batch));
    assert_eq!(results.matches("quarantined").count(), 2, "{results}");
    types.quarantine(None);
    assert_eq!(types.value(), "{\"value\":1}");
}

#[test]
fn object_goes_back_to_its_memory_of_before_if_nothing_was_done_since() {
    let mut types = with_object("module one");
    types.call(Anyone, "add", "{\"by\":4}");
    types.call(Anyone, "touch", "{\"page\":3}");
    let memory = types.user().memory_bytes;
    types.put("hits", "module two");
    assert_eq!(types.rollback(false), "refused not-migrated", "it was not migrated");
    types.migrate(version("module two"));
    assert_eq!(
        (types.value(), types.user().before),
        ("{\"value\":1004}".into(), Some(version("module one")))
    );
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    let mut other = load(&bytes, 100).unwrap();
    assert_eq!(other.digest(), digest);
    other.set_engine(Arc::new(FakeEngine::new(false)));
    types.world.state = other;
    let back = types.rollback(false);
    assert!(back.contains("\"by\":\"memory\",\"lost\":0"), "{back}");
    assert_eq!((types.value(), types.user().memory_bytes), ("{\"value\":4}".into(), memory));
    assert_eq!((types.user().version, types.user().before), (version("module one"), None));
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":5}");
    assert_eq!(types.rollback(false), "refused not-migrated", "nothing is kept any more");
}

#[test]
fn object_goes_back_by_a_migration_or_loses_what_was_done_if_it_may() {
    for (first, by_migration) in [("module one", true), ("module one nomigrate", false)] {
        let mut types = with_object(first);
        types.call(Anyone, "add", "{\"by\":4}");
        types.put("hits", "module two");
        types.migrate(version("module two"));
        assert_eq!(types.call(Anyone, "add", ""), "{\"value\":1005}");
        types.call(Anyone, "trap", "");
        let back = types.rollback(false);
        if by_migration {
            assert!(back.contains("\"by\":\"migrate\""), "{back}");
            assert_eq!(
                (types.value(), types.user().before),
                ("{\"value\":2005}".into(), Some(version("module two")))
            );
            continue;
        }
        assert_eq!(back, "refused not-migrated");
        assert_eq!(types.value(), "{\"value\":1005}", "it stays as it was");
        let back = types.rollback(true);
        assert!(back.contains("\"by\":\"memory\",\"lost\":1"), "{back}");
        assert_eq!(types.value(), "{\"value\":4}");
    }
}

#[test]
fn memory_of_before_is_kept_for_a_day_and_goes_with_its_object() {
    let mut types = with_object("module one");
    types.put("hits", "module two");
    types.call(Anyone, "add", "");
    types.migrate(version("module two"));
    types.world.pass(IMAGE_MS - 1);
    assert!(types.user().before.is_some());
    types.world.pass(1);
    assert_eq!(types.user().before, None);
    types.migrate(version("module one"));
    types.migrate(version("module two"));
    assert!(types.user().before.is_some());
    types.delete("a");
    types.world.pass(IMAGE_MS);
    assert_eq!(types.world.state.counts()[0], 0);
}

#[test]
fn members_of_which_one_knows_less_keep_nothing_of_before() {
    let mut types = Types::with_object(0);
    types.put("hits", "module two");
    types.migrate(version("module two"));
    assert_eq!((types.user().before, types.rollback(false)), (None, "refused not-migrated".into()));
}

#[test]
fn version_of_before_that_was_deleted_cannot_be_gone_back_to() {
    let mut types = with_object("module one");
    types.put("hits", "module two");
    types.migrate(version("module two"));
    assert_eq!(types.delete_type("hits", version("module one")), "{\"deleted\":true}");
    assert_eq!(types.rollback(true), "refused no-such-type");
    assert_eq!(types.user().version, version("module two"));
}

#[test]
fn migration_that_is_tried_says_what_it_would_come_to_and_changes_nothing() {
    let mut types = with_object("module one");
    types.call(Anyone, "add", "{\"by\":4}");
    for module in ["two nomigrate", "three"] {
        types.put("hits", module);
    }
    let (digest, object) = (types.world.state.digest(), types.object("a"));
    let tried = |state: &State, to: VersionHash| match state.try_migration(&object, None, to) {
        Ok(result) => result,
        Err(problem) => format!("refused {}", problem.slug.name()),
    };
    assert_eq!(tried(&types.world.state, version("two nomigrate")), "refused not-migrated");
    assert_eq!(tried(&types.world.state, VersionHash([1; 32])), "refused no-such-type");
    let would = tried(&types.world.state, version("three"));
    assert!(would.starts_with("{\"would_migrate\":true") && would.contains("\"pages\":1"), "{would}");
    assert_eq!((types.world.state.digest(), types.value()), (digest, "{\"value\":4}".into()));
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":5}");
}

#[test]
fn migration_that_is_tried_is_answered_what_the_real_one_would_be() {
    let mut types = with_object("module one");
    types.put("hits", "two nomigrate");
    types.migrate(version("module one"));
    let (object, missing) = (types.object("a"), types.object("none"));
    let tried =
        |state: &State, object: &ObjectName, to: VersionHash| match state.try_migration(object, None, to) {
            Ok(result) => result,
            Err(problem) => format!("refused {}", problem.slug.name()),
        };
    // An object that is missing is said before a version that is.
    assert_eq!(tried(&types.world.state, &missing, VersionHash([1; 32])), "refused no-such-object");
    // To the version that it has it is not moved, so that need not take anything over, and is not run.
    types.quarantine(Some("looked into"));
    let same = tried(&types.world.state, &object, version("module one"));
    assert!(same.starts_with("{\"would_migrate\":false"), "{same}");
    assert!(types.migrate(version("module one")).starts_with("{\"migrated\":false"));
    assert_eq!(tried(&types.world.state, &object, version("two nomigrate")), "refused quarantined");
    assert_eq!(types.migrate(version("two nomigrate")), "refused quarantined");
}

#[test]
fn refusal_that_passes_is_kept_under_no_key_and_no_number() {
    let mut types = Types::with_object(1);
    types.quarantine(Some("looked into"));
    let calls = [K("k"), S(1)].map(|who| types.new_call(who, "add", "{\"by\":1}"));
    let ask_again = |types: &mut Types| {
        calls.clone().map(|mut call| {
            types.world.origins += 1;
            call.caller.origin.number = types.world.origins;
            types.world.answer(&Command::Call(call))
        })
    };
    assert_eq!(ask_again(&mut types), [QUARANTINED; 2]);
    types.quarantine(None);
    for _ in 0..2 {
        assert_eq!(ask_again(&mut types), ["{\"value\":1}", "{\"value\":2}"], "each once");
    }
}

impl Types {
    fn release(&mut self, name: &str, of: VersionHash) -> String {
        let caller = self.world.caller(Anyone);
        self.world.answer(&Command::TypeRelease { caller, name: name.into(), version: of })
    }

    fn stopped(&self) -> Vec<Option<String>> {
        let kind = self.world.state.type_named("hits").expect("the type is there");
        let info = self.world.state.user_type(kind).expect("it is there");
        info.versions.into_iter().map(|version| version.stopped).collect()
    }
}

const DEADLY: &str = "{\"start\":666}";

/// In a group whose versions create nothing any more once a creation has killed.
fn with_object_at(level: u32) -> Types {
    let mut types = with_object("module one");
    types.world.apply(&Command::FeatureLevel(level));
    types
}

#[test]
fn deadly_creation_stops_the_creations_of_its_version_until_it_is_released() {
    let mut types = with_object_at(9);
    assert_eq!(types.stopped(), [None]);
    assert_eq!(types.create("k", DEADLY), QUARANTINED);
    assert_eq!(types.stopped(), [Some("the process has died twice".into())]);
    // Nothing is run for what would have been created without harm, and what is there goes on.
    assert_eq!(types.create("c", ""), QUARANTINED);
    assert!(types.create("a", "").starts_with("{\"created\":false"), "it is there");
    assert_eq!(types.call(Anyone, "add", "{\"by\":4}"), "{\"value\":4}");
    assert_eq!(types.user().quarantined, None);
    assert_eq!(types.release("hits", version("another")), "refused no-such-type");
    assert_eq!(types.release("hats", version("module one")), "refused no-such-type");
    assert_eq!(types.release("hits", version("module one")), "{\"released\":true}");
    assert_eq!(types.release("hits", version("module one")), "{\"released\":false}");
    assert!(types.create("c", "").starts_with("{\"created\":true"));
    // A version that comes after it is another one.
    assert_eq!(types.create("k", DEADLY), QUARANTINED);
    types.put("hits", "module two");
    assert!(types.create("d", "").starts_with("{\"created\":true"));
    // With a version goes what is known of it.
    ["a", "c"].iter().for_each(|name| _ = types.delete(name));
    assert_eq!(types.delete_type("hits", version("module one")), "{\"deleted\":true}");
    assert_eq!(types.stopped(), [None]);
}

#[test]
fn deadly_creation_stops_nothing_before_all_members_know_of_it() {
    let mut types = with_object_at(8);
    assert_eq!(types.create("k", DEADLY), QUARANTINED);
    assert_eq!(types.stopped(), [None]);
    assert!(types.create("c", "").starts_with("{\"created\":true"));
}

#[test]
fn deadly_import_stops_creations_and_a_deadly_call_does_not() {
    let mut types = with_object_at(9);
    assert_eq!(types.call(Anyone, "die", ""), QUARANTINED);
    assert_eq!(types.stopped(), [None]);
    let import = |types: &mut Types, name: &str, state: &str| {
        let content = Content::State { description: b"{}".to_vec(), state: state.into() };
        let (object, caller) = (types.object(name), types.world.caller(Anyone));
        types.world.answer(&Command::Import { caller, object, content })
    };
    assert_eq!(import(&mut types, "k", "{\"value\":666}"), "refused not-migrated");
    assert!(types.stopped()[0].is_some());
    assert_eq!(import(&mut types, "c", "{\"value\":1}"), QUARANTINED);
    assert_eq!(types.create("c", ""), QUARANTINED);
}

#[test]
fn what_is_stopped_stays_so_in_a_snapshot() {
    let mut types = with_object_at(9);
    types.create("k", DEADLY);
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    let loaded = load(&bytes, 7).unwrap();
    assert_eq!(loaded.digest(), digest);
    let kind = loaded.type_named("hits").unwrap();
    assert!(loaded.user_type(kind).unwrap().versions[0].stopped.is_some());
}

#[test]
fn creation_that_is_under_way_is_refused_when_another_one_has_killed() {
    let mut types = Types::sliced("longinit", 1);
    types.world.apply(&Command::FeatureLevel(9));
    let create = |types: &mut Types, name: &'static str, args: &str| {
        let object = types.object(name);
        let command = Command::Create { caller: types.world.caller(K(name)), object, args: args.into() };
        types.world.answer(&command)
    };
    assert!(create(&mut types, "k", DEADLY).starts_with("waits"));
    assert!(create(&mut types, "c", "{\"start\":3}").starts_with("waits"));
    types.finish();
    assert!(types.world.ends()[0].ends_with("granted refused quarantined"), "{:?}", types.world.ends());
    assert!(types.stopped()[0].is_some());
    let runs = types.engine.runs();
    types.finish_all();
    assert_eq!(types.engine.runs(), runs, "nothing is run for it");
    assert!(types.world.state.describe(&types.object("c")).is_none());
    assert_eq!(create(&mut types, "c", "{\"start\":3}"), QUARANTINED, "no refusal is kept");
    types.release("hits", version("longinit"));
    assert!(create(&mut types, "c", "{\"start\":3}").starts_with("waits"));
    types.finish_all();
    assert!(types.world.state.describe(&types.object("c")).is_some());
}

/// What a version with a layout says of itself.
fn with_layout(layout: &str) -> String {
    DESCRIPTION.replacen('{', &format!("{{\"layout\":\"{layout}\","), 1)
}

impl Types {
    /// Another version, which names a layout.
    fn put_with_layout(&mut self, module: &str, layout: &str) -> VersionHash {
        let description = with_layout(layout);
        self.upload(module.as_bytes());
        let answer = self.type_put("hits", module.as_bytes(), &description);
        assert!(answer.contains("preparing"), "{answer}");
        self.ready();
        VersionHash::of(support::users::hash(module.as_bytes()), None, description.as_bytes())
    }

    fn tried(&self, to: VersionHash) -> String {
        match self.world.state.try_migration(&self.object("a"), None, to) {
            Ok(result) => result,
            Err(problem) => format!("refused {}", problem.slug.name()),
        }
    }
}

/// With an object of a version with a layout, which has the value 4 and another page.
fn with_layout_at(level: u32) -> (Types, VersionHash) {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(level));
    let one = types.put_with_layout("module one", "words");
    types.create("a", "");
    types.call(Anyone, "add", "{\"by\":4}");
    types.call(Anyone, "touch", "{\"page\":3}");
    (types, one)
}

#[test]
fn memory_goes_over_as_it_is_between_versions_of_one_layout() {
    let (mut types, one) = with_layout_at(9);
    let two = types.put_with_layout("module two", "words");
    let (runs, bytes) = (types.engine.runs(), types.user().memory_bytes);
    let tried = types.tried(two);
    assert!(tried.contains("\"would_migrate\":true") && tried.contains("\"by\":\"layout\""), "{tried}");
    assert_eq!(types.user().version, one);
    let moved = types.migrate(two);
    assert!(moved.contains("\"migrated\":true") && moved.ends_with("\"by\":\"layout\"}"), "{moved}");
    assert_eq!(types.engine.runs(), runs, "nothing is run for it");
    assert_eq!((types.user().version, types.value()), (two, "{\"value\":4}".into()));
    assert_eq!((types.user().memory_bytes, types.user().before), (bytes, Some(one)));
    // Back to the memory of then; and, behind a run, with the memory of now.
    let back = types.rollback(false);
    assert!(back.contains("\"by\":\"memory\""), "{back}");
    assert_eq!((types.user().version, types.value()), (one, "{\"value\":4}".into()));
    types.migrate(two);
    types.call(Anyone, "add", "{\"by\":3}");
    let back = types.rollback(false);
    assert!(back.contains("\"by\":\"layout\"") && back.contains("\"lost\":0"), "{back}");
    assert_eq!((types.user().version, types.value()), (one, "{\"value\":7}".into()));
    assert_eq!(types.user().before, Some(two));
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    assert_eq!(load(&bytes, 7).unwrap().digest(), digest);
}

#[test]
fn memory_goes_over_by_its_module_where_it_may_not_as_it_is() {
    let is_by_module = |types: &mut Types, to: VersionHash| {
        let tried = types.tried(to);
        assert!(tried.contains("\"state_bytes\"") && !tried.contains("layout"), "{tried}");
        let moved = types.migrate(to);
        assert!(moved.contains("\"migrated\":true") && !moved.contains("layout"), "{moved}");
        assert_eq!(types.value(), "{\"value\":1004}");
    };
    // While a member knows nothing of it.
    let (mut types, _) = with_layout_at(8);
    let two = types.put_with_layout("module two", "words");
    is_by_module(&mut types, two);
    let (mut types, _) = with_layout_at(9);
    let two = types.put_with_layout("module two", "other words");
    is_by_module(&mut types, two);
    // What the engine finds.
    let (mut types, _) = with_layout_at(9);
    let two = types.put_with_layout("module two elsewhere", "words");
    is_by_module(&mut types, two);
    // No layout is none that is shared.
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(9));
    types.put_with_layout("module one", "");
    types.create("a", "{\"start\":4}");
    let two = types.put_with_layout("module two", "");
    is_by_module(&mut types, two);
}

#[test]
fn memory_of_what_is_stopped_goes_nowhere() {
    let (mut types, one) = with_layout_at(9);
    let two = types.put_with_layout("module two", "words");
    types.quarantine(Some("x"));
    assert_eq!((types.tried(two), types.migrate(two)), (QUARANTINED.into(), QUARANTINED.into()));
    types.quarantine(None);
    assert_eq!(types.user().version, one);
    types.verdict(two, Some("a rule"));
    assert_eq!(types.migrate(two), QUARANTINED);
    assert_eq!((types.user().version, types.value()), (one, "{\"value\":4}".into()));
}
