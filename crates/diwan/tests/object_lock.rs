//! `diwan object lock`: a command runs while its lock is held, in real processes that are killed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// `diwan object lock NAME OPTIONS -- sh -c SCRIPT`.
fn lock(servers: &str, name: &str, options: &[&str], script: &str) -> Command {
    let mut command = diwan();
    command.args(["object", "lock", name, "--server", servers]).args(options);
    command.args(["--", "sh", "-c", script]).stdin(Stdio::null());
    command
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn command_has_the_lock_and_the_next_one_has_it_then() {
    let group = Group::start(1);
    let (servers, folder) = (group.addresses().join(","), Folder::new());
    let file = folder.path().join("order");
    // Whoever finds the other one inside says so.
    let script =
        format!("cd {} && mkdir inside && echo $DIWAN_FENCE >> order && sleep 0.05 && rmdir inside", {
            folder.path().display()
        });
    let all: Vec<_> = (0..8).map(|_| lock(&servers, "build", &[], &script).spawn().unwrap()).collect();
    all.into_iter().for_each(|mut one| assert!(one.wait().unwrap().success(), "two are inside"));
    let fences: Vec<u64> =
        std::fs::read_to_string(file).unwrap().lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(fences.len(), 8);
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
    let (success, out, _) = said(lock(&servers, "x", &[], "echo $DIWAN_LOCK").output().unwrap());
    assert!(success && out == "lock/x\n", "{out}");
    // Nothing is left.
    assert_eq!(Caller::new(group.addresses()).query("lock/build", "holder", "")["waiting"], 0);
}

#[test]
fn exit_status_is_the_commands_or_says_what_became_of_the_lock() {
    let group = Group::start(1);
    let servers = group.addresses().join(",");
    let code = |mut command: Command| command.stderr(Stdio::null()).status().unwrap().code();
    assert_eq!(code(lock(&servers, "a", &[], "exit 7")), Some(7));
    assert_eq!(code(lock(&servers, "a", &[], "kill -9 $$")), Some(137));
    let mut caller = Caller::new(group.addresses());
    let held = caller.call("lock/a", "acquire", &json!({ "ttl_ms": 600_000 }));
    assert_eq!(code(lock(&servers, "a", &["--wait", "0"], "true")), Some(75));
    assert_eq!(code(lock(&servers, "a", &["--wait", "300"], "true")), Some(75));
    // Who waits hears signals.
    let mut waiter = lock(&servers, "a", &[], "true").spawn().unwrap();
    until("it waits", || caller.query("lock/a", "holder", "")["waiting"] == 1);
    signal(&waiter, Signal::TERM);
    assert_eq!(waiter.wait().unwrap().code(), Some(128 + 15));
    until("it waits no more", || caller.query("lock/a", "holder", "")["waiting"] == 0);
    assert_eq!(caller.query("lock/a", "holder", "")["fence"], held["fence"]);
}

#[test]
fn command_is_ended_when_its_lock_is_lost() {
    let mut group = Group::start(1);
    let servers = group.addresses().join(",");
    let begin = |name: &str, script: &str| lock(&servers, name, &["--ttl", "1000"], script).spawn().unwrap();
    let is_held = |caller: &mut Caller, name: &str| {
        caller.query(&format!("lock/{name}"), "holder", "")["fence"].is_u64()
    };
    let mut caller = Caller::new(group.addresses());
    let mut stolen = begin("stolen", "sleep 600");
    until("it is held", || is_held(&mut caller, "stolen"));
    caller.call("lock/stolen", "steal", &json!({ "reason": "because", "ttl_ms": 1_000 }));
    assert_eq!(stolen.wait().unwrap().code(), Some(76));
    // A command that does not care to be asked is killed.
    let mut cut = begin("cut", "trap '' TERM; while :; do sleep 0.1; done");
    until("it is held", || is_held(&mut caller, "cut"));
    group.kill(0);
    assert_eq!(cut.wait().unwrap().code(), Some(76));
}

#[test]
fn lock_of_a_killed_process_is_free_after_the_ttl_and_its_late_write_is_refused() {
    let group = Group::start(3);
    let servers = group.addresses().join(",");
    let (holders, ttl) = (10, Duration::from_secs(2));
    let begin = |number: i32, script: &str| {
        lock(&servers, &format!("l{number}"), &["--ttl", "2000"], script).spawn().unwrap()
    };
    let all: Vec<_> = (0..holders).map(|number| begin(number, "exec sleep 30")).collect();
    let mut caller = Caller::new(group.addresses());
    let mut fence_of = |number: i32| caller.query(&format!("lock/l{number}"), "holder", "")["fence"].as_u64();
    let mut fences = Vec::new();
    (0..holders).for_each(|number| {
        until("it is held", || fence_of(number).is_some());
        fences.push(fence_of(number));
    });
    let next: Vec<_> = (0..holders).map(|number| begin(number, "true")).collect();
    let mut caller = Caller::new(group.addresses());
    (0..holders).for_each(|number| {
        until("the next one waits", || {
            caller.query(&format!("lock/l{number}"), "holder", "")["waiting"] == 1
        });
    });
    let killed = Instant::now();
    for mut one in all {
        one.kill().unwrap();
        one.wait().unwrap();
    }
    let waits = next.into_iter().map(|mut one| {
        assert!(one.wait().unwrap().success());
        killed.elapsed()
    });
    let longest = waits.max().unwrap();
    eprintln!("{holders} holders killed: the last lock was had {longest:?} later; the TTL is {ttl:?}");
    assert!(longest < ttl + Duration::from_secs(10), "{longest:?}");
    for (number, fence) in (0..holders).zip(fences) {
        let check = format!("fence={}", fence.unwrap());
        assert_eq!(caller.query(&format!("lock/l{number}"), "check", &check)["valid"], false);
    }
}
