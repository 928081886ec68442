//! Runs that take long go on beside the commands: what may come for their object meanwhile, and what never changes by it.

mod support;

use std::sync::Arc;

use base::{Random, WallTime};
use objects_state::limits::{LONG_RUNS_MAX, PUT_OFF_MS, USER_RUNS_PER_SESSION_MAX};
use objects_state::{Begun, Call, Command, Effect, Effects, Outcome, State, TicketEnd, TicketState};
use support::engine::FakeEngine;
use support::users::{Types, version};
use support::{Anyone, K, S, load, session, shown, snapshot};

/// More than a slice, and less than a run may take.
const SLOW: &str = "{\"by\":5,\"fuel\":10000000}";
const RATE: &str = "refused rate";

/// With an object `a` at which a call is under way, whose ticket is given.
fn busy(module: &str, sessions: u8, who: support::Who) -> (Types, u64) {
    let mut types = Types::sliced(module, sessions);
    let ticket = waits(&types.call(who, "add", SLOW));
    assert_eq!(types.under_way(), 1);
    (types, ticket)
}

fn waits(answer: &str) -> u64 {
    answer.strip_prefix("waits ").unwrap_or_else(|| panic!("{answer}")).parse().expect("a ticket")
}

/// How tickets have ended by a command.
fn ends(effects: &Effects) -> Vec<String> {
    let end = |effect: &Effect| match effect {
        Effect::TicketEnded { ticket, outcome, .. } => Some(format!("{ticket} {}", shown(outcome))),
        _ => None,
    };
    effects.iter().filter_map(end).collect()
}

/// How a ticket's request was answered in the end.
fn outcome(types: &Types, ticket: u64) -> String {
    match types.world.state.ticket(ticket) {
        Some(TicketState::Ended { outcome, .. }) => shown(&outcome),
        other => format!("{other:?}"),
    }
}

#[test]
fn run_within_its_slice_is_answered_at_once() {
    let mut types = Types::sliced("module one", 0);
    assert_eq!(types.call(Anyone, "add", "{\"by\":2,\"fuel\":2000000}"), "{\"value\":2}");
    assert_eq!(types.under_way(), 0);
}

#[test]
fn group_of_which_a_member_knows_less_runs_everything_at_once() {
    let mut types = Types::with_object(0);
    types.raise_level();
    assert_eq!(types.call(Anyone, "add", SLOW), "{\"value\":5}");
    assert_eq!(types.call(Anyone, "burn", ""), "refused out-of-fuel");
}

#[test]
fn long_call_takes_effect_when_it_has_ended_and_sees_the_log_as_of_its_beginning() {
    let (mut types, ticket) = busy("module one", 0, K("k"));
    assert_eq!(ticket, types.world.position());
    assert_eq!(types.value(), "{\"value\":0}");
    let again = types.call(K("k"), "add", SLOW);
    assert_eq!(again, format!("waits {ticket}"), "a repeat joins it");
    types.finish();
    assert_eq!(types.world.ends(), [format!("{ticket} granted {{\"value\":5}}")]);
    assert_eq!((types.value(), types.under_way()), ("{\"value\":5}".into(), 0));
    assert_eq!(types.call(K("k"), "add", SLOW), "{\"value\":5}", "and once it has ended it gets the same");
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":6}");
}

#[test]
fn call_that_burns_all_its_fuel_changes_nothing() {
    let mut types = Types::sliced("module one", 0);
    types.call(Anyone, "add", "{\"by\":4}");
    let ticket = waits(&types.call(K("k"), "burn", ""));
    types.finish();
    assert_eq!(types.world.ends(), [format!("{ticket} granted refused out-of-fuel")]);
    assert_eq!(
        (types.value(), types.call(K("k"), "burn", "")),
        ("{\"value\":4}".into(), "refused out-of-fuel".into())
    );
    assert_eq!(types.user().failures, 0);
}

#[test]
fn finish_of_what_is_not_under_way_does_nothing() {
    let (mut types, _) = busy("module one", 0, K("k"));
    let run = types.world.state.long_runs().next().unwrap();
    let (space, Begun { position, number }) = (run.space, run.begun);
    let others = [
        (space + 1, run.begun),
        (space, Begun { position: position + 1, number }),
        (space, Begun { position, number: number + 1 }),
    ];
    for (space, begun) in others {
        types.world.apply(&Command::Finish { space, begun });
        assert_eq!((types.value(), types.under_way()), ("{\"value\":0}".into(), 1));
    }
    for _ in 0..3 {
        types.world.apply(&Command::Finish { space, begun: run.begun });
        assert_eq!(types.value(), "{\"value\":5}", "it takes effect once");
    }
    // The next run at the object is another.
    types.call(K("l"), "add", SLOW);
    types.world.apply(&Command::Finish { space, begun: run.begun });
    assert_eq!((types.value(), types.under_way()), ("{\"value\":5}".into(), 1));
}

#[test]
fn calls_have_their_turns_in_the_order_in_which_they_came() {
    let (mut types, first) = busy("module one", 0, K("k"));
    let second = waits(&types.call(K("l"), "add", "{\"by\":1}"));
    let third = waits(&types.call(K("m"), "add", SLOW));
    let fourth = waits(&types.call(K("n"), "trap", ""));
    assert_eq!(types.call(K("o"), "get", ""), "refused bad-argument");
    assert_eq!(types.call(K("p"), "nothing", ""), "refused no-such-method");
    types.finish();
    assert_eq!(types.world.ends(), [format!("{first} granted {{\"value\":5}}")]);
    assert_eq!(waits(&types.call(K("q"), "add", "")), types.world.position(), "others are before it");
    types.world.apply(&Command::Tick);
    assert_eq!(types.world.ends(), [format!("{second} granted {{\"value\":6}}")]);
    assert_eq!(types.under_way(), 1, "the third is long");
    types.finish();
    types.world.apply(&Command::Tick);
    assert_eq!(
        (outcome(&types, third), outcome(&types, fourth)),
        ("{\"value\":11}".into(), "refused guest-trap".into())
    );
    assert_eq!(types.value(), "{\"value\":12}");
    assert_eq!(types.call(Anyone, "add", ""), "{\"value\":13}", "it is free");
}

#[test]
fn long_call_may_park_under_its_own_ticket_and_is_woken() {
    let mut types = Types::sliced("module one", 0);
    let ticket = waits(&types.call(K("k"), "wait", "{\"fuel\":10000000}"));
    assert_eq!(types.call(Anyone, "give", "{\"value\":7}"), format!("waits {}", ticket + 1));
    types.finish();
    assert!(types.world.ends().is_empty() && types.world.state.ticket(ticket).is_some());
    types.world.apply(&Command::Tick);
    let woken = types.world.ends();
    assert!(woken.contains(&format!("{ticket} granted {{\"got\":7}}")), "{woken:?}");
    assert_eq!(types.call(K("k"), "wait", "{\"fuel\":10000000}"), "{\"got\":7}");
}

#[test]
fn wait_of_a_long_call_counts_from_its_arrival() {
    let mut types = Types::sliced("module one", 0);
    let ticket = waits(&types.call(K("k"), "wait", "{\"wait_ms\":1000,\"fuel\":10000000}"));
    types.world.now += 600;
    types.finish();
    types.world.pass(399);
    assert!(types.world.ends().is_empty());
    types.world.pass(1);
    assert_eq!(types.world.ends(), [format!("{ticket} timed out {{\"timed_out\":true}}")]);
    // One that only tries, and one whose time has passed meanwhile, end as soon as they would wait.
    for wait_ms in [0, 100] {
        let args = format!("{{\"wait_ms\":{wait_ms},\"fuel\":10000000}}");
        let ticket = waits(&types.call(Anyone, "wait", &args));
        types.world.now += 100;
        types.finish();
        types.world.apply(&Command::Tick);
        assert_eq!(types.world.ends(), [format!("{ticket} timed out {{\"timed_out\":true}}")]);
    }
}

#[test]
fn waiting_call_does_not_end_while_a_run_may_wake_it() {
    let mut types = Types::sliced("module one", 0);
    let ticket = waits(&types.call(K("w"), "wait", "{\"wait_ms\":1000}"));
    types.call(K("k"), "give", "{\"value\":7,\"fuel\":10000000}");
    types.world.pass(5_000);
    types.world.pass(5_000);
    assert!(types.world.ends().is_empty() && types.under_way() == 1);
    assert_eq!(types.world.cancel(ticket), RATE);
    types.finish();
    assert!(
        types.world.ends().contains(&format!("{ticket} granted {{\"got\":7}}")),
        "{:?}",
        types.world.ends()
    );
    types.finish_all();
    assert_eq!(outcome(&types, ticket), "{\"got\":7}", "it ends once");
    // One that the run does not wake ends behind it.
    let ticket = waits(&types.call(K("x"), "wait", "{\"wait_ms\":1000}"));
    types.call(K("l"), "add", SLOW);
    types.world.pass(5_000);
    types.finish();
    types.world.apply(&Command::Tick);
    assert_eq!(types.world.ends(), [format!("{ticket} timed out {{\"timed_out\":true}}")]);
}

#[test]
fn caller_that_has_gone_is_cancelled_behind_the_run() {
    let mut types = Types::sliced("module one", 0);
    let ticket = waits(&types.call(Anyone, "wait", ""));
    types.call(K("k"), "add", SLOW);
    for _ in 0..3 {
        types.world.apply(&Command::CancelTicket { caller: None, ticket });
    }
    assert!(types.world.ends().is_empty());
    types.finish();
    types.world.apply(&Command::Tick);
    assert_eq!(types.world.ends(), [format!("{ticket} cancelled {{\"timed_out\":true}}")]);
}

#[test]
fn call_that_has_not_taken_effect_can_be_called_off() {
    let (mut types, running) = busy("module one", 0, K("k"));
    let behind = waits(&types.call(K("l"), "add", "{\"by\":1}"));
    assert_eq!(types.world.cancel(behind), "{\"cancelled\":true}");
    assert_eq!(types.world.ends(), [format!("{behind} cancelled {{}}")]);
    assert_eq!(types.world.cancel(running), "{\"cancelled\":true}");
    assert_eq!((types.under_way(), types.value()), (0, "{\"value\":0}".into()));
    assert_eq!(types.call(Anyone, "add", "{\"by\":3}"), "{\"value\":3}", "nothing stands behind");
    // What stood behind one that is called off has its turn.
    let running = waits(&types.call(K("m"), "burn", ""));
    let behind = waits(&types.call(K("n"), "add", "{\"by\":1}"));
    types.world.apply(&Command::CancelTicket { caller: None, ticket: running });
    types.world.apply(&Command::Tick);
    assert_eq!(types.world.ends(), [format!("{behind} granted {{\"value\":4}}")]);
}

#[test]
fn session_that_dies_while_its_call_runs_leaves_nothing_of_it() {
    let mut types = Types::sliced("module one", 3);
    types.call(S(2), "add", "{\"by\":1}");
    let waiting = waits(&types.call(S(1), "wait", ""));
    let running = waits(&types.call(S(1), "add", SLOW));
    let behind = waits(&types.call(S(1), "add", "{\"by\":1}"));
    let other = waits(&types.call(S(3), "add", "{\"by\":2}"));
    types.world.expire(1);
    let all: Vec<_> =
        [waiting, running, behind].map(|id| format!("{id} ended refused session-expired")).into();
    assert_eq!((types.world.ends(), types.under_way()), (all, 0));
    types.finish_all();
    // The module has heard of the session's end (100) and of the waiting call's, behind the other call.
    assert_eq!((outcome(&types, other), types.value()), ("{\"value\":3}".into(), "{\"value\":103}".into()));
}

#[test]
fn run_that_could_wake_a_call_whose_session_has_died_is_begun_anew() {
    let mut types = Types::sliced("module one", 2);
    let dead = waits(&types.call(S(1), "wait", ""));
    let next = waits(&types.call(S(2), "wait", ""));
    let giver = waits(&types.call(K("k"), "give", "{\"value\":7,\"fuel\":10000000}"));
    let run = types.world.state.long_runs().next().unwrap();
    types.world.expire(1);
    assert_eq!(types.world.ends(), [format!("{dead} ended refused session-expired")]);
    types.world.apply(&Command::Finish { space: run.space, begun: run.begun });
    assert!(types.world.ends().is_empty(), "that run is not what is under way");
    types.finish();
    let granted = [format!("{next} granted {{\"got\":7}}"), format!("{giver} granted {{\"woken\":{next}}}")];
    assert_eq!(types.world.ends(), granted);
    types.finish_all();
    assert_eq!(types.value(), "{\"value\":100}", "the module has heard of the end");
}

#[test]
fn timers_and_ends_of_sessions_wait_for_their_turn_and_none_is_lost() {
    let mut types = Types::sliced("module one", 2);
    types.call(S(1), "add", "");
    types.call(Anyone, "timer", "{\"id\":1,\"after\":50}");
    types.call(Anyone, "timer", "{\"id\":2,\"after\":60}");
    types.call(K("k"), "add", SLOW);
    types.world.pass(55);
    types.world.expire(1);
    types.world.pass(55);
    assert_eq!(types.value(), "{\"value\":1}");
    types.finish();
    assert_eq!(types.value(), "{\"value\":6}");
    types.world.apply(&Command::Tick);
    assert_eq!(types.value(), "{\"value\":126}", "two timers and an end");
    types.world.pass(1_000);
    assert_eq!(
        (types.value(), types.world.state.next_deadline().is_some()),
        ("{\"value\":126}".into(), true)
    );
}

#[test]
fn run_sets_and_clears_timers_that_are_due_meanwhile() {
    let mut types = Types::sliced("module one", 0);
    for (call, value) in [("untimer", "{\"value\":0}"), ("timer", "{\"value\":10}")] {
        types.call(Anyone, "timer", "{\"id\":1,\"after\":50}");
        types.call(K(call), call, "{\"id\":1,\"after\":200,\"fuel\":10000000}");
        types.world.pass(100);
        types.finish();
        types.world.apply(&Command::Tick);
        assert_eq!(types.value(), "{\"value\":0}", "{call}: it is not due any more");
        types.world.pass(100);
        assert_eq!(types.value(), value, "{call}: it counts from the run's own time");
    }
}

#[test]
fn long_timers_ends_and_expiries_go_on_beside_the_commands() {
    let mut types = Types::sliced("longtimer longend longexpiry", 2);
    types.call(S(1), "add", "");
    let ticket = waits(&types.call(K("w"), "wait", "{\"wait_ms\":50}"));
    types.call(Anyone, "timer", "{\"id\":1,\"after\":20}");
    types.world.pass(20);
    assert_eq!((types.under_way(), types.value()), (1, "{\"value\":1}".into()));
    types.world.pass(30);
    types.world.expire(1);
    assert!(types.world.ends().is_empty());
    types.finish();
    assert_eq!(types.value(), "{\"value\":11}", "the timer");
    types.world.apply(&Command::Tick);
    assert_eq!((types.under_way(), types.world.ends().len()), (1, 0), "the end of the wait");
    types.finish();
    assert_eq!(types.world.ends(), [format!("{ticket} timed out {{\"timed_out\":true}}")]);
    types.finish_all();
    assert_eq!((types.value(), types.user().failures), ("{\"value\":111}".into(), 0));
}

#[test]
fn end_that_takes_too_long_ends_its_call_all_the_same() {
    let mut types = Types::sliced("longend endtrap", 0);
    let ticket = waits(&types.call(K("w"), "wait", "{\"wait_ms\":50}"));
    types.world.pass(50);
    assert_eq!(types.under_way(), 1);
    types.finish();
    assert_eq!(types.world.ends(), [format!("{ticket} timed out {{}}")]);
    assert_eq!(
        (types.user().failures, types.user().last_failure.unwrap()),
        (1, "out-of-fuel: the call used up its fuel".into())
    );
}

#[test]
fn what_cannot_wait_for_its_turn_is_refused_and_may_come_again_under_its_key() {
    let (mut types, _) = busy("module one", 0, K("k"));
    types.put("hits", "module two");
    let batch = |types: &mut Types| {
        let (caller, object) = (types.world.caller(K("b")), types.object("a"));
        let invocation = objects_state::Invocation { method: "add".into(), args: Vec::new() };
        let batch = objects_state::Batch {
            caller,
            object,
            incarnation: None,
            create: false,
            invocations: vec![invocation],
        };
        types.world.answer(&Command::Batch(batch))
    };
    assert_eq!([batch(&mut types), types.migrate(version("module two")), types.rollback(false)], [RATE; 3]);
    let tried = types.world.state.try_migration(&types.object("a"), None, version("module two"));
    assert_eq!(tried.unwrap_err().slug.name(), "rate", "it is answered what the real one would be");
    types.finish();
    assert!(batch(&mut types).contains("\"value\":6"));
    assert!(types.migrate(version("module two")).starts_with("{\"migrated\":true"));
    assert!(types.create("a", "").starts_with("{\"created\":false"));
}

#[test]
fn calls_of_a_batch_have_a_slice_each_and_ten_together() {
    let mut types = Types::sliced("module one", 0);
    let batch = |types: &mut Types, calls: &[(&str, &str)]| {
        let (caller, object) = (types.world.caller(Anyone), types.object("a"));
        let invocation = |(method, args): &(&str, &str)| objects_state::Invocation {
            method: (*method).into(),
            args: (*args).into(),
        };
        let invocations = calls.iter().map(invocation).collect();
        types.world.answer(&Command::Batch(objects_state::Batch {
            caller,
            object,
            incarnation: None,
            create: false,
            invocations,
        }))
    };
    let answer = batch(&mut types, &[("add", ""), ("add", SLOW), ("add", "")]);
    assert!(
        answer.contains("out-of-fuel") && answer.contains("make it alone") && answer.contains("\"value\":2")
    );
    let most = [("add", "{\"by\":1,\"fuel\":2000000}"); 20];
    let answer = batch(&mut types, &most);
    assert_eq!(answer.matches("\"value\"").count(), 11, "{answer}");
    assert_eq!(types.under_way(), 0);
}

#[test]
fn object_may_be_deleted_while_its_run_is_under_way() {
    let (mut types, running) = busy("module one", 1, K("k"));
    let behind = waits(&types.call(S(1), "add", ""));
    types.call(Anyone, "timer", "{\"id\":1,\"after\":50}");
    let run = types.world.state.long_runs().next().unwrap();
    assert_eq!(types.delete("a"), "{\"deleted\":true}");
    let ended: Vec<_> = types.world.ends().into_iter().take(2).collect();
    assert_eq!(ended, [running, behind].map(|id| format!("{id} ended refused object-deleted")));
    assert_eq!(types.under_way(), 0);
    types.world.apply(&Command::Finish { space: run.space, begun: run.begun });
    types.create("a", "");
    assert_eq!((types.value(), types.world.state.next_deadline().is_none()), ("{\"value\":0}".into(), false));
    types.finish_all();
}

#[test]
fn quarantine_calls_off_what_is_under_way_and_refuses_what_stands_behind() {
    let (mut types, running) = busy("module one", 1, K("k"));
    let behind = waits(&types.call(S(1), "add", ""));
    assert_eq!(types.quarantine(Some("it looks odd")), "{\"quarantined\":true}");
    assert_eq!(types.under_way(), 0);
    types.world.apply(&Command::Tick);
    assert_eq!(types.world.ends(), [running, behind].map(|id| format!("{id} granted refused quarantined")));
    assert_eq!(types.call(K("k"), "add", SLOW), "refused quarantined");
    types.quarantine(None);
    // Neither key nor number remembers a refusal that passes.
    let ticket = waits(&types.call(K("k"), "add", SLOW));
    types.finish();
    assert_eq!(types.world.ends(), [format!("{ticket} granted {{\"value\":5}}")]);
}

#[test]
fn timer_under_way_is_put_off_by_a_quarantine() {
    let mut types = Types::sliced("longtimer", 0);
    types.call(Anyone, "timer", "{\"id\":1,\"after\":20}");
    types.world.pass(20);
    types.call(K("k"), "timer", "{\"id\":2,\"after\":20}");
    assert_eq!(types.under_way(), 1);
    types.quarantine(Some("it looks odd"));
    types.world.apply(&Command::Tick);
    types.quarantine(None);
    types.world.pass(PUT_OFF_MS);
    types.finish_all();
    assert_eq!(types.value(), "{\"value\":10}");
}

#[test]
fn deadly_long_run_puts_its_object_into_quarantine() {
    let mut types = Types::sliced("module one", 0);
    let deadly = waits(&types.call(K("k"), "die", "{\"fuel\":10000000}"));
    let behind = waits(&types.call(K("l"), "add", ""));
    types.finish();
    assert_eq!(types.world.ends(), [format!("{deadly} granted refused quarantined")]);
    assert!(types.user().quarantined.unwrap().contains("died twice"));
    types.world.apply(&Command::Tick);
    assert_eq!(types.world.ends(), [format!("{behind} granted refused quarantined")]);
}

#[test]
fn object_is_created_beside_the_commands_and_calls_wait_for_that() {
    let mut types = Types::sliced("longinit", 1);
    let object = types.object("b");
    let create = |types: &mut Types, who, args: &str| {
        let command =
            Command::Create { caller: types.world.caller(who), object: object.clone(), args: args.into() };
        types.world.answer(&command)
    };
    let creator = waits(&create(&mut types, K("k"), "{\"start\":3}"));
    assert_eq!(create(&mut types, K("l"), "{\"start\":3}"), RATE, "it is not there yet");
    assert_eq!(create(&mut types, K("k"), "{\"start\":3}"), format!("waits {creator}"));
    assert_eq!(types.world.cancel(creator), RATE);
    let call = Call { object: object.clone(), ..types.new_call(K("m"), "add", "") };
    let call = waits(&types.world.answer(&Command::Call(call)));
    types.finish();
    assert!(types.world.ends()[0].contains("{\"created\":true"), "{:?}", types.world.ends());
    types.finish_all();
    assert_eq!(outcome(&types, call), "{\"value\":4}");
    assert!(create(&mut types, K("l"), "{\"start\":3}").starts_with("{\"created\":false"));
}

#[test]
fn object_that_refuses_its_creation_was_never_there() {
    let mut types = Types::sliced("longinit", 1);
    let before = types.world.state.counts();
    let object = types.object("b");
    let command = Command::Create {
        caller: types.world.caller(K("k")),
        object: object.clone(),
        args: b"{\"start\":-1}".to_vec(),
    };
    let creator = waits(&types.world.answer(&command));
    let call = Call { object: object.clone(), ..types.new_call(S(1), "add", "") };
    let call = waits(&types.world.answer(&Command::Call(call)));
    types.finish();
    let ended =
        [format!("{creator} granted refused guest-error"), format!("{call} ended refused object-deleted")];
    assert_eq!(types.world.ends(), ended);
    assert!(types.world.state.describe(&object).is_none());
    let after = types.world.state.counts();
    assert_eq!((before[0], before[2]), (after[0], after[2]), "objects and waiting calls");
}

#[test]
fn object_is_created_also_when_its_creators_session_has_died() {
    let mut types = Types::sliced("longinit", 1);
    let object = types.object("b");
    let command = Command::Create {
        caller: types.world.caller(S(1)),
        object: object.clone(),
        args: b"{\"start\":3}".to_vec(),
    };
    types.world.answer(&command);
    types.world.expire(1);
    types.finish_all();
    assert_eq!(types.world.state.query(&object, None, false, "get", b""), Ok("{\"value\":3}".into()));
}

#[test]
fn message_to_an_occupied_object_waits_for_its_turn_and_its_refusal_counts_for_its_sender() {
    let (mut types, _) = busy("module one", 0, K("k"));
    let object = types.object("b");
    let (caller, args) = (types.world.caller(Anyone), Vec::new());
    types.world.answer(&Command::Create { caller, object: object.clone(), args });
    let of_b = |types: &mut Types, method: &str, args: &str| {
        let call = Call { object: object.clone(), ..types.new_call(Anyone, method, args) };
        types.world.answer(&Command::Call(call))
    };
    // `ping` sends to `a`, and `a` to itself, until too many have led to one another.
    of_b(&mut types, "ping", "");
    of_b(&mut types, "ping", "");
    types.world.apply(&Command::Tick);
    assert_eq!(types.value(), "{\"value\":0}");
    let before = types.world.state.counts()[2];
    assert_eq!(before, 3, "the call and two messages");
    types.finish();
    types.finish_all();
    assert_eq!(types.value(), "{\"value\":67}", "each message has led to 31 more");
    assert_eq!(types.user().failures, 2);
    assert!(types.user().last_failure.unwrap().starts_with("message to hits/a: quota"));
    types.world.state.check().unwrap();
}

#[test]
fn long_calls_of_messages_are_carried_out_in_order() {
    let mut types = Types::sliced("module one", 0);
    let object = types.object("b");
    let (caller, args) = (types.world.caller(Anyone), Vec::new());
    types.world.answer(&Command::Create { caller, object: object.clone(), args });
    for _ in 0..3 {
        types.call(Anyone, "send", SLOW);
    }
    types.world.apply(&Command::Tick);
    assert_eq!((types.under_way(), types.world.state.counts()[2]), (1, 3));
    types.finish_all();
    assert_eq!(types.world.state.query(&object, None, false, "get", b""), Ok("{\"value\":15}".into()));
}

#[test]
fn waiting_calls_of_an_occupied_object_are_bounded() {
    let (mut types, _) = busy("module one", 1, Anyone);
    for _ in 0..USER_RUNS_PER_SESSION_MAX {
        waits(&types.call(S(1), "add", ""));
    }
    assert_eq!(types.call(S(1), "add", ""), "refused waiters-full");
    types.finish_all();
    assert_eq!(types.value(), "{\"value\":105}");
}

#[test]
fn runs_under_way_are_bounded_and_the_next_wait_for_room() {
    let mut types = Types::sliced("module one", 0);
    for number in 0..LONG_RUNS_MAX + 2 {
        let object = types.object(&format!("o{number}"));
        let (caller, args) = (types.world.caller(Anyone), Vec::new());
        types.world.answer(&Command::Create { caller, object: object.clone(), args });
        let call = Call { object, ..types.new_call(Anyone, "add", SLOW) };
        waits(&types.world.answer(&Command::Call(call)));
    }
    assert_eq!(types.under_way(), LONG_RUNS_MAX);
    assert!(types.world.state.next_deadline().is_none(), "a tick would do nothing");
    types.world.apply(&Command::Tick);
    types.finish();
    types.world.apply(&Command::Tick);
    assert_eq!(types.under_way(), LONG_RUNS_MAX);
    types.finish_all();
    for number in 0..LONG_RUNS_MAX + 2 {
        let object = types.object(&format!("o{number}"));
        assert_eq!(types.world.state.query(&object, None, false, "get", b""), Ok("{\"value\":5}".into()));
    }
}

#[test]
fn tick_gives_turns_within_bounds_and_goes_on_at_the_next() {
    let (mut types, _) = busy("module one", 0, Anyone);
    for _ in 0..120 {
        waits(&types.call(Anyone, "add", ""));
    }
    types.finish();
    types.world.apply(&Command::Tick);
    assert_eq!(types.value(), "{\"value\":55}", "fifty");
    types.world.apply(&Command::Tick);
    types.world.apply(&Command::Tick);
    assert_eq!(types.value(), "{\"value\":125}");
    types.call(Anyone, "burn", "");
    for _ in 0..30 {
        waits(&types.call(Anyone, "add", "{\"by\":1,\"fuel\":2000000}"));
    }
    types.finish();
    types.world.apply(&Command::Tick);
    assert_eq!(types.value(), "{\"value\":136}", "eleven slices");
    types.finish_all();
}

#[test]
fn snapshot_in_the_middle_goes_on_as_if_it_had_never_been_taken() {
    let mut types = Types::sliced("module one", 2);
    types.call(S(1), "wait", "{\"wait_ms\":100}");
    types.call(Anyone, "timer", "{\"id\":1,\"after\":50}");
    types.call(K("k"), "give", "{\"value\":1,\"fuel\":10000000}");
    types.call(K("l"), "add", SLOW);
    types.world.pass(200);
    types.world.expire(2);
    let (bytes, digest) = snapshot(&mut types.world.state, 64);
    let mut other = load(&bytes, 100).expect("it is sound");
    assert_eq!(other.digest(), digest);
    other.set_engine(Arc::new(FakeEngine::new(true)));
    let runs: Vec<_> = other.long_runs().collect();
    assert_eq!(runs, types.world.state.long_runs().collect::<Vec<_>>());
    runs.iter().for_each(|run| other.begin_long_run(run.space));
    for _ in 0..20 {
        let finish = types.world.state.long_runs().next();
        let command =
            finish.map_or(Command::Tick, |run| Command::Finish { space: run.space, begun: run.begun });
        let (mut effects, ours) = (Vec::new(), types.world.apply(&command));
        other.apply(WallTime::of_ms(types.world.now), &command, &mut effects);
        assert_eq!((effects, other.digest()), (ours, types.world.state.digest()), "{command:?}");
    }
    assert_eq!(types.under_way(), 0);
}

/// Commands of all kinds come in any order, with an engine that keeps memory, one that does not, and a third state that is put
/// in the place of a snapshot's from time to time: all agree always, and in the end nothing is left waiting.
#[test]
fn states_agree_whatever_comes_while_runs_are_under_way() {
    (0..60).for_each(|seed| states_agree(seed, &[]));
}

#[test]
fn states_agree_while_objects_go_from_version_to_version() {
    let versions = ["two longsave", "three longmigrate longtimer", "four longsave longmigrate nomigrate"];
    (100..160).for_each(|seed| states_agree(seed, &versions));
}

/// `versions`: further ones, to and from which objects go.
fn states_agree(seed: u64, versions: &[&str]) {
    let mut random = Random::new(seed);
    let module = ["module one", "longtimer longend", "longexpiry longend endgive", "longinit endtrap"]
        [random.below(4) as usize];
    let mut types = Types::sliced(module, 3);
    if !versions.is_empty() {
        types.world.apply(&Command::FeatureLevel(8));
    }
    versions.iter().for_each(|module| types.put("hits", module));
    let all = [&[module], versions].concat();
    let mut plain = reloaded(&mut types, false);
    let mut other = reloaded(&mut types, true);
    for step in 0..150 {
        let command = match versions.is_empty() || random.below(6) > 0 {
            true => any_command(&mut types, &mut random, step),
            false => any_move(&mut types, &mut random, &all),
        };
        if random.below(3) == 0 {
            types.world.now += random.below(60) as i64;
        }
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let effects = types.world.apply(&command);
        plain.apply(WallTime::of_ms(types.world.now), &command, &mut one);
        other.apply(WallTime::of_ms(types.world.now), &command, &mut two);
        assert!(one == effects && two == effects, "seed {seed} step {step}: {command:?}");
        let digests = [plain.digest(), other.digest()];
        assert_eq!(digests, [types.world.state.digest(); 2], "seed {seed} step {step}: {command:?}");
        if random.below(12) == 0 {
            other = reloaded(&mut types, true);
        }
    }
    (1..=3).for_each(|number| types.world.expire(number));
    types.world.pass(4_000_000);
    types.finish_all();
    assert_eq!(
        (types.under_way(), types.world.state.counts()[2]),
        (0, 0),
        "seed {seed}: calls wait for ever"
    );
}

/// An object goes to another version, or back, or a version is deleted.
fn any_move(types: &mut Types, random: &mut Random, versions: &[&str]) -> Command {
    let who = [Anyone, K(["m", "n"][random.below(2) as usize]), S(1 + random.below(3) as u8)];
    let caller = types.world.caller(who[random.below(3) as usize]);
    let object = types.object(["a", "b"][random.below(2) as usize]);
    let to = version(versions[random.below(versions.len() as u64) as usize]);
    let (incarnation, lose_commands) = (None, random.chance(50));
    match random.below(30) {
        0 => Command::TypeDelete { caller, name: "hits".into(), version: to },
        1..10 => Command::Rollback { caller, object, incarnation, lose_commands },
        _ => Command::Migrate { caller, object, incarnation, to },
    }
}

fn reloaded(types: &mut Types, keeps: bool) -> State {
    let (bytes, _) = snapshot(&mut types.world.state, 1_000);
    let mut state = load(&bytes, 1_000).expect("it is sound");
    state.set_engine(Arc::new(FakeEngine::new(keeps)));
    let runs: Vec<_> = state.long_runs().collect();
    runs.iter().for_each(|run| state.begin_long_run(run.space));
    state
}

#[expect(clippy::too_many_lines, reason = "a list: an arm for each kind")]
fn any_command(types: &mut Types, random: &mut Random, step: u64) -> Command {
    let runs: Vec<_> = types.world.state.long_runs().collect();
    let who = match random.below(4) {
        0 => Anyone,
        1 => K(["k", "l", "m"][random.below(3) as usize]),
        _ => S(1 + random.below(3) as u8),
    };
    let fuel = [1_000, 1_000, 10_000_000][random.below(3) as usize];
    let object = types.object(["a", "b"][random.below(2) as usize]);
    match random.below(24) {
        0..5 if !runs.is_empty() => {
            let run = runs[random.below(runs.len() as u64) as usize];
            Command::Finish { space: run.space, begun: run.begun }
        }
        0..7 => Command::Tick,
        7 => Command::CancelTicket {
            caller: None,
            ticket: types.world.position().saturating_sub(random.below(20)),
        },
        8 => {
            let caller = Some(types.world.caller(Anyone));
            Command::CancelTicket { caller, ticket: types.world.position().saturating_sub(random.below(20)) }
        }
        9 if step > 40 => {
            Command::ExpireSession { session: session(1 + random.below(3) as u8), generation: 1 }
        }
        10 if random.below(3) == 0 => {
            Command::Delete { caller: types.world.caller(who), object, incarnation: None }
        }
        10 | 11 => {
            Command::Create { caller: types.world.caller(who), object, args: b"{\"start\":1}".to_vec() }
        }
        12 if random.below(3) == 0 => {
            let reason = (random.below(2) == 0).then(|| "odd".into());
            Command::Quarantine { caller: types.world.caller(Anyone), object, incarnation: None, reason }
        }
        number => {
            let (method, args) = match number {
                13 | 14 => ("wait", format!("{{\"wait_ms\":{},\"fuel\":{fuel}}}", random.below(200))),
                15 | 16 => ("give", format!("{{\"value\":{step},\"fuel\":{fuel}}}")),
                17 => ("deny", format!("{{\"fuel\":{fuel}}}")),
                18 => (
                    "timer",
                    format!("{{\"id\":{},\"after\":{},\"fuel\":{fuel}}}", random.below(3), random.below(100)),
                ),
                19 => ("untimer", format!("{{\"id\":{},\"fuel\":{fuel}}}", random.below(3))),
                20 => ("burn", String::from("{}")),
                21 => (["send", "ping"][random.below(2) as usize], format!("{{\"fuel\":{fuel}}}")),
                22 => ("bad", format!("{{\"fuel\":{fuel}}}")),
                _ => ("add", format!("{{\"by\":1,\"fuel\":{fuel}}}")),
            };
            let call = types.new_call(who, method, &args);
            Command::Call(Call { object, wait_ms: None, ..call })
        }
    }
}

#[test]
fn copy_of_an_object_is_not_used_for_another_state_of_the_same_turns() {
    // Two timers that were due at one position have their turns in two ticks: of what the engine has kept behind the first,
    // nothing may be taken for what there is behind the second.
    let mut types = Types::sliced("longtimer", 0);
    types.call(Anyone, "timer", "{\"id\":1,\"after\":20}");
    types.call(Anyone, "timer", "{\"id\":2,\"after\":20}");
    types.call(K("k"), "add", SLOW);
    types.world.pass(20);
    types.finish();
    types.world.apply(&Command::Tick);
    let mut behind = reloaded(&mut types, true);
    let run = types.world.state.long_runs().next().unwrap();
    let (finish, mut effects) = (Command::Finish { space: run.space, begun: run.begun }, Vec::new());
    behind.apply(WallTime::of_ms(types.world.now), &finish, &mut effects);
    let object = types.object("a");
    let value = |state: &State| state.query(&object, None, false, "get", b"").expect("it is there");
    assert_eq!(value(&behind), "{\"value\":15}");
    types.finish_all();
    assert_eq!(value(&types.world.state), "{\"value\":25}");
    // The engine of the state that lags is given the other one.
    let (bytes, _) = snapshot(&mut types.world.state, 1_000);
    let mut last = load(&bytes, 1_000).unwrap();
    last.set_engine(Arc::clone(behind.engine()));
    assert_eq!(value(&last), "{\"value\":25}");
}

#[test]
fn effects_of_a_finish_are_those_of_a_wait_that_has_ended() {
    let (mut types, ticket) = busy("module one", 0, K("k"));
    let run = types.world.state.long_runs().next().unwrap();
    let effects = types.world.apply(&Command::Finish { space: run.space, begun: run.begun });
    assert_eq!(ends(&effects), [format!("{ticket} {{\"value\":5}}")]);
    let granted = Effect::TicketEnded {
        ticket,
        end: TicketEnd::Granted,
        outcome: Outcome::Done("{\"value\":5}".into()),
    };
    assert_eq!(effects, [granted]);
}
