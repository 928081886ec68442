//! Limits are refused before any effect.

mod support;

use objects_state::limits::{
    DEADLINES_PER_TICK, HOLDINGS_PER_SESSION_MAX, RATE_KEYS_MAX, TICKETS_PER_OBJECT_MAX,
    TICKETS_PER_SESSION_MAX, VALUE_BYTES_MAX,
};
use objects_state::{Command, State};
use support::{Anyone, S, World};

use base::WallTime;

/// Applies without the check of all records, which would cost their number at each command.
fn quietly(world: &mut World, state: &mut State, path: &str, args: &str, who: support::Who) -> String {
    let call = world.new_call(who, path, "await", args);
    let mut effects = Vec::new();
    state.apply(WallTime::of_ms(world.now), &Command::Call(call), &mut effects);
    match effects.first() {
        Some(objects_state::Effect::Answered { outcome, .. }) => support::shown(outcome),
        Some(objects_state::Effect::Parked { .. }) => String::from("waits"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn waiters_of_an_object_are_bounded_and_end_over_several_ticks() {
    let (mut world, mut state) = (World::new(), State::new());
    for _ in 0..TICKETS_PER_OBJECT_MAX {
        assert_eq!(quietly(&mut world, &mut state, "latch/l", "{\"wait_ms\":5}", Anyone), "waits");
    }
    assert_eq!(quietly(&mut world, &mut state, "latch/l", "", Anyone), "refused waiters-full");
    assert_eq!(quietly(&mut world, &mut state, "latch/m", "", Anyone), "waits", "another object has room");
    assert_eq!(state.check(), Ok(()));
    let mut ended = 0;
    for ticks in 1.. {
        let mut effects = Vec::new();
        state.apply(WallTime::of_ms(world.now + 5), &Command::Tick, &mut effects);
        assert!(effects.len() <= DEADLINES_PER_TICK);
        ended += effects.len();
        if ended == TICKETS_PER_OBJECT_MAX as usize {
            assert_eq!(ticks, ended / DEADLINES_PER_TICK);
            break;
        }
    }
    assert_eq!(state.check(), Ok(()));
}

#[test]
fn waiters_of_a_session_are_bounded() {
    let mut world = World::with_sessions(1);
    let mut state = core::mem::take(&mut world.state);
    let mut last = String::new();
    for number in 0..=TICKETS_PER_SESSION_MAX {
        let mut call = world.new_call(S(1), &format!("latch/l{}", number % 7), "await", "");
        let objects_state::Identity::Session { acknowledged, request, .. } = &mut call.caller.identity else {
            panic!("a session");
        };
        // Also replies that have not come may be acknowledged: their tickets go on.
        *acknowledged = *request - 1;
        let mut effects = Vec::new();
        state.apply(WallTime::of_ms(world.now), &Command::Call(call), &mut effects);
        last = format!("{effects:?}");
    }
    assert!(last.contains("WaitersFull"), "{last}");
    assert_eq!(state.check(), Ok(()));
    let before = state.counts()[2];
    let expire = Command::ExpireSession { session: support::session(1), generation: 1 };
    assert!(state.cost(&expire) > 1_000 * u64::from(TICKETS_PER_SESSION_MAX));
    state.apply(WallTime::of_ms(world.now), &expire, &mut Vec::new());
    assert_eq!((before, state.counts()), (u64::from(TICKETS_PER_SESSION_MAX), [0; 4]));
}

#[test]
fn session_holds_no_more_than_goes_at_one_position() {
    let mut world = World::with_sessions(1);
    let mut state = core::mem::take(&mut world.state);
    let mut effects = Vec::new();
    for number in 0..=HOLDINGS_PER_SESSION_MAX {
        effects.clear();
        let mut call = world.new_call(S(1), &format!("lock/l{number}"), "acquire", "");
        if let objects_state::Identity::Session { acknowledged, request, .. } = &mut call.caller.identity {
            *acknowledged = *request - 1;
        }
        state.apply(WallTime::of_ms(world.now), &Command::Call(call), &mut effects);
    }
    assert!(format!("{effects:?}").contains("Quota"), "{effects:?}");
    effects.clear();
    let expire = Command::ExpireSession { session: support::session(1), generation: 1 };
    state.apply(WallTime::of_ms(world.now), &expire, &mut effects);
    assert_eq!(
        effects.len(),
        HOLDINGS_PER_SESSION_MAX as usize + 1,
        "each lock is lost, and the session ends"
    );
    assert_eq!((state.counts(), state.check()), ([0; 4], Ok(())));
}

#[test]
fn keys_of_a_rate_limiter_are_bounded() {
    let mut world = World::new();
    let args = format!("{{\"key_max\":{}}}", RATE_KEYS_MAX + 1);
    let (caller, object) = (world.caller(Anyone), support::object("ratelimiter/r"));
    let mut effects = Vec::new();
    let create = Command::Create { caller, object, args: args.into() };
    world.state.apply(WallTime::of_ms(1), &create, &mut effects);
    assert!(format!("{effects:?}").contains("BadArgument"), "{effects:?}");
}

#[test]
fn values_are_bounded() {
    let mut world = World::new();
    let value = |bytes: usize| format!("{{\"value\":\"{}\"}}", "x".repeat(bytes - 2));
    assert!(world.call(Anyone, "value/v", "set", &value(VALUE_BYTES_MAX)).starts_with("{\"version\""));
    assert_eq!(world.call(Anyone, "value/v", "set", &value(VALUE_BYTES_MAX + 1)), "refused too-large");
    assert_eq!(world.call(Anyone, "value/v", "set", &value(2 * VALUE_BYTES_MAX)), "refused too-large");
}

#[test]
fn names_of_objects_are_bounded() {
    let mut world = World::new();
    assert_eq!(
        world.call(Anyone, &format!("counter/{}", "x".repeat(256)), "increment", ""),
        "refused bad-argument"
    );
    assert_eq!(world.call(Anyone, "counter/", "increment", ""), "refused bad-argument");
    assert_eq!(world.call(Anyone, "counter/a\nb", "increment", ""), "refused bad-argument");
    assert_eq!(world.call(Anyone, "counter/ünïcode", "increment", ""), "{\"value\":1}");
}

#[test]
fn large_object_is_removed_piece_by_piece() {
    let (mut world, mut state) = (World::new(), State::new());
    let apply =
        |state: &mut State, command: &Command| state.apply(WallTime::of_ms(1), command, &mut Vec::new());
    for part in 0..5 {
        let entries: Vec<_> = (0..1_000).map(|n| format!("\"{part}-{n}\":{n}")).collect();
        let args = format!("{{\"entries\":{{{}}}}}", entries.join(","));
        apply(&mut state, &Command::Call(world.new_call(Anyone, "map/m", "put_all", &args)));
    }
    let delete =
        Command::Delete { caller: world.caller(Anyone), object: support::object("map/m"), incarnation: None };
    let full = state.records();
    apply(&mut state, &delete);
    assert!(state.records() > full - 200, "a deletion removes few records at once");
    assert_eq!(state.check(), Ok(()));
    assert_eq!(state.next_deadline(), Some(state.stamp()), "a tick is wanted");
    for _ in 0..4 {
        apply(&mut state, &Command::Tick);
    }
    assert_eq!((state.records(), state.next_deadline()), (0, None));
}
