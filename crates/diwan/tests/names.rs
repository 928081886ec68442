//! Names of three members in real processes, as a resolver asks for them: a leader is killed, and members of a membership
//! come, go, and die, meanwhile.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "objects/client.rs"]
#[allow(dead_code, reason = "each test file uses a part of it")]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
#[path = "names/resolver.rs"]
mod resolver;
mod server;

use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use resolver::{A, Answer, SRV, TXT, ask};
use serde_json::json;

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// Asks until it is so.
fn until(address: &str, name: &str, kind: u16, what: &str, is_it: impl Fn(&Answer) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = ask(address, name, kind);
        if answer.as_ref().is_ok_and(&is_it) {
            return;
        }
        assert!(Instant::now() < deadline, "{address} {name}: never {what}: {answer:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn names_follow_a_leader_that_is_killed() {
    let mut group = Group::start_with_names(3);
    for address in group.names() {
        until(&address, "_objects._tcp", SRV, "all members", |answer| answer.targets.len() == 3);
    }
    let leader = group.leader();
    let role = format!("m{}", leader + 1);
    let is_leader = |answer: &Answer| answer.texts.iter().any(|text| text == "role=leader");
    until(&group.names()[leader], &role, TXT, "the leader", is_leader);
    Caller::new(group.addresses()).call("counter/visits", "increment", &json!({}));
    group.kill(leader);
    let names = group.names();
    assert!(ask(&names[leader], &role, TXT).is_err(), "it was killed");
    let living = names.iter().enumerate().filter(|(number, _)| *number != leader);
    for (_, address) in living {
        // Another one leads, or this member answers SERVFAIL: it has no lease.
        until(address, &role, TXT, "a follower", |answer| answer.code == 0 && !is_leader(answer));
        let first = format!("m{}.", group.leader() + 1);
        until(address, "visits.counter.o", SRV, "the new leader first", |answer| {
            answer.targets.first().is_some_and(|target| target.starts_with(&first))
        });
        until(address, "leader", A, "an address", |answer| answer.addresses.len() == 1);
    }
}

#[test]
fn member_without_its_majority_answers_servfail() {
    let mut group = Group::start_with_names(3);
    let names = group.names();
    until(&names[0], "m1", TXT, "itself", |answer| !answer.texts.is_empty());
    group.kill(1);
    group.kill(2);
    until(&names[0], "m1", TXT, "SERVFAIL", |answer| answer.code == 2);
    group.restart_all();
    until(&names[0], "m1", TXT, "itself", |answer| answer.code == 0 && !answer.texts.is_empty());
}

#[test]
fn names_of_a_membership_follow_its_members() {
    let group = Group::start_with_names(3);
    let names = group.names();
    let mut caller = Caller::new(group.addresses());
    assert_eq!(ask(&names[0], "web.g", A).unwrap().code, 3);
    let join = json!({ "name": "a", "data": { "address": "10.1.0.1", "port": 80 }, "ttl_ms": 600_000 });
    caller.call("membership/web", "join", &join);
    for address in &names {
        until(address, "web.g", A, "one address", |answer| answer.addresses == ["10.1.0.1"]);
    }
    let dying = json!({ "name": "b", "data": { "address": "10.1.0.2", "port": 80 }, "ttl_ms": 2_000 });
    caller.call("membership/web", "join", &dying);
    let joined = Instant::now();
    for address in &names {
        until(address, "web.g", A, "two addresses", |answer| answer.addresses.len() == 2);
    }
    // Its session falls silent.
    for address in &names {
        until(address, "web.g", A, "one address again", |answer| answer.addresses == ["10.1.0.1"]);
    }
    let gone = joined.elapsed();
    eprintln!("the names of a member with a TTL of 2 s were gone {gone:?} after it had joined");
    assert!(gone > Duration::from_millis(1_800), "never early: {gone:?}");
    until(&names[1], "web.g", TXT, "the third epoch", |answer| answer.texts == ["epoch=3"]);
}

#[test]
fn port_that_is_taken_is_told_with_a_hint() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = server::Folder::new();
    let mut command = server::diwan();
    command.args(["serve", "--log", "off", "--admin", "off", "--metrics", "off", "--listen", "127.0.0.1:0"]);
    command.args(["--objects", "127.0.0.1:0", "--dns", &address, "--data-dir"]).arg(folder.path());
    let output = command.output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(errors.contains(&format!("{address} cannot be listened at for names")), "{errors}");
    assert!(errors.contains("hint: name another address with `dns.listen` (`--dns`), or `off`"), "{errors}");
}
