//! Counters, values, maps, sets, queues, stacks, logs, ids, rate limiters, names.

mod support;

use support::{Anyone, S, World};

fn any(world: &mut World, path: &str, method: &str, args: &str) -> String {
    world.call(Anyone, path, method, args)
}

#[test]
fn counter_refuses_to_leave_its_bounds() {
    let mut world = World::new();
    world.create("counter/c", "{\"start\":1,\"min\":0,\"max\":10}");
    assert_eq!(any(&mut world, "counter/c", "increment", ""), "{\"value\":2}");
    assert_eq!(any(&mut world, "counter/c", "decrement", "{\"by\":3}"), "refused out-of-range");
    assert_eq!(any(&mut world, "counter/c", "swap", "{\"value\":9}"), "{\"value\":9,\"previous\":2}");
    let swap = "{\"expect\":8,\"value\":1}";
    assert_eq!(any(&mut world, "counter/c", "compare_and_set", swap), "{\"swapped\":false,\"value\":9}");
    any(&mut world, "counter/d", "set", "{\"value_text\":\"9223372036854775807\"}");
    assert_eq!(any(&mut world, "counter/d", "increment", ""), "refused overflow");
    let large = "{\"value\":9223372036854775807,\"value_text\":\"9223372036854775807\"}";
    assert_eq!(world.query("counter/d", "get", ""), large);
    assert_eq!(any(&mut world, "counter/d", "set", "{\"value\":1.5}"), "refused bad-argument");
}

#[test]
fn counter_wakes_those_whose_bound_is_reached() {
    let mut world = World::new();
    for args in ["{\"at_least\":5}", "{\"at_least\":2}", "{\"at_most\":-1}", "{\"equals\":3}"] {
        any(&mut world, "counter/c", "await", args);
    }
    any(&mut world, "counter/c", "set", "{\"value\":3}");
    assert_eq!(world.ended(), [2, 4]);
    any(&mut world, "counter/c", "set", "{\"value\":-1}");
    assert_eq!(world.ends(), ["3 granted {\"reached\":true,\"value\":-1}"]);
    any(&mut world, "counter/c", "set", "{\"value\":0}");
    assert!(world.state.describe(&support::object("counter/c")).is_some(), "somebody still waits");
}

#[test]
fn value_compares_meaning_and_not_spelling() {
    let mut world = World::new();
    any(&mut world, "value/v", "set", "{\"value\":{\"b\":1,\"a\":[ ]}}");
    assert_eq!(world.query("value/v", "get", ""), "{\"value\":{\"a\":[],\"b\":1},\"version\":1}");
    assert_eq!(any(&mut world, "value/v", "await_change", "{\"version\":1}"), "waits 2");
    let swap = "{\"expect\":{\"a\":[],\"b\":1},\"value\":null}";
    let swapped = any(&mut world, "value/v", "compare_and_set", swap);
    assert_eq!(swapped, "{\"swapped\":true,\"version\":3,\"value\":null}");
    assert_eq!(world.ends(), ["2 granted {\"changed\":true,\"value\":null,\"version\":3}"]);
}

#[test]
fn map_is_ordered_and_conditional() {
    let mut world = World::new();
    any(&mut world, "map/m", "put_all", "{\"entries\":{\"b\":2,\"a\":1,\"d\":4}}");
    let stored = any(&mut world, "map/m", "put", "{\"key\":\"a\",\"value\":9,\"if_absent\":true}");
    assert_eq!(stored, "{\"stored\":false,\"version\":1,\"previous\":1}");
    assert_eq!(any(&mut world, "map/m", "add", "{\"key\":\"n\",\"by\":-3}"), "{\"value\":-3,\"version\":3}");
    let page = "{\"entries\":[{\"key\":\"a\",\"value\":1,\"version\":1},{\"key\":\"b\",\"value\":2,\"version\":1}],\
                \"next\":\"d\"}";
    assert_eq!(world.query("map/m", "range", "{\"limit\":2}"), page);
    let floor = "{\"entry\":{\"key\":\"b\",\"value\":2,\"version\":1}}";
    assert_eq!(world.query("map/m", "floor", "{\"key\":\"c\"}"), floor);
    assert!(world.query("map/m", "ceiling", "{\"key\":\"c\"}").contains("\"d\""));
    assert_eq!(
        any(&mut world, "map/m", "remove", "{\"key\":\"b\",\"if_version\":7}").split(',').next(),
        Some("{\"removed\":false")
    );
    assert_eq!(any(&mut world, "map/m", "await_change", "{\"key\":\"d\",\"version\":1}"), "waits 5");
    assert_eq!(any(&mut world, "map/m", "clear", ""), "{\"removed\":4}");
    assert_eq!(world.ends(), ["5 granted {\"changed\":true,\"value\":null,\"version\":0}"]);
    assert_eq!(world.query("map/m", "last", ""), "{\"entry\":null}");
}

#[test]
fn map_entry_expires_by_a_tick() {
    let mut world = World::new();
    any(&mut world, "map/m", "put", "{\"key\":\"a\",\"value\":1,\"ttl_ms\":100}");
    any(&mut world, "map/m", "put", "{\"key\":\"b\",\"value\":1,\"ttl_ms\":100}");
    any(&mut world, "map/m", "put", "{\"key\":\"b\",\"value\":2}");
    world.pass(100);
    assert_eq!(world.query("map/m", "size", ""), "{\"size\":1,\"bytes\":2}");
    any(&mut world, "map/m", "put", "{\"key\":\"c\",\"value\":1,\"ttl_ms\":100}");
    any(&mut world, "map/m", "clear", "");
    any(&mut world, "map/m", "put", "{\"key\":\"c\",\"value\":2}");
    world.pass(200);
    assert_eq!(world.query("map/m", "get", "{\"key\":\"c\"}"), "{\"value\":2,\"version\":7}");
}

#[test]
fn set_holds_each_value_once() {
    let mut world = World::new();
    assert_eq!(any(&mut world, "set/s", "add", "{\"items\":[1,\"a\",{\"x\":1},1]}"), "{\"added\":3}");
    assert_eq!(world.query("set/s", "contains", "{\"item\":{ \"x\": 1 }}"), "{\"contains\":true}");
    assert_eq!(world.query("set/s", "members", "{\"limit\":2}"), "{\"items\":[\"a\",1],\"next\":1}");
    assert_eq!(any(&mut world, "set/s", "pop", "{\"n\":2}"), "{\"items\":[\"a\",1]}");
    assert_eq!(any(&mut world, "set/s", "remove", "{\"items\":[{\"x\":1},5]}"), "{\"removed\":1}");
    assert_eq!(world.state.counts()[0], 0);
}

#[test]
fn queue_gives_in_order_and_wakes_both_sides() {
    let mut world = World::new();
    world.create("queue/q", "{\"capacity\":1}");
    assert_eq!(any(&mut world, "queue/q", "take", ""), "waits 2");
    assert_eq!(any(&mut world, "queue/q", "put", "{\"item\":\"a\"}"), "{\"id\":3}");
    assert_eq!(world.ends(), ["2 granted {\"items\":[{\"id\":3,\"item\":\"a\",\"attempt\":1}]}"]);
    any(&mut world, "queue/q", "put", "{\"item\":\"b\"}");
    assert_eq!(any(&mut world, "queue/q", "put", "{\"item\":\"c\"}"), "waits 5");
    assert_eq!(any(&mut world, "queue/q", "put", "{\"item\":\"d\",\"wait_ms\":0}"), "refused queue-full");
    any(&mut world, "queue/q", "take", "");
    assert_eq!(world.ends(), ["5 granted {\"id\":5}"]);
    assert_eq!(
        any(&mut world, "queue/q", "take", "{\"n\":9}"),
        "{\"items\":[{\"id\":5,\"item\":\"c\",\"attempt\":1}]}"
    );
    assert_eq!(any(&mut world, "queue/q", "take", "{\"wait_ms\":0}"), "{\"items\":[]}");
}

#[test]
fn leased_item_comes_back_and_dies_after_its_attempts() {
    let mut world = World::with_sessions(2);
    world.create("queue/q", "{\"max_attempts\":2}");
    any(&mut world, "queue/q", "put", "{\"item\":1}");
    world.call(S(1), "queue/q", "take", "{\"lease_ms\":100}");
    assert_eq!(world.call(S(2), "queue/q", "ack", "{\"ids\":[4]}"), "refused not-leased");
    world.pass(50);
    assert_eq!(world.call(S(1), "queue/q", "extend", "{\"ids\":[4]}"), "{\"extended\":1}");
    world.pass(99);
    assert!(world.query("queue/q", "size", "").contains("\"leased\":1"));
    world.pass(1);
    assert!(world.query("queue/q", "size", "").contains("\"ready\":1"));
    let second = world.call(S(2), "queue/q", "take", "{\"lease_ms\":100}");
    assert!(second.contains("\"attempt\":2"), "{second}");
    world.expire(2);
    assert_eq!(world.query("queue/q", "dead", ""), "{\"items\":[{\"id\":4,\"item\":1,\"attempt\":2}]}");
    assert_eq!(any(&mut world, "queue/q", "remove", "{\"id\":4}"), "{\"removed\":true}");
}

#[test]
fn queue_orders_by_priority_and_holds_delayed_items_back() {
    let mut world = World::with_sessions(1);
    world.create("queue/q", "{\"priority\":true}");
    any(&mut world, "queue/q", "put", "{\"item\":\"low\",\"priority\":-1}");
    any(&mut world, "queue/q", "put", "{\"item\":\"late\",\"priority\":9,\"delay_ms\":50}");
    any(&mut world, "queue/q", "put", "{\"item\":\"high\",\"priority\":5}");
    assert!(world.query("queue/q", "peek", "{\"n\":2}").starts_with("{\"items\":[{\"id\":5,"));
    any(&mut world, "queue/q", "replace", "{\"id\":4,\"item\":\"later\"}");
    world.pass(50);
    assert!(any(&mut world, "queue/q", "take", "").contains("later"));
    let taken = world.call(S(1), "queue/q", "take", "{\"lease_ms\":1000}");
    assert!(taken.contains("high"));
    assert_eq!(world.call(S(1), "queue/q", "nack", "{\"ids\":[5],\"delay_ms\":10}"), "{\"nacked\":1}");
    assert!(any(&mut world, "queue/q", "take", "").contains("low"));
    world.pass(10);
    assert!(any(&mut world, "queue/q", "take", "").contains("high"));
}

#[test]
fn stack_gives_the_newest_first() {
    let mut world = World::new();
    any(&mut world, "stack/s", "push", "{\"item\":1}");
    assert_eq!(any(&mut world, "stack/s", "push", "{\"item\":2}"), "{\"size\":2}");
    assert_eq!(world.query("stack/s", "items", ""), "{\"items\":[2,1]}");
    assert_eq!(any(&mut world, "stack/s", "pop", "{\"n\":5}"), "{\"items\":[2,1]}");
    assert_eq!(any(&mut world, "stack/s", "pop", ""), "waits 4");
    any(&mut world, "stack/s", "push", "{\"item\":3}");
    assert_eq!(world.ends(), ["4 granted {\"items\":[3]}"]);
}

#[test]
fn log_drops_or_refuses_and_wakes_readers() {
    let mut world = World::new();
    world.create("log/l", "{\"max_entries\":2}");
    assert_eq!(any(&mut world, "log/l", "read", "{\"from\":1}"), "waits 2");
    any(&mut world, "log/l", "append", "{\"entry\":\"a\"}");
    assert!(world.ended().is_empty());
    assert_eq!(any(&mut world, "log/l", "append", "{\"entry\":\"b\"}"), "{\"index\":1}");
    assert_eq!(world.ends(), ["2 granted {\"entries\":[\"b\"],\"first\":0,\"next\":2}"]);
    any(&mut world, "log/l", "append", "{\"entry\":\"c\"}");
    assert_eq!(world.query("log/l", "read", "{\"from\":0}"), "refused trimmed");
    assert_eq!(any(&mut world, "log/l", "trim", "{\"before\":2}"), "{\"trimmed\":1,\"first\":2}");
    world.create("log/r", "{\"max_entries\":1,\"when_full\":\"refuse\"}");
    any(&mut world, "log/r", "append", "{\"entry\":1}");
    assert_eq!(any(&mut world, "log/r", "append", "{\"entry\":2}"), "refused full");
}

#[test]
fn ids_are_never_given_twice() {
    let mut world = World::new();
    assert_eq!(any(&mut world, "ids/i", "next", "{\"n\":100}"), "{\"first\":1,\"last\":100}");
    assert_eq!(any(&mut world, "ids/i", "next", ""), "{\"first\":101,\"last\":101}");
    world.create("ids/u", "{\"form\":\"ulid\"}");
    let mut last = String::new();
    for step in [0, 0, -5, 1_000] {
        world.now += step;
        let next = any(&mut world, "ids/u", "next", "{\"n\":3}");
        assert!(next > last, "{next} after {last}");
        last = next;
    }
}

#[test]
fn rate_limiter_serves_in_order_when_tokens_come() {
    let mut world = World::new();
    world.create("ratelimiter/r", "{\"per_second\":10,\"burst\":2}");
    assert_eq!(any(&mut world, "ratelimiter/r", "acquire", "{\"n\":3}"), "refused never");
    let granted = any(&mut world, "ratelimiter/r", "acquire", "{\"n\":2}");
    assert_eq!(granted, "{\"granted\":true,\"remaining\":0,\"retry_after_ms\":0}");
    let missed = any(&mut world, "ratelimiter/r", "acquire", "{\"wait_ms\":0}");
    assert_eq!(missed, "{\"granted\":false,\"remaining\":0,\"retry_after_ms\":100}");
    assert_eq!(any(&mut world, "ratelimiter/r", "acquire", "{\"n\":2,\"wait_ms\":150}"), "waits 5");
    assert_eq!(any(&mut world, "ratelimiter/r", "acquire", ""), "waits 6");
    world.pass(150);
    assert_eq!(world.ended(), [5, 6], "the first gives up at 150 ms, and the second needs only one token");
    assert!(world.ends()[1].contains("\"granted\":true"), "{:?}", world.ends());
    world.pass(300);
    assert_eq!(
        world.query("ratelimiter/r", "peek", ""),
        "{\"remaining\":2,\"per_second\":10,\"burst\":2,\"waiting\":0}"
    );
}

#[test]
fn names_hold_checked_records() {
    let mut world = World::new();
    let a = "{\"name\":\"Web.Example\",\"record\":{\"type\":\"A\",\"address\":\"10.0.0.1\"}}";
    assert_eq!(any(&mut world, "names/n", "add", a), "{\"records\":1,\"changed\":true}");
    assert_eq!(any(&mut world, "names/n", "add", a), "{\"records\":1,\"changed\":false}");
    let wrong = "{\"name\":\"web\",\"record\":{\"type\":\"A\",\"address\":\"10.0.0\"}}";
    assert_eq!(any(&mut world, "names/n", "add", wrong), "refused bad-argument");
    let listed = "{\"records\":[{\"type\":\"A\",\"address\":\"10.0.0.1\",\"ttl\":30}]}";
    assert_eq!(world.query("names/n", "list", "{\"name\":\"web.example\"}"), listed);
    any(&mut world, "names/n", "remove", "{\"name\":\"web.example\"}");
    assert_eq!(world.state.counts()[0], 0);
}

#[test]
fn unknown_arguments_methods_and_queries_in_the_log_are_refused() {
    let mut world = World::new();
    assert_eq!(any(&mut world, "counter/c", "increment", "{\"bye\":1}"), "refused bad-argument");
    assert_eq!(any(&mut world, "counter/c", "increment", "[1]"), "refused bad-argument");
    assert_eq!(any(&mut world, "counter/c", "explode", ""), "refused no-such-method");
    assert_eq!(any(&mut world, "counter/c", "get", ""), "refused bad-argument");
    assert_eq!(world.query("counter/c", "increment", ""), "refused not-a-query");
}

#[test]
fn configured_limiter_gives_no_token_twice() {
    let mut world = World::new();
    world.create("ratelimiter/r", "{\"per_second\":1,\"burst\":2}");
    any(&mut world, "ratelimiter/r", "acquire", "{\"n\":2}");
    assert_eq!(any(&mut world, "ratelimiter/r", "acquire", ""), "waits 3");
    world.now += 5_000;
    any(&mut world, "ratelimiter/r", "configure", "{\"burst\":1}");
    assert_eq!(world.ended(), [3]);
    let missed = any(&mut world, "ratelimiter/r", "acquire", "{\"wait_ms\":0}");
    assert_eq!(missed, "{\"granted\":false,\"remaining\":0,\"retry_after_ms\":1000}");
}

#[test]
fn bucket_that_has_filled_up_is_full_at_the_new_size_as_one_that_was_never_used() {
    let mut world = World::new();
    world.create("ratelimiter/r", "{\"per_second\":1,\"burst\":2}");
    any(&mut world, "ratelimiter/r", "acquire", "{\"n\":2,\"key\":\"full\"}");
    world.now += 1_000;
    any(&mut world, "ratelimiter/r", "acquire", "{\"n\":2,\"key\":\"half\"}");
    world.now += 1_000;
    any(&mut world, "ratelimiter/r", "configure", "{\"burst\":4}");
    for (key, remaining) in [("full", 4), ("new", 4), ("half", 1)] {
        let peeked = world.query("ratelimiter/r", "peek", &format!("{{\"key\":\"{key}\"}}"));
        assert!(peeked.starts_with(&format!("{{\"remaining\":{remaining},")), "{key}: {peeked}");
    }
}

#[test]
fn limiter_that_was_configured_as_it_was_is_no_object() {
    let mut world = World::new();
    any(&mut world, "ratelimiter/r", "configure", "{\"per_second\":1}");
    assert_eq!(world.state.counts()[0], 0);
}

#[test]
fn names_are_listed_behind_a_name_whatever_its_case() {
    let mut world = World::new();
    for name in ["a", "b"] {
        let args = format!("{{\"name\":\"{name}\",\"record\":{{\"type\":\"TXT\",\"text\":\"t\"}}}}");
        any(&mut world, "names/n", "add", &args);
    }
    let listed = world.query("names/n", "list", "{\"after\":\"A\"}");
    assert!(listed.starts_with("{\"names\":[{\"name\":\"b\""), "{listed}");
}

#[test]
fn wrong_condition_of_a_put_is_refused_whatever_the_other_one_says() {
    let mut world = World::new();
    any(&mut world, "map/m", "put", "{\"key\":\"a\",\"value\":1}");
    let args = "{\"key\":\"a\",\"value\":2,\"if_absent\":true,\"if_version\":\"odd\"}";
    assert_eq!(any(&mut world, "map/m", "put", args), "refused bad-argument");
}

#[test]
fn addition_to_an_entry_whose_time_is_over_does_not_prolong_it() {
    let mut world = World::new();
    any(&mut world, "map/m", "put", "{\"key\":\"a\",\"value\":1,\"ttl_ms\":100}");
    world.now += 150;
    any(&mut world, "map/m", "add", "{\"key\":\"a\"}");
    world.pass(0);
    assert_eq!(world.query("map/m", "size", ""), "{\"size\":0,\"bytes\":0}");
}
