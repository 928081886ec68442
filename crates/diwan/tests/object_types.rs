//! Types of users in three members in real processes: a module is uploaded, its objects are called, members are killed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "objects/client.rs"]
mod client;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "objects/group.rs"]
mod group;
mod server;

use std::time::{Duration, Instant};

use client::Caller;
use group::Group;
use serde_json::{Value, json};
use server::{Folder, diwan, said};

/// Long enough for a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// A counter whose waiting calls the next hit wakes. `mark` makes another version of it.
fn module(mark: &str) -> Vec<u8> {
    let description = r#"{\"name\":\"hits\",\"methods\":{\"hit\":{\"kind\":\"command\"},\"trap\":{\"kind\":\"command\"},\"total\":{\"kind\":\"query\"},\"wait_hit\":{\"kind\":\"blocking\"}}}"#;
    let text = format!(
        r#"(module
  (@custom "diwan.type" "{description}")
  (@custom "mark" "{mark}")
  (import "diwan_1" "park" (func $park (param i64 i64) (result i64)))
  (import "diwan_1" "wake" (func $wake (param i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "{{\"value\":")
  (func (export "alloc") (param i32) (result i32) (i32.const 8192))
  (func $shown (result i64) (local $n i64) (local $at i32)
    (local.set $n (i64.load (i32.const 0)))
    (local.set $at (i32.const 4095))
    (i32.store8 (local.get $at) (i32.const 125))
    (loop $digits
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i32.store8 (local.get $at)
        (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $n) (i64.const 10)))))
      (local.set $n (i64.div_u (local.get $n) (i64.const 10)))
      (br_if $digits (i64.ne (local.get $n) (i64.const 0))))
    (local.set $at (i32.sub (local.get $at) (i32.const 9)))
    (memory.copy (local.get $at) (i32.const 16) (i32.const 9))
    (i64.or (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
      (i64.extend_i32_u (i32.sub (i32.const 4096) (local.get $at)))))
  (func $hit (result i64) (local $shown i64)
    (i64.store (i32.const 0) (i64.add (i64.load (i32.const 0)) (i64.const 1)))
    (local.set $shown (call $shown))
    (if (i64.ne (i64.load (i32.const 8)) (i64.const 0)) (then
      (drop (call $wake (i64.load (i32.const 8))
        (i32.wrap_i64 (i64.shr_u (local.get $shown) (i64.const 32))) (i32.wrap_i64 (local.get $shown))))
      (i64.store (i32.const 8) (i64.const 0))))
    (local.get $shown))
  (func (export "call") (param i32) (param $length i32) (param i32 i32) (result i64)
    (if (i32.eq (local.get $length) (i32.const 3)) (then (return (call $hit))))
    (if (i32.eq (local.get $length) (i32.const 4)) (then
      (i64.store (i32.const 0) (i64.const 77))
      (unreachable)))
    (if (i32.eq (local.get $length) (i32.const 8)) (then
      (i64.store (i32.const 8) (call $park (i64.const 1) (i64.const -1)))))
    (call $shown))
  (func (export "save") (result i64) (call $shown))
  (func (export "migrate") (param $at i32) (param $length i32) (local $n i64) (local $end i32) (local $in i32)
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (loop $bytes
      (if (i32.lt_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 48)) (i32.const 10))
        (then
          (if (i32.eqz (local.get $in)) (then (local.set $n (i64.const 0))))
          (local.set $in (i32.const 1))
          (local.set $n (i64.add (i64.mul (local.get $n) (i64.const 10))
            (i64.extend_i32_u (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))))
        (else (local.set $in (i32.const 0))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $bytes (i32.lt_u (local.get $at) (local.get $end))))
    (i64.store (i32.const 0) (local.get $n))))"#
    );
    wat::parse_str(text).expect("a module")
}

/// What a command of `diwan object` says.
fn run(group: &Group, arguments: &[&str]) -> (bool, String, String) {
    let servers = group.addresses().join(",");
    said(diwan().arg("object").args(arguments).args(["--server", &servers]).output().unwrap())
}

fn must(group: &Group, arguments: &[&str]) -> String {
    let (success, out, errors) = run(group, arguments);
    assert!(success, "{arguments:?}: {out}{errors}");
    out
}

#[test]
fn type_of_a_user_is_uploaded_called_and_survives_its_members() {
    let mut group = Group::start(3);
    let folder = Folder::new();
    let put = |group: &Group, mark: &str| {
        let file = folder.path().join("counter.wasm");
        std::fs::write(&file, module(mark)).unwrap();
        let began = Instant::now();
        let said = must(group, &["type", "put", file.to_str().unwrap()]);
        eprintln!("put to ready, {} bytes: {:?}", module(mark).len(), began.elapsed());
        let version = said.strip_prefix("hits ").and_then(|rest| rest.split(' ').next()).expect("a version");
        String::from(version)
    };
    let first = put(&group, "one");
    assert_eq!(put(&group, "one"), first, "the same module is the same version");
    assert_eq!(must(&group, &["create", "hits/home"]).trim(), "hits/home created");
    let mut caller = Caller::new(group.addresses());
    let mut hits = 0;
    let mut hit = |caller: &mut Caller| {
        hits += 1;
        assert_eq!(caller.call("hits/home", "hit", &json!({}))["value"], hits, "each counts once");
    };
    (0..20).for_each(|_| hit(&mut caller));
    let (status, problem) = caller.try_once("hits/home", "trap", &json!({}));
    let problem: Value = serde_json::from_str(&problem).unwrap();
    assert_eq!((status, problem["type"].as_str()), (500, Some("urn:diwan:problem:guest-trap")), "{problem}");
    let leader = group.leader();
    group.kill(leader);
    (0..20).for_each(|_| hit(&mut caller));
    group.restart_all();
    (0..3).for_each(|member| group.kill(member));
    group.restart_all();
    let mut caller = Caller::new(group.addresses());
    assert_eq!(caller.query("hits/home", "total", "")["value"], 40, "all members were killed");
    hit(&mut caller);
    a_waiting_call_is_woken(&group);
    let after = Caller::new(group.addresses()).call("hits/home", "hit", &json!({}));
    assert_eq!(after["value"], 43);
    migrate(&group, &first, &put(&group, "two"));
}

/// Somebody waits, and the next hit wakes it.
fn a_waiting_call_is_woken(group: &Group) {
    let addresses = group.addresses();
    let waiter = std::thread::spawn(move || {
        Caller::new(addresses).call("hits/home", "wait_hit", &json!({}))["value"].as_u64()
    });
    let deadline = Instant::now() + PATIENCE;
    while !must(group, &["waits", "hits"]).contains("hits/home") {
        assert!(Instant::now() < deadline, "the call never waits");
        std::thread::sleep(Duration::from_millis(20));
    }
    let hit = Caller::new(group.addresses()).call("hits/home", "hit", &json!({}))["value"].as_u64();
    assert_eq!((hit, waiter.join().unwrap()), (Some(42), Some(42)));
}

/// To a new version, with its state; the old one goes when nothing has it.
fn migrate(group: &Group, first: &str, second: &str) {
    let (success, _, errors) = run(group, &["type", "delete", "hits", first]);
    assert!(!success && errors.contains("in-use") && errors.contains("hint: "), "{errors}");
    let said = must(group, &["migrate", "--all", "--type", "hits", "--to", second]);
    assert!(said.contains("hits/home migrated to"), "{said}");
    must(group, &["type", "delete", "hits", first]);
    let listed = must(group, &["type", "list"]);
    assert!(listed.contains(second) && !listed.contains(first), "{listed}");
    assert!(must(group, &["list"]).contains("hits/home"));
    let total = Caller::new(group.addresses()).query("hits/home", "total", "")["value"].as_u64();
    assert_eq!(total, Some(43), "its state came along");
}

#[test]
fn module_that_is_none_is_refused_with_its_rule() {
    let group = Group::start(1);
    let folder = Folder::new();
    let file = folder.path().join("bad.wasm");
    let bad = r#"(module (@custom "diwan.type" "{\"methods\":{}}") (import "env" "abort" (func))
        (memory (export "memory") 1))"#;
    std::fs::write(&file, wat::parse_str(bad).unwrap()).unwrap();
    let (success, _, errors) = run(&group, &["type", "put", file.to_str().unwrap()]);
    assert!(!success && errors.contains("type-rejected") && errors.contains("hint: "), "{errors}");
    std::fs::write(&file, b"no module").unwrap();
    let (success, _, errors) = run(&group, &["put", file.to_str().unwrap()]);
    assert!(!success && errors.contains("bad-argument"), "{errors}");
}
