//! Who waits for whom: calls with their methods, sessions and ends, and who holds what they wait for.

mod support;

use base::WallTime;
use objects_state::{
    Command, Holds, NewSession, ObjectName, WAITS_LOOKED_AT_MAX, WAITS_OF_OBJECT_MAX, WAITS_ROWS, Waits,
    WaitsOf, type_named,
};
use support::{Anyone, K, S, World, object, session};

fn all(world: &World) -> Waits {
    world.state.waits(&WaitsOf { kind: None, prefix: "", after: None, limit: 1_000 })
}

/// The only object for which calls wait: a line for each call, then one for each holder.
fn only(world: &World) -> Vec<String> {
    let mut page = all(world);
    assert_eq!((page.objects.len(), page.next.take()), (1, None));
    let found = page.objects.remove(0);
    let who = |id: &objects_state::NamedSession| format!("{}", id.id.0[0]);
    let calls = found.calls.iter().map(|call| {
        let session = call.session.as_ref().map_or_else(|| call.principal.clone(), who);
        let method = call.method.as_deref().unwrap_or("?");
        let whom = if call.for_holders { "holders" } else { "others" };
        format!("{} {method} {session} for {whom}", call.ticket)
    });
    let holders = found.holders.iter();
    let holders =
        holders.map(|one| format!("{} by {} at {}", one.holds.name(), who(&one.session), one.position));
    calls.chain(holders).collect()
}

#[test]
fn calls_that_wait_are_shown_with_those_who_hold_what_they_wait_for() {
    let mut world = World::with_sessions(3);
    world.call(S(1), "lock/a", "acquire", "");
    world.call(S(2), "lock/a", "acquire", "");
    world.call(S(3), "lock/a", "acquire", "{\"wait_ms\":5000}");
    world.call(S(1), "lock/b", "acquire", "");
    assert_eq!(only(&world), ["5 acquire 2 for holders", "6 acquire 3 for holders", "lock by 1 at 4"]);
    let found = all(&world).objects.remove(0);
    assert_eq!((found.object, found.waiting), (object("lock/a"), 2));
    let ends: Vec<_> = found.calls.iter().filter_map(|call| Some(call.deadline?.ms() - world.now)).collect();
    assert_eq!(ends, [3_600_000, 5_000]);
    assert_eq!(found.holders[0].principal, "ann");
    world.call(S(1), "lock/a", "release", "{\"fence\":4}");
    assert_eq!(only(&world), ["6 acquire 3 for holders", "lock by 2 at 8"]);
}

#[test]
fn session_has_its_name_and_a_call_without_one_its_principal() {
    let mut world = World::new();
    for (number, name) in [(1, "worker 7"), (2, "worker 8")] {
        let (id, name) = (session(number), Some(String::from(name)));
        let new = NewSession { id, secret_hash: [number; 32], generation: 1, ttl_ms: 10_000, name };
        let caller = world.caller(Anyone);
        world.apply(&Command::OpenSession { caller, session: new });
    }
    world.call(S(1), "lock/a", "acquire", "");
    world.call(S(2), "lock/a", "acquire", "");
    world.call(K("k"), "queue/q", "take", "");
    let page = all(&world);
    let [lock, queue] = &page.objects[..] else { panic!("{page:?}") };
    assert_eq!(lock.calls[0].session.as_ref().and_then(|own| own.name.as_deref()), Some("worker 8"));
    assert_eq!(lock.holders[0].session.name.as_deref(), Some("worker 7"));
    assert_eq!((queue.calls[0].session.as_ref(), queue.calls[0].principal.as_str()), (None, "ann"));
}

#[test]
fn each_type_says_by_which_method_a_call_waits() {
    let no_setup: &[(&str, &str)] = &[];
    for (kind, setup, method, args, expected) in [
        ("rwlock", &[("write", "")][..], "read", "", "read 2 for holders"),
        ("rwlock", &[("read", "")], "write", "", "write 2 for holders"),
        ("semaphore", &[("acquire", "")], "acquire", "", "acquire 2 for holders"),
        ("barrier", no_setup, "await", "", "await 2 for others"),
        ("latch", no_setup, "await", "", "await 2 for others"),
        ("counter", no_setup, "await", "{\"at_least\":1}", "await 2 for others"),
        ("value", no_setup, "await_change", "{\"version\":0}", "await_change 2 for others"),
        ("map", no_setup, "await_change", "{\"key\":\"k\",\"version\":0}", "await_change 2 for others"),
        ("queue", no_setup, "take", "", "take 2 for others"),
        ("stack", no_setup, "pop", "", "pop 2 for others"),
        ("log", no_setup, "read", "{\"from\":0,\"wait_ms\":10}", "read 2 for others"),
        ("membership", no_setup, "await_size", "{\"n\":3}", "await_size 2 for others"),
        (
            "membership",
            &[("join", "{\"name\":\"m\"}")],
            "await_change",
            "{\"epoch\":1}",
            "await_change 2 for others",
        ),
        (
            "election",
            &[("campaign", "{\"name\":\"m\"}")],
            "campaign",
            "{\"name\":\"n\"}",
            "campaign 2 for holders",
        ),
        ("election", no_setup, "observe", "{\"term\":0}", "observe 2 for others"),
        ("ratelimiter", &[("acquire", "")], "acquire", "", "acquire 2 for others"),
    ] {
        let (mut world, path) = (World::with_sessions(2), format!("{kind}/x"));
        for (method, args) in setup {
            world.call(S(1), &path, method, args);
        }
        assert!(world.call(S(2), &path, method, args).starts_with("waits "), "{path} {method}");
        let lines = only(&world);
        assert!(lines[0].ends_with(expected), "{path}: {lines:?}");
    }
}

#[test]
fn full_queue_stack_double_barrier_and_condition_have_their_own_methods() {
    let mut world = World::with_sessions(2);
    world.create("queue/q", "{\"capacity\":1}");
    world.call(S(1), "queue/q", "put", "{\"item\":1}");
    world.call(S(1), "queue/q", "put", "{\"item\":2}");
    assert!(only(&world)[0].ends_with("put 1 for others"));
    world.delete("queue/q");
    world.create("stack/s", "{\"capacity\":1}");
    world.call(S(1), "stack/s", "push", "{\"item\":1}");
    world.call(S(1), "stack/s", "push", "{\"item\":2}");
    assert!(only(&world)[0].ends_with("push 1 for others"));
    world.delete("stack/s");
    world.create("barrier/b", "{\"double\":true}");
    world.call(S(1), "barrier/b", "enter", "");
    assert!(only(&world)[0].ends_with("enter 1 for others"));
    world.call(S(2), "barrier/b", "enter", "");
    world.call(S(1), "barrier/b", "leave", "");
    assert!(only(&world)[0].ends_with("leave 1 for others"));
    world.delete("barrier/b");
    world.call(S(1), "lock/l", "acquire", "");
    let fence = world.state.position();
    world.call(S(1), "lock/l", "await", &format!("{{\"condition\":\"c\",\"fence\":{fence}}}"));
    assert!(only(&world)[0].ends_with("await 1 for others"));
    world.call(S(2), "lock/l", "acquire", "");
    world.call(S(2), "lock/l", "signal", "{\"condition\":\"c\"}");
    // It waits for the lock now.
    assert!(only(&world)[0].ends_with("await 1 for holders"));
}

#[test]
fn leases_and_memberships_are_holdings_too() {
    let mut world = World::with_sessions(2);
    let put = world.call(Anyone, "queue/q", "put", "{\"item\":1}");
    world.call(S(1), "queue/q", "take", "{\"lease_ms\":5000}");
    world.call(S(2), "queue/q", "take", "");
    let found = all(&world).objects.remove(0);
    assert_eq!(
        (found.holders[0].holds, put),
        (Holds::Lease, format!("{{\"id\":{}}}", found.holders[0].position))
    );
    world.delete("queue/q");
    world.call(S(1), "membership/m", "join", "{\"name\":\"a\"}");
    world.call(S(2), "membership/m", "await_size", "{\"n\":2}");
    assert_eq!(all(&world).objects[0].holders[0].holds, Holds::Membership);
}

#[test]
fn page_goes_on_behind_the_last_object_and_ends() {
    let mut world = World::with_sessions(2);
    for name in ["lock/a", "lock/ab", "lock/b", "queue/a"] {
        if name.starts_with("lock") {
            world.call(S(1), name, "acquire", "");
            world.call(S(2), name, "acquire", "");
        } else {
            world.call(S(1), name, "take", "");
        }
    }
    // Nobody waits for these.
    (0..20).for_each(|number| _ = world.call(Anyone, &format!("counter/{number}"), "increment", ""));
    let (mut after, mut found, mut pages) = (None::<ObjectName>, Vec::new(), 0);
    loop {
        let page = world.state.waits(&WaitsOf { kind: None, prefix: "a", after: after.as_ref(), limit: 1 });
        pages += 1;
        found.extend(page.objects.into_iter().map(|one| one.object));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["lock/a", "lock/ab", "queue/a"].map(object));
    assert_eq!(pages, 3);
    let of_type = WaitsOf { kind: type_named("lock"), prefix: "", after: Some(&object("lock/a")), limit: 9 };
    let page = world.state.waits(&of_type);
    assert_eq!(page.objects.iter().map(|one| &*one.object.name).collect::<Vec<_>>(), ["ab", "b"]);
    assert_eq!(page.next, None);
}

#[test]
fn page_looks_at_so_many_objects_and_shows_so_many_calls() {
    let mut world = World::with_sessions(2);
    world.call(S(1), "lock/z", "acquire", "");
    for number in 0..WAITS_OF_OBJECT_MAX + 1 {
        let owner = format!("{{\"owner\":\"{number}\"}}");
        world.call(S(1 + (number % 2) as u8), "lock/z", "acquire", &owner);
    }
    let page = all(&world);
    assert_eq!(page.objects[0].calls.len(), WAITS_OF_OBJECT_MAX);
    assert_eq!(page.objects[0].waiting as usize, WAITS_OF_OBJECT_MAX + 1);
}

#[test]
fn page_may_be_empty_and_have_a_next_one() {
    let mut world = World::with_sessions(1);
    let mut effects = Vec::new();
    for number in 0..=WAITS_LOOKED_AT_MAX {
        let call = world.new_call(Anyone, &format!("counter/{number}"), "increment", "");
        world.state.apply(WallTime::of_ms(world.now), &Command::Call(call), &mut effects);
        effects.clear();
    }
    let take = world.new_call(S(1), "queue/q", "take", "");
    world.state.apply(WallTime::of_ms(world.now), &Command::Call(take), &mut effects);
    let page = all(&world);
    let next = page.next.expect("it has not looked at all of them");
    assert_eq!((page.objects.len(), next.kind), (0, object("counter/x").kind));
    let behind = world.state.waits(&WaitsOf { kind: None, prefix: "", after: Some(&next), limit: 1_000 });
    assert_eq!((behind.objects.len(), behind.next), (1, None));
}

#[test]
fn page_ends_with_the_object_that_brings_it_to_its_rows() {
    let mut world = World::with_sessions(1);
    let objects = 2 * WAITS_ROWS / WAITS_OF_OBJECT_MAX;
    let mut effects = Vec::new();
    for number in 0..objects * WAITS_OF_OBJECT_MAX {
        let mut call = world.new_call(Anyone, &format!("queue/{}", number % objects), "take", "");
        call.caller.identity = objects_state::Identity::Key(number.to_string());
        world.state.apply(WallTime::of_ms(world.now), &Command::Call(call), &mut effects);
        effects.clear();
    }
    let page = all(&world);
    assert_eq!(page.objects.len(), WAITS_ROWS / WAITS_OF_OBJECT_MAX);
    assert!(page.next.is_some());
}
