//! Live objects of three members in real processes, as a client with nothing but HTTP meets them: members are killed,
//! restarted and emptied meanwhile.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "objects/client.rs"]
mod client;
#[path = "objects/group.rs"]
mod group;
mod server;

use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use serde_json::json;
use server::{diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn counter_counts_each_increment_once_while_its_leader_is_killed() {
    let mut group = Group::start(3);
    let mut caller = Caller::new(group.addresses());
    let (mut longest, mut last) = (Duration::ZERO, Instant::now());
    for number in 1..=300_u64 {
        if number == 100 || number == 200 {
            let leader = group.leader();
            group.kill(leader);
            last = Instant::now();
        }
        let reply = caller.call("counter/visits", "increment", &json!({}));
        longest = longest.max(last.elapsed());
        last = Instant::now();
        assert_eq!(reply["value"], number, "no increment is lost, and none counts twice");
        if number == 150 || number == 250 {
            group.restart_all();
            last = Instant::now();
        }
    }
    eprintln!("the longest time without an answer, with two leaders killed: {longest:?}");
    assert!(longest < PATIENCE);
}

#[test]
fn lock_of_a_silent_session_goes_to_its_waiter_after_the_ttl() {
    let group = Group::start(3);
    let mut holder = Caller::new(group.addresses());
    let ttl = Duration::from_secs(2);
    let held = holder.call("lock/build", "acquire", &json!({ "ttl_ms": 2_000 }));
    assert_eq!(held["acquired"], true);
    drop(holder);
    let began = Instant::now();
    let mut waiter = Caller::new(group.addresses());
    let granted = waiter.call("lock/build", "acquire", &json!({ "ttl_ms": 600_000 }));
    let waited = began.elapsed();
    eprintln!("the waiter had the lock {waited:?} after the holder fell silent; the TTL is {ttl:?}");
    assert_eq!(granted["acquired"], true);
    assert!(granted["fence"].as_u64() > held["fence"].as_u64(), "{granted} after {held}");
    assert!(waited > ttl - Duration::from_millis(200), "never early: {waited:?}");
    assert!(waited < ttl + Duration::from_secs(10), "{waited:?}");
}

#[test]
fn objects_are_there_when_all_members_were_killed() {
    let mut group = Group::start(3);
    let mut caller = Caller::new(group.addresses());
    for number in 1..=20 {
        let reply =
            caller.call("map/settings", "put", &json!({ "key": format!("k{number}"), "value": number }));
        assert_eq!(reply["stored"], true);
    }
    (0..3).for_each(|member| group.kill(member));
    group.restart_all();
    let mut caller = Caller::new(group.addresses());
    let reply = caller.query("map/settings", "size", "");
    assert_eq!(reply["size"], 20);
    let mut stale = Caller::new(group.addresses());
    assert_eq!(stale.query("map/settings", "get", "key=k7")["value"], 7);
}

#[test]
fn emptied_member_catches_up_by_a_snapshot() {
    let mut group = Group::start(3);
    let mut caller = Caller::new(group.addresses());
    let text = "x".repeat(1_000_000);
    for number in 0..80 {
        // More than a leader keeps of its log for members that lag.
        caller.call(&format!("value/v{number}"), "set", &json!({ "value": text }));
    }
    let leader = group.leader();
    let emptied = (leader + 1) % 3;
    group.kill(emptied);
    group.empty(emptied);
    caller.call("counter/after", "increment", &json!({ "by": 7 }));
    group.restart_all();
    let own = vec![group.addresses()[emptied].clone()];
    let mut stale = Caller::new(own);
    let value = stale.query("counter/after", "get", "consistency=stale");
    assert_eq!(value["value"], 7);
    assert_eq!(
        stale.query("value/v79", "get", "consistency=stale")["value"].as_str().map(str::len),
        Some(text.len())
    );
}

#[test]
fn commands_of_the_command_line_show_and_change_objects() {
    let group = Group::start(1);
    let server = group.addresses()[0].clone();
    let run = |arguments: &[&str]| {
        said(diwan().arg("object").args(arguments).args(["--server", &server]).output().unwrap())
    };
    assert_eq!(run(&["call", "counter/visits", "increment", "{\"by\":3}"]).1.trim(), "{\"value\":3}");
    let (success, out, _) = run(&["list"]);
    assert!(success && out.contains("counter/visits"), "{out}");
    let (success, out, _) = run(&["inspect", "counter/visits", "--json"]);
    assert!(success && out.contains("\"incarnation\""), "{out}");
    let (success, out, _) = run(&["waits"]);
    assert!(success && !out.contains("visits"), "{out}");
    assert!(run(&["delete", "counter/visits"]).0);
    let (success, _, errors) = run(&["inspect", "counter/visits"]);
    assert!(!success && errors.contains("no-such-object") && errors.contains("hint: "), "{errors}");
    let (success, _, errors) = run(&["call", "counter/visits", "fly"]);
    assert!(!success && errors.contains("no-such-method"), "{errors}");
}
