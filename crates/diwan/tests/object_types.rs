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
    let text = include_str!("objects/hits.wat").replace("MARK", mark);
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

/// `diwan object client` has a class for each language.
fn classes_are_made(group: &Group, folder: &Folder, version: &str) {
    for (language, class) in [
        ("go", "type Hits struct{ *diwan.Object }"),
        ("java", "public interface Hits extends DiwanObject"),
        ("javascript", "export class Hits extends DiwanObject"),
        ("typescript", "constructor(cluster: Cluster, name: string)"),
        ("python", "class AsyncHits(diwan.aio.Object)"),
        ("rust", "pub struct Hits"),
    ] {
        let file = folder.path().join(language);
        must(group, &["client", "hits", "--lang", language, "--out", file.to_str().unwrap()]);
        let source = std::fs::read_to_string(file).unwrap();
        let is_whole = [class, version, "wait_hit", "total"].iter().all(|words| source.contains(words));
        assert!(is_whole, "{language}: {source}");
    }
    let (success, _, errors) = run(group, &["client", "lock", "--lang", "go"]);
    assert!(!success && errors.contains("built-in"), "{errors}");
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
    classes_are_made(&group, &folder, &first);
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
    let at_a_rate =
        |rate| run(group, &["migrate", "--all", "--type", "hits", "--to", second, "--rate", rate]);
    let (success, _, errors) = at_a_rate("0");
    assert!(!success && errors.contains("a number from 1 on"), "{errors}");
    // Another object, so that there is one to wait for.
    must(group, &["create", "hits/other", "{}"]);
    let began = Instant::now();
    let (success, said, errors) = at_a_rate("5/s");
    assert!(
        success && said.contains("hits/home migrated to") && said.contains("hits/other"),
        "{said}{errors}"
    );
    assert!(began.elapsed() >= Duration::from_millis(200), "{:?}", began.elapsed());
    must(group, &["delete", "hits/other"]);
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

/// An export that cannot be written, or has nothing to write, leaves no file. `file` is there already.
fn exports_are_whole_or_not_there(source: &Group, folder: &Folder, file: &str) {
    let unfinished = folder.path().join("never.jsonl");
    std::fs::write(folder.path().join("never.jsonl.part"), "").unwrap();
    let (success, _, errors) = run(source, &["export", "--all", "--out", unfinished.to_str().unwrap()]);
    assert!(!success && errors.contains("another export writes it") && !unfinished.exists(), "{errors}");
    let nowhere = folder.path().join("nowhere.jsonl");
    let (success, _, errors) = run(source, &["export", "counter/none", "--out", nowhere.to_str().unwrap()]);
    assert!(!success && errors.contains("no-such-object"), "{errors}");
    let left = nowhere.exists() || folder.path().join("nowhere.jsonl.part").exists();
    assert!(!left, "nothing unfinished is left");
    let (success, _, errors) = run(source, &["export", "--all", "--out", file]);
    assert!(!success && errors.contains("cannot be written"), "{errors}");
}

#[test]
fn objects_go_to_another_group_by_export_and_import() {
    let (source, folder) = (Group::start(1), Folder::new());
    let put = |group: &Group| {
        let file = folder.path().join("counter.wasm");
        std::fs::write(&file, module("one")).unwrap();
        must(group, &["type", "put", file.to_str().unwrap()]);
    };
    put(&source);
    must(&source, &["create", "hits/home"]);
    must(&source, &["call", "hits/home", "hit"]);
    must(&source, &["call", "counter/visits", "increment", "{\"by\":7}"]);
    must(&source, &["call", "map/team/settings", "put", "{\"key\":\"a\",\"value\":1.50}"]);
    let one = must(&source, &["export", "counter/visits"]);
    assert!(one.contains("\"export\":1") && one.contains("\"value\":7"), "{one}");
    let file = folder.path().join("backup.jsonl");
    let file = file.to_str().unwrap();
    let said = must(&source, &["export", "--all", "--out", file]);
    assert!(said.starts_with("3 objects are in"), "{said}");
    assert!(!folder.path().join("backup.jsonl.part").exists());
    exports_are_whole_or_not_there(&source, &folder, file);

    let target = Group::start(1);
    let (success, _, errors) = run(&target, &["import", file]);
    assert!(!success && errors.contains("no-such-type"), "its module comes first: {errors}");
    put(&target);
    let said = must(&target, &["import", file, "--skip-existing"]);
    assert!(said.contains("hits/home is imported"), "{said}");
    assert_eq!(must(&target, &["call", "hits/home", "hit"]).trim(), "{\"value\":2}");
    assert_eq!(must(&target, &["call", "counter/visits", "increment"]).trim(), "{\"value\":8}");
    let kept = must(&target, &["call", "map/team/settings", "get", "{\"key\":\"a\"}"]);
    assert!(kept.contains("\"value\":1.50"), "as it was written: {kept}");
    let (success, _, errors) = run(&target, &["import", file]);
    assert!(!success && errors.contains("exists"), "{errors}");
    std::fs::write(file, one).unwrap();
    let said = must(&target, &["import", file, "--as", "counter/team/visits"]);
    assert_eq!(said.trim(), "counter/team/visits is imported");
    // The same object, as it is called in a namespace.
    let mut caller = Caller::new(target.addresses());
    assert_eq!(caller.get("/v1/ns/team/objects/counter/visits/get")["value"], 7);
}

/// Bytes that are put and read again, in memory of a layout. `digit` is what `version` says, and makes another version of it.
fn blob(digit: char) -> Vec<u8> {
    let description = r#"{"name":"blob","layout":"blob","methods":{"put":{"kind":"command","codec":"raw"},
        "read":{"kind":"query","codec":"raw"},"version":{"kind":"query"}}}"#;
    let text = format!(
        r#"(module (@custom "diwan.type" "{}") (memory (export "memory") 2)
        (func (export "alloc") (param i32) (result i32) (i32.const 4096))
        (func (export "call") (param $m i32) (param $ml i32) (param $p i32) (param $l i32) (result i64)
            (if (i32.eq (i32.load8_u (local.get $m)) (i32.const {})) (then
                (i32.store (i32.const 65536) (local.get $l))
                (memory.copy (i32.const 65540) (local.get $p) (local.get $l))
                (return (i64.const 0))))
            (if (i32.eq (i32.load8_u (local.get $m)) (i32.const {})) (then
                (return (i64.or (i64.const 0x10004_0000_0000) (i64.extend_i32_u (i32.load (i32.const 65536)))))))
            (i32.store8 (i32.const 512) (i32.const {}))
            (i64.const 0x200_0000_0001)))"#,
        description.replace('"', "\\\"").replace('\n', ""),
        b'p',
        b'r',
        u32::from(digit),
    );
    wat::parse_str(text).expect("a module")
}

#[test]
fn bytes_are_put_and_read_and_their_memory_goes_over_to_a_version_of_the_same_layout() {
    let group = Group::start(3);
    let folder = Folder::new();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let put = |digit| {
        let said = must(&group, &["type", "put", &file("blob.wasm", &blob(digit))]);
        said.split(' ').nth(1).expect("a version").to_owned()
    };
    let servers = group.addresses().join(",");
    let read = || {
        let command = ["object", "call", "blob/a", "read", "--data-file", "/dev/null", "--server", &servers];
        let read = diwan().args(command).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        read.stdout
    };
    let first = put('1');
    must(&group, &["create", "blob/a"]);
    let bytes: Vec<u8> = (0..=255).cycle().take(20_000).collect();
    let given = file("bytes", &bytes);
    assert_eq!(must(&group, &["call", "blob/a", "put", "--data-file", &given, "--key", "k"]), "");
    assert_eq!(read(), bytes);
    let (success, _, errors) = run(&group, &["call", "blob/a", "put", "{}"]);
    assert!(!success && errors.contains("bad-codec") && errors.contains("octet-stream"), "{errors}");
    let second = put('2');
    assert_eq!(must(&group, &["call", "blob/a", "version"]).trim(), "1");
    must(&group, &["migrate", "blob/a", "--to", &second]);
    assert_eq!((must(&group, &["call", "blob/a", "version"]).trim(), read()), ("2", bytes.clone()));
    // It has no `migrate`, so it was its memory that went over.
    must(&group, &["rollback", "blob/a"]);
    assert_eq!((must(&group, &["call", "blob/a", "version"]).trim(), read()), ("1", bytes));
    let said = must(&group, &["type", "release", "blob", &first]);
    assert_eq!(said, format!("nothing is stopped of blob {first}\n"));
}
