//! Migrations that take long go on beside the commands: each ends at one position, whole or not at all, and nothing that comes
//! for its object meanwhile is lost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use std::sync::Arc;

use objects_state::guest::Engine as _;
use objects_state::limits::IMAGE_MS;
use objects_state::{AccessChange, Authority, Command, Outcome, Principal, Slug, State, TicketState, Tried};
use support::engine::FakeEngine;
use support::users::{DESCRIPTION, Types, version};
use support::{Anyone, K, S, load, shown, snapshot};

const RATE: &str = "refused rate";
const QUICK: &str = "module two";
const SAVES_LONG: &str = "one longsave";
const TAKES_LONG: &str = "two longmigrate";

/// With an object `a` of the first module, which has the value 4, and a second version.
fn types(first: &str, second: &str, sessions: u8) -> Types {
    let mut types = Types::sliced(first, sessions);
    types.world.apply(&Command::FeatureLevel(8));
    types.put("hits", second);
    types.call(Anyone, "add", "{\"by\":4}");
    types
}

fn waits(answer: &str) -> u64 {
    answer.strip_prefix("waits ").unwrap_or_else(|| panic!("{answer}")).parse().expect("a ticket")
}

fn is_on(types: &Types, module: &str) -> bool {
    types.user().version == version(module)
}

fn migrated(from: &str, to: &str) -> String {
    format!("{{\"migrated\":true,\"from\":\"{}\",\"version\":\"{}\"}}", version(from), version(to))
}

/// How a request was answered in the end, which was made under a key.
fn outcome(types: &Types, ticket: u64) -> String {
    match types.world.state.ticket(ticket) {
        Some(TicketState::Ended { outcome, .. }) => shown(&outcome),
        other => format!("{other:?}"),
    }
}

/// A migration under a key: its ticket.
fn migrate_by(types: &mut Types, who: support::Who, to: &str) -> String {
    let (object, caller) = (types.object("a"), types.world.caller(who));
    types.world.answer(&Command::Migrate { caller, object, incarnation: None, to: version(to) })
}

fn rollback_by(types: &mut Types, who: support::Who, lose_commands: bool) -> String {
    let (object, caller) = (types.object("a"), types.world.caller(who));
    types.world.answer(&Command::Rollback { caller, object, incarnation: None, lose_commands })
}

#[test]
fn migration_within_its_slices_is_answered_at_once() {
    let mut types = types("module one", QUICK, 0);
    assert_eq!(types.migrate(version(QUICK)), migrated("module one", QUICK));
    assert_eq!((types.value().as_str(), types.under_way()), ("{\"value\":1004}", 0));
}

#[test]
fn group_of_which_a_member_knows_less_migrates_at_once() {
    let mut types = Types::sliced(SAVES_LONG, 0);
    types.put("hits", TAKES_LONG);
    assert_eq!(types.migrate(version(TAKES_LONG)), migrated(SAVES_LONG, TAKES_LONG));
    assert_eq!((types.value().as_str(), types.under_way()), ("{\"value\":1000}", 0));
}

#[test]
fn each_long_run_of_a_migration_goes_on_beside_the_commands() {
    for (first, second, runs) in
        [(SAVES_LONG, QUICK, 1), ("module one", TAKES_LONG, 1), (SAVES_LONG, TAKES_LONG, 2)]
    {
        let mut types = types(first, second, 0);
        let ticket = waits(&migrate_by(&mut types, K("m"), second));
        for run in 0..runs {
            assert_eq!((types.under_way(), types.user().is_busy), (1, true), "run {run} of {second}");
            // Queries see the object as it was, another migration is refused, other objects are not concerned.
            assert!(is_on(&types, first));
            assert_eq!(types.value(), "{\"value\":4}");
            assert_eq!((types.migrate(version(second)), types.rollback(true)), (RATE.into(), RATE.into()));
            assert_eq!(migrate_by(&mut types, K("m"), second), format!("waits {ticket}"), "a copy joins it");
            types.finish();
        }
        assert_eq!((types.under_way(), types.user().is_busy), (0, false));
        assert_eq!(outcome(&types, ticket), migrated(first, second));
        assert!(is_on(&types, second));
        assert_eq!(types.value(), "{\"value\":1004}");
        // The way back is that to the memory of before.
        assert!(types.rollback(false).contains("\"by\":\"memory\""));
        assert_eq!(types.value(), "{\"value\":4}");
    }
}

#[test]
fn what_comes_meanwhile_has_its_turn_on_the_new_version_in_order() {
    let mut types = types(SAVES_LONG, TAKES_LONG, 2);
    let waiting = waits(&types.call(S(1), "wait", "{}"));
    types.call(Anyone, "timer", "{\"id\":1,\"after\":50}");
    let moving = waits(&migrate_by(&mut types, S(2), TAKES_LONG));
    let added = waits(&types.call(K("a"), "add", "{\"by\":1}"));
    types.world.pass(60);
    assert_eq!(types.value(), "{\"value\":4}", "the timer stands behind");
    types.finish();
    assert_eq!(types.value(), "{\"value\":4}");
    types.finish();
    assert_eq!(types.value(), "{\"value\":1004}");
    types.finish_all();
    assert_eq!(types.value(), "{\"value\":1015}");
    assert_eq!(outcome(&types, added), "{\"value\":1005}", "the call came before the timer");
    assert_eq!(outcome(&types, moving), migrated(SAVES_LONG, TAKES_LONG));
    // Who waited waits still.
    let state = types.world.state.ticket(waiting);
    assert!(matches!(state, Some(TicketState::Waits { .. })), "{state:?}");
}

#[test]
fn migration_that_fails_leaves_the_object_as_it_was() {
    for (first, second, refusal) in [
        (SAVES_LONG, "two nomigrate", "refused not-migrated"),
        ("module one", "two longmigrate nomigrate", "refused not-migrated"),
        ("one longsave nosave", QUICK, "refused guest-trap"),
    ] {
        let mut types = types(first, second, 0);
        let ticket = waits(&migrate_by(&mut types, K("m"), second));
        types.call(Anyone, "add", "{\"by\":1}");
        types.finish();
        assert_eq!(outcome(&types, ticket), refusal);
        types.finish_all();
        assert!(is_on(&types, first));
        assert_eq!((types.value().as_str(), types.user().before), ("{\"value\":5}", None));
    }
}

#[test]
fn what_save_writes_and_asks_for_is_not_kept() {
    let mut types = types(SAVES_LONG, TAKES_LONG, 0);
    let memory = |types: &Types| (types.user().memory_bytes, types.user().failures);
    let before = memory(&types);
    migrate_by(&mut types, K("m"), TAKES_LONG);
    let records = types.world.state.records();
    types.finish();
    assert_eq!((memory(&types), types.world.state.records()), (before, records));
}

#[test]
fn migration_that_is_called_off_has_no_effect() {
    for stage in 0..2 {
        for way in 0..3 {
            let mut types = types(SAVES_LONG, TAKES_LONG, 1);
            let who = [Anyone, K("m"), S(1)][way];
            let ticket = waits(&migrate_by(&mut types, who, TAKES_LONG));
            let added = waits(&types.call(K("a"), "add", "{\"by\":1}"));
            (0..stage).for_each(|_| types.finish());
            match who {
                S(_) => types.world.expire(1),
                _ => assert_eq!(types.world.cancel(ticket), "{\"cancelled\":true}"),
            }
            assert_eq!(types.under_way(), 0, "stage {stage} way {way}");
            types.finish_all();
            assert_eq!(outcome(&types, added), "{\"value\":5}");
            assert!(is_on(&types, SAVES_LONG) && !types.user().is_busy);
        }
    }
}

#[test]
fn object_that_is_deleted_or_in_quarantine_goes_nowhere() {
    for stage in 0..2 {
        let mut types = types(SAVES_LONG, TAKES_LONG, 0);
        let ticket = waits(&migrate_by(&mut types, K("m"), TAKES_LONG));
        (0..stage).for_each(|_| types.finish());
        types.quarantine(Some("odd"));
        types.finish_all();
        assert_eq!(outcome(&types, ticket), "None", "what passes is not kept");
        types.quarantine(None);
        assert!(is_on(&types, SAVES_LONG));
        let ticket = waits(&migrate_by(&mut types, K("n"), TAKES_LONG));
        (0..stage).for_each(|_| types.finish());
        types.delete("a");
        assert_eq!((types.under_way(), outcome(&types, ticket).as_str()), (0, "refused object-deleted"));
        assert_eq!(types.world.state.counts()[0], 0);
    }
}

#[test]
fn version_that_goes_meanwhile_is_gone_to_by_nobody() {
    for stage in 0..2 {
        let mut types = types(SAVES_LONG, TAKES_LONG, 0);
        let ticket = waits(&migrate_by(&mut types, K("m"), TAKES_LONG));
        (0..stage).for_each(|_| types.finish());
        assert!(!types.delete_type("hits", version(TAKES_LONG)).contains("refused"));
        types.finish_all();
        assert_eq!(outcome(&types, ticket), "refused no-such-type", "stage {stage}");
        assert_eq!((is_on(&types, SAVES_LONG), types.value().as_str()), (true, "{\"value\":4}"));
    }
}

#[test]
fn way_back_that_takes_long_goes_on_beside_the_commands() {
    // Both versions take long to save, and the first to take over.
    let mut types = types("one longmigrate longsave", "two longsave", 0);
    migrate_by(&mut types, K("m"), "two longsave");
    types.finish_all();
    types.call(Anyone, "add", "{\"by\":1}");
    let ticket = waits(&rollback_by(&mut types, K("r"), false));
    types.finish();
    assert!(is_on(&types, "two longsave"));
    types.finish();
    assert!(outcome(&types, ticket).contains("\"by\":\"migrate\",\"lost\":0"), "{}", outcome(&types, ticket));
    assert_eq!(types.value(), "{\"value\":2005}");
}

#[test]
fn way_back_that_is_refused_loses_commands_only_if_it_may() {
    for lose in [false, true] {
        let mut types = types("one longmigrate nomigrate", QUICK, 0);
        types.migrate(version(QUICK));
        types.call(Anyone, "add", "{\"by\":1}");
        let ticket = waits(&rollback_by(&mut types, K("r"), lose));
        types.finish();
        let (said, value) = match lose {
            true => (outcome(&types, ticket).contains("\"by\":\"memory\",\"lost\":1"), "{\"value\":4}"),
            false => (outcome(&types, ticket) == "refused not-migrated", "{\"value\":1005}"),
        };
        assert!(said, "{}", outcome(&types, ticket));
        assert_eq!(types.value(), value);
    }
}

#[test]
fn way_back_whose_day_passes_meanwhile_leads_nowhere() {
    let mut types = types("one longmigrate", QUICK, 0);
    types.migrate(version(QUICK));
    types.call(Anyone, "add", "{\"by\":1}");
    let ticket = waits(&rollback_by(&mut types, K("r"), true));
    types.world.pass(IMAGE_MS);
    types.finish();
    assert_eq!(outcome(&types, ticket), "refused not-migrated");
    assert_eq!((is_on(&types, QUICK), types.value().as_str()), (true, "{\"value\":1005}"));
}

#[test]
fn migration_whose_principal_loses_the_right_to_it_ends_forbidden() {
    let mut types = types(SAVES_LONG, TAKES_LONG, 0);
    let admin = |types: &mut Types, change: AccessChange| {
        let caller = types.world.caller(Anyone);
        let principal = Principal { authority: Authority::Root, ..Principal::from("root") };
        let caller = objects_state::Caller { principal, ..caller };
        let said = types.world.answer(&Command::Access { caller, change });
        assert!(!said.starts_with("refused"), "{said}");
    };
    let grants = |text: &str| vec![text.parse::<objects_state::Grant>().expect("a right")];
    let token = AccessChange::CreateToken {
        name: "boss".into(),
        hash: [1; 32],
        grants: grants("*:admin"),
        lives_ms: None,
    };
    admin(&mut types, token);
    admin(&mut types, AccessChange::Allow { principal: "ann".into(), grants: grants("hits/a:admin") });
    admin(&mut types, AccessChange::Set { closed: true });
    let ticket = waits(&migrate_by(&mut types, K("m"), TAKES_LONG));
    // The right to call is not that to migrate.
    admin(&mut types, AccessChange::Deny { principal: "ann".into(), grants: grants("hits/a:admin") });
    admin(&mut types, AccessChange::Allow { principal: "ann".into(), grants: grants("hits/a:call") });
    assert_eq!(outcome(&types, ticket), "refused forbidden");
    types.finish_all();
    assert!(is_on(&types, SAVES_LONG));
}

#[test]
fn dry_run_that_takes_long_goes_on_in_the_background_and_says_the_same() {
    for (first, second, runs) in [
        ("module one", QUICK, 0),
        (SAVES_LONG, QUICK, 1),
        ("module one", TAKES_LONG, 1),
        (SAVES_LONG, TAKES_LONG, 2),
    ] {
        let types = types(first, second, 0);
        let (state, engine, a) = (&types.world.state, &*types.engine, types.object("a"));
        let digest = state.digest();
        let at_once = state.try_migration(&a, None, version(second)).unwrap();
        assert!(at_once.contains("\"would_migrate\":true") && at_once.ends_with("\"pages\":1}"), "{at_once}");
        let mut tried = state.begin_trial(&a, None, version(second)).unwrap();
        for run in 0..runs {
            let Tried::UnderWay(number, trial) = tried else { panic!("run {run} of {second}: {tried:?}") };
            assert_eq!(trial.position(), state.position());
            tried = trial.go_on(engine, engine.take_query(number).unwrap()).unwrap();
        }
        let Tried::Done(said) = tried else { panic!("{tried:?}") };
        assert_eq!((said, state.digest()), (at_once, digest));
        assert_eq!(types.value(), "{\"value\":4}");
    }
}

#[test]
fn dry_run_that_takes_long_is_refused_as_the_migration_would_be() {
    for (first, second, slug) in [
        ("one longsave nosave", QUICK, Slug::GuestTrap),
        (SAVES_LONG, "two nomigrate", Slug::NotMigrated),
        ("module one", "two longmigrate nomigrate", Slug::NotMigrated),
    ] {
        let types = types(first, second, 0);
        let (state, engine, a) = (&types.world.state, &*types.engine, types.object("a"));
        let Tried::UnderWay(number, trial) = state.begin_trial(&a, None, version(second)).unwrap() else {
            panic!("{second}")
        };
        let refused = trial.go_on(engine, engine.take_query(number).unwrap()).unwrap_err();
        assert_eq!(refused.slug, slug, "{second}");
        assert_eq!(state.try_migration(&a, None, version(second)).unwrap_err().slug, slug);
    }
}

#[test]
fn snapshot_in_the_middle_of_a_migration_goes_on_as_if_it_had_never_been_taken() {
    for stage in 0..2 {
        let mut types = types(SAVES_LONG, TAKES_LONG, 1);
        types.call(S(1), "wait", "{}");
        let ticket = waits(&migrate_by(&mut types, K("m"), TAKES_LONG));
        types.call(K("a"), "add", "{\"by\":1}");
        (0..stage).for_each(|_| types.finish());
        let mut others = [reloaded(&mut types, true, true), reloaded(&mut types, false, false)];
        while types.under_way() > 0 || types.user().is_busy {
            let command = match types.world.state.long_runs().next() {
                Some(run) => Command::Finish { space: run.space, begun: run.begun },
                None => Command::Tick,
            };
            types.world.apply(&command);
            for other in &mut others {
                other.apply(base::WallTime::of_ms(types.world.now), &command, &mut Vec::new());
                assert_eq!(other.digest(), types.world.state.digest(), "stage {stage}: {command:?}");
            }
        }
        assert_eq!(outcome(&types, ticket), migrated(SAVES_LONG, TAKES_LONG));
        assert!(matches!(
            others[0].ticket(ticket),
            Some(TicketState::Ended { outcome: Outcome::Done(_), .. })
        ));
    }
}

/// The state by way of its snapshot. `begins`: what is under way is begun at once, and not only at its end.
fn reloaded(types: &mut Types, keeps: bool, begins: bool) -> State {
    let (bytes, _) = snapshot(&mut types.world.state, 1_000);
    let mut state = load(&bytes, 1_000).expect("it is sound");
    state.set_engine(Arc::new(FakeEngine::new(keeps)));
    let runs: Vec<_> = state.long_runs().filter(|_| begins).collect();
    runs.iter().for_each(|run| state.begin_long_run(run.space));
    state
}

#[test]
fn descriptions_of_old_versions_are_those_of_the_migrations_beginning() {
    // The old version stays as long as its object has it, so its description does.
    let mut types = types(SAVES_LONG, TAKES_LONG, 0);
    migrate_by(&mut types, K("m"), TAKES_LONG);
    types.finish();
    assert_eq!(types.delete_type("hits", version(SAVES_LONG)), "refused in-use");
    types.finish();
    assert!(is_on(&types, TAKES_LONG) && DESCRIPTION.contains("hits"));
    assert!(!types.delete_type("hits", version(SAVES_LONG)).contains("refused"));
}
