//! Messages between objects: each is delivered once, in order, at a position of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use std::sync::Arc;

use objects_state::limits::MESSAGE_HOPS_MAX;
use objects_state::{ObjectName, State};
use support::engine::FakeEngine;
use support::users::Types;
use support::{Anyone, load, snapshot};

/// With objects `a` and `b`, in a group of which all members know what there is.
fn two() -> Types {
    let mut types = Types::new();
    types.raise_level();
    types.put("hits", "module one");
    for name in ["a", "b"] {
        assert!(types.create(name, "").starts_with("{\"created\":true"));
    }
    types
}

fn value(state: &State, object: &ObjectName) -> String {
    state.query(object, None, false, "get", b"").unwrap()
}

#[test]
fn message_is_a_call_of_the_other_object_at_the_next_tick_and_only_once() {
    let mut types = two();
    let b = types.object("b");
    types.call(Anyone, "send", "{\"by\":4}");
    types.call(Anyone, "send", "{\"by\":2}");
    assert_eq!(value(&types.world.state, &b), "{\"value\":0}");
    assert_eq!(types.world.state.next_deadline(), Some(types.world.state.stamp()), "a tick is due");
    // A snapshot in between carries them.
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    let mut other = load(&bytes, 100).unwrap();
    assert_eq!(other.digest(), digest);
    other.set_engine(Arc::new(FakeEngine::new(false)));
    types.world.state = other;
    types.world.pass(0);
    assert_eq!(value(&types.world.state, &b), "{\"value\":6}");
    types.world.pass(0);
    assert_eq!(value(&types.world.state, &b), "{\"value\":6}");
    assert_eq!(types.user().failures, 0);
}

#[test]
fn message_goes_to_objects_of_built_in_types_too() {
    let mut types = two();
    types.call(Anyone, "send_counter", "");
    types.world.pass(0);
    assert_eq!(types.world.query("counter/c", "get", ""), "{\"value\":3}");
}

#[test]
fn run_that_is_taken_back_sends_nothing() {
    let mut types = two();
    types.call(Anyone, "send_and_trap", "");
    assert_eq!(types.call(Anyone, "send_wrong", ""), "refused guest-trap");
    types.world.pass(0);
    assert_eq!(value(&types.world.state, &types.object("b")), "{\"value\":0}");
    assert_eq!(types.world.state.next_deadline(), None);
}

#[test]
fn message_that_is_refused_is_a_failure_of_its_sender() {
    let mut types = two();
    types.call(Anyone, "send_none", "");
    types.world.pass(0);
    let words = types.user().last_failure.unwrap();
    assert!(words.starts_with("message to hits/none: no-such-object"), "{words}");
    types.delete("b");
    types.call(Anyone, "send", "");
    types.world.pass(0);
    assert_eq!(types.user().failures, 2);
    // Nobody is left to hear of it.
    types.call(Anyone, "send", "");
    types.delete("a");
    types.world.pass(0);
    assert_eq!(types.world.state.counts()[0], 0);
}

#[test]
fn messages_that_lead_to_one_another_come_to_an_end() {
    let mut types = two();
    types.call(Anyone, "ping", "");
    for _ in 0..100 {
        types.world.pass(0);
    }
    assert_eq!(
        types.value(),
        format!("{{\"value\":{MESSAGE_HOPS_MAX}}}"),
        "the last one was refused as a whole"
    );
    assert_eq!(types.user().failures, 1);
    assert_eq!(types.world.state.next_deadline(), None);
}

#[test]
fn members_of_which_one_knows_less_send_nothing() {
    let mut types = Types::with_object(0);
    assert_eq!(types.call(Anyone, "send", ""), "refused guest-trap");
}
